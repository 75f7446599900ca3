"""Every bundled plugin and example keeps the plugin contract, and so does the one that docs/plugins.md makes."""

import json
import re
import subprocess

import pytest

from holdgate import BIN, ROOT, environment

EXAMPLES = ROOT / "plugins/examples"
COMMANDS = {
    "geofence": (["geofence", "--dir", "{dir}/geofence"], {"attach", "collect"}),
    "session": (["session"], {"attach"}),
    "engagement": (["engagement", "--store", "{dir}/store.sqlite"], {"attach", "serve"}),
    "collector.py": (["/usr/bin/python3", str(EXAMPLES / "collector.py"), "{dir}/file"], {"attach", "collect"}),
    "state_logger.py": (["/usr/bin/python3", str(EXAMPLES / "state_logger.py")], {"subscribe"}),
}


def check(command, directory):
    """Runs the check; returns its scorecard's text, and its status."""
    command = [each.format(dir=directory) for each in command]
    if (BIN / command[0]).exists():
        command[0] = str(BIN / command[0])
    result = subprocess.run(
        [str(BIN / "holdgate"), "plugins", "check", "--", *command], capture_output=True, text=True, timeout=120,
        cwd=directory, env=environment())
    return result.stdout, result.returncode


def kinds(scorecard):
    """What the plugin does, by the scorecard's first line."""
    return set(scorecard.splitlines()[0].rsplit(": ", 1)[1].split(", "))


@pytest.mark.parametrize("name", COMMANDS)
def test_it_keeps_every_promise(name, tmp_path):
    command, does = COMMANDS[name]
    scorecard, status = check(command, tmp_path)
    assert status == 0 and " 0 broken" in scorecard, scorecard
    assert kinds(scorecard) == does


def test_the_document_leads_to_a_plugin_that_keeps_every_promise(tmp_path):
    text = (ROOT / "docs/plugins.md").read_text()
    [program] = re.findall(r"```python\n(.*?)```", text, re.S)
    manifest = re.findall(r"```json\n(.*?)```", text, re.S)[0]
    path = tmp_path / "warehouse.py"
    path.write_text(program)
    path.chmod(0o755)
    scorecard, status = check([str(path)], tmp_path)
    assert status == 0 and " 0 broken" in scorecard, scorecard
    assert kinds(scorecard) == {"attach", "collect"}
    assert json.loads(manifest)["command"] == "./warehouse.py"
