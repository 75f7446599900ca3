"""Section 2: a consent service that dies closes the gate."""

import time

import pytest

from holdgate import event, wait_until


def test_it_closes_the_gate_when_it_runs_out(held):
    stream = held.sub("state").joined()
    held.ok("startOperation", leaseMs=200)
    assert held.state()["lease"]
    stream.until("state", state="operating")
    message = stream.until("state", state="holdRequested")
    assert (message.body["command"], message.seq) == ("leaseExpired", 3)
    assert stream.until("state", state="onHold").seq == 4
    assert held.state().get("lease") is None
    assert [record["command"] for record in held.records()][-2:] == ["leaseExpired", "drained"]


def test_a_renewal_prolongs_it(held):
    stream = held.sub("state").joined()
    held.ok("startOperation", leaseMs=300)
    begun = time.monotonic()
    renewed = held.ok("startOperation", leaseMs=1_500)
    assert (renewed["changed"], renewed["state"]) == (False, "operating")
    stream.until("state", command="leaseExpired")
    assert time.monotonic() - begun >= 1.5


def test_a_start_without_lease_leaves_a_running_one_alone(held):
    stream = held.sub("state").joined()
    held.ok("startOperation", leaseMs=300)
    held.ok("startOperation")
    stream.until("state", command="leaseExpired")


def test_a_lease_can_be_set_on_an_open_gate(operating):
    stream = operating.sub("state").joined()
    assert operating.state().get("lease") is None
    operating.ok("startOperation", leaseMs=200)
    stream.until("state", command="leaseExpired")


def test_a_start_from_a_hold_without_one_has_none(held):
    held.ok("startOperation", leaseMs=60_000)
    held.ok("holdOperation", waitMs=10_000)
    held.ok("startOperation")
    assert held.state().get("lease") is None


@pytest.mark.parametrize("hard", [True, False])
def test_it_goes_on_across_a_restart(held, hard):
    held.ok("startOperation", leaseMs=2_000)
    held.restart(hard=hard)
    if held.ready["state"] == "operating":          # a machine may be slow: then it has closed already
        held.sub("state").until("state", state="onHold")
    assert [record["command"] for record in held.records()][-2:] == ["leaseExpired", "drained"]


def test_a_long_one_is_still_there_after_a_restart(held):
    held.ok("startOperation", leaseMs=600_000)
    before = held.state()["lease"]
    held.restart(hard=True)
    after = held.state()["lease"]
    assert held.ready["state"] == "operating" and after["leaseMs"] == before["leaseMs"] == 600_000
    assert 0 < after["remainingMs"] <= before["remainingMs"], "a restart prolongs nothing"


def test_one_that_ran_out_meanwhile_closes_before_anything_is_bound(held):
    held.collector()
    held.ok("startOperation", leaseMs=300)
    held.kill9()
    over = time.time() + 0.4
    wait_until(lambda: time.time() > over, "the wall clock")
    held.start()
    assert held.ready["state"] in ("holdRequested", "onHold")
    assert held.accept([event(1)])["gated"] == 1
