"""The bundled durable collector: its files, its receipts, and what they prove."""

import json

import checker
from holdgate import event, events, lines, wait_until


def receipts(collector):
    return [json.loads(line) for path in sorted(collector.files.glob("*.receipts"))
            for line in path.read_text().splitlines()]


def attached(host, file_collectors):
    """A file-collector that the host knows: events from now on are kept for it."""
    collector = file_collectors(host)
    wait_until(lambda: host.ok("plugins")["plugins"], "file-collector to attach")
    return collector


def test_every_event_is_in_its_file_byte_for_byte(operating, file_collectors):
    collector = attached(operating, file_collectors)
    block = lines(events(1, 500, data={"text": "ü\"\\", "n": 1.50}))
    operating.ingest_raw(b"{}", block)
    collector.wait_for(500)
    assert b"\n".join(collector.lines()) == block


def test_receipts_tie_each_event_to_an_open_interval(operating, file_collectors):
    collector = attached(operating, file_collectors)
    for number in range(5):
        operating.accept(events(100 * number, 50))
        operating.ok("holdOperation")
        operating.accept(events(100 * number + 50, 50))
        operating.ok("startOperation")
    collector.wait_for(500)
    operating.ok("holdOperation", waitMs=10_000)
    assert collector.stop() == 0
    assert checker.check(collector.files, operating.history_files()) == 500
    launches = {receipt["launch"] for receipt in receipts(collector)}
    openings = {each for receipt in receipts(collector) for _, _, each in receipt["under"]}
    assert launches == {operating.launch} and 1 in openings and len(openings) > 1


def test_killed_between_write_and_ack_it_leaves_none_out_and_none_twice(operating, file_collectors):
    collector = attached(operating, file_collectors)
    total = 0
    for round in range(10):
        operating.accept(events(total, 200))
        total += 200
        collector.wait_for(200 * round + 1)
        collector.kill9()
        collector.start()
    collector.wait_for(total)
    operating.ok("holdOperation", waitMs=10_000)
    assert [json.loads(line)["id"] for line in collector.lines()] == [f"e{n}" for n in range(total)]
    assert checker.check(collector.files, operating.history_files()) == total


def test_a_hold_drains_into_the_file(operating, file_collectors):
    collector = attached(operating, file_collectors)
    operating.accept(events(1, 1_000))
    operating.ok("holdOperation", waitMs=10_000)
    operating.accept([event(1_001)])
    assert len(collector.lines()) == 1_000


def test_the_newer_of_two_takes_over_and_the_older_exits_0(operating, file_collectors):
    older = attached(operating, file_collectors)
    operating.accept([event(1)])
    older.wait_for(1)
    newer = operating.collector("file-collector")
    assert older.process.wait(20) == 0
    operating.accept([event(2)])
    seqs = []
    while 2 not in seqs:  # The first comes again where its ack was still under way.
        seqs += [seq for seq, _ in newer.take(1)]
    assert seqs in ([2], [1, 2])
