"""A bundled plugin as a process of its own, beside a host."""

import subprocess

from holdgate import BIN, ENDPOINTS, PATIENCE, environment, wait_until


class Bundled:
    """`arguments` go to the binary; the host's addresses are in the environment, as a supervisor hands them over."""

    def __init__(self, host, name, *arguments):
        self.host = host
        self.name = name
        self.arguments = [str(each) for each in arguments]
        self.log_path = host.base / f"{name}.log"
        self.process = None
        self.start()

    def start(self):
        """Starts it, and waits until the host knows it."""
        before = self.attachments()
        self.launch()
        wait_until(lambda: self.attachments() > before, f"{self.name} to attach")

    def launch(self):
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                [str(BIN / self.name), *self.arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=environment(**{name: self.host.address(name) for name in ENDPOINTS}))

    def log(self):
        return self.log_path.read_text() if self.log_path.exists() else ""

    def attachments(self):
        return self.log().count(": attached")

    def kill9(self):
        self.process.kill()
        self.process.wait(PATIENCE)

    def stop(self):
        """SIGTERM; returns the exit status."""
        self.process.terminate()
        return self.process.wait(PATIENCE)

    def close(self):
        if self.process.poll() is None:
            self.kill9()
