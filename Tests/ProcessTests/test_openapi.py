"""The HTTP gateway against its OpenAPI document: schemathesis makes requests that it allows and requests that it doesn't."""

import subprocess

import pytest

from gateway import Gateway
from holdgate import PATIENCE, ROOT, environment

VERSION = "4.32.5"
OPTIONS = ROOT / "Tests/OpenAPI"


@pytest.fixture(scope="module")
def schemathesis():
    """The program, in an environment of its own: it comes from PyPI."""
    place = ROOT / ".build/venv"
    program = place / "bin/schemathesis"
    installed = place / f"schemathesis-{VERSION}"
    if not installed.exists():
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--clear", place], check=True, timeout=PATIENCE * 10)
        subprocess.run([place / "bin/pip", "install", "-q", f"schemathesis=={VERSION}"], check=True, timeout=600)
        installed.touch()
    return program


def test_the_gateway_is_as_its_document_says(hosts, schemathesis):
    host = hosts("--holding")
    gateway = Gateway(host, tokens={"admin": "observe,produce,hold,start,revoke"})
    try:
        command = [
            schemathesis, "--config-file", OPTIONS / "schemathesis.toml", "run", gateway.url + "/openapi.json",
            "--checks", "all", "--max-examples", "60", "--seed", "1", "--no-color",
            "-H", f"Authorization: Bearer {gateway.token['admin']}",
            # The one never ends, the other ends the rest.
            "--exclude-path", "/v1/stream", "--exclude-path", "/v1/lifecycle/kill",
        ]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=PATIENCE * 10,
                              env=environment() | {"SCHEMATHESIS_HOOKS": "hooks", "PYTHONPATH": str(OPTIONS)},
                              cwd=host.base)
        assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
        assert " passed" in done.stdout
        assert host.state()["state"] in ("operating", "onHold", "holdRequested")
    finally:
        gateway.close()
