"""Play a case to middleware, between an application and the server of the suite.

Both sides write into one log, which `compare` judges.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any

from lifespec.conformance import probe
from lifespec.conformance.app.loops import Loop
from lifespec.conformance.app.observation import Supervisor, plain
from lifespec.conformance.app.play import Application, PlayedCall, play
from lifespec.conformance.app.target import NotFound
from lifespec.conformance.cases import Case, steps
from lifespec.conformance.log import Log, LogLine
from lifespec.diagnosis.author import described
from lifespec.diagnosis.fact import fact
from lifespec.words import short_repr

Middleware = Callable[[Application], Application]


class ProbeError(Exception):
    """What the application of the suite raises when its script says so."""


class Probe(probe.Probe):
    """The application of the suite, with its script and its log in memory.

    It goes on where the server or the state does not take what it wants.
    """

    tries = ("send", "state")
    data = staticmethod(plain)

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.case, self.log = case, Log()
        self.error: ProbeError | None = None

    def script(self) -> Any:
        """Return the steps of the case."""
        return steps(self.case.script)

    def note(self, kind: str, call: int, error: BaseException | None = None, **facts: Any) -> None:
        """Write a line, except for an exception that leaves the call: that has a way to go."""
        if kind != "raised":
            why = described(error).fact() if error else None
            self.write(kind, call=call, why=why, **facts)

    def write(self, kind: str, **parts: Any) -> None:
        """Write a line."""
        parts = {"side": "application", **parts}
        self.log.append(LogLine(time.monotonic(), kind, **parts))

    def failure(self, text: str) -> Exception:
        """Return the exception of the script, the same one in each call."""
        # `compare` asks whether this very one has come through
        self.error = self.error or ProbeError(text)
        return self.error

    async def respond(self, number: int, scope: Any, receive: Any, send: Any) -> Any:
        """Play the script to a lifespan, or to the scope that the case is about."""
        answer = _ANSWERS.get(scope.get("type"))
        if answer is None:
            return await probe.Call(self, number, scope, receive, send).play()
        for event in answer:
            await send(event)
        return None

    def end(self) -> None:
        """Note what it has raised."""
        if self.error:
            why = described(self.error).fact()
            self.write("raised", why=why, ids={"": id(self.error)})


_ANSWERS: Mapping[str, tuple[dict[str, Any], ...]] = {
    "http": (
        {"type": "http.response.start", "status": 204, "headers": []},
        {"type": "http.response.body", "body": b""},
    ),
    "message": ({"type": "message.ack"},),
}


def play_middleware(
    middleware: Middleware,
    case: Case,
    spec: str,
    limit: float,
    loop: type[Loop],
    supervisor: Supervisor,
) -> PlayedCall:
    """Play a case to the middleware, and return the call."""
    inner = Probe(case)
    try:
        app = middleware(inner)
    except Exception as error:
        raise NotFound(fact("middleware-raised", error=described(error).fact())) from None
    if not callable(app):
        raise NotFound(fact("middleware-returned", value=short_repr(app)))
    call = play(app, case, spec, limit, loop, supervisor, inner.log)
    for raised in call.seen.errors:  # it wanted something else than an application
        for cause in raised.chain:
            if f"'{Probe.__name__}' object" in cause.text:
                raise NotFound(fact("no-middleware", error=raised.fact()))
    inner.end()
    return call
