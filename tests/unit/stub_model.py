"""A small server on the loopback that answers chat completions as a test says."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class StubModel(ThreadingHTTPServer):
    """``say`` makes the content of an answer from the user message; None is an empty answer.

    After ``lasts`` answers it turns every request down with the status 503. ``raw``, where it is set, makes the whole
    response from the number of the request: status, headers and body; ``Content-Length`` is the body's if not given.
    """

    daemon_threads = True

    def __init__(self, say: Callable[[str], str | None]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.say = say
        self.lasts: int | None = None
        self.raw: Callable[[int], tuple[int, dict[str, str], bytes]] | None = None
        self.bodies: list[dict] = []
        self.lock = threading.Lock()

    @property
    def settings(self) -> dict:
        """An endpoint as a study has it."""
        return {
            "base_url": f"http://127.0.0.1:{self.server_port}/v1",
            "model": "stub",
            "timeout": 5,
            "backoff": 0.01,
            "attempts": 2,
            "concurrency": 1,
        }

    @property
    def users(self) -> list[str]:
        """The user messages so far."""
        return [body["messages"][1]["content"] for body in self.bodies]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: StubModel

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            dead = self.server.lasts is not None and len(self.server.bodies) >= self.server.lasts
            if not dead:
                self.server.bodies.append(body)
        said = {"error": {"message": "gone"}}
        if not dead:
            message = {"role": "assistant", "content": self.server.say(body["messages"][1]["content"])}
            said = {
                "id": "1",
                "object": "chat.completion",
                "created": 1,
                "model": "stub",
                "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
                "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
            }
        if self.server.raw:
            self.send(*self.server.raw(len(self.server.bodies)))
        else:
            self.send(503 if dead else 200, {"Content-Type": "application/json"}, json.dumps(said).encode())

    def do_GET(self) -> None:  # where a redirect leads
        assert self.server.raw
        self.send(*self.server.raw(0))

    def send(self, status: int, headers: dict[str, str], data: bytes) -> None:
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(data))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)
        self.close_connection = "Content-Length" in headers  # else a client waits for what does not come

    def log_message(self, *_) -> None:
        pass


@contextmanager
def running(say: Callable[[str], str | None]) -> Iterator[StubModel]:
    """The server, while the block lasts."""
    server = StubModel(say)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()
