"""Section 8: what doesn't verify stops the start, says so, and needs `--restored`."""

import os
import shutil

import pytest

from holdgate import NoReady, event


class TestDamage:
    def refused(self, host, what):
        with pytest.raises(NoReady) as caught:
            host.start()
        assert caught.value.status == 1
        assert what in caught.value.stderr and "--restored" in caught.value.stderr, caught.value.stderr

    def prepared(self, hosts):
        host = hosts("--operating")
        host.collector().close()
        host.accept([event(1)])
        for _ in range(3):
            host.ok("holdOperation")
            host.ok("startOperation")
        host.stop()
        (history,) = host.history_files()
        return host, history

    def restored(self, host):
        launch = host.launch
        ready = host.start("--restored")
        assert ready["launch"] != launch and ready["state"] == "onHold", "never more open than it was"
        host.restart()
        assert host.ready["launch"] == ready["launch"] and host.ready["state"] == "onHold"

    def test_the_last_record_removed(self, hosts):
        host, history = self.prepared(hosts)
        history.write_bytes(b"".join(history.read_bytes().splitlines(True)[:-1]))
        self.refused(host, "history")
        self.restored(host)

    def test_a_byte_changed(self, hosts):
        host, history = self.prepared(hosts)
        data = bytearray(history.read_bytes())
        data[len(data) // 2] ^= 1
        history.write_bytes(data)
        self.refused(host, "history")

    def test_the_history_gone(self, hosts):
        host, history = self.prepared(hosts)
        history.unlink()
        self.refused(host, "history")

    def test_a_torn_last_line_was_never_answered_and_is_dropped(self, hosts):
        host, history = self.prepared(hosts)
        with history.open("ab") as file:
            file.write(b'{"n":99,"time":"2026')
        assert host.start()["state"] == "operating"
        host.ok("holdOperation")
        host.restart()
        assert host.ready["state"] == "holdRequested", "an event still waits for its collector"

    def test_a_bit_flipped_in_an_acknowledged_event(self, hosts):
        host = hosts("--operating")
        host.collector().close()
        host.accept([event(1, data="MARKER-77")])
        for number in range(2, 6):
            host.accept([event(number)])
        host.kill9()
        (path,) = [path for path in host.dir.rglob("*") if path.is_file() and b"MARKER-77" in path.read_bytes()]
        data = path.read_bytes()
        place = data.index(b"MARKER-77")
        with path.open("r+b") as file:
            file.seek(place)
            file.write(b"m")
        self.refused(host, path.name)

    def test_a_copy_in_its_place(self, hosts):
        host, _ = self.prepared(hosts)
        copy = host.base / "copy"
        shutil.copytree(host.dir, copy)
        shutil.rmtree(host.dir)
        os.rename(copy, host.dir)
        self.refused(host, "was copied")
        self.restored(host)
        assert [each["id"] for _, each in self.started(host).take(1)] == ["e1"], "and nothing is lost"

    def started(self, host):
        collector = host.collector()
        collector.nothing()
        host.ok("startOperation")
        return collector

    def test_a_directory_that_was_moved_is_no_copy(self, hosts):
        host, _ = self.prepared(hosts)
        moved = host.base / "moved"
        os.rename(host.dir, moved)
        host.dir = moved
        assert host.start()["state"] == "operating"

    def test_restored_leaves_killed_empty(self, hosts):
        host = hosts("--operating")
        host.slow_collector()
        host.ok("kill")
        host.stop()
        copy = host.base / "copy"
        shutil.copytree(host.dir, copy)
        host.dir = copy
        self.refused(host, "was copied")
        host.start("--restored")
        assert host.ready["state"] in ("killed", "onHold")
        assert host.collector("slow").barrier() == []
        assert host.state()["queuedBytes"] == 0
