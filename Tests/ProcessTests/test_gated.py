"""Section 2: what becomes of events that meet a closed gate."""

import pytest

from holdgate import Producer, error_code, event, events, numbers, wait_until


def ids(batch):
    return [each["id"] for _, each in batch]


class TestQueue:
    def test_queued_events_wait_for_the_start_and_come_in_order(self, held):
        collector = held.collector()
        reply = held.accept(events(1, 3))
        assert (reply["accepted"], reply["gated"], reply["discarded"], reply["state"]) == (3, 3, 0, "onHold")
        assert held.state()["gated"] == 3 and held.state()["queuedBytes"] > 0
        collector.nothing()
        held.ok("startOperation")
        delivery = collector.deliver()
        assert ids(delivery.events) == ["e1", "e2", "e3"]
        assert delivery.header["under"] == [[1, 3, 2]], "released under the start, not under the hold"
        assert numbers_held(delivery) == [1, 2, 3]
        assert held.accept([event(4)])["gated"] == 0
        after = collector.deliver()
        assert ids(after.events) == ["e4"] and after.header.get("held", []) == []

    def test_a_gated_event_waits_while_an_older_one_is_drained(self, operating):
        collector = operating.slow_collector()
        operating.ok("holdOperation")
        assert operating.accept([event(2)])["gated"] == 1
        collector.nothing()
        collector.ack(1)
        collector.nothing()
        operating.ok("startOperation")
        assert ids(collector.take(1)) == ["e2"]

    def test_it_outlives_a_restart(self, held):
        held.collector()
        held.accept(events(1, 5))
        held.restart(hard=True)
        assert (held.state()["state"], held.state()["gated"]) == ("onHold", 5)
        collector = held.collector()
        collector.nothing()
        held.ok("startOperation")
        assert ids(collector.take(5)) == [f"e{n}" for n in range(1, 6)]


class TestDiscard:
    def test_discarded_events_are_counted_and_gone(self, hosts):
        host = hosts("--holding", gatedEvents="discard")
        collector = host.collector()
        reply = host.accept(events(1, 3))
        assert (reply["accepted"], reply["gated"], reply["discarded"]) == (0, 0, 3)
        host.ok("startOperation")
        host.accept([event(4)])
        assert ids(collector.take(1)) == ["e4"]

    def test_a_discarded_batch_counts_as_taken(self, hosts):
        host = hosts("--holding", gatedEvents="discard")
        producer = Producer(host)
        producer.send([event(1)])
        host.restart(hard=True)
        assert producer.again([event(1)])["duplicate"] is True
        assert producer.send([event(2)])["discarded"] == 1

    def test_nothing_of_it_reaches_the_disk(self, hosts):
        host = hosts("--holding", gatedEvents="discard")
        host.collector()
        host.accept([event(1, data="MARKER-ne1n")])
        host.stop()
        assert host.bytes_on_disk(b"MARKER-ne1n") == 0


class TestRefuse:
    def test_refused_events_are_not_taken(self, hosts):
        host = hosts("--holding", gatedEvents="refuse")
        producer = Producer(host)
        reply = producer.send([event(1)])
        assert error_code(reply) == "notOperating" and reply["error"]["retryable"] is True
        host.ok("startOperation")
        assert producer.again([event(1)])["accepted"] == 1

    def test_a_duplicate_is_looked_up_before_the_policy(self, hosts):
        host = hosts("--operating", gatedEvents="refuse")
        producer = Producer(host)
        producer.send([event(1)])
        host.ok("holdOperation", waitMs=10_000)
        assert producer.again([event(1)])["duplicate"] is True
        assert error_code(producer.send([event(2)])) == "notOperating"


class TestPolicyOfOneHold:
    @pytest.mark.parametrize("hard", [None, True])
    def test_it_lasts_for_its_hold(self, operating, hard):
        collector = operating.collector()
        operating.ok("holdOperation", gatedEvents="discard", waitMs=10_000)
        if hard:
            operating.restart(hard=True)
            collector = operating.collector()
        assert operating.accept([event(1)])["discarded"] == 1
        operating.ok("startOperation")
        operating.ok("holdOperation", waitMs=10_000)
        assert operating.accept([event(2)])["gated"] == 1
        operating.ok("startOperation")
        assert ids(collector.take(1)) == ["e2"]

    def test_a_hold_during_the_hold_replaces_it(self, held):
        reply = held.ok("holdOperation", gatedEvents="refuse")
        assert (reply["changed"], reply["seq"], reply["state"]) == (False, 1, "onHold")
        assert error_code(held.ingest([event(1)])) == "notOperating"
        held.ok("holdOperation")
        assert error_code(held.ingest([event(1)])) == "notOperating", "a hold that names none leaves it"
        held.ok("holdOperation", gatedEvents="queue")
        assert held.accept([event(1)])["gated"] == 1

    def test_discard_drops_what_this_hold_has_queued(self, operating):
        collector = operating.slow_collector()
        operating.ok("holdOperation")
        operating.accept(events(2, 3))
        operating.ok("holdOperation", gatedEvents="discard")
        assert operating.state()["gated"] == 0
        collector.ack(1)
        operating.ok("holdOperation", waitMs=10_000)
        operating.restart(hard=True)
        collector = operating.collector("slow")
        operating.ok("startOperation")
        operating.accept([event(5)])
        assert ids(collector.take(1)) == ["e5"]

    def test_what_was_accepted_before_the_hold_is_not_dropped_with_it(self, operating):
        collector = operating.slow_collector()
        operating.ok("holdOperation", gatedEvents="discard")
        collector.close()
        again = operating.collector("slow")
        assert ids(again.take(1)) == ["e1"]


def test_queued_events_grow_too_old(hosts):
    host = hosts("--holding", gatedMaxAgeMs=100)
    collector = host.collector()
    host.accept([event(1)])
    wait_until(lambda: host.state()["gated"] == 0, "the queued event to grow too old")
    host.ok("startOperation")
    host.accept([event(2)])
    assert ids(collector.take(1)) == ["e2"]


def test_after_the_reply_to_a_hold_nothing_read_later_is_released(operating):
    collector = operating.collector()
    for number in range(1, 31):
        before = operating.accept([event(2 * number - 1)])
        operating.ok("holdOperation", gatedEvents="queue")
        assert before["gated"] == 0 and operating.accept([event(2 * number)])["gated"] == 1
        assert ids(collector.take(1)) == [f"e{2 * number - 1}"]
        collector.nothing()
        operating.ok("startOperation")
        assert ids(collector.take(1)) == [f"e{2 * number}"]


def numbers_held(delivery):
    assert all(ms >= 0 for _, _, ms in delivery.header["held"])
    return numbers(delivery.header["held"])
