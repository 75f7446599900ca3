"""The bundled plugin `geofence`, beside a real host."""

import json

import pytest

from bundled import Bundled
from holdgate import Host, event, free_ports, wait_until

REGIONS = {
    "home": {"latitude": 52.52, "longitude": 13.405, "radiusM": 150},
    "fiji": {"latitude": -17, "longitude": 180, "radiusM": 1000},
}


@pytest.fixture
def returning():
    """A host on ports of its own, to which its plugin finds back."""
    host = Host("--operating", ports=free_ports())
    host.ok("configure", set={"geofences": {"regions": REGIONS}})
    yield host
    host.close()


class Geofence(Bundled):
    """The plugin as a process, and a collector of what it tells."""

    def __init__(self, host):
        self.file = host.base / "geofence/geofence.json"
        super().__init__(host, "geofence", "--dir", host.base / "geofence")
        self.collector = host.collector("crossings", types=["geofence.*"])

    def next(self, count):
        """The next crossings, in order: (type, region, subject)."""
        return [(each["type"][9:], each["data"]["region"], each.get("subject")) for _, each in self.collector.take(count)]


@pytest.fixture
def geofence(returning):
    plugin = Geofence(returning)
    yield plugin
    plugin.close()


def reading(number, latitude, longitude, **members):
    return event(number, type="location.reading", data={"latitude": latitude, "longitude": longitude}, **members)


INSIDE, OUTSIDE = (52.52, 13.405), (52.53, 13.405)


def test_each_crossing_is_told_once(returning, geofence):
    returning.accept([
        reading(1, *OUTSIDE), reading(2, *INSIDE, time="2026-03-01T12:00:00Z"), reading(3, 52.5201, 13.405),
        reading(4, *INSIDE, subject="other"), reading(5, *OUTSIDE),
        reading(6, -17, 179.995, subject="ship"), reading(7, -17, -179.995, subject="ship"),
        reading(8, -17, -179.9, subject="ship")])
    seq, first = geofence.collector.take(1)[0]
    assert first == {
        "specversion": "1.0", "id": "2-home", "source": "/geofence", "type": "geofence.enter",
        "time": "2026-03-01T12:00:00Z",
        "data": {"region": "home", "latitude": 52.52, "longitude": 13.405, "distanceM": 0.0}}
    rest = [each for delivery in geofence.collector.deliveries for each in delivery.events][1:]
    told = [(each["type"][9:], each["data"]["region"], each.get("subject")) for _, each in rest]
    while len(told) < 4:
        told += geofence.next(1)
    assert told == [("enter", "home", "other"), ("exit", "home", None), ("enter", "fiji", "ship"), ("exit", "fiji", "ship")]


def test_what_is_no_reading_goes_to_the_dead_letters_with_the_reason(returning, geofence):
    returning.accept([reading(1, 91, 0), reading(2, 0, -180.5), event(3, type="location.reading"), reading(4, *INSIDE)])
    assert geofence.next(1) == [("enter", "home", None)]
    wait_until(lambda: len(returning.ok("deadLetters", after=0, limit=10)["deadLetters"]) == 3, "three dead letters")
    letters = json.dumps(returning.ok("deadLetters", after=0, limit=10)["deadLetters"])
    assert "data.latitude is 91.0: not within -90 to 90" in letters
    assert "data.longitude is -180.5: not within -180 to 180" in letters
    assert "data is missing or no object" in letters


def test_a_region_that_is_wrong_is_named_and_the_others_are_watched(returning, geofence):
    returning.ok("configure", set={"geofences": {"regions": {"bad": {"latitude": 91, "longitude": 0, "radiusM": 1}}}})
    returning.accept([reading(1, *INSIDE)])
    assert geofence.next(1) == [("enter", "home", None)]
    assert 'geofences.regions["bad"]: needs latitude' in geofence.log()


def test_over_a_hold_who_is_inside_is_kept_and_crossings_are_gated(returning, geofence):
    returning.accept([reading(1, *INSIDE)])
    assert geofence.next(1) == [("enter", "home", None)]
    returning.ok("holdOperation", waitMs=10_000)
    returning.accept([reading(2, *INSIDE), reading(3, *OUTSIDE)])
    geofence.kill9()
    geofence.start()
    geofence.collector.nothing()
    returning.ok("startOperation")
    assert geofence.next(1) == [("exit", "home", None)]
    geofence.collector.nothing()


def test_killed_at_any_time_it_loses_and_repeats_no_crossing(returning, geofence):
    told, wanted = [], []
    for round in range(12):
        place = INSIDE if round % 2 == 0 else OUTSIDE
        block = [reading(100 * round + n, *place, subject=f"s{n}") for n in range(20)]
        returning.accept(block)
        wanted += [("enter" if round % 2 == 0 else "exit", "home", f"s{n}") for n in range(20)]
        if round % 3 == 0:
            wait_until(lambda: geofence.file.exists(), "a first state")
            geofence.kill9()
            geofence.start()
        if round % 5 == 4:
            returning.restart(hard=True)
            geofence.collector.close()
            geofence.collector = returning.collector("crossings", types=["geofence.*"])
    seen = {}
    while len(seen) < len(wanted):
        for seq, each in geofence.collector.take(1):
            seen[seq] = (each["type"][9:], each["data"]["region"], each.get("subject"))
    assert [seen[seq] for seq in sorted(seen)] == wanted
    geofence.collector.nothing()


def test_at_a_kill_it_forgets_all(returning, geofence):
    returning.accept([reading(1, *INSIDE)])
    assert geofence.next(1) == [("enter", "home", None)]
    assert b"home" in geofence.file.read_bytes()
    returning.ok("kill")
    wait_until(lambda: not geofence.file.exists(), "its file to go")
    assert geofence.process.poll() is None
    assert geofence.stop() == 0


def test_a_kill_that_it_did_not_hear_of_is_found_in_the_history(returning, geofence):
    returning.accept([reading(1, *INSIDE)])
    assert geofence.next(1) == [("enter", "home", None)]
    geofence.kill9()
    returning.ok("kill")
    returning.ok("endLaunch")
    assert returning.ended() == 0
    returning.start("--operating")
    returning.ok("configure", set={"geofences": {"regions": REGIONS}})
    geofence.start()
    wait_until(lambda: not geofence.file.exists(), "its file to go")
    geofence.collector = returning.collector("crossings", types=["geofence.*"])
    returning.accept([reading(2, *INSIDE)])
    assert geofence.next(1) == [("enter", "home", None)]
