#!/usr/bin/python3
"""A state logger: one line on standard output for each change of the gate's state, missed ones included.

    state_logger.py

The stream may lose messages, so a gap is noticed by its numbers and filled from the history.
"""

import json
import os
import signal
import sys

import zmq


def connect(socket, name, default):
    """The host hands its addresses, and a key where it asks for one, to the plugins that it starts."""
    address = os.environ.get(name, default).split(",")[0].strip('[]"')
    if address.startswith("tcp:") and (path := os.environ.get("HOLDGATE_KEY_FILE")):
        with open(path) as file:
            key = json.load(file)
        socket.curve_publickey, socket.curve_secretkey = key["publicKey"].encode(), key["secretKey"].encode()
        socket.curve_serverkey = (os.environ.get("HOLDGATE_HOST_KEY") or key["hostKey"]).encode()
    socket.connect(address)


def history(after):
    """The history's records with a number above `after`; what is known so far where the host is away."""
    records = []
    while True:
        with zmq.Context.instance().socket(zmq.REQ) as control:
            control.linger = 0
            connect(control, "HOLDGATE_CONTROL", "tcp://127.0.0.1:5570")
            control.send_json({"command": "history", "after": after, "limit": 1000})
            page = control.recv_json().get("records", []) if control.poll(2000) else []
        if not page:
            return records
        records, after = records + page, page[-1]["n"]


class Log:
    """Follows the transitions: prints each once, in order."""

    def __init__(self):
        self.place = None  # Launch and seq of the last one printed.
        self.before = 0    # A record of the history that is not after it.

    def write(self, launch, seq, body, origin):
        print(json.dumps({
            "time": body["time"], "launch": launch, "seq": seq, "state": body["state"],
            "command": body["command"], "from": origin}), flush=True)
        self.place = (launch, seq)

    def heard(self, launch, seq, body):
        """A state message came, or (`body` is None) a heartbeat, which tells of the last transition published."""
        if self.place and launch == self.place[0] and seq <= self.place[1]:
            return
        follows = self.place is None or (launch, seq) == (self.place[0], self.place[1] + 1)
        if body is not None and (follows or not self.catch_up()):
            self.write(launch, seq, body, "snapshot" if body.get("snapshot") else "live")
        elif body is None:
            self.catch_up()

    def catch_up(self):
        """Prints what the history has after the last one printed. A transition is in there before it is published."""
        known = False
        for record in history(self.before):
            if record.get("changed", True) is False:
                continue  # A renewed lease, a count of discards: no transition.
            if known:
                self.write(record["launch"], record["seq"], record, "history")
            known = known or (record["launch"], record["seq"]) == self.place
            self.before = record["n"] - 1
        return known


def run():
    with zmq.Context.instance().socket(zmq.SUB) as stream:
        connect(stream, "HOLDGATE_STREAM", "tcp://127.0.0.1:5571")
        stream.subscribe("state")  # The host answers with a snapshot of the present state.
        stream.subscribe("heartbeat")
        log = Log()
        while True:
            topic, header, body = stream.recv_multipart()
            header, body = json.loads(header), json.loads(body)
            if topic == b"state":
                log.heard(header["launch"], header["seq"], body)
            elif topic == b"heartbeat" and log.place:  # A subscription is a prefix: compare the topic again.
                log.heard(header["launch"], body["heads"]["state"], None)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        run()
    except KeyboardInterrupt:
        sys.exit(0)
