"""docs/cli.md is what the commands say of themselves."""

import difflib
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("HOLDGATE_BIN", ROOT / ".build/release"))
PAGE = ROOT / "docs/cli.md"


def holdgate(*arguments):
    done = subprocess.run([str(BIN / "holdgate"), *arguments], capture_output=True, text=True, timeout=20)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_page_is_the_commands_own():
    made, kept = holdgate("help", "--markdown"), PAGE.read_text()
    changes = "\n".join(difflib.unified_diff(kept.splitlines(), made.splitlines(), "docs/cli.md", "the commands", "", "", 0))
    assert made == kept, f"docs/cli.md is not what the commands say: run `make docs`, and look at what it changes\n{changes}"


def test_every_command_of_the_overview_is_there():
    commands = re.findall(r"^  ([a-z-]+)  +\S", holdgate("--help"), re.MULTILINE)
    sections = re.findall(r"^### holdgate ([a-z-]+)$", PAGE.read_text(), re.MULTILINE)
    assert sections == commands and len(commands) > 15


def test_links_lead_to_sections():
    text = PAGE.read_text()
    anchors = {title.lower().replace(" ", "-") for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE)}
    links = re.findall(r"\]\(#([^)]+)\)", text)
    assert links and set(links) <= anchors
