"""Section 2: the table in docs/protocol.md, cell by cell, over the wire."""

import json
import re

import pytest

from holdgate import NoReady, ROOT, event

COMMANDS = {"startOperation": "startOperation", "holdOperation": "holdOperation", "kill": "kill"}


def table():
    """(state, input, state after it) for every cell but the dashes, as the document has them."""
    text = (ROOT / "docs/protocol.md").read_text()
    rows = text.split("<!-- lifecycle-table -->\n", 1)[1].split("\n\n", 1)[0].splitlines()
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    inputs = cells[0][1:]
    result = []
    for state, *outcomes in cells[2:]:
        for input, outcome in zip(inputs, outcomes):
            arrow = re.match(r"→ (\w+)", outcome)
            if outcome != "–":
                assert arrow or outcome.startswith("no-op"), outcome
                result.append((state, input, arrow[1] if arrow else state))
    return result


def bring(hosts, state):
    """A fresh host in `state`, and the collector that keeps it from being drained, if that is needed."""
    host = hosts("--holding" if state == "onHold" else "--operating")
    collector = None
    if state == "holdRequested":
        collector = host.slow_collector()
        host.ok("holdOperation")
    if state == "killed":
        host.ok("kill")
    assert host.state()["state"] == state
    return host, collector


def test_the_document_has_the_whole_table():
    assert len(table()) == 13
    assert {state for state, _, _ in table()} == {"operating", "holdRequested", "onHold", "killed"}


@pytest.mark.parametrize("state, input, after", table())
def test_the_host_does_what_the_table_says(hosts, state, input, after):
    host, collector = bring(hosts, state)
    before = host.state()
    stream = host.sub("state").joined()
    if input not in COMMANDS:
        collector.ack(1)
        message = stream.until("state", state=after)
        assert message.body["command"] == "drained" and message.seq == before["seq"] + 1
        assert host.state()["state"] == after
        return
    reply = host.ok(COMMANDS[input])
    changed = after != state
    assert (reply["previous"], reply["state"], reply["changed"]) == (state, after, changed)
    assert reply["seq"] == before["seq"] + changed
    assert reply["isOperating"] == (after == "operating")
    if not changed:
        assert host.state()["seq"] == before["seq"]


@pytest.mark.parametrize("state", ["operating", "holdRequested", "onHold", "killed"])
@pytest.mark.parametrize("command", ["initialize", "initializeWithHoldingOperations"])
def test_initialising_within_a_launch_changes_nothing(hosts, state, command):
    host, _ = bring(hosts, state)
    before = host.state()
    reply = host.ok(command)
    assert (reply["previous"], reply["state"], reply["changed"]) == (state, state, False)
    assert host.state()["seq"] == before["seq"]


@pytest.mark.parametrize("flag, state, name", [
    ("--operating", "operating", "initialize"), ("--holding", "onHold", "initializeWithHoldingOperations"),
])
def test_a_launch_begins_as_its_flag_says(hosts, flag, state, name):
    host = hosts(flag)
    assert (host.ready["state"], host.ready["seq"]) == (state, 1)
    assert host.state()["initializedWith"] == name
    (record,) = host.records()
    assert (record["command"], record["state"], record["seq"], record["through"]) == (name, state, 1, 0)


def test_a_launch_begins_on_hold_by_default(hosts):
    assert hosts().ready["state"] == "onHold"


@pytest.mark.parametrize("flags", [["--operating", "--holding"], ["--sideways"], ["extra"], ["--state-dir"]])
def test_flags_that_make_no_sense_are_a_usage_error(hosts, flags):
    with pytest.raises(NoReady) as caught:
        hosts(*flags)
    assert caught.value.status == 2 and caught.value.stderr


def test_a_hold_with_nobody_to_wait_for_publishes_both_transitions(operating):
    stream = operating.sub("state").joined()
    reply = operating.ok("holdOperation")
    assert (reply["state"], reply["seq"], reply["pending"]) == ("holdRequested", 2, 0)
    seen = [stream.next() for _ in range(2)]
    assert [(each.seq, each.header["prev"], each.body["state"], each.body["command"]) for each in seen] == [
        (2, 1, "holdRequested", "holdOperation"), (3, 2, "onHold", "drained")]


def test_end_launch_stops_the_host_and_the_next_start_begins_anew(operating):
    first = operating.launch
    operating.ok("endLaunch")
    assert operating.ended() == 0
    ready = operating.start("--holding")
    assert ready["launch"] != first and (ready["state"], ready["seq"]) == ("onHold", 1)


def test_end_launch_with_restart_begins_the_next_one_in_the_same_process(hosts):
    host = hosts("--operating")
    pid, first = host.process.pid, host.launch
    host.ok("endLaunch", restart=True)
    line = host.process.stdout.readline()
    host.ready = json.loads(line)
    assert host.ready["pid"] == pid and host.ready["launch"] != first
    assert host.state()["seq"] == 1


def test_end_launch_leaves_killed(operating):
    operating.ok("kill")
    operating.ok("endLaunch")
    operating.ended()
    assert operating.start("--operating")["state"] == "operating"


def test_new_launch_begins_anew_and_a_plain_restart_does_not(operating):
    first = operating.launch
    assert operating.restart("--holding")["launch"] == first
    assert operating.state()["state"] == "operating", "start-up flags don't touch a running launch"
    assert operating.restart("--new-launch", "--holding")["launch"] != first
    assert operating.state()["state"] == "onHold"


def test_a_new_launch_may_not_begin_open_over_a_queue(held):
    collector = held.collector()
    held.accept([event(1)])
    held.stop()
    with pytest.raises(NoReady) as caught:
        held.start("--new-launch", "--operating")
    assert "queue" in caught.value.stderr
    held.start("--new-launch", "--holding")
    collector = held.collector()
    collector.nothing()
    held.ok("start")
    assert [each["id"] for _, each in collector.take(1)] == ["e1"]


def test_killed_says_what_helps(operating):
    operating.ok("kill")
    reply = operating.ingest([{"specversion": "1.0", "id": "1", "source": "/", "type": "t"}])
    assert reply["error"]["code"] == "notOperating" and reply["error"]["retryable"] is False
    assert "launch" in reply["error"]["message"]
