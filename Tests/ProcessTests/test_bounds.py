"""What one peer may cost. Past it that peer is cut off, and the others go on."""

import json
import os
import pathlib
import resource
import shutil
import socket as tcp
import struct
import tempfile

import pytest
import zmq

from holdgate import *

GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
MIB = 1 << 20


class Raw:
    """A connection as bytes, which tells when it is cut."""

    def __init__(self, host, endpoint):
        address = host.address(endpoint)
        if address.startswith("ipc://"):
            self.socket = tcp.socket(tcp.AF_UNIX)
            # Without a limit of time, which would not wait for room in a full queue.
            self.socket.connect(address[len("ipc://"):])
            self.socket.settimeout(PATIENCE)
        else:
            self.socket = tcp.create_connection(("127.0.0.1", host.port(endpoint)), timeout=PATIENCE)

    def handshake(self, kind=b"DEALER"):
        def prop(name, value):
            return bytes([len(name)]) + name + struct.pack(">I", len(value)) + value

        self.socket.sendall(GREETING)
        self.take(64)
        ready = b"\x05READY" + prop(b"Socket-Type", kind)
        self.socket.sendall(b"\x04" + bytes([len(ready)]) + ready)
        self.take(self.take(2)[1])
        return self

    def take(self, count):
        data = b""
        while len(data) < count:
            more = self.socket.recv(count - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def send(self, *frames):
        for index, frame in enumerate(frames):
            self.socket.sendall(self.framed(frame, more=index < len(frames) - 1))

    @staticmethod
    def framed(frame, more=False):
        if len(frame) < 256:
            return bytes([int(more), len(frame)]) + frame
        return bytes([2 + int(more)]) + struct.pack(">Q", len(frame)) + frame

    def frame(self):
        flags = self.take(1)[0]
        return self.take(struct.unpack(">Q", self.take(8))[0] if flags & 2 else self.take(1)[0])

    def ping(self):
        self.send(b"", b'{"command":"ping"}')
        assert self.frame() == b""
        assert json.loads(self.frame())["ok"]
        return self

    def is_cut(self):
        """Waits for the end; what came before it is dropped."""
        try:
            while self.socket.recv(1 << 16):
                pass
        except ConnectionError:
            pass
        return True

    def close(self):
        self.socket.close()


@pytest.fixture
def few(hosts):
    """A host that takes few connections."""
    return hosts("--operating", maxConnections=24, maxConnectionsPerPeer=16)


@pytest.mark.parametrize("endpoint", ENDPOINTS)
@pytest.mark.parametrize("said", [b"", GREETING[:30]])
def test_connections_that_say_nothing_make_room_for_those_that_do(few, endpoint, said):
    known = Raw(few, "control").handshake().ping()
    silent = []
    for _ in range(64):
        silent.append(Raw(few, endpoint))
        silent[-1].socket.sendall(said)
    assert all(each.is_cut() for each in silent[:48])
    assert few.ok("ping") and known.ping()
    few.sub("state").joined()
    late = few.collector("late")
    few.accept(events(1, 1))
    assert late.events(1)
    for each in silent + [known]:
        each.close()


def test_connections_that_were_heard_stay_and_the_newest_goes(few):
    known = [Raw(few, "control").handshake().ping() for _ in range(16)]
    try:
        assert Raw(few, "control").is_cut()
    except ConnectionError:
        pass  # Cut while it connected.
    for each in known:
        each.ping()
    known.pop().close()
    wait_until(lambda: "too many connections" in few.stderr(), "the log's line")
    # There is room again as soon as the host has heard that it went.
    assert few.ok("ping")
    for each in known:
        each.ping().close()


def test_connections_at_a_path_are_bounded_before_descriptors_run_out(hosts):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="holdgate-"))
    try:
        address = f"ipc://{folder}/control"
        host = hosts("--control", address, maxConnections=16)
        host.ready["endpoints"]["control"] = [address]
        # libzmq would end the process at the limit.
        resource.prlimit(host.process.pid, resource.RLIMIT_NOFILE, (1024, 1024))
        known = Raw(host, "control").handshake().ping()
        silent = []
        for _ in range(30):
            silent += [Raw(host, "control") for _ in range(50)]
            known.ping()
            while len(silent) > 100:
                assert silent[0].is_cut()
                silent.pop(0).close()
        assert host.ok("ping")
        assert "too many connections" in host.stderr()
        for each in silent + [known]:
            each.close()
    finally:
        shutil.rmtree(folder)


def test_a_peer_may_open_and_close_connections_without_end(few):
    for _ in range(500):
        Raw(few, "control").close()
        Raw(few, "stream").handshake(b"SUB").close()
    assert few.ok("ping")
    few.sub("state").joined()


class TestSubscriptions:
    def test_one_peer_with_too_many_is_cut(self, operating):
        other = operating.sub("state").joined()
        peer = Raw(operating, "stream").handshake(b"SUB")
        try:
            for first in range(0, 200_000, 1000):
                peer.socket.sendall(b"".join(
                    Raw.framed(b"\x01event.%020d" % number) for number in range(first, first + 1000)))
        except ConnectionError:
            pass
        # All of it may have found room on the way, if the host was slow to read.
        assert peer.is_cut()
        operating.ok("holdOperation")
        assert other.next().body["state"] == "holdRequested"
        wait_until(lambda: "too many subscriptions" in operating.stderr(), "the log's line")

    def test_a_long_topic_is_refused(self, operating):
        peer = Raw(operating, "stream").handshake(b"SUB")
        peer.send(b"\x01" + b"t" * 70_000)
        assert peer.is_cut()

    def test_many_equal_ones_and_a_thousand_others_are_fine(self, operating):
        peer = Raw(operating, "stream").handshake(b"SUB")
        for _ in range(200):
            peer.socket.sendall(Raw.framed(b"\x01event.same") * 1000)
        peer.socket.sendall(b"".join(Raw.framed(b"\x01event.%020d" % number) for number in range(1000)))
        # Whatever it was sent before.
        peer.send(b"\x01state")
        while peer.frame() != b"state":
            pass


class TestUnfinished:
    @pytest.mark.parametrize("endpoint", ENDPOINTS)
    def test_a_message_that_does_not_end_is_cut_off(self, operating, endpoint):
        # Others come and go meanwhile.
        operating.sub("state").joined().close()
        assert operating.ok("ping")
        peer = Raw(operating, endpoint).handshake(b"SUB" if endpoint == "stream" else b"DEALER")
        frame = Raw.framed(bytes(4000), more=True) * 256
        with pytest.raises(ConnectionError):
            for _ in range(4096):
                peer.socket.sendall(frame)
        assert operating.ok("ping")
        wait_until(lambda: "unfinished or unread" in operating.stderr(), "the log's line")

    def test_a_peer_whose_messages_end_may_send_as_much_as_it_likes(self, operating):
        peer = Raw(operating, "control").handshake()
        for _ in range(300):
            peer.send(b"", b"x" * MIB)
            assert peer.frame() == b"" and not json.loads(peer.frame())["ok"]
        peer.ping().close()


def test_replies_that_nobody_reads_keep_nobody_else_waiting(operating):
    peer = Raw(operating, "control").handshake()
    peer.socket.setsockopt(tcp.SOL_SOCKET, tcp.SO_RCVBUF, 4096)
    for _ in range(20):
        peer.socket.sendall((Raw.framed(b"", more=True) + Raw.framed(b'{"command":"state"}')) * 1000)
    assert operating.ok("ping")
    peer.close()
