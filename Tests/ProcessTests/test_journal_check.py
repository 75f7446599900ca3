"""`holdgate journal check`: what a state directory holds, in the host's words, and not a byte changed."""

import fcntl
import hashlib
import json
import os
import shutil

import pytest

from holdgate import NoReady, event, events, run_command, wait_until


def everything(path):
    """Each file's bytes, times and mode, and the folders'."""
    result = {}
    for place in [path, *sorted(path.rglob("*"))]:
        status = place.lstat()
        digest = hashlib.sha256(place.read_bytes()).hexdigest() if place.is_file() else None
        result[str(place)] = (digest, status.st_mtime_ns, status.st_ctime_ns, status.st_mode, status.st_size)
    return result


def check(host, *arguments, directory=None):
    """Checks twice, for people and for programs; returns the exit status, the report, and the text."""
    path = directory or host.dir
    before = everything(path)
    shown = run_command(None, "journal", "check", "--state-dir", str(path), *arguments)
    done = run_command(None, "journal", "check", "--state-dir", str(path), "--json", *arguments)
    assert everything(path) == before, "nothing is changed"
    assert shown.returncode == done.returncode
    return done.returncode, json.loads(done.stdout), shown.stdout + shown.stderr


def prepared(hosts, count=5):
    """A host that ran, with a collector that has seen the first event alone."""
    host = hosts("--operating", segmentBytes=4 << 20, maxMessageBytes=1 << 20, maxFrameBytes=1 << 20,
                 rememberedProducers=1000)
    collector = host.collector("warehouse")
    host.accept(events(1, count))
    collector.events(count)
    collector.ack(1)
    collector.barrier()
    host.ok("configure", set={"a": 1})
    host.ok("holdOperation")
    host.stop()
    return host


def test_a_sound_state_is_told_of(hosts):
    host = prepared(hosts)
    status, report, text = check(host)
    assert status == 0 and report["sound"] and report["problems"] == [], text
    assert (report["launch"], report["state"], report["origin"]) == (host.launch, "holdRequested", "own")
    assert report["history"]["records"] == 2 and report["journal"]["lastSeq"] == 5
    assert report["collectors"] == [{"name": "warehouse", "cursor": 1, "lagEvents": 4}]
    assert report["journal"]["queuedEvents"] == 4 and report["deadLetters"] == 0
    for word in ["sound", host.launch, "holdRequested, since", "2 records", "warehouse at 1, 4 events behind"]:
        assert word in text, text
    host.start()
    assert host.state()["state"] == "holdRequested", "and it starts as it was told"


def test_a_state_in_use_is_refused(operating):
    before = (operating.dir / "lock").read_bytes()
    status, report, text = check_in_use(operating)
    assert status == 1 and report["inUseBy"] == operating.process.pid
    assert f"process {operating.process.pid}" in text and (operating.dir / "lock").read_bytes() == before


def check_in_use(host):
    shown = run_command(None, "journal", "check", "--state-dir", str(host.dir))
    done = run_command(None, "journal", "check", "--state-dir", str(host.dir), "--json")
    return done.returncode, json.loads(done.stdout), shown.stderr


def test_a_host_that_starts_while_it_is_checked_is_turned_away(hosts):
    """A shared lock is what the check has; here a test has it in its place."""
    host = prepared(hosts)
    with open(host.dir / "lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        with pytest.raises(NoReady) as caught:
            host.start()
        assert check(host)[0] == 0, "others may look as well"
    assert "in use" in caught.value.stderr


def test_an_empty_directory_has_no_state(tmp_path):
    status, report, text = check(None, directory=tmp_path)
    assert status == 0 and report["origin"] == "empty" and "there is no state here" in text
    assert os.listdir(tmp_path) == []
    missing = run_command(None, "journal", "check", "--state-dir", str(tmp_path / "none"))
    assert missing.returncode == 1 and str(tmp_path / "none") in missing.stderr
    assert os.listdir(tmp_path) == []
    assert run_command(None, "journal", "check", "now").returncode == 2
    assert run_command(None, "journal").returncode == 2


def test_a_torn_history_is_sound_and_said(hosts):
    host = prepared(hosts)
    (history,) = host.history_files()
    with history.open("ab") as file:
        file.write(b'{"n":99,"time":"2026')
    status, report, text = check(host)
    assert status == 0 and report["tornEnds"] == [{"file": history.name, "bytes": 20}], text
    assert "torn end: 20 bytes" in " ".join(text.split())
    host.start()


def test_a_torn_commit_is_sound_and_said(hosts):
    host = prepared(hosts)
    _, whole, _ = check(host)
    (segment,) = whole["journal"]["segments"]
    # The last commit's last bytes never reached the disk: its header says how long it was.
    path = host.dir / segment["file"]
    data = path.read_bytes()
    last = data.rindex(b"HGCM", 0, segment["usedBytes"])
    with path.open("r+b") as file:
        file.seek(last + 32)
        file.write(bytes(segment["usedBytes"] - last - 32))
    status, report, text = check(host)
    assert report["tornEnds"] == [{"file": segment["file"], "bytes": segment["usedBytes"] - last}], text
    assert report["journal"]["commits"] == whole["journal"]["commits"] - 1


def refusal(host):
    with pytest.raises(NoReady) as caught:
        host.start()
    return caught.value.stderr


def damaged(host, what):
    """The check's words are the host's, and nothing is changed by either."""
    status, report, text = check(host)
    assert status == 1 and not report["sound"]
    (problem,) = [each for each in report["problems"] if each["damage"]]
    assert what in problem["file"] and problem["text"] in text and "serve --restored" in text
    assert problem["text"] in refusal(host)
    return problem


def test_a_changed_record_is_damage(hosts):
    host = prepared(hosts)
    (history,) = host.history_files()
    data = bytearray(history.read_bytes())
    data[len(data) // 2] ^= 1
    history.write_bytes(data)
    damaged(host, history.name)


def test_a_missing_record_is_damage(hosts):
    host = prepared(hosts)
    (history,) = host.history_files()
    history.write_bytes(b"".join(history.read_bytes().splitlines(True)[:-1]))
    damaged(host, history.name)


def test_a_missing_history_is_damage(hosts):
    host = prepared(hosts)
    (history,) = host.history_files()
    history.unlink()
    damaged(host, "history")


def test_a_flipped_bit_in_an_event_is_damage(hosts):
    host = hosts("--operating")
    host.collector().close()
    host.accept([event(1, data="MARKER-77")])
    host.accept([event(2)])
    host.kill9()
    (path,) = [path for path in host.dir.iterdir() if b"MARKER-77" in path.read_bytes()]
    place = path.read_bytes().index(b"MARKER-77")
    with path.open("r+b") as file:
        file.seek(place)
        file.write(b"m")
    assert "events 1 to 1" in damaged(host, path.name)["text"]


def test_a_commit_that_can_t_be_read_amid_others_is_damage(hosts):
    host = prepared(hosts)
    (segment,) = check(host)[1]["journal"]["segments"]
    path = host.dir / segment["file"]
    second = path.read_bytes().index(b"HGCM", 100)
    with path.open("r+b") as file:
        file.seek(second + 8)
        file.write(b"\xff")
    assert "can't be read, and later ones can" in damaged(host, segment["file"])["text"]


def test_an_older_segment_is_read_too(hosts):
    """What a start leaves to delivery: an event in a segment before the newest."""
    host = hosts("--operating", segmentBytes=4 << 20, maxMessageBytes=1 << 20, maxFrameBytes=1 << 20,
                 rememberedProducers=1000)
    host.collector().close()
    host.accept([event(1, data="MARKER-78")])
    for number in range(2, 9):
        host.accept([event(number * 10 + place, data="x" * 200_000) for place in range(4)])
    host.stop()
    status, report, text = check(host)
    assert status == 0 and len(report["journal"]["segments"]) > 1, text
    path = host.dir / report["journal"]["segments"][0]["file"]
    place = path.read_bytes().index(b"MARKER-78")
    with path.open("r+b") as file:
        file.seek(place)
        file.write(b"m")
    status, report, text = check(host)
    assert status == 1 and "event 1 is not as it was written" in text
    path.unlink()
    assert "which it needs, is not there" in damaged(host, "segment")["text"]


def test_the_configuration_and_dead_letters_are_read(hosts):
    host = prepared(hosts)
    (host.dir / "configuration.json").write_text("{}")
    damaged(host, "configuration.json")
    (host.dir / "dead-letters.ndjson").write_text("{}\n")
    status, report, _ = check(host)
    assert sorted(each["file"] for each in report["problems"]) == ["configuration.json", "dead-letters.ndjson"]


def test_several_problems_are_all_told(hosts):
    host = prepared(hosts)
    (history,) = host.history_files()
    history.write_bytes(history.read_bytes().replace(b"operating", b"operatinG"))
    (host.dir / "configuration.json").write_text("{}")
    _, report, _ = check(host)
    assert [each["file"] for each in report["problems"]] == [history.name, "configuration.json"]


def test_a_missing_journal_is_damage(hosts):
    host = prepared(hosts)
    for path in host.dir.glob("segment-*"):
        path.unlink()
    status, report, text = check(host)
    assert status == 1 and "the journal is damaged: there is none, and the history knows of events up to 5" in text


def test_a_killed_launch_is_sound(hosts):
    host = hosts("--operating")
    host.slow_collector()
    host.ok("kill")
    host.kill9()
    status, report, text = check(host)
    assert status == 0 and report["state"] == "killed" and report["journal"]["queuedEvents"] == 0
    assert "It was killed" in text


def test_a_newer_version_is_named(hosts):
    host = prepared(hosts)
    (host.dir / "configuration.json").write_text(
        '{"format":"holdgate-configuration","version":2,"configuration":{}}\n')
    status, report, text = check(host)
    assert status == 1 and "format version 2, written by a newer host" in text
    assert report["problems"][0]["text"] in refusal(host) and not report["problems"][0]["damage"]
    identity = host.dir / "identity"
    identity.write_text(identity.read_text().replace('"version":1', '"version":2'))
    shown = run_command(None, "journal", "check", "--state-dir", str(host.dir))
    assert shown.returncode == 1 and "identity has format version 2, written by a newer host" in shown.stderr


def test_a_copy_is_sound_and_said(hosts):
    host = prepared(hosts)
    copy = host.base / "copy"
    shutil.copytree(host.dir, copy)
    status, report, text = check(host, directory=copy)
    assert status == 0 and report["origin"] == "copied" and "--restored" in text
    (copy / "lock").unlink()
    assert check(host, directory=copy)[0] == 0, "without a lock, too"


def test_keys_are_looked_at(hosts):
    host = prepared(hosts)
    made = run_command(
        None, "keys", "new", "shop", "--roles", "produce", "--state-dir", str(host.dir), "--out",
        str(host.base / "shop.key"))
    assert made.returncode == 0, made.stderr
    assert check(host)[1]["authorizedKeys"] == 1
    os.chmod(host.dir / "keys", 0o755)
    status, report, text = check(host)
    assert status == 0 and report["keysMode"] == "0755" and "chmod 700" in text
    os.chmod(host.dir / "keys" / "host.key", 0o644)
    status, report, text = check(host)
    assert status == 1 and report["problems"][0]["text"] in refusal(host)


def test_many_collectors_and_a_long_run(hosts):
    host = hosts("--operating")
    for name in ("a", "b", "c"):
        host.collector(name).close()
    wait_until(lambda: len(host.ok("plugins")["plugins"]) == 3, "three collectors")
    for first in range(1, 2001, 200):
        host.accept(events(first, 200))
    host.stop()
    _, report, _ = check(host)
    assert [each["lagEvents"] for each in report["collectors"]] == [2000] * 3
