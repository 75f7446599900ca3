"""A callback request's round trip, client to host to provider and back, beside one straight to a REP socket.

usage: request.py [ROUNDS] [REQUESTS]     (10 rounds of 2,000 each; the two take turns)

What counts is the ratio within one run. The peers are C (request_peers.c), built here.
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
            return peers[-1].stdout.readline().strip()

        try:
            direct_address = start("rep", "tcp://127.0.0.1:*")
            assert start("provider", host.address("plugin")) == "ready"
            request = {"command": "request", "service": "echo", "arguments": ARGUMENTS}
            print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.2f} at the beginning")
            ratios = []
            for number in range(rounds):
                through = times(binary, host.address("control"), count, request)
                direct = times(binary, direct_address, count, request)
                ratios.append(statistics.median(through) / statistics.median(direct))
                print(f"round {number + 1:2}: through the host {statistics.median(through):6.1f} µs, "
                      f"straight {statistics.median(direct):6.1f} µs, ratio {ratios[-1]:.2f}", flush=True)
            print(f"median ratio {statistics.median(ratios):.2f} (least {min(ratios):.2f}, most {max(ratios):.2f})")
        finally:
            for peer in peers:
                peer.kill()
                peer.wait()
            host.close()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
