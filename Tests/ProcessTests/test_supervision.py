"""Plugins that the host starts itself: `serve --plugins DIR`."""

import datetime
import json
import os
import pathlib
import re
import signal
import sys
import tempfile
import time

import pytest

from holdgate import BIN, ENDPOINTS, PATIENCE, ROOT, NoReady, run_command, wait_until

NOTE = 'import json, os, sys, time, signal\nprint("started", os.getpid(), flush=True)\n'
SLEEP = NOTE + "time.sleep(600)\n"
IGNORES = NOTE.replace("print", "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint") + "time.sleep(600)\n"
CRASH = NOTE + "sys.exit(7)\n"
QUICK = {"backoffMs": 20, "maxBackoffMs": 50}


class Plugins:
    """A folder of plugins."""

    def __init__(self, path):
        self.path = pathlib.Path(path)

    def add(self, name, script=SLEEP, **members):
        folder = self.path / name
        folder.mkdir(exist_ok=True)
        program = folder / "main.py"
        program.write_text(f"#!{sys.executable}\n{script}")
        program.chmod(0o755)
        self.write(name, json.dumps({"name": name, "version": "1", "command": "./main.py", **members}))

    def write(self, name, text):
        (self.path / name).mkdir(exist_ok=True)
        (self.path / name / "plugin.json").write_text(text)

    def remove(self, name):
        (self.path / name / "plugin.json").unlink()


@pytest.fixture
def plugins():
    base = ROOT / ".build/process-tests"
    base.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=base) as path:
        yield Plugins(path)


@pytest.fixture
def supervising(hosts, plugins):
    return lambda *flags, **keys: hosts("--operating", "--plugins", str(plugins.path), *flags, **keys)


def row(host, name):
    """The plugin's row; an empty one while the host does not know it: the folder is read after it is ready."""
    return next((row for row in host.ok("plugins")["plugins"] if row["name"] == name), {})


def running(host, name):
    """Waits until the plugin runs; returns its pid."""
    wait_until(lambda: row(host, name).get("process") == "running", f"{name} to run")
    return row(host, name)["pid"]


def until(host, name, process):
    wait_until(lambda: row(host, name).get("process") == process, f"{name} to be {process}")
    return row(host, name)


def alive(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"


def until_said(host, text):
    wait_until(lambda: text in host.stderr(), f"{text!r} in the log")


class TestStart:
    def test_each_runs_and_is_shown(self, supervising, plugins):
        plugins.add("b", may=["collect", "command"])
        plugins.add("a", version="2.1")
        (plugins.path / "notes").mkdir()
        (plugins.path / "README.md").write_text("not a plugin")
        host = supervising()
        pid = running(host, "a")
        assert alive(pid)
        assert row(host, "a") == {
            "name": "a", "version": "2.1", "roles": [], "state": "detached", "supervised": True, "process": "running",
            "restarts": 0, "may": [], "pid": pid}
        running(host, "b")
        assert row(host, "b")["may"] == ["command", "collect"]
        assert [row["name"] for row in host.ok("plugins")["plugins"]] == ["a", "b"]

    def test_it_gets_addresses_and_its_own_variables_and_none_of_the_hosts(self, supervising, plugins):
        plugins.add("a", NOTE + """
shown = {n: v for n, v in os.environ.items() if n in ("COLOUR", "HOME", "PATH") or n.startswith("HOLDGATE")}
print(json.dumps(shown), flush=True)
time.sleep(600)""", environment={"COLOUR": "blue", "HOME": "/elsewhere"})
        host = supervising(heartbeatMs=500, consent="tcp://127.0.0.1:5599", keyFile="/etc/key", timeout="5s")
        until_said(host, "COLOUR")
        line = next(line for line in host.stderr().splitlines() if "COLOUR" in line)
        variables = json.loads(line.split("[a] ", 1)[1])
        ours = {name: value for name, value in variables.items() if name.startswith("HOLDGATE_")}
        # Where decisions are taken is a plugin's to know; what a client is let in with is not.
        assert ours == {
            "HOLDGATE_CONSENT": "tcp://127.0.0.1:5599",
            **{f"HOLDGATE_{name.upper()}": host.address(name) for name in ENDPOINTS}}
        assert variables["COLOUR"] == "blue" and variables["HOME"] == "/elsewhere"
        assert variables["PATH"] == os.environ["PATH"]

    def test_its_descriptors_signals_group_and_place(self, supervising, plugins):
        plugins.add("a", NOTE + """
print("FDS", sorted(int(fd) for fd in os.listdir("/proc/self/fd")), flush=True)
print("STDIN", os.readlink("/proc/self/fd/0"), flush=True)
print("MASK", [l.split()[1] for l in open("/proc/self/status") if l.startswith(("SigBlk", "SigIgn"))], flush=True)
print("GROUP", os.getpgid(0) == os.getpid(), os.getcwd(), sys.argv[1:], flush=True)
time.sleep(600)""", arguments=["--one", "two words"])
        host = supervising()
        until_said(host, "GROUP")
        log = host.stderr()
        # The fourth is the directory that is being listed.
        assert "[a] FDS [0, 1, 2, 3]" in log
        assert "[a] STDIN /dev/null" in log
        blocked, ignored = re.search(r"MASK \['(\w+)', '(\w+)'\]", log).groups()
        # Python itself ignores SIGPIPE and SIGXFSZ. The C library's own two, 32 and 33, are nobody's to set: whoever
        # started the test run may have left them ignored.
        assert int(blocked, 16) == 0 and int(ignored, 16) & ~(3 << 31) == 1 << 12 | 1 << 24
        assert f"[a] GROUP True {plugins.path / 'a'} ['--one', 'two words']" in log

    def test_a_bundled_program_is_found_beside_the_host(self, supervising, plugins):
        files = plugins.path / "files"
        plugins.write("file-collector", json.dumps({
            "name": "file-collector", "version": "1", "command": "file-collector", "arguments": ["--dir", str(files)]}))
        host = supervising()
        wait_until(lambda: row(host, "file-collector").get("state") == "attached", "file-collector to attach")
        assert row(host, "file-collector")["durable"] is True

    def test_one_from_the_path(self, supervising, plugins):
        plugins.write("a", json.dumps(
            {"name": "a", "version": "1", "command": "sh", "arguments": ["-c", "echo hello from $0; sleep 600", "sh"]}))
        until_said(supervising(), "[a] hello from sh")

    def test_plugins_that_the_host_did_not_start_attach_all_the_same(self, supervising, plugins, file_collectors):
        plugins.add("a")
        host = supervising()
        file_collectors(host)
        wait_until(lambda: row(host, "file-collector"), "file-collector to attach")
        assert row(host, "file-collector")["supervised"] is False

    def test_without_a_folder_the_host_does_not_start(self, hosts):
        with pytest.raises(NoReady) as error:
            hosts("--plugins", "/nowhere/plugins")
        assert error.value.status == 1
        assert "can't read the folder /nowhere/plugins: No such file or directory" in error.value.stderr


class TestOutput:
    def test_both_streams_come_with_the_plugins_name(self, supervising, plugins):
        plugins.add("a", NOTE + 'print("to out", flush=True)\nprint("to err", file=sys.stderr, flush=True)\n'
                    'sys.stdout.write("no end")\nsys.stdout.flush()\nos.kill(os.getpid(), 9)', restart={"policy": "never"})
        host = supervising()
        until_said(host, "ended by itself")
        text = [line.split(" ", 2)[2] for line in host.stderr().splitlines() if "[a]" in line]
        assert text[1:] == ["[a] to out", "[a] to err", "[a] no end"]
        assert "signal 9" in host.stderr()

    def test_a_long_line_and_a_flood_are_bounded_and_harm_nobody(self, supervising, plugins):
        plugins.add("a", NOTE + 'print("x" * 100_000, flush=True)\n'
                    'for n in range(100_000): print("line", n)\ntime.sleep(1.1)\nprint("end", flush=True)\ntime.sleep(600)')
        host = supervising(logFormat="json")
        wait_until(lambda: "were left out" in host.stderr(), "the flood's second second, or its end")
        for _ in range(5):
            host.ok("ping")
        assert host.ok("plugin", name="a", action="stop")["ok"]
        lines = [json.loads(line)["message"] for line in host.stderr().splitlines()]
        ours = [line for line in lines if line.startswith("[a]")]
        assert max(map(len, ours)) < 1100 and any(line.endswith("…") for line in ours)
        assert any("lines were left out" in line for line in ours) and len(ours) < 5000

    def test_control_characters_do_not_reach_the_terminal(self, supervising, plugins):
        plugins.add("a", NOTE + r'print("\x1b[2J", "\xff", flush=True)' + "\ntime.sleep(600)")
        host = supervising()
        until_said(host, "u001b[2J")
        assert "\x1b" not in host.stderr()

    def test_a_log_for_programs_has_one_object_a_line_whatever_is_said(self, supervising, plugins):
        plugins.add("a", NOTE + r'sys.stdout.buffer.write(b"\xff\xfe \x1b[2J \x00 \"quoted\" \xe2\x80\xa8\r x\n\n{}\nend\n")'
                    + "\nsys.stdout.flush()\ntime.sleep(600)")
        host = supervising("--log-format", "json")
        until_said(host, "[a] end")
        host.stop()
        data = host.stderr_path.read_bytes()
        assert not [byte for byte in data if byte < 0x20 and byte != 0x0a] and data.endswith(b"\n")
        records = [json.loads(line) for line in data.decode().splitlines()]
        for record in records:
            assert list(record)[:3] == ["time", "level", "message"], record
            assert datetime.datetime.fromisoformat(record["time"].replace("Z", "+00:00")).utcoffset().seconds == 0
            assert record["level"] in ("info", "warning", "error")
        said = [record["message"] for record in records if record.get("plugin") == "a" and "[a]" in record["message"]]
        assert said[-4:] == ['[a] \ufffd\ufffd \x1b[2J \x00 "quoted" \u2028\r x', "[a] ", "[a] {}", "[a] end"]


class TestEnds:
    def test_a_crashed_plugin_comes_back(self, supervising, plugins):
        plugins.add("a")
        host = supervising()
        first = running(host, "a")
        subscriber = host.sub("plugin").joined()
        os.kill(first, signal.SIGSEGV)
        message = subscriber.until("plugin", change="restarted")
        assert message.body == {"plugin": "a", "change": "restarted", "reason": "signal 11 (Segmentation fault)"}
        second = running(host, "a")
        assert second != first and row(host, "a")["restarts"] == 1

    def test_a_crash_loop_is_given_up_and_said(self, supervising, plugins):
        plugins.add("a", CRASH, restart={**QUICK, "crashLoop": {"restarts": 3, "withinMs": 60_000}})
        plugins.add("b")
        host = supervising()
        subscriber = host.sub("plugin")
        assert until(host, "a", "crashLooping")["restarts"] == 3
        assert host.stderr().count("[a] started") == 4
        assert "a plugin is given up" in host.stderr() and "exit status 7" in host.stderr()
        running(host, "b")
        subscriber.joined()
        plugins.add("c", CRASH, restart={**QUICK, "crashLoop": {"restarts": 1, "withinMs": 60_000}})
        host.signal(signal.SIGHUP)
        assert subscriber.until("plugin", change="restarted").body["plugin"] == "c"
        assert "1 restarts within 60000 ms" in subscriber.until("plugin", change="gaveUp").body["reason"]

    def test_a_start_takes_it_out_of_the_crash_loop(self, supervising, plugins):
        plugins.add("a", NOTE + "sys.exit(0 if os.path.exists('ok') else 1) if not os.path.exists('ok') else time.sleep(600)",
                    restart={**QUICK, "crashLoop": {"restarts": 1, "withinMs": 60_000}})
        host = supervising()
        until(host, "a", "crashLooping")
        (plugins.path / "a" / "ok").touch()
        host.ok("plugin", name="a", action="start")
        assert alive(running(host, "a"))

    @pytest.mark.parametrize("policy,status,comes_back", [
        ("always", 0, True), ("always", 1, True), ("on-failure", 0, False), ("on-failure", 1, True), ("never", 1, False)])
    def test_the_policy_decides(self, supervising, plugins, policy, status, comes_back):
        plugins.add("a", NOTE + f"sys.exit({status})",
                    restart={"policy": policy, **QUICK, "crashLoop": {"restarts": 1, "withinMs": 60_000}})
        host = supervising()
        assert until(host, "a", "crashLooping" if comes_back else "stopped")["restarts"] == int(comes_back)

    def test_a_program_that_does_not_exist(self, supervising, plugins):
        plugins.write("a", json.dumps({"name": "a", "version": "1", "command": "no-such-program", "restart": {
            **QUICK, "crashLoop": {"restarts": 1, "withinMs": 60_000}}}))
        plugins.write("b", json.dumps({"name": "b", "version": "1", "command": "./gone", "restart": {"policy": "never"}}))
        host = supervising()
        until(host, "a", "crashLooping")
        until(host, "b", "stopped")
        assert "no program no-such-program" in host.stderr()
        assert "./gone: exec: No such file or directory" in host.stderr()
        reply = host.req("plugin", name="b", action="start")
        assert reply["error"]["code"] == "serviceUnavailable" and "exec" in reply["error"]["message"]

    def test_what_a_plugin_started_ends_with_it(self, supervising, plugins):
        plugins.write("a", json.dumps({"name": "a", "version": "1", "command": "sh", "arguments": [
            "-c", "sleep 600 & echo child $!; exit 1"], "restart": {"policy": "never"}}))
        host = supervising()
        until(host, "a", "stopped")
        until_said(host, "[a] child")
        assert not alive(int(re.search(r"\[a\] child (\d+)", host.stderr())[1]))


class TestCommands:
    def test_stop_start_restart(self, supervising, plugins):
        plugins.add("a")
        host = supervising()
        first = running(host, "a")
        host.ok("plugin", name="a", action="stop")
        assert not alive(first) and row(host, "a")["process"] == "stopped" and "pid" not in row(host, "a")
        host.ok("plugin", name="a", action="stop")
        host.ok("plugin", name="a", action="start")
        second = row(host, "a")["pid"]
        assert alive(second) and row(host, "a")["restarts"] == 1
        host.ok("plugin", name="a", action="start")
        assert row(host, "a")["pid"] == second
        host.ok("plugin", name="a", action="restart")
        third = row(host, "a")["pid"]
        assert alive(third) and not alive(second) and row(host, "a")["restarts"] == 2

    def test_one_that_ignores_terms_is_killed(self, supervising, plugins):
        plugins.add("a", IGNORES)
        host = supervising()
        pid = running(host, "a")
        until_said(host, f"[a] started {pid}")
        host.ok("plugin", name="a", action="stop")
        assert not alive(pid) and "signal 9" in host.stderr()

    def test_an_unknown_name(self, supervising, plugins, operating):
        plugins.add("a")
        for host in (supervising(), operating):
            reply = host.req("plugin", name="zz", action="stop")
            assert reply["error"]["code"] == "invalidArgument" and "started no plugin zz" in reply["error"]["message"]

    def test_from_the_command_line(self, supervising, plugins):
        plugins.add("a")
        host = supervising()
        pid = running(host, "a")
        assert re.search(rf"a +detached +running {pid}", run_command(host, "plugins").stdout)
        assert run_command(host, "plugins", "stop", "a").stdout == "a is stopped\n"
        assert re.search(r"a +detached +stopped", run_command(host, "plugins").stdout)
        assert run_command(host, "plugins", "start", "a").stdout == "a runs\n"
        assert run_command(host, "plugins", "restart", "a").stdout == "a runs again\n"
        assert re.search(r"running \d+, restarted 2 times", run_command(host, "plugins").stdout)
        failed = run_command(host, "plugins", "stop", "zz")
        assert failed.returncode == 1 and "started no plugin zz" in failed.stderr
        assert run_command(host, "plugins", "halt", "a").returncode == 2
        assert run_command(host, "plugins", "stop").returncode == 2

    def test_a_command_in_the_middle_of_a_stop_overtakes_it(self, supervising, plugins):
        plugins.add("a", IGNORES)
        host = supervising()
        pid = running(host, "a")
        until_said(host, f"[a] started {pid}")
        with host.socket(5, "control") as dealer:     # zmq.DEALER
            for n, action in enumerate(("stop", "restart", "start")):
                dealer.send_json({"command": "plugin", "name": "a", "action": action, "id": n})
            replies = {}
            while len(replies) < 3:
                assert dealer.poll(PATIENCE * 1000)
                reply = json.loads(dealer.recv_multipart()[-1])
                replies[reply["id"]] = reply
        assert replies[0]["error"]["code"] == "conflict"
        assert replies[1]["ok"] and replies[2]["ok"]
        assert running(host, "a") != pid


class TestManifests:
    @pytest.mark.parametrize("text,complaint", [
        ("", ":1: the file must hold one object"),
        ('{"name": "a", "version": "1"}', ":1: command is missing"),
        ('{\n"name": "b", "version": "1", "command": "x"}', ":2: name is \"b\"; allowed: the folder's name, a"),
        ('{"name": "a",\n"version": 1, "command": "x"}', ":2: version is 1; allowed: 1 to 128 bytes"),
        ('{"name": "a", "version": "1",\n\n"comand": "x"}', ':3: unknown key "comand"; did you mean command?'),
        ('{"name": "a", "version": "1", "command": "x",\n"arguments": "y"}', ":2: arguments is \"y\"; allowed"),
        ('{"name": "a", "version": "1", "command": "x",\n"may": ["fly"]}', ":2: may is [\"fly\"]; allowed: a list of"),
        ('{"name": "a", "version": "1", "command": "x",\n"environment": {\n"A": 1}}', ":3: environment.A is 1; allowed"),
        ('{"name": "a", "version": "1", "command": "x",\n"environment": {"HOLDGATE_PLUGIN": "x"}}',
         ":2: environment.HOLDGATE_PLUGIN is the host's to set"),
        ('{"name": "a", "version": "1", "command": "x", "restart": {\n"policy": "sometimes"}}',
         ':2: restart.policy is "sometimes"; allowed: always, on-failure, never'),
        ('{"name": "a", "version": "1", "command": "x", "restart": {\n"crashLoop": {"restarts": 1,\n"withinS": 3}}}',
         ':3: unknown key "restart.crashLoop.withinS"'),
        ('{"name": "a", "version": "1", "command": "x", "restart": {"backoffMs": 0}}',
         ":1: restart.backoffMs is 0; allowed: a whole number from 1 to"),
        ('{"name": "a", "name": "a", "version": "1", "command": "x"}', "was given in line 1 already"),
    ])
    def test_a_wrong_one_is_said_with_file_line_and_key_and_hurts_no_other(self, supervising, plugins, text, complaint):
        plugins.write("a", text)
        plugins.add("b")
        host = supervising(logFormat="json")
        running(host, "b")
        problem = next(line for line in map(json.loads, host.stderr().splitlines())
                       if line["message"] == "a manifest is not taken")
        assert problem["plugin"] == "a" and f"{plugins.path}/a/plugin.json{complaint}" in problem["error"] or (
            complaint in problem["error"] and f"{plugins.path}/a/plugin.json:" in problem["error"])
        assert row(host, "a") == {}

    def test_a_hangup_takes_in_what_changed_and_nothing_else(self, supervising, plugins):
        for name in ("changed", "gone", "kept", "wrong", "looped"):
            plugins.add(name)
        host = supervising()
        before = {name: running(host, name) for name in ("changed", "gone", "kept", "wrong", "looped")}
        plugins.add("changed", arguments=["new"])
        plugins.remove("gone")
        plugins.add("new")
        plugins.write("wrong", "{")
        # There, and not to be read: none that is gone.
        plugins.remove("looped")
        (plugins.path / "looped" / "plugin.json").symlink_to("plugin.json")
        host.signal(signal.SIGHUP)
        running(host, "new")
        wait_until(lambda: row(host, "gone") == {}, "gone to go")
        wait_until(lambda: row(host, "changed").get("restarts") == 1, "changed to be restarted")
        after = {name: running(host, name) for name in ("changed", "kept", "wrong", "looped")}
        assert all(after[name] == before[name] for name in ("kept", "wrong", "looped"))
        assert after["changed"] != before["changed"]
        assert not alive(before["gone"]) and not alive(before["changed"])
        assert "a manifest is not taken" in host.stderr()

    def test_a_hangup_leaves_what_was_stopped_by_command(self, supervising, plugins):
        plugins.add("a")
        host = supervising()
        running(host, "a")
        host.ok("plugin", name="a", action="stop")
        plugins.add("a", arguments=["new"])
        plugins.add("b")
        host.signal(signal.SIGHUP)
        running(host, "b")
        assert row(host, "a")["process"] == "stopped"

    def test_a_hangup_without_plugins_does_nothing(self, operating):
        operating.signal(signal.SIGHUP)
        operating.ok("ping")


class TestShutdown:
    ORDER = NOTE + """
def end(*_):
    time.sleep(0.05)
    print("ended", time.monotonic_ns(), flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
print("ready", flush=True)
time.sleep(600)"""

    def test_the_last_started_goes_first(self, supervising, plugins):
        for name in "abc":
            plugins.add(name, self.ORDER)
        host = supervising()
        for name in "abc":
            until_said(host, f"[{name}] ready")
        assert host.stop() == 0
        assert re.findall(r"\[(\w)\] ended", host.stderr()) == ["c", "b", "a"]

    def test_within_five_seconds_even_if_all_ignore_it(self, supervising, plugins):
        for name in "abcdef":
            plugins.add(name, IGNORES)
        host = supervising()
        pids = [running(host, name) for name in "abcdef"]
        for name in "abcdef":
            until_said(host, f"[{name}] started")
        begin = time.monotonic()
        assert host.stop() == 0
        assert time.monotonic() - begin < 5
        assert not any(alive(pid) for pid in pids)

    def test_a_host_that_is_killed_leaves_none(self, supervising, plugins):
        plugins.add("a", IGNORES)
        plugins.add("b")
        host = supervising()
        pids = [running(host, name) for name in "ab"]
        host.kill9()
        wait_until(lambda: not any(alive(pid) for pid in pids), "the plugins to end")

    def test_the_next_launch_has_its_own(self, supervising, plugins):
        plugins.add("a")
        host = supervising()
        pid = running(host, "a")
        host.ok("endLaunch")
        assert host.ended() == 0
        assert not alive(pid)

    def test_a_host_that_replaces_itself_starts_them_again(self, supervising, plugins):
        plugins.add("a")
        host = supervising()
        pid = running(host, "a")
        host.ok("endLaunch", restart=True)
        host.ready = json.loads(host.process.stdout.readline())
        assert running(host, "a") != pid and not alive(pid)


def test_many_restarts_leave_no_descriptors_behind(supervising, plugins):
    plugins.write("a", json.dumps({"name": "a", "version": "1", "command": "true", "restart": {
        "policy": "always", "backoffMs": 1, "maxBackoffMs": 1, "crashLoop": {"restarts": 200, "withinMs": 60_000}}}))
    host = supervising()
    count = lambda: len(os.listdir(f"/proc/{host.process.pid}/fd"))
    until(host, "a", "crashLooping")
    host.ok("ping")
    before = count()
    host.ok("plugin", name="a", action="start")
    wait_until(lambda: row(host, "a").get("restarts", 0) > 300 and row(host, "a")["process"] == "crashLooping", "restarts")
    assert count() <= before + 1
