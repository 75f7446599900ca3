"""Peers that do, by accident or on purpose, what once stopped the host. Each leaves it serving everybody else."""

import json
import signal
import socket as tcp
import struct
import time

import pytest
import zmq

from holdgate import *


def test_a_connection_that_broke_while_nobody_read_it(operating):
    """libzmq's heartbeats abort the process on such a connection: the host must not use them."""
    def connection():
        socket = operating.socket(zmq.DEALER, "control", routing_id=b"same")
        socket.send(b'{"command":"ping"}')
        assert receive_json(socket)["ok"]
        return socket

    one = connection()
    connection()
    # Its place was taken: nothing of it is read any more.
    one.send(b'{"command":"ping"}')
    assert not one.poll(100)
    one.close()
    beats = operating.sub("heartbeat").joined()
    for _ in range(3):
        beats.next()
    assert operating.ok("ping")


def test_a_passing_collector_rejects_what_the_journal_has_forgotten(hosts):
    host = hosts(
        "--operating", segmentBytes=1 << 20, maxMessageBytes=1 << 18, maxFrameBytes=1 << 18, maxEventBytes=1 << 16,
        rememberedProducers=100)
    passing = host.collector("passing", durable=False, windowBytes=1)
    host.accept(events(1, 1))
    [(seq, _)] = passing.events(1)
    for _ in range(50):
        host.accept(events(2, 100, data="x" * 1000))
    passing.ack(seq, rejects=[[seq, "late"]])
    host.accept(events(3, 1, type="last"))
    while passing.events(1)[-1][1]["type"] != "last":
        passing.ack(passing.deliveries[-1].seqs[-1])
    assert host.ok("deadLetters")["deadLetters"] == []


def test_rejects_of_one_large_block(operating):
    collector = operating.collector("picky", windowBytes=1 << 24)
    operating.accept(events(1, 12_000))
    seqs = [seq for seq, _ in collector.events(12_000)]
    started = time.monotonic()
    collector.ack(seqs[9_999], rejects=[[seq, f"no {seq}"] for seq in reversed(seqs[:10_000])])
    collector.ack(seqs[-1], rejects=[[seqs[-1], "no"]])
    collector.barrier()
    assert time.monotonic() - started < PATIENCE / 2
    letters = operating.ok("deadLetters", limit=1000)["deadLetters"]
    assert [(each["seq"], each["event"]["id"]) for each in letters] == [(seq, f"e{seq}") for seq in seqs[1:1001]]


def test_more_rejects_than_an_ack_may_have(operating):
    collector = operating.slow_collector()
    collector.ack(1, rejects=[[1, "no"]] * 10_001)
    assert error_code({"ok": False, **collector.expect("error")}) == "tooLarge"
    collector.ack(1)
    collector.nothing()


def test_a_requeue_of_more_than_a_block_may_have(hosts):
    host = hosts("--operating", segmentBytes=1 << 20, maxMessageBytes=1 << 18, maxFrameBytes=1 << 18,
                 maxEventBytes=1 << 16, rememberedProducers=100)
    collector = host.collector("picky", windowBytes=1 << 24)
    for number in range(20):
        host.accept(events(number, 1, data="x" * 60_000))
    seqs = [seq for seq, _ in collector.events(20)]
    collector.ack(seqs[-1], rejects=[[seq, "no"] for seq in seqs])
    wait_until(lambda: len(host.ok("deadLetters")["deadLetters"]) > 10, "the dead letters")
    requeued = []
    while sum(requeued) < 20:
        requeued.append(host.ok("requeue", seqs=seqs)["requeued"])
        collector.take(requeued[-1])
    assert requeued == [4] * 5


def test_a_subscription_of_many_megabytes_is_cut_off(operating):
    def prop(name, value):
        return bytes([len(name)]) + name + struct.pack(">I", len(value)) + value

    with tcp.create_connection(("127.0.0.1", operating.port("stream")), timeout=PATIENCE) as raw:
        raw.sendall(b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32))
        greeting = b""
        while len(greeting) < 64:
            greeting += raw.recv(64 - len(greeting))
        ready = b"\x05READY" + prop(b"Socket-Type", b"SUB")
        raw.sendall(b"\x04" + bytes([len(ready)]) + ready)
        with pytest.raises(OSError):
            raw.sendall(b"\x02" + struct.pack(">Q", 600 << 20))
            for _ in range(64):
                raw.sendall(b"\x01" * (1 << 20))
    assert operating.ok("ping")


def test_sigterm_ends_a_host_that_is_about_to_begin_anew(hosts):
    for delay in (0, 0.005, 0.02, 0.1):
        host = hosts(ports=free_ports())
        host.ok("endLaunch", restart=True)
        time.sleep(delay)
        assert host.stop() == 0


def test_a_kill_binds_ipc_addresses_again(hosts, tmp_path):
    host = hosts("--operating")
    for number in range(5):
        host.stop()
        addresses = {name: f"ipc://{tmp_path}/{name}{number}" for name in ENDPOINTS}
        host.start(*(["--new-launch"] if number else []),
                   *(each for name in ENDPOINTS for each in (f"--{name}", addresses[name])))
        host.ready["endpoints"] = {name: [address] for name, address in addresses.items()}
        host.ok("kill")
        assert host.collector("late", durable=False).welcome["state"] == "killed"
