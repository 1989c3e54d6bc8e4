"""Put a middleware around an application, and print as JSON what gets through.

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
from lifespec.validate import lifespan_scope
from records import connection, data

LIMIT = 5  # seconds for a run
Application = Callable[[Any, Any, Any], Awaitable[Any]]
Happened = list[list[Any]]
FAULTS = (
    "on the scope",  # the application raises before it receives an event
    "at startup",  # it sends lifespan.startup.failed and raises
    "while serving",  # it raises after it has sent lifespan.startup.complete
    "at shutdown",  # it sends lifespan.shutdown.failed and raises
)
now: ContextVar[Happened] = ContextVar("now")


def open_own() -> None:
    now.get().append(["opens its own"])


def close_own() -> None:
    now.get().append(["closes its own"])


@contextlib.asynccontextmanager
async def own(*_: object) -> AsyncIterator[None]:
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
        self.scope = lifespan_scope("asgi 2.0")
        self.own = OSError("no cache")

    def note(self, *happening: Any) -> None:
        self.happened.append(list(happening))

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
        if not call.done():
            call.cancel()
            self.note("waits")
        elif (error := call.exception()) is None:
            self.note("returned")
        elif error is self.own:
            self.note("raised the same")
        else:
            self.note("raised", type(error).__name__, str(error))
        return self.happened

    async def receive(self) -> dict[str, Any]:
        """Give the next event, shutdown only after the request."""
        if len(self.events) == 1:
            await self.answered.wait()
        if not self.events:
            await asyncio.sleep(3600)
        return {"type": self.events.pop(0)}

    async def send(self, event: dict[str, Any]) -> None:
        message = [event["message"].strip().splitlines()[-1]] if event.get("message") else []
        self.note("server", event["type"].removeprefix("lifespan."), *message)

    async def request(self, app: Application) -> None:
        """Send a request whose state has what the application wrote."""

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(event: dict[str, Any]) -> None:
            if event["type"] == "http.response.start":
                self.note("status", event["status"])

        scope = connection("http", "/") | {"state": self.scope["state"].copy()}
        try:
            await asyncio.wait_for(app(scope, receive, send), LIMIT)
        except Exception as error:
            self.note("request raised", type(error).__name__, str(error))

    async def application(self, scope: Any, receive: Any, send: Any) -> None:
        """Write into the state, and fail where the run has its fault."""
        if scope["type"] != "lifespan":
            self.note("request", scope.get("state", {}).get("pool", "no state"))
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"open"})
            return
        self.compare(scope, receive, send)
        self.fail("on the scope")
        self.note("application", (await receive())["type"])
        if isinstance(scope.get("state"), dict):
            scope["state"]["pool"] = "open"
        self.note("written", self.scope["state"].get("pool"))
        await self.answer(send, "startup")
        self.fail("while serving")
        self.note("application", (await receive())["type"])
        await self.answer(send, "shutdown")

    async def answer(self, send: Any, phase: str) -> None:
        if self.fault == f"at {phase}":
            await send({"type": f"lifespan.{phase}.failed", "message": "no cache"})
            raise self.own
        await send({"type": f"lifespan.{phase}.complete"})

    def fail(self, place: str) -> None:
        if self.fault == place:
            raise self.own

    def compare(self, scope: Any, receive: Any, send: Any) -> None:
        """Note what the application is called with."""
        names = {**self.scope, **scope}.keys() - {"state"}
        differs = [name for name in names if self.scope.get(name) != scope.get(name)]
        self.note("scope", "same" if scope is self.scope else "copy", *sorted(differs))
        state, ours = scope.get("state"), self.scope["state"]
        self.note("state", "none" if state is None else "same" if state is ours else "other")
        # a bound method is another object each time
        replaced = {"receive": receive != self.receive, "send": send != self.send}
        self.note("through its own", *(name for name, other in replaced.items() if other))


def passed(wrap: Callable[[Application], Application]) -> dict[str, Happened]:
    """Return what happened without a fault, and with each."""
    return {fault or "usual": asyncio.run(Run(fault).play(wrap)) for fault in ("", *FAULTS)}


def main() -> None:
    """Read the program, and print the answer."""
    logging.disable()
    warnings.simplefilter("ignore")
    names: dict[str, Any] = {"own": own, "open_own": open_own, "close_own": close_own}
    exec(compile(sys.stdin.read(), "middleware", "exec"), names)  # noqa: S102
    with contextlib.redirect_stdout(sys.stderr):
        seen = passed(names["wrap"])
        now.set([])
        report = check_middleware(names["wrap"])
    found = [
        {
            "case": each.case,
            "rule": each.rule,
            "verdict": each.verdict.value,
            "observed": data(each.observed),
        }
        for each in report.findings
    ]
    print(json.dumps({"passed": seen, "findings": found}), flush=True)


if __name__ == "__main__":
    main()
