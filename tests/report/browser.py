"""Chromium without a window, driven over its debugging pipe: the keys a reader presses, what the page then says."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Self

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
_FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe")
_COMPLAINTS = ("Runtime.exceptionThrown", "Log.entryAdded", "Network.requestWillBeSent")


class Browser:
    """One page of one browser; `complaints` has every error, and every request that left the page."""

    def __init__(self) -> None:
        assert CHROMIUM is not None
        self.complaints: list[str] = []
        self._number = 0
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self._to_write = os.pipe()
        self._to_read, to_write = os.pipe()
        # The browser listens on descriptor 3 and answers on 4.
        command = f'exec "$0" "$@" 3<&{to_read} 4>&{to_write}'
        self._process = subprocess.Popen(
            [
                "bash",
                "-c",
                command,
                CHROMIUM,
                *_FLAGS,
                f"--user-data-dir={self._profile.name}",
                "about:blank",
            ],
            pass_fds=(to_read, to_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._received = b""
        self._session: str | None = None

    def __enter__(self) -> Self:
        target = next(one for one in self.ask("Target.getTargets")["targetInfos"] if one["type"] == "page")
        attached = self.ask("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()
        os.close(self._to_write)
        os.close(self._to_read)
        self._profile.cleanup()

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send one command and return its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._to_write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                result: dict[str, Any] = answer["result"]
                return result

    def open(self, file: Path, fragment: str = "", *, width: int = 1100, scheme: str = "light") -> None:
        """Open a file as a reader does whose window and colours are these, and wait until it is there."""
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False
        )
        self.ask("Page.navigate", url="about:blank")
        self.ask("Page.navigate", url=file.absolute().as_uri() + fragment)
        while self.run("document.readyState + location.protocol") != "completefile:":
            pass

    def run(self, script: str) -> Any:
        """Return what an expression is on the page."""
        found = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def press(self, key: str, code: int) -> None:
        """Press and release one key."""
        for kind in ("rawKeyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def photograph(self, file: Path) -> None:
        """Save the whole page as a picture."""
        picture = self.ask("Page.captureScreenshot", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(picture["data"]))

    def print(self, file: Path) -> None:
        """Save the page as it would be printed."""
        printed = self.ask(
            "Page.printToPDF",
            paperWidth=8.27,
            paperHeight=11.69,
            preferCSSPageSize=True,
            printBackground=True,
        )
        file.write_bytes(base64.b64decode(printed["data"]))

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._received:
            part = os.read(self._to_read, 1 << 20)
            assert part, "the browser ended"
            self._received += part
        message, _, self._received = self._received.partition(b"\0")
        event: dict[str, Any] = json.loads(message)
        method, parameters = event.get("method"), event.get("params", {})
        if method in _COMPLAINTS or (
            method == "Runtime.consoleAPICalled" and parameters["type"] in {"error", "warning"}
        ):
            self._complain(method, parameters)
        return event

    def _complain(self, method: str, parameters: dict[str, Any]) -> None:
        url = parameters.get("request", {}).get("url", "")
        if not url.startswith(("file:", "data:", "about:")):
            self.complaints.append(f"{method}: {json.dumps(parameters)[:2000]}")
