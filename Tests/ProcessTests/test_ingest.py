"""Section 5: taken whole or refused whole, and never twice."""

import json
import uuid

import pytest
import zmq

from holdgate import Producer, error_code, event, events, lines, receive_json


def good(number):
    return json.dumps(event(number))


class TestTaken:
    def test_the_reply_says_what_became_of_it(self, operating):
        operating.collector()
        reply = operating.ingest(events(1, 3), id="b1")
        assert reply == {
            "v": 1, "id": "b1", "ok": True, "accepted": 3, "gated": 0, "discarded": 0, "duplicate": False, "kept": True,
            "last": 3, "state": "operating", "isOperating": True, "seq": 1, "launch": operating.launch,
        }

    def test_without_a_durable_collector_nothing_is_kept_but_all_is_published(self, operating):
        stream = operating.sub("event.").joined()
        reply = operating.accept(events(1, 2))
        assert (reply["kept"], reply["accepted"], reply["last"]) == (False, 2, 2)
        assert [stream.next().seq for _ in range(2)] == [1, 2]

    def test_seqs_go_on(self, shared):
        last = shared.accept(events(1, 3))["last"]
        assert shared.accept(events(1, 2))["last"] == last + 2

    def test_bytes_travel_as_they_came_but_for_line_breaks(self, operating):
        collector = operating.collector()
        first = '{ "specversion":"1.0" ,"id":"\\u0041","source":"/s",\t"type":"t", "data": 1.0e3}'
        second = '{"specversion":"1.0",\r\n"id":"b","source":"/s","type":"t",\n"data":"\\n"}'
        block = ("\n\r\n" + first + "\r\n\n" + second + "\n\n").encode()
        assert operating.ingest_raw(block)["accepted"] == 2
        assert [line.decode() for line in collector.deliver().lines] == [
            first, second.replace("\r\n", "  ").replace("\n", " ")]

    def test_many_frames_and_both_line_ends(self, operating):
        collector = operating.collector()
        frames = [lines(events(1, 2)), b"\n", lines(events(3, 1)) + b"\r\n" + lines(events(4, 1)) + b"\r\n", b""]
        reply = operating.ingest_raw(b"{}", *frames)
        assert reply["accepted"] == 4
        assert [each["id"] for _, each in collector.events(4)] == ["e1", "e2", "e3", "e4"]

    def test_cloud_events_attributes_pass(self, operating):
        collector = operating.collector()
        full = event(1, subject="s", time="2026-03-01T12:00:00.123456789+02:00", datacontenttype="text/plain",
                     dataschema="https://example.org/s", data="x", ext1="y", ext2=5, ext3=True)
        operating.accept([full, event(2, data_base64="aGk=")])
        assert [each for _, each in collector.events(2)] == [full, event(2, data_base64="aGk=")]


class TestRefused:
    BAD = {
        "no specversion": {"specversion": None}, "wrong specversion": {"specversion": "0.3"},
        "specversion as a number": {"specversion": 1.0}, "no id": {"id": None}, "empty id": {"id": ""},
        "id as a number": {"id": 7}, "no source": {"source": None}, "empty source": {"source": ""},
        "no type": {"type": None}, "empty type": {"type": ""}, "type as a list": {"type": ["a"]},
        "bad time": {"time": "yesterday"}, "time as a number": {"time": 5},
    }

    @pytest.mark.parametrize("change", BAD.values(), ids=BAD.keys())
    @pytest.mark.parametrize("place", [0, 2])
    def test_the_first_bad_event_is_named_and_nothing_is_taken(self, shared, change, place):
        batch = events(1, 4)
        bad = {**batch[place], **change}
        batch[place] = {name: value for name, value in bad.items() if value is not None}
        before = shared.accept([event(0)])["last"]
        reply = shared.ingest(batch, id="x")
        assert error_code(reply) in ("invalidMessage", "invalidArgument") and reply["error"]["index"] == place
        assert reply["id"] == "x" and reply["error"]["retryable"] is False
        assert shared.accept([event(0)])["last"] == before + 1

    @pytest.mark.parametrize("text", [
        "nonsense", "[]", "[" + good(1) + "]", '"text"', "7", "null", '{"specversion":"1.0",', good(8) + "}",
        good(8) + " " + good(9),
        '{"specversion":"1.0","id":"1","id":"2","source":"/s","type":"t"}',
    ])
    def test_text_that_is_no_event_counts_as_the_event_at_its_place(self, shared, text):
        reply = shared.ingest_raw("{}", "\n".join([good(1), text, good(2)]))
        assert error_code(reply) == "invalidMessage" and reply["error"]["index"] == 1

    def test_the_index_runs_over_all_frames(self, shared):
        reply = shared.ingest_raw("{}", good(1) + "\n" + good(2), "", good(3) + "\n{}")
        assert reply["error"]["index"] == 3

    def test_a_message_without_any_event_takes_nothing(self, shared):
        before = shared.accept([event(0)])["last"]
        assert shared.ingest_raw("{}", "\n").get("accepted", 0) == 0
        assert shared.accept([event(0)])["last"] == before + 1

    def test_two_events_frames_without_a_header_are_refused(self, shared):
        assert error_code(shared.ingest_raw(good(1), good(2))) == "invalidMessage"

    @pytest.mark.parametrize("header", [
        '{"batch":1}', '{"producer":"p","batch":1}', '{"producer":"p","run":"r"}', '{"v":2}', '{"id":[1]}',
        '{"producer":1,"run":"r","batch":1}', '{"producer":"p","run":"r","batch":-1}',
        '{"producer":"p","run":"r","batch":1.5}', '{"producer":"p","run":"r","batch":1,"batch":2}', "[]", "x",
    ])
    def test_a_wrong_header_is_refused(self, shared, header):
        before = shared.accept([event(0)])["last"]
        assert error_code(shared.ingest_raw(header, good(1))) in (
            "invalidMessage", "invalidArgument", "unsupportedVersion")
        assert shared.accept([event(0)])["last"] == before + 1

    def test_unknown_members_of_a_header_are_ignored(self, shared):
        assert shared.ingest_raw('{"colour":"red"}', good(1))["ok"]


class TestSafeRetries:
    def test_a_batch_sent_again_is_a_duplicate(self, operating):
        collector = operating.collector()
        producer = Producer(operating)
        assert producer.send(events(1, 2))["duplicate"] is False
        again = producer.again(events(1, 2))
        assert (again["ok"], again["duplicate"], again["accepted"], again["lastBatch"]) == (True, True, 0, 1)
        producer.send(events(3, 1))
        assert [each["id"] for _, each in collector.events(3)] == ["e1", "e2", "e3"]

    def test_the_first_batch_may_have_any_number_and_none_may_be_skipped(self, shared):
        producer = Producer(shared, "skipper")
        producer.batch = 40
        assert producer.send([event(1)])["ok"]
        producer.batch = 42
        reply = producer.send([event(3)])
        assert error_code(reply) == "outOfOrder"
        assert reply["error"]["retryable"] is True and reply["lastBatch"] == 41
        producer.batch = 41
        assert producer.send([event(2)])["accepted"] == 1
        producer.batch = 3
        assert producer.again([event(2)])["lastBatch"] == 42

    def test_a_new_run_supersedes_the_old_one(self, shared):
        old, new = Producer(shared, "twice"), Producer(shared, "twice")
        assert old.send([event(1)])["ok"] and new.send([event(1)])["ok"]
        assert error_code(old.send([event(2)])) == "superseded"
        assert error_code(old.again([event(1)])) == "superseded"
        assert new.send([event(2)])["accepted"] == 1

    def test_a_refused_batch_is_not_taken(self, shared):
        producer = Producer(shared, "clumsy")
        assert not producer.send([{"id": 1}])["ok"]
        assert producer.again([event(1)])["duplicate"] is False

    def test_events_without_a_batch_are_never_duplicates(self, shared):
        assert not any(shared.accept([event(1)])["duplicate"] for _ in range(2))

    @pytest.mark.parametrize("hard", [True, False])
    def test_batches_are_remembered_across_restarts(self, operating, hard):
        old = Producer(operating, "twice")
        old.send([event(1)])
        new = Producer(operating, "twice")
        new.send([event(2)])
        operating.restart(hard=hard)
        assert new.again([event(2)])["duplicate"] is True
        assert error_code(old.send([event(3)])) == "superseded"
        assert new.send([event(3)])["accepted"] == 1

    def test_without_a_durable_collector_a_batch_is_still_remembered(self, operating):
        producer = Producer(operating)
        assert producer.send([event(1)])["kept"] is False
        operating.restart(hard=True)
        assert producer.again([event(1)])["duplicate"] is True
        assert operating.accept([event(2)])["last"] == 2, "seqs are never used again"


def test_a_full_queue_refuses_and_serves_on(hosts):
    host = hosts("--operating", queueLimitBytes=200_000)
    collector = host.collector()
    producer = Producer(host)
    accepted, reply = 0, producer.send(events(0, 100))
    while reply["ok"]:
        accepted += 100
        assert accepted < 10_000, "the limit is never reached"
        reply = producer.send(events(accepted, 100))
    assert error_code(reply) == "overloaded" and reply["error"]["retryable"] is True
    assert [each["id"] for _, each in collector.take(accepted)] == [f"e{n}" for n in range(accepted)]
    collector.barrier()
    assert producer.again(events(accepted, 100))["accepted"] == 100


def test_replies_on_one_connection_keep_the_order_of_requests(shared):
    run = uuid.uuid4().hex
    with shared.socket(zmq.DEALER, "ingest") as socket:
        for batch in range(1, 201):
            header = {"id": batch, "producer": "pipelined", "run": run, "batch": batch}
            socket.send_multipart([json.dumps(header).encode(), lines(events(batch, 5))])
        replies = [receive_json(socket) for _ in range(200)]
    assert [reply["id"] for reply in replies] == list(range(1, 201))
    assert all(reply["accepted"] == 5 for reply in replies)
