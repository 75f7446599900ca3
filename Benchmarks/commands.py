#!/usr/bin/python3
"""How long a command takes while nothing else happens, and while four producers flood `ingest` with 4 MiB frames.

`ping` and `state` touch no disk; a hold and the start after it are each synced before they are answered. Idle and flooded
parts take turns, so that both meet the same machine. A sync of 4 KiB on the same disk stands beside them.

usage: commands.py [ROUNDS] [PINGS] [PAIRS]      (3 rounds, each 1,000 pings, 1,000 states, 100 pairs idle and flooded)
"""

import multiprocessing
import sys
import time

import zmq

import common
from common import holdgate

PRODUCERS = 4
FRAME_BYTES = 4 << 20
IN_FLIGHT = 2


def flood(address, name, number, stop, taken):
    """Keeps two frames on their way until told to stop; counts what was acknowledged."""
    socket = zmq.Context().socket(zmq.DEALER)
    socket.linger = 0
    socket.connect(address)
    frame = common.block(FRAME_BYTES // common.EVENT_BYTES)
    batch, answered = 0, 0
    while not stop.is_set():
        while batch - answered < IN_FLIGHT:
            batch += 1
            header = {"id": batch, "producer": name, "run": f"{number}", "batch": batch}
            socket.send_multipart([common.json.dumps(header).encode(), frame], copy=False)
        if not socket.poll(200):
            continue
        reply = common.json.loads(socket.recv())
        answered += 1
        if not reply["ok"]:
            # A full queue: the collector is behind. The rest of this run would be out of order.
            while answered < batch and socket.poll(1000):
                socket.recv()
                answered += 1
            number += 1_000_000
            batch, answered = 0, 0
            time.sleep(0.05)
            continue
        taken.value += len(frame)
    socket.close(0)


class Flood:
    def __init__(self, host, number):
        self.stop = multiprocessing.Event()
        self.taken = [multiprocessing.Value("q", 0) for _ in range(PRODUCERS)]
        self.processes = [
            multiprocessing.Process(
                target=flood, args=(host.address("ingest"), f"flood-{index}", number, self.stop, taken))
            for index, taken in enumerate(self.taken)]

    def __enter__(self):
        for process in self.processes:
            process.start()
        holdgate.wait_until(lambda: all(taken.value for taken in self.taken), "the flood")
        self.begin, self.before = time.perf_counter(), self.bytes
        return self

    @property
    def bytes(self):
        return sum(taken.value for taken in self.taken)

    def __exit__(self, *_):
        self.rate = (self.bytes - self.before) / (time.perf_counter() - self.begin)
        self.stop.set()
        for process in self.processes:
            process.join()


def measure(host, samples, pings, pairs):
    with host.socket(zmq.REQ, "control") as socket:
        for command in ("ping", "state"):
            for _ in range(pings):
                samples.setdefault(command, []).append(common.ask(socket, command=command)[1])
        for _ in range(pairs):
            for command in ("hold", "start"):
                reply, took = common.ask(socket, command=command)
                assert reply["ok"], reply
                samples.setdefault(command, []).append(took)


def main():
    rounds, pings, pairs = (int(value) for value in (sys.argv[1:] + ["3", "1000", "100"][len(sys.argv) - 1:])[:3])
    print(f"commands, {PRODUCERS} producers flooding with frames of {FRAME_BYTES >> 20} MiB; {common.processors()}")
    idle, flooded, rates = {}, {}, []
    with common.Place() as place:
        host = holdgate.Host(directory=place / "host")
        files = holdgate.FileCollector(host)
        try:
            host.ok("start")
            for number in range(rounds):
                measure(host, idle, pings, pairs)
                with Flood(host, number) as running:
                    measure(host, flooded, pings, pairs)
                rates.append(running.rate / 2**20)
                remove_old(files.files)
                holdgate.wait_until(lambda: host.state()["pending"] == 0, "the collector")
        finally:
            files.close()
            host.close()
        syncs = common.sync_microseconds(place / "sync")
    row("", "idle p50", "p99", "flooded p50", "p99", "ratio p50", "p99")
    for command, samples in idle.items():
        quiet = [common.quantile(samples, share) for share in (0.5, 0.99)]
        loud = [common.quantile(flooded[command], share) for share in (0.5, 0.99)]
        row(command, *(f"{value:,.0f} µs" for value in quiet + loud),
            *(f"{b / a:.1f}" for a, b in zip(quiet, loud)))
    row("4 KiB + sync", *(f"{common.quantile(syncs, share):,.0f} µs" for share in (0.5, 0.99)))
    print("the flood: " + ", ".join(f"{rate:,.0f}" for rate in rates) + " MiB/s acknowledged")


def remove_old(directory):
    """All but the newest file go: a long flood would fill the disk."""
    for path in sorted(directory.glob("events-*.ndjson"))[:-1]:
        path.unlink()


def row(*cells):
    print("".join(f"{cell:<14}" if index == 0 else f"{cell:>13}" for index, cell in enumerate(cells)), flush=True)


if __name__ == "__main__":
    main()
