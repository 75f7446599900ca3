"""`holdgate dead-letters` against the real host: letters come back exactly, and once."""

import json
import os
import stat
import subprocess

from holdgate import BIN, PATIENCE, environment, events, run_command


def reject(host, count):
    """`count` events, all rejected by one collector."""
    collector = host.collector("picky")
    host.accept(events(1, count))
    while count:
        delivery = collector.deliver()
        collector.ack(delivery.seqs[-1], [[seq, f"bad {seq}"] for seq in delivery.seqs])
        count -= len(delivery.seqs)
    collector.barrier()
    return collector


def test_list_export_and_requeue(operating, tmp_path):
    collector = reject(operating, 1500)
    shown = run_command(operating, "dead-letters")
    assert shown.returncode == 0 and len(shown.stdout.splitlines()) == 1501, shown
    assert shown.stdout.splitlines()[1].split()[-2:] == ["demo.test", "e1"] and "bad 1 " in shown.stdout
    path = tmp_path / "letters.ndjson"
    assert run_command(operating, "dead-letters", "export", "--output", str(path)).returncode == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and os.listdir(tmp_path) == ["letters.ndjson"]
    letters = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(letter["seq"], letter["event"]["id"]) for letter in letters] == [(n, f"e{n}") for n in range(1, 1501)]
    assert run_command(operating, "dead-letters", "export").stdout == path.read_text()
    assert run_command(operating, "dead-letters", "requeue", "--all").returncode == 2, "nobody can be asked"
    done = run_command(operating, "dead-letters", "requeue", "--all", "--yes", "--json")
    assert json.loads(done.stdout) == {"ok": True, "requeued": 1500, "missing": 0, "left": 0}
    assert [each["id"] for _, each in collector.take(1500)] == [f"e{n}" for n in range(1, 1501)]
    assert run_command(operating, "dead-letters").stdout == "no dead letters\n"


def test_an_export_that_can_t_be_written_fails(operating):
    reject(operating, 1)
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [str(BIN / "holdgate"), "dead-letters", "export", "--control", operating.address("control")],
            stdout=full, stderr=subprocess.PIPE, text=True, timeout=PATIENCE, env=environment())
    assert done.returncode == 1 and "No space left" in done.stderr


def test_nobody_there_and_wrong_usage_end_as_of_other_commands(operating):
    absent = run_command(None, "dead-letters", "requeue", "1", "--timeout", "300ms", control="tcp://127.0.0.1:9")
    assert absent.returncode == 3 and "holdgate serve" in absent.stderr
    assert run_command(operating, "dead-letters", "requeue", "x").returncode == 2
