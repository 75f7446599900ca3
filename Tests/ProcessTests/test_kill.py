"""Section 2: after a kill nothing is left, nothing more is handed over, and nothing but a new launch helps."""

import json
import os
import pathlib
import signal
import subprocess
import sys

import zmq

from holdgate import PATIENCE, Producer, error_code, event, events, lines, numbers, receive_json

MARKER = "MARKER-4a1b0c"


def test_the_reply_says_what_was_discarded_and_what_was_on_its_way(operating):
    collector = operating.collector(windowBytes=1)
    for number in range(1, 4):
        operating.accept([event(number)])
    assert len(collector.events(1)) == 1
    operating.ok("holdOperation")
    operating.accept(events(4, 2))
    reply = operating.ok("kill", source="privacy-office", reason="ERASURE-9")
    assert (reply["previous"], reply["state"], reply["changed"]) == ("holdRequested", "killed", True)
    assert reply["inFlight"] == {"collector": [[1, 1]]}
    assert reply["discarded"] in (4, 5), "all five, or those that were not on their way"
    record = operating.records()[-1]
    assert (record["state"], record["source"], record["reason"]) == ("killed", "privacy-office", "ERASURE-9")
    assert (record["inFlight"], record["discarded"], record["through"]) == (
        reply["inFlight"], reply["discarded"], 5)


def test_what_was_acknowledged_is_not_in_flight(operating):
    collector = operating.collector()
    operating.accept([event(1)])
    operating.accept([event(2)])
    collector.events(2)
    collector.ack(1)
    collector.barrier()
    assert operating.ok("kill")["inFlight"] == {"collector": [[2, 1]]}


def test_nothing_of_the_events_is_left_on_disk(held):
    held.collector()
    for number in range(50):
        held.accept([event(number, data=MARKER + "x" * 10_000)])
    assert held.bytes_on_disk(MARKER.encode()) > 0, "this test can't see the journal"
    held.ok("kill")
    assert held.bytes_on_disk(MARKER.encode()) == 0
    held.restart(hard=True)
    assert held.state()["state"] == "killed" and held.bytes_on_disk(MARKER.encode()) == 0


def test_queue_cursors_batches_letters_and_configuration_are_gone(operating):
    producer = Producer(operating)
    collector = operating.collector()
    producer.send(events(1, 2))
    collector.events(2)
    collector.ack(1, rejects=[[1, "no"]])
    collector.barrier()
    operating.ok("configure", set={"a": MARKER})
    operating.ok("kill")
    assert operating.ok("plugins")["plugins"] == []
    assert operating.ok("deadLetters")["deadLetters"] == []
    assert operating.ok("configuration")["configuration"] == {}
    assert operating.bytes_on_disk(MARKER.encode()) == 0
    state = operating.state()
    assert (state["pending"], state["gated"], state["queuedBytes"]) == (0, 0, 0)
    operating.restart("--new-launch", "--operating")
    reply = producer.again([event(9)])
    assert reply["duplicate"] is False and reply["last"] == 3, "batches are forgotten, seqs are not used again"


def test_ingest_is_refused_for_good_even_a_duplicate(operating):
    producer = Producer(operating)
    producer.send([event(1)])
    operating.ok("kill")
    for reply in (producer.again([event(1)]), producer.send([event(2)])):
        assert error_code(reply) == "notOperating" and reply["error"]["retryable"] is False


def test_ingest_that_is_under_way_gets_one_answer_each(operating):
    operating.collector()
    with operating.socket(zmq.DEALER, "ingest") as socket:
        for number in range(300):
            socket.send_multipart([json.dumps({"id": number}).encode(), lines(events(number, 20))])
        operating.ok("kill")
        replies = [receive_json(socket) for _ in range(300)]
    assert [reply["id"] for reply in replies] == list(range(300))
    outcome = [reply["ok"] for reply in replies]
    assert outcome == sorted(outcome, reverse=True), "once refused, always refused"
    assert all(reply["error"]["code"] == "notOperating" for reply in replies if not reply["ok"])


def test_a_late_ack_changes_nothing(operating):
    collector = operating.slow_collector()
    operating.ok("kill")
    before = operating.records()
    collector.ack(1)
    assert collector.receive()["type"] in ("hello?", "error")
    assert operating.ok("plugins")["plugins"] == [] and operating.records() == before
    assert operating.ok("kill")["changed"] is False


def test_subscribers_learn_of_it_and_see_no_event_after(operating):
    operating.slow_collector()
    stream = operating.sub("event.").joined()
    operating.ok("holdOperation")
    operating.accept(events(2, 100))
    operating.ok("kill")
    assert stream.until("state", state="killed").seq == 3
    assert stream.rest() == []


def test_a_second_kill_is_a_no_op(operating):
    first = operating.ok("kill")
    again = operating.ok("kill")
    assert (again["changed"], again["seq"], again["previous"]) == (False, first["seq"], "killed")


def test_killed_stays_killed_and_empty(operating):
    operating.slow_collector()
    operating.ok("kill")
    for hard in (True, False):
        operating.restart("--operating", hard=hard)
        assert operating.ready["state"] == "killed"
        assert operating.ok("startOperation")["changed"] is False
        assert operating.collector("slow").barrier() == []


def test_a_new_launch_after_a_kill_works_as_new(operating):
    operating.slow_collector(count=3)
    operating.ok("kill")
    operating.restart("--new-launch", "--operating")
    collector = operating.collector("slow")
    assert operating.accept([event(9)])["last"] == 4
    assert collector.take(1) == [(4, event(9))]


def test_a_stopped_collector_that_goes_on_gets_no_more_than_was_in_flight(operating):
    script = pathlib.Path(__file__).with_name("stopped_collector.py")
    peer = subprocess.Popen(
        [sys.executable, str(script), operating.address("plugin"), "stopped"], stdout=subprocess.PIPE, text=True)
    try:
        def told():
            return json.loads(peer.stdout.readline())

        assert told()["type"] == "welcome"
        operating.accept([event(0)])
        seen = []
        while not seen:
            seen += told()["seqs"]
        os.kill(peer.pid, signal.SIGSTOP)
        for number in range(1, 101):
            operating.accept(events(10 * number, 10, data="x" * 1_000))
        reply = operating.ok("kill")
        in_flight = numbers(reply["inFlight"]["stopped"])
        assert set(seen) <= set(in_flight) and len(in_flight) < 1_001, "it is behind its window"
        os.kill(peer.pid, signal.SIGCONT)
        message = told()
        while message["type"] != "hello?":        # by then it has read all that the old connection held
            seen += message["seqs"]
            message = told()
        assert seen == sorted(seen) and set(seen) <= set(in_flight)
    finally:
        peer.kill()
        peer.wait(PATIENCE)
        peer.stdout.close()
