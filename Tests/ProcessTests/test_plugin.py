"""Section 6: collectors, their windows, their cursors, and who holds a name."""

import json

import pytest
import zmq

from holdgate import Collector, event, events, receive, wait_until


def ids(batch):
    return [each["id"] for _, each in batch]


def row(host, name):
    """The collector's row in `plugins`, or None."""
    return next((row for row in host.ok("plugins")["plugins"] if row["name"] == name), None)


class TestHello:
    def test_welcome_says_where_things_stand(self, operating):
        welcome = operating.collector().welcome
        assert {name: welcome[name] for name in ("launch", "run", "state", "seq", "cursor", "heartbeatMs")} == {
            "launch": operating.launch, "run": operating.ready["run"], "state": "operating", "seq": 1, "cursor": 0,
            "heartbeatMs": 1000}

    def test_an_empty_first_frame_comes_back(self, operating):
        with operating.socket(zmq.DEALER, "plugin") as socket:
            hello = {"type": "hello", "v": 1, "name": "framed", "version": "1", "collect": {}}
            socket.send_multipart([b"", json.dumps(hello).encode()])
            delimiter, first = receive(socket)
            assert delimiter == b"" and json.loads(first)["type"] == "welcome"

    def test_a_routing_id_of_its_own_is_refused(self, operating):
        collector = Collector(operating, "named", routing_id=b"mine")
        collector.say_hello()
        assert collector.expect("refused")["error"]["code"] == "invalidArgument"
        operating.accept([event(1)])
        assert row(operating, "named") is None

    def test_an_unknown_peer_is_asked_for_its_hello(self, operating):
        stranger = Collector(operating, "stranger")
        stranger.send("heartbeat")
        assert stranger.receive()["type"] == "hello?"

    def test_hello_twice_restarts_delivery_from_the_cursor(self, operating):
        collector = operating.collector()
        operating.accept(events(1, 3))
        assert ids(collector.events(3)) == ["e1", "e2", "e3"]
        collector.ack(1)
        collector.say_hello()
        assert collector.expect("welcome")["cursor"] == 1
        delivery = collector.deliver()
        assert ids(delivery.events) == ["e2", "e3"] and delivery.header["redelivered"] is True

    @pytest.mark.parametrize("members", [
        {"v": 2}, {"name": ""}, {"name": 5}, {"name": None}, {"collect": []}, {"collect": {"types": "x"}},
        {"collect": {"types": [1]}}, {"collect": {"windowBytes": 0}}, {"collect": {"windowBytes": "1"}},
        {"collect": {"durable": "yes"}}, {"services": "x"},
    ])
    def test_a_wrong_hello_is_refused(self, shared, members):
        peer = Collector(shared, "wrong")
        hello = {"v": 1, "name": "wrong", "version": "1", "collect": {}, **members}
        peer.send("hello", **{name: value for name, value in hello.items() if value is not None})
        message = peer.receive()
        assert message["type"] in ("refused", "error") and message["error"]["code"] in (
            "invalidArgument", "invalidMessage", "unsupportedVersion"), message
        peer.close()


class TestDelivery:
    def test_order_seqs_and_the_transition_it_was_released_under(self, operating):
        collector = operating.collector()
        batch = [event(number, type=f"t{number % 5}", data="ü" * number) for number in range(1, 201)]
        for start in range(0, 200, 20):
            operating.accept(batch[start:start + 20])
        taken = collector.take(200)
        assert [seq for seq, _ in taken] == list(range(1, 201)) and [each for _, each in taken] == batch
        for delivery in collector.deliveries:
            assert delivery.header["launch"] == operating.launch
            assert {transition for _, _, transition in delivery.header["under"]} == {1}
            assert delivery.header["redelivered"] is False

    def test_at_most_the_window_is_unacknowledged(self, operating):
        collector = operating.collector(windowBytes=10_000)
        for number in range(1, 21):
            operating.accept([event(number, data="x" * 1_000)])
        got = [each for message in collector.barrier() for each in message["delivery"].events]
        assert 1 <= len(got) <= 9
        collector.ack(got[-1][0])
        rest = collector.take(20 - len(got))
        assert ids(got + rest) == [f"e{n}" for n in range(1, 21)]

    def test_a_block_larger_than_the_window_comes_all_the_same(self, operating):
        collector = operating.collector(windowBytes=1)
        operating.accept(events(1, 50))
        operating.accept(events(51, 50))
        assert ids(collector.take(100)) == [f"e{n}" for n in range(1, 101)]

    def test_acks_are_cumulative_and_an_older_one_changes_nothing(self, operating):
        collector = operating.collector()
        for number in range(1, 4):
            operating.accept([event(number)])
        collector.events(3)
        collector.ack(3)
        collector.ack(1)
        collector.barrier()
        assert row(operating, "collector")["cursor"] == 3

    def test_an_ack_past_what_was_delivered_is_an_error_and_counts_for_nothing(self, operating):
        collector = operating.collector()
        operating.accept([event(1)])
        collector.events(1)
        collector.ack(2)
        assert collector.expect("error")["error"]["code"] == "invalidArgument"
        assert row(operating, "collector")["cursor"] == 0
        operating.accept([event(2)])
        assert ids(collector.events(1)) == ["e2"], "the attachment stays"

    def test_only_the_types_that_were_asked_for(self, operating):
        exact = operating.collector("exact", types=["a.b"])
        prefix = operating.collector("prefix", types=["a.*", "z"])
        batch = [event(n, type=type) for n, type in enumerate(["a", "a.b", "a.bc", "b", "z", "zz"], 1)]
        operating.accept(batch)
        assert exact.take(1) == [(2, batch[1])]
        assert [seq for seq, _ in prefix.take(3)] == [2, 3, 5]
        exact.nothing()
        prefix.nothing()

    def test_the_latest_types_apply_from_the_cursor_on(self, operating):
        collector = operating.collector(types=["a"])
        operating.accept([event(1, type="b"), event(2, type="a"), event(3, type="b")])
        assert [seq for seq, _ in collector.events(1)] == [2]
        collector.say_hello(types=["b"])
        assert collector.expect("welcome")["cursor"] in (1, 2)
        assert [seq for seq, _ in collector.take(1)][-1] == 3

    def test_two_durable_collectors_each_get_everything(self, operating):
        both = [operating.collector(name) for name in ("a", "b")]
        operating.accept(events(1, 100))
        assert [ids(each.take(100)) for each in both] == 2 * [[f"e{n}" for n in range(1, 101)]]


class TestDurable:
    @pytest.mark.parametrize("how", ["closed", "bye", "host killed", "host stopped"])
    def test_events_are_kept_and_redelivered_from_the_cursor(self, operating, how):
        collector = operating.collector()
        operating.accept(events(1, 2))
        operating.accept(events(3, 1))
        collector.events(3)
        collector.ack(2)
        collector.barrier()
        if how == "bye":
            collector.send("bye")
        collector.close()
        if how.startswith("host"):
            operating.restart(hard=how == "host killed")
        operating.accept(events(4, 2))
        again = operating.collector()
        taken = again.take(3)
        while taken[-1][0] < 5:
            taken += again.take(1)
        assert ids(taken)[-3:] == ["e3", "e4", "e5"]
        assert len(taken) == 3 or how == "host killed", "only a crash may repeat: acks are never waited for"

    def test_a_new_one_starts_at_the_first_event_not_yet_released(self, held):
        old = held.collector("old")
        held.ok("startOperation")
        held.accept([event(1)])
        old.take(1)
        held.ok("holdOperation", waitMs=10_000)
        held.accept([event(2)])
        new = held.collector("new")
        held.ok("startOperation")
        assert ids(new.take(1)) == ["e2"]

    def test_forget_ends_it(self, operating):
        collector = operating.collector()
        collector.send("bye")
        operating.accept([event(1)])
        wait_until(lambda: (row(operating, "collector") or {}).get("state") != "attached", "the bye to be read")
        operating.ok("forget", name="collector")
        assert row(operating, "collector") is None
        assert operating.accept([event(2)])["kept"] is False
        assert operating.collector().welcome["cursor"] == 2

    def test_a_durable_name_can_not_become_passing(self, operating):
        operating.collector().send("bye")
        again = Collector(operating)
        again.say_hello(durable=False)
        assert again.expect("refused")["error"]["code"] == "invalidArgument"


class TestPassing:
    def test_it_gets_events_from_now_on_and_is_not_kept_for(self, operating):
        operating.accept([event(1)])
        passing = operating.collector("passing", durable=False)
        assert operating.accept([event(2)])["kept"] is False
        assert ids(passing.take(1)) == ["e2"]
        passing.close()
        operating.accept([event(3)])
        again = operating.collector("passing", durable=False)
        operating.accept([event(4)])
        assert ids(again.take(1)) == ["e4"]

    def test_a_hold_does_not_wait_for_it(self, operating):
        passing = operating.collector("passing", durable=False)
        operating.accept([event(1)])
        passing.events(1)
        assert operating.ok("holdOperation", waitMs=10_000)["state"] == "onHold"

    def test_what_exceeds_its_window_is_skipped(self, operating):
        passing = operating.collector("passing", durable=False, windowBytes=5_000)
        for number in range(1, 101):
            operating.accept([event(number, data="x" * 1_000)])
        got = [each for message in passing.barrier() for each in message["delivery"].events]
        assert 1 <= len(got) < 100
        passing.ack(got[-1][0])
        passing.barrier()
        operating.accept([event(101)])
        assert ids(passing.events(1)) == ["e101"]


class TestDeadLetters:
    def test_rejects_go_there_and_can_be_queued_again(self, operating):
        collector = operating.collector()
        operating.accept(events(1, 3))
        collector.events(3)
        collector.ack(3, rejects=[[2, "no such table"]])
        collector.barrier()
        (letter,) = operating.ok("deadLetters")["deadLetters"]
        assert letter["seq"] == 2 and letter["reason"] == "no such table"
        operating.ok("requeue", seqs=[2])
        ((seq, again),) = collector.take(1)
        assert again == event(2) and seq > 3
        assert operating.ok("deadLetters")["deadLetters"] == []

    def test_they_outlive_a_restart(self, operating):
        collector = operating.collector()
        operating.accept([event(1)])
        collector.events(1)
        collector.ack(1, rejects=[[1, "unreadable"]])
        collector.barrier()
        operating.restart()
        assert [letter["seq"] for letter in operating.ok("deadLetters")["deadLetters"]] == [1]

    def test_the_oldest_goes_where_there_are_too_many(self, hosts):
        host = hosts("--operating", maxDeadLetters=2)
        collector = host.collector()
        host.accept(events(1, 3))
        collector.events(3)
        collector.ack(3, rejects=[[seq, "no"] for seq in (1, 2, 3)])
        collector.barrier()
        assert [letter["seq"] for letter in host.ok("deadLetters")["deadLetters"]] == [2, 3]

    def test_a_reject_beyond_the_ack_is_an_error(self, operating):
        collector = operating.collector()
        operating.accept(events(1, 2))
        collector.events(2)
        collector.ack(1, rejects=[[2, "too early"]])
        assert collector.expect("error")["error"]["code"] == "invalidArgument"

    def test_an_unknown_dead_letter_is_refused(self, operating):
        assert operating.error("requeue", seqs=[7]) == "invalidArgument"


class TestNames:
    def test_the_newest_takes_over_and_the_older_is_superseded(self, operating):
        old = operating.collector()
        operating.accept(events(1, 2))
        old.events(2)
        new = operating.collector()
        assert old.expect("refused")["error"]["code"] == "superseded"
        assert ids(new.take(2)) == ["e1", "e2"]
        operating.accept([event(3)])
        assert ids(new.take(1)) == ["e3"]
        old.ack(3)
        assert old.receive()["type"] in ("hello?", "error", "refused")

    def test_plugins_lists_them(self, operating):
        collector = operating.collector()
        operating.accept([event(1)])
        collector.events(1)
        listed = row(operating, "collector")
        assert (listed["version"], listed["cursor"], listed["state"]) == ("1.0", 0, "attached")

    def test_no_more_than_the_limit_attach(self, hosts):
        host = hosts("--operating", maxPlugins=3)
        attached = [host.collector(f"c{number}", durable=False) for number in range(3)]
        one_more = Collector(host, "c3")
        one_more.say_hello(durable=False)
        assert one_more.expect("refused")["error"]["code"] == "overloaded"
        assert len(attached) == 3


def test_states_are_told_to_plugins(operating):
    collector = operating.collector()
    operating.ok("holdOperation", waitMs=10_000, source="tester")
    seen = []
    while len(seen) < 2:
        message = json.loads(receive(collector.socket)[0])
        if message["type"] == "state":
            seen.append((message["seq"], message["state"], message["command"]))
    assert seen == [(2, "holdRequested", "holdOperation"), (3, "onHold", "drained")]


def test_a_stopping_host_says_goodbye(operating):
    collector = operating.collector()
    status = operating.stop()
    assert collector.expect("goodbye") and status == 0
