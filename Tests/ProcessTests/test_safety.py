"""Section 3: commands that are safe to send twice, that look before they act, and that wait."""

import json
import threading

import pytest
import zmq

from holdgate import event, receive_json


def sent(host, command, **members):
    """A request that is on its way; its reply is read later."""
    socket = host.socket(zmq.REQ, "control")
    socket.send(json.dumps({"command": command, **members}).encode())
    return socket


class TestExpect:
    def test_what_holds_lets_the_command_through(self, operating):
        expect = {"launch": operating.launch, "state": "operating", "seq": 1}
        assert operating.ok("holdOperation", expect=expect)["seq"] == 2

    @pytest.mark.parametrize("expect", [
        {"launch": "0" * 32}, {"state": "onHold"}, {"seq": 2}, {"seq": 0}, {"state": "operating", "seq": 2},
    ])
    def test_what_does_not_hold_is_a_conflict_and_nothing_happens(self, shared, expect):
        assert shared.error("holdOperation", expect=expect) == "conflict"
        assert shared.state()["seq"] == 1


class TestKey:
    def test_the_first_reply_comes_again(self, operating):
        first = operating.ok("holdOperation", key="k", id=1)
        assert not first.get("replayed")
        again = operating.ok("holdOperation", key="k", id=2)
        assert again.pop("replayed") is True and again.pop("id") == 2
        first.pop("id")
        first.pop("replayed", None)
        assert again == first

    def test_it_comes_again_after_a_later_command_and_changes_nothing(self, operating):
        operating.ok("holdOperation", key="k", waitMs=10_000)
        operating.ok("startOperation")
        assert operating.ok("holdOperation", key="k", waitMs=10_000)["replayed"] is True
        assert operating.state()["state"] == "operating"

    def test_a_no_ops_reply_is_remembered_too(self, operating):
        assert operating.ok("startOperation", key="k")["changed"] is False
        operating.ok("holdOperation")
        again = operating.ok("startOperation", key="k")
        assert again["replayed"] is True and again["changed"] is False and again["state"] == "operating"
        assert operating.state()["isOperating"] is False

    def test_another_request_under_the_same_key_is_a_conflict(self, operating):
        operating.ok("holdOperation", key="k", waitMs=10_000)
        assert operating.error("startOperation", key="k") == "conflict"
        assert operating.state()["state"] == "onHold"

    def test_a_key_belongs_to_its_source(self, operating):
        operating.ok("startOperation", key="k", source="a")
        assert operating.ok("holdOperation", key="k", source="b")["changed"] is True

    def test_a_refusal_is_not_remembered(self, operating):
        assert operating.error("holdOperation", key="k", expect={"state": "onHold"}) == "conflict"
        assert operating.ok("holdOperation", key="k")["changed"] is True

    @pytest.mark.parametrize("hard", [True, False])
    def test_replies_are_remembered_across_restarts(self, operating, hard):
        first = operating.ok("holdOperation", key="k")
        noop = operating.ok("holdOperation", key="n")
        operating.restart(hard=hard)
        for key, before in (("k", first), ("n", noop)):
            again = operating.ok("holdOperation", key=key)
            assert again["replayed"] is True
            assert {name: again[name] for name in ("state", "seq", "changed")} == {
                name: before[name] for name in ("state", "seq", "changed")}

    def test_a_kill_remembers_its_own_reply_and_keys_end_with_the_launch(self, operating):
        first = operating.ok("kill", key="k")
        operating.restart(hard=True)
        again = operating.ok("kill", key="k")
        assert again["replayed"] is True and again["discarded"] == first["discarded"]
        operating.restart("--new-launch", "--operating")
        assert operating.ok("holdOperation", key="k")["changed"] is True

    def test_two_at_once_make_one_transition(self, operating):
        replies = []
        def hold():
            replies.append(operating.ok("holdOperation", key="k"))
        threads = [threading.Thread(target=hold) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(bool(reply.get("replayed")) for reply in replies) == [False, True, True, True]
        assert {reply["seq"] for reply in replies} == {2}


class TestWait:
    def test_the_reply_comes_once_settled(self, operating):
        collector = operating.slow_collector()
        stream = operating.sub("state").joined()
        with sent(operating, "holdOperation", waitMs=10_000, id="w") as waiting:
            stream.until("state", state="holdRequested")
            assert not waiting.poll(0)
            collector.ack(1)
            reply = receive_json(waiting)
        assert (reply["ok"], reply["id"], reply["state"], reply["seq"]) == (True, "w", "onHold", 3)
        assert (reply["previous"], reply["changed"]) == ("operating", True)

    def test_a_drain_timeout_settles_it_too(self, hosts):
        host = hosts("--operating", drainTimeoutMs=200)
        host.slow_collector()
        assert host.ok("holdOperation", waitMs=10_000)["state"] == "onHold"

    def test_its_own_timeout_leaves_the_hold_standing(self, operating):
        operating.slow_collector()
        assert operating.error("holdOperation", waitMs=100) == "timeout"
        assert operating.state()["state"] == "holdRequested"

    @pytest.mark.parametrize("command", ["startOperation", "kill"])
    def test_a_start_or_a_kill_overtakes_it(self, operating, command):
        operating.slow_collector()
        stream = operating.sub("state").joined()
        with sent(operating, "holdOperation", waitMs=60_000) as waiting:
            stream.until("state", state="holdRequested")
            operating.ok(command)
            reply = receive_json(waiting)
        assert reply["error"]["code"] == "conflict"

    def test_a_shutdown_ends_it(self, operating):
        operating.slow_collector()
        stream = operating.sub("state").joined()
        with sent(operating, "holdOperation", waitMs=60_000) as waiting:
            stream.until("state", state="holdRequested")
            status = operating.stop()
            assert receive_json(waiting)["error"]["code"] == "shuttingDown"
        assert status == 0

    def test_on_hold_already_it_comes_at_once(self, held):
        reply = held.ok("holdOperation", waitMs=10_000)
        assert (reply["state"], reply["previous"], reply["changed"], reply["seq"]) == ("onHold", "onHold", False, 1)

    def test_joining_a_drain_waits_for_its_end(self, operating):
        collector = operating.slow_collector()
        operating.ok("holdOperation")
        with sent(operating, "holdOperation", waitMs=60_000) as waiting:
            operating.ok("ping")
            collector.ack(1)
            reply = receive_json(waiting)
        assert (reply["state"], reply["seq"], reply["changed"]) == ("onHold", 3, False)


def test_pending_counts_each_event_once(operating):
    collectors = [operating.collector(name) for name in ("a", "b")]
    operating.accept([event(1), event(2)])
    for collector in collectors:
        collector.events(2)
    collectors[0].ack(1)
    collectors[0].barrier()
    assert operating.ok("holdOperation")["pending"] == 2
    collectors[1].ack(1)
    collectors[1].barrier()
    assert operating.state()["pending"] == 1
