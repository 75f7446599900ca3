"""The HTTP gateway from outside: real requests to a real gateway before a real host."""

import base64
import hashlib
import hmac
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time

import pytest

from gateway import Gateway
from holdgate import BIN, PATIENCE, environment, event, events, wait_until

STRUCTURED = "application/cloudevents+json"
BATCH = "application/cloudevents-batch+json"
TOKENS = {"admin": "observe,produce,hold,start,revoke", "looker": "observe", "shop": "produce:shop."}


@pytest.fixture
def gateways():
    started = []

    def start(host, *arguments, tokens=TOKENS, **variables):
        started.append(Gateway(host, *arguments, tokens=tokens, **variables))
        return started[-1]

    yield start
    for gateway in started:
        gateway.close()


@pytest.fixture
def open_door(operating, gateways):
    return gateways(operating)


@pytest.fixture
def held_door(held, gateways):
    return gateways(held)


def problem(answer, status, code):
    assert answer.status == status, answer
    assert answer.headers["content-type"] == "application/problem+json", answer
    body = answer.json
    assert (body["status"], body["code"]) == (status, code), answer
    assert ("retry-after" in answer.headers) == body["retryable"], answer
    return body


# -- events

def test_events_are_counted_as_the_gate_took_them(held_door):
    answer = held_door.send(event(1))
    assert answer.status == 202
    assert {name: answer.json[name] for name in ("accepted", "gated", "discarded", "duplicate", "state")} == {
        "accepted": 1, "gated": 1, "discarded": 0, "duplicate": False, "state": "onHold"}
    held_door.host.ok("startOperation")
    answer = held_door.send(events(2, 3), BATCH)
    assert (answer.status, answer.json["accepted"], answer.json["gated"]) == (202, 3, 0)
    held_door.host.ok("holdOperation", gatedEvents="discard")
    answer = held_door.send(event(5))
    assert (answer.status, answer.json["accepted"], answer.json["discarded"]) == (202, 0, 1)
    held_door.host.ok("holdOperation", gatedEvents="refuse")
    assert problem(held_door.send(event(6)), 409, "notOperating")["retryable"] is True
    held_door.host.ok("kill")
    assert problem(held_door.send(event(7)), 409, "notOperating")["retryable"] is False
    assert held_door.send([], BATCH).json["accepted"] == 0


def test_each_mode_of_cloudevents_arrives_as_it_was_meant(open_door):
    collector = open_door.host.collector()
    wanted = []

    def sent(answer, *those):
        assert answer.status == 202, answer
        wanted.extend(those)

    odd = event(1, data={"text": "Zürich ]},{[\" \\ \n"}, subject="ä")
    sent(open_door.send(json.dumps(odd, indent=2)), odd)
    sent(open_door.send([event(2), odd | {"id": "e3"}], BATCH), event(2), odd | {"id": "e3"})
    lines = "\n\n".join(json.dumps(each) for each in events(4, 3))
    sent(open_door.send(lines, "application/x-ndjson"), *events(4, 3))
    sent(open_door.send(json.dumps(events(7, 2)), "text/plain;charset=UTF-8"), *events(7, 2))
    attributes = {"ce_specversion": "1.0", "ce_type": "t", "ce_source": "/a", "ce_subject": "a%20b", "ce_mine": "%E2%82%AC"}
    plain = {"specversion": "1.0", "type": "t", "source": "/a", "subject": "a b", "mine": "€"}
    sent(open_door.send('{"a": [1]}', "application/json", **attributes, ce_id="9"),
         plain | {"id": "9", "datacontenttype": "application/json", "data": {"a": [1]}})
    sent(open_door.send("text\n", "text/plain", **attributes, ce_id="10"),
         plain | {"id": "10", "datacontenttype": "text/plain", "data": "text\n"})
    sent(open_door.send(b"\x00\xff", "image/png", **attributes, ce_id="11"),
         plain | {"id": "11", "datacontenttype": "image/png", "data_base64": base64.b64encode(b"\x00\xff").decode()})
    assert [each for _, each in collector.take(len(wanted))] == wanted


@pytest.mark.parametrize("body, type, index", [
    ('{"id":1}', STRUCTURED, 0), ("[{}]", BATCH, 0), (json.dumps(event(1)) + "\nx", "application/x-ndjson", 1),
    ("[" + json.dumps(event(1)) + ",{}]", BATCH, 1), ("", "application/x-ndjson", None), ("[", BATCH, 0),
    (json.dumps([event(1)]), STRUCTURED, 0),
])
def test_what_is_no_event_is_refused_whole_with_its_place(open_door, body, type, index):
    assert problem(open_door.send(body, type), 400, "invalidMessage").get("index") == index
    assert open_door.host.ok("stats")["stats"]["eventsAccepted"] == 0


def test_a_header_that_is_no_attribute_is_refused(open_door):
    problem(open_door.send("1", "application/json", ce_specversion="1.0", ce_id="1"), 400, "invalidMessage")
    problem(open_door.send("1", "application/json", ce_id="%zz"), 400, "invalidMessage")


def test_what_is_too_large_or_cannot_be_read_is_refused(held, gateways):
    gateway = gateways(held, "--max-body", "1000")
    large = json.dumps(event(1, data="x" * 1000))
    problem(gateway.send(large), 413, "tooLarge")
    problem(gateway.send(large, Transfer_Encoding="chunked"), 413, "tooLarge")
    problem(gateway.send(large, Expect="100-continue"), 413, "tooLarge")
    problem(gateway.send(b"x" * 5_000_000, Expect=""), 413, "tooLarge")
    problem(gateway.send("x", "image/png"), 415, "unsupportedMediaType")
    problem(gateway.send("x", Content_Encoding="gzip"), 415, "unsupportedMediaType")
    assert gateway.send(event(1)).status == 202


def test_a_full_queue_is_said_and_what_was_refused_can_come_again(hosts, gateways):
    host = hosts("--holding", queueLimitBytes=1024)
    gateway = gateways(host)
    answers = [gateway.send(event(number, data="x" * 300)) for number in range(8)]
    problem(answers[-1], 429, "overloaded")
    taken = sum(answer.status == 202 for answer in answers)
    assert taken == host.state()["gated"] > 0


def test_without_a_host_and_with_one_that_hangs_it_is_said_so(held, gateways):
    gateway = gateways(held, "--timeout", "1000")
    assert gateway.curl("/readyz").json == {"ready": True, "state": "onHold"}
    held.signal(signal.SIGSTOP)
    assert problem(gateway.send(event(1)), 503, "noAnswer")["outcome"] == "unknown"
    problem(gateway.curl("/readyz"), 503, "noAnswer")
    problem(gateway.curl("/v1/state"), 503, "noAnswer")
    assert gateway.curl("/healthz").status == 200
    assert "holdgate_up 0\n" in gateway.curl("/metrics").text
    held.signal(signal.SIGCONT)
    wait_until(lambda: gateway.curl("/readyz").status == 200, "the host to be ready again")
    held.kill9()
    assert "outcome" not in problem(gateway.send(event(2)), 503, "noAnswer")


def test_the_same_under_one_key_is_taken_once_whatever_goes_down(hosts, gateways):
    host = hosts("--holding")
    host.ports = {name: host.port(name) for name in ("control", "stream", "ingest", "plugin")}
    gateway = gateways(host)
    first = gateway.send(events(1, 2), BATCH, Idempotency_Key="k")
    assert (first.json["accepted"], first.json["duplicate"]) == (2, False)

    def again():
        answer = gateway.send(events(1, 2), BATCH, Idempotency_Key="k")
        return answer.status, answer.json.get("accepted"), answer.json.get("duplicate")

    answers = []
    threads = [threading.Thread(target=lambda: answers.append(again())) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [(202, 0, True)] * 10
    os.kill(gateway.process.pid, signal.SIGKILL)
    gateway.process.wait(PATIENCE)
    gateway.launch()
    assert again() == (202, 0, True)
    host.restart(hard=True)
    wait_until(lambda: gateway.curl("/readyz").status == 200, "the host to be found again")
    assert again() == (202, 0, True)
    # Other events under the same key are other events.
    assert gateway.send(event(9), Idempotency_Key="k").json["accepted"] == 1
    problem(gateway.send(event(9), Idempotency_Key="a b"), 400, "invalidArgument")
    assert host.state()["gated"] == 3


# -- who may what

ROUTES = {"/v1/state": "observe", "/v1/history": "observe", "/metrics": "observe", "/v1/lifecycle/start": "start",
          "/v1/lifecycle/hold": "hold", "/v1/lifecycle/kill": "revoke", "/v1/events": "produce"}


@pytest.mark.parametrize("role", ["observe", "produce", "hold", "start", "revoke"])
def test_each_role_opens_its_routes_and_no_others(held, gateways, role):
    gateway = gateways(held, "--anonymous", "none", tokens={"one": role})
    for path, needed in ROUTES.items():
        post = path.startswith("/v1/lifecycle") or path == "/v1/events"
        body = json.dumps(event(1)) if path == "/v1/events" else "{}"

        def ask(token):
            return gateway.curl(path, body=body, type="application/json", token=token) if post else gateway.curl(
                path, token=token)

        assert ask(None).status == 401, path
        assert ask("unknown").status == 401, path
        if role != needed:
            assert needed in problem(ask("one"), 403, "forbidden")["detail"], path
        else:
            assert ask("one").status in (200, 202), path
    for path in ("/healthz", "/readyz", "/openapi.json"):
        assert gateway.curl(path).status == 200


def test_a_token_may_be_for_some_types_alone(open_door):
    assert open_door.send(event(1, "shop.sold"), token="shop").status == 202
    refused = problem(open_door.send([event(2, "shop.sold"), event(3, "other")], BATCH, token="shop"), 403, "forbidden")
    assert refused["index"] == 1 and open_door.host.ok("stats")["stats"]["eventsAccepted"] == 1


def test_on_loopback_anybody_sends_and_looks_and_nobody_commands(open_door):
    assert open_door.send(event(1)).status == 202
    assert open_door.curl("/v1/state").status == 200
    for action in ("start", "hold", "kill"):
        assert problem(open_door.command(action, token=None), 401, "unauthorized")
    assert open_door.host.state()["state"] == "operating"


def test_paths_and_methods_that_are_not_served(open_door):
    problem(open_door.curl("/nothing"), 404, "notFound")
    answer = open_door.curl("/v1/events")
    problem(answer, 405, "methodNotAllowed")
    assert answer.headers["allow"] == "POST, OPTIONS"
    problem(open_door.curl("/v1/state", "-X", "DELETE"), 405, "methodNotAllowed")
    assert open_door.curl("/v1/state", "-I").status == 200


def test_the_access_file_is_read_again_and_a_bad_one_changes_nothing(open_door):
    token = open_door.make_token("later", "hold")
    problem(open_door.command("hold", token=token), 401, "unauthorized")
    os.kill(open_door.process.pid, signal.SIGHUP)
    wait_until(lambda: "4 tokens" in open_door.log(), "the file to be read")
    assert open_door.command("hold", token=token).status == 200
    with open(open_door.access, "a") as file:
        file.write("token broken\n")
    os.kill(open_door.process.pid, signal.SIGHUP)
    wait_until(lambda: "what was in force stays" in open_door.log(), "the file to be refused")
    assert open_door.command("hold", token=token).status == 200


@pytest.mark.parametrize("arguments, says", [
    (["--listen", "0.0.0.0:0"], "--plain-http"), (["--listen", "nonsense"], "HOST:PORT"),
    (["--anonymous", "hold"], "without a token"), (["--origin", "shop.example"], "no origin"),
    (["--tls-cert", "x"], "go together"), (["--what"], "unknown argument"), (["--access", "/nowhere/at/all"], "no file"),
])
def test_what_is_not_safe_or_not_right_does_not_start(arguments, says):
    done = subprocess.run([BIN / "http-gateway", *arguments], capture_output=True, text=True, timeout=PATIENCE,
                          env=environment())
    assert done.returncode in (1, 2) and says in done.stderr, done


def test_a_file_that_others_may_read_is_not_believed(tmp_path):
    access = tmp_path / "access"
    access.write_text("")
    access.chmod(0o644)
    done = subprocess.run([BIN / "http-gateway", "--listen", "127.0.0.1:0", "--access", access], capture_output=True,
                          text=True, timeout=PATIENCE, env=environment())
    assert done.returncode == 1 and "chmod 600" in done.stderr, done


# -- decisions

def test_decisions_are_done_and_the_history_says_whose_they_were(held_door):
    started = held_door.command("start", body={"leaseMs": 600000, "reason": "TICKET-1"})
    assert (started.status, started.json["state"], started.json["changed"]) == (200, "operating", True)
    assert held_door.host.records()[-1]["source"] == "http-gateway/admin"
    assert held_door.host.records()[-1]["reason"] == "TICKET-1"
    assert held_door.curl("/v1/state").json["lease"]["leaseMs"] == 600000
    assert held_door.curl("/v1/state").headers["etag"] == started.headers["etag"]
    for body in ({"leaseMs": 0}, {"waitMs": 5}, {"what": 1}, [], {"reason": 5}):
        problem(held_door.command("start", body=body), 400, "invalidArgument")
    problem(held_door.command("start", body="{"), 400, "invalidMessage")
    # Done once under a key.
    first = held_door.command("hold", Idempotency_Key="once")
    again = held_door.command("hold", Idempotency_Key="once")
    assert first.json["changed"] and again.json["replayed"] and again.json["seq"] == first.json["seq"]
    killed = held_door.command("kill")
    assert (killed.status, killed.json["state"]) == (200, "killed")


def test_a_condition_that_does_not_hold_changes_nothing(held_door):
    tag = held_door.curl("/v1/state").headers["etag"]
    assert held_door.command("start", If_Match=tag).status == 200
    problem(held_door.command("hold", If_Match=tag), 412, "conflict")
    # A condition that went missing is none that holds.
    problem(held_door.command("hold", If_Match=""), 412, "preconditionFailed")
    problem(held_door.command("hold", If_Match='"x"'), 412, "preconditionFailed")
    assert held_door.host.state()["state"] == "operating"
    assert held_door.command("hold", If_Match="*").status == 200


def test_a_hold_that_waits_does_not_delay_the_start_that_cancels_it(open_door):
    host = open_door.host
    host.slow_collector()
    assert open_door.command("hold", body={"waitMs": 1}).status == 202
    waiting = []
    thread = threading.Thread(target=lambda: waiting.append(open_door.command("hold", body={"waitMs": 600000})))
    asked = [host.ok("stats")["stats"]["requests"]]

    def is_read():
        asked.append(host.ok("stats")["stats"]["requests"])
        return asked[-1] - asked[0] > len(asked) - 1

    thread.start()
    wait_until(is_read, "the hold to be read")
    assert open_door.command("start").json["state"] == "operating"
    thread.join(PATIENCE)
    problem(waiting[0], 409, "conflict")


SECRET = b"0123456789abcdef0123456789abcdef"


@pytest.fixture
def hooked(held, gateways):
    access = held.base / "access"
    access.write_text(f"webhook cmp start,hold whsec_{base64.b64encode(SECRET).decode()}\n"
                      "on cmp /type consent.given start\non cmp /data/0/status paused hold\n")
    access.chmod(0o600)
    return gateways(held, tokens={})


def sign(gateway, path, body, id="msg_1", at=None, secret=SECRET, signed=None):
    at = str(int(time.time()) if at is None else at)
    code = hmac.new(secret, f"{id}.{at}.{body if signed is None else signed}".encode(), hashlib.sha256).digest()
    return gateway.curl(path, body=body, type="application/json", webhook_id=id, webhook_timestamp=at,
                        webhook_signature="v1," + base64.b64encode(code).decode())


def test_a_webhook_decides_by_its_signature_and_its_rules(hooked):
    path = "/v1/webhooks/cmp"
    given = json.dumps({"type": "consent.given"})
    now = int(time.time())
    problem(sign(hooked, path, given, secret=b"x" * 32), 401, "unauthorized")
    problem(sign(hooked, path, given, signed="{}"), 401, "unauthorized")
    problem(sign(hooked, path, given, at=now - 400), 401, "unauthorized")
    problem(sign(hooked, path, given, at=now + 400), 401, "unauthorized")
    problem(hooked.curl(path, body=given), 401, "unauthorized")
    problem(sign(hooked, "/v1/webhooks/other", given), 404, "notFound")
    assert hooked.host.state()["state"] == "onHold"
    assert sign(hooked, path, '{"type":"else"}', id="msg_0").json == {"ignored": True}
    at = now + 1
    done = sign(hooked, path, given, at=at)
    assert (done.status, done.json["state"], done.json["changed"]) == (200, "operating", True)
    problem(sign(hooked, path, given, at=at), 409, "replayed")
    # Another attempt at the same message is answered alike, and done once.
    assert sign(hooked, path, given, at=at + 1).json["replayed"] is True
    paused = sign(hooked, path, json.dumps({"data": [{"status": "paused"}]}), id="msg_2", at=at)
    assert paused.json["previous"] == "operating"
    assert [each["source"] for each in hooked.host.records() if each["command"] == "holdOperation"] == ["http-gateway/cmp"]


def test_a_signature_goes_for_the_lifecycle_too_and_not_further_than_its_roles(hooked):
    assert sign(hooked, "/v1/lifecycle/start", '{"leaseMs":60000}', at=int(time.time()) + 1).status == 200
    problem(sign(hooked, "/v1/lifecycle/kill", "{}", id="2", at=int(time.time()) + 1), 403, "forbidden")


# -- the stream

class Stream:
    """A client of /v1/stream."""

    def __init__(self, gateway, last=None):
        command = ["curl", "-sSN", gateway.url + "/v1/stream"]
        if last is not None:
            command += ["-H", f"Last-Event-ID: {last}"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment())

    def next(self):
        """The next event: its id, and its data as a value."""
        fields = {}
        while True:
            line = self.process.stdout.readline()
            assert line, "the stream ended"
            if line == "\n" and "data" in fields:
                assert fields["event"] == "state"
                return int(fields["id"]), json.loads(fields["data"])
            name, _, value = line.rstrip("\n").partition(": ")
            fields[name] = value

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def test_the_stream_has_every_change_and_what_was_missed(held_door):
    held_door.host.ports = {name: held_door.host.port(name) for name in ("control", "stream", "ingest", "plugin")}
    stream = Stream(held_door)
    place, present = stream.next()
    assert present["state"] == "onHold"
    held_door.host.ok("startOperation")
    place, change = stream.next()
    assert (change["state"], change["command"]) == ("operating", "startOperation")
    stream.close()
    held_door.host.ok("holdOperation")
    held_door.host.restart(hard=True)
    held_door.host.ok("startOperation")
    wait_until(lambda: held_door.curl("/readyz").status == 200, "the host to be found again")
    stream = Stream(held_door, last=place)
    records = [each for each in held_door.host.records() if each["n"] > place and each.get("changed") is not False]
    assert [stream.next()[1] for _ in records] == records
    held_door.host.ok("kill")
    assert stream.next()[1]["state"] == "killed"
    # A place past the end is another history's: the present comes first.
    late = Stream(held_door, last=10 ** 6)
    assert late.next()[1]["state"] == "killed"
    late.close()
    problem(held_door.curl("/v1/stream", Last_Event_ID="x"), 400, "invalidArgument")
    os.kill(held_door.process.pid, signal.SIGTERM)
    assert held_door.process.wait(PATIENCE) == 0
    assert stream.process.wait(PATIENCE) == 0
    stream.close()


# -- browsers

def test_pages_ask_only_if_their_origin_may(held, gateways):
    gateway = gateways(held, "--origin", "https://shop.example")
    problem(gateway.send(event(1), Origin="https://evil.example"), 403, "forbidden")
    problem(gateway.curl("/v1/state", Origin="https://evil.example"), 403, "forbidden")
    problem(gateway.curl("/v1/state", Host="evil.example"), 421, "misdirected")
    assert held.state()["gated"] == 0
    answer = gateway.send(event(1), Origin="https://shop.example")
    assert answer.headers["access-control-allow-origin"] == "https://shop.example" and "vary" in answer.headers
    asked = gateway.curl("/v1/events", "-X", "OPTIONS", Origin="https://shop.example",
                         Access_Control_Request_Method="POST", Access_Control_Request_Headers="content-type,x-y")
    assert (asked.status, asked.headers["access-control-allow-headers"]) == (204, "content-type")
    assert asked.headers["access-control-allow-credentials"] == "true"


# -- metrics

def test_metrics_are_what_prometheus_reads(open_door):
    collector = open_door.host.collector("odd\\name\"s")
    open_door.send(events(1, 3), BATCH)
    collector.take(3)
    open_door.command("hold")
    # Counted once the answer is out, which is after it arrived here.
    wait_until(lambda: 'path="/v1/events",status="202"' in open_door.curl("/metrics").text, "the request to be counted")
    text = open_door.curl("/metrics").text
    checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True,
                             timeout=PATIENCE)
    assert checked.returncode == 0 and not checked.stderr, checked
    for line in ("holdgate_up 1", "holdgate_events_accepted_total 3", 'holdgate_gate_transitions_total{state="onHold"} 1',
                 'holdgate_gate_state{state="onHold"} 1', 'holdgate_gate_state{state="operating"} 0',
                 'holdgate_collector_lag_events{plugin="odd\\\\name\\"s"} 0', "holdgate_sync_failures_total 0"):
        assert line + "\n" in text, line
    for name in ("holdgate_commit_duration_seconds", "holdgate_commit_size_bytes", "holdgate_drain_duration_seconds"):
        assert re.search(rf'^{name}_bucket{{le="\+Inf"}} [1-9]', text, re.M), name
    open_metrics = open_door.curl("/metrics", Accept="application/openmetrics-text")
    assert open_metrics.headers["content-type"].startswith("application/openmetrics-text")
    assert open_metrics.text.endswith("# EOF\n")


# -- peers that are slow or lie

def connect(gateway):
    return socket.create_connection(("127.0.0.1", gateway.port), PATIENCE)


HEAD = b"POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize("text", [
    HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n{}   ", HEAD + b"Content-Length: -1\r\n\r\n{}",
    HEAD + b"Content-Length: 99999999999999999999\r\n\r\n{}", HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n",
    b"GARBAGE\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 20000 + b"\r\n", b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n\r\n",
    b"GET /v1/state HTTP/1.1\r\n\r\n", b"POST /v1/events HTTP/1.1\r\nHost: localhost\r\n a\r\n\r\n",
], ids=["two lengths", "negative", "overflow", "chunk", "no request", "many headers", "long path", "no host", "folded"])
def test_what_is_no_request_brings_no_event_and_harms_nobody(held_door, text):
    with connect(held_door) as peer:
        try:
            peer.sendall(text)
            answer = peer.makefile("rb").readline()
        except ConnectionError:
            answer = b""
    assert answer == b"" or answer.split()[1][:1] in (b"4", b"5"), answer
    assert held_door.host.state()["gated"] == 0
    assert held_door.send(event(1)).status == 202


def test_a_body_that_ends_early_brings_no_event(held_door):
    body = json.dumps(event(1)).encode()
    for _ in range(20):
        with connect(held_door) as peer:
            peer.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % (len(body) + 1) + body)
        with connect(held_door) as peer:
            peer.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(body) + body + b"\r\n")
    assert held_door.send(event(2)).status == 202
    assert held_door.host.state()["gated"] == 1


def test_requests_behind_each_other_are_answered_in_their_order(held_door):
    with connect(held_door) as peer:
        body = json.dumps(event(1)).encode()
        post = HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body
        peer.sendall((post + b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n") * 20)
        text = b""
        while text.count(b"HTTP/1.1 ") < 40:
            piece = peer.recv(65536)
            assert piece, text
            text += piece
    assert re.findall(rb"HTTP/1.1 (\d+)", text) == [b"202", b"404"] * 20
    assert held_door.host.state()["gated"] == 20


def test_peers_that_stop_in_the_middle_keep_nobody_out(held_door):
    peers = [connect(held_door) for _ in range(300)]
    for number, peer in enumerate(peers):
        peer.sendall(HEAD + (b"" if number % 2 else b"Content-Length: 1000\r\n\r\n{"))
    assert held_door.send(event(1)).status == 202
    for peer in peers:
        peer.close()
    assert held_door.host.state()["gated"] == 1


def test_peers_that_go_while_the_host_hangs_harm_nobody(held, gateways):
    gateway = gateways(held, "--timeout", "2000")
    gateway.send(event(0))
    held.signal(signal.SIGSTOP)
    body = json.dumps(event(1)).encode()
    for _ in range(100):
        with connect(gateway) as peer:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
            peer.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    assert gateway.curl("/healthz").status == 200
    held.signal(signal.SIGCONT)
    wait_until(lambda: gateway.send(event(2)).status == 202, "the gateway to serve again")
    os.kill(gateway.process.pid, signal.SIGTERM)
    assert gateway.process.wait(PATIENCE) == 0
