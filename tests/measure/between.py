"""Puts a middleware around an application, and prints as JSON what gets through.

    python between.py < PROGRAM

PROGRAM is Python that defines `wrap(app)`; it can use `own`, a context manager, and `open_own` and
`close_own`, which stand for work of its own in the lifespan.  The answer has `passed`, which is
observed by this file alone, and `findings`, those of the conformance suite.
"""

import asyncio
import contextlib
import json
import logging
import sys
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from contextvars import ContextVar
from typing import Any

from lifespec.conformance import check_middleware
from lifespec.conformance.text import Words

__all__ = ["main", "passed"]

LIMIT = 5  # seconds for a run
Application = Callable[[Any, Any, Any], Awaitable[Any]]
Happened = list[list[Any]]
FAULTS = {
    "on the scope": "The application raises before it receives an event.",
    "at startup": "It sends lifespan.startup.failed and raises.",
    "while serving": "It raises after it has sent lifespan.startup.complete.",
    "at shutdown": "It sends lifespan.shutdown.failed and raises.",
}
now: ContextVar[Happened] = ContextVar("now")


def open_own() -> None:
    """Open what the middleware was asked to open."""
    now.get().append(["opens its own"])


def close_own() -> None:
    """Close it."""
    now.get().append(["closes its own"])


@contextlib.asynccontextmanager
async def own(*_: object) -> AsyncIterator[None]:
    """Do both."""
    open_own()
    try:
        yield
    finally:
        close_own()


class Run:
    """A lifespan, and a request while it serves: this is both the server and the application."""

    def __init__(self, fault: str) -> None:
        self.fault = fault
        self.happened: Happened = []
        self.events = [f"lifespan.{phase}" for phase in ("startup", "shutdown")]
        self.answered = asyncio.Event()
        self.scope: dict[str, Any] = {
            "type": "lifespan",
            "asgi": {"version": "3.0", "spec_version": "2.0"},
            "state": {},
        }
        self.own = OSError("no cache")

    # -- the server --

    async def play(self, wrap: Callable[[Application], Application]) -> Happened:
        """Call what `wrap` returns."""
        now.set(self.happened)

        async def application(scope: Any, receive: Any, send: Any) -> None:
            await self.application(scope, receive, send)  # Sentry takes no method for one

        app = wrap(application)
        call = asyncio.ensure_future(app(self.scope, self.receive, self.send))
        call.add_done_callback(lambda _: self.answered.set())
        await asyncio.wait([call], timeout=0.1)
        if not self.fault:
            await self.request(app)
        self.answered.set()
        await asyncio.wait([call], timeout=LIMIT)
        self.happened.append(self.end(call))
        return self.happened

    def end(self, call: asyncio.Future[Any]) -> list[Any]:
        """Say how the call ended."""
        if not call.done():
            call.cancel()
            return ["waits"]
        error = call.exception()
        if error is None:
            return ["returned"]
        if error is self.own:
            return ["raised the same"]
        return ["raised", type(error).__name__, str(error)]

    async def receive(self) -> dict[str, Any]:
        """Give the next event, shutdown only after the request."""
        if len(self.events) == 1:
            await self.answered.wait()
        if not self.events:
            await asyncio.sleep(3600)
        return {"type": self.events.pop(0)}

    async def send(self, event: dict[str, Any]) -> None:
        """Note what arrives."""
        message = [event["message"].strip().splitlines()[-1]] if event.get("message") else []
        self.happened.append(["server", event["type"].removeprefix("lifespan."), *message])

    async def request(self, app: Application) -> None:
        """Send a request whose state has what the application wrote."""
        scope = {
            "type": "http", "http_version": "1.1", "method": "GET", "path": "/", "raw_path": b"/",
            "root_path": "", "query_string": b"", "scheme": "http", "headers": [(b"host", b"shop")],
            "client": ("127.0.0.1", 9), "server": ("127.0.0.1", 80),
            "asgi": {"version": "3.0", "spec_version": "2.3"}, "state": self.scope["state"].copy(),
        }  # fmt: skip

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(event: dict[str, Any]) -> None:
            if event["type"] == "http.response.start":
                self.happened.append(["status", event["status"]])

        try:
            await asyncio.wait_for(app(scope, receive, send), LIMIT)
        except Exception as error:
            self.happened.append(["request raised", type(error).__name__, str(error)])

    # -- the application --

    async def application(self, scope: Any, receive: Any, send: Any) -> None:
        """Write into the state, and fail where it is asked to."""
        if scope["type"] != "lifespan":
            self.happened.append(["request", scope.get("state", {}).get("pool", "no state")])
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"open"})
            return
        self.compare(scope, receive, send)
        self.fail("on the scope")
        self.happened.append(["application", (await receive())["type"]])
        if isinstance(scope.get("state"), dict):
            scope["state"]["pool"] = "open"
        self.happened.append(["written", self.scope["state"].get("pool")])
        await self.answer(send, "startup")
        self.fail("while serving")
        self.happened.append(["application", (await receive())["type"]])
        await self.answer(send, "shutdown")

    async def answer(self, send: Any, phase: str) -> None:
        """Send complete, or failed with a message and raise."""
        if self.fault == f"at {phase}":
            await send({"type": f"lifespan.{phase}.failed", "message": "no cache"})
            raise self.own
        await send({"type": f"lifespan.{phase}.complete"})

    def fail(self, place: str) -> None:
        """Raise, if it is to."""
        if self.fault == place:
            raise self.own

    def compare(self, scope: Any, receive: Any, send: Any) -> None:
        """Note what it is called with."""
        what = "same" if scope is self.scope else "copy"
        differs = [
            key for key in {**self.scope, **scope}
            if key != "state" and self.scope.get(key) != scope.get(key)
        ]  # fmt: skip
        self.happened.append(["scope", what, *differs])
        state = scope.get("state")
        what = "none" if state is None else "same" if state is self.scope["state"] else "other"
        self.happened.append(["state", what])
        # a bound method is another object each time
        through = [what for what, each, ours in (
            ("receive", receive, self.receive), ("send", send, self.send)
        ) if each != ours]  # fmt: skip
        self.happened.append(["through its own", *through])


def passed(wrap: Callable[[Application], Application]) -> dict[str, Happened]:
    """Return what happened without a fault, and with each."""
    return {fault or "usual": asyncio.run(Run(fault).play(wrap)) for fault in ("", *FAULTS)}


def main() -> int:
    """Read the program, and print the answer."""
    logging.disable()
    warnings.simplefilter("ignore")
    names: dict[str, Any] = {"own": own, "open_own": open_own, "close_own": close_own}
    exec(compile(sys.stdin.read(), "middleware", "exec"), names)  # noqa: S102
    with contextlib.redirect_stdout(sys.stderr):
        seen = passed(names["wrap"])
        now.set([])
        report = check_middleware(names["wrap"])
    said = [Words(language).say for language in ("en", "zh")]
    found = [
        [each.case, each.rule, each.verdict.value, *(say(each.observed) for say in said)]
        for each in report.findings
    ]
    print(json.dumps({"passed": seen, "findings": found}))
    sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
