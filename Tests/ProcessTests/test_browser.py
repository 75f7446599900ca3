"""A real browser before a gateway: a page of another origin sends events into a held host, and hears it start."""

import http.server
import json
import os
import queue
import shutil
import signal
import subprocess
import threading

import pytest

from gateway import Gateway
from holdgate import PATIENCE, environment

PAGE = """<!doctype html><title>page</title><script>
const gateway = "GATEWAY";
const event = (id) => ({specversion: "1.0", id, source: "/page", type: "page.event"});
const say = (what) => fetch("/said", {method: "POST", body: JSON.stringify(what)});
async function send(type, body, more = {}) {
    const answer = await fetch(gateway + "/v1/events",
                               {method: "POST", headers: {"Content-Type": type}, body: JSON.stringify(body), ...more});
    return (await answer.json()).accepted;
}
async function run() {
    const said = {};
    try {
        said.structured = await send("application/cloudevents+json", event("structured"));
        said.batch = await send("application/cloudevents-batch+json", [event("batch-1"), event("batch-2")]);
        said.keepalive = await send("application/cloudevents+json", event("keepalive"), {keepalive: true});
        said.keyed = await send("application/cloudevents+json", event("keyed"),
                                {headers: {"Content-Type": "application/cloudevents+json", "Idempotency-Key": "k"}});
        said.text = navigator.sendBeacon(gateway + "/v1/events", JSON.stringify(event("beacon-text")));
        said.blob = navigator.sendBeacon(gateway + "/v1/events",
            new Blob([JSON.stringify(event("beacon-blob"))], {type: "application/cloudevents+json"}));
    } catch (error) {
        said.error = String(error);
    }
    await say(said);
    if (said.error) return;
    const stream = new EventSource(gateway + "/v1/stream");
    stream.addEventListener("state", (change) => say({state: JSON.parse(change.data).state}));
}
run();
</script>"""


class Site:
    """Serves the page, and keeps what it says."""

    def __init__(self):
        self.said = queue.Queue()
        self.gateway = ""
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.answer(PAGE.replace("GATEWAY", site.gateway).encode() if self.path == "/" else b"")

            def do_POST(self):
                site.said.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.answer(b"")

            def answer(self, body):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.origin = f"http://localhost:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def hear(self):
        return self.said.get(timeout=PATIENCE * 3)

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def site():
    site = Site()
    yield site
    site.close()


@pytest.fixture
def browse(tmp_path):
    """Opens a page in a browser of its own."""
    started = []

    def start(url):
        command = [
            "chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-proxy-server",
            f"--user-data-dir={tmp_path}/profile", url,
        ]
        started.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, env=environment(), start_new_session=True))

    yield start
    for process in started:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    shutil.rmtree(tmp_path / "profile", ignore_errors=True)


def test_a_page_sends_events_into_a_held_host_and_hears_it_start(held, site, browse):
    collector = held.collector()
    gateway = Gateway(held, "--origin", site.origin)
    try:
        site.gateway = gateway.url
        browse(site.origin + "/")
        assert site.hear() == {"structured": 1, "batch": 2, "keepalive": 1, "keyed": 1, "text": True, "blob": True}
        assert site.hear() == {"state": "onHold"}
        held.ok("startOperation")
        assert site.hear() == {"state": "operating"}
        arrived = {each["id"] for _, each in collector.take(7)}
        assert arrived == {"structured", "batch-1", "batch-2", "keepalive", "keyed", "beacon-text", "beacon-blob"}
    finally:
        gateway.close()


def test_a_page_of_another_origin_sends_nothing(held, site, browse):
    gateway = Gateway(held, "--origin", "https://shop.example")
    try:
        site.gateway = gateway.url
        browse(site.origin + "/")
        assert "Failed to fetch" in site.hear()["error"]
        assert held.state()["gated"] == 0
    finally:
        gateway.close()
