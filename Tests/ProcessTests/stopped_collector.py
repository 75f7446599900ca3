"""A collector in a process of its own, for tests that stop it. usage: stopped_collector.py ADDRESS NAME

Prints a line for each message that it receives: its type, and the seqs of a `deliver`. It acknowledges nothing.
"""

import json
import sys

import zmq


def main(address, name):
    socket = zmq.Context().socket(zmq.DEALER)
    socket.linger = 0
    socket.connect(address)
    hello = {"type": "hello", "v": 1, "name": name, "version": "1", "collect": {"windowBytes": 50_000}}
    socket.send_json(hello)
    while True:
        if not socket.poll(100):
            socket.send_json({"type": "heartbeat"})
            continue
        message = json.loads(socket.recv_multipart()[0])
        seqs = [seq for first, count in message.get("ranges", []) for seq in range(first, first + count)]
        print(json.dumps({"type": message["type"], "seqs": seqs}), flush=True)


main(*sys.argv[1:])
