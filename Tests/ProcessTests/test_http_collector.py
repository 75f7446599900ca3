"""The bundled collector that posts to a URL: whatever the receiver does, each event arrives, in order."""

import json
import os
import ssl
import subprocess

import pytest

import holdgate
from bundled import Bundled
from holdgate import BIN, PATIENCE, environment, event, events, wait_until
from receiver import CLOSE, ENDLESS, HEADERS, RESET, SHORT, STALL, Receiver, script

FAST = ("--backoff-ms", "20", "--max-backoff-ms", "100")


@pytest.fixture
def receivers():
    """Starts receivers: `receivers(behave)`."""
    started = []

    def start(*arguments, **keys):
        started.append(Receiver(*arguments, **keys))
        return started[-1]

    yield start
    for receiver in started:
        receiver.close()


@pytest.fixture
def collectors():
    """Starts http-collectors that are attached: `collectors(host, receiver)`."""
    started = []

    def start(host, receiver, *flags, url=None):
        started.append(Bundled(host, "http-collector", "--url", url or receiver.url(), *FAST, *flags))
        return started[-1]

    yield start
    for collector in started:
        collector.close()
        print(f"--- http-collector\n{collector.log()}")


def names(first, count):
    return [f"e{number}" for number in range(first, first + count)]


def drained(host):
    """Waits until everything is acknowledged."""
    reply = host.ok("holdOperation", waitMs=int(PATIENCE * 1000))
    assert reply["state"] == "onHold" and not reply.get("undelivered"), reply


# -- what is posted


def test_events_are_posted_as_they_came(operating, receivers, collectors):
    receiver = receivers()
    collectors(operating, receiver)
    operating.ingest_raw(b"{}", holdgate.lines(events(1, 500, data={"text": "ü\"\\", "n": 1.50})))
    receiver.wait_for(500)
    drained(operating)
    assert receiver.ids == names(1, 500)
    texts = [json.dumps(each) for each in events(1, 500, data={"text": "ü\"\\", "n": 1.50})]
    for post in receiver.posts:
        numbers = [int(number[1:]) for number in post.ids]
        assert post.body.decode() == "[" + ",".join(texts[number - 1] for number in numbers) + "]"
        assert post.headers["content-type"] == "application/cloudevents-batch+json"
    assert any(post.is_compressed for post in receiver.posts)


def test_the_evidence_goes_along(operating, receivers, collectors):
    receiver = receivers()
    collector = collectors(operating, receiver)
    receiver.behave = lambda post: 503 if receiver.behave is before else 200
    before = receiver.behave
    operating.accept(events(1, 3))
    receiver.wait_for_posts(1)
    operating.ok("holdOperation")
    operating.accept(events(4, 2))
    operating.ok("startOperation")
    # Behind the three that are tried again and again.
    receiver.behave = lambda post: 200
    receiver.wait_for(5)
    taken = [post for post in receiver.posts if post.action == 200]
    seqs = operating.records()
    opened = [record["seq"] for record in seqs if record["state"] == "operating"]
    assert [post.headers["holdgate-under"] for post in taken] == [f"1-3={opened[0]}", f"4-5={opened[1]}"]
    for post in taken:
        assert post.headers["holdgate-launch"] == operating.launch
        assert post.headers["holdgate-collector"] == "http-collector"
        first, last = post.headers["holdgate-under"].split("=")[0].split("-")
        assert post.key.startswith(f"http-collector/{operating.launch}/{first}-{last}/")
    assert collector.stop() == 0


def test_batches_are_bounded(operating, receivers, collectors):
    receiver = receivers(script(then=200))
    collectors(operating, receiver, "--batch-events", "10", "--batch-bytes", "2000", "--compress", "none")
    operating.accept(events(1, 100) + events(101, 5, data="x" * 900) + [event(106, data="x" * 5000)] + events(107, 3))
    receiver.wait_for(109)
    assert receiver.ids == names(1, 109)
    assert max(len(post.events) for post in receiver.posts) == 10
    assert all(len(post.raw) <= 2000 or len(post.events) == 1 for post in receiver.posts)
    assert not any(post.is_compressed for post in receiver.posts)


def test_a_connection_is_used_again(operating, receivers, collectors):
    receiver = receivers()
    collectors(operating, receiver)
    for number in range(1, 21):
        operating.accept([event(number)])
        receiver.wait_for(number)
    assert receiver.accepted == 1


def test_a_token_and_headers_go_along_and_the_token_shows_up_nowhere(operating, receivers, collectors, tmp_path):
    token = tmp_path / "token"
    token.write_text("first-s3cret\n")
    token.chmod(0o600)
    receiver = receivers(
        lambda post: 200 if post.headers["authorization"] == "Bearer second-s3cret"
        else (401, {}, b"I know no " + post.headers["authorization"].encode()))
    collector = collectors(operating, receiver, "--token-file", token, "--header", "X-Tenant: one",
                           "--header=X-Other: a: b")
    operating.accept(events(1, 3))
    wait_until(lambda: "see to --token-file" in collector.log(), "a word of the token")
    new = tmp_path / "new"
    new.write_text("second-s3cret")
    new.chmod(0o600)
    new.rename(token)
    receiver.wait_for(3)
    assert receiver.posts[0].headers["x-tenant"] == "one" and receiver.posts[0].headers["x-other"] == "a: b"
    assert "s3cret" not in collector.log() and "I know no Bearer ***" in collector.log()
    assert b"s3cret" not in open(f"/proc/{collector.process.pid}/cmdline", "rb").read()
    wait_until(lambda: "the receiver is back" in collector.log(), "the good news")


# -- a receiver in trouble


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 401, 403, 404, 405, 410, 415, 301, 302, 307, 308])
def test_what_says_nothing_of_events_is_tried_again_for_ever(operating, receivers, collectors, status):
    receiver = receivers(script(*[status] * 4))
    collector = collectors(operating, receiver)
    operating.accept(events(1, 3))
    receiver.wait_for(3)
    drained(operating)
    assert receiver.ids == names(1, 3) and len({post.key for post in receiver.posts}) == 1
    assert operating.ok("deadLetters")["deadLetters"] == []
    assert f"status {status}" in collector.log()


@pytest.mark.parametrize("action", [CLOSE, RESET, SHORT, ENDLESS, HEADERS])
def test_an_answer_that_is_not_whole_is_none(operating, receivers, collectors, action):
    receiver = receivers(script(action, action))
    collectors(operating, receiver)
    operating.accept(events(1, 30))
    receiver.wait_for_posts(3)
    operating.accept(events(31, 30))
    receiver.wait_for(60)
    drained(operating)
    assert receiver.once() == names(1, 60)
    lost = [post for post in receiver.posts if post.action == action]
    assert len({post.key for post in [*lost, receiver.posts[len(lost)]]}) == 1, "sent again under the same key"


def test_a_slow_receiver_is_given_up_after_a_time_and_heartbeats_go_on(operating, receivers, collectors):
    stream = operating.sub("plugin").joined()
    receiver = receivers(script(STALL))
    collector = collectors(operating, receiver, "--timeout-ms", "4000")
    operating.accept(events(1, 3))
    receiver.wait_for(3)
    assert "takes nothing, attempt 1" in collector.log() and len({post.key for post in receiver.posts}) == 1
    # Longer than three heartbeats, and the host has not missed one.
    assert [message.body for message in stream.rest() if message.body.get("event") == "silent"] == []
    assert collector.attachments() == 1


def test_it_waits_as_long_as_it_is_asked_to(operating, receivers, collectors):
    receiver = receivers(script((429, {"Retry-After": "1"})))
    collector = collectors(operating, receiver)
    operating.accept(events(1, 3))
    receiver.wait_for(3)
    assert len(receiver.posts) == 2
    assert "the next in 1000 ms: status 429" in collector.log()


def test_it_waits_no_longer_than_it_may(operating, receivers, collectors):
    receiver = receivers(script((503, {"Retry-After": "86400"})))
    collector = collectors(operating, receiver, "--max-retry-after-ms", "300")
    operating.accept(events(1, 3))
    receiver.wait_for(3)
    assert "the next in 300 ms: status 503" in collector.log()


def test_a_receiver_that_is_restarted_misses_nothing(operating, receivers, collectors):
    receiver = receivers()
    collector = collectors(operating, receiver, "--batch-events", "7")
    for round in range(5):
        operating.accept(events(100 * round, 50))
        receiver.wait_for(100 * round + 10)
        port = receiver.restart()
        operating.accept(events(100 * round + 50, 50))
        wait_until(lambda: collector.log().count("attempt 1,") > round, "the receiver to be missed")
        receiver.open(port)
    receiver.wait_for(500)
    drained(operating)
    assert receiver.once() == names(0, 500)
    assert collector.log().count("the receiver is back") == 5


def test_a_long_answer_that_refuses_is_read_in_part(operating, receivers, collectors):
    receiver = receivers(lambda post: (422, {}, b"\x1b[31mno\r\nno " * 50_000))
    collectors(operating, receiver)
    operating.accept(events(1, 2))
    wait_until(lambda: len(operating.ok("deadLetters")["deadLetters"]) == 2, "dead letters")
    [reason, _] = [letter["reason"] for letter in operating.ok("deadLetters")["deadLetters"]]
    assert reason.startswith("status 422, [31mno no ") and len(reason) < 300


# -- bad events


def test_bad_events_are_found_and_all_others_arrive(operating, receivers, collectors):
    bad = {"e3", "e4", "e90", "e100"}
    receiver = receivers(lambda post: (400, {}, b"not this") if bad & set(post.ids) else 200)
    collectors(operating, receiver)
    operating.accept(events(1, 100))
    drained(operating)
    assert receiver.ids == [each for each in names(1, 100) if each not in bad]
    letters = operating.ok("deadLetters")["deadLetters"]
    assert [letter["seq"] for letter in letters] == [3, 4, 90, 100]
    assert {letter["reason"] for letter in letters} == {"status 400, not this"}


def test_too_large_batches_become_smaller_and_stay_so(operating, receivers, collectors):
    receiver = receivers(lambda post: 413 if len(post.body) > 20_000 else 200)
    collector = collectors(operating, receiver)
    operating.accept(events(1, 1000, data="x" * 100))
    receiver.wait_for(1000)
    refused = sum(post.action == 413 for post in receiver.posts)
    operating.accept(events(1001, 1000, data="x" * 100))
    receiver.wait_for(2000)
    drained(operating)
    assert receiver.ids == names(1, 2000)
    assert sum(post.action == 413 for post in receiver.posts) == refused > 0
    assert "takes no batches of that size" in collector.log()
    assert operating.ok("deadLetters")["deadLetters"] == []


def test_a_receiver_that_refuses_everything_is_not_believed(operating, receivers, collectors):
    receiver = receivers(lambda post: 400)
    collector = collectors(operating, receiver, "--max-rejects", "5")
    operating.accept(events(1, 20))
    wait_until(lambda: "--max-rejects" in collector.log(), "the end of patience")
    receiver.behave = lambda post: 200
    receiver.wait_for(15)
    drained(operating)
    assert receiver.ids == names(6, 15)
    assert [letter["seq"] for letter in operating.ok("deadLetters")["deadLetters"]] == [1, 2, 3, 4, 5]


def test_compression_is_dropped_where_it_is_not_taken(operating, receivers, collectors):
    receiver = receivers(lambda post: 415 if post.is_compressed else 200)
    collector = collectors(operating, receiver)
    for round in range(3):
        operating.accept(events(100 * round, 100))
        receiver.wait_for(100 * round + 100)
    assert receiver.ids == names(0, 300)
    assert sum(post.is_compressed for post in receiver.posts) == 1
    assert collector.log().count("takes no compressed bodies") == 1


# -- redirects


def test_redirects_within_one_server_are_followed_where_that_is_wanted(operating, receivers, collectors):
    receiver = receivers(lambda post: 200 if post.path == "/new" else (308, {"Location": "/new"}))
    collectors(operating, receiver, "--redirects", "same-origin")
    operating.accept(events(1, 3))
    receiver.wait_for(3)
    assert [post.path for post in receiver.posts] == ["/events", "/new"]


def test_redirects_to_other_servers_are_never_followed(operating, receivers, collectors):
    other = receivers()
    receiver = receivers(script(*[(307, {"Location": other.url()})] * 3))
    collector = collectors(operating, receiver, "--redirects", "same-origin")
    operating.accept(events(1, 3))
    receiver.wait_for(3)
    assert other.posts == [] and f"redirects to {other.url()}" in collector.log()


# -- the host


def test_it_keeps_every_promise_of_a_plugin(receivers):
    receiver = receivers()
    done = holdgate.run_command(None, "plugins", "check", "--json", "--timeout", "4s", "--", str(BIN / "http-collector"),
                                "--url", receiver.url())
    card = json.loads(done.stdout)
    assert [row for row in card["promises"] if row["verdict"] == "broken"] == [], card
    assert done.returncode == 0 and card["roles"] == ["attach", "collect"]


def test_a_host_starts_it_by_itself(hosts, receivers, tmp_path):
    receiver = receivers()
    (tmp_path / "http-collector").symlink_to(holdgate.ROOT / "plugins/http-collector")
    os.environ["HTTP_COLLECTOR_URL"] = receiver.url()
    try:
        host = hosts("--operating", "--plugins", str(tmp_path))
    finally:
        del os.environ["HTTP_COLLECTOR_URL"]
    wait_until(lambda: any(row["state"] == "attached" for row in host.ok("plugins")["plugins"]), "it to attach")
    host.accept(events(1, 3))
    receiver.wait_for(3)
    assert host.stop() == 0


def test_a_hold_drains_through_it(operating, receivers, collectors):
    receiver = receivers(script(503, 503))
    collectors(operating, receiver, "--batch-events", "50")
    operating.accept(events(1, 1000))
    drained(operating)
    operating.accept([event(1001)])
    assert receiver.ids == names(1, 1000)


@pytest.mark.parametrize("trouble", [503, STALL])
def test_after_a_kill_nothing_is_posted_any_more(hosts, receivers, collectors, trouble):
    host = hosts("--operating", ports=holdgate.free_ports())
    receiver = receivers(lambda post: trouble)
    collector = collectors(host, receiver)
    host.accept(events(1, 100))
    receiver.wait_for_posts(1)
    before = collector.attachments()
    host.ok("kill")
    if trouble == STALL:
        receiver.ended.get(timeout=PATIENCE)
    wait_until(lambda: collector.attachments() > before, "it to hear of the kill")
    count = len(receiver.posts)
    receiver.behave = lambda post: 200
    host.restart("--new-launch", "--operating")
    wait_until(lambda: collector.attachments() > before + 1, "it to attach to the next launch")
    host.accept(events(101, 3))
    receiver.wait_for(3)
    assert receiver.ids == names(101, 3), "of those before nothing came"
    assert all(set(post.ids) <= set(names(101, 3)) for post in receiver.posts[count:])


def test_a_host_that_is_restarted_costs_no_event(hosts, receivers, collectors):
    host = hosts("--operating", ports=holdgate.free_ports())
    receiver = receivers()
    collector = collectors(host, receiver, "--batch-events", "7")
    for round in range(4):
        host.accept(events(100 * round, 100))
        receiver.wait_for(100 * round + 1)
        before = collector.attachments()
        host.restart(hard=round % 2 == 0)
        wait_until(lambda: collector.attachments() > before, "it to attach again")
    receiver.wait_for(400)
    drained(host)
    assert receiver.ids == names(0, 400), "it knows what it has posted"


def test_while_no_host_is_there_nothing_is_posted(hosts, receivers, collectors):
    host = hosts("--operating", ports=holdgate.free_ports())
    receiver = receivers(lambda post: 503)
    collector = collectors(host, receiver)
    host.accept(events(1, 100))
    receiver.wait_for_posts(2)
    host.stop()
    wait_until(lambda: "the host is away" in collector.log(), "it to miss the host")
    count = len(receiver.posts)
    receiver.behave = lambda post: 200
    host.start()
    receiver.wait_for(100)
    assert receiver.ids == names(1, 100)
    # One may have been under way.
    assert sum(post.action == 503 for post in receiver.posts[count:]) <= 1


def test_killed_at_any_time_it_loses_nothing(operating, receivers, collectors):
    receiver = receivers()
    collector = collectors(operating, receiver, "--batch-events", "7")
    for round in range(8):
        operating.accept(events(200 * round, 200))
        receiver.wait_for(200 * round + 1)
        collector.kill9()
        collector.start()
    receiver.wait_for(1600)
    drained(operating)
    firsts = list(dict.fromkeys(receiver.ids))
    assert firsts == names(0, 1600), "each at least once, in order"


def test_it_ends_at_once_while_a_receiver_lets_it_wait(operating, receivers, collectors):
    receiver = receivers(lambda post: STALL)
    collector = collectors(operating, receiver)
    operating.accept([event(1)])
    receiver.stalled.get(timeout=PATIENCE)
    assert collector.stop() == 0
    receiver.ended.get(timeout=PATIENCE)
    collector.start()
    receiver.stalled.get(timeout=PATIENCE)
    newer = operating.collector("http-collector")
    assert collector.process.wait(PATIENCE) == 0
    assert [seq for seq, _ in newer.take(1)] == [1]
    assert "another http-collector has taken over" in collector.log()


# -- TLS


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    """A certificate authority, and certificates of it: `authority(name, for)` → context of a server."""
    folder = tmp_path_factory.mktemp("tls")

    def openssl(*arguments, text=None):
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, cwd=folder, input=text,
                       timeout=PATIENCE)

    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "ca.key",
            "-out", "ca.pem", "-days", "2", "-subj", "/CN=Test authority")

    def certificate(name, subject):
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", f"{name}.key",
                "-out", f"{name}.csr", "-subj", f"/CN={name}")
        (folder / f"{name}.ext").write_text(f"subjectAltName={subject}\n")
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days",
                "2", "-out", f"{name}.pem", "-extfile", f"{name}.ext")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / f"{name}.pem", folder / f"{name}.key")
        return context

    certificate.folder = folder
    return certificate


def test_a_receiver_that_the_authority_vouches_for_is_posted_to(operating, receivers, collectors, authority):
    receiver = receivers(tls=authority("right", "IP:127.0.0.1"))
    collectors(operating, receiver, "--ca-file", authority.folder / "ca.pem")
    operating.accept(events(1, 100))
    receiver.wait_for(100)
    assert receiver.ids == names(1, 100)


@pytest.mark.parametrize("subject, knows", [("IP:127.0.0.1", False), ("DNS:other.example", True)])
def test_any_other_receiver_gets_nothing(operating, receivers, collectors, authority, subject, knows):
    receiver = receivers(tls=authority("wrong", subject))
    collector = collectors(operating, receiver, *(["--ca-file", authority.folder / "ca.pem"] if knows else []))
    operating.accept(events(1, 100))
    wait_until(lambda: "takes nothing, attempt 1" in collector.log(), "the refusal")
    wait_until(lambda: receiver.accepted > 2, "further attempts")
    assert receiver.posts == []
    assert ("no alternative certificate subject name matches" if knows else "unable to get") in collector.log()


def test_a_client_certificate_is_shown(operating, receivers, collectors, authority):
    context = authority("server", "IP:127.0.0.1")
    context.load_verify_locations(authority.folder / "ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    authority("client", "DNS:client")
    receiver = receivers(tls=context)
    collectors(operating, receiver, "--ca-file", authority.folder / "ca.pem", "--client-cert",
               authority.folder / "client.pem", "--client-key", authority.folder / "client.key")
    operating.accept(events(1, 3))
    receiver.wait_for(3)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_an_old_tls_is_refused(operating, receivers, collectors, authority):
    context = authority("old", "IP:127.0.0.1")
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
    receiver = receivers(tls=context)
    collector = collectors(operating, receiver, "--ca-file", authority.folder / "ca.pem")
    operating.accept(events(1, 3))
    wait_until(lambda: "takes nothing, attempt 1" in collector.log(), "the refusal")
    assert receiver.posts == []


# -- the environment and the command line


def test_no_proxy_of_the_environment_is_used_unless_it_is_asked_for(operating, receivers, tmp_path):
    receiver, proxy = receivers(), receivers()
    keys = {name: operating.address(name) for name in holdgate.ENDPOINTS}
    surroundings = {**environment(**keys), "http_proxy": proxy.url(""), "NO_PROXY": "", "no_proxy": ""}
    for flags, expected in (((), receiver), (("--proxy", "environment"), proxy), (("--proxy", proxy.url("")), proxy)):
        count = len(expected.posts)
        process = subprocess.Popen([str(BIN / "http-collector"), "--url", receiver.url(), *flags], env=surroundings,
                                   stderr=subprocess.DEVNULL)
        try:
            wait_until(lambda: any(row["state"] == "attached" for row in operating.ok("plugins")["plugins"]), "it")
            operating.accept([event(1)])
            expected.wait_for_posts(count + 1)
        finally:
            process.terminate()
            assert process.wait(PATIENCE) == 0
    assert [len(receiver.posts), len(proxy.posts)] == [1, 2]


@pytest.mark.parametrize("mode", [0o644, 0o660])
def test_a_token_that_others_can_read_is_not_used(operating, receivers, collectors, tmp_path, mode):
    token = tmp_path / "token"
    token.write_text("s3cret")
    token.chmod(mode)
    receiver = receivers()
    collector = collectors(operating, receiver, "--token-file", token)
    operating.accept(events(1, 3))
    wait_until(lambda: "chmod 600" in collector.log(), "what to do")
    assert receiver.posts == []
    token.chmod(0o600)
    receiver.wait_for(3)


@pytest.mark.parametrize("flags, problem", [
    ([], "--url is missing"),
    (["--url", "ftp://example.org/"], "only http"),
    (["--url", "https://me:s3cret@example.org/"], "--token-file"),
    (["--url", "http://example.org/", "--header", "Authorization: Bearer s3cret"], "--token-file"),
    (["--url", "http://example.org/", "--batch-events", "0"], "--batch-events 0"),
    (["--url", "http://example.org/", "--insecure"], "unknown argument"),
])
def test_wrong_usage(flags, problem):
    done = subprocess.run([str(BIN / "http-collector"), *flags], capture_output=True, text=True, timeout=PATIENCE,
                          env=environment())
    assert done.returncode == 2 and problem in done.stderr and "s3cret" not in done.stderr
