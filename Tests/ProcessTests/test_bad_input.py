"""Whatever anybody sends: an error where a reply is due, and the rest of the world notices nothing."""

import json
import random
import socket as tcp

import pytest
import zmq

from holdgate import error_code, event, events, receive_json

HOLD = b'{"command":"holdOperation"}'


@pytest.fixture(scope="module")
def world(shared):
    """A host with a collector and a subscriber that must not notice anything."""
    return shared, shared.collector("witness"), shared.sub("event.").joined()


@pytest.fixture(autouse=True)
def unmoved(world):
    """After each test the host still operates, and an event still reaches collector and stream."""
    yield
    host, witness, stream = world
    reply = host.accept([event(1, type="probe")])
    assert (reply["state"], reply["seq"]) == ("operating", 1)
    probes = [each for each in witness.take(1) if each[1]["type"] == "probe"]
    while not probes:
        probes = [each for each in witness.take(1) if each[1]["type"] == "probe"]
    assert probes == [(reply["last"], event(1, type="probe"))]
    assert stream.until("event.probe").seq == reply["last"]


BAD_JSON = {
    "nothing": b"", "blank": b"  \n", "garbage": bytes(range(256)), "truncated": HOLD[:-1], "two values": HOLD + HOLD,
    "trailing text": HOLD + b"x", "array": b"[" + HOLD + b"]", "string": b'"hold"', "null": b"null", "number": b"1",
    "single quotes": b"{'command':'hold'}", "trailing comma": b'{"command":"hold",}', "comment": HOLD + b"//",
    "no command": b"{}", "command as a number": b'{"command":1}', "command as null": b'{"command":null}',
    "repeated member": b'{"command":"ping","command":"holdOperation"}',
    "repeated member, escaped": b'{"command":"ping","comm\\u0061nd":"holdOperation"}',
    "repeated in expect": b'{"command":"holdOperation","expect":{"seq":1,"seq":1}}',
    "invalid UTF-8": b'{"command":"holdOperation","reason":"\xff\xfe"}',
    "overlong UTF-8": b'{"command":"holdOperation","reason":"\xc0\xaf"}',
    "lone surrogate": b'{"command":"holdOperation","reason":"\\ud800"}',
    "raw control character": b'{"command":"holdOperation","reason":"a\nb"}',
    "NUL after it": HOLD + b"\0", "BOM inside": b'{"command":"\xef\xbb\xbfholdOperation"}',
    "NaN": b'{"command":"startOperation","leaseMs":NaN}', "leading zero": b'{"command":"startOperation","leaseMs":01}',
    "huge number": b'{"command":"startOperation","leaseMs":1e999}',
    "nested arrays": b'{"command":"configure","set":{"a":' + b"[" * 5000 + b"]" * 5000 + b"}}",
    "nested objects": b'{"command":"configure","set":' + b'{"a":' * 100 + b"1" + b"}" * 101,
    "deep and unclosed": b"[" * 1_000_000, "deep id": b'{"command":"ping","id":' + b"[" * 40 + b"]" * 40 + b"}",
    "long command": b'{"command":"' + b"x" * 100_000 + b'"}', "empty frame name": b'{"":1}',
}


@pytest.mark.parametrize("text", BAD_JSON.values(), ids=BAD_JSON.keys())
@pytest.mark.parametrize("endpoint", ["control", "ingest"])
def test_bad_json_gets_its_error(world, endpoint, text):
    host, _, _ = world
    # A DEALER with delimiter: an empty body stays a body.
    with host.socket(zmq.DEALER, endpoint) as socket:
        socket.send_multipart([b"", text])
        assert socket.poll(20_000), "no reply"
        delimiter, reply = socket.recv_multipart()
    reply = json.loads(reply)
    assert delimiter == b""
    if endpoint == "ingest" and not text.strip():
        assert reply.get("accepted", 0) == 0
    else:
        assert error_code(reply) in ("invalidMessage", "invalidArgument", "unknownCommand", "tooLarge"), reply


def test_every_prefix_of_a_command_is_an_error(world):
    host, _, _ = world
    text = json.dumps({"command": "holdOperation", "id": 7, "expect": {"state": "operating"}, "reason": "ü"}).encode()
    with host.socket(zmq.DEALER, "control") as socket:
        for length in range(len(text)):
            socket.send_multipart([b"", text[:length]])
            error_code(json.loads(socket.recv_multipart()[1]))


def test_random_changes_of_messages_get_one_reply_each(world):
    host, _, _ = world
    seed = random.SystemRandom().randrange(1 << 32)
    chance = random.Random(seed)
    ping = json.dumps({"command": "ping", "id": 7, "source": "ü", "reason": "r"}).encode()
    block = json.dumps(event(5, data={"a": [1, 2.5, None, "x"]})).encode()
    for endpoint, text in (("control", ping), ("ingest", block)):
        with host.socket(zmq.DEALER, endpoint) as socket:
            for _ in range(500):
                changed = bytearray(text)
                for _ in range(chance.randint(1, 3)):
                    changed[chance.randrange(len(changed))] = chance.randrange(256)
                socket.send_multipart([b"", bytes(changed)])
            for number in range(500):
                assert socket.poll(20_000), f"reply {number} is missing, seed {seed}"
                assert isinstance(json.loads(socket.recv_multipart()[1])["ok"], bool), f"seed {seed}"


@pytest.mark.parametrize("endpoint", ["control", "ingest", "plugin"])
@pytest.mark.parametrize("frames", [
    [b"{}"] * 5_000, [b"x" * 255] * 5_000, [b""] * 5_000, [b"x" * 256, b"", b"{}"], [b"a"] * 9 + [b"", b"{}"],
    [b"", b""], [b""] * 3,
], ids=["many objects", "many long", "many empty", "long envelope", "deep envelope", "two empty", "three empty"])
def test_odd_frames(world, endpoint, frames):
    host, _, _ = world
    with host.socket(zmq.DEALER, endpoint) as socket:
        socket.send_multipart(frames)
        host.ok("ping")
        if endpoint != "plugin":
            assert socket.poll(20_000), "no reply"
            reply = json.loads(socket.recv_multipart()[-1])
            assert reply["ok"] is False or reply.get("accepted") == 0, reply


def test_a_frame_beyond_the_limit_is_too_large(world):
    host, _, _ = world
    big = b" " * ((4 << 20) + 1)
    assert error_code(host.ask("control", big)) == "tooLarge"
    assert error_code(host.ask("ingest", b"{}", big)) == "tooLarge"


def test_a_message_beyond_the_limit_is_too_large(world):
    host, _, _ = world
    assert error_code(host.ask("ingest", b"{}", *[b" " * (4 << 20)] * 5)) == "tooLarge"


def test_a_frame_that_libzmq_refuses_costs_only_its_sender(world):
    host, _, _ = world
    with host.socket(zmq.DEALER, "ingest") as socket:
        socket.send(b" " * (17 << 20))
        assert host.accept([event(1, type="other")])["accepted"] == 1


def test_events_beyond_their_limits(world):
    host, _, _ = world
    assert error_code(host.ingest([event(1), event(2, data="x" * (256 << 10))])) == "tooLarge"
    assert error_code(host.ingest([event(1, type="t" * 241)])) in ("invalidMessage", "tooLarge")
    assert host.ingest([event(1, type="t" * 240)])["ok"]
    tiny = b'{"specversion":"1.0","id":"1","source":"/","type":"t"}\n'
    assert error_code(host.ingest_raw(b"{}", tiny * 65_537)) == "tooLarge"
    nested = '{"specversion":"1.0","id":"1","source":"/","type":"t","data":' + "[" * 40 + "]" * 40 + "}"
    assert error_code(host.ingest_raw(nested)) == "invalidMessage"
    deep = '{"specversion":"1.0","id":"1","source":"/","type":"t","data":' + "[" * 30 + "]" * 30 + "}"
    assert host.ingest_raw(deep)["ok"]


def test_invalid_utf8_in_an_event_is_named(world):
    host, _, _ = world
    good = json.dumps(event(1)).encode()
    reply = host.ingest_raw(b"{}", good + b"\n" + good.replace(b"demo", b"d\xffmo"))
    assert error_code(reply) == "invalidMessage" and reply["error"]["index"] == 1


PLUGIN_MESSAGES = [
    b"", b"x", b"[]", b"{}", b'{"type":1}', b'{"type":"nonsense"}', b'{"type":"hello"}', b'{"type":"ack"}',
    b'{"type":"ack","through":-1}', b'{"type":"ack","through":"1"}', b'{"type":"ack","through":1,"through":2}',
    b'{"type":"ack","through":1,"rejects":[[1]]}', b'{"type":"ack","through":1,"rejects":{"a":1}}',
    b'{"type":"result","id":1}', b'{"type":"bye"}', b'{"type":"heartbeat"}', b"[" * 100_000, b"\xff\xfe",
    b'{"type":"hello","v":1,"name":"' + b"n" * 100_000 + b'","version":"1"}',
]


@pytest.mark.parametrize("attached", [False, True])
def test_bad_plugin_messages(world, attached):
    host, _, _ = world
    for message in PLUGIN_MESSAGES:
        peer = host.collector("odd", durable=False) if attached else None
        socket = peer.socket if peer else host.socket(zmq.DEALER, "plugin")
        socket.send(message)
        socket.send_multipart([message, b"x", b"y"])
        socket.send_multipart([b"", message])
        assert message == b'{"type":"bye"}' or socket.poll(20_000), message
        socket.close()


def test_raw_connections_that_speak_http_or_nothing(world):
    host, _, _ = world
    connections = []
    try:
        for number in range(300):
            endpoint = ("control", "stream", "ingest", "plugin")[number % 4]
            connection = tcp.create_connection(("127.0.0.1", host.port(endpoint)), timeout=20)
            connections.append(connection)
            if number % 3 == 0:
                connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 10)
            elif number % 3 == 1:
                connection.sendall(bytes([0xff]) + bytes(8) + bytes([0x7f, 3, 0]) + b"NULL" + bytes(48))
        assert host.ok("ping")
        assert host.accept(events(1, 10, type="other"))["accepted"] == 10
    finally:
        for connection in connections:
            connection.close()


def test_clients_that_go_without_reading_their_reply(world):
    host, _, _ = world
    for _ in range(100):
        with host.socket(zmq.DEALER, "control") as socket:
            socket.send(b'{"command":"ping"}')
    assert host.ok("ping")


def test_a_client_that_never_reads_hinders_nobody(world):
    host, _, _ = world
    with host.socket(zmq.DEALER, "control", sndhwm=0, rcvhwm=1, rcvbuf=4096) as deaf:
        for number in range(20_000):
            deaf.send(b'{"command":"commands"}', zmq.DONTWAIT)
        assert host.ok("ping")


def test_a_subscriber_may_ask_for_anything(world):
    host, _, _ = world
    with host.socket(zmq.SUB, "stream") as socket:
        for topic in (b"", b"\xff" * 1_000, b"event." + b"x" * 10_000, b"state\0"):
            socket.subscribe(topic)
        for number in range(2_000):
            socket.subscribe(f"topic{number}")
        assert socket.poll(20_000), "it asked for everything"


def test_a_stream_peer_that_sends_is_ignored(world):
    host, _, _ = world
    with host.socket(zmq.XSUB, "stream") as socket:
        for message in (b"\x01", b"hello", b"", b"\x02", b"x" * 100_000):
            socket.send(message)
        assert host.ok("ping")


def test_a_flood_on_ingest_keeps_control_served(world):
    host, _, _ = world
    block = json.dumps(event(1, type="flood", data="x" * 200_000)).encode()
    frame = b"\n".join([block] * 15)
    with host.socket(zmq.DEALER, "ingest") as flood:
        for _ in range(8):
            flood.send_multipart([b"{}", frame])
        for _ in range(20):
            assert host.ok("ping")
        assert [receive_json(flood)["accepted"] for _ in range(8)] == 8 * [15]
