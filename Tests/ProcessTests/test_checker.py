"""The checker itself: it passes what is right and finds each kind of wrong. No host takes part."""

import hashlib
import json
import subprocess
import sys

import pytest

import checker

LAUNCH = "a" * 32


class World:
    """A history and a collector's files, made by hand."""

    def __init__(self, path):
        self.files = path
        self.history = path / "history.ndjson"
        self.hash, self.n, self.offset = "0" * 64, 0, 0
        self.append({"format": "holdgate-history", "version": 1, "file": 1, "n": 0})
        self.events = path / "events-00000001.ndjson"
        self.receipts = path / "events-00000001.receipts"
        self.events.touch()
        self.receipts.touch()

    def append(self, members):
        body = json.dumps({**members, "prev": self.hash}, separators=(",", ":"))[:-1]
        self.hash = hashlib.sha256(body.encode()).hexdigest()
        with self.history.open("a") as file:
            file.write(f'{body},"hash":"{self.hash}"}}\n')

    def record(self, seq, state, command, through, **more):
        self.n += 1
        self.append({
            "n": self.n, "time": "", "launch": LAUNCH, "gate": [], "seq": seq, "state": state, "command": command,
            "through": through, **more})

    def deliver(self, ranges, under, launch=LAUNCH):
        block = "".join(f'{{"seq":{seq}}}\n' for seq in checker.numbers(ranges))
        with self.events.open("a") as file:
            file.write(block)
        receipt = {"offset": self.offset, "bytes": len(block), "ranges": ranges, "launch": launch, "under": under}
        with self.receipts.open("a") as file:
            file.write(json.dumps(receipt) + "\n")
        self.offset += len(block)

    def check(self):
        return checker.check(self.files, [self.history])


@pytest.fixture
def world(tmp_path):
    """Opened at 1, closed after event 10, opened again at 4 and not closed since."""
    world = World(tmp_path)
    world.record(1, "operating", "initialize", 0)
    world.record(1, "operating", "startOperation", 4, changed=False)
    world.record(2, "holdRequested", "holdOperation", 10)
    world.record(3, "onHold", "drained", 12)
    world.record(4, "operating", "startOperation", 12)
    world.deliver([[1, 10]], [[1, 10, 1]])
    return world


def test_right_evidence_passes(world):
    world.deliver([[11, 2], [14, 1]], [[11, 2, 4], [14, 1, 4]])
    assert world.check() == 13


@pytest.mark.parametrize("ranges, under, why", [
    ([[11, 1]], [[11, 1, 1]], "closed after 10"),
    ([[11, 1]], [[11, 1, 2]], "opened nothing"),
    ([[11, 1]], [[11, 1, 3]], "opened nothing"),
    ([[11, 2]], [[11, 1, 4]], "opened nothing"),
    ([[10, 1]], [[10, 1, 1]], "came twice"),
])
def test_an_event_outside_every_open_interval_is_found(world, ranges, under, why):
    world.deliver(ranges, under)
    with pytest.raises(checker.Wrong, match=why):
        world.check()


def test_another_launch_opens_nothing(world):
    world.deliver([[11, 1]], [[11, 1, 4]], launch="b" * 32)
    with pytest.raises(checker.Wrong, match="opened nothing"):
        world.check()


def test_a_kill_closes_too(world):
    world.record(5, "killed", "kill", 13)
    world.deliver([[11, 3]], [[11, 3, 4]])
    assert world.check() == 13
    world.deliver([[14, 1]], [[14, 1, 4]])
    with pytest.raises(checker.Wrong, match="closed after 13"):
        world.check()


@pytest.mark.parametrize("change", [
    lambda text: text.replace('"through":10', '"through":20'),
    lambda text: "".join(line for line in text.splitlines(True) if '"n":3' not in line),
    lambda text: "".join(line for line in text.splitlines(True) if "format" not in line),
])
def test_a_changed_history_is_found(world, change):
    world.history.write_text(change(world.history.read_text()))
    with pytest.raises(checker.Wrong):
        world.check()


def test_the_chain_goes_on_in_the_next_file(world):
    first, world.history = world.history, world.history.with_name("history-2.ndjson")
    world.append({"format": "holdgate-history", "version": 1, "file": 2, "n": world.n})
    world.record(5, "holdRequested", "holdOperation", 11)
    world.deliver([[11, 1]], [[11, 1, 4]])
    assert checker.check(world.files, [first, world.history]) == 11
    with pytest.raises(checker.Wrong, match="does not follow"):
        checker.check(world.files, [world.history])


def test_bytes_without_a_receipt_are_found(world):
    with world.events.open("a") as file:
        file.write('{"seq":11}\n')
    with pytest.raises(checker.Wrong, match="no receipt"):
        world.check()


def test_lines_that_are_not_there_are_found(world):
    world.events.write_text(world.events.read_text().replace("\n", " ", 1))
    with pytest.raises(checker.Wrong, match="not of these lines"):
        world.check()


def test_it_runs_by_itself(world):
    command = [sys.executable, checker.__file__, "--files", str(world.files), "--history", str(world.history)]
    assert subprocess.run(command, capture_output=True, text=True).stdout.startswith("10 events")
    world.deliver([[11, 1]], [[11, 1, 1]])
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 1 and "closed after 10" in result.stderr
