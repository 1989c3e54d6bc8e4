"""A server that does as a recorded one did: what the suite saw of it, case by case.

`Imitation` is a `Lifespan` with the scope and the timeouts of the record. Whenever a run comes to a
recorded case, it does what the record says: it serves or not, and `send` raises or returns. What no
record decides, it does as `Lifespan`.
"""

from __future__ import annotations

import asyncio
import builtins
from typing import TYPE_CHECKING, Any, ClassVar

from lifespec.server import Lifespan, ProtocolError, StartupFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Self

__all__ = ["CASES", "LOGGED", "SAID", "Imitation"]

SAID = "%s"  # stands for the application's message, or type, in what `send` raises
# The cases of the suite in which a run can end: those with a recorded log line, and its program.
LOGGED = {
    "raises-after-startup": "raises",
    "failed-with-message": "fails",
    "crashes-while-serving": "crashes-later",
    "shutdown-failed-with-message": "fails-to-stop",
    "very-slow-start": "hangs-at-startup",
}
CASES = (
    *LOGGED,
    *("well-behaved", "raises-on-the-scope", "returns-on-the-scope", "returns-after-startup"),
    *("cancelled-error-on-the-scope", "failed-without-message", "failed-with-a-number"),
    *("failed-then-raises", "failed-whatever-send-raises", "failed-then-receives"),
    *("returns-while-serving", "fails-while-serving", "raises-at-shutdown", "returns-at-shutdown"),
    *("shutdown-failed-without-message", "very-slow-shutdown"),
    *("hangs-at-startup", "hangs-at-shutdown"),
    # what `send` may refuse
    *("completes-twice", "answers-shutdown-early", "answers-both-at-once", "sends-after-its-end"),
    *("sends-an-unknown-type", "sends-no-mapping", "sends-no-type"),
)


class NotServed(StartupFailed):
    """The recorded server did not serve an application that `Lifespan` serves."""


class Imitation(Lifespan[Any]):
    """Does as the server of a row of `servers.rows`; `cases` names what it came to, in order."""

    def __init__(self, app: Any, row: Mapping[str, Any]) -> None:
        startup, shutdown = row["limits"]
        timeouts = {"startup_timeout": startup, "shutdown_timeout": shutdown}
        super().__init__(app, scope=row["scope"], **timeouts)
        self.row = row
        self.cases: list[str] = []
        self._asked: list[str] = []  # the stages that were sent
        self._refusal: BaseException | None = None  # what `send` raised after startup.failed
        if row["scope"] is None:
            self.state = None

    def report(self, level: int, sentence: str, error: BaseException | None) -> None:
        """Log nothing: the lines of the recorded server stand in the result."""

    def _queue_event(self, stage: str) -> None:
        self._asked.append(stage)
        super()._queue_event(stage)

    async def startup(self) -> Self:
        """Start as the recorded server does; raise StartupFailed if that did not serve."""
        if self.row["scope"] is None:
            self._stage = "startup"
            return self
        failure = None
        try:
            await super().startup()
        except StartupFailed as error:
            failure = error
        came_to = [each for each in (*self.cases, self.ending()) if each in self.row["serves"]]
        if all(self.row["serves"][each] for each in came_to) if came_to else not failure:
            return self
        raise failure or NotServed("The recorded server did not serve the application.")

    __aenter__ = startup

    async def _stop(self, error: BaseException | None) -> None:
        """Send shutdown, unless the recorded server left it out after what happened."""
        if self.row["scope"] and not {*self.row["silent"]}.intersection(self.cases):
            await super()._stop(error)

    async def _on_send(self, message: object) -> None:
        phase = self.phase
        try:
            await super()._on_send(message)
        except ProtocolError as error:
            case = _refused(error.rule, phase, message)
            self._note(case)
            if case not in self.row["sends"]:
                raise
            self._raise(case, str(message.get("type")) if isinstance(message, dict) else "")
        else:
            if phase == "ended":
                self._note("sends-after-its-end")
                self._raise("sends-after-its-end")
            elif self.phase == "answered" and phase != "stopping":
                self._raise(self.ending(), self._message)

    def _note(self, case: str) -> None:
        if case in CASES and case not in self.cases:
            self.cases.append(case)

    def _raise(self, case: str, said: str = "") -> None:
        """Raise what `send` of the recorded server raised in a case, if it did."""
        if found := self.row["sends"].get(case):
            name, text = found
            kind = getattr(builtins, name, None) or type(
                name, (Exception,), {"__module__": "builtins"}
            )
            self._refusal = kind(text.replace(SAID, said))
            raise self._refusal

    def ended(self, *, hangs: bool) -> list[str]:
        """Return the cases of a run that is over, or in which everything waits without end."""
        if hangs and self._asked:
            self._note(f"hangs-at-{self._asked[-1]}")
        else:
            self._note(self.ending())
        return self.cases

    def log(self) -> list[str] | None:
        """Return the recorded lines with the words of this application; None without a record."""
        found = self.row["logs"].get(self.cases[-1]) if self.cases else None
        if found is None:
            return None
        words, error = found["words"], self._raised
        own = [type(error).__name__, str(error)] if len(words) > 1 else [self._message]
        lines = [line.replace(": ".join(words), ": ".join(own)) for line in found["lines"]]
        return [line.replace(words[-1], own[-1]) for line in lines] if words else found["lines"]

    def ending(self) -> str:
        """Return the case that the lifespan came to so far, "" if there is none."""
        if self.row["scope"] is None or self.outcome == "complete":
            return "well-behaved"
        stage = self._asked[-1]
        found = self._endings[stage].get(self.outcome or "", "")
        return found(self) if callable(found) else found

    def _of_unsupported(self) -> str:
        if not self._raised:
            return "returns-on-the-scope" if self._inbox else "returns-after-startup"
        if isinstance(self._raised, asyncio.CancelledError):
            return "cancelled-error-on-the-scope" if self._inbox else ""
        return "raises-on-the-scope" if self._inbox else "raises-after-startup"

    def _of_failed_startup(self) -> str:
        if self._receiving:
            return "failed-then-receives"
        if self._raised and self._raised is not self._refusal:
            return "failed-then-raises"
        if self._refusal and not self._raised:
            return "failed-whatever-send-raises"
        return "failed-with-message" if self._message else "failed-without-message"

    def _of_crashed(self) -> str:
        if not self._has_answered:  # an exit, which ends the server's loop, too
            return ""
        return "fails-while-serving" if self._stage == "shutdown" else "crashes-while-serving"

    def _of_failed_shutdown(self) -> str:
        return f"shutdown-failed-with{'' if self._message else 'out'}-message"

    # The case of each outcome, by the stage that was sent last; or the method that decides.
    _endings: ClassVar[dict[str, dict[str, str | Callable[[Imitation], str]]]] = {
        "startup": {
            "unsupported": _of_unsupported,
            "failed": _of_failed_startup,
            "timed_out": "very-slow-start",
            "crashed": _of_crashed,
            "returned": "returns-while-serving",
        },
        "shutdown": {
            "failed": _of_failed_shutdown,
            "timed_out": "very-slow-shutdown",
            "crashed": "raises-at-shutdown",
            "returned": "returns-at-shutdown",
        },
    }


def _refused(rule: str, phase: str, message: Any) -> str:
    """Return the case in which an application sent what `send` refuses."""
    if rule == "events-known":
        if not isinstance(message, dict):
            return "sends-no-mapping"
        return "sends-an-unknown-type" if "type" in message else "sends-no-type"
    if rule == "answers-in-order":
        return "answers-shutdown-early" if phase == "waiting" else "answers-both-at-once"
    return {"startup-answered-once": "completes-twice"}.get(rule, "")
