"""The client commands of the binary: what they print for programs, and how they end."""

import json
import signal
import subprocess

import pytest

from holdgate import BIN, ENDPOINTS, PATIENCE, environment, event, lines, run_command, wait_until

NOBODY = "tcp://127.0.0.1:9"


def answer(process):
    assert process.returncode == 0, process
    return json.loads(process.stdout)


def test_start_hold_and_state(held):
    assert answer(run_command(held, "state", "--json"))["state"] == "onHold"
    assert answer(run_command(held, "start", "--lease", "60s", "--json"))["state"] == "operating"
    assert held.state()["lease"]
    assert answer(run_command(held, "hold", "--wait", "30s", "--json"))["state"] == "onHold"
    assert held.state()["seq"] == 4


def test_emit_one_event_and_a_file(operating, tmp_path):
    collector = operating.collector()
    assert run_command(operating, "emit", "demo.clicked", '{"button": 1}').returncode == 0
    ((_, first),) = collector.take(1)
    assert (first["type"], first["data"], first["specversion"]) == ("demo.clicked", {"button": 1}, "1.0")
    path = tmp_path / "events.ndjson"
    path.write_bytes(lines([event(number) for number in range(5_000)]) + b"\n")
    assert run_command(operating, "emit", "--file", str(path)).returncode == 0
    assert [each["id"] for _, each in collector.take(5_000)] == [f"e{number}" for number in range(5_000)]


def test_kill_needs_a_yes(operating):
    assert run_command(operating, "kill", stdin="").returncode in (1, 2)
    assert operating.state()["state"] == "operating"
    assert answer(run_command(operating, "kill", "--yes", "--json"))["state"] == "killed"


def test_history_is_verified(operating):
    assert run_command(operating, "history", "--verify").returncode == 0
    shown = run_command(operating, "history", "--json")
    assert shown.returncode == 0 and operating.launch in shown.stdout


def test_plugins_forget_configure_and_stats(operating):
    operating.collector("warehouse")
    assert "warehouse" in run_command(operating, "plugins", "--json").stdout
    assert run_command(operating, "forget", "warehouse").returncode == 0
    assert "warehouse" not in run_command(operating, "plugins", "--json").stdout
    assert run_command(operating, "configure", '{"a": 1}').returncode == 0
    assert operating.ok("configuration")["configuration"] == {"a": 1}
    assert run_command(operating, "stats", "--json").returncode == 0


def test_end_launch_ends_the_host(operating):
    assert run_command(operating, "end-launch").returncode == 0
    assert operating.ended() == 0


def test_watch_shows_changes_as_they_come(operating):
    endpoints = {name: operating.address(name) for name in ENDPOINTS}
    watch = subprocess.Popen(
        [str(BIN / "holdgate"), "watch", "--json"], stdout=subprocess.PIPE, text=True, env=environment(**endpoints))
    try:
        assert '"operating"' in watch.stdout.readline()
        operating.ok("holdOperation")
        assert '"holdRequested"' in watch.stdout.readline()
        assert '"onHold"' in watch.stdout.readline()
    finally:
        watch.terminate()
        watch.wait(PATIENCE)
        watch.stdout.close()


def test_a_refusal_ends_with_1(operating):
    operating.ok("kill")
    process = run_command(operating, "emit", "demo.clicked")
    assert process.returncode == 1 and "launch" in process.stderr


def test_a_killed_launch_is_not_started(operating):
    operating.ok("kill")
    process = run_command(operating, "start")
    assert process.returncode == 1 and "killed" in process.stdout and "end-launch" in process.stdout


def test_a_host_names_the_address_that_it_can_t_have(operating, tmp_path):
    taken = operating.address("control")
    process = run_command(None, "serve", "--state-dir", str(tmp_path / "state"), "--control", taken)
    assert process.returncode == 1 and f"{taken} is in use" in process.stderr


def test_a_host_that_does_not_start_says_so_in_its_logs_form(operating, tmp_path):
    process = run_command(
        None, "serve", "--state-dir", str(tmp_path / "state"), "--control", operating.address("control"),
        "--log-format=json")
    record = json.loads(process.stderr)
    assert process.returncode == 1 and record["level"] == "error" and record["message"] == "the host ended"
    assert "is in use" in record["reason"] and process.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [
    ["file-collector", "--plugin=nonsense", "--dir", "events"], ["file-collector", "--rotate-bytes", "5k"],
    ["state-logger", "--stream", "nonsense"], ["state-logger", "--colour"]])
def test_wrong_usage_of_a_plugin_ends_with_2(arguments, tmp_path):
    process = subprocess.run(
        [str(BIN / arguments[0]), *arguments[1:]], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE,
        env=environment())
    assert process.returncode == 2 and "--help" in process.stderr


@pytest.mark.parametrize("arguments", [["nonsense"], ["hold", "--wait", "soon"], ["state", "--colour"], ["emit"]])
def test_wrong_usage_ends_with_2(arguments):
    process = run_command(None, *arguments)
    assert process.returncode == 2 and process.stderr


@pytest.mark.parametrize("arguments", [["state"], ["hold", "--wait", "1s"], ["emit", "a.b"], ["kill", "--yes"]])
def test_an_absent_host_ends_with_3(arguments):
    process = run_command(None, *arguments, "--timeout", "300ms", control=NOBODY, ingest=NOBODY)
    assert process.returncode == 3 and process.stderr


def test_a_stuck_host_ends_with_3(operating):
    operating.signal(signal.SIGSTOP)
    try:
        assert run_command(operating, "state", "--timeout", "300ms").returncode == 3
    finally:
        operating.signal(signal.SIGCONT)
    wait_until(lambda: operating.ok("ping"), "the host to go on")
