"""Every command of docs/operating.md, run as it stands: each section in a shell of its own, over a state of its own.

A fenced `console` block follows `<!-- run -->`: each line after `$ ` is typed, and the lines below it are compared with
what came, `…` standing for anything. What has gone wrong before a runbook is opened is done by `PREPARE`.
"""

import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "ProcessTests"))

from holdgate import BIN, ROOT, environment, free_ports  # noqa: E402

from test_readme import matches  # noqa: E402

DOCUMENT = (ROOT / "docs/operating.md").read_text()
PATIENCE = 60.0
START = "holdgate serve >> holdgate.log 2>&1 &"
STOP = 'kill "$(cat "$STATE/lock")"; tail --pid="$(cat "$STATE/lock")" -f /dev/null'


def sections():
    """The text below each heading that has something to run, by heading."""
    parts = re.split(r"^##+ (.*)$", DOCUMENT, flags=re.M)
    return {title: text for title, text in zip(parts[1::2], parts[2::2]) if "<!-- run -->" in text}


def commands(text):
    """[(command, expected lines)] of all blocks."""
    result = []
    for body in re.findall(r"<!-- run -->\n```console\n(.*?)```", text, re.S):
        for line in body.splitlines():
            if line.startswith("$ "):
                result.append((line[2:], []))
            else:
                result[-1][1].append(line)
    return result


class Shell:
    """One bash, to which one command after the other is typed."""

    MARK = "--- the command has ended"

    def __init__(self, directory):
        self.directory = directory
        ports = {name: f"tcp://127.0.0.1:{port}" for name, port in free_ports().items()}
        variables = environment(stateDir=str(directory / "disk/state"), **ports)
        variables["PATH"] = f"{BIN}:{variables['PATH']}"
        (directory / "disk").mkdir()
        self.process = subprocess.Popen(
            ["/bin/bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=directory,
            env=variables, start_new_session=True)
        self.run("STATE=$HOLDGATE_STATE_DIR")

    def run(self, *typed):
        """What the commands print, standard error included."""
        lines = [*typed, f"echo; echo '{self.MARK}'", ""]
        self.process.stdin.write("\n".join(lines).encode())
        self.process.stdin.flush()
        text, deadline = b"", time.monotonic() + PATIENCE
        while not text.endswith(f"\n{self.MARK}\n".encode()):
            readable, _, _ = select.select([self.process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            assert readable, f"{typed} has not ended:\n{text.decode(errors='replace')}\n{self.log()}"
            data = os.read(self.process.stdout.fileno(), 65_536)
            assert data, text
            text += data
        return text.decode().removesuffix(f"\n{self.MARK}\n")

    def log(self):
        path = self.directory / "holdgate.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def close(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(PATIENCE)
        self.process.stdin.close()
        self.process.stdout.close()


def started(shell, *then):
    shell.run(START, "holdgate ping", *then)


def a_dead_collector(shell, name):
    """It was there once, and is killed."""
    shell.run(
        f"mkdir -p {name}-events",
        f"file-collector --name {name} --dir {name}-events >> {name}.log 2>&1 & disown",
        f"until holdgate plugins | grep -q '{name} .*attached'; do sleep 0.05; done",
        "kill -9 $!",
        f"until holdgate plugins | grep -q '{name} .*detached'; do sleep 0.05; done")


def events(shell, count):
    shell.run(*["holdgate emit demo.tick"] * count)


def operating(shell):
    started(shell, "holdgate start")
    events(shell, 3)


def dead(shell):
    started(shell, "holdgate start")
    a_dead_collector(shell, "warehouse")
    a_dead_collector(shell, "audit")
    shell.run("mkdir -p events")
    events(shell, 3)


def full(shell):
    if os.geteuid() != 0:
        pytest.skip("mounting a file system needs root")
    disk = shell.directory / "disk"
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={24 << 20}", "tmpfs", disk], check=True)
    shell.run(
        "head -c 9M /dev/zero > disk/ballast", f"export HOLDGATE_SEGMENT_BYTES={4 << 20}",
        f"export HOLDGATE_MAX_MESSAGE_BYTES={1 << 20} HOLDGATE_MAX_FRAME_BYTES={1 << 20}",
        "export HOLDGATE_REMEMBERED_PRODUCERS=1000")
    started(shell, "holdgate start")
    a_dead_collector(shell, "audit")
    line = '{"specversion":"1.0","id":"%s","source":"/demo","type":"demo.tick","data":"' + "x" * 300 + '"}'
    shell.run(
        f"for n in $(seq 60000); do echo '{line % 1}'; done > ticks.ndjson",
        "holdgate emit --file ticks.ndjson > emit.log 2>&1 & emit=$!",
        "until holdgate stats | grep -q 'storageFull *[1-9]'; do sleep 0.05; done",
        "kill $emit; wait $emit",
        # Whatever else there is room for.
        "cat /dev/zero > disk/rest 2>/dev/null; df disk")


def damaged(shell):
    operating(shell)
    shell.run("holdgate hold", STOP)
    shell.run("cp \"$STATE\"/history-00000001.ndjson h", "sed '$d' h > \"$STATE\"/history-00000001.ndjson")


def keyed(shell):
    shell.run("holdgate keys new ops --roles admin,observe", "holdgate keys new warehouse --roles collect")
    shell.run("export HOLDGATE_KEY_FILE=$PWD/ops.key")
    started(shell)


def copied(shell):
    operating(shell)
    shell.run(STOP, 'tar -C "$STATE" -czf holdgate.tar.gz .')
    started(shell)


def killed(shell):
    operating(shell)
    shell.run("holdgate kill --yes --source privacy-desk --reason ERASURE-9")


PREPARE = {
    "7. Backups": operating,
    "A collector is dead": dead,
    "The disk is full": full,
    "The state is damaged": damaged,
    "A key is lost": keyed,
    "The host does not start": operating,
    "Upgrade": operating,
    "Restore from a copy": copied,
    "A launch was killed": killed,
}


@pytest.fixture
def shell():
    base = ROOT / ".build/process-tests"
    base.mkdir(parents=True, exist_ok=True)
    directory = pathlib.Path(tempfile.mkdtemp(dir=base))
    shell = Shell(directory)
    yield shell
    shell.close()
    subprocess.run(["umount", "-q", directory / "disk"], capture_output=True)
    shutil.rmtree(directory, ignore_errors=True)


def test_every_block_is_run():
    assert list(sections()) == list(PREPARE)
    assert sum(text.count("```console") for text in sections().values()) == DOCUMENT.count("```console")


@pytest.mark.parametrize("title", PREPARE)
def test_a_section_does_what_it_says(title, shell):
    PREPARE[title](shell)
    typed = commands(sections()[title])
    assert typed
    for command, expected in typed:
        output = shell.run(command)
        assert matches(expected, output), (
            f"$ {command}\n{output}\n--- expected\n" + "\n".join(expected) + f"\n--- log\n{shell.log()}")


def test_every_link_leads_somewhere():
    for path, anchor in re.findall(r"\]\(([\w./-]*)#?([^)]*)\)", DOCUMENT):
        text = (ROOT / "docs" / path).read_text() if path else DOCUMENT
        headings = re.findall(r"^#+ (.*)$", text, re.M)
        anchors = {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}
        assert not anchor or anchor in anchors, (path, anchor)


def test_what_is_to_be_watched_is_counted():
    table = (ROOT / "docs/protocol.md").read_text().split("<!-- stats-table -->", 1)[1].split("<!--", 1)[0]
    counted = set(re.findall(r"^\| `(\w+)`", table, re.M)) | {"commitUs"}
    rows = re.findall(r"^\| (.*?) \|", DOCUMENT.split("## 6. What to watch", 1)[1].split("\n## ", 1)[0], re.M)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)} - {"operating"}
    assert len(named) > 15 and named <= counted, named - counted
