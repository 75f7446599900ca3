#!/usr/bin/python3
"""Acknowledged events a second by events a batch, producers, and batches that each producer has on its way.

A durable collector is known and away, so that every line is written and synced, and nothing else goes on. The producers are
Python processes with a plain DEALER socket: with one event a batch they, not the host, may be what is measured.

usage: ingest.py [SECONDS]      (1 second each)
"""

import multiprocessing
import sys
import time

import zmq

import common
from common import holdgate


def produce(address, name, events, in_flight, go, seconds, result):
    """Sends batches for so long, and says how many events were acknowledged in what time."""
    socket = zmq.Context().socket(zmq.DEALER)
    socket.linger = 0
    socket.sndhwm = socket.rcvhwm = 0
    socket.connect(address)
    frame = common.block(events)
    go.wait()
    batch, answered, took = 0, 0, []
    begin = time.perf_counter()
    sent = {}
    while (now := time.perf_counter()) - begin < seconds:
        while batch - answered < in_flight:
            batch += 1
            sent[batch] = time.perf_counter()
            header = b'{"id":%d,"producer":"%s","run":"1","batch":%d}' % (batch, name, batch)
            socket.send_multipart([header, frame], copy=events > 10)
        reply = socket.recv()
        assert b'"ok":true' in reply, reply
        answered += 1
        took.append(time.perf_counter() - sent.pop(answered))
    result.send((answered * events / (now - begin), took))
    socket.close(0)


def measure(place, producers, events, in_flight, seconds):
    # What was measured before must not fill the queue.
    host = holdgate.Host(directory=place / f"{producers}-{events}-{in_flight}", queueLimitBytes=1 << 40)
    try:
        host.ok("start")
        collector = host.collector("away")
        collector.send("bye")
        collector.close()
        go = multiprocessing.Event()
        pipes, processes = [], []
        for number in range(producers):
            reader, writer = multiprocessing.Pipe(duplex=False)
            arguments = (host.address("ingest"), b"p%d" % number, events, in_flight, go, seconds, writer)
            processes.append(multiprocessing.Process(target=produce, args=arguments))
            pipes.append(reader)
        for process in processes:
            process.start()
        time.sleep(0.3)
        go.set()
        results = [reader.recv() for reader in pipes]
        for process in processes:
            process.join()
        return sum(rate for rate, _ in results), [value * 1e6 for _, took in results for value in took]
    finally:
        host.close()


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    print(f"ingest, events of {common.EVENT_BYTES} bytes; {common.processors()}")
    with common.Place() as place:
        syncs = common.sync_microseconds(place / "sync")
        one = common.quantile(syncs, 0.5)
        print(f"a write of 4 KiB and its sync: {one:,.0f} µs at the median, {common.quantile(syncs, 0.99):,.0f} at p99")
        print(f"{'producers':>9} {'a batch':>8} {'on its way':>11} {'events/s':>12} {'p50':>10} {'p99':>10}  of a sync")
        for producers in (1, 4):
            for events in (1, 100, 1000):
                for in_flight in (1, 64):
                    rate, took = measure(place, producers, events, in_flight, seconds)
                    p50, p99 = (common.quantile(took, share) for share in (0.5, 0.99))
                    print(f"{producers:>9} {events:>8,} {in_flight:>11} {rate:>12,.0f} "
                          f"{p50:>7,.0f} µs {p99:>7,.0f} µs  {p50 / one:.1f}", flush=True)


if __name__ == "__main__":
    main()
