"""A headless Chromium, spoken to through two pipes: DevTools' protocol, and nothing installed."""

import fcntl
import json
import os
import select
import subprocess
import tempfile
import time
from typing import Any, Self

COMMAND = [
    "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--no-first-run", "--remote-debugging-pipe",
]  # fmt: skip
KEYS = {
    "Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40,
    "a": 65, "z": 90, "/": 191,
}  # fmt: skip
TYPED = {"Enter": "\r", " ": " ", "/": "/"}
CONTROL = 2
LIMIT = 300.0  # seconds; axe takes long on the largest pages of a busy machine
# What Chromium answers while a page makes way for another.
MAKING_WAY = "navigated", "context was destroyed", "Cannot find"


class Browser:
    """One page of one browser; `requests` are the addresses it asked for, `failures` the lost.

    Those of its workers are not among them.
    """

    def __enter__(self) -> Self:
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        commands, self._to = os.pipe()
        self._from, answers = os.pipe()
        # Chromium reads commands from descriptor 3 and answers on 4: ours stand out of the way.
        theirs = [fcntl.fcntl(each, fcntl.F_DUPFD, 10) for each in (commands, answers)]
        shell = 'exec "$@" 3<&{} 4>&{}'.format(*theirs)
        self.process = subprocess.Popen(
            ["bash", "-c", shell, "bash", *COMMAND, f"--user-data-dir={self.profile.name}"],
            pass_fds=theirs,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for each in (commands, answers, *theirs):
            os.close(each)
        self._rest, self._number = b"", 0
        self._session: str | None = None
        self.requests: list[str] = []
        self.failures: list[str] = []
        self.events: list[str] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Runtime"):
            self.send(f"{domain}.enable")
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._to)
        os.close(self._from)
        self.profile.cleanup()

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its result."""
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": parameters}
        session = {"sessionId": self._session} if self._session else {}
        os.write(self._to, json.dumps(message | session).encode() + b"\0")
        while (answer := self._read()).get("id") != number:
            self._note(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]  # type: ignore[no-any-return]

    def _read(self) -> dict[str, Any]:
        until = time.monotonic() + LIMIT
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._from], [], [], until - time.monotonic())
            if not ready:
                raise TimeoutError("the browser does not answer")
            if not (more := os.read(self._from, 1 << 16)):
                raise ConnectionError("the browser has ended")
            self._rest += more
        text, _, self._rest = self._rest.partition(b"\0")
        return json.loads(text)  # type: ignore[no-any-return]

    def _note(self, event: dict[str, Any]) -> None:
        self.events.append(event.get("method", ""))
        about = event.get("params", {})
        if event.get("method") == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        if event.get("method") == "Network.responseReceived" and about["response"]["status"] >= 400:
            self.failures.append(about["response"]["url"])

    def width(self, pixels: int) -> None:
        """Make the window this wide."""
        size = {"width": pixels, "height": 800, "deviceScaleFactor": 1, "mobile": False}
        self.send("Emulation.setDeviceMetricsOverride", **size)

    def press(self, key: str, modifiers: int = 0) -> None:
        """Press a key, and let it go."""
        code = f"Key{key.upper()}" if key in "az" else key
        about = {"key": key, "code": code, "windowsVirtualKeyCode": KEYS[key]}
        text = {} if modifiers or key not in TYPED else {"text": TYPED[key]}
        for kind in ({"type": "keyDown", **text}, {"type": "keyUp"}):
            self.send("Input.dispatchKeyEvent", modifiers=modifiers, **about, **kind)

    def open(self, address: str) -> None:
        """Go to a page, and wait until all of it is there."""
        self.events.clear()
        went = self.send("Page.navigate", url=address)
        # Without a loader it is the same page, at another heading.
        while "loaderId" in went and "Page.loadEventFired" not in self.events:
            self._note(self._read())

    def run(self, script: str) -> Any:
        """Run an expression in the page; a promise is awaited; return its value."""
        how = dict.fromkeys(["returnByValue", "awaitPromise", "userGesture"], True)
        result = self.send("Runtime.evaluate", expression=script, **how)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"]["description"])
        return result["result"].get("value")

    def until(self, script: str, limit: float = LIMIT) -> Any:
        """Run an expression until it is true; return its value."""
        end = time.monotonic() + limit
        while not (value := self._now(script)):
            if time.monotonic() > end:
                raise TimeoutError(f"not true in {limit:g} s: {script}")
            time.sleep(0.05)
        return value

    def _now(self, script: str) -> Any:
        """Run an expression; it has no value while the page makes way for another."""
        try:
            return self.run(script)
        except RuntimeError as error:
            if not any(words in str(error) for words in MAKING_WAY):
                raise
            return None
