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
        self.file = open(path, "ab+")
        self.file.seek(0)
        self.last, end = 0, 0
        for line in self.file:
            if not line.endswith(b"\n"):
                self.file.truncate(end)  # A crash cut it off; it was not acknowledged and comes again.
                break
            self.last, end = json.loads(line)["seq"], end + len(line)

    def append(self, numbered):
        """`numbered` are pairs of seq and event. What comes a second time is passed over."""
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


def run(address, name, types, file):
    """Serves until the host refuses the name (returns 0) or a signal comes (KeyboardInterrupt)."""
    hello = {"type": "hello", "v": 1, "name": name, "version": "1", "collect": {"types": types}}
    context = zmq.Context()
    while True:
        # One socket is one attachment. It has no identity of its own: the name in the hello is what counts.
        with context.socket(zmq.DEALER) as host:
            host.linger = 200
            host.connect(address)
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
                            print(f"refused: {message['error']['message']}", file=sys.stderr)
                            if message["error"]["code"] == "superseded":
                                return 0  # A newer process has the name: don't fight it.
                            if not message["error"]["retryable"]:
                                return 1
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
    if len(sys.argv) < 2:
        sys.exit("usage: collector.py FILE [NAME [TYPE…]]")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    endpoint = os.environ.get("HOLDGATE_PLUGIN", "tcp://127.0.0.1:5573").split(",")[0].strip('[]"')
    sys.exit(run(endpoint, (sys.argv[2:] or ["collector.py"])[0], sys.argv[3:] or ["*"], File(sys.argv[1])))
