"""Fixtures: hosts that are gone, with their files, when the test is over."""

import pytest

import holdgate


@pytest.fixture
def hosts(request):
    """Starts hosts: `hosts("--operating", drainTimeoutMs=500)`."""
    started = []

    def start(*flags, **keys):
        host = holdgate.Host.__new__(holdgate.Host)
        started.append(host)
        host.__init__(*flags, **keys)
        return host

    yield start
    if getattr(request.node, "failed", False):
        for host in started:
            print(f"--- stderr of the host over {host.dir}\n{host.stderr()}")
    for host in started:
        host.close()


@pytest.fixture
def file_collectors():
    """Starts file-collectors: `file_collectors(host)`."""
    started = []

    def start(host):
        started.append(holdgate.FileCollector(host))
        return started[-1]

    yield start
    for collector in started:
        collector.close()


@pytest.fixture
def operating(hosts):
    """A fresh host whose gate is open."""
    return hosts("--operating")


@pytest.fixture
def held(hosts):
    """A fresh host that began on hold."""
    return hosts("--holding")


@pytest.fixture(scope="module")
def shared():
    """One operating host for all tests of a file that leave it operating."""
    host = holdgate.Host("--operating")
    yield host
    host.close()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    outcome = yield
    report = outcome.get_result()
    if report.when == "call" and report.failed:
        item.failed = True
