"""The bundled plugin `session`, beside a real host."""

import pytest

from bundled import Bundled
from holdgate import Collector, Host, free_ports, wait_until


@pytest.fixture
def returning():
    """A host on ports of its own, to which its plugin finds back."""
    host = Host("--operating", ports=free_ports())
    yield host
    host.close()


class Listener(Collector):
    """A collector of what `session` tells, to which the reports themselves, sent to every plugin, are nothing."""

    def receive(self):
        while True:
            message = super().receive()
            if message["type"] != "app":
                return message


class Session(Bundled):
    def __init__(self, host):
        super().__init__(host, "session")
        self.listen()

    def listen(self):
        self.collector = Listener(self.host, "sessions")
        self.collector.hello(types=["app.*", "session.*"])

    def report(self, phase, app="shop"):
        return self.host.ok("appLifecycle", app=app, phase=phase)["published"]

    def next(self, count):
        """The next `count` events, in order."""
        return [each for _, each in self.collector.take(count)]


@pytest.fixture
def session(returning):
    plugin = Session(returning)
    yield plugin
    plugin.close()


def told(events):
    return [(each["type"], each["subject"]) for each in events]


def test_a_session_lasts_from_foreground_to_background(session):
    assert session.report("foreground")
    assert session.report("background")
    events = session.next(4)
    assert told(events) == [("app.foreground", "shop"), ("session.start", "shop"),
                            ("app.background", "shop"), ("session.stop", "shop")]
    start, stop = events[1]["data"], events[3]["data"]
    assert (stop["session"], stop["endedBy"]) == (start["session"], "background")
    assert 0 <= stop["durationMs"] < 20_000


def test_over_a_hold_nothing_is_told_and_then_once_what_is_true(returning, session):
    session.report("foreground")
    session.report("foreground", app="game")
    assert len(session.next(4)) == 4
    returning.ok("holdOperation", waitMs=10_000)
    assert not session.report("background", app="game")
    assert not session.report("foreground", app="mail")
    assert not session.report("background", app="mail")
    session.collector.nothing()
    returning.ok("startOperation")
    events = session.next(6)
    ended, now = events[:2], events[2:]
    assert [(each["subject"], each["data"]["endedBy"]) for each in ended] == [("shop", "hold"), ("game", "hold")]
    assert sorted(told(now)) == [("app.background", "game"), ("app.background", "mail"),
                                 ("app.foreground", "shop"), ("session.start", "shop")]
    opened = returning.state()["since"]
    assert all(each["time"] >= opened for each in now)
    session.collector.nothing()


def test_after_a_crash_of_the_host_sessions_go_on(returning, session):
    session.report("foreground")
    first = session.next(2)
    attachments = session.attachments()
    returning.restart(hard=True)
    session.collector.close()
    session.listen()
    wait_until(lambda: session.attachments() > attachments, "session to come back")
    session.report("background")
    seen = {}
    while not any(each["type"] == "session.stop" for each in seen.values()):
        for seq, each in session.collector.take(1):
            seen[seq] = each
    stops = [each for each in seen.values() if each["type"] == "session.stop"]
    assert [each["data"]["session"] for each in stops] == [first[1]["data"]["session"]]


def test_told_to_end_it_ends_its_sessions(session):
    session.report("foreground")
    assert len(session.next(2)) == 2
    assert session.stop() == 0
    assert [each["data"]["endedBy"] for each in session.next(1)] == ["lost"]


def test_at_a_kill_it_forgets_all(returning, session):
    session.report("foreground")
    assert len(session.next(2)) == 2
    returning.ok("kill")
    assert returning.error("appLifecycle", app="shop", phase="background") == "notOperating"
    assert session.stop() == 0
