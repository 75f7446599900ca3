"""App lifecycle reports: published while operating, remembered while held, told anew by a full restart."""

import json

import pytest

from holdgate import event, events, receive


def report(host, app, phase="foreground"):
    """Returns whether it was published."""
    return host.ok("appLifecycle", app=app, phase=phase)["published"]


def told(messages):
    return [(each.topic, each.body["app"], each.body["phase"]) for each in messages if each.topic.startswith("app.")]


def background(app):
    return ("app.background", app, "background")


def foreground(app):
    return ("app.foreground", app, "foreground")


def test_published_while_operating(operating):
    stream = operating.sub("app.").joined()
    assert report(operating, "shop") is True
    assert report(operating, "shop", "background") is True
    assert report(operating, "shop") is True
    messages = stream.rest()
    assert told(messages) == [foreground("shop"), background("shop"), foreground("shop")]
    assert [(each.seq, each.header["prev"]) for each in messages] == [(1, 0), (1, 0), (2, 1)]
    assert all(each.header["launch"] == operating.launch and each.body["time"].endswith("Z") for each in messages)


def test_plugins_are_told_as_well(operating):
    collector = operating.collector(durable=False)
    report(operating, "shop", "background")
    message = collector.expect("app")
    assert (message["app"], message["phase"]) == ("shop", "background")


@pytest.mark.parametrize("hard", [None, False, True])
def test_held_and_then_told_by_a_full_restart(held, hard):
    stream = held.sub("app.").joined()
    assert report(held, "a") is False
    assert report(held, "b") is False
    assert report(held, "a", "background") is False
    assert stream.rest() == []
    if hard is not None:
        held.restart(hard=hard)
        stream = held.sub("app.").joined()
    held.ok("startOperation")
    assert told(stream.rest()) == [foreground("b"), background("a")]
    held.ok("holdOperation", waitMs=10_000)
    held.ok("startOperation")
    assert told(stream.rest()) == [foreground("b"), background("a")], "each known app, whenever it was reported"


def test_after_the_state_and_before_the_queue(held):
    held.collector().send("bye")
    stream = held.sub("").joined()
    collector = held.collector()
    report(held, "a")
    held.accept(events(1, 3))
    report(held, "b")
    held.ok("startOperation")
    order = [each.topic for each in stream.rest() if each.topic.split(".")[0] in ("state", "app", "event")]
    assert order == ["state", "app.foreground", "app.foreground"] + 3 * ["event.demo.test"]
    kinds = []
    while "deliver" not in kinds:
        message = json.loads(receive(collector.socket)[0])
        if message["type"] != "heartbeat":
            kinds.append(message.get("app") or message.get("state") or message["type"])
    assert kinds == ["operating", "a", "b", "deliver"]


def test_a_cancelled_hold_tells_only_what_was_reported_meanwhile(operating):
    report(operating, "before")
    operating.slow_collector()
    assert operating.ok("holdOperation")["state"] == "holdRequested"
    stream = operating.sub("app.").joined()
    assert report(operating, "meanwhile") is False
    operating.ok("startOperation")
    assert told(stream.rest()) == [foreground("meanwhile")]
    assert operating.ok("holdOperation")["state"] == "holdRequested"
    operating.restart(hard=True)
    assert operating.state()["state"] == "holdRequested"
    stream = operating.sub("app.").joined()
    operating.ok("startOperation")
    assert stream.rest() == [], "nothing was reported in the second hold"


def test_killed_refuses_and_forgets(held):
    report(held, "a")
    held.ok("kill")
    reply = held.req("appLifecycle", app="b", phase="foreground")
    assert reply["error"]["code"] == "notOperating" and reply["error"]["retryable"] is False
    held.ok("endLaunch")
    held.ended()
    held.start("--holding")
    stream = held.sub("app.").joined()
    held.ok("startOperation")
    assert stream.rest() == []


def test_a_new_launch_knows_the_apps(held):
    report(held, "a")
    held.ok("endLaunch")
    held.ended()
    held.start("--holding")
    stream = held.sub("app.").joined()
    held.ok("startOperation")
    assert told(stream.rest()) == [foreground("a")]


def test_the_latest_1024_apps_are_known_and_nobody_misses_one(held):
    for number in range(1025):
        report(held, f"app-{number}")
    collector = held.collector(durable=False)
    stream = held.sub("app.").joined()
    held.ok("startOperation")
    wanted = [f"app-{number}" for number in range(1, 1025)]
    assert [app for _, app, _ in told(stream.rest())] == wanted
    assert [collector.expect("app")["app"] for _ in wanted] == wanted


@pytest.mark.parametrize("members", [
    {}, {"app": "a"}, {"phase": "background"}, {"app": "", "phase": "background"}, {"app": 1, "phase": "background"},
    {"app": "a", "phase": "asleep"}, {"app": "a", "phase": None}, {"app": "a" * 129, "phase": "background"},
    {"app": "a\n", "phase": "background"}, {"app": "a", "phase": "background", "key": "k"},
])
def test_a_wrong_report_is_refused(shared, members):
    assert shared.error("appLifecycle", **members) == "invalidArgument"


def test_events_pass_as_before(operating):
    collector = operating.collector()
    report(operating, "shop")
    operating.accept([event(1)])
    collector.expect("app")
    assert len(collector.take(1)) == 1
