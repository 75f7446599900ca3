"""Every command of README.md's walk-through, run as it stands against what `make run` starts.

A fenced `console` block follows a marker that says what to do with it: `<!-- run -->` runs each line after `$ ` and
compares the lines below it with the output, `…` standing for anything; `<!-- run in the background -->` leaves the
command running, and looks for its lines, in order, at the end.
"""

import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
PATIENCE = 60.0
ENDPOINTS = ("control", "stream", "ingest", "plugin")


def walk_through():
    return README.split("## Five minutes", 1)[1].split("\n## ", 1)[0]


def blocks():
    """[(in the background?, [(command, expected lines)])] in the order of the text."""
    result = []
    for marker, body in re.findall(r"<!-- run( in the background)? -->\n```console\n(.*?)```", walk_through(), re.S):
        commands = []
        for line in body.splitlines():
            if line.startswith("$ "):
                commands.append((line[2:], []))
            else:
                commands[-1][1].append(line)
        result.append((bool(marker), commands))
    return result


def pattern(expected):
    """What a line of the README stands for, as a regular expression."""
    return ".*".join(re.escape(part) for part in expected.split("…"))


def matches(expected, output):
    """Whether the whole output is what the README shows; `…` may span lines."""
    return re.fullmatch("\n".join(pattern(line) for line in expected), output.strip(), re.S) is not None


class Terminal:
    """A shell command on a terminal of its own: what a person would see."""

    def __init__(self, command, environment):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            ["/bin/bash", "-c", command], stdin=slave, stdout=slave, stderr=slave, cwd=ROOT, env=environment,
            start_new_session=True)
        os.close(slave)
        self.text = ""

    def read_until(self, condition):
        """Reads until the condition holds or the command has ended; fails when that takes too long."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            readable, _, _ = select.select([self.master], [], [], max(0.0, deadline - time.monotonic()))
            assert readable, f"gave up waiting; so far:\n{self.text}"
            try:
                data = os.read(self.master, 65_536)
            except OSError:                   # the last writer has gone
                data = b""
            if not data:
                return
            plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", data.decode(errors="replace"))
            self.text += plain.replace("\r\n", "\n")

    def output(self):
        self.read_until(lambda: False)
        self.process.wait(PATIENCE)
        return self.text

    def close(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            self.process.wait(PATIENCE)
        os.close(self.master)


@pytest.fixture
def running():
    """What `make run` starts, files and ports out of the way: the directory, the clients' environment, the terminal."""
    base = ROOT / ".build/process-tests"
    base.mkdir(parents=True, exist_ok=True)
    directory = pathlib.Path(tempfile.mkdtemp(dir=base))
    plain = {name: value for name, value in os.environ.items() if not name.startswith("HOLDGATE_")}
    ports = {f"HOLDGATE_{name.upper()}": "tcp://127.0.0.1:0" for name in ENDPOINTS}
    host = Terminal("exec plugins/run.sh", {**plain, **ports, "HOLDGATE_RUN_DIR": str(directory)})
    try:
        host.read_until(lambda: "Ctrl-C" in host.text)
        assert "Ctrl-C" in host.text, host.text
        ready = json.loads((directory / "ready.json").read_text())
        clients = {f"HOLDGATE_{name.upper()}": ready["endpoints"][name][0] for name in ENDPOINTS}
        yield directory, {**plain, **clients}, host
    finally:
        host.close()
        shutil.rmtree(directory, ignore_errors=True)


def test_every_block_of_the_walk_through_has_a_marker():
    assert len(blocks()) == walk_through().count("```") // 2 >= 5
    assert all(commands for _, commands in blocks())


def test_wildcards_match_what_they_should():
    assert matches(["…onHold…"], "state  onHold\nsince  now\n")
    assert matches(["0"], "0\n") and matches([], "\n") and matches(["a…", "b"], "a c\nd\nb")
    assert not matches(["0"], "10\n") and not matches(["…onHold…"], "operating") and not matches([], "x")


def test_the_walk_through_does_what_it_says(running):
    directory, environment, host = running
    background, exports = [], []
    wait_for_plugins(environment)
    try:
        for in_background, commands in blocks():
            for command, expected in commands:
                if command.startswith("export "):
                    exports.append(command)
                    continue
                # Relative, as in the text: the tree's own path may have spaces.
                script = "\n".join(exports + [command.replace(".build/run", str(directory.relative_to(ROOT)))])
                terminal = Terminal(script, environment)
                if in_background:
                    background.append((command, expected, terminal))
                    terminal.read_until(lambda: re.search(pattern(expected[0]), terminal.text))
                    continue
                output = terminal.output()
                terminal.close()
                assert matches(expected, output), f"$ {command}\n{output}\n--- expected\n" + "\n".join(expected)
        for command, expected, terminal in background:
            wanted = ".*".join(pattern(line) for line in expected)
            terminal.read_until(lambda: re.search(wanted, terminal.text, re.S))
            assert re.search(wanted, terminal.text, re.S), f"$ {command}\n{terminal.text}"
        host.output()
        assert host.process.returncode is not None, "end-launch stops what `make run` started"
    finally:
        for _, _, terminal in background:
            terminal.close()


def wait_for_plugins(environment):
    """Events are kept for file-collector from its first hello on: `make run` prints before that."""
    deadline = time.monotonic() + PATIENCE
    command = [str(ROOT / ".build/release/holdgate"), "plugins", "--json"]
    while "file-collector" not in subprocess.run(command, capture_output=True, text=True, env=environment).stdout:
        assert time.monotonic() < deadline, "file-collector does not attach"
