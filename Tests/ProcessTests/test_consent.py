"""consent-manager: decisions, and what the gate does about them."""

import json
import os
import signal
import socket as tcp
import time

import pytest
import zmq

from holdgate import (BIN, ENDPOINTS, PATIENCE, Program, context, error_code, event, events,
                      receive_json, run_command, wait_until)


def free_port():
    with tcp.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class ConsentManager(Program):
    """The plugin, as a process of its own."""

    def __init__(self, host, *flags):
        self.host = host
        self.flags = flags
        self.address = f"tcp://127.0.0.1:{free_port()}"
        self.store = host.base / "consent.sqlite"
        self.log = host.base / "consent-manager.log"
        self.start()

    def start(self):
        command = [str(BIN / "consent-manager"), "--store", str(self.store), "--bind", self.address,
                   "--control", self.host.address("control"), "--stream", self.host.address("stream"),
                   "--plugin", self.host.address("plugin"), *self.flags]
        self.run(command, self.log)

    def ask_raw(self, *frames):
        with context.socket(zmq.REQ) as socket:
            socket.linger = 0
            socket.connect(self.address)
            socket.send_multipart(frames)
            return receive_json(socket)

    def ask(self, command, **members):
        return self.ask_raw(json.dumps({"command": command, **members}).encode())

    def decide(self, verb, **members):
        """A decision that must reach the gate."""
        reply = self.ask(verb, waitMs=15_000, **members)
        assert reply["ok"] and reply["applied"], reply
        return reply

    def ended(self):
        return self.process.wait(PATIENCE)

    def close(self):
        super().close()
        assert self.process.returncode >= 0 or self.process.returncode == -signal.SIGKILL, self.log.read_text()


@pytest.fixture
def managers():
    """Starts consent-managers: `managers(host, "--lease", "1")`."""
    started = []

    def start(host, *flags):
        started.append(ConsentManager(host, *flags))
        return started[-1]

    yield start
    for manager in started:
        manager.close()


@pytest.fixture
def fixed(hosts):
    """A held host on ports that stay its own over a restart."""
    return hosts("--holding", ports={name: free_port() for name in ENDPOINTS})


def policy(host):
    """How the last recorded command of consent-manager closed the gate."""
    return [record for record in host.records() if record["source"] == "consent-manager"][-1]


def test_the_life_of_a_consent(fixed, managers):
    collector = fixed.collector()
    manager = managers(fixed)
    assert fixed.accept(events(1, 3))["gated"] == 3
    collector.nothing()

    given = manager.decide("give", method="form")
    assert (given["consent"], given["host"]["state"]) == ("given", "operating")
    assert [each["id"] for _, each in collector.take(3)] == ["e1", "e2", "e3"]
    assert fixed.state()["lease"]["leaseMs"] == 30_000

    fixed.accept(events(4, 2))
    assert manager.decide("pause")["consent"] == "paused"
    assert [each["id"] for _, each in collector.take(2)] == ["e4", "e5"], "a pause drains"
    fixed.accept([event(6)])
    collector.nothing()

    manager.decide("give")
    assert [each["id"] for _, each in collector.take(1)] == ["e6"]

    manager.decide("pause")
    fixed.accept([event(7)])
    withdrawn = manager.decide("withdraw")
    assert withdrawn["host"]["state"] == fixed.state()["state"] == "killed"
    assert fixed.state()["gated"] == 0

    reasons = [record["reason"] for record in fixed.records() if record["source"] == "consent-manager"]
    for receipt in (given["receipts"][0], withdrawn["receipts"][0]):
        assert any(receipt["hash"] in reason for reason in reasons), "the history remembers each decision's hash"
    assert not any(receipt["subject"] in reason for reason in reasons)


def test_consent_after_a_withdrawal_begins_a_new_launch(fixed, managers):
    manager = managers(fixed)
    manager.decide("give")
    manager.decide("withdraw")
    fixed.collector()
    again = manager.decide("give")
    assert again["host"]["state"] == "operating" and again["host"]["launch"] != fixed.launch
    assert fixed.process.poll() is None and fixed.state()["launch"] == again["host"]["launch"]
    reasons = [record["reason"] or "" for record in fixed.records()]
    kill = next(index for index, reason in enumerate(reasons) if "withdrawn, decision 2" in reason)
    start = next(index for index, reason in enumerate(reasons) if "given, decision 3" in reason)
    assert kill < start
    assert fixed.accept([event(1)])["gated"] == 0


def test_denied_events_are_dropped_and_undecided_ones_kept(held, managers):
    collector = held.collector()
    manager = managers(held)
    wait_until(lambda: any(r["source"] == "consent-manager" for r in held.records()) or
               manager.ask("show")["applied"], "the gate to be held")
    assert held.accept([event(1)])["gated"] == 1
    manager.decide("deny")
    assert held.accept([event(2)])["discarded"] == 1
    manager.decide("give")
    held.accept([event(3)])
    assert [each["id"] for _, each in collector.take(1)] == ["e3"], "a denial drops what was queued, too"


def test_the_gate_closes_when_it_dies_and_opens_when_it_is_back(held, managers):
    stream = held.sub("state").joined()
    manager = managers(held, "--lease", "1")
    manager.decide("give")
    stream.until("state", state="operating")
    time_open = time.monotonic()
    wait_until(lambda: time.monotonic() - time_open > 1.5, "more than a lease")
    assert held.state()["state"] == "operating", "it renews its lease"
    manager.kill9()
    stream.until("state", command="leaseExpired")
    manager.start()
    stream.until("state", state="operating")


@pytest.mark.parametrize("hard", [True, False])
def test_a_restarted_host_is_told_again(fixed, managers, hard):
    manager = managers(fixed, "--lease", "1")
    manager.decide("deny")
    fixed.restart("--new-launch", "--holding", hard=hard)
    wait_until(lambda: policy(fixed)["launch"] == fixed.launch, "the new launch to be told")
    wait_until(lambda: fixed.ingest([event(1)])["discarded"] == 1, "the policy")
    manager.decide("give")
    fixed.restart("--new-launch", "--holding", hard=hard)
    wait_until(lambda: fixed.state()["state"] == "operating", "the gate to open")


def test_a_decision_outlives_a_lost_host(fixed, managers):
    manager = managers(fixed)
    manager.decide("give")
    fixed.kill9()
    reply = manager.ask("withdraw", waitMs=100)
    assert (reply["ok"], reply["applied"], reply["consent"]) == (True, False, "withdrawn")
    assert reply["problem"]
    # Whoever is in a hurry is told as well that it was decided.
    hurried = run_command(fixed, "consent", "withdraw", "--timeout", "1s", "--consent", manager.address)
    assert hurried.returncode == 0 and "has not followed yet" in hurried.stdout, hurried.stderr
    fixed.start()
    wait_until(lambda: fixed.state()["state"] == "killed", "the withdrawal to arrive")
    wait_until(lambda: manager.ask("show")["applied"], "it to be known")


def test_an_operators_hold_stands_until_the_next_decision(held, managers):
    manager = managers(held, "--lease", "1")
    manager.decide("give")
    held.ok("holdOperation", source="ops", waitMs=10_000)
    wait_until(lambda: manager.ask("show").get("closedBy") == "ops", "the hold to be seen")
    manager.kill9()
    manager.start()
    wait_until(lambda: manager.ask("show").get("closedBy") == "ops", "the hold to be found in the history")
    assert held.state()["state"] == "onHold"
    manager.decide("give")
    assert held.state()["state"] == "operating"


def test_an_operators_kill_is_not_undone_by_an_old_consent(fixed, managers):
    manager = managers(fixed)
    manager.decide("give")
    fixed.ok("kill", source="privacy-office")
    wait_until(lambda: manager.ask("show").get("closedBy") == "privacy-office", "the kill to be seen")
    assert fixed.state()["launch"] == fixed.launch
    assert manager.decide("give")["host"]["launch"] != fixed.launch


def test_an_operators_start_against_a_denial_is_closed_again(held, managers):
    manager = managers(held)
    manager.decide("deny")
    stream = held.sub("state").joined()
    held.ok("startOperation", source="ops")
    stream.until("state", state="operating")
    assert stream.until("state", state="holdRequested").body["source"] == "consent-manager"


def test_consent_expires(held, managers):
    manager = managers(held)
    manager.decide("give", validForMs=600)
    stream = held.sub("state")
    held_again = stream.until("state", state="holdRequested")
    assert "consent expired, decision 1" in held_again.body["reason"]
    assert manager.ask("show")["purposes"][0]["state"] == "expired"


def test_all_purposes_must_be_consented_to(held, managers):
    manager = managers(held, "--purposes", "ads,statistics")
    assert manager.ask("give", purpose="ads", waitMs=2000)["consent"] == "undecided"
    assert held.state()["state"] == "onHold"
    assert manager.decide("give", purpose="statistics")["consent"] == "given"
    assert held.state()["state"] == "operating"


@pytest.mark.parametrize("text, code", [
    (b"nonsense", "invalidMessage"), (b'{"command":"grant"}', "unknownCommand"),
    (b'{"command":"give","purpose":"spam"}', "invalidArgument"),
    (b'{"command":"give","valid":1}', "invalidArgument"), (b'{"command":"pause"}', "conflict"),
    (b'{"command":"receipt"}', "invalidArgument"),
])
def test_bad_requests_are_answered_and_decide_nothing(held, managers, text, code):
    manager = managers(held)
    reply = manager.ask_raw(text)
    assert reply["ok"] is False and reply["error"]["code"] == code, reply
    assert manager.ask_raw(b"{}", b"{}")["error"]["code"] == "invalidMessage"
    assert manager.ask("show")["consent"] == "undecided"


def test_the_store_outlives_it_and_tampering_is_refused(held, managers):
    manager = managers(held, "--subject", "device-7")
    given = manager.decide("give", method="form")
    assert manager.stop() == 0
    manager.start()
    shown = manager.ask("show")
    assert (shown["consent"], shown["verified"]) == ("given", 1)
    receipt = manager.ask("receipt")["receipt"]
    assert receipt == given["receipts"][0] and receipt["subject"] == "device-7"
    assert manager.stop() == 0
    import sqlite3
    with sqlite3.connect(manager.store) as database:
        database.execute("UPDATE decisions SET receipt = replace(receipt, 'form', 'oral')")
    database.close()
    manager.start()
    assert manager.ended() == 1
    assert "decision 1 is not what its hash says" in manager.log.read_text()


def test_a_second_one_takes_over_its_name(held, managers):
    first = managers(held)
    first.decide("deny")
    wait_until(lambda: held.ok("plugins")["plugins"], "it to attach")
    other = ConsentManager.__new__(ConsentManager)
    other.__dict__ = {**first.__dict__, "store": held.base / "other.sqlite", "address": f"tcp://127.0.0.1:{free_port()}"}
    other.start()
    try:
        assert first.ended() == 0
    finally:
        other.close()


def test_the_command_line(held, managers):
    manager = managers(held)
    assert manager.ask("show")["ok"]

    def consent(*arguments):
        return run_command(held, "consent", *arguments, "--consent", manager.address)

    given = consent("give", "--method", "form", "--valid-for", "1d")
    assert given.returncode == 0, given.stderr
    assert given.stdout == "consent given (decision 1), the gate is operating\n"
    shown = consent("show")
    assert "1 decision, all linked" in shown.stdout and "events" in shown.stdout
    receipt = json.loads(consent("receipt", "1").stdout)
    assert receipt["method"] == "form" and receipt["expires"]
    assert consent("deny").returncode == 1
    assert consent("grant").returncode == 2 and "give" in consent("grant").stderr
    assert json.loads(consent("withdraw", "--json").stdout)["consent"] == "withdrawn"
    absent = run_command(None, "consent", "show", "--consent", "tcp://127.0.0.1:1", "--timeout", "200ms")
    assert absent.returncode == 3 and "consent-manager" in absent.stderr and "--control" not in absent.stderr


def test_the_life_of_a_consent_where_the_host_starts_its_manager(hosts, tmp_path):
    """The new launch replaces the host in place, and its manager with it: what was decided is carried out all the same."""
    folder = tmp_path / "plugins" / "consent-manager"
    folder.mkdir(parents=True)
    (folder / "plugin.json").write_text(json.dumps({
        "name": "consent-manager", "version": "1", "command": "consent-manager", "arguments": ["--when-configured"],
        "environment": {"CONSENT_STORE": str(tmp_path / "consent.sqlite")}, "may": ["command"]}))
    address = f"tcp://127.0.0.1:{free_port()}"
    host = hosts("--holding", "--plugins", str(folder.parent), ports={name: free_port() for name in ENDPOINTS},
                 consent=address)

    def decide(verb):
        done = run_command(host, "consent", verb, "--json", "--timeout", "15s", consent=address)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    assert decide("give")["consent"] == "given"
    wait_until(lambda: host.state()["state"] == "operating", "the gate")
    host.accept([event(1)])
    assert decide("pause")["applied"] and not host.state()["isOperating"]
    assert decide("withdraw")["consent"] == "withdrawn"
    wait_until(lambda: host.state()["state"] == "killed", "the kill")
    decide("give")

    def anew():
        # What a host that is being replaced has not read is lost with it: the command asks again.
        done = run_command(host, "state", "--json", "--timeout", "15s")
        assert done.returncode == 0, done.stderr
        state = json.loads(done.stdout)
        return state["launch"] != host.launch and state["state"] == "operating"

    wait_until(anew, "the new launch")
    shown = decide("show")
    assert shown["verified"] == 4 and shown["consent"] == "given" and shown["applied"]
    assert sorted(path.name for path in folder.iterdir()) == ["plugin.json"], "its store lies where it was told"


def test_how_soon_the_first_event_arrives(held, managers, record_property):
    collector = held.collector()
    manager = managers(held)
    wait_until(lambda: manager.ask("show")["applied"], "the host to be known")
    held.accept([event(1)])
    begun = time.perf_counter()
    with context.socket(zmq.REQ) as socket:
        socket.linger = 0
        socket.connect(manager.address)
        socket.send_json({"command": "give"})
        collector.take(1)
        ms = 1000 * (time.perf_counter() - begun)
        assert receive_json(socket)["applied"]
    record_property("ms", ms)
    print(f"from `consent give` to the first event: {ms:.1f} ms")
