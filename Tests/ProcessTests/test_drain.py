"""Section 2: a hold hands over what was accepted before it, to everyone who must have it, and says when it is done."""

from holdgate import event, events


def ids(batch):
    return [each["id"] for _, each in batch]


def test_a_drain_waits_for_every_durable_collector(operating):
    fast, slow = operating.collector("fast"), operating.collector("slow")
    stream = operating.sub("state").joined()
    operating.accept(events(1, 10))
    assert operating.ok("holdOperation")["pending"] == 10
    assert len(fast.take(10)) == 10
    fast.barrier()
    assert operating.state()["state"] == "holdRequested"
    assert (operating.state()["drain"]["total"], operating.state()["drain"]["remaining"]) == (10, 10)
    assert len(slow.take(10)) == 10
    assert [stream.next().body["state"] for _ in range(2)] == ["holdRequested", "onHold"]


def test_what_does_not_fit_the_window_is_still_delivered_while_draining(operating):
    collector = operating.collector(windowBytes=1)
    for number in range(1, 21):
        operating.accept([event(number)])
    operating.ok("holdOperation")
    operating.accept([event(21)])
    assert ids(collector.take(20)) == [f"e{n}" for n in range(1, 21)]
    assert operating.ok("holdOperation", waitMs=10_000)["state"] == "onHold"
    collector.nothing()


def test_rejected_and_unmatched_events_count_as_done(operating):
    collector = operating.collector(types=["a"])
    operating.accept([event(1, type="b"), event(2, type="a"), event(3, type="b")])
    operating.ok("holdOperation")
    collector.events(1)
    collector.ack(2, rejects=[[2, "no"]])
    assert operating.ok("holdOperation", waitMs=10_000)["state"] == "onHold"


def test_a_collector_that_is_away_is_waited_for_and_finishes_when_back(operating):
    operating.collector().close()
    operating.accept([event(1)])
    operating.ok("holdOperation")
    assert operating.error("holdOperation", waitMs=50) == "timeout"
    operating.collector().take(1)
    assert operating.ok("holdOperation", waitMs=10_000)["state"] == "onHold"


def test_a_collector_that_is_new_lengthens_no_drain(operating):
    old = operating.slow_collector("old")
    operating.ok("holdOperation")
    operating.collector("new")
    old.ack(1)
    assert operating.ok("holdOperation", waitMs=10_000)["state"] == "onHold"


def test_forgetting_the_one_that_is_missing_ends_the_drain(operating):
    operating.slow_collector("gone").close()
    operating.ok("holdOperation")
    operating.ok("forget", name="gone")
    assert operating.ok("holdOperation", waitMs=10_000)["state"] == "onHold"


def test_a_timeout_ends_it_with_undelivered_events_which_wait_for_the_start(hosts):
    host = hosts("--operating", drainTimeoutMs=200)
    collector = host.slow_collector(count=3)
    stream = host.sub("state").joined()
    host.ok("holdOperation")
    message = stream.until("state", state="onHold")
    assert (message.body["command"], message.body["undelivered"], message.seq) == ("drainTimeout", 3, 3)
    assert host.records()[-1]["undelivered"] == 3
    collector.close()
    again = host.collector("slow")
    again.nothing()
    host.ok("startOperation")
    assert ids(again.take(3)) == ["e1", "e2", "e3"]


def test_acks_count_while_on_hold(hosts):
    host = hosts("--operating", drainTimeoutMs=100)
    collector = host.slow_collector(count=2)
    host.ok("holdOperation", waitMs=10_000)
    collector.ack(2)
    collector.barrier()
    assert host.state()["pending"] == 0
    host.ok("startOperation")
    host.accept([event(3)])
    assert ids(collector.take(1)) == ["e3"]


def test_without_a_timeout_it_waits_for_ever(hosts):
    host = hosts("--operating", drainTimeoutMs=0)
    collector = host.slow_collector()
    host.ok("holdOperation")
    assert host.state()["drain"].get("deadline") is None
    collector.ack(1)
    assert host.ok("holdOperation", waitMs=10_000)["state"] == "onHold"


def test_a_start_in_the_middle_cancels_the_hold(operating):
    collector = operating.slow_collector()
    stream = operating.sub("state").joined()
    operating.ok("holdOperation")
    operating.accept(events(2, 2))
    collector.nothing()
    reply = operating.ok("startOperation")
    assert (reply["previous"], reply["state"], reply["seq"]) == ("holdRequested", "operating", 3)
    assert ids(collector.events(2)) == ["e2", "e3"]
    collector.ack(3)
    collector.barrier()
    assert [each.body["state"] for each in (stream.next(), stream.next())] == ["holdRequested", "operating"]
    assert stream.rest() == [], "a cancelled drain never ends"
    operating.ok("holdOperation", waitMs=10_000)


def test_a_full_restart_publishes_the_state_first_and_releases_in_order(held):
    collector = held.collector()
    stream = held.sub("state", "event.").joined()
    for number in range(1, 101):
        held.accept([event(number)])
    held.ok("startOperation")
    held.accept([event(101)])
    seen = [stream.next() for _ in range(102)]
    assert [each.topic for each in seen] == ["state"] + 101 * ["event.demo.test"]
    assert [each.seq for each in seen[1:]] == list(range(1, 102))
    assert all("heldMs" in each.header for each in seen[1:101]) and "heldMs" not in seen[101].header
    assert ids(collector.take(101)) == [f"e{n}" for n in range(1, 102)]
    held_seqs = [seq for each in collector.deliveries for first, count, _ in each.header.get("held", [])
                 for seq in range(first, first + count)]
    assert held_seqs == list(range(1, 101))
    assert {each for delivery in collector.deliveries for _, _, each in delivery.header["under"]} == {2}
