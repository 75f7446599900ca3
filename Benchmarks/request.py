"""A callback request's round trip, client to host to provider and back, beside one straight to a REP socket and one
through a forwarder in C that looks at nothing it passes on: what any process in between costs.

usage: request.py [ROUNDS] [REQUESTS]     (10 rounds of 2,000 each; the three take turns)

What counts are the ratios within one run. The peers are C (request_peers.c), built here.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "Tests/ProcessTests"))

import holdgate  # noqa: E402  (found through the path above)

ARGUMENTS = {"page": 0, "max": 10}


def build(directory):
    binary = directory / "request_peers"
    source = pathlib.Path(__file__).with_name("request_peers.c")
    subprocess.run(["cc", "-O2", "-Wall", "-Werror", "-o", str(binary), str(source), "-lzmq"], check=True)
    return str(binary)


def times(binary, address, count, request):
    """The microseconds of each round trip."""
    command = [binary, "client", address, str(count), json.dumps(request)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [float(line) for line in out.splitlines()]


def main(rounds=10, count=2000):
    with tempfile.TemporaryDirectory() as directory:
        binary = build(pathlib.Path(directory))
        host = holdgate.Host("--operating")
        peers = []

        def start(*words):
            peers.append(subprocess.Popen([binary, *words], stdout=subprocess.PIPE, text=True))
            return peers[-1].stdout

        try:
            straight = start("rep", "tcp://127.0.0.1:*").readline().strip()
            forwarder = start("forwarder", "tcp://127.0.0.1:*", "tcp://127.0.0.1:*")
            front, back = forwarder.readline().strip(), forwarder.readline().strip()
            assert start("echo", back).readline() == "ready\n"
            assert start("provider", host.address("plugin")).readline() == "ready\n"
            request = {"command": "request", "service": "echo", "arguments": ARGUMENTS}
            print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.2f} at the beginning")
            print("medians in µs   host   forwarder   straight   host/straight   forwarder/straight   host/forwarder")
            ratios = []
            for _ in range(rounds):
                through, forwarded, direct = (
                    statistics.median(times(binary, address, count, request))
                    for address in (host.address("control"), front, straight))
                ratios.append((through / direct, forwarded / direct, through / forwarded))
                print(f"{through:20.1f}{forwarded:12.1f}{direct:11.1f}"
                      + "".join(f"{ratio:{width}.2f}" for ratio, width in zip(ratios[-1], (16, 21, 17))), flush=True)
            for name, values in zip(("host/straight", "forwarder/straight", "host/forwarder"), zip(*ratios)):
                print(f"{name}: {statistics.median(values):.2f} (rounds from {min(values):.2f} to {max(values):.2f})")
        finally:
            for peer in peers:
                peer.kill()
                peer.wait()
            host.close()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
