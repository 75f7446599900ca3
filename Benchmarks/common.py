"""What the benchmarks share: hosts and collectors as the process tests start them, files of events, numbers in words."""

import json
import os
import pathlib
import shutil
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "Tests/ProcessTests"))

import holdgate  # noqa: E402  (found through the path above)

EVENT_BYTES = 200


class Place:
    """A directory on the tree's own disk, gone afterwards: what counts is a disk that syncs, not a tmpfs."""

    def __enter__(self):
        base = ROOT / ".build/benchmarks"
        base.mkdir(parents=True, exist_ok=True)
        self.path = pathlib.Path(tempfile.mkdtemp(dir=base))
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


def event(number, size=EVENT_BYTES):
    """One event of `size` bytes, its line feed included."""
    head = '{"specversion":"1.0","id":"%09d","source":"/bench","type":"bench.tick","data":{"pad":"' % number
    return (head + "x" * (size - len(head) - 4) + '"}}\n').encode()


def block(count, size=EVENT_BYTES):
    """A frame of `count` events."""
    return b"".join(event(number, size) for number in range(count))


def peak_kilobytes(pid):
    """The most memory that a process ever had resident; 0 once it has ended."""
    try:
        with open(f"/proc/{pid}/status") as status:
            return next((int(line.split()[1]) for line in status if line.startswith("VmHWM")), 0)
    except (FileNotFoundError, ProcessLookupError):
        return 0


def write_and_sync(source, target):
    """Copies a file in pieces of 1 MiB with one sync at the end; returns the seconds that it took."""
    begin = time.perf_counter()
    with open(source, "rb", buffering=0) as reader, open(target, "wb", buffering=0) as writer:
        while piece := reader.read(1 << 20):
            writer.write(piece)
        os.fdatasync(writer.fileno())
    seconds = time.perf_counter() - begin
    os.unlink(target)
    return seconds


def sync_microseconds(path, count=300):
    """Each a write of 4 KiB over old bytes and a sync: what one commit costs at least."""
    took = []
    with open(path, "wb", buffering=0) as file:
        file.write(bytes(4096 * count))
        os.fsync(file.fileno())
        for number in range(count):
            begin = time.perf_counter()
            os.pwrite(file.fileno(), b"x" * 4096, 4096 * number)
            os.fdatasync(file.fileno())
            took.append((time.perf_counter() - begin) * 1e6)
    os.unlink(path)
    return took


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def ask(socket, **request):
    """One request over a REQ socket: its reply, and how many microseconds it took."""
    begin = time.perf_counter()
    socket.send(json.dumps(request).encode())
    reply = socket.recv()
    took = (time.perf_counter() - begin) * 1e6
    return json.loads(reply), took


def processors():
    return f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.2f} at the beginning"
