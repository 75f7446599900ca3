"""A full disk refuses events, and never keeps the gate open. Needs root: the state lies on a small file system of its own."""

import os
import subprocess

import pytest

import holdgate
from holdgate import events, lines

MEBIBYTE = 1 << 20
SMALL = {"segmentBytes": 4 * MEBIBYTE, "maxMessageBytes": MEBIBYTE, "maxFrameBytes": MEBIBYTE,
         "rememberedProducers": 1000}

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mounting a file system needs root")


@pytest.fixture
def full(tmp_path):
    """An operating host whose disk is full, its one collector behind; and how many events it took."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={15 * MEBIBYTE}", "tmpfs", tmp_path], check=True)
    host = None
    try:
        host = holdgate.Host("--operating", directory=tmp_path / "host", **SMALL)
        collector = host.slow_collector()
        taken = 1  # The event that the slow collector has in hand.
        while (reply := host.ingest_raw(lines(events(taken, 200, data="x" * 300))))["ok"]:
            taken += 200
        assert (reply["error"]["code"], reply["error"]["retryable"]) == ("storageFull", True)
        with open(host.stderr_path, "ab", buffering=0) as file:
            with pytest.raises(OSError):
                while True:
                    file.write(b"x" * 4096)
        yield host, collector, taken
    finally:
        if host:
            host.close()
        subprocess.run(["umount", tmp_path], check=True)


def test_a_hold_and_a_kill_are_written_all_the_same(full):
    host, _, taken = full
    reply = host.ok("holdOperation")
    assert (reply["state"], reply["pending"]) == ("holdRequested", taken)
    host.restart()
    assert host.ready["state"] == "holdRequested"
    assert host.ok("kill")["discarded"] == taken
    host.restart()
    assert host.ready["state"] == "killed"


def test_when_collectors_catch_up_there_is_room_again(full):
    host, collector, taken = full
    collector.ack(1)
    got = 1
    while got < taken:
        batch = collector.deliver().events
        got += len(batch)
        collector.ack(batch[-1][0])
    holdgate.wait_until(
        lambda: host.ingest_raw(lines(events(1, 200, data="x" * 300)))["ok"], "room for another batch")
