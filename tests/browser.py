"""Drive a headless Chromium over a pipe: no package, no port, and every request and error is recorded."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Browser:
    """One page. ``errors`` and ``requests`` collect messages of the console and the network."""

    def __init__(self, width: int = 1200, height: int = 900) -> None:
        assert CHROMIUM is not None
        self.errors: list[str] = []
        self.requests: list[str] = []
        self._number, self._buffer = 0, b""
        self._profile = tempfile.mkdtemp(prefix="autograder-browser-")
        reads, self._to = os.pipe()
        self._from, writes = os.pipe()

        def descriptors() -> None:  # Chromium reads commands from 3 and answers on 4
            high = [os.dup(reads), os.dup(writes)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe"]
        self._process = subprocess.Popen(
            [CHROMIUM, *flags, f"--user-data-dir={self._profile}", "about:blank"],
            preexec_fn=descriptors,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(reads)
        os.close(writes)
        target = next(t for t in self._call("Target.getTargets")["targetInfos"] if t["type"] == "page")["targetId"]
        self._session = ""
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self._call(f"{domain}.enable")
        self.resize(width, height)

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._to)
        os.close(self._from)
        shutil.rmtree(self._profile, ignore_errors=True)

    def resize(self, width: int, height: int) -> None:
        """Set the size of the screen."""
        self._call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )

    def prefer(self, scheme: str) -> None:
        """Prefer the color scheme "light" or "dark"."""
        self._call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def press(self, key: str, control: bool = False) -> None:
        """Press a key, such as "Tab"."""
        codes = {"Tab": 9, "Enter": 13}
        given = {"key": key, "code": key, "windowsVirtualKeyCode": codes[key], "modifiers": 2 * control}
        for kind in ("rawKeyDown", "keyUp"):
            self._call("Input.dispatchKeyEvent", type=kind, **given)

    def open(self, path: Path) -> None:
        """Load a file and wait until it is loaded."""
        self._call("Page.navigate", url=path.absolute().as_uri())
        self._until("Page.loadEventFired")

    def run(self, script: str) -> Any:
        """Return the value of an expression in the page."""
        done = self._call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def shoot(self, path: Path) -> None:
        """Return a screenshot of the whole page."""
        size = self._call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 8000), "scale": 1}
        shot = self._call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(shot["data"]))

    def wait(self) -> None:
        """Wait until the page that a click leads to is loaded."""
        self._until("Page.loadEventFired")

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if getattr(self, "_session", ""):
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        answer = self._until("", self._number)
        assert "error" not in answer, answer
        return dict(answer["result"])

    def _until(self, method: str, number: int = 0) -> dict[str, Any]:
        while True:
            while b"\0" not in self._buffer:
                part = os.read(self._from, 1 << 16)
                assert part, "the browser is gone"
                self._buffer += part
            raw, _, self._buffer = self._buffer.partition(b"\0")
            message = json.loads(raw)
            self._note(message.get("method", ""), message.get("params", {}))
            if (number and message.get("id") == number) or (method and message.get("method") == method):
                return dict(message)

    def _note(self, method: str, facts: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            self.requests.append(facts["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.errors.append(facts["exceptionDetails"]["text"])
        elif method == "Log.entryAdded" and facts["entry"]["level"] in ("error", "warning"):
            self.errors.append(facts["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and facts["type"] in ("error", "warning", "assert"):
            self.errors.append(str(facts["args"]))
