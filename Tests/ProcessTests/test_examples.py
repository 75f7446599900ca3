"""The examples that people copy, run as they are: `plugins/examples`."""

import json
import signal
import subprocess

import pytest

from holdgate import BIN, ENDPOINTS, PATIENCE, ROOT, Host, environment, event, events, free_ports, lines, wait_until

EXAMPLES = ROOT / "plugins/examples"


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


@pytest.fixture
def start():
    """Starts processes with the host's addresses in their environment, as a supervisor does; kills what is left."""
    started = []

    def run(host, *command, **options):
        keys = {name: host.address(name) for name in ENDPOINTS}
        started.append(subprocess.Popen(
            [str(each) for each in command], stdin=subprocess.PIPE, env=environment(**keys), text=True, **options))
        return started[-1]

    yield run
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def returning():
    """A host on ports of its own, to which its peers find back."""
    host = Host("--operating", ports=free_ports())
    yield host
    host.close()


def python(name, *arguments):
    return ["/usr/bin/python3", EXAMPLES / f"{name}.py", *arguments]


def attached(host, start, *arguments):
    file = host.base / "collected.ndjson"
    process = start(host, *python("collector", file, "example", *arguments))
    wait_until(lambda: any(each["state"] == "attached" for each in host.ok("plugins")["plugins"]), "the collector")
    return process, file


def collected(file):
    """The numbers of the events in a collector's file."""
    # Read once: it grows meanwhile.
    data = file.read_bytes() if file.exists() else b""
    return [json.loads(line)["event"]["id"] for line in data[:data.rfind(b"\n") + 1].splitlines()]


def ids(first, count):
    return [f"e{number}" for number in range(first, first + count)]


@pytest.mark.parametrize("name", ["collector.py", "state_logger.py", "producer.c", "consent_switch.c"])
def test_each_is_short_enough_to_be_read(name):
    assert len((EXAMPLES / name).read_text().splitlines()) < 100


def test_the_collector_writes_each_event_once(operating, start):
    process, file = attached(operating, start, "demo.*")
    operating.accept(events(1, 500))
    operating.accept([event(999, type="other")])
    operating.ok("holdOperation", waitMs=10_000)
    assert collected(file) == ids(1, 500)
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 0


def test_the_collector_killed_at_any_time_loses_and_repeats_nothing(operating, start):
    total = 0
    for round in range(5):
        process, file = attached(operating, start)
        operating.accept(events(total, 100))
        wait_until(lambda: len(collected(file)) > total, "some events")
        total += 100
        process.kill()
        process.wait(PATIENCE)
        with open(file, "ab") as torn:
            torn.write(b'{"seq":9')
    attached(operating, start)
    wait_until(lambda: len(collected(file)) >= total, "the rest")
    assert collected(file) == ids(0, total)


def test_the_collector_comes_back_after_the_host_and_ends_when_replaced(returning, start):
    process, file = attached(returning, start)
    returning.accept(events(0, 10))
    returning.restart(hard=True)
    returning.accept(events(10, 10))
    wait_until(lambda: collected(file) == ids(0, 20), "what came after the crash")
    returning.collector("example")
    assert process.wait(PATIENCE) == 0


def test_the_state_logger_prints_each_change_once(returning, start):
    process = start(returning, *python("state_logger"), stdout=subprocess.PIPE)
    first = json.loads(process.stdout.readline())
    assert (first["state"], first["from"]) == ("operating", "snapshot")
    returning.ok("holdOperation", waitMs=10_000)
    # It is stopped while the host goes away and changes its state: what it didn't hear is in the history.
    told = [json.loads(process.stdout.readline()) for _ in range(2)]
    process.send_signal(signal.SIGSTOP)
    returning.restart()
    returning.ok("startOperation")
    returning.ok("kill")
    process.send_signal(signal.SIGCONT)
    told += [json.loads(process.stdout.readline()) for _ in range(2)]
    assert [each["state"] for each in told] == ["holdRequested", "onHold", "operating", "killed"]
    assert [each["seq"] for each in told] == [2, 3, 4, 5]
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 0
    assert process.stdout.read() == ""


def test_the_producer_has_each_event_taken_once_though_the_host_dies(returning, start, compiled):
    collector = returning.collector()
    producer = start(returning, compiled("producer"), "web-1")
    block = lines(events(1, 5000)).decode() + "\n"
    producer.stdin.write(block[:len(block) // 2])
    producer.stdin.flush()
    returning.restart(hard=True)
    producer.stdin.write(block[len(block) // 2:])
    producer.stdin.close()
    assert producer.wait(PATIENCE * 2) == 0
    collector = returning.collector()
    assert [each["id"] for _, each in collector.take(5000)] == ids(1, 5000)
    collector.nothing()


def test_the_producer_says_what_is_refused(operating, start, compiled):
    producer = start(operating, compiled("producer"), "web-1", stderr=subprocess.PIPE)
    _, errors = producer.communicate('{"specversion":"1.0"}\n', timeout=PATIENCE)
    assert producer.returncode == 1
    assert "invalidMessage" in errors and "Sanitizer" not in errors


def test_the_consent_switch_opens_closes_and_kills(held, start, compiled):
    binary = compiled("consent_switch")

    def switch(*arguments):
        process = start(held, binary, *arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        output, _ = process.communicate(timeout=PATIENCE)
        return process.returncode, held.state()["state"], output

    held.collector()
    assert switch("give")[:2] == (0, "operating")
    assert switch("pause", "TICKET-1")[:2] == (0, "onHold")
    assert held.accept([event(1)])["gated"] == 1
    assert switch("deny")[:2] == (0, "onHold")
    assert held.accept([event(2)])["discarded"] == 1
    status, state, output = switch("withdraw", "TICKET-2")
    assert (status, state, json.loads(output)["changed"]) == (0, "killed", True)
    assert switch("perhaps") == (2, "killed", "")
    record = [each for each in held.records() if each.get("changed", True)][-1]
    assert (record["command"], record["source"], record["reason"]) == ("kill", "consent-switch", "TICKET-2")


def test_the_consent_switch_says_that_no_host_answers(compiled):
    assert (BIN / "holdgate").exists()
    keys = {"control": "tcp://127.0.0.1:9"}
    process = subprocess.Popen([compiled("consent_switch"), "give"], env=environment(**keys), stderr=subprocess.PIPE)
    # Every two seconds it asks again, half a minute long; that it goes on is enough here.
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(2.5)
    process.kill()
    process.communicate()
