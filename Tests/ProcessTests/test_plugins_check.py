"""`holdgate plugins check`: a scorecard that passes good plugins, and names what a bad one breaks."""

import json
import subprocess
import sys
import tempfile

import pytest

from holdgate import BIN, PATIENCE, ROOT, environment, event, run_command

# A collector and provider in plain pyzmq that keeps every promise, but for the fault that it is told.
PLUGIN = r'''
import json, os, signal, sys, time
import zmq
fault = sys.argv[1]
if fault == "crashes at once":
    sys.exit(3)
if fault == "silent":
    time.sleep(600)
ended = []
signal.signal(signal.SIGTERM, signal.SIG_IGN if fault == "ignores SIGTERM" else lambda *_: ended.append(1))
context = zmq.Context()
opened = 0
def connect():
    global opened, heard, sent
    opened += 1
    socket = context.socket(zmq.DEALER)
    socket.linger = 0
    if fault == "routing id":
        socket.routing_id = b"mine"
    socket.connect(os.environ["HOLDGATE_PLUGIN"])
    heard = sent = time.monotonic()
    hello(socket)
    return socket
def send(socket, **message):
    global sent
    sent = time.monotonic()
    socket.send_json(message)
def hello(socket):
    name = 5 if fault == "bad hello" else "checked"
    send(socket, type="hello", v=1, name=name, version="1", services=["one.get", "two.get"],
         collect={"types": ["demo.*"], "windowBytes": 65536, "durable": True})
socket = connect()
beat, last, acked = 1.0, 0, 0
while not ended:
    if fault == "floods":
        socket.send(b"{", zmq.DONTWAIT) if socket.poll(0, zmq.POLLOUT) else None
        if last:
            continue
    if not socket.poll(0 if fault == "floods" else 50):
        now = time.monotonic()
        if now - heard > 3 * beat and not (fault == "gives up the host" and opened == 1):
            socket.close()
            socket = connect()
        elif now - sent >= beat and fault != "no heartbeats":
            send(socket, type="heartbeat")
        continue
    first, *blocks = socket.recv_multipart()
    heard = time.monotonic()
    message = json.loads(first)
    kind = message["type"]
    if fault == "strict members" and "later" in message:
        sys.exit(4)
    if fault == "garbage at a hold" and kind == "state" and message["state"] == "holdRequested":
        socket.send(b'{"type":"ack"}')
    if kind == "welcome":
        beat = message["heartbeatMs"] / 1000
        acked = 0
    elif kind == "deliver":
        last = message["ranges"][-1][0] + message["ranges"][-1][1] - 1
        count = sum(len(block.splitlines()) for block in blocks)
        assert count == sum(row[1] for row in message["ranges"])
        if fault == "never acks" or fault == "drops redelivered" and message["redelivered"]:
            continue
        if fault == "small window" and count == 16:
            continue
        if fault == "acks ahead":
            send(socket, type="ack", through=last + 5)
        if fault == "acks backwards" and acked > 3:
            send(socket, type="ack", through=last)
            last = 1
        send(socket, type="ack", through=last)
        acked = last
    elif kind == "request":
        send(socket, type="result", id=message["id"], value=None)
        if fault == "answers twice":
            send(socket, type="result", id=message["id"], value=None)
    elif kind == "hello?":
        if fault != "ignores hello?":
            hello(socket)
    elif kind == "state":
        if fault == "ends at a hold" and message["state"] == "holdRequested":
            sys.exit(0)
        if fault == "ends at a kill" and message["state"] == "killed":
            sys.exit(1)
    elif kind == "goodbye":
        if fault == "crashes at goodbye":
            os.kill(os.getpid(), signal.SIGSEGV)
        if fault == "ends at goodbye":
            sys.exit(0)
        socket.close()
        socket = connect()
    elif kind == "refused":
        sys.exit(1 if fault == "fails when superseded" else 0)
    elif kind not in ("heartbeat", "app", "error"):
        if fault == "strict types":
            sys.exit(5)
'''

# What each fault breaks.
FAULTS = {
    "none": [],
    "ends at goodbye": [],
    "crashes at once": ["hello"],
    "silent": ["hello"],
    "bad hello": ["hello"],
    "routing id": ["hello"],
    "no heartbeats": ["heartbeats"],
    "strict members": ["unknownMembers"],
    "strict types": ["unknownTypes"],
    "answers twice": ["requests"],
    "ends at a hold": ["hold"],
    "ends at a kill": ["kill"],
    "crashes at goodbye": ["goodbye"],
    "fails when superseded": ["superseded"],
    "ignores SIGTERM": ["stop"],
    "acks ahead": ["cumulativeAcks"],
    "acks backwards": ["cumulativeAcks"],
    "drops redelivered": ["hostRestart"],
    "never acks": ["acknowledges", "cumulativeAcks"],
    "ignores hello?": ["helloAgain", "redelivery"],
    "small window": ["window"],
    "gives up the host": ["hostRestart", "redelivery", "goodbye", "kill"],
    "garbage at a hold": ["hold"],
    "floods": ["heartbeats", "unknownMembers", "acknowledges"],
}


# The roles that each bundled plugin and example must be seen in, and its arguments.
BUNDLED = {
    "file-collector": ({"attach", "collect"}, ["--dir", "{folder}/events"]),
    "state-logger": ({"subscribe"}, []),
    "consent-manager": ({"attach"}, ["--store", "{folder}/consent", "--bind", "ipc://{folder}/consent.ipc"]),
    "engagement": ({"attach", "serve"}, ["--store", "{folder}/engagement"]),
    "geofence": ({"attach", "collect"}, ["--dir", "{folder}/geofence"]),
    "session": ({"attach"}, []),
    "collector.py": ({"attach", "collect"}, ["{folder}/collected"]),
    "state_logger.py": ({"subscribe"}, []),
}


def start(*command):
    return subprocess.Popen(
        [str(BIN / "holdgate"), "plugins", "check", "--json", "--timeout", "4s", "--", *command],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())


@pytest.fixture(scope="module")
def checks():
    """All checks at once, as they mostly wait: {what: (exit status, scorecard)}."""
    base = ROOT / ".build/process-tests"
    base.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=base) as folder:
        script = f"{folder}/plugin.py"
        with open(script, "w") as file:
            file.write(PLUGIN)
        running = {fault: start(sys.executable, script, fault) for fault in FAULTS}
        for name, (_, arguments) in BUNDLED.items():
            program = [sys.executable, str(ROOT / "plugins/examples" / name)] if name.endswith(".py") else [name]
            running[name] = start(*program, *(argument.format(folder=folder) for argument in arguments))
        try:
            results = {}
            for what, process in running.items():
                out, err = process.communicate(timeout=120)
                assert out, f"{what}: {err.decode()}"
                results[what] = (process.returncode, json.loads(out))
            yield results
        finally:
            for process in running.values():
                process.kill()


def broken(card):
    return [row["promise"] for row in card["promises"] if row["verdict"] == "broken"]


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_plugins_and_examples_keep_all_promises(checks, name):
    status, card = checks[name]
    assert (status, card["ok"], broken(card)) == (0, True, []), card
    assert BUNDLED[name][0] <= set(card["roles"])
    assert len(card["promises"]) == 16


def test_a_good_plugin_in_another_language_keeps_every_one(checks):
    status, card = checks["none"]
    assert status == 0 and {row["verdict"] for row in card["promises"]} == {"kept"}, card
    assert card["name"] == "checked" and card["roles"] == ["attach", "collect", "serve"]


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if FAULTS[fault]])
def test_each_fault_is_found(checks, fault):
    status, card = checks[fault]
    assert status == 1 and card["ok"] is False
    assert set(FAULTS[fault]) & set(broken(card)), (fault, card)
    assert all(row["detail"] for row in card["promises"] if row["verdict"] == "broken")


@pytest.mark.parametrize("fault", ["ends at goodbye", "no heartbeats", "answers twice", "fails when superseded",
                                   "ignores SIGTERM", "crashes at goodbye", "ends at a hold", "strict types",
                                   "garbage at a hold", "small window"])
def test_a_fault_spoils_no_other_promise(checks, fault):
    assert broken(checks[fault][1]) == FAULTS[fault], checks[fault][1]


def test_a_program_that_does_its_work_and_ends_breaks_no_promise(tmp_path):
    for name in ("producer", "consent_switch"):
        source = ROOT / "plugins/examples" / f"{name}.c"
        subprocess.run(["cc", "-o", str(tmp_path / name), str(source), "-lzmq"], check=True, timeout=3 * PATIENCE)
    events = tmp_path / "events.ndjson"
    events.write_text(json.dumps(event(1)) + "\n")
    produces = ["sh", "-c", f"exec {tmp_path}/producer web < {events}"]
    for command, role in ((produces, "publish"), ([f"{tmp_path}/consent_switch", "give"], "command")):
        done = run_command(None, "plugins", "check", "--json", "--timeout", "4s", "--", *command)
        card = json.loads(done.stdout)
        assert (done.returncode, card["roles"], broken(card)) == (0, [role], []), card
    # One that fails at its work does break one.
    failing = ["sh", "-c", f"{tmp_path}/consent_switch give; exit 1"]
    card = json.loads(run_command(None, "plugins", "check", "--json", "--timeout", "4s", "--", *failing).stdout)
    assert broken(card) == ["hello"]


def test_wrong_usage():
    assert run_command(None, "plugins", "check").returncode == 2
    missing = run_command(None, "plugins", "check", "--", "no-such-program")
    assert missing.returncode == 2 and "no program no-such-program" in missing.stderr


def test_the_text_names_what_is_broken_and_the_plugins_last_words():
    done = run_command(None, "plugins", "check", "--timeout", "1s", "--", "sh", "-c", "echo I can not; exit 3")
    assert done.returncode == 1
    assert "BROKEN  says a hello that can be read: it ended with exit status 3" in done.stdout
    assert "  I can not\n" in done.stdout and "1 broken" in done.stdout
