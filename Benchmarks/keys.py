#!/usr/bin/python3
"""What keys cost: commands and events at a host that asks for them (CURVE), beside one that does not.

Both hosts run at once and take turns: a round is so many `ping`s over one REQ socket each, and a file of events through `holdgate emit`
and file-collector each, from the start of the producer's process until the last byte is synced.

usage: keys.py [ROUNDS] [PINGS] [EVENTS]      (5 rounds, 2,000 pings, 300,000 events)
"""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import zmq

import common
import end_to_end
from common import holdgate

ROLES = {"admin": "hold,start,admin,observe", "shop": "produce", "file-collector": "collect,observe"}


class Keys:
    """A state directory with authorised keys, made as an operator makes them."""

    def __init__(self, base):
        self.base = base
        self.files = {name: base / f"{name}.key" for name in ROLES}
        for name, roles in ROLES.items():
            subprocess.run(
                [holdgate.BIN / "holdgate", "keys", "new", name, "--roles", roles, "--state-dir", base / "state",
                 "--out", self.files[name]], check=True, capture_output=True, env=holdgate.environment())
        self.admin = json.loads(self.files["admin"].read_text())

    def options(self):
        return {"curve_serverkey": self.admin["hostKey"].encode(), "curve_publickey": self.admin["publicKey"].encode(),
                "curve_secretkey": self.admin["secretKey"].encode()}


class Side:
    """One host with its collector; `keys` is None where it asks for none."""

    def __init__(self, base, with_keys):
        base.mkdir()
        (base / "state").mkdir()
        self.keys = Keys(base) if with_keys else None
        options = self.keys.options() if self.keys else {}

        class Host(holdgate.Host):
            def socket(self, kind, endpoint, **more):
                return super().socket(kind, endpoint, **options, **more)

        self.host = Host("--operating", directory=base)
        self.files = holdgate.FileCollector(
            self.host, **({"keyFile": str(self.keys.files["file-collector"])} if self.keys else {}))
        self.socket = self.host.socket(zmq.REQ, "control")
        holdgate.wait_until(lambda: self.host.ok("plugins")["plugins"], "the collector")
        self.carried = 0

    def pings(self, count):
        return [common.ask(self.socket, command="ping")[1] for _ in range(count)]

    def carry(self, source, count):
        """Events a second until they are synced in the files."""
        self.carried += source.stat().st_size
        emit = [holdgate.BIN / "holdgate", "emit", "--file", source, "--ingest", self.host.address("ingest")]
        if self.keys:
            emit += ["--key", self.keys.files["shop"]]
        begin = common.time.perf_counter()
        subprocess.run(emit, check=True, stdout=subprocess.DEVNULL, env=holdgate.environment())
        while end_to_end.synced_bytes(self.files.files) < self.carried:
            common.time.sleep(0.002)
        return count / (common.time.perf_counter() - begin)

    def close(self):
        self.files.close()
        self.host.close()


def main(rounds=5, pings=2000, count=300_000):
    print(f"{pings:,} pings and {count:,} events of {common.EVENT_BYTES} bytes a round; {common.processors()}")
    with common.Place() as place:
        source = place / "input.ndjson"
        source.write_bytes(b"".join(common.event(number) for number in range(count)))
        sides = [Side(place / name, name == "keys") for name in ("open", "keys")]
        ratios = []
        try:
            for number in range(1, rounds + 1):
                trips = [statistics.median(side.pings(pings)) for side in sides]
                rates = [side.carry(source, count) for side in sides]
                ratios.append((trips[1] / trips[0], rates[1] / rates[0]))
                print(f"round {number}: ping {trips[0]:.0f} µs without, {trips[1]:.0f} µs with keys, ratio {ratios[-1][0]:.2f}; "
                      f"{rates[0]:,.0f} events/s without, {rates[1]:,.0f} with, ratio {ratios[-1][1]:.2f}", flush=True)
        finally:
            for side in sides:
                side.close()
        for name, values in zip(("ping", "events a second"), zip(*ratios)):
            print(f"{name}, with keys to without: {statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
