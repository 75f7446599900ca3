"""A provider in a process of its own, for tests that stop and kill it. usage: provider.py ADDRESS NAME SERVICE [MODE]

It answers each request with its own arguments. MODE `quiet`: it answers nothing. Prints a line when it is welcomed and
one for each request: its number.
"""

import json
import sys

import zmq


def main(address, name, service, mode="echo"):
    socket = zmq.Context().socket(zmq.DEALER)
    socket.linger = 0
    socket.connect(address)
    socket.send_json({"type": "hello", "v": 1, "name": name, "version": "1", "services": [service]})
    while True:
        message = json.loads(socket.recv_multipart()[0])
        if message["type"] == "heartbeat":
            # As often as the host's own come: it is heard of before the host misses it.
            socket.send_json({"type": "heartbeat"})
        elif message["type"] == "welcome":
            print("welcome", flush=True)
        elif message["type"] == "request":
            if mode == "echo":
                socket.send_json({"type": "result", "id": message["id"], "value": message["arguments"]})
            print(message["id"], flush=True)


main(*sys.argv[1:])
