"""A headless Chromium that is driven over a pipe (the DevTools protocol): no package, no port."""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

CHROME = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome", "chrome") if (found := shutil.which(name))),
    None,
)
#: Seconds that an answer may take.
PATIENCE = 60


class Browser:
    """One page. ``events`` holds what it told without being asked: (method, params)."""

    def __init__(self, width: int = 1400, height: int = 1000):
        self._folder = tempfile.mkdtemp(prefix="browser-")
        reads, self._write = os.pipe()
        self._read, writes = os.pipe()
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (reads, writes)]

        def wire() -> None:
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"]
        options += ["--remote-debugging-pipe", f"--user-data-dir={self._folder}", f"--window-size={width},{height}"]
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen([str(CHROME), *options], close_fds=False, preexec_fn=wire, **quiet)
        for fd in (reads, writes, *high):
            os.close(fd)
        self._buffer, self._id, self._session = b"", 0, None
        self.events: list[tuple[str, dict[str, Any]]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._write)
        os.close(self._read)
        shutil.rmtree(self._folder, ignore_errors=True)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Ask for something and wait for the answer."""
        self._id += 1
        message = {"id": self._id, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + PATIENCE
        while True:
            told = self._next(end)
            if told.get("id") == self._id:
                assert "error" not in told, (method, told["error"])
                return told["result"]
            self._keep(told)

    def open(self, address: str) -> None:
        """Go to a page and wait until it is loaded."""
        self.events.clear()
        self.call("Page.navigate", url=address)
        end = time.monotonic() + PATIENCE
        while not any(method == "Page.loadEventFired" for method, _ in self.events):
            self._keep(self._next(end))

    def run(self, script: str) -> Any:
        """The value of an expression in the page; promises are waited for."""
        told = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def press(self, key: str, times: int = 1) -> None:
        """Press a key as a reader does."""
        code = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38, "End": 35, "Home": 36}[key]
        text = {"text": "\r"} if key == "Enter" else {}
        for _ in range(times):
            for kind in ("keyDown", "keyUp"):
                more = text if kind == "keyDown" else {}
                self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **more)

    @property
    def errors(self) -> list[Any]:
        """What a console would show in red, and scripts that failed."""
        wrong = [params for method, params in self.events if method == "Runtime.exceptionThrown"]
        wrong += [
            params
            for method, params in self.events
            if method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning")
        ]
        called = [params for method, params in self.events if method == "Runtime.consoleAPICalled"]
        return wrong + [params for params in called if params["type"] in ("error", "warning", "assert")]

    @property
    def requests(self) -> list[str]:
        """The addresses that were asked for."""
        return [params["request"]["url"] for method, params in self.events if method == "Network.requestWillBeSent"]

    def _keep(self, told: dict[str, Any]) -> None:
        if "method" in told:
            self.events.append((told["method"], told["params"]))

    def _next(self, end: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(end - time.monotonic(), 0))
            assert ready, "the browser does not answer"
            part = os.read(self._read, 1 << 16)
            assert part, "the browser has ended"
            self._buffer += part
        first, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(first)


def address_of(path: Path) -> str:
    """The file:// address of a page."""
    return path.resolve().as_uri()
