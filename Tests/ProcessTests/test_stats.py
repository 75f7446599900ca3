"""What the host counts: numbers that nothing within the engine knows, and what `holdgate stats` makes of them."""

import socket as tcp

from holdgate import *


def stats(host):
    return host.ok("stats")["stats"]


def test_a_fresh_host_counts_little(held):
    reply = held.ok("stats")
    counted = reply["stats"]
    assert all(isinstance(value, int) and value >= 0 for value in counted.values())
    assert counted["connections"] == 1 and counted["requests"] == 1
    assert sum(value for name, value in counted.items() if name.startswith("events")) == 0
    assert set(reply["histograms"]) == {"commitUs", "commitBytes", "commitEvents", "drainMs"}
    for histogram in reply["histograms"].values():
        assert len(histogram["counts"]) == len(histogram["bounds"]) + 1
        assert histogram["bounds"] == sorted(set(histogram["bounds"]))


def test_commits_are_measured(operating):
    collector = operating.collector()
    for number in range(10):
        operating.accept(events(number * 5, 5))
        collector.take(5)
    operating.ok("holdOperation", waitMs=10_000)
    reply = operating.ok("stats")
    counted, histograms = reply["stats"], reply["histograms"]
    assert counted["commits"] >= 10 and counted["commitBytes"] >= counted["bytesAccepted"] > 0
    for name in ("commitUs", "commitBytes", "commitEvents"):
        assert sum(histograms[name]["counts"]) == counted["commits"], name
    assert histograms["commitEvents"]["sum"] == counted["eventsAccepted"] == 50
    assert histograms["commitBytes"]["sum"] == counted["commitBytes"]
    assert histograms["commitUs"]["sum"] > 0
    assert sum(histograms["drainMs"]["counts"]) == 1


def test_dead_letters_are_counted_over_restarts_and_a_kill(operating):
    collector = operating.collector()
    operating.accept(events(1, 3))
    collector.events(3)
    collector.ack(3, rejects=[[1, "no"], [2, "no"]])
    wait_until(lambda: stats(operating)["deadLetters"] == 2, "two dead letters")
    operating.restart()
    assert stats(operating)["deadLetters"] == 2
    operating.ok("requeue", seqs=[1])
    wait_until(lambda: stats(operating)["deadLetters"] == 1, "one dead letter")
    operating.ok("kill")
    assert stats(operating)["deadLetters"] == 0


def test_connections_are_counted_and_those_that_are_cut(hosts):
    host = hosts("--operating", maxConnectionsPerPeer=3)
    before = stats(host)
    assert (before["connections"], before["connectionsCut"]) == (1, 0)
    silent = [tcp.create_connection(("127.0.0.1", host.port("ingest"))) for _ in range(5)]
    wait_until(lambda: stats(host)["connectionsCut"] == 2, "two that were cut")
    wait_until(lambda: stats(host)["connections"] == 4, "three of ingest, and the one that asks")
    for each in silent:
        each.close()
    wait_until(lambda: stats(host)["connections"] == 1, "all to be gone")


def test_the_queue_ages_over_a_restart(held):
    held.accept(events(1, 3))
    wait_until(lambda: stats(held)["queueAgeMs"] > 0, "the queue to be older than nothing")
    held.restart()
    counted = stats(held)
    assert counted["queueAgeMs"] > 0 and counted["gatedEvents"] == counted["queuedEvents"] == 3
    held.ok("startOperation", leaseMs=60_000)
    counted = stats(held)
    assert counted["queuedEvents"] == counted["queueAgeMs"] == 0
    assert 0 < counted["leaseRemainingMs"] <= 60_000


def test_the_command_groups_them_and_hides_none(operating):
    operating.accept(events(1, 3))
    shown = run_command(operating, "stats")
    assert shown.returncode == 0
    lines = shown.stdout.splitlines()
    titles = [line for line in lines if line and not line.startswith(" ")]
    assert titles == ["gate", "events", "queue", "collectors and plugins", "requests", "peers", "disk"]
    names = [line.split()[0] for line in lines if line.startswith(" ")]
    reply = operating.ok("stats")
    assert sorted(names) == sorted([*reply["stats"], *reply["histograms"]])
    (line,) = (line for line in lines if line.split()[:1] == ["commitUs"])
    assert "p50 at most" in line and "p99 at most" in line
    (line,) = (line for line in lines if line.split()[:1] == ["drainMs"])
    assert line.endswith("none yet")
    assert max(map(len, lines)) <= 100
