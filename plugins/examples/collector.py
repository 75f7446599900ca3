#!/usr/bin/python3
"""A durable collector: appends every event that the gate lets out to a file, each exactly once.

    collector.py FILE [NAME [TYPE…]]      types are exact or prefixes that end in *; all of them without one

Copy it and replace `File`. What must stay: nothing is acknowledged before it is durable.
"""

import json
import os
import signal
import sys
import time

import zmq


class File:
    """One line an event, {"seq":…,"event":…}: the last line says what has been taken."""

    def __init__(self, path):
        self.file, self.last, end = open(path, "ab+"), 0, 0
        self.file.seek(0)
        for line in self.file:
            if not line.endswith(b"\n"):
                self.file.truncate(end)  # A crash cut it off; it was not acknowledged and comes again.
                break
            self.last, end = json.loads(line)["seq"], end + len(line)

    def append(self, numbered):
        """`numbered` are pairs of seq and event; what comes again is passed over."""
        for seq, event in numbered:
            if seq > self.last:
                self.file.write(b'{"seq":%d,"event":%s}\n' % (seq, event))
                self.last = seq
        self.file.flush()
        os.fsync(self.file.fileno())


def deliver(header, frames, file):
    """Stores one `deliver`; returns the seq through which all is durable."""
    lines = [line for frame in frames for line in frame.splitlines() if line]
    seqs = [first + n for first, count in header["ranges"] for n in range(count)]
    file.append(zip(seqs, lines, strict=True))
    return seqs[-1]


def connect(socket, address):
    """With the key that HOLDGATE_KEY_FILE names. On an ipc path there are none: the kernel says whose process it is."""
    if address.startswith("tcp:") and (path := os.environ.get("HOLDGATE_KEY_FILE")):
        with open(path) as file:
            key = json.load(file)
        socket.curve_publickey, socket.curve_secretkey = key["publicKey"].encode(), key["secretKey"].encode()
        socket.curve_serverkey = (os.environ.get("HOLDGATE_HOST_KEY") or key["hostKey"]).encode()
    socket.connect(address)


def run(address, name, types, file):
    """Serves until the host refuses the name (returns 0) or a signal comes (KeyboardInterrupt)."""
    hello = {"type": "hello", "v": 1, "name": name, "version": "1", "collect": {"types": types}}
    while True:
        # One socket is one attachment. It has no identity of its own: the name in the hello is what counts.
        with zmq.Context.instance().socket(zmq.DEALER) as host:
            host.linger = 200
            connect(host, address)
            host.send_json(hello)
            heard = sent = time.monotonic()
            try:
                while time.monotonic() - heard < 3:  # Three silent heartbeats: begin anew.
                    if host.poll(500):
                        first, *frames = host.recv_multipart()
                        message, heard = json.loads(first), time.monotonic()
                        kind = message["type"]
                        if kind == "deliver":
                            host.send_json({"type": "ack", "through": deliver(message, frames, file)})
                        elif kind == "hello?":  # The host was restarted.
                            host.send_json(hello)
                        elif kind == "refused":
                            error = message["error"]
                            print(f"refused: {error['message']}", file=sys.stderr)
                            if error["code"] == "superseded" or not error["retryable"]:
                                return int(error["code"] != "superseded")  # A newer process has the name: let it.
                        elif kind == "goodbye":  # The host stops, and may come back.
                            break
                        # Anything else, heartbeats and what later versions add included, is no business of ours.
                    if time.monotonic() - sent >= 1:
                        host.send_json({"type": "heartbeat"})
                        sent = time.monotonic()
            except KeyboardInterrupt:
                host.send_json({"type": "bye"})
                return 0
        time.sleep(0.1)


if __name__ == "__main__":
    path, *rest = sys.argv[1:] or sys.exit("usage: collector.py FILE [NAME [TYPE…]]")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    endpoint = os.environ.get("HOLDGATE_PLUGIN", "tcp://127.0.0.1:5573").split(",")[0].strip('[]"')
    sys.exit(run(endpoint, (rest or ["collector.py"])[0], rest[1:] or ["*"], File(path)))
