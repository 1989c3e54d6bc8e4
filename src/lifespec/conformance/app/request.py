"""A request to an application that runs, and what comes of it."""

from collections.abc import Awaitable, Callable
from typing import Any

from lifespec import validate
from lifespec.conformance.app.observation import Observation
from lifespec.diagnosis.author import described
from lifespec.diagnosis.fact import Fact, fact

TYPES = ("http", "message")  # of the scopes of requests
ANSWERED_WITHIN = 1.0  # seconds
ANSWERED_AGAIN_WITHIN = 5.0  # the same after another start, if it was answered before
CLIENT_GONE_AFTER = 0.1  # seconds after which the client has gone


def request_scope(spec: str, state: dict[Any, Any] | None) -> dict[str, Any]:
    """Return the scope of a request, with its copy of the state."""
    scope = _http(spec)
    if spec.startswith("amgi"):
        scope = _message(spec)
    if state is not None:
        scope["state"] = state.copy()
    return scope


def _http(spec: str) -> dict[str, Any]:
    return {
        "type": "http",
        validate.SPECS[spec].envelope or "asgi": {"version": "3.0", "spec_version": "2.5"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": "/",
        "raw_path": b"/",
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"127.0.0.1")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }


def _message(spec: str) -> dict[str, Any]:
    versions = {validate.SPECS[spec].envelope: dict(validate.SPECS[spec].versions)}
    return {"type": "message", **versions, "address": "lifespec", "headers": []}


def patience(limit: float, before: Observation | None) -> float:
    """Return how many seconds a request may take, by what was observed of an earlier start.

    One that was answered then has more: this machine may be busy, and what is told of a second
    start has to come from the application.
    """
    if before is None or before.reply in (None, PlayedRequest.reply):
        return min(limit, ANSWERED_WITHIN)
    return min(limit, ANSWERED_AGAIN_WITHIN)


class PlayedRequest:
    """One request; `note` writes a line, and `reply` is what came of it so far."""

    reply = Fact("replied-not")

    def __init__(
        self,
        scope: dict[str, Any],
        sleep: Callable[[float], Awaitable[object]],
        note: Callable[..., object],
    ) -> None:
        self.scope, self.sleep, self.note = scope, sleep, note
        self.events = [{"type": f"{scope['type']}.request"}]

    async def make(self, app: Callable[..., Awaitable[Any]], done: Any) -> None:
        """Call the application, and set the event `done` when that ends."""
        try:
            await app(self.scope, self.receive, self.send)
        except Exception as error:
            raised = described(error)
            self.reply = fact("replied-raised", error=raised.fact())
            self.note("raised", "", raised.text, error=raised.type)
        else:
            if self.reply.kind == "replied-not":
                self.reply = Fact("replied-nothing")
            self.note("returned")
        finally:
            done.set()

    async def receive(self) -> Any:
        """Return the request, and then that the client has gone."""
        if self.events:
            return self.events.pop()
        # frameworks listen for this while they answer, and would cut the answer off at once
        await self.sleep(CLIENT_GONE_AFTER)
        return {"type": f"{self.scope['type']}.disconnect"}

    async def send(self, event: Any) -> None:
        """Take the beginning of an answer."""
        if event["type"] != "http.response.body":  # the status says enough; a body may be endless
            status = str(event.get("status", ""))
            if status:
                self.reply = fact("replied-status", status=status)
            else:
                self.reply = fact("replied-event", event=event["type"])
            self.note("sent", event["type"], status)
