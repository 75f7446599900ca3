"""The HTTP gateway as a process of its own, beside a host, and curl before it."""

import json
import subprocess

from holdgate import BIN, ENDPOINTS, PATIENCE, Program, environment, wait_until


class Answer:
    """What curl received."""

    def __init__(self, text):
        head, _, self.text = text.partition("\r\n\r\n")
        while head.split()[1] == "100":
            head, _, self.text = self.text.partition("\r\n\r\n")
        first, *rest = head.split("\r\n")
        self.status = int(first.split()[1])
        self.headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in rest)}

    @property
    def json(self):
        return json.loads(self.text)

    def __repr__(self):
        return f"{self.status} {self.headers} {self.text}"


class Gateway(Program):
    """`arguments` go to the binary. `tokens` are names and roles; their texts are in `token`."""

    def __init__(self, host, *arguments, tokens=None, **variables):
        self.host = host
        self.access = host.base / "access"
        self.log_path = host.base / "http-gateway.log"
        self.token = {name: self.make_token(name, roles) for name, roles in (tokens or {}).items()}
        self.arguments = [str(each) for each in arguments]
        self.variables = variables
        self.launch()

    def make_token(self, name, roles):
        command = [str(BIN / "http-gateway"), "token", name, "--roles", roles, "--access", str(self.access)]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE).stdout.strip()

    def launch(self):
        before = self.log().count("listening at")
        access = ["--access", str(self.access)] if self.access.exists() else []
        self.run([str(BIN / "http-gateway"), "--listen", "127.0.0.1:0", *access, *self.arguments], self.log_path,
                 **{name: self.host.address(name) for name in ENDPOINTS}, **self.variables)
        wait_until(lambda: self.log().count("listening at") > before, "the gateway to listen")
        self.url = [line for line in self.log().splitlines() if "listening at" in line][-1].split()[-1]
        self.port = int(self.url.rsplit(":", 1)[1])

    def log(self):
        return self.log_path.read_text() if self.log_path.exists() else ""

    def curl(self, path, *arguments, body=None, type=None, token=None, **headers):
        """One request; a header's underscores are hyphens."""
        command = ["curl", "-sS", "-i", "--max-time", str(int(PATIENCE)), *arguments]
        if body is not None:
            command += ["--data-binary", "@-"]
        if type is not None:
            command += ["-H", f"Content-Type: {type}"]
        if token is not None:
            command += ["-H", f"Authorization: Bearer {self.token.get(token, token)}"]
        for name, value in headers.items():
            name = name.replace("_", "-")
            command += ["-H", f"{name}: {value}" if value else f"{name};"]
        body = body if body is None or isinstance(body, (str, bytes)) else json.dumps(body)
        body = body.encode() if isinstance(body, str) else body
        done = subprocess.run([*command, self.url + path], input=body, capture_output=True, check=True,
                              timeout=PATIENCE * 2, env=environment())
        return Answer(done.stdout.decode())

    def send(self, body, type="application/cloudevents+json", **others):
        return self.curl("/v1/events", body=body, type=type, **others)

    def command(self, action, token="admin", body=None, **headers):
        return self.curl(f"/v1/lifecycle/{action}", "-X", "POST", body=body, token=token,
                         type=None if body is None else "application/json", **headers)
