"""An HTTP server that takes CloudEvents batches, or behaves as badly as a test wants it to.

`Receiver(behave)` asks `behave(post)` what to do with each post, in order. It returns

- a status, or (status, headers), or (status, headers, body): that is the answer;
- one of CLOSE, RESET, SHORT, ENDLESS, HEADERS, STALL: see there.

What was answered with 2xx, or was to be, is in `taken`, for a receiver has the events whether or not its answer arrives.
"""

import gzip
import json
import queue
import socket
import struct
import threading

from holdgate import PATIENCE, wait_until

CLOSE = "takes the events, and closes the connection without an answer"
RESET = "takes the events, and resets the connection in the middle of its answer"
SHORT = "takes the events, and answers with fewer bytes than it says"
ENDLESS = "takes the events, and answers with a body that does not end"
HEADERS = "takes the events, and answers with a head that does not end"
STALL = "takes nothing, and answers nothing as long as the connection lasts"


class Post:
    def __init__(self, number, path, headers, body):
        self.number = number
        self.path = path
        self.headers = headers
        self.raw = body
        self.is_compressed = headers.get("content-encoding") == "gzip"
        self.body = gzip.decompress(body) if self.is_compressed else body
        self.events = json.loads(self.body)
        self.ids = [event["id"] for event in self.events]
        self.key = headers.get("idempotency-key")
        self.action = None


class Receiver:
    def __init__(self, behave=lambda post: 200, port=0, tls=None):
        self.behave = behave
        self.tls = tls
        self.posts = []
        self.problems = []
        self.lock = threading.Lock()
        self.stalled = queue.Queue()
        self.ended = queue.Queue()
        self.connections = set()
        self.accepted = 0
        self.open(port)

    def open(self, port):
        self.listener = socket.create_server(("127.0.0.1", port), backlog=16)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    def url(self, path="/events", host="127.0.0.1"):
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}{path}"

    def restart(self):
        """Away, connections included; `open(port)` brings it back."""
        self.close()
        return self.port

    def close(self):
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()
        with self.lock:
            for connection in self.connections:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    # -- what came

    @property
    def taken(self):
        """The events of every post that was taken, again and again where it came again."""
        with self.lock:
            return [event for post in self.posts if is_taken(post) for event in post.events]

    @property
    def ids(self):
        return [event["id"] for event in self.taken]

    def once(self):
        """The ids, each where its key came first."""
        with self.lock:
            posts = {post.key: post for post in reversed(self.posts) if is_taken(post)}.values()
        return [number for post in sorted(posts, key=lambda post: post.number) for number in post.ids]

    def wait_for(self, count):
        wait_until(lambda: len(set(self.ids)) >= count, f"{count} events at the receiver, not {len(self.posts)} posts")

    def wait_for_posts(self, count):
        wait_until(lambda: len(self.posts) >= count, f"{count} posts")

    # -- the server

    def accept(self, listener):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with self.lock:
                self.accepted += 1
                self.connections.add(connection)
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        raw = connection
        try:
            connection.settimeout(10 * PATIENCE)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.tls:
                connection = self.tls.wrap_socket(connection, server_side=True)
            with connection.makefile("rb") as reader:
                while self.one(connection, reader):
                    pass
        except OSError as problem:
            self.problems.append(problem)
        finally:
            with self.lock:
                self.connections.discard(raw)
            connection.close()
            self.ended.put(True)

    def one(self, connection, reader):
        """One request; false ends the connection."""
        line = reader.readline()
        if not line:
            return False
        method, path, _ = line.decode().split()
        headers = {}
        while (line := reader.readline().strip()):
            name, value = line.decode().split(":", 1)
            headers[name.lower()] = value.strip()
        body = reader.read(int(headers.get("content-length", 0)))
        if method != "POST" or len(body) < int(headers.get("content-length", 0)):
            return False
        with self.lock:
            post = Post(len(self.posts), path, headers, body)
            post.action = self.behave(post)
            self.posts.append(post)
        return self.act(post.action, connection)

    def act(self, action, connection):
        if action == CLOSE:
            return False
        if action == STALL:
            self.stalled.put(True)
            connection.recv(1)
            return False
        if action == RESET:
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return False
        if action == SHORT:
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nthat was all")
            return False
        if action == ENDLESS:
            connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            while True:
                connection.sendall(b"1000\r\n" + b"x" * 4096 + b"\r\n")
        if action == HEADERS:
            connection.sendall(b"HTTP/1.1 200 OK\r\n")
            while True:
                connection.sendall(b"X-More: " + b"x" * 4096 + b"\r\n")
        status, headers, text = parts(action)
        head = f"HTTP/1.1 {status} Said\r\nContent-Length: {len(text)}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        connection.sendall(head.encode() + b"\r\n" + text)
        return True


def parts(action):
    action = action if isinstance(action, tuple) else (action,)
    status, headers, text = (*action, *({}, b"")[len(action) - 1:])
    return status, headers, text


def is_taken(post):
    """Whether the receiver has the events."""
    if isinstance(post.action, str):
        return post.action != STALL
    return 200 <= parts(post.action)[0] < 300


def script(*actions, then=200):
    """One action after another, and `then` for all that follow."""
    rest = list(actions)
    return lambda post: rest.pop(0) if rest else then
