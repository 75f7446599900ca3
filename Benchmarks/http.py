#!/usr/bin/python3
"""Events over HTTP beside the same over ZeroMQ: requests a second, and how long one takes.

A durable collector is known and away, so that every event is written and synced before its answer. HTTP clients have a
connection each and one request on its way; over ZeroMQ one DEALER socket has as many batches on their way. The clients are
C (http_peers.c), built here, and take turns; what counts are the ratios within one run.

usage: http.py [ROUNDS] [SECONDS]      (5 rounds of 1 second each)
"""

import pathlib
import statistics
import subprocess
import sys

import common
from common import holdgate


def build(directory):
    binary = directory / "http_peers"
    source = pathlib.Path(__file__).with_name("http_peers.c")
    subprocess.run(["cc", "-O2", "-Wall", "-Werror", "-o", str(binary), str(source), "-lzmq"], check=True)
    return str(binary)


def run(*words):
    out = subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True).stdout
    return [float(word) for word in out.split()]


def gateway(host):
    """Starts one, and returns the process and its port."""
    command = [holdgate.BIN / "http-gateway", "--listen", "127.0.0.1:0"]
    for name in ("control", "stream", "ingest"):
        command += [f"--{name}", host.address(name)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    line = process.stderr.readline()
    assert "listening at" in line, line
    return process, int(line.rsplit(":", 1)[1])


def main(rounds=5, seconds=1.0):
    print(f"events of {common.EVENT_BYTES} bytes; {common.processors()}; medians of {rounds} rounds")
    print("events  on their way   HTTP requests/s  p50 us  p99 us   ZeroMQ requests/s  p50 us  p99 us   ratio of rates")
    with common.Place() as place:
        binary = build(place)
        for events in (1, 100):
            for clients in (1, 16, 64):
                host = holdgate.Host(directory=place / f"{events}-{clients}", queueLimitBytes=1 << 40)
                try:
                    host.ok("start")
                    collector = host.collector("away")
                    collector.send("bye")
                    collector.close()
                    process, port = gateway(host)
                    try:
                        pairs = [(run(binary, "http", "127.0.0.1", port, clients, events, seconds),
                                  run(binary, "zmq", host.address("ingest"), clients, events, seconds))
                                 for _ in range(rounds)]
                    finally:
                        process.terminate()
                        process.wait()
                        process.stderr.close()
                finally:
                    host.close()
                http, zmq = ([statistics.median(column) for column in zip(*side)] for side in zip(*pairs))
                ratios = sorted(h[0] / z[0] for h, z in pairs)
                print(f"{events:6} {clients:13} {http[0]:17,.0f} {http[1]:7.0f} {http[2]:7.0f} {zmq[0]:19,.0f} {zmq[1]:7.0f} "
                      f"{zmq[2]:7.0f}   {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5, float(sys.argv[2]) if len(sys.argv) > 2 else 1.0)
