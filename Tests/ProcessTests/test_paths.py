"""Where a host listens at `ipc` paths: nobody else gets in, and nothing that lies there is ever replaced."""

import json
import os
import pathlib
import shutil
import socket as tcp
import subprocess
import tempfile

import pytest
import zmq

from holdgate import *


@pytest.fixture
def folder():
    """A folder whose paths fit a socket's address, wherever the tests are run."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="holdgate-"))
    yield path
    shutil.rmtree(path)


def flags(folder, *names):
    return [each for name in names or ENDPOINTS for each in (f"--{name}", f"ipc://{folder}/{name}")]


def at(host, folder):
    """`host`, as it was started with the flags of `folder`."""
    host.ready["endpoints"] = {name: [f"ipc://{folder}/{name}"] for name in ENDPOINTS}
    return host


def refusal(hosts, *arguments):
    with pytest.raises(NoReady) as ended:
        hosts(*arguments)
    assert ended.value.status == 1
    return ended.value.stderr


def inode(path):
    return os.lstat(path).st_ino


def test_all_four_endpoints_listen_in_a_folder_of_their_own(hosts, folder):
    host = at(hosts("--operating", *flags(folder / "run")), folder / "run")
    assert (folder / "run").stat().st_mode & 0o7777 == 0o700
    assert all((folder / "run" / name).stat().st_mode & 0o7777 == 0o600 for name in ENDPOINTS)
    stream = host.sub("state").joined()
    collector = host.collector()
    host.accept(events(1, 1))
    assert len(collector.events(1)) == 1
    host.ok("holdOperation")
    stream.until("state", state="holdRequested")
    assert host.stop() == 0
    assert sorted(each.name for each in (folder / "run").iterdir()) == sorted(f"{name}.lock" for name in ENDPOINTS)


def test_a_folder_for_a_group_has_sockets_for_it(hosts, folder):
    folder.chmod(0o750)
    host = at(hosts(*flags(folder)), folder)
    assert all((folder / name).stat().st_mode & 0o7777 == 0o660 for name in ENDPOINTS)
    assert all((folder / name).stat().st_gid == folder.stat().st_gid for name in ENDPOINTS)
    assert host.ok("ping")


@pytest.mark.parametrize("endpoint", ENDPOINTS)
@pytest.mark.parametrize("kind", ["file", "link", "link to a socket"])
def test_what_lies_at_the_path_stays(hosts, folder, endpoint, kind):
    path = folder / endpoint
    other = tcp.socket(tcp.AF_UNIX)
    if kind == "file":
        path.write_text("precious")
    else:
        path.symlink_to("other")
    if kind == "link to a socket":
        other.bind(str(folder / "other"))
    before = inode(path)
    text = refusal(hosts, "--operating", *flags(folder))
    assert f"{path} is a {kind.split()[0]} and stays as it is" in text
    assert inode(path) == before
    assert kind != "file" or path.read_text() == "precious"
    other.close()


def test_a_refused_path_begins_no_launch(hosts, folder):
    host = hosts()
    host.stop()
    (folder / "plugin").write_text("precious")
    with pytest.raises(NoReady):
        host.start("--new-launch", *flags(folder))
    # Nor is anything left of the paths that were fine.
    assert sorted(each.name for each in folder.iterdir() if each.suffix != ".lock") == ["plugin"]
    launch = host.launch
    assert host.start()["launch"] == launch


def test_a_living_host_keeps_its_path(hosts, folder):
    host = at(hosts(*flags(folder)), folder)
    before = inode(folder / "control")
    text = refusal(hosts, *flags(folder, "control"))
    assert f"{folder}/control is in use by another host (process {host.process.pid})" in text
    assert inode(folder / "control") == before
    assert host.ok("ping")["launch"] == host.launch


def test_a_living_socket_of_another_program_stays(hosts, folder):
    other = context.socket(zmq.REP)
    other.bind(f"ipc://{folder}/ingest")
    assert f"{folder}/ingest is in use: somebody listens there" in refusal(hosts, *flags(folder))
    with context.socket(zmq.REQ) as caller:
        caller.linger = 0
        caller.connect(f"ipc://{folder}/ingest")
        caller.send(b"still there")
        assert receive(other) == [b"still there"]
    other.close(0)


def test_what_a_killed_process_left_is_taken_over(hosts, folder):
    host = hosts(*flags(folder))
    before = {name: inode(folder / name) for name in ENDPOINTS}
    host.kill9()
    assert {name: inode(folder / name) for name in ENDPOINTS} == before
    host.start(*flags(folder))
    assert at(host, folder).ok("ping")["launch"] == host.launch


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o755, 0o770, 0o701])
def test_a_folder_that_lets_others_in_is_refused(hosts, folder, mode):
    folder.chmod(mode)
    text = refusal(hosts, *flags(folder))
    assert f"{folder} has mode {mode:04o}, which lets others in; chmod it to 0700, or to 0750" in text
    assert list(folder.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a folder away")
def test_another_users_folder_is_refused(hosts, folder):
    os.chown(folder, 65_534, -1)
    assert f"{folder} belongs to user 65534" in refusal(hosts, *flags(folder))


def test_a_link_in_the_folders_place_is_refused(hosts, folder):
    (folder / "real").mkdir(0o700)
    (folder / "run").symlink_to("real")
    assert f"{folder}/run is a link; give the path of a real folder" in refusal(hosts, *flags(folder / "run"))
    assert list((folder / "real").iterdir()) == []


def test_only_the_last_folder_is_made(hosts, folder):
    text = refusal(hosts, *flags(folder / "a" / "b"))
    assert f"neither {folder}/a/b nor the folder above it exists" in text
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("path, text", [
    ("/tmp/" + "x" * 103, "the path has 108 bytes; allowed: at most 107"),
    ("@holdgate", "a socket without a path is open to every user of this machine"),
    ("*", "nobody could know which path that is"),
])
def test_an_address_without_a_path_that_fits_is_a_mistake_in_the_configuration(hosts, path, text):
    with pytest.raises(NoReady) as ended:
        hosts("--control", f"ipc://{path}")
    assert ended.value.status == 2 and text in ended.value.stderr


def test_of_many_that_start_at_once_one_listens(hosts, folder):
    host = hosts()
    racers = []
    for number in range(6):
        command = [str(BIN / "holdgate"), "serve", "--state-dir", str(host.base / f"racer{number}"), *flags(folder)]
        racers.append(subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()))
    try:
        lines = [racer.stdout.readline() for racer in racers]
        [winner] = [racer for racer, line in zip(racers, lines) if line]
        for racer in racers:
            if racer is not winner:
                assert racer.wait(PATIENCE) == 1
                assert b"is in use by another host" in racer.stderr.read()
        assert at(host, folder).ok("state")["launch"] == json.loads(max(lines))["launch"]
    finally:
        for racer in racers:
            racer.kill()
            racer.communicate()


class TestKill:
    def test_the_paths_are_held_while_sockets_are_bound_again(self, hosts, folder):
        host = at(hosts("--operating", *flags(folder)), folder)
        before = {name: inode(folder / name) for name in ENDPOINTS}
        collector = host.collector()
        host.ok("kill")
        assert {name: inode(folder / name) for name in ENDPOINTS} == before
        assert host.collector("late", durable=False).welcome["state"] == "killed"
        assert "in use by another host" in refusal(hosts, *flags(folder, "plugin"))
        collector.close()

    def test_a_file_that_took_the_path_stays(self, hosts, folder):
        host = at(hosts("--operating", *flags(folder)), folder)
        for name in ENDPOINTS:
            if name != "control":
                (folder / name).unlink()
                (folder / name).write_text("precious")
        host.ok("kill")
        assert host.state()["state"] == "killed"
        assert host.stop() == 0
        assert [(folder / name).read_text() for name in ENDPOINTS if name != "control"] == ["precious"] * 3
        assert not (folder / "control").exists()


def test_the_next_launch_of_the_process_listens_at_the_same_paths(hosts, folder):
    host = at(hosts(*flags(folder)), folder)
    launch = host.ok("endLaunch", restart=True)["launch"]
    ready = json.loads(host.process.stdout.readline())
    assert ready["launch"] != launch
    assert host.ok("ping")["launch"] == ready["launch"]
