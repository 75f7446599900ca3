"""The real host and its peers, driven from outside: what the tests in this directory share.

A test starts a `Host` through the fixture `hosts`, talks to it with plain sockets, and waits on what arrives. Nothing
here sleeps for luck: every wait is for a message, a line or an exit, and gives up after PATIENCE seconds, about
ten times what a slow machine needs.
"""

import json
import os
import pathlib
import re
import select
import shutil
import signal
import socket as tcp
import subprocess
import tempfile
import time
import uuid

import zmq

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("HOLDGATE_BIN", ROOT / ".build/release"))
PATIENCE = 20.0
ENDPOINTS = ("control", "stream", "ingest", "plugin")
NEVER_SENT = 1 << 52

context = zmq.Context()


def environment(**keys):
    """The environment with no HOLDGATE_ variable but those of `keys` (drainTimeoutMs: HOLDGATE_DRAIN_TIMEOUT_MS)."""
    result = {name: value for name, value in os.environ.items() if not name.startswith("HOLDGATE_")}
    for name, value in keys.items():
        snake = re.sub(r"([A-Z])", r"_\1", name).upper()
        result["HOLDGATE_" + snake] = value if isinstance(value, str) else json.dumps(value)
    return result


def event(number, type="demo.test", **members):
    """A CloudEvents event."""
    return {"specversion": "1.0", "id": f"e{number}", "source": "/tests", "type": type, **members}


def events(first, count, type="demo.test", **members):
    return [event(number, type, **members) for number in range(first, first + count)]


def lines(batch):
    return "\n".join(json.dumps(each) for each in batch).encode()


def numbers(ranges):
    """[[first, count], …] → every seq in it."""
    return [seq for first, count, *_ in ranges for seq in range(first, first + count)]


def wait_until(condition, what):
    """Asks again and again, for conditions that come with no message of their own."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"gave up waiting for {what}"
        select.select([], [], [], 0.01)


class NoReady(Exception):
    """The host ended instead of becoming ready."""

    def __init__(self, status, stderr):
        super().__init__(f"the host ended with status {status}:\n{stderr}")
        self.status = status
        self.stderr = stderr


class Host:
    """One host process at a time over one state directory.

    `keys` are configuration keys, named as in the configuration file.
    """

    def __init__(self, *flags, directory=None, ports=None, **keys):
        base = ROOT / ".build/process-tests"
        base.mkdir(parents=True, exist_ok=True)
        self.base = pathlib.Path(directory or tempfile.mkdtemp(dir=base))
        self.base.mkdir(exist_ok=True)
        self.dir = self.base / "state"
        self.stderr_path = self.base / "stderr.log"
        self.keys = keys
        self.ports = ports
        self.process = None
        self.sockets = []
        self.start(*flags)

    # -- the process

    def start(self, *flags):
        """Starts the host and reads its ready line. Raises NoReady when it ends instead."""
        assert self.process is None or self.process.poll() is not None
        command = [str(BIN / "holdgate"), "serve", "--state-dir", str(self.dir)]
        for endpoint in ENDPOINTS:
            port = self.ports[endpoint] if self.ports else 0
            command += [f"--{endpoint}", f"tcp://127.0.0.1:{port}"]
        with open(self.stderr_path, "ab") as stderr:
            self.process = subprocess.Popen(
                command + list(flags), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr,
                env=environment(**self.keys))
        readable, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        line = self.process.stdout.readline() if readable else b""
        if not line:
            if not readable:
                self.process.kill()
            raise NoReady(self.process.wait(PATIENCE), self.stderr())
        self.ready = json.loads(line)
        self.launch = self.ready["launch"]
        return self.ready

    def signal(self, number):
        os.kill(self.process.pid, number)

    def kill9(self):
        self.signal(signal.SIGKILL)
        assert self.process.wait(PATIENCE) == -signal.SIGKILL
        self.process.stdout.close()

    def stop(self):
        """SIGTERM; returns the exit status."""
        self.signal(signal.SIGTERM)
        return self.ended()

    def ended(self):
        """Waits for the host to end by itself; returns the exit status."""
        status = self.process.wait(PATIENCE)
        self.process.stdout.close()
        return status

    def restart(self, *flags, hard=False):
        self.kill9() if hard else self.stop()
        return self.start(*flags)

    def close(self):
        """Ends the process, checks that it had not trapped, and removes its files."""
        status = self.process.poll()
        if status is None:
            self.kill9()
        for socket in self.sockets:
            socket.close()
        log = self.stderr()
        shutil.rmtree(self.base, ignore_errors=True)
        trapped = (-signal.SIGILL, -signal.SIGTRAP, -signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS, -signal.SIGFPE)
        assert status not in trapped, f"the host trapped ({status}):\n{log}"

    def stderr(self):
        return self.stderr_path.read_text(errors="replace") if self.stderr_path.exists() else ""

    def history_files(self):
        return sorted(path for path in self.dir.rglob("*history*") if path.is_file())

    def bytes_on_disk(self, marker):
        """How many files of the state directory contain `marker`."""
        return sum(marker in path.read_bytes() for path in self.dir.rglob("*") if path.is_file())

    # -- sockets

    def address(self, endpoint):
        return self.ready["endpoints"][endpoint][0]

    def port(self, endpoint):
        return int(self.address(endpoint).rsplit(":", 1)[1])

    def socket(self, kind, endpoint, **options):
        """A connected socket; `options` are socket options by name (`req_correlate=1`).

        It stays open with the host, whether or not the test keeps a name for it.
        """
        result = context.socket(kind)
        self.sockets.append(result)
        result.linger = 0
        for name, value in options.items():
            result.setsockopt(getattr(zmq, name.upper()), value)
        result.connect(self.address(endpoint))
        return result

    def ask(self, endpoint, *frames):
        """Sends the frames over a fresh REQ and returns the reply as a value."""
        with self.socket(zmq.REQ, endpoint) as socket:
            socket.send_multipart(frames)
            return receive_json(socket)

    # -- control

    def raw(self, text):
        """One control request as it stands; returns the reply."""
        return self.ask("control", text if isinstance(text, bytes) else text.encode())

    def req(self, command, **members):
        """One control request; returns the reply."""
        return self.raw(json.dumps({"command": command, **members}))

    def ok(self, command, **members):
        """One control request that must succeed; returns the reply."""
        reply = self.req(command, **members)
        assert reply["ok"], reply
        return reply

    def error(self, command, **members):
        """One control request that must fail; returns the error's code."""
        return error_code(self.req(command, **members))

    def state(self):
        return self.ok("state")

    def records(self):
        """The whole history, through the command."""
        result = []
        while True:
            page = self.ok("history", after=result[-1]["n"] if result else 0, limit=1000)["records"]
            if not page:
                return result
            result += page

    # -- ingest

    def ingest(self, block, /, **header):
        """One ingest message of the events in `block`; returns the reply."""
        return self.ask("ingest", *([json.dumps(header).encode()] if header else []), lines(block))

    def accept(self, block, /, **header):
        """One ingest message that must succeed; returns the reply."""
        reply = self.ingest(block, **header)
        assert reply["ok"], reply
        return reply

    def ingest_raw(self, *frames):
        return self.ask("ingest", *[frame if isinstance(frame, bytes) else frame.encode() for frame in frames])

    # -- peers

    def sub(self, *topics):
        return Subscriber(self, *topics)

    def collector(self, name="collector", **collect):
        """An attached collector. `collect` as in a hello: types, windowBytes, durable."""
        result = Collector(self, name)
        result.hello(**collect)
        return result

    def provider(self, *services, name="provider"):
        """An attached provider of these services."""
        result = Provider(self, name, services)
        result.hello()
        return result

    def call(self, service, arguments=None, **members):
        """A callback request that is under way; `call.reply()` waits for its answer."""
        return Call(self, service, arguments, members)

    def slow_collector(self, name="slow", first=1, count=1):
        """An attached collector that has received `count` events, ingested here, and acknowledged none."""
        result = self.collector(name)
        self.accept(events(first, count))
        assert len(result.events(count)) == count
        return result


def receive(socket, patience=PATIENCE):
    assert socket.poll(int(patience * 1000)), "nothing arrived"
    return socket.recv_multipart()


def receive_json(socket):
    frames = receive(socket)
    assert len(frames) == 1, frames
    return json.loads(frames[0])


def error_code(reply):
    """The code of a well-formed error reply."""
    assert reply["ok"] is False, reply
    error = reply["error"]
    assert isinstance(error["message"], str) and error["message"], reply
    assert isinstance(error["retryable"], bool), reply
    return error["code"]


class Message:
    """One message of the stream."""

    def __init__(self, frames):
        topic, header, body = frames
        self.topic = topic.decode()
        self.header = json.loads(header)
        self.body = json.loads(body)
        self.seq = self.header["seq"]

    def __repr__(self):
        return f"{self.topic} {self.header} {self.body}"


class Subscriber:
    """A SUB socket.

    Each subscription to `state` brings a snapshot, after all that was published before it: that tells when a
    subscription is served, and when everything published so far has come.
    """

    def __init__(self, host, *topics):
        self.socket = host.socket(zmq.SUB, "stream")
        self.topics = topics
        for topic in topics:
            self.socket.subscribe(topic)

    def joined(self):
        """Waits until the subscriptions are served; returns self. What came until then is dropped."""
        self.rest()
        return self

    def rest(self):
        """What was published until now, the snapshot that shows so left out."""
        self.socket.subscribe("state")
        result = []
        while True:
            message = Message(receive(self.socket))
            if message.topic == "state" and message.body.get("snapshot"):
                return result
            if self.wanted(message):
                result.append(message)

    def wanted(self, message):
        return any(message.topic.startswith(topic) for topic in self.topics)

    def next(self):
        """The next message that was asked for; snapshots are left out."""
        while True:
            message = Message(receive(self.socket))
            if self.wanted(message) and not message.body.get("snapshot"):
                return message

    def until(self, topic, **body):
        """The first message on `topic` whose body has these members."""
        deadline = time.monotonic() + PATIENCE
        while True:
            message = Message(receive(self.socket, max(0.0, deadline - time.monotonic())))
            if message.topic == topic and all(message.body.get(name) == value for name, value in body.items()):
                return message

    def close(self):
        self.socket.close()


class Delivery:
    """One `deliver`: its header, and (seq, event) for each event."""

    def __init__(self, header, frames):
        self.header = header
        self.seqs = numbers(header["ranges"])
        block = b"".join(frame if frame.endswith(b"\n") else frame + b"\n" for frame in frames)
        self.lines = block.splitlines()
        assert len(self.lines) == len(self.seqs), (header, len(self.lines))
        assert sorted(numbers(header["under"])) == sorted(self.seqs), header
        self.events = [(seq, json.loads(line)) for seq, line in zip(self.seqs, self.lines)]


class Collector:
    """A collector over a plain DEALER."""

    def __init__(self, host, name="collector", **options):
        self.host = host
        self.name = name
        self.socket = host.socket(zmq.DEALER, "plugin", **options)
        self.deliveries = []

    def send(self, type, *frames, **members):
        self.socket.send_multipart([json.dumps({"type": type, **members}).encode(), *frames])

    def receive(self):
        """The next message but heartbeats and states: its first frame as a value, events as Delivery."""
        deadline = time.monotonic() + PATIENCE
        while True:
            # Heartbeats come for ever: they don't begin the wait anew.
            first, *frames = receive(self.socket, max(0.0, deadline - time.monotonic()))
            message = json.loads(first)
            if message["type"] == "deliver":
                message["delivery"] = Delivery(message, frames)
            if message["type"] not in ("heartbeat", "state"):
                return message

    def expect(self, type):
        """The next message, which must be of this type."""
        message = self.receive()
        assert message["type"] == type, message
        return message

    def say_hello(self, **collect):
        self.send("hello", v=1, name=self.name, version="1.0", collect=collect)

    def hello(self, **collect):
        """Attaches; keeps and returns the welcome."""
        self.say_hello(**collect)
        self.welcome = self.expect("welcome")
        return self.welcome

    def deliver(self):
        delivery = self.expect("deliver")["delivery"]
        self.deliveries.append(delivery)
        return delivery

    def events(self, count):
        """The next `count` events or more, as (seq, event); nothing is acknowledged."""
        result = []
        while len(result) < count:
            result += self.deliver().events
        return result

    def take(self, count):
        """The next `count` events or more, as (seq, event), each delivery acknowledged at once."""
        result = []
        while len(result) < count:
            result += self.deliver().events
            self.ack(result[-1][0])
        return result

    def ack(self, through, rejects=None):
        members = {"rejects": rejects} if rejects else {}
        self.send("ack", through=through, **members)

    def barrier(self):
        """Every message that the host had sent when it read this: it answers an impossible ack after them, in order."""
        self.ack(NEVER_SENT)
        result = []
        while True:
            message = self.receive()
            if message["type"] == "error":
                return result
            result.append(message)

    def nothing(self):
        """Asserts that nothing was handed over that has not been received yet."""
        self.host.ok("ping")
        assert self.barrier() == []

    def close(self):
        self.socket.close()


class Provider(Collector):
    """A provider of services over a plain DEALER."""

    def __init__(self, host, name, services):
        super().__init__(host, name)
        self.services = list(services)

    def say_hello(self):
        self.send("hello", v=1, name=self.name, version="1.0", services=self.services)

    def request(self):
        """The next request."""
        return self.expect("request")

    def answer(self, request, value):
        self.send("result", id=request["id"], value=value)

    def fail(self, request, **error):
        self.send("result", id=request["id"], error=error)


class Call:
    """One callback request over a socket of its own, not answered yet."""

    def __init__(self, host, service, arguments, members):
        self.socket = host.socket(zmq.REQ, "control")
        if arguments is not None:
            members["arguments"] = arguments
        self.socket.send_json({"command": "request", "service": service, **members})

    def reply(self):
        return receive_json(self.socket)

    def value(self):
        reply = self.reply()
        assert reply["ok"], reply
        return reply["value"]

    def error(self):
        """The code; `(code, retryable, outcome)` where the request may have been carried out."""
        reply = self.reply()
        code, error = error_code(reply), reply["error"]
        return (code, error["retryable"], error["outcome"]) if "outcome" in error else code

    def is_answered(self):
        return bool(self.socket.poll(0))


class Program:
    """A plugin's process; its output goes to a file."""

    process = None

    def run(self, command, log, **keys):
        with open(log, "ab") as output:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment(**keys))

    def kill9(self):
        self.process.kill()
        self.process.wait(PATIENCE)

    def stop(self):
        """SIGTERM; returns the exit status."""
        self.process.terminate()
        return self.process.wait(PATIENCE)

    def close(self):
        if self.process.poll() is None:
            self.kill9()


class FileCollector(Program):
    """The bundled plugin, as a process of its own."""

    def __init__(self, host, **keys):
        self.files = host.base / "events"
        self.files.mkdir(exist_ok=True)
        self.host = host
        self.keys = keys
        self.start()

    def start(self):
        command = [str(BIN / "file-collector"), "--plugin", self.host.address("plugin"), "--dir", str(self.files)]
        self.run(command, self.host.base / "file-collector.log", **self.keys)

    def lines(self):
        """Every whole line that is in the files, in order."""
        result = []
        for path in sorted(self.files.glob("events-*.ndjson")):
            data = path.read_bytes()
            result += data[:data.rfind(b"\n") + 1].splitlines()
        return result

    def wait_for(self, count):
        wait_until(lambda: len(self.lines()) >= count, f"{count} events in {self.files}")


def run_command(host, *arguments, stdin=None, **keys):
    """Runs a client command of the binary against `host`; returns the finished process."""
    endpoints = {name: host.address(name) for name in ENDPOINTS} if host else {}
    return subprocess.run(
        [str(BIN / "holdgate"), *arguments], input=stdin, capture_output=True, text=True, timeout=PATIENCE,
        env=environment(**{**endpoints, **keys}))


class Producer:
    """A producer with safe retries: run and batches."""

    def __init__(self, host, name="producer", run=None):
        self.host = host
        self.name = name
        self.run = run or uuid.uuid4().hex
        self.batch = 0

    def send(self, batch):
        """The next batch; returns the reply."""
        self.batch += 1
        return self.host.ingest(batch, producer=self.name, run=self.run, batch=self.batch)

    def again(self, batch):
        """The same batch number once more."""
        return self.host.ingest(batch, producer=self.name, run=self.run, batch=self.batch)


def free_ports():
    """Four ports below the ephemeral range, for hosts that come back where their peers look for them."""
    start, found = 12_000 + os.getpid() * 7 % 12_000, []
    for port in range(start, start + 2_000):
        with tcp.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.append(port)
        if len(found) == len(ENDPOINTS):
            return dict(zip(ENDPOINTS, found))
    raise RuntimeError("no free ports")
