"""docs/protocol.md's examples are what they claim to be, and its lists are whole."""

import json
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENT = (ROOT / "docs/protocol.md").read_text()
ERROR_CODES = {
    "invalidMessage", "unsupportedVersion", "unknownCommand", "invalidArgument", "unknownGate", "conflict", "outOfOrder",
    "superseded", "notOperating", "unknownService", "serviceUnavailable", "timeout", "tooLarge", "overloaded",
    "storageFull", "forbidden", "shuttingDown", "internal",
}


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", DOCUMENT, re.S | re.M)


def values(text):
    """Every JSON value in a block."""
    decoder, place, result = json.JSONDecoder(), 0, []
    while text[place:].strip():
        place += len(text[place:]) - len(text[place:].lstrip())
        value, place = decoder.raw_decode(text, place)
        result.append(value)
    return result


@pytest.mark.parametrize("text", blocks("json"))
def test_json_examples_are_json(text):
    assert all(isinstance(value, dict) for value in values(text))


@pytest.mark.parametrize("text", blocks("python"))
def test_python_examples_compile(text):
    compile(text, "docs/protocol.md", "exec")


def test_there_is_an_example_of_each_kind():
    assert len(blocks("json")) >= 10 and len(blocks("python")) >= 5


def test_every_error_code_is_explained():
    section = DOCUMENT.split("### Errors", 1)[1].split("\n## ", 1)[0]
    rows = [row for row in section.splitlines() if row.startswith("| `")]
    assert {code for row in rows for code in re.findall(r"`(\w+)`", row.split("|")[1])} == ERROR_CODES


def test_links_within_the_document_lead_somewhere():
    headings = re.findall(r"^#+ (.*)$", DOCUMENT, re.M)
    anchors = {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}
    assert set(re.findall(r"\]\(#([^)]*)\)", DOCUMENT)) <= anchors
