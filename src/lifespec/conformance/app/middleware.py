"""Play a case to middleware, between an application and the server of the suite.

Both sides write into one log, which `compare` judges.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from lifespec.conformance.app.log import Line, Watch, of_state, plain
from lifespec.conformance.app.loops import Loop
from lifespec.conformance.app.play import Call
from lifespec.conformance.app.play import play as play_case
from lifespec.conformance.app.target import NotFound
from lifespec.conformance.cases import Case
from lifespec.diagnosis.author import described
from lifespec.diagnosis.fact import fact
from lifespec.words import short_repr

Application = Callable[[Any, Any, Any], Awaitable[Any]]
Middleware = Callable[[Application], Application]


class ProbeError(Exception):
    """What the application of the suite raises when its script says so."""


class Probe:
    """An application that plays a script, and notes what it sees."""

    def __init__(self, case: Case) -> None:
        self.case, self.lines = case, list[Line]()
        self.requests = 0
        self.error: ProbeError | None = None

    def note(self, kind: str, **parts: Any) -> None:
        """Write a line."""
        self.lines.append(Line(time.monotonic(), kind, side="application", **parts))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Play the script to a lifespan, or to the scope that the case is about."""
        state = scope.get("state")
        if answer := _ANSWERS.get(scope.get("type")):
            self.requests += 1
            self.note("called", call=self.requests, **of_state(state))
            for event in answer:
                await send(event)
            return
        keys = {key: value for key, value in scope.items() if key != "state"}
        self.note("called", value=plain(keys), **of_state(state))
        for action in self.case.script:
            match action.verb:
                case "receive":
                    self.note("received", value=plain(await receive()))
                case "send":
                    await self._send(send, action.event)
                case "state":
                    self._write(state, action.keys)
                case "raise":
                    self.error = self.error or ProbeError(action.text)
                    raise self.error
                case "wait":
                    await asyncio.sleep(action.seconds)
        self.note("returned")

    def _write(self, state: Any, keys: Mapping[str, Any]) -> None:
        """Write into the state, where it takes that."""
        self.note("wrote", **of_state(keys))
        with suppress(Exception):
            state.update(keys)

    async def _send(self, send: Any, event: Any) -> None:
        self.note("sends", value=plain(event))
        try:
            await send(event)
        except Exception as error:
            self.note("refused", why=described(error).fact())

    def end(self) -> None:
        """Note what it has raised."""
        if self.error:
            self.note("raised", why=described(self.error).fact(), ids={"": id(self.error)})


_ANSWERS: Mapping[str, tuple[dict[str, Any], ...]] = {
    "http": (
        {"type": "http.response.start", "status": 204, "headers": []},
        {"type": "http.response.body", "body": b""},
    ),
    "message": ({"type": "message.ack"},),
}


def play(
    middleware: Middleware, case: Case, spec: str, limit: float, loop: type[Loop], watch: Watch
) -> Call:
    """Play a case to the middleware, and return the call."""
    probe = Probe(case)
    try:
        app = middleware(probe)
    except Exception as error:
        raise NotFound(fact("middleware-raised", error=described(error).fact())) from None
    if not callable(app):
        raise NotFound(fact("middleware-returned", value=short_repr(app)))
    call = play_case(app, case, spec, limit, loop, watch, probe.lines)
    for raised in call.seen.errors:  # it wanted something else than an application
        if f"'{Probe.__name__}' object" in raised.texts:
            raise NotFound(fact("no-middleware", error=raised.fact()))
    probe.end()
    return call
