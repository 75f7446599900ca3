"""Keys as people use them: `holdgate keys`, and commands, plugins and examples that prove who they are."""

import json
import os
import pathlib
import re
import signal
import stat
import subprocess
import tempfile

import pytest

from holdgate import (BIN, ENDPOINTS, PATIENCE, ROOT, FileCollector, Program, environment, events, lines,
                      run_command, wait_until)

EXAMPLES = ROOT / "plugins/examples"
SOMEBODY = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"


class House:
    """A directory for a host and its clients' key files. Its keys are made by the command."""

    def __init__(self, hosts, path):
        self.hosts = hosts
        self.path = path
        self.state = path / "state"
        self.host = None

    def file(self, name):
        return self.path / f"{name}.key"

    def keys(self, *arguments, by=None, **keys):
        """`holdgate keys …` where the host runs, at that host once it does."""
        if by:
            keys["keyFile"] = str(self.file(by))
        return run_command(self.host, "keys", *map(str, arguments), stateDir=str(self.state), **keys)

    def new(self, name, roles, *arguments, by=None):
        """A new key, in its file; returns what the command has told."""
        process = self.keys("new", name, "--roles", roles, "--out", self.file(name), "--json", *arguments, by=by)
        assert process.returncode == 0, process
        return json.loads(process.stdout)

    def serve(self, *flags):
        self.host = self.hosts("--operating", *flags, directory=self.path)
        return self.host

    def run(self, *arguments, by=None, **keys):
        """A client command that proves who it is."""
        if by:
            keys["keyFile"] = str(self.file(by))
        return run_command(self.host, *map(str, arguments), **keys)

    def variables(self, by):
        """What a plugin or an example finds in its environment."""
        return {**{name: self.host.address(name) for name in ENDPOINTS}, "keyFile": str(self.file(by))}

    @property
    def authorized(self):
        return self.state / "keys/authorized_keys"


@pytest.fixture
def house(hosts):
    base = ROOT / ".build/process-tests"
    base.mkdir(parents=True, exist_ok=True)
    return House(hosts, pathlib.Path(tempfile.mkdtemp(dir=base)))


def mode(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


# -- making, listing and revoking, with no host

def test_a_new_key_is_its_owners_alone_and_is_authorised(house):
    told = house.new("shop", "produce:cart.,observe", "--comment", "the shop, at the front")
    key = json.loads(house.file("shop").read_text())
    assert set(key) == {"name", "publicKey", "secretKey", "hostKey"} and key["name"] == "shop"
    assert (told["key"], told["hostKey"], told["taken"]) == (key["publicKey"], key["hostKey"], False)
    assert house.authorized.read_text() == f"shop observe,produce:cart. {key['publicKey']} the shop, at the front\n"
    for path in (house.file("shop"), house.authorized, house.state / "keys/host.key"):
        assert mode(path) == 0o600, path
    assert mode(house.state / "keys") == mode(house.state) == 0o700
    host = json.loads((house.state / "keys/host.key").read_text())
    assert host["publicKey"] == key["hostKey"] == house.keys("host").stdout.strip()
    assert json.loads(house.keys("host", "--json").stdout)["hostKey"] == key["hostKey"]


def test_a_second_key_is_of_the_same_host_and_nothing_is_written_over(house):
    first = house.new("shop", "produce")
    before = house.authorized.read_text(), house.file("shop").read_text()
    again = house.keys("new", "shop", "--roles", "produce", "--out", house.file("shop"))
    assert again.returncode == 1 and "never written over" in again.stderr
    assert (house.authorized.read_text(), house.file("shop").read_text()) == before
    second = house.keys("new", "shop", "--roles", "produce", "--out", house.path / "new.key", "--json")
    assert json.loads(second.stdout)["hostKey"] == first["hostKey"]
    assert [line.split()[0] for line in house.authorized.read_text().splitlines()] == ["shop", "shop"]


def test_no_secret_is_ever_printed(house):
    printed = house.keys("new", "shop", "--roles", "produce", "--out", house.file("shop"))
    assert printed.returncode == 0 and "next start" in printed.stdout
    texts = [printed, *(house.keys(*each) for each in (["list"], ["list", "--json"], ["host"], ["revoke", "shop"]))]
    for path in (house.file("shop"), house.state / "keys/host.key"):
        secret = json.loads(path.read_text())["secretKey"]
        assert not any(secret in each.stdout + each.stderr for each in texts)


def test_a_key_that_is_elsewhere_and_a_user_make_no_secret(house):
    assert house.keys("new", "far", "--roles", "collect", "--public-key", SOMEBODY).returncode == 0
    assert house.keys("new", "logs", "--roles", "observe:state", "--uid", "1001").returncode == 0
    assert house.keys("new", "staff", "--roles", "hold", "--gid", "27", "--comment", "on call").returncode == 0
    assert sorted(each.name for each in house.path.iterdir()) == ["state"]
    rows = json.loads(house.keys("--json").stdout)["keys"]
    assert [(row["name"], row["roles"], row["key"], row["comment"]) for row in rows] == [
        ("far", "collect", SOMEBODY, ""), ("logs", "observe:state", "uid:1001", ""),
        ("staff", "hold", "gid:27", "on call")]
    head, *_, last = house.keys("list").stdout.splitlines()
    assert head.split() == ["NAME", "ROLES", "KEY", "COMMENT"] and last.split()[:3] == ["staff", "hold", "gid:27"]


def test_revoking_takes_out_the_lines_and_no_other(house):
    house.new("shop", "produce")
    house.new("logs", "observe")
    with open(house.authorized, "a") as file:
        file.write("# by hand\nshop produce uid:7\n")
    shop, logs, *rest = house.authorized.read_text().splitlines()
    assert house.keys("revoke", "--", logs.split()[2]).returncode == 0
    assert house.authorized.read_text().splitlines() == [shop, *rest]
    told = json.loads(house.keys("revoke", "shop", "--json").stdout)
    assert [row["name"] for row in told["revoked"]] == ["shop", "shop"]
    assert house.authorized.read_text() == "# by hand\n"
    assert house.keys("revoke", "shop").returncode == 1


@pytest.mark.parametrize("arguments", [
    ["new", "shop"], ["new", "--roles", "hold"], ["new", "a/b", "--roles", "hold"], ["new", "shop", "--roles", "sell"],
    ["new", "shop", "--roles", "hold:now"], ["new", "shop", "--roles", "hold", "--public-key", "short"],
    ["new", "shop", "--roles", "hold", "--uid", "me"], ["new", "shop", "--roles", "hold", "--uid", "1", "--gid", "1"],
    ["new", "shop", "--roles", "hold", "--uid", "1", "--out", "f"], ["revoke"], ["lend", "shop"],
    ["new", "shop", "--roles", "hold", "--comment", "two\nroot admin uid:0"]])
def test_wrong_usage_ends_with_2_and_makes_nothing(house, arguments):
    process = house.keys(*arguments)
    assert process.returncode == 2 and process.stderr
    assert list(house.path.iterdir()) == []


def test_what_would_spoil_the_file_is_refused(house):
    house.new("shop", "produce")
    before = house.authorized.read_text()
    for arguments in (["new", "shop", "--roles", "admin", "--uid", "1"], ["new", "x", "--roles", "produce:a b"]):
        assert house.keys(*arguments).returncode == 1, arguments
    with open(house.authorized, "a") as file:
        file.write("logs observe\n")
    for arguments in (["list"], ["new", "x", "--roles", "hold", "--uid", "1"], ["revoke", "shop"]):
        process = house.keys(*arguments)
        assert process.returncode == 1 and "line 2" in process.stderr, process
    assert house.authorized.read_text() == before + "logs observe\n"
    house.authorized.chmod(0o666)
    assert "chmod go-w" in house.keys("list").stderr
    assert json.loads(house.keys("list", "--json").stdout)["ok"] is False


# -- a running host

def test_a_running_host_takes_changes_in_when_an_admin_tells_it(house):
    house.new("admin", "admin")
    house.serve()
    assert house.new("shop", "produce", by="admin")["taken"] is True
    emitted = house.run("emit", "cart.filled", by="shop")
    assert emitted.returncode == 0, emitted
    assert "not told" not in house.keys("revoke", "shop", by="admin").stdout
    refused = house.run("emit", "cart.filled", "--timeout", "1s", by="shop")
    assert refused.returncode == 3 and "may not know the key of shop" in refused.stderr


def test_a_host_that_could_not_be_told_is_said_and_hears_sighup(house):
    house.new("admin", "admin")
    host = house.serve()
    house.new("shop", "produce")
    told = house.keys("new", "web", "--roles", "produce", "--uid", "1", "--timeout", "200ms")
    assert told.returncode == 0 and "was not told" in told.stdout and "SIGHUP" in told.stdout
    # A key that a running host goes on to let in is not revoked yet.
    untold = house.keys("revoke", "web", "--timeout", "200ms")
    assert untold.returncode == 1 and "was not told" in untold.stdout
    house.new("web", "produce")
    untold = house.keys("revoke", "web", "--timeout", "200ms", "--json")
    assert untold.returncode == 1 and json.loads(untold.stdout)["ok"] is False
    # The key that is wanting is one that the host will know.
    assert house.run("state", "--timeout", "200ms", by="shop").returncode == 3
    host.signal(signal.SIGHUP)
    wait_until(lambda: house.run("state", "--timeout", "1s", by="shop").returncode == 0, "the key to be known")


def test_where_no_key_was_made_yet_that_is_said(house):
    for words in (["revoke", "nobody"], ["host"]):
        refused = house.keys(*words)
        assert refused.returncode == 1 and "`holdgate keys new` makes" in refused.stderr


def test_flags_go_before_the_environment(house):
    house.new("admin", "admin")
    house.new("shop", "produce")
    house.serve()
    key = json.loads(house.file("shop").read_text())
    bare = house.path / "bare.key"
    bare.write_text(json.dumps({name: key[name] for name in ("name", "publicKey", "secretKey")}))
    bare.chmod(0o600)
    flags = ["--key", bare, "--host-key", key["hostKey"]]
    assert house.run("state", *flags, keyFile="/none", hostKey=SOMEBODY).returncode == 0
    assert house.run("state", keyFile=str(bare), hostKey=key["hostKey"]).returncode == 0
    wrong = house.run("state", "--timeout", "200ms", keyFile=str(house.file("shop")), hostKey=SOMEBODY)
    assert wrong.returncode == 3 and "another key than expected" in wrong.stderr
    none = house.run("state", "--timeout", "200ms")
    assert none.returncode == 3 and "may ask for a key" in none.stderr


def test_a_key_that_can_t_be_used_is_said_and_ends_with_2(house):
    house.new("shop", "produce")
    path = house.file("shop")
    alone = house.run("state", hostKey=SOMEBODY)
    assert alone.returncode == 2 and "HOLDGATE_KEY_FILE" in alone.stderr
    path.chmod(0o640)
    for command in (["state"], ["emit", "a"], ["watch"], ["history"]):
        process = house.run(*command, by="shop")
        assert process.returncode == 2 and f"chmod 600 {path}" in process.stderr, process
    for plugin in ("file-collector", "state-logger", "session", "geofence", "engagement", "consent-manager"):
        process = subprocess.run(
            [str(BIN / plugin), "--key", str(path)], cwd=house.path, capture_output=True, text=True, timeout=PATIENCE,
            env=environment())
        assert process.returncode == 2 and f"chmod 600 {path}" in process.stderr, process


# -- plugins and examples

def attached(house):
    """The names of those who are attached."""
    process = house.run("plugins", "--json", by="admin")
    assert process.returncode == 0, process
    return {row["name"] for row in json.loads(process.stdout)["plugins"] if row["state"] == "attached"}


def test_bundled_plugins_are_named_by_their_keys(house):
    house.new("admin", "admin")
    house.new("store", "collect")
    house.new("watch", "observe")
    house.new("apps", "observe,produce")
    house.new("shop", "produce")
    host = house.serve()
    started = [FileCollector(host, keyFile=str(house.file("store")))]
    try:
        states = house.path / "states"
        for command, by in [(["session"], "apps"), (["state-logger", "--file", str(states)], "watch")]:
            started.append(Program())
            started[-1].run([str(BIN / command[0]), *command[1:]], house.path / command[0], **house.variables(by))
        wait_until(lambda: attached(house) == {"store/file-collector", "apps/session"}, "both to attach")
        wait_until(lambda: states.exists() and b"operating" in states.read_bytes(), "the state to be logged")
        (house.path / "in").write_bytes(lines(events(1, 100)) + b"\n")
        assert house.run("emit", "--file", house.path / "in", by="shop").returncode == 0
        started[0].wait_for(100)
    finally:
        for each in started:
            each.close()


def test_a_consent_manager_knows_its_own_doing_under_its_key(house):
    house.new("consent", "observe,hold,start,revoke")
    house.serve()
    manager = Program()
    log = house.path / "consent.log"
    manager.run(
        [str(BIN / "consent-manager"), "--store", str(house.path / "store"), "--bind", "tcp://127.0.0.1:0"], log,
        **house.variables("consent"))
    try:
        found = re.compile(r"takes decisions at (\S+);")
        wait_until(lambda: log.exists() and found.search(log.read_text()), "the address")
        address = found.search(log.read_text())[1]

        def consent(verb):
            process = house.run("consent", verb, "--json", consent=address)
            return json.loads(process.stdout) if process.stdout else {}

        consent("give")
        wait_until(lambda: consent("show").get("applied"), "the gate to follow")
        consent("pause")
        wait_until(lambda: consent("show").get("applied"), "the gate to follow again")
        shown = consent("show")
        assert shown["host"]["state"] == "onHold" and "closedBy" not in shown, shown
    finally:
        manager.close()


@pytest.mark.parametrize("is_relative", [False, True])
def test_a_plugin_that_the_host_starts_has_a_key_of_its_own(house, is_relative, monkeypatch):
    files = house.path / "events"
    if is_relative:
        # Plugins start in folders of their own: what they are handed must be found from there.
        monkeypatch.chdir(house.path.parent)
        house.path = house.path.relative_to(house.path.parent)
        house.state = house.path / "state"
    house.new("admin", "admin")
    house.new("shop", "produce")
    for name, variables in {"file-collector": {"FILE_COLLECTOR_DIR": str(files)}, "session": {}}.items():
        text = (ROOT / f"plugins/{name}/plugin.json").read_text()
        manifest = json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.M))
        folder = house.path / "plugins" / name
        folder.mkdir(parents=True)
        (folder / "plugin.json").write_text(json.dumps({**manifest, "environment": variables}))
    house.serve("--plugins", str(house.path / "plugins"))
    wait_until(lambda: attached(house) == {"file-collector", "session"}, "both to attach")
    assert house.run("emit", "cart.filled", by="shop").returncode == 0
    wait_until(lambda: any(b"cart.filled" in each.read_bytes() for each in files.glob("*.ndjson")), "the event")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Builds an example in C; returns its path."""
    directory = tmp_path_factory.mktemp("examples")

    def build(name):
        binary = directory / name
        command = ["cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-g", "-fsanitize=address,undefined"]
        subprocess.run(
            [*command, "-o", str(binary), str(EXAMPLES / f"{name}.c"), "-lzmq"], check=True, timeout=PATIENCE * 3)
        return str(binary)

    return build


def test_the_examples_prove_who_they_are(house, compiled):
    house.new("admin", "admin")
    house.new("store", "collect")
    house.new("watch", "observe")
    house.new("shop", "produce")
    house.new("consent", "hold,start")
    house.serve()
    taken, heard = house.path / "taken", house.path / "heard"
    python = {"collector": [str(taken), "store/eu"], "state_logger": []}
    started = []
    try:
        for (name, arguments), by, output in zip(python.items(), ("store", "watch"), (house.path / "log", heard)):
            started.append(Program())
            command = ["/usr/bin/python3", str(EXAMPLES / f"{name}.py"), *arguments]
            started[-1].run(command, output, **house.variables(by))
        wait_until(lambda: attached(house) == {"store/eu"}, "the collector to attach")
        producer = subprocess.run(
            [compiled("producer"), "shop/web-1"], input=lines(events(1, 20)) + b"\n", timeout=PATIENCE,
            env=environment(**house.variables("shop")))
        assert producer.returncode == 0
        wait_until(lambda: taken.exists() and taken.read_bytes().count(b"\n") == 20, "the events")
        switch = compiled("consent_switch")
        paused = subprocess.run(
            [switch, "pause"], capture_output=True, text=True, timeout=PATIENCE,
            env=environment(**house.variables("consent")))
        assert paused.returncode == 0, paused
        wait_until(lambda: '"onHold"' in heard.read_text(), "the state logger to hear of it")
        house.file("consent").write_text("{}")
        broken = subprocess.run(
            [switch, "pause"], capture_output=True, text=True, timeout=PATIENCE,
            env=environment(**house.variables("consent")))
        assert broken.returncode == 2 and "not a whole key" in broken.stderr
    finally:
        for each in started:
            each.close()
