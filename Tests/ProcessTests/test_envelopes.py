"""Section 1: whoever asks, however it frames the question, gets one reply in the same envelope."""

import json

import pytest
import zmq

from holdgate import event, events, lines, receive, receive_json

PING = b'{"command":"ping","id":1}'


@pytest.mark.parametrize("endpoint, message", [("control", [PING]), ("ingest", [b'{"id":1}', lines(events(1, 2))])])
class TestEnvelopes:
    def check(self, reply):
        assert reply["ok"] and reply["id"] == 1, reply

    def test_plain_req(self, shared, endpoint, message):
        self.check(shared.ask(endpoint, *message))

    def test_req_with_correlation(self, shared, endpoint, message):
        with shared.socket(zmq.REQ, endpoint, req_correlate=1, req_relaxed=1) as socket:
            socket.send_multipart(message)
            self.check(receive_json(socket))

    def test_dealer_with_delimiter(self, shared, endpoint, message):
        with shared.socket(zmq.DEALER, endpoint) as socket:
            socket.send_multipart([b"", *message])
            delimiter, reply = receive(socket)
            assert delimiter == b""
            self.check(json.loads(reply))

    def test_dealer_without_delimiter(self, shared, endpoint, message):
        with shared.socket(zmq.DEALER, endpoint) as socket:
            socket.send_multipart(message)
            self.check(receive_json(socket))

    def test_envelope_of_seven_frames_comes_back_unchanged(self, shared, endpoint, message):
        envelope = [bytes([number]) * 255 for number in range(1, 8)]
        with shared.socket(zmq.DEALER, endpoint) as socket:
            socket.send_multipart([*envelope, b"", *message])
            *back, reply = receive(socket)
            assert back == [*envelope, b""]
            self.check(json.loads(reply))

    def test_a_routing_id_is_taken_over_by_the_newest(self, shared, endpoint, message):
        with shared.socket(zmq.DEALER, endpoint, routing_id=b"fixed") as first:
            first.send_multipart(message)
            self.check(receive_json(first))
            with shared.socket(zmq.DEALER, endpoint, routing_id=b"fixed") as second:
                second.send_multipart(message)
                self.check(receive_json(second))


def test_many_requests_on_one_dealer_get_one_reply_each_in_order(shared):
    with shared.socket(zmq.DEALER, "control") as socket:
        for number in range(500):
            socket.send(json.dumps({"command": "ping", "id": number}).encode())
        assert [receive_json(socket)["id"] for _ in range(500)] == list(range(500))
        shared.ok("ping")
        assert not socket.poll(0), "a reply too many"


def test_an_events_frame_may_come_without_header_behind_a_delimiter(shared):
    with shared.socket(zmq.DEALER, "ingest") as socket:
        socket.send_multipart([b"", lines([event(1)])])
        assert json.loads(receive(socket)[1])["accepted"] == 1


def test_an_endpoint_takes_more_than_one_address(hosts):
    host = hosts("--control", "tcp://127.0.0.1:0")
    first, second = host.ready["endpoints"]["control"]
    assert first != second
    for address in (first, second):
        host.ready["endpoints"]["control"] = [address]
        assert host.ok("ping")["launch"] == host.launch


def test_an_endpoint_takes_an_ipc_path(hosts, tmp_path):
    address = f"ipc://{tmp_path}/control"
    host = hosts("--control", address)
    host.ready["endpoints"]["control"] = [address]
    assert host.ok("ping")["launch"] == host.launch


def test_the_ready_line_tells_what_a_peer_needs(hosts):
    host = hosts("--holding")
    ready = host.ready
    assert ready["ready"] is True and ready["pid"] == host.process.pid
    assert (ready["state"], ready["seq"]) == ("onHold", 1)
    assert len(ready["launch"]) == 32 and ready["run"]
    assert ready["stateDir"] == str(host.dir)
    assert set(ready["endpoints"]) == {"control", "stream", "ingest", "plugin"}
    assert host.stop() == 0
