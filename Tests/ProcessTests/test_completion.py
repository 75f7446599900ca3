"""`holdgate completion`: exercised in a real bash, without bash-completion; the other shells read theirs."""

import os
import pty
import select
import shutil
import subprocess
import time

import pytest

from holdgate import BIN, PATIENCE, environment, run_command


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    path = tmp_path_factory.mktemp("completion") / "holdgate.bash"
    done = run_command(None, "completion", "bash")
    assert done.returncode == 0 and done.stderr == ""
    path.write_text(done.stdout)
    return path


def complete(script, *words, cwd=None):
    """What bash offers for the last word. Words are as bash cuts them: `--flag=value` in three."""
    program = f'''
        set -u
        source {script}
        [[ $(complete -p holdgate) == "complete -F _holdgate holdgate" ]] || exit 9
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _holdgate
        printf '%s\\n' ${{COMPREPLY[@]+"${{COMPREPLY[@]}}"}}
    '''
    done = subprocess.run(
        ["bash", "--norc", "-c", program, "bash", "holdgate", *words], capture_output=True, text=True, timeout=PATIENCE,
        cwd=cwd, env=environment())
    assert done.returncode == 0 and done.stderr == "", done
    return sorted(line for line in done.stdout.split("\n") if line)


def test_commands(script):
    names = complete(script, "")
    for name in ("serve", "config", "state", "start", "journal", "completion", "help", "--version"):
        assert name in names
    assert complete(script, "st") == ["start", "state", "stats"]
    assert complete(script, "journal") == ["journal"]
    assert complete(script, "nothing-like-it") == []
    assert complete(script, "help", "dead") == ["dead-letters"]


def test_actions(script):
    assert complete(script, "keys", "") == ["host", "list", "new", "revoke"]
    assert complete(script, "plugins", "st") == ["start", "stop"]
    assert complete(script, "consent", "") == ["deny", "give", "pause", "receipt", "show", "withdraw"]
    assert complete(script, "completion", "") == ["bash", "fish", "zsh"]
    assert complete(script, "dead-letters", "--control", "tcp://a:1", "re") == ["requeue"], "a flag's value is no action"
    assert complete(script, "dead-letters", "--control", "=", "tcp://a:1", "re") == ["requeue"]
    assert complete(script, "keys", "--json", "n") == ["new"]
    assert complete(script, "keys", "revoke", "") == [], "one is enough"
    assert complete(script, "state", "") == []


def test_flags(script):
    assert complete(script, "hold", "--") == [
        "--control", "--gated", "--help", "--host-key", "--idempotency-key", "--json", "--key", "--reason", "--source",
        "--timeout", "--wait"]
    assert complete(script, "hold", "--g") == ["--gated"]
    assert complete(script, "keys", "new", "--p") == ["--public-key"]
    assert complete(script, "keys", "list", "--p") == [], "it is another action's"
    assert complete(script, "keys", "--p") == ["--public-key"], "no action yet"
    assert complete(script, "serve", "--st") == ["--state-dir", "--stream"]
    assert complete(script, "config", "--c") == ["--changed", "--config", "--control"]
    assert "--log-format" in complete(script, "serve", "-")


def test_values(script):
    assert complete(script, "hold", "--gated", "") == ["discard", "queue", "refuse"]
    assert complete(script, "hold", "--gated", "d") == ["discard"]
    assert complete(script, "hold", "--gated", "=") == ["discard", "queue", "refuse"]
    assert complete(script, "hold", "--gated", "=", "r") == ["refuse"]
    assert complete(script, "hold", "--gated=r") == ["--gated=refuse"], "where = does not part words"
    assert complete(script, "serve", "--log-format", "") == ["json", "text"]
    assert complete(script, "serve", "--log-level", "=", "e") == ["error"]
    assert complete(script, "hold", "--reason", "") == [], "any text"
    assert complete(script, "keys", "new", "shop", "--roles", "") == [
        "admin", "collect", "hold", "observe", "produce", "revoke", "serve", "start"]
    assert complete(script, "keys", "new", "shop", "--roles", "hold,s") == ["hold,serve", "hold,start"]
    assert complete(script, "keys", "new", "shop", "--roles", "=", "hold,st") == ["hold,start"]


def test_files(script, tmp_path):
    (tmp_path / "events one.ndjson").write_text("")
    (tmp_path / "events").mkdir()
    (tmp_path / "$x*").write_text("")
    assert complete(script, "emit", "--file", "ev", cwd=tmp_path) == ["events", "events one.ndjson"]
    assert complete(script, "emit", "--file", "=", "ev", cwd=tmp_path) == ["events", "events one.ndjson"]
    assert complete(script, "serve", "--state-dir", "", cwd=tmp_path) == ["events"]
    assert complete(script, "serve", "--config", "$", cwd=tmp_path) == ["$x*"], "nothing is expanded"
    assert complete(script, "state", "--key", str(tmp_path) + "/ev") == [
        f"{tmp_path}/events", f"{tmp_path}/events one.ndjson"]


def test_what_follows_the_end_of_flags(script):
    assert "bash" in complete(script, "plugins", "check", "--", "bas")
    assert complete(script, "keys", "revoke", "--", "--") == []


class Terminal:
    """An interactive shell, and somebody who types."""

    def __init__(self, command, folder, **variables):
        self.leader, follower = pty.openpty()
        self.shell = subprocess.Popen(
            command, stdin=follower, stdout=follower, stderr=follower, cwd=folder, start_new_session=True,
            env={**environment(), "PS1": "> ", "TERM": "dumb", "HISTFILE": "", "HOME": str(folder),
                 "PATH": f"{BIN}:{os.environ['PATH']}", **variables})
        os.close(follower)

    def type(self, keys, wanted):
        """Types, and waits until this is shown."""
        os.write(self.leader, keys.encode())
        seen, end = "", time.monotonic() + PATIENCE
        while wanted not in seen:
            ready, _, _ = select.select([self.leader], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"{wanted!r} did not come, but {seen!r}"
            seen += os.read(self.leader, 4096).decode(errors="replace")

    def close(self):
        self.shell.kill()
        self.shell.wait(PATIENCE)
        os.close(self.leader)


@pytest.fixture
def terminals():
    opened = []

    def open(*arguments, **variables):
        opened.append(Terminal(*arguments, **variables))
        return opened[-1]

    yield open
    for terminal in opened:
        terminal.close()


def test_a_person_at_a_terminal(script, tmp_path, terminals):
    """Through readline: what is typed, and what stands there after Tab."""
    (tmp_path / "my file.json").write_text("{}")
    bash = terminals(["bash", "--norc", "--noprofile", "-i"], tmp_path)
    bash.type(f"source {script}; echo re''ady\n", "ready")
    bash.type("holdgate jour\t", "journal ")
    bash.type("ch\t", "check ")
    bash.type("--conf\t", "--config ")
    bash.type("my\t", "my\\ file.json ")
    bash.type("\x15holdgate hold --gated=d\t", "--gated=discard ")


@pytest.mark.parametrize("shell, check", [("zsh", "-n"), ("fish", "--no-execute"), ("bash", "-n")])
def test_the_shell_reads_its_script(shell, check, tmp_path):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed; .ci/deps has it")
    path = tmp_path / "script"
    path.write_text(run_command(None, "completion", shell).stdout)
    done = subprocess.run([shell, check, str(path)], capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not installed; .ci/deps has it")
def test_fish_completes(tmp_path):
    (tmp_path / "holdgate.fish").write_text(run_command(None, "completion", "fish").stdout)

    def complete(line):
        done = subprocess.run(
            ["fish", "--no-config", "-c", 'source $argv[1]; complete -C $argv[2]', str(tmp_path / "holdgate.fish"), line],
            capture_output=True, text=True, timeout=PATIENCE, cwd=tmp_path,
            env={**environment(), "HOME": str(tmp_path), "PATH": f"{BIN}:{os.environ['PATH']}"})
        assert done.returncode == 0 and done.stderr == "", done
        return sorted(row.split("\t")[0] for row in done.stdout.splitlines())

    assert complete("holdgate st") == ["start", "state", "stats"]
    assert complete("holdgate keys ") == ["host", "list", "new", "revoke"]
    assert complete("holdgate keys new --p") == ["--public-key"]
    assert complete("holdgate keys list --p") == []
    assert complete("holdgate hold --gated ") == ["discard", "queue", "refuse"]
    assert complete("holdgate hold --gated=d") == ["--gated=discard"]
    assert complete("holdgate keys new x --roles hold,sta") == ["hold,start"]
    assert complete("holdgate completion ") == ["bash", "fish", "zsh"]


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed; .ci/deps has it")
@pytest.mark.parametrize("isFolder", [True, False])
def test_zsh_completes(tmp_path, terminals, isFolder):
    """From a folder of functions, and by `eval`."""
    (tmp_path / "_holdgate").write_text(run_command(None, "completion", "zsh").stdout)
    (tmp_path / "events.ndjson").write_text("")
    zsh = terminals(["zsh", "-f", "-i"], tmp_path)
    fpath = f"fpath=({tmp_path} $fpath); " if isFolder else ""
    late = "" if isFolder else 'eval "$(holdgate completion zsh)"; '
    zsh.type(f"{fpath}autoload -Uz compinit; compinit -u -d {tmp_path}/dump; {late}echo re''ady\n", "ready")
    for typed, wanted in [
            ("holdgate jour", "journal "), ("holdgate journal ch", "check "), ("holdgate hold --gated d", "discard "),
            ("holdgate hold --gated=d", "discard "), ("holdgate serve --log-f", "--log-format"),
            ("holdgate keys new --pub", "--public-key"), ("holdgate keys new x --roles hold,sta", "hold,start"),
            ("holdgate emit --file ev", "events.ndjson ")]:
        zsh.type(f"\x15{typed}\t", wanted)
    zsh.type("\x15holdgate consent \t", "what stands, purpose by purpose")
