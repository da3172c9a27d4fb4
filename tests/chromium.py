"""Headless Chromium, driven over its debugging pipe: pages to open, keys to press, pictures to take.

The protocol is that of the browser's developer tools: JSON objects, each ended by a zero byte, read from file
descriptor 3 of the browser and written to 4. No port is opened and no driver is needed.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

__all__ = ["BROWSERS", "Chromium", "Tab", "browser"]

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_OPTIONS = (
    *("--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--hide-scrollbars", "--no-first-run"),
    *("--disable-background-networking", "--disable-extensions", "--disable-dev-shm-usage", "--mute-audio"),
    "--no-sandbox",  # a sandbox of its own is not to be had as root, and pages are files of ours
)
_PATIENCE = 60.0
_KEYS = {"Tab": (9, ""), "Enter": (13, "\r"), " ": (32, " "), "Escape": (27, "")}


def browser() -> str | None:
    """Where the browser is, if one is on PATH."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


class Chromium:
    """A browser that runs as long as its block; without one on PATH it raises FileNotFoundError."""

    def __init__(self) -> None:
        found = browser()
        if found is None:
            raise FileNotFoundError(f"none of {', '.join(BROWSERS)} is on PATH")
        self._path = found
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._number = 0
        self._held = b""
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Chromium:
        (read, self._to), (self._from, write) = os.pipe(), os.pipe()
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (read, write)]

        def place() -> None:
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        # The two numbers are the protocol's: in the child they stand for the pipes.
        self._process = subprocess.Popen(
            [self._path, *_OPTIONS, f"--user-data-dir={self._profile.name}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=place,
            pass_fds=(3, 4),
        )
        for end in (*ends, read, write):
            os.close(end)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._to)
        os.close(self._from)
        self._profile.cleanup()

    def ask(self, method: str, session: str | None = None, /, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol and return its result."""
        self._number += 1
        call: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            call["sessionId"] = session
        data = json.dumps(call).encode() + b"\0"
        while data:
            data = data[os.write(self._to, data) :]
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def wait_for(self, method: str, session: str) -> None:
        """Wait for an event."""
        while True:
            for at, event in enumerate(self.events):
                if (event.get("method"), event.get("sessionId")) == (method, session):
                    del self.events[at]
                    return
            self.events.append(self._next())

    def _next(self) -> dict[str, Any]:
        until = time.monotonic() + _PATIENCE
        while b"\0" not in self._held:
            if not select.select([self._from], [], [], max(0, until - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            data = os.read(self._from, 1 << 20)
            if not data:
                raise RuntimeError("the browser ended")
            self._held += data
        line, _, self._held = self._held.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message

    def open(
        self, page: Path, anchor: str = "", *, width: int = 1400, height: int = 900, dark: bool = False
    ) -> Tab:
        """Open a page in a tab of its own, at an anchor."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tab = Tab(self, session)
        tab.ask("Page.enable")
        tab.ask("Log.enable")
        tab.ask("Network.enable")
        tab.size(width, height)
        tab.media(dark=dark)
        tab.ask("Page.navigate", url=page.as_uri() + anchor)
        self.wait_for("Page.loadEventFired", session)
        return tab


class Tab:
    """An open page."""

    def __init__(self, chromium: Chromium, session: str) -> None:
        self._chromium = chromium
        self._session = session

    def ask(self, method: str, /, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol about this page."""
        return self._chromium.ask(method, self._session, **parameters)

    def size(self, width: int, height: int) -> None:
        """Give the page a size in pixels; what is narrow is a phone."""
        phone = width < 500
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=phone,
        )

    def media(self, *, dark: bool = False, printed: bool = False) -> None:
        """Show it as on a dark or light screen, or as it is printed."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        still = {"name": "prefers-reduced-motion", "value": "reduce"}
        self.ask(
            "Emulation.setEmulatedMedia", media="print" if printed else "screen", features=[scheme, still]
        )

    def run(self, script: str) -> Any:
        """The value of an expression on the page; a promise is waited for."""
        answer = self.ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def until(self, script: str) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + _PATIENCE
        while not self.run(script):
            if time.monotonic() > end:
                raise TimeoutError(f"never true: {script}")
            time.sleep(0.02)

    def press(self, *keys: str) -> None:
        """Press keys one after the other: characters, Tab, Enter, Escape; Shift+ goes before one."""
        for key in keys:
            name = key.removeprefix("Shift+")
            code, text = _KEYS.get(name, (ord(name[0].upper()), name))
            common = {"key": name, "windowsVirtualKeyCode": code, "modifiers": 8 if key != name else 0}
            self.ask("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
            self.ask("Input.dispatchKeyEvent", type="keyUp", **common)

    def picture(self, target: Path, *, whole: bool = False, height: int | None = None) -> None:
        """Save what is seen as PNG, or the ``whole`` page as far as ``height``."""
        clip: dict[str, Any] = {}
        if whole:
            size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
            tall = size["height"] if height is None else min(size["height"], height)
            clip = {"clip": {"x": 0, "y": 0, "width": size["width"], "height": tall, "scale": 1}}
        shot = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole, **clip)
        target.write_bytes(base64.b64decode(shot["data"]))

    def pdf(self, target: Path) -> None:
        """Save what is printed."""
        self.media(printed=True)
        target.write_bytes(base64.b64decode(self.ask("Page.printToPDF", printBackground=True)["data"]))

    def problems(self) -> list[str]:
        """What the browser complained of, and what the page wanted to load."""
        reported = []
        for event in self._chromium.events:
            if event.get("sessionId") != self._session:
                continue
            if event["method"] == "Log.entryAdded":
                reported.append(event["params"]["entry"]["text"])
            elif event["method"] == "Network.requestWillBeSent":
                url = event["params"]["request"]["url"]
                if event["params"].get("type") != "Document":
                    reported.append(f"loads {url[:100]}")
        return reported
