"""A bundled plugin as a process of its own, beside a host."""

from holdgate import BIN, ENDPOINTS, Program, wait_until


class Bundled(Program):
    """`arguments` go to the binary; the host's addresses are in the environment, as a supervisor hands them over."""

    def __init__(self, host, name, *arguments):
        self.host = host
        self.name = name
        self.arguments = [str(each) for each in arguments]
        self.log_path = host.base / f"{name}.log"
        self.start()

    def start(self):
        """Starts it, and waits until the host knows it."""
        before = self.attachments()
        self.launch()
        wait_until(lambda: self.attachments() > before, f"{self.name} to attach")

    def launch(self):
        self.run([str(BIN / self.name), *self.arguments], self.log_path,
                 **{name: self.host.address(name) for name in ENDPOINTS})

    def log(self):
        return self.log_path.read_text() if self.log_path.exists() else ""

    def attachments(self):
        return self.log().count(": attached")
