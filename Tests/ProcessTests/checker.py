#!/usr/bin/env python3
"""Checks that no event left while the gate was closed, from evidence alone.

usage: checker.py --files DIR --history FILE…   (the history's files, oldest first)

Takes file-collector's files (`events-*.ndjson`, a `.receipts` beside each) and the host's history, and nothing of the
host's code. It verifies the history's chain of hashes, that the receipts cover each file's bytes without a gap, that
no seq came twice, and that each event was released under an opening and accepted before the gate closed again.
"""

import argparse
import hashlib
import json
import pathlib
import sys


class Wrong(Exception):
    pass


def history_records(paths):
    """Every record of the history, in order; raises Wrong where the chain doesn't hold."""
    hash, n, records = "0" * 64, 0, []
    for path in paths:
        for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], 1):
            record = json.loads(line)
            is_header = "format" in record      # a file's first line: in the chain, numbered as the record before
            digest = hashlib.sha256(line[:line.rindex(b',"hash"')]).hexdigest()
            if digest != record["hash"]:
                raise Wrong(f"{path}:{number}: its hash is not that of its bytes")
            if (record["prev"], record["n"]) != (hash, n if is_header else n + 1):
                raise Wrong(f"{path}:{number}: it does not follow record {n}")
            hash, n = digest, record["n"]
            if not is_header:
                records.append(record)
    return records


def openings(records):
    """{(launch, transition): the last seq that may leave under it; None while it was never closed}."""
    result, opened = {}, {}
    for record in records:
        launch, state = record["launch"], record["state"]
        if record.get("changed") is False or record["command"] in ("drained", "drainTimeout"):
            continue
        if state == "operating":
            opened[launch] = record["seq"]
            result[launch, record["seq"]] = None
        elif state in ("holdRequested", "killed") and launch in opened:
            result[launch, opened.pop(launch)] = record["through"]
    return result


def numbers(ranges):
    return [seq for first, count in ranges for seq in range(first, first + count)]


def check(files, histories):
    """Returns how many events were checked; raises Wrong at the first that is not right."""
    allowed, seen = openings(history_records(histories)), set()
    for path in sorted(files.glob("events-*.ndjson")):
        data, end = path.read_bytes(), 0
        for line in path.with_suffix(".receipts").read_text().splitlines():
            receipt = json.loads(line)
            if receipt["offset"] != end:
                raise Wrong(f"{path}: no receipt covers byte {end}")
            block = data[end:end + receipt["bytes"]]
            end += receipt["bytes"]
            seqs = numbers(receipt["ranges"])
            if len(block) != receipt["bytes"] or block.count(b"\n") != len(seqs):
                raise Wrong(f"{path}: the receipt at byte {receipt['offset']} is not of these lines")
            under = {seq: t for first, count, t in receipt["under"] for seq in range(first, first + count)}
            for seq in seqs:
                opening = receipt["launch"], under.get(seq)
                if seq in seen:
                    raise Wrong(f"{path}: seq {seq} came twice")
                if opening not in allowed:
                    raise Wrong(f"{path}: seq {seq} was released under {opening}, which opened nothing")
                if allowed[opening] is not None and seq > allowed[opening]:
                    raise Wrong(f"{path}: seq {seq} left under {opening}, closed after {allowed[opening]}")
                seen.add(seq)
        if end != len(data):
            raise Wrong(f"{path}: {len(data) - end} bytes have no receipt")
    return len(seen)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--files", type=pathlib.Path, required=True)
    parser.add_argument("--history", type=pathlib.Path, nargs="+", required=True)
    arguments = parser.parse_args()
    try:
        print(f"{check(arguments.files, arguments.history)} events left while the gate was open, and none besides")
    except (Wrong, KeyError, ValueError) as error:
        sys.exit(f"wrong: {error!r}" if not isinstance(error, Wrong) else f"wrong: {error}")
