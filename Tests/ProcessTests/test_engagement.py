"""The bundled plugin `engagement`, asked through a real host."""

import json
import subprocess

import pytest

from bundled import Bundled
from holdgate import BIN, PATIENCE, environment, wait_until

SEED = {
    "permissions": {"email": True},
    "categories": [{"id": "news", "name": "News", "enabled": True}],
    "coupons": [{"id": f"c-{n}", "code": f"C{n}", "title": "t", "message": "m", "time": f"2026-03-{n:02}T12:00:00.000Z"}
                for n in range(1, 13)],
    "inbox": [{"id": f"m-{n}", "category": "news" if n % 2 else "ads", "title": "t", "message": "m",
               "status": "unread", "time": f"2026-03-{n:02}T12:00:00.000Z"} for n in range(1, 8)],
}


class Engagement(Bundled):
    def __init__(self, host):
        seed = host.base / "seed.json"
        seed.write_text(json.dumps(SEED))
        super().__init__(host, "engagement", "--store", host.base / "engagement.sqlite", "--seed", seed)

    def ask(self, service, **arguments):
        """The service's value."""
        return self.host.ok("request", service=service, arguments=arguments)["value"]

    def error(self, service, **arguments):
        return self.host.error("request", service=service, arguments=arguments)


@pytest.fixture
def engagement(operating):
    plugin = Engagement(operating)
    yield plugin
    plugin.close()


def test_every_service_answers(engagement):
    for name, granted in (("email", True), ("sms", False), ("whatsApp", False)):
        assert engagement.ask(f"{name}Permission.get") == {"granted": granted}
        assert engagement.ask(f"{name}Permission.set", granted=not granted) == {"granted": not granted}
        assert engagement.ask(f"{name}Permission.get") == {"granted": not granted}
    page = engagement.ask("coupons.fetch")
    assert [each["id"] for each in page["coupons"]] == [f"c-{n}" for n in range(12, 2, -1)]
    assert (page["page"], page["max"], page["total"]) == (0, 10, 12)
    assert [each["id"] for each in engagement.ask("coupons.fetch", page=1)["coupons"]] == ["c-2", "c-1"]
    assert engagement.ask("inbox.counts") == {"total": 7, "read": 0, "unread": 7}
    assert engagement.ask("inbox.update", items=["m-1", "m-2"], status="read") == {"updated": 2}
    assert engagement.ask("inbox.counts", categories=["news"]) == {"total": 4, "read": 1, "unread": 3}
    page, ids = engagement.ask("inbox.fetch", status="unread", pageSize=2), []
    while True:
        ids += [each["id"] for each in page["items"]]
        if page["isLast"]:
            break
        page = engagement.ask("inbox.next", cursor=page["cursor"])
    assert ids == ["m-7", "m-6", "m-5", "m-4", "m-3"]
    assert engagement.error("inbox.next", cursor=page["cursor"]) == "noMorePages"
    after = {"categories": [{"id": "news", "name": "News", "enabled": False}]}
    assert engagement.ask("categoryPreferences.set", category="news", enabled=False) == after
    assert engagement.ask("categoryPreferences.get") == after


def test_errors_are_those_of_the_document(engagement):
    assert engagement.error("emailPermission.set") == "invalidArgument"
    assert engagement.error("coupons.fetch", max=101) == "invalidArgument"
    assert engagement.error("inbox.fetch", categories=[]) == "invalidArgument"
    assert engagement.error("inbox.next", cursor="made up") == "invalidArgument"
    assert engagement.error("inbox.update", items=["m-1", "gone"], status="read") == "unknownItem"
    assert engagement.error("categoryPreferences.set", category="gone", enabled=True) == "unknownCategory"
    assert engagement.error("fax.send") == "unknownService"
    assert engagement.ask("inbox.counts")["read"] == 0


def test_while_held_it_is_not_asked(operating, engagement):
    operating.ok("holdOperation", waitMs=10_000)
    assert engagement.error("emailPermission.set", granted=False) == "notOperating"
    operating.ok("startOperation")
    assert engagement.ask("emailPermission.get") == {"granted": True}


def test_what_was_set_outlives_a_kill_of_the_process_and_its_seed(operating, engagement):
    assert engagement.ask("smsPermission.set", granted=True) == {"granted": True}
    engagement.kill9()
    # Its requests are nobody's until it is back: which error that is depends on how soon its end is noticed.
    engagement.start()
    assert engagement.ask("smsPermission.get") == {"granted": True}


def test_a_wrong_seed_is_named(operating):
    seed = operating.base / "seed.json"
    seed.write_text('{"coupons":[{"id":"c"}]}')
    result = subprocess.run(
        [str(BIN / "engagement"), "--store", str(operating.base / "s.sqlite"), "--seed", str(seed)],
        capture_output=True, text=True, timeout=PATIENCE, env=environment())
    assert result.returncode == 1
    assert result.stderr == f"engagement: {seed}: coupons[0].code must be a string\n"


def test_the_newer_of_two_takes_over_and_the_older_exits_0(operating, engagement):
    newer = Bundled(operating, "engagement", "--store", operating.base / "other.sqlite")
    assert engagement.process.wait(PATIENCE) == 0
    wait_until(lambda: "has taken over" in engagement.log(), "the older to say so")
    assert newer.host.ok("request", service="inbox.counts")["value"]["total"] == 0
    assert newer.stop() == 0
