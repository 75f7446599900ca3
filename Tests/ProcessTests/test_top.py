"""`holdgate top` on a terminal, as somebody who sits at one has it, and without."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import pytest

from holdgate import *

SCREEN, LEFT = b"\x1b[?1049h", b"\x1b[?1049l"


class Screen:
    """`holdgate top` at a pseudo-terminal."""

    def __init__(self, host, *flags, rows=24, columns=80, **variables):
        self.master, self.slave = pty.openpty()
        self.before = termios.tcgetattr(self.slave)
        self.resize(rows, columns)
        endpoints = {name: host.address(name) for name in ENDPOINTS}
        self.seen = b""
        self.process = subprocess.Popen(
            [str(BIN / "holdgate"), "top", "--interval", "100ms", *flags], stdin=self.slave, stdout=self.slave,
            stderr=self.slave, env={**environment(**endpoints), "TERM": "xterm", **variables}, start_new_session=True)

    def resize(self, rows, columns):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def until(self, text):
        """Reads until the terminal has got this, from what came after the last time."""
        deadline = time.monotonic() + PATIENCE
        while text not in self.seen:
            readable, _, _ = select.select([self.master], [], [], max(0.0, deadline - time.monotonic()))
            assert readable, (text, self.seen)
            self.seen += os.read(self.master, 65_536)
        before, _, self.seen = self.seen.partition(text)
        return before

    def type(self, keys):
        os.write(self.master, keys)

    def ended(self):
        """The exit status, once the terminal is as it was."""
        self.until(b"\x1b[?25h" + LEFT)
        status = self.process.wait(PATIENCE)
        assert termios.tcgetattr(self.slave) == self.before
        return status

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(PATIENCE)
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def screens():
    started = []

    def start(host, *flags, **options):
        started.append(Screen(host, *flags, **options))
        return started[-1]

    yield start
    for screen in started:
        screen.close()


@pytest.mark.parametrize("key", [b"q", b"\x03", b"\x04"], ids=["q", "Ctrl-C", "Ctrl-D"])
def test_a_key_ends_it_and_the_terminal_is_as_before(operating, screens, key):
    screen = screens(operating)
    screen.until(SCREEN)
    screen.until(b"operating")
    assert not termios.tcgetattr(screen.slave)[3] & termios.ECHO
    screen.type(b"x")
    screen.until(b"operating")
    screen.type(key)
    assert screen.ended() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_it_and_the_terminal_is_as_before(operating, screens, number):
    screen = screens(operating)
    screen.until(b"operating")
    screen.process.send_signal(number)
    assert screen.ended() == 0


def test_it_ends_after_so_many_looks(operating, screens):
    screen = screens(operating, "--count", "3")
    screen.until(SCREEN)
    assert screen.ended() == 0


def test_it_shows_what_becomes_of_the_gate(held, screens):
    screen = screens(held)
    screen.until(b"\x1b[33monHold\x1b[0m")
    held.ok("startOperation", leaseMs=60_000)
    screen.until(b"\x1b[32moperating\x1b[0m")
    screen.until(b"lease ")
    held.ok("kill")
    screen.until(b"\x1b[31mkilled\x1b[0m")


def test_no_colours_where_none_are_wanted(held, screens):
    screen = screens(held, NO_COLOR="1")
    screen.until(b"onHold for")
    assert not re.search(rb"\x1b\[[0-9;]*m", screen.until(b"queue"))


def test_the_size_is_followed(operating, screens):
    screen = screens(operating)
    screen.until(b"commits/s")
    screen.resize(1, 30)
    # One line has room for the state alone.
    screen.until(b"\x1b[1;1H\x1b[32moperating")
    screen.type(b"q")
    assert screen.ended() == 0


def test_a_host_that_goes_away_is_waited_for(hosts, screens):
    host = hosts("--operating", ports=free_ports())
    screen = screens(host)
    screen.until(b"operating")
    host.kill9()
    screen.until(b"no host answers")
    screen.until(b"was ")
    # Keys are heard all the same; and so is the host, when it is back.
    host.start()
    screen.until(b"transition")
    deadline = time.monotonic() + PATIENCE
    while b"away for" in screen.until(b"queue"):
        assert time.monotonic() < deadline
    host.kill9()
    screen.until(b"no host answers")
    screen.type(b"q")
    assert screen.ended() == 0


def test_nobody_there_is_told_before_the_screen_is_touched(screens, operating):
    screen = screens(operating, "--control", "tcp://127.0.0.1:9", "--timeout", "100ms")
    screen.until(b"no host answered")
    assert screen.process.wait(PATIENCE) == 3
    assert SCREEN not in screen.seen and termios.tcgetattr(screen.slave) == screen.before


def test_a_dumb_terminal_and_a_pipe_get_lines(operating, screens):
    screen = screens(operating, "--count", "2", TERM="dumb")
    assert SCREEN not in screen.until(b"operating for")
    screen.until(b"operating for")
    assert screen.process.wait(PATIENCE) == 0
    shown = run_command(operating, "top", "--interval", "100ms", "--count", "3")
    assert shown.returncode == 0 and len(shown.stdout.splitlines()) == 3


def test_lines_of_json(operating):
    operating.collector("warehouse")
    operating.accept(events(1, 5))
    shown = run_command(operating, "top", "--interval", "100ms", "--count", "2", "--json")
    first, second = map(json.loads, shown.stdout.splitlines())
    assert first["state"] == "operating" and first["queuedEvents"] == 5 and first["perSecond"]["accepted"] > 0
    assert second["perSecond"]["accepted"] == 0 and second["plugins"][0]["lagEvents"] == 5
