"""Keys and roles, from outside: who is let in, what they may do, and what happens when that changes."""

import json
import os
import pathlib
import select
import signal
import socket as tcp
import subprocess
import sys
import tempfile
import threading

import pytest
import zmq
from zmq.utils.monitor import recv_monitor_message

import holdgate
from holdgate import PATIENCE, ROOT, event, lines, receive, receive_json, wait_until

ROLES = ("observe", "produce", "collect", "serve", "hold", "start", "revoke", "admin")

ARGUMENTS = {
    "configure": {"set": {"a": 1}}, "history": {"after": 0}, "forget": {"name": "nobody"}, "requeue": {"seqs": [1]},
    "request": {"service": "s", "arguments": {}}, "plugin": {"name": "p", "action": "start"},
    "appLifecycle": {"app": "a", "phase": "foreground"}, "deadLetters": {"after": 0},
}


class Keyring:
    """A state directory with authorised keys, and the pairs of those who have them."""

    def __init__(self, **roles):
        base = ROOT / ".build/process-tests"
        base.mkdir(parents=True, exist_ok=True)
        self.base = pathlib.Path(tempfile.mkdtemp(dir=base))
        self.state = self.base / "state"
        self.state.mkdir(mode=0o700)
        self.dir = self.state / "keys"
        self.dir.mkdir(mode=0o700)
        self.file = self.dir / "authorized_keys"
        public, secret = zmq.curve_keypair()
        self.host = public
        self.write(self.dir / "host.key", json.dumps(
            {"name": "host", "publicKey": public.decode(), "secretKey": secret.decode()}))
        self.pairs = {name: zmq.curve_keypair() for name in roles}
        self.authorize(**roles)

    @staticmethod
    def write(path, text, mode=0o600):
        new = path.with_name(path.name + ".new")
        new.write_text(text)
        new.chmod(mode)
        new.rename(path)

    def line(self, name, roles):
        return f"{name} {roles} {self.pairs[name][0].decode()}"

    def authorize(self, *more, **roles):
        """Writes the file anew: these names and no others."""
        self.write(self.file, "\n".join([*(self.line(*each) for each in roles.items()), *more]) + "\n")

    def options(self, name):
        """Socket options of a peer that has this name's key."""
        public, secret = self.pairs[name]
        return {"curve_serverkey": self.host, "curve_publickey": public, "curve_secretkey": secret}


class KeyedHost(holdgate.Host):
    """A host that asks for keys. Who asks is said with `by`."""

    def __init__(self, *flags, keys=None, by=None, **roles):
        self.keyring = keys or Keyring(**roles)
        self.by = by
        super().__init__(*flags, directory=self.keyring.base)

    def socket(self, kind, endpoint, by=None, **options):
        name = by or self.by
        return super().socket(kind, endpoint, **(self.keyring.options(name) if name else {}), **options)

    def asked(self, by, command, **members):
        with self.socket(zmq.REQ, "control", by) as socket:
            socket.send_json({"command": command, **members})
            return receive_json(socket)


@pytest.fixture
def keyed():
    """Makes hosts with keys, and ends them."""
    made = []

    def make(*flags, **roles):
        made.append(KeyedHost(*flags, **roles))
        return made[-1]

    yield make
    for host in made:
        host.close()


def forbidden(reply):
    return not reply["ok"] and reply["error"]["code"] == "forbidden"


def refused_at_the_door(host, kind, endpoint, **options):
    """Connects and waits until the handshake has failed; returns the kind of event."""
    socket = holdgate.context.socket(kind)
    monitor = socket.get_monitor_socket()
    socket.linger = 0
    for name, value in options.items():
        socket.setsockopt(getattr(zmq, name.upper()), value)
    socket.connect(host.address(endpoint))
    try:
        while True:
            assert monitor.poll(PATIENCE * 1000), "the handshake did not end"
            seen = recv_monitor_message(monitor)["event"]
            assert seen != zmq.EVENT_HANDSHAKE_SUCCEEDED
            if seen in (zmq.EVENT_HANDSHAKE_FAILED_AUTH, zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL,
                        zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL, zmq.EVENT_DISCONNECTED):
                return seen
    finally:
        socket.disable_monitor()
        socket.close()


KINDS = {"control": zmq.DEALER, "stream": zmq.SUB, "ingest": zmq.DEALER, "plugin": zmq.DEALER}


# -- the door

@pytest.mark.parametrize("endpoint", holdgate.ENDPOINTS)
def test_nobody_is_let_in_without_an_authorised_key_and_the_hosts(keyed, endpoint):
    host = keyed(admin="admin")
    kind = KINDS[endpoint]
    public, secret = zmq.curve_keypair()
    stranger = {"curve_serverkey": host.keyring.host, "curve_publickey": public, "curve_secretkey": secret}
    assert refused_at_the_door(host, kind, endpoint, **stranger) == zmq.EVENT_HANDSHAKE_FAILED_AUTH
    assert f"credentials=\"key {public.decode()}\"" in host.stderr() or public.decode() in host.stderr()
    refused_at_the_door(host, kind, endpoint)
    refused_at_the_door(host, kind, endpoint, plain_username=b"admin", plain_password=b"admin")
    other = {**host.keyring.options("admin"), "curve_serverkey": zmq.curve_keypair()[0]}
    refused_at_the_door(host, kind, endpoint, **other)
    assert host.asked("admin", "state")["access"] == "keys"


def hangs_up(host, endpoint, mechanism):
    """Greets as a peer of that mechanism does, and waits for the end."""
    with tcp.create_connection(("127.0.0.1", host.port(endpoint)), timeout=PATIENCE) as connection:
        connection.sendall(b"\xff" + bytes(8) + b"\x7f\x03\x00" + mechanism.ljust(20, b"\0") + bytes(32))
        try:
            while connection.recv(1 << 16):
                pass
        except ConnectionError:
            pass
        return True


@pytest.mark.parametrize("endpoint", holdgate.ENDPOINTS)
def test_no_other_mechanism_is_spoken(keyed, hosts, endpoint):
    host = keyed(admin="admin")
    assert all(hangs_up(host, endpoint, mechanism) for mechanism in (b"NULL", b"PLAIN", b"GSSAPI", b"NONE"))
    assert host.asked("admin", "ping")["ok"]
    open_host = hosts()
    assert all(hangs_up(open_host, endpoint, mechanism) for mechanism in (b"CURVE", b"PLAIN", b"GSSAPI", b"NONE"))
    assert open_host.ok("ping")


class Recorder:
    """Passes a connection on to the host, and keeps what the client sent."""

    def __init__(self, port):
        self.target = port
        self.listener = tcp.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.sent = b""
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        client, _ = self.listener.accept()
        host = tcp.create_connection(("127.0.0.1", self.target))
        with client, host:
            while True:
                for source in select.select([client, host], [], [], PATIENCE)[0]:
                    data = source.recv(65536)
                    if not data:
                        return
                    if source is client:
                        self.sent += data
                    (host if source is client else client).sendall(data)


def test_a_recorded_session_played_again_does_nothing(keyed):
    host = keyed("--operating", consent="hold,start", admin="admin,observe")
    recorder = Recorder(host.port("control"))
    with holdgate.context.socket(zmq.REQ) as socket:
        socket.linger = 0
        for name, value in host.keyring.options("consent").items():
            socket.setsockopt(getattr(zmq, name.upper()), value)
        socket.connect(f"tcp://127.0.0.1:{recorder.port}")
        socket.send_json({"command": "holdOperation"})
        assert receive_json(socket)["ok"]
    recorder.thread.join(PATIENCE)
    recorder.listener.close()
    assert len(recorder.sent) > 500 and b"holdOperation" not in recorder.sent
    assert host.asked("consent", "startOperation")["ok"]
    before = len(host_records(host))
    with tcp.create_connection(("127.0.0.1", host.port("control"))) as replay:
        replay.settimeout(PATIENCE)
        replay.sendall(recorder.sent)
        while replay.recv(65536):
            pass  # until the host hangs up
    assert len(host_records(host)) == before
    assert host.asked("admin", "state")["state"] == "operating"


def host_records(host, by="admin"):
    return host.asked(by, "history", after=0, limit=1000)["records"]


# -- roles

def table():
    """The rows of docs/security.md: {message: {role: whether it may}}."""
    text = (ROOT / "docs/security.md").read_text()
    rows = text.split("<!-- roles-table -->\n", 1)[1].split("\n\n", 1)[0].splitlines()
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert tuple(cells[0][1:]) == ROLES
    return {row[0]: dict(zip(ROLES, (cell == "yes" for cell in row[1:]))) for row in cells[2:]}


def test_the_whole_table_holds(keyed):
    host = keyed(**{role: role for role in ROLES})
    rows = {name[len("`control`: `"):-1]: may for name, may in table().items() if name.startswith("`control`")}
    assert len(rows) == len(host.asked("admin", "commands")["commands"])
    # What ends the launch comes last.
    for command in sorted(rows, key=lambda name: (name == "endLaunch", name == "kill")):
        for role in sorted(ROLES, key=lambda role: rows[command][role]):
            if command == "endLaunch" and rows[command][role]:
                continue
            reply = host.asked(role, command, **ARGUMENTS.get(command, {}))
            assert forbidden(reply) != rows[command][role], (command, role, reply)
    lifecycle = {"startOperation", "holdOperation", "kill", "initialize", "initializeWithHoldingOperations", "endLaunch"}
    refused = {(role, command) for command in lifecycle for role in ROLES if not rows[command][role]}

    def recorded():
        records = [record for record in host_records(host) if record["command"] == "forbidden"]
        assert all(record["count"] == 1 for record in records)
        return {(record["source"], record["forbidden"]) for record in records}

    # A refusal is answered at once, and is in the history soon.
    wait_until(lambda: len(recorded()) >= len(refused), "the refusals in the history")
    assert recorded() == refused
    assert host.asked("admin", "stats")["stats"]["forbidden"] == sum(
        not may for row in rows.values() for may in row.values())
    assert host.asked("revoke", "endLaunch")["ok"]
    assert host.ended() == 0


def test_events_need_the_role_the_name_and_the_type(keyed):
    host = keyed("--operating", shop="produce:cart.", web="produce", watcher="observe", store="collect")
    collector = holdgate.Collector(ByName(host, "store"), "store")
    collector.hello()

    def send(by, *types, **header):
        with host.socket(zmq.REQ, "ingest", by) as socket:
            block = lines([event(number, type) for number, type in enumerate(types)])
            socket.send_multipart([*([json.dumps(header).encode()] if header else []), block])
            return receive_json(socket)

    assert send("shop", "cart.add", "cart.pay", producer="shop/1", run="r", batch=1)["accepted"] == 2
    assert send("web", "anything")["accepted"] == 1
    assert forbidden(send("watcher", "cart.add"))
    refused = send("shop", "cart.add", "profile.read", producer="shop/1", run="r", batch=2)
    assert forbidden(refused) and refused["error"]["index"] == 1
    assert "profile.read" in refused["error"]["message"] and "produce:cart." in refused["error"]["message"]
    assert forbidden(send("shop", "cart.add", producer="web", run="r", batch=1))
    assert send("shop", "cart.add", producer="shop/1", run="r", batch=2)["accepted"] == 1
    assert [each["type"] for _, each in collector.events(4)] == ["cart.add", "cart.pay", "anything", "cart.add"]


class ByName:
    """A host for the helpers of `holdgate`, whose sockets have one name's key."""

    def __init__(self, host, name):
        self.host = host
        self.name = name

    def __getattr__(self, attribute):
        return getattr(self.host, attribute)

    def socket(self, kind, endpoint, **options):
        return self.host.socket(kind, endpoint, self.name, **options)


@pytest.mark.parametrize("hello, needs", [
    ({"collect": {"types": ["*"], "durable": True}}, "collect"), ({"services": ["s"]}, "serve"), ({}, "observe")])
def test_a_plugin_needs_its_role_and_its_own_name(keyed, hello, needs):
    host = keyed(plugin=needs, other=needs, nothing="hold")

    def greet(by, name):
        socket = host.socket(zmq.DEALER, "plugin", by)
        socket.send_json({"type": "hello", "v": 1, "name": name, "version": "1", **hello})
        return json.loads(receive(socket)[0])

    assert greet("nothing", "nothing")["error"]["code"] == "forbidden"
    assert greet("plugin", "plugin")["type"] == "welcome"
    assert greet("plugin", "plugin/2")["type"] == "welcome"
    assert greet("other", "plugin")["error"]["code"] == "forbidden"
    assert greet("other", "plugin/2")["error"]["code"] == "forbidden"


def test_a_subscription_hears_no_more_than_its_role_reaches(keyed):
    host = keyed("--operating", carts="observe:event.cart.,observe:state", all="observe", none="hold", web="produce")
    subs = {}
    for name, topics in {"carts": ["", "event.", "event.cart.", "state"], "all": [""], "none": ["state"]}.items():
        subs[name] = host.socket(zmq.SUB, "stream", name)
        for topic in topics:
            subs[name].subscribe(topic)
    # Each of those that are granted `state` is told it, which shows that what came before was taken in.
    for name in ("carts", "all"):
        while receive(subs[name])[0] != b"state":
            pass
    wait_until(lambda: "a subscription was not granted" in host.stderr() and "name=none" in host.stderr()
               or '"none"' in host.stderr(), "the refusal of a subscription in the log")
    with host.socket(zmq.REQ, "ingest", "web") as socket:
        block = lines([event(1, "cart"), event(2, "profile.read"), event(3, "cart.add"), event(4, "cart.end")])
        socket.send(block)
        assert receive_json(socket)["accepted"] == 4
    heard = {name: [] for name in subs}
    for name in ("carts", "all"):
        while b"event.cart.end" not in heard[name]:
            heard[name].append(receive(subs[name])[0])
    events = [topic for topic in heard["carts"] if topic.startswith(b"event.")]
    assert events == [b"event.cart.add", b"event.cart.end"]
    assert not [topic for topic in heard["carts"] if topic.startswith((b"heartbeat", b"drain", b"plugin"))]
    assert [topic for topic in heard["all"] if topic.startswith(b"event.")] == [
        b"event.cart", b"event.profile.read", b"event.cart.add", b"event.cart.end"]
    assert not subs["none"].poll(0)


def produce(host, by, type):
    with host.socket(zmq.REQ, "ingest", by) as socket:
        socket.send(lines([event(1, type)]))
        assert receive_json(socket)["accepted"] == 1


def heard(socket, topic):
    """Reads until a message of this topic."""
    while receive(socket)[0] != topic:
        pass


def refusals(host, count):
    """Waits until so many subscriptions were refused: what came before on those connections was taken in, too."""
    wait_until(lambda: host.asked("admin", "stats")["stats"]["forbidden"] >= count, "refused subscriptions")


def test_a_subscriber_that_leaves_takes_nothing_from_the_others(keyed):
    host = keyed("--operating", admin="admin", stays="observe", leaves="observe", none="hold", web="produce")
    stays = host.socket(zmq.SUB, "stream", "stays")
    stays.subscribe("event.")
    stays.subscribe("state")
    heard(stays, b"state")
    leaves = host.socket(zmq.SUB, "stream", "leaves")
    leaves.subscribe("event.")
    leaves.unsubscribe("event.")
    leaves.subscribe("state")
    heard(leaves, b"state")
    produce(host, "web", "one")
    heard(stays, b"event.one")
    # Nor does one that was never granted it.
    none = host.socket(zmq.SUB, "stream", "none")
    none.subscribe("event.")
    none.unsubscribe("event.")
    none.subscribe("state")
    refusals(host, 2)
    produce(host, "web", "two")
    heard(stays, b"event.two")


def test_a_grant_reaches_nobody_else(keyed):
    host = keyed("--operating", admin="admin", thief="hold", victim="observe", web="produce")
    thieves = [host.socket(zmq.XSUB, "stream", "thief") for _ in range(2)]
    for thief in thieves:
        thief.send(b"\x01state")
    refusals(host, 2)
    victim = host.socket(zmq.SUB, "stream", "victim")
    victim.subscribe("state")
    heard(victim, b"state")
    # What is no subscription, one that is granted, and others that are not wait together.
    host.signal(signal.SIGSTOP)
    for _ in range(300):
        thieves[0].send(b"\x02" + b"no subscription")
    victim.subscribe("event.")
    for number in range(600):
        thieves[1].send(b"\x01%d" % number)
    host.signal(signal.SIGCONT)
    wait_until(lambda: "shut out of stream" in host.stderr(), "word of it in the log")
    # Everybody else comes back, with its subscriptions.
    heard(victim, b"state")
    produce(host, "web", "secret")
    heard(victim, b"event.secret")
    wait_until(lambda: "not let in" in host.stderr(), "the thief at the door")
    assert not any(thief.poll(0) for thief in thieves)
    for thief in thieves:
        thief.close()
    # Until the keys are read again.
    before = host.asked("admin", "stats")["stats"]["forbidden"]
    assert host.asked("admin", "reload")["ok"]
    host.socket(zmq.SUB, "stream", "thief").subscribe("state")
    refusals(host, before + 1)


def test_the_source_is_what_the_key_proves(keyed):
    host = keyed(consent="hold,start", admin="admin")
    assert host.asked("consent", "startOperation", source="somebody else", reason="r")["ok"]
    record = host_records(host)[-1]
    assert (record["source"], record["reason"]) == ("consent", "r")


@pytest.mark.parametrize("endpoint", ["control", "ingest"])
def test_nobody_gets_a_reply_under_an_id_that_somebody_may_take(keyed, endpoint):
    host = keyed(admin="admin,produce")
    frame = b'{"command":"configuration"}' if endpoint == "control" else lines([event(1)])
    with host.socket(zmq.REQ, endpoint, "admin", routing_id=b"admin") as socket:
        socket.send(frame)
        reply = receive_json(socket)
        assert reply["error"]["code"] == "invalidArgument" and "routing id" in reply["error"]["message"]
    with host.socket(zmq.REQ, endpoint, "admin") as socket:
        socket.send(frame)
        assert receive_json(socket)["ok"]


# -- changes

def test_a_revoked_key_is_cut_off_and_nothing_is_lost(keyed):
    host = keyed("--operating", admin="admin", old="produce", web="produce", store="collect", watcher="observe")
    collector = holdgate.Collector(ByName(host, "store"), "store")
    collector.hello()
    revoked = host.socket(zmq.DEALER, "control", "old")
    revoked.send_json({"command": "state"})
    assert receive_json(revoked)["ok"]
    gone = revoked.get_monitor_socket()
    sub = host.socket(zmq.SUB, "stream", "watcher")
    sub.subscribe("state")
    receive(sub)
    send = Resending(host, "web")
    for batch in range(1, 11):
        send(batch)
    host.keyring.authorize(admin="admin", web="produce", store="collect", watcher="observe")
    reply = host.asked("admin", "reload")
    assert reply["ok"] and reply["keys"] == 4
    # It was cut, and is not let in again.
    seen = set()
    while zmq.EVENT_HANDSHAKE_FAILED_AUTH not in seen:
        assert gone.poll(PATIENCE * 1000)
        seen.add(recv_monitor_message(gone)["event"])
    assert zmq.EVENT_DISCONNECTED in seen
    revoked.disable_monitor()
    # The others come back by themselves, go on under the same names, and lack nothing.
    for batch in range(11, 21):
        send(batch)
    greet_again(collector)
    received = []
    while len(set(received)) < 20:
        received += [each["id"] for _, each in collector.events(1)]
    assert list(dict.fromkeys(received)) == [f"e{number}" for number in range(1, 21)]
    while not json.loads(receive(sub)[2]).get("snapshot"):
        pass


def test_what_a_revoked_key_sent_after_the_change_is_not_done():
    keys = Keyring(admin="admin,start,observe")
    old = zmq.curve_keypair()
    keys.authorize(f"admin admin,start,observe {old[0].decode()}", admin="admin,start,observe")
    host = KeyedHost(keys=keys)
    try:
        with holdgate.Host.socket(host, zmq.DEALER, "control", curve_serverkey=keys.host, curve_publickey=old[0],
                                  curve_secretkey=old[1]) as socket:
            socket.send_json({"command": "ping"})
            assert receive_json(socket)["ok"]
            # The name keeps its other key.
            keys.authorize(admin="admin,start,observe")
            host.signal(signal.SIGSTOP)
            socket.send_json({"command": "reload"})
            for _ in range(20):
                socket.send_json({"command": "startOperation"})
            host.signal(signal.SIGCONT)
            assert receive_json(socket)["ok"]
            assert host.asked("admin", "state")["state"] == "onHold"
            assert not [each for each in host_records(host) if each["command"] == "startOperation"]
    finally:
        host.close()


def greet_again(collector):
    """As a plugin does whose connection was cut: asked to, it says hello anew."""
    for _ in range(20):
        collector.send("heartbeat")
        while collector.socket.poll(1000):
            if json.loads(receive(collector.socket)[0])["type"] == "hello?":
                return collector.hello()
    raise AssertionError("nobody asked")


class Resending:
    """A producer that sends a batch of one event until it is answered, over a fresh socket each time."""

    def __init__(self, host, name):
        self.host = host
        self.name = name

    def __call__(self, batch):
        header = {"producer": self.name, "run": "r", "batch": batch}
        for _ in range(20):
            with self.host.socket(zmq.REQ, "ingest", self.name) as socket:
                socket.send_multipart([json.dumps(header).encode(), lines([event(batch)])])
                if socket.poll(1000):
                    assert receive_json(socket)["ok"]
                    return
        raise AssertionError("no answer")


def test_a_file_with_a_mistake_changes_nothing(keyed):
    host = keyed(admin="admin", watcher="observe")
    watcher = host.socket(zmq.DEALER, "control", "watcher")
    good = host.keyring.file.read_text()
    for bad, complaint in [
        (good + "web sell uid:1\n", "line 3: there is no role sell"),
        ("web produce\n" + good, "line 1: a line is NAME ROLES KEY"),
        (good + good, "line 3: "),
    ]:
        host.keyring.write(host.keyring.file, bad)
        reply = host.asked("admin", "reload")
        assert reply["error"]["code"] == "invalidArgument" and complaint in reply["error"]["message"], reply
        host.signal(signal.SIGHUP)
        wait_until(lambda: host.stderr().count(complaint) >= 2, "SIGHUP's complaint in the log")
        watcher.send_json({"command": "state"})
        assert receive_json(watcher)["ok"]
    host.keyring.write(host.keyring.file, good, mode=0o666)
    assert host.asked("admin", "reload")["error"]["code"] == "invalidArgument"


def test_sighup_lets_a_new_key_in_and_cuts_nobody(keyed):
    host = keyed(admin="admin")
    admin = host.socket(zmq.DEALER, "control", "admin")
    monitor = admin.get_monitor_socket(zmq.EVENT_DISCONNECTED)
    admin.send_json({"command": "ping"})
    assert receive_json(admin)["ok"]
    host.keyring.pairs["late"] = zmq.curve_keypair()
    host.keyring.authorize(admin="admin", late="observe")
    host.signal(signal.SIGHUP)
    # Refused until the host has read it, a client tries again by itself.
    assert host.asked("late", "state")["ok"]
    admin.send_json({"command": "ping"})
    assert receive_json(admin)["ok"]
    assert not monitor.poll(0)
    admin.disable_monitor()


# -- paths

def ask_as(uid, gid, path, request):
    """Asks over a path from a process of another user; its reply, or None if it was not let in."""
    script = (
        "import json, os, sys, zmq\n"
        f"os.setgroups([]); os.setgid({gid}); os.setuid({uid})\n"
        "socket = zmq.Context().socket(zmq.DEALER)\n"
        "socket.linger = 0\n"
        "monitor = socket.get_monitor_socket()\n"
        f"socket.connect('ipc://{path}')\n"
        f"socket.send(b'''{json.dumps(request)}''')\n"
        "from zmq.utils.monitor import recv_monitor_message\n"
        "poller = zmq.Poller()\n"
        "poller.register(socket, zmq.POLLIN); poller.register(monitor, zmq.POLLIN)\n"
        "while True:\n"
        f"    ready = dict(poller.poll({int(PATIENCE * 1000)}))\n"
        "    if socket in ready: print(socket.recv().decode()); break\n"
        "    if not ready: print('null'); break\n"
        "    seen = recv_monitor_message(monitor)['event']\n"
        "    if seen in (zmq.EVENT_HANDSHAKE_FAILED_AUTH, zmq.EVENT_CONNECT_RETRIED): print('null'); break\n")
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=3 * PATIENCE)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_on_a_path_the_user_is_the_key():
    keys = Keyring(admin="admin")
    keys.authorize("logs observe uid:12345", "staff hold gid:23456", admin="admin")
    directory = pathlib.Path(tempfile.mkdtemp(prefix="hg", dir="/tmp"))
    try:
        directory.chmod(0o700)
        path = directory / "control"
        host = KeyedHost("--control", f"ipc://{path}", keys=keys)
        try:
            # What keeps others from the path at all is not asked here.
            directory.chmod(0o711)
            path.chmod(0o777)
            state = {"command": "state"}
            assert ask_as(12345, 12345, path, state)["ok"]
            assert forbidden(ask_as(12345, 12345, path, {"command": "holdOperation"}))
            assert ask_as(999, 23456, path, {"command": "holdOperation"})["ok"]
            assert ask_as(999, 999, path, state) is None
            own = ask_as(os.geteuid(), os.getegid(), path, {"command": "startOperation", "source": "me"})
            assert own["ok"]
            assert host_records(host)[-1]["source"] == "me"
        finally:
            host.close()
    finally:
        for left in directory.iterdir():
            left.unlink()
        directory.rmdir()


# -- as it comes

@pytest.mark.parametrize("address", ["tcp://0.0.0.0:0", "tcp://*:0", "tcp://[::]:0"])
def test_an_open_address_needs_keys(hosts, address):
    with pytest.raises(holdgate.NoReady) as refused:
        hosts("--ingest", address)
    assert refused.value.status == 1
    assert address in refused.value.stderr and "--insecure" in refused.value.stderr
    assert "holdgate keys new" in refused.value.stderr


def test_insecure_is_said_wherever_one_looks(hosts):
    host = hosts("--insecure", "--ingest", "tcp://0.0.0.0:0")
    assert host.state()["access"] == "insecure"
    assert host.ok("stats")["stats"]["insecure"] == 1
    assert "insecure" in host.stderr()


def test_with_keys_any_address_may_be_bound(keyed):
    host = keyed("--ingest", "tcp://0.0.0.0:0", admin="admin")
    assert host.asked("admin", "state")["access"] == "keys"
    assert host.asked("admin", "stats")["stats"]["insecure"] == 0


def start_with(keys):
    with pytest.raises(holdgate.NoReady) as refused:
        KeyedHost(keys=keys, by="admin").close()
    return refused.value


@pytest.mark.parametrize("damage, complaint", [
    (lambda keys: keys.file.unlink(), "there are no authorised keys"),
    (lambda keys: (keys.dir / "host.key").unlink(), "host.key"),
    (lambda keys: (keys.dir / "host.key").chmod(0o644), "chmod 600"),
    (lambda keys: keys.file.chmod(0o622), "authorized_keys"),
    (lambda keys: keys.write(keys.file, "x\n"), "line 1: a line is NAME ROLES KEY"),
])
def test_a_host_whose_keys_are_not_in_order_does_not_start(damage, complaint):
    keys = Keyring(admin="admin")
    damage(keys)
    refused = start_with(keys)
    assert refused.status == 1 and complaint in refused.stderr


def test_insecure_and_keys_exclude_each_other():
    keys = Keyring(admin="admin")
    with pytest.raises(holdgate.NoReady) as refused:
        KeyedHost("--insecure", keys=keys).close()
    assert refused.value.status == 1 and "--insecure goes with no keys" in refused.value.stderr
