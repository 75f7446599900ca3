#!/usr/bin/python3
"""A file of events through `holdgate emit`, the host and file-collector, compared byte for byte at the end.

The clock runs from the start of the producer's process until the last byte is synced in the collector's files. The same
bytes written and synced to the same disk by nobody else, before and after, give the ratio.

usage: end_to_end.py [EVENTS] [ROUNDS]      (1,000,000 events, 3 rounds)
"""

import subprocess
import sys
import time

import common
from common import holdgate


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    print(f"{count:,} events of {common.EVENT_BYTES} bytes; {common.processors()}")
    with common.Place() as place:
        source = place / "input.ndjson"
        with open(source, "wb") as file:
            for number in range(count):
                file.write(common.event(number))
        for number in range(1, rounds + 1):
            round_trip(place, source, count, number)


def round_trip(place, source, count, number):
    before = common.write_and_sync(source, place / "alone")
    host = holdgate.Host(directory=place / f"host-{number}")
    files = holdgate.FileCollector(host)
    try:
        host.ok("start")
        holdgate.wait_until(lambda: host.ok("plugins")["plugins"], "the collector")
        total, produced, peaks = carry(host, files, source)
        same = compare(source, files.files)
    finally:
        files.close()
        host.close()
    alone = (before + common.write_and_sync(source, place / "alone")) / 2
    peak = ", ".join(f"{name} {kilobytes / 1024:.0f} MiB" for name, kilobytes in peaks.items())
    print(
        f"round {number}: {count / total:>11,.0f} events/s end to end ({total:.2f} s), "
        f"{count / produced:,.0f} by the producer; disk alone {alone:.2f} s, ratio {total / alone:.1f}; "
        f"peaks: {peak}; {'identical' if same else 'DIFFERENT'}", flush=True)
    if not same:
        sys.exit(1)


def carry(host, files, source):
    """Seconds until all is synced in the files, seconds until all is acknowledged, and each process's peak memory."""
    size = source.stat().st_size
    emit = subprocess.Popen(
        [holdgate.BIN / "holdgate", "emit", "--file", source, "--ingest", host.address("ingest")],
        stdout=subprocess.DEVNULL, env=holdgate.environment())
    begin = time.perf_counter()
    produced, peak, deadline = None, 0, begin + 300
    while True:
        now = time.perf_counter()
        peak = max(peak, common.peak_kilobytes(emit.pid))
        if produced is None and emit.poll() is not None:
            produced = now - begin
        if produced is not None and synced_bytes(files.files) >= size:
            break
        if now > deadline or emit.poll():
            sys.exit("the events did not arrive")
        time.sleep(0.002)
    total = time.perf_counter() - begin
    return total, produced, {
        "producer": peak, "host": common.peak_kilobytes(host.process.pid),
        "collector": common.peak_kilobytes(files.process.pid)}


def synced_bytes(directory):
    """A receipt is written once its events are synced: the last one of each file says how far that is."""
    total = 0
    for path in directory.glob("events-*.receipts"):
        with open(path, "rb") as file:
            file.seek(max(0, path.stat().st_size - 65_536))
            lines = file.read().split(b"\n")[:-1]
        if lines:
            receipt = common.json.loads(lines[-1])
            total += receipt["offset"] + receipt["bytes"]
    return total


def compare(source, directory):
    parts = sorted(directory.glob("events-*.ndjson"))
    whole = subprocess.Popen(["cat", *parts], stdout=subprocess.PIPE)
    status = subprocess.run(["cmp", "-", source], stdin=whole.stdout).returncode
    whole.wait()
    return status == 0


if __name__ == "__main__":
    main()
