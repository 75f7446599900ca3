"""Section 8: a restart goes on where the last answered command left off."""

import signal
import subprocess

import pytest

import holdgate
from holdgate import NoReady, error_code, event, events

BOTH = pytest.mark.parametrize("hard", [True, False], ids=["kill -9", "SIGTERM"])


@BOTH
class TestStateStays:
    def test_operating(self, operating, hard):
        operating.restart("--holding", hard=hard)
        assert (operating.ready["state"], operating.ready["seq"]) == ("operating", 1)
        collector = operating.collector()
        operating.accept([event(1)])
        collector.take(1)

    def test_on_hold(self, operating, hard):
        operating.ok("holdOperation", waitMs=10_000)
        operating.restart("--operating", hard=hard)
        assert (operating.ready["state"], operating.ready["seq"]) == ("onHold", 3)

    def test_hold_requested_and_the_drain_goes_on(self, operating, hard):
        operating.slow_collector(count=2)
        operating.ok("holdOperation")
        operating.restart(hard=hard)
        assert (operating.ready["state"], operating.ready["seq"]) == ("holdRequested", 2)
        operating.accept([event(3)])
        collector = operating.collector("slow")
        delivery = collector.deliver()
        assert delivery.seqs == [1, 2] and delivery.header["under"] == [[1, 2, 1]]
        collector.ack(2)
        assert operating.ok("holdOperation", waitMs=10_000)["state"] == "onHold"
        collector.nothing()

    def test_killed(self, operating, hard):
        operating.ok("kill")
        operating.restart("--operating", hard=hard)
        assert (operating.ready["state"], operating.ready["seq"]) == ("killed", 2)

    def test_transitions_go_on_counting_in_the_same_launch(self, operating, hard):
        launch = operating.launch
        for round in range(3):
            operating.ok("holdOperation", waitMs=10_000)
            operating.restart(hard=hard)
            operating.ok("startOperation")
        assert operating.launch == launch and operating.state()["seq"] == 10
        assert [record["seq"] for record in operating.records()] == list(range(1, 11))


@BOTH
def test_everything_acknowledged_is_there(operating, hard):
    operating.collector().close()
    for number in range(20):
        operating.accept(events(100 * number, 100))
    operating.restart(hard=hard)
    taken = operating.collector().take(2_000)
    assert [seq for seq, _ in taken] == list(range(1, 2_001))
    assert [each["id"] for _, each in taken] == [f"e{n}" for n in range(2_000)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_host_cleanly_without_waiting_for_a_drain(operating, number):
    operating.slow_collector()
    operating.ok("holdOperation")
    operating.signal(number)
    assert operating.ended() == 0


def test_a_second_host_on_the_same_state_is_refused(operating):
    with pytest.raises(NoReady) as caught:
        holdgate.Host(directory=operating.base)
    assert caught.value.status == 1 and str(operating.dir) in caught.value.stderr
    assert operating.ok("ping")


def test_an_address_in_use_stops_the_start_and_says_which(operating):
    with pytest.raises(NoReady) as caught:
        holdgate.Host("--control", operating.address("control"), directory=operating.base / "other")
    assert operating.address("control") in caught.value.stderr
    assert operating.ok("ping")


class TestConfiguration:
    def write(self, tmp_path, text):
        path = tmp_path / "holdgate.json"
        path.write_text(text)
        return str(path)

    def test_a_file_with_comments_is_read_and_the_environment_beats_it(self, hosts, tmp_path):
        path = self.write(tmp_path, '{\n  // while undecided\n  gatedEvents: "refuse",\n}')
        assert error_code(hosts("--config", path).ingest([event(1)])) == "notOperating"
        assert hosts("--config", path, gatedEvents="queue").accept([event(1)])["gated"] == 1

    @pytest.mark.parametrize("text, named", [
        ('{"gatedEvent": "queue"}', "gatedEvent"), ('{"gatedEvents": "keep"}', "gatedEvents"),
        ('{"drainTimeoutMs": "1"}', "drainTimeoutMs"), ('{"drainTimeoutMs": -1}', "drainTimeoutMs"),
        ('{"maxFrameBytes": 0}', "maxFrameBytes"), ("{", "holdgate.json"), ("[]", "holdgate.json"),
    ])
    def test_a_wrong_key_stops_the_start_and_is_named(self, hosts, tmp_path, text, named):
        with pytest.raises(NoReady) as caught:
            hosts("--config", self.write(tmp_path, text))
        assert caught.value.status != 0 and named in caught.value.stderr

    @pytest.mark.parametrize("keys, named", [
        ({"gatedEvents": "keep"}, "HOLDGATE_GATED_EVENTS"), ({"drainTimeoutMs": "soon"}, "HOLDGATE_DRAIN_TIMEOUT_MS"),
        ({"drainTimeout": 5}, "HOLDGATE_DRAIN_TIMEOUT"),
    ])
    def test_a_wrong_variable_stops_the_start_and_is_named(self, hosts, keys, named):
        with pytest.raises(NoReady) as caught:
            hosts(**keys)
        assert named in caught.value.stderr

    def test_a_missing_file_stops_the_start(self, hosts, tmp_path):
        with pytest.raises(NoReady) as caught:
            hosts("--config", str(tmp_path / "none.json"))
        assert "none.json" in caught.value.stderr


def test_the_history_verifies_with_what_every_system_has(operating):
    operating.ok("holdOperation", waitMs=10_000, reason="quotes \" and ,\"hash\" in a reason")
    operating.ok("startOperation")
    (history,) = operating.history_files()
    script = r'''
        grep '"n":' "$1" | while IFS= read -r line; do
            want=$(jq -r .hash <<<"$line")
            got=$(printf '%s' "${line%,\"hash\"*}" | sha256sum | cut -d' ' -f1)
            [[ $want == "$got" ]] || exit 1
            echo ok
        done'''
    result = subprocess.run(["bash", "-c", script, "-", str(history)], capture_output=True, text=True)
    assert result.returncode == 0 and result.stdout.split() == 5 * ["ok"], result   # header and four records


def test_delivered_bytes_are_overwritten_after_their_time(hosts):
    host = hosts("--operating", eraseAfterMs=1000)
    collector = host.collector()
    host.accept([event(1, data="MARKER-OLD")])
    collector.events(1)
    collector.ack(1)
    segments = sorted(host.dir.glob("segment-*"))
    holdgate.wait_until(
        lambda: not any(b"MARKER-OLD" in path.read_bytes() for path in segments), "the delivered event is overwritten")
    host.restart()
    assert host.ready["state"] == "operating"
