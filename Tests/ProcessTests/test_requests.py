"""Section 3: callback requests, to the provider of a service and back, while the gate is open and never else."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest
import zmq

from holdgate import PATIENCE, context, error_code, event, receive_json, wait_until

UNKNOWN = "unknown"


@pytest.fixture
def processes():
    """Starts providers as processes: `processes(host, "a")`; returns once each is welcomed."""
    started = []

    def start(host, name="provider", service="s", mode="echo"):
        script = pathlib.Path(__file__).with_name("provider.py")
        process = subprocess.Popen(
            [sys.executable, str(script), host.address("plugin"), name, service, mode],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout.readline() == "welcome\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def row(host, name):
    return next(each for each in host.ok("plugins")["plugins"] if each["name"] == name)


def dropped(host):
    return host.ok("stats")["stats"]["resultsDropped"]


class TestRouting:
    def test_to_the_provider_and_back(self, operating):
        provider = operating.provider("emailPermission.get", "emailPermission.set")
        call = operating.call("emailPermission.set", {"allowed": True, "ü": [1.5, None]}, timeoutMs=1234, id="x")
        request = provider.request()
        assert (request["service"], request["arguments"]) == (
            "emailPermission.set", {"allowed": True, "ü": [1.5, None]})
        assert 0 < request["timeoutMs"] <= 1234
        provider.answer(request, {"stored": "ö"})
        reply = call.reply()
        assert (reply["ok"], reply["id"], reply["value"], reply["state"]) == (True, "x", {"stored": "ö"}, "operating")

    def test_what_has_a_default(self, operating):
        provider = operating.provider("s")
        call = operating.call("s")
        request = provider.request()
        assert request["arguments"] == {} and 4000 < request["timeoutMs"] <= 5000
        provider.answer(request, None)
        assert call.value() is None

    def test_a_providers_error_is_passed_on(self, operating):
        provider = operating.provider("s")
        call = operating.call("s")
        provider.fail(provider.request(), code="noMorePages", message="the last page was read", retryable=False)
        assert call.reply()["error"] == {
            "code": "noMorePages", "message": "the last page was read", "retryable": False}

    def test_several_are_in_flight_and_answered_in_any_order(self, operating):
        provider = operating.provider("s")
        calls = [operating.call("s", {"n": number}) for number in range(20)]
        requests = [provider.request() for _ in calls]
        assert sorted(request["arguments"]["n"] for request in requests) == list(range(20))
        for request in reversed(requests):
            provider.answer(request, request["arguments"]["n"] * 2)
        assert [call.value() for call in calls] == [2 * number for number in range(20)]

    def test_one_connection_may_ask_for_many(self, operating, processes):
        processes(operating)
        with operating.socket(zmq.DEALER, "control") as socket:
            for number in range(50):
                socket.send_json({"command": "request", "id": number, "service": "s", "arguments": {"n": number}})
            replies = [receive_json(socket) for _ in range(50)]
        assert {reply["id"]: reply["value"]["n"] for reply in replies} == {number: number for number in range(50)}

    def test_providers_share_the_work(self, operating):
        providers = [operating.provider("s", name=name) for name in "abc"]
        calls = [operating.call("s") for _ in range(30)]
        # An answer makes room for a call that comes after it: first all of them are there.
        wait_until(lambda: [row(operating, name)["requests"] for name in "abc"] == [10, 10, 10], "10 calls each")
        for provider in providers:
            for _ in range(10):
                provider.answer(provider.request(), provider.name)
        assert sorted(call.value() for call in calls) == sorted("abc" * 10)

    def test_a_full_provider_is_overloaded(self, hosts):
        host = hosts("--operating", maxRequestsPerProvider=5)
        provider = host.provider("s")
        calls = [host.call("s") for _ in range(5)]
        requests = [provider.request() for _ in calls]
        more = host.call("s")
        reply = more.reply()
        assert error_code(reply) == "overloaded" and reply["error"]["retryable"] and "outcome" not in reply["error"]
        assert row(host, "provider")["requests"] == 5
        provider.answer(requests[0], 1)
        wait_until(lambda: row(host, "provider")["requests"] == 4, "the answer")
        call = host.call("s")
        provider.answer(provider.request(), 2)
        assert call.value() == 2

    def test_unknown_and_lost_services(self, operating):
        assert operating.call("s").error() == "unknownService"
        provider = operating.provider("s")
        provider.send("bye")
        wait_until(lambda: all(each["name"] != "provider" for each in operating.ok("plugins")["plugins"]), "the bye")
        reply = operating.call("s").reply()
        assert error_code(reply) == "serviceUnavailable" and reply["error"]["retryable"]
        operating.provider("s")
        operating.call("s")

    def test_plugins_says_who_serves_what(self, operating):
        operating.provider("b", "a")
        listed = row(operating, "provider")
        assert (listed["roles"], listed["services"], listed["requests"]) == (["serve"], ["a", "b"], 0)

    def test_a_provider_may_collect_as_well(self, operating):
        provider = operating.provider("s")
        provider.send("hello", v=1, name="provider", version="1", services=["s"], collect={"durable": False})
        provider.expect("welcome")
        operating.accept([event(1)])
        assert len(provider.events(1)) == 1
        call = operating.call("s")
        provider.answer(provider.request(), 1)
        assert call.value() == 1


class TestBadResults:
    def test_a_result_after_the_deadline_is_dropped(self, operating):
        provider = operating.provider("s")
        call = operating.call("s", timeoutMs=50)
        request = provider.request()
        assert call.error() == ("timeout", False, UNKNOWN)
        provider.answer(request, "late")
        provider.barrier()
        assert dropped(operating) == 1

    def test_the_first_answer_counts(self, operating):
        provider = operating.provider("s")
        call = operating.call("s")
        request = provider.request()
        provider.answer(request, "first")
        provider.answer(request, "second")
        assert call.value() == "first"
        provider.barrier()
        assert dropped(operating) == 1

    def test_nobody_answers_for_another(self, operating):
        asked, other = operating.provider("s", name="asked"), operating.provider("t", name="other")
        call = operating.call("s")
        request = asked.request()
        other.answer(request, "forged")
        other.barrier()
        assert not call.is_answered()
        asked.answer(request, "true")
        assert call.value() == "true" and dropped(operating) == 1

    def test_a_flood_of_results_hurts_nobody(self, operating):
        flooding, steady = operating.provider("f", name="flooding"), operating.provider("s", name="steady")
        collector = operating.collector()
        for number in range(20_000):
            flooding.send("result", id=number + 1_000_000, value="x" * 100)
        call = operating.call("s")
        steady.answer(steady.request(), "in time")
        assert call.value() == "in time"
        operating.accept([event(1)])
        assert len(collector.take(1)) == 1
        flooding.barrier()
        assert dropped(operating) == 20_000

    @pytest.mark.parametrize("members", [
        {}, {"id": 1}, {"value": 1}, {"id": "1", "value": 1}, {"id": -1, "value": 1}, {"id": 1, "error": "no"},
        {"id": 1, "error": {}}, {"id": 1, "value": 1, "error": {"code": "c"}}, {"id": 1, "error": {"code": 1}},
    ])
    def test_a_wrong_result_is_an_error_and_the_request_stays(self, operating, members):
        provider = operating.provider("s")
        call = operating.call("s")
        request = provider.request()
        assert request["id"] == 1
        provider.send("result", **members)
        assert provider.expect("error")["error"]["code"] == "invalidMessage"
        assert not call.is_answered()
        provider.answer(request, "right")
        assert call.value() == "right"

    @pytest.mark.parametrize("frames", [[b"x" * (4 << 20)], [b"x" * (3 << 20)] * 6], ids=["frame", "message"])
    def test_a_result_that_is_too_large_is_an_error_and_the_request_stays(self, operating, frames):
        provider = operating.provider("s")
        call = operating.call("s")
        request = provider.request()
        first, *rest = frames
        result = b'{"type":"result","id":%d,"value":"%s"}' % (request["id"], first)
        provider.socket.send_multipart([result, *rest])
        assert provider.expect("error")["error"]["code"] == "tooLarge"
        assert not call.is_answered()
        provider.answer(request, "x" * (4_000_000))
        assert len(call.value()) == 4_000_000

    @pytest.mark.parametrize("members", [
        {}, {"service": ""}, {"service": 1}, {"service": "x" * 257}, {"service": "s", "arguments": []},
        {"service": "s", "timeoutMs": 0}, {"service": "s", "timeoutMs": 3_600_001}, {"service": "s", "timeoutMs": 1.5},
        {"service": "s", "key": "k"}, {"service": "s", "more": 1},
    ])
    def test_a_wrong_request_is_refused(self, shared, members):
        assert shared.error("request", **members) == "invalidArgument"


class TestTheGate:
    def test_held_from_the_beginning(self, held):
        provider = held.provider("s")
        reply = held.call("s").reply()
        assert error_code(reply) == "notOperating" and reply["error"]["retryable"] and reply["state"] == "onHold"
        held.ok("startOperation")
        call = held.call("s")
        provider.answer(provider.request(), 1)
        assert call.value() == 1

    def test_while_draining(self, operating):
        operating.slow_collector()
        provider = operating.provider("s")
        in_flight = operating.call("s")
        request = provider.request()
        assert operating.ok("holdOperation")["state"] == "holdRequested"
        assert in_flight.error() == ("notOperating", False, UNKNOWN)
        reply = operating.call("s").reply()
        assert error_code(reply) == "notOperating" and reply["state"] == "holdRequested"
        operating.ok("startOperation")
        provider.answer(request, "from before the hold")
        provider.barrier()
        assert dropped(operating) == 1
        call = operating.call("s")
        provider.answer(provider.request(), "anew")
        assert call.value() == "anew"

    def test_a_hold_answers_all_in_flight_at_once(self, operating):
        provider = operating.provider("s")
        calls = [operating.call("s", timeoutMs=3_600_000) for _ in range(30)]
        requests = [provider.request() for _ in calls]
        operating.ok("holdOperation")
        assert {call.error() for call in calls} == {("notOperating", False, UNKNOWN)}
        for request in requests:
            provider.answer(request, 1)
        provider.barrier()
        assert dropped(operating) == 30

    def test_a_kill_answers_all_in_flight_and_refuses_for_good(self, operating):
        provider = operating.provider("s")
        calls = [operating.call("s", timeoutMs=3_600_000) for _ in range(3)]
        for _ in calls:
            provider.request()
        operating.ok("kill")
        replies = [call.reply() for call in calls]
        assert {(reply["state"], error_code(reply), reply["error"]["outcome"]) for reply in replies} == {
            ("killed", "notOperating", UNKNOWN)}
        reply = operating.call("s").reply()
        assert error_code(reply) == "notOperating" and reply["error"]["retryable"] is False

    def test_a_lease_that_runs_out_answers_all_in_flight(self, operating):
        provider = operating.provider("s")
        call = operating.call("s", timeoutMs=3_600_000)
        provider.request()
        operating.ok("startOperation", leaseMs=100)
        assert call.error() == ("notOperating", False, UNKNOWN)

    def test_a_hold_that_is_refused_interrupts_nothing(self, operating):
        provider = operating.provider("s")
        call = operating.call("s")
        request = provider.request()
        assert operating.error("holdOperation", expect={"state": "onHold"}) == "conflict"
        provider.answer(request, "on")
        assert call.value() == "on"

    def test_a_stopping_host_answers_all_in_flight(self, operating):
        provider = operating.provider("s")
        call = operating.call("s", timeoutMs=3_600_000)
        provider.request()
        assert operating.stop() == 0
        assert call.error() == ("shuttingDown", False, UNKNOWN)


class TestProvidersThatGo:
    def test_bye(self, operating):
        provider = operating.provider("s")
        call = operating.call("s", timeoutMs=3_600_000)
        provider.request()
        provider.send("bye")
        assert call.error() == ("serviceUnavailable", False, UNKNOWN)

    def test_superseded(self, operating):
        old = operating.provider("s")
        call = operating.call("s", timeoutMs=3_600_000)
        request = old.request()
        new = operating.provider("s")
        assert call.error() == ("serviceUnavailable", False, UNKNOWN)
        old.answer(request, "too late")
        again = operating.call("s")
        new.answer(new.request(), "new")
        assert again.value() == "new"

    def test_hello_again(self, operating):
        provider = operating.provider("s")
        call = operating.call("s", timeoutMs=3_600_000)
        request = provider.request()
        provider.hello()
        assert call.error() == ("serviceUnavailable", False, UNKNOWN)
        provider.answer(request, "forgotten")
        provider.barrier()
        assert dropped(operating) == 1

    def test_its_last_answers_count(self, operating):
        for _ in range(20):
            provider = operating.provider("s")
            calls = [operating.call("s") for _ in range(10)]
            provider.socket.linger = 1000
            for _ in calls:
                provider.answer(provider.request(), "last words")
            provider.close()
            assert {call.value() for call in calls} == {"last words"}

    def test_a_killed_process_answers_at_once(self, hosts, processes):
        """Long before a heartbeat is due: what tells of it is the connection's end."""
        host = hosts("--operating", heartbeatMs=60_000)
        stream = host.sub("plugin").joined()
        process = processes(host, "provider", mode="quiet")
        bystander = host.provider("t", name="bystander")
        calls = [host.call("s", timeoutMs=3_600_000) for _ in range(5)]
        other = host.call("t")
        for _ in calls:
            process.stdout.readline()
        begin = time.monotonic()
        process.kill()
        assert {call.error() for call in calls} == {("serviceUnavailable", False, UNKNOWN)}
        assert time.monotonic() - begin < PATIENCE / 2, "the heartbeat's minute was not waited for"
        stream.until("plugin", plugin="provider", change="detached")
        bystander.answer(bystander.request(), "unhurt")
        assert other.value() == "unhurt"
        assert error_code(host.call("s").reply()) == "serviceUnavailable"

    def test_after_a_kill_an_end_is_heard_as_before(self, hosts, processes):
        """`kill` closes the socket and binds another one."""
        host = hosts("--operating", heartbeatMs=60_000)
        host.ok("kill")
        stream = host.sub("plugin").joined()
        process = processes(host, mode="quiet")
        process.kill()
        stream.until("plugin", plugin="provider", change="detached")

    def test_providers_that_come_and_go_lose_no_request(self, operating, processes):
        """Whatever dies, each request has one answer: a value, or that the provider was lost."""
        processes(operating, "steady")
        outcomes = []
        for number in range(8):
            victim = processes(operating, "victim")
            calls = [operating.call("s", {"n": each}) for each in range(12)]
            victim.send_signal(signal.SIGKILL)
            for each, call in enumerate(calls):
                reply = call.reply()
                outcomes.append("value" if reply["ok"] else reply["error"]["code"])
                assert reply["ok"] is False or reply["value"] == {"n": each}
        assert set(outcomes) <= {"value", "serviceUnavailable"} and "value" in outcomes

    def test_a_stopped_process_is_silent(self, hosts, processes):
        host = hosts("--operating", heartbeatMs=100)
        stream = host.sub("plugin").joined()
        process = processes(host, mode="quiet")
        call = host.call("s", timeoutMs=3_600_000)
        process.stdout.readline()
        os.kill(process.pid, signal.SIGSTOP)
        try:
            assert call.error() == ("serviceUnavailable", False, UNKNOWN)
            stream.until("plugin", plugin="provider")
        finally:
            os.kill(process.pid, signal.SIGCONT)

    def test_others_serve_on_while_one_is_stopped(self, hosts, processes):
        host = hosts("--operating", heartbeatMs=100)
        stopped = processes(host, "stopped")
        os.kill(stopped.pid, signal.SIGSTOP)
        try:
            processes(host, "serving")
            values = set()
            for number in range(10):
                reply = host.call("s", {"n": 1}, timeoutMs=3_600_000).reply()
                values.add("value" if reply["ok"] else reply["error"]["code"])
            assert values <= {"value", "serviceUnavailable"} and "value" in values
            assert host.call("s", {"n": 2}).value() == {"n": 2}
        finally:
            os.kill(stopped.pid, signal.SIGCONT)


def test_a_client_that_has_gone_hurts_nobody(operating):
    provider = operating.provider("s")
    call = operating.call("s")
    request = provider.request()
    call.socket.close()
    provider.answer(request, "to nobody")
    again = operating.call("s")
    provider.answer(provider.request(), "to somebody")
    assert again.value() == "to somebody"


def test_connections_that_break_all_the_time_cost_no_message(operating):
    """Port scanners, and plugins in a crash loop."""
    provider = operating.provider("s")
    for number in range(200):
        with context.socket(zmq.DEALER) as socket:
            socket.linger = 0
            socket.connect(operating.address("plugin"))
            socket.send_json({"type": "heartbeat"})
            if number % 10 == 0:
                call = operating.call("s")
                provider.answer(provider.request(), number)
                assert call.value() == number


def test_plugins_that_the_host_did_not_start_are_not_supervised(shared):
    assert shared.error("plugin", name="nobody", action="restart") == "invalidArgument"
    assert shared.error("plugin", name="nobody", action="kill") == "invalidArgument"
    assert shared.error("plugin", name="nobody") == "invalidArgument"
