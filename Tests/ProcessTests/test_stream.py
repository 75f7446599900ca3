"""Section 4: late joiners get a snapshot, gaps show, events come once released."""

import zmq

from holdgate import event, events, receive


def test_two_late_joiners_get_the_same_snapshot_and_then_the_same_changes(operating):
    operating.ok("holdOperation", waitMs=10_000, source="tester")
    joiners = [operating.sub("state"), operating.sub("state")]
    for joiner in joiners:
        snapshot = joiner.until("state", snapshot=True)
        assert (snapshot.seq, snapshot.header["prev"]) == (3, 2)
        assert (snapshot.body["state"], snapshot.body["previous"]) == ("onHold", "holdRequested")
        assert snapshot.body["command"] == "drained"
    operating.ok("startOperation")
    for joiner in joiners:
        message = joiner.next()
        assert (message.seq, message.header["prev"], message.body["state"]) == (4, 3, "operating")
        assert "snapshot" not in message.body


def test_a_snapshot_repeats_the_transition_so_that_it_can_be_told(operating):
    first = operating.sub("state").joined()
    operating.ok("holdOperation", waitMs=10_000)
    seen = [first.next(), first.next()]
    operating.sub("state")
    snapshot = first.until("state", snapshot=True)
    assert (snapshot.seq, snapshot.header["prev"]) == (seen[-1].seq, seen[-1].header["prev"])
    assert snapshot.header["run"] == seen[-1].header["run"] == operating.ready["run"]


def test_prev_is_unbroken_over_many_changes(held):
    stream = held.sub("state").joined()
    for _ in range(20):
        held.ok("startOperation")
        held.ok("holdOperation", waitMs=10_000)
    seen = [stream.next() for _ in range(60)]
    assert [each.seq for each in seen] == list(range(2, 62))
    assert all(each.header["prev"] == each.seq - 1 for each in seen)
    assert [each.body["state"] for each in seen] == 20 * ["operating", "holdRequested", "onHold"]


def test_after_a_restart_the_run_is_another_and_the_launch_the_same(operating):
    operating.ok("holdOperation", waitMs=10_000)
    run = operating.ready["run"]
    operating.restart()
    snapshot = operating.sub("state").until("state", snapshot=True)
    assert snapshot.header["launch"] == operating.launch and snapshot.header["run"] != run
    assert (snapshot.seq, snapshot.body["state"]) == (3, "onHold")


def test_a_heartbeat_tells_the_heads(operating):
    stream = operating.sub("heartbeat", "event.")
    operating.accept(events(1, 3))
    stream.joined()
    operating.accept(events(4, 2))
    assert stream.until("event.demo.test", id="e5").seq == 5
    beats = [stream.until("heartbeat") for _ in range(2)]
    assert beats[1].body["heads"] == {"state": 1, "event": 5} and beats[1].body["state"] == "operating"
    assert beats[1].header["prev"] == beats[0].seq and beats[1].body["time"].endswith("Z")


def test_events_come_in_order_under_their_types(operating):
    stream = operating.sub("event.").joined()
    batch = [event(number, type=f"demo.{number % 3}", data={"n": number}) for number in range(100)]
    operating.accept(batch[:50])
    operating.accept(batch[50:])
    seen = [stream.next() for _ in range(100)]
    assert [each.seq for each in seen] == list(range(1, 101))
    assert [each.topic for each in seen] == [f"event.{each['type']}" for each in batch]
    assert [each.body for each in seen] == batch
    assert not any("heldMs" in each.header or "prev" in each.header for each in seen)


def test_a_topic_is_a_prefix(operating):
    stream = operating.sub("event.a").joined()
    operating.accept([event(1, type="b"), event(2, type="a"), event(3, type="ab"), event(4, type="a.b")])
    assert [stream.next().topic for _ in range(3)] == ["event.a", "event.ab", "event.a.b"]


def test_nothing_gated_is_published_and_then_it_says_how_long_it_was_held(held):
    stream = held.sub("event.", "state").joined()
    held.accept(events(1, 3))
    assert stream.rest() == []
    held.ok("startOperation")
    seen = [stream.next() for _ in range(4)]
    assert [each.topic for each in seen] == ["state"] + 3 * ["event.demo.test"], "the state comes first"
    assert [each.seq for each in seen[1:]] == [1, 2, 3]
    assert all(each.header["heldMs"] >= 0 for each in seen[1:])
    held.accept([event(4)])
    assert "heldMs" not in stream.next().header


def test_what_a_cancelled_hold_had_gated_flows_at_once(operating):
    operating.slow_collector()
    stream = operating.sub("event.").joined()
    operating.ok("holdOperation")
    operating.accept(events(2, 2))
    assert stream.rest() == []
    operating.ok("startOperation")
    assert [stream.next().seq for _ in range(2)] == [2, 3]


def test_a_drain_shows_its_progress(operating):
    collector = operating.slow_collector(count=3)
    stream = operating.sub("drain", "state").joined()
    operating.ok("holdOperation")
    collector.ack(1)
    collector.ack(3)
    seen = []
    while not seen or seen[-1].body.get("state") != "onHold":
        seen.append(stream.next())
    progress = [each for each in seen if each.topic == "drain"]
    assert progress and all(each.body["total"] == 3 for each in progress)
    remaining = [each.body["remaining"] for each in progress]
    assert remaining == sorted(remaining, reverse=True) and set(remaining) <= {0, 1, 2, 3}
    prevs = [each.header["prev"] for each in progress]
    assert prevs[1:] == [each.seq for each in progress[:-1]]


def test_plugins_coming_and_going_are_published(operating):
    stream = operating.sub("plugin").joined()
    collector = operating.collector("visitor")
    message = stream.until("plugin", plugin="visitor")
    assert message.body["change"] == "attached"
    collector.send("bye")
    message = stream.until("plugin", plugin="visitor", change="detached")
    assert message.header["prev"] > 0


def test_a_last_frame_that_tells_nothing_new_ends_no_host(operating):
    both = [operating.socket(zmq.XSUB, "stream") for _ in range(2)]
    for socket in both:
        socket.send(b"\x01state")
        assert receive(socket)[0] == b"state"
    # libzmq keeps the second frame to itself, as somebody else has that subscription, too.
    both[0].send_multipart([b"\x02", b"\x00state"])
    for _ in range(20):
        assert operating.state()["ok"]
    both[0].send(b"\x01drain")
    both[0].send(b"\x01state")
    while receive(both[0])[0] != b"state":
        pass
