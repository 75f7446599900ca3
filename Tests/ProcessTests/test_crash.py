"""kill -9 and SIGTERM at random moments under load, HOLDGATE_TEST_ROUNDS times (50).

The seed is printed with a failure; HOLDGATE_TEST_SEED replays its choices (not the machine's timing).
"""

import json
import os
import random
import signal
import threading
import uuid

import pytest
import zmq

import checker
import holdgate
from holdgate import PATIENCE, error_code, event, lines, wait_until

ROUNDS = int(os.environ.get("HOLDGATE_TEST_ROUNDS", "50"))
BATCH = 25
AFTER = {"holdOperation": "onHold", "startOperation": "operating"}


@pytest.fixture
def chance():
    seed = int(os.environ.get("HOLDGATE_TEST_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"HOLDGATE_TEST_SEED={seed}")
    return random.Random(seed)


class Load(threading.Thread):
    """A producer that sends batch after batch, each again on a fresh socket until it is answered.

    Stops at the first answer that isn't `ok` and isn't to be retried: `refused`.
    """

    def __init__(self, host):
        super().__init__(daemon=True)
        self.host = host
        self.acknowledged = 0
        self.refused = None
        self.broken = None
        self.over = threading.Event()
        self.progress = threading.Condition()

    def run(self):
        try:
            self.send_batches()
        except Exception as error:            # told by `wait_for`, on the test's thread
            self.broken = error
        with self.progress:
            self.over.set()
            self.progress.notify_all()

    def send_batches(self):
        run, batch = uuid.uuid4().hex, 0
        while not self.over.is_set():
            batch += 1
            header = json.dumps({"id": batch, "producer": "load", "run": run, "batch": batch}).encode()
            block = lines([event(number) for number in range(BATCH * (batch - 1), BATCH * batch)])
            reply = self.answer(header, block)
            if reply is None:
                return
            if not reply["ok"]:
                self.refused = reply
                return
            with self.progress:
                self.acknowledged = BATCH * batch
                self.progress.notify_all()

    def answer(self, header, block):
        """The batch's first answer that settles it; None once the test is over."""
        while not self.over.is_set():
            with self.host.socket(zmq.REQ, "ingest", reconnect_ivl=10) as socket:
                socket.send_multipart([header, block])
                if socket.poll(1_000):
                    reply = socket.recv_json()
                    if reply["ok"] or not reply["error"]["retryable"]:
                        return reply
        return None

    def wait_for(self, events):
        """Waits until this many more events are acknowledged."""
        with self.progress:
            goal = self.acknowledged + events
            self.progress.wait_for(lambda: self.acknowledged >= goal or self.over.is_set(), PATIENCE)
            assert self.broken is None, self.broken
            assert self.acknowledged >= goal, f"the load stands still: {self.refused}"

    def stop(self):
        self.over.set()
        self.join(PATIENCE)
        assert self.broken is None, self.broken


def send_and_forget(host, command):
    """A command that is under way when its socket closes: the host may read it or not."""
    with host.socket(zmq.DEALER, "control") as socket:
        socket.linger = 50
        socket.send(json.dumps({"command": command}).encode())


def end(host, chance):
    """Ends the host one way or the other."""
    if chance.random() < 0.75:
        host.kill9()
    else:
        assert host.stop() == 0


def test_every_acknowledged_event_arrives_exactly_once_and_the_gate_stays_where_it_was(
        hosts, file_collectors, chance):
    host = hosts("--operating", ports=holdgate.free_ports())
    collector = file_collectors(host)
    wait_until(lambda: host.ok("plugins")["plugins"], "file-collector to attach")
    load = Load(host)
    load.start()
    state = "operating"
    for number in range(ROUNDS):
        load.wait_for(BATCH * chance.randint(1, 8))
        possible = {state}
        if chance.random() < 0.6:
            command = chance.choice(["holdOperation", "startOperation"])
            if chance.random() < 0.7:
                host.ok(command)
                possible = {AFTER[command]}
            else:
                send_and_forget(host, command)
                possible.add(AFTER[command])
        if chance.random() < 0.2:
            collector.kill9()
            collector.start()
        end(host, chance)
        state = host.start()["state"]
        state = "onHold" if state == "holdRequested" else state        # a drain goes on: it counts as closed
        assert state in possible, f"round {number}"
    load.wait_for(BATCH)
    load.stop()
    host.ok("startOperation")
    collector.wait_for(load.acknowledged)
    host.ok("holdOperation", waitMs=15_000)
    ids = [json.loads(line)["id"] for line in collector.lines()]
    assert len(set(ids)) == len(ids), "an event twice"
    assert ids == [f"e{number}" for number in range(len(ids))], "an event is missing or out of order"
    assert load.acknowledged <= len(ids) <= load.acknowledged + BATCH
    assert checker.check(collector.files, host.history_files()) == len(ids)


def test_killed_comes_back_killed_and_empty(hosts, chance):
    marker = b"MARKER-5d2e"
    for number in range(max(3, ROUNDS // 10)):
        host = hosts("--operating", ports=holdgate.free_ports())
        host.collector().close()
        host.accept([event(n, data=marker.decode()) for n in range(1_000)])
        load = Load(host)
        load.start()
        load.wait_for(BATCH)
        answered = chance.random() < 0.5
        if answered:
            host.ok("kill")
        else:
            send_and_forget(host, "kill")
        host.signal(signal.SIGKILL)
        host.ended()
        state = host.start("--operating")["state"]
        assert state == "killed" or not answered, f"round {number}: {state}"
        if state == "killed":
            assert host.bytes_on_disk(marker) == 0, f"round {number}"
            assert error_code(host.ingest([event(1)])) == "notOperating"
        load.stop()
        host.close()


def test_a_hold_that_was_answered_is_never_undone(hosts, chance):
    host = hosts("--holding", ports=holdgate.free_ports())
    collector = host.collector()
    stream = host.sub("event.", "state").joined()
    for number in range(max(3, ROUNDS // 10)):
        host.accept([event(number)])
        end(host, chance)
        assert host.start("--operating")["state"] == "onHold"
        collector.close()
        collector = host.collector()
        collector.nothing()
    assert not [each for each in stream.rest() if each.topic.startswith("event.")]
    host.ok("startOperation")
    assert len(collector.take(number + 1)) == number + 1
