"""What a server has to make of an application: the decision table, told once more.

Written from the table of decisions, with the steps of validate.TRANSITIONS; nothing of server.py.
The oracle knows no event loop. It is told the script, and at which points of it the server stopped:
how many actions the application had begun when the body ended, and when the server was cancelled.
Everything else follows.
"""

from collections.abc import Iterable
from logging import ERROR, INFO, WARNING
from typing import NamedTuple

from actors import MESSAGES, Script
from lifespec.validate import TRANSITIONS, State

LIMIT = 10.0  # seconds, of the virtual clock

# Where the call ends in a state: the outcome, unless there is one, and the log level.
RETURNED = {
    "starting": ("unsupported", INFO),
    "running": ("returned", WARNING),
    "stopping": ("returned", WARNING),
}
RAISED = {
    "starting": ("unsupported", INFO),
    "running": ("crashed", ERROR),
    "stopping": ("crashed", ERROR),
    "failing": ("", ERROR),  # it has crashed already
    "stopped": ("", ERROR),  # it is complete all the same
}
EXCEPTIONS = {
    ("starting", "timed_out"): "StartupTimeout",
    ("stopping", "timed_out"): "ShutdownTimeout",
    ("refused", "failed"): "StartupFailed",
    ("stopped", "failed"): "ShutdownFailed",
}


class Result(NamedTuple):
    """What became of one run."""

    served: bool
    heard: tuple[str, ...]
    refused: tuple[tuple[int, str], ...]  # number of the action, and the rule named
    begun: int  # actions of the application
    outcome: str = ""
    raised: str = ""
    level: int = 0
    seconds: float = 0.0
    hangs: bool = False


class Over(Exception):
    """The application does nothing more."""


class Oracle:
    """One conversation as the server has to see it: it goes on as soon as an event is offered."""

    def __init__(self, ended: int | None, cancelled: int | None, *, swallows: bool) -> None:
        self.swallows, self.ended, self.cancelled = swallows, ended, cancelled
        self.state: State = "starting"  # startup was offered
        self.last: State = "starting"  # the state in which the outcome was decided
        self.offered = ["lifespan.startup"]
        self.outcome = ""
        self.level = self.begun = 0
        self.heard: list[str] = []
        self.refused: list[tuple[int, str]] = []
        self.hangs = False

    def plays(self, script: Iterable[str]) -> None:
        """Follow the script as far as the application gets."""
        try:
            self.moment()
            for action in script:
                self.begun += 1
                if action in MESSAGES:
                    self.sends(MESSAGES[action].get("type", ""))
                elif action in {"raise", "return"}:
                    self.leaves(RAISED if action == "raise" else RETURNED)
                self.moment()
                if action == "receive":
                    self.receives()
        except Over:
            self.moment()

    def moment(self) -> None:
        """Let the server stop, if this is where it does."""
        if self.begun == self.ended and self.state == "running":
            self.offers_shutdown()
        if self.begun != self.cancelled or self.state == "gone":
            return
        if self.state == "failing" and self.ended is None:  # it has the grace to end
            return
        if self.state == "running":  # it started meanwhile, so it is stopped as any other
            self.offers_shutdown()
            return
        self.decides("cancelled")
        self.state = "gone"
        raise Over

    def offers_shutdown(self) -> None:
        self.offered.append("lifespan.shutdown")
        self.state = TRANSITIONS[self.state]["lifespan.shutdown"].to

    def receives(self) -> None:
        if self.offered:
            self.heard.append(self.offered.pop(0))
            return
        if self.state in {"starting", "stopping"}:
            self.decides("timed_out", ERROR)
        self.hangs = self.state == "running"  # the body never ended
        self.state = "gone"
        raise Over

    def sends(self, kind: str) -> None:
        step = TRANSITIONS[self.state].get(kind)
        rule = step.rule if step else "events-known"
        if step and not rule:
            self.state = step.to
            if kind.endswith("failed"):
                self.decides("crashed" if self.state == "failing" else "failed", ERROR)
            elif self.state == "stopped":
                self.decides("complete")
        else:
            self.refused.append((self.begun, rule))
            if not self.swallows:
                self.leaves(RAISED, told=True)

    def leaves(self, how: dict[str, tuple[str, int]], *, told: bool = False) -> None:
        outcome, level = how.get(self.state, ("", 0))
        if self.outcome == "failed":
            level = 0  # one report, not two
        if self.state == "starting" and how is RAISED and (told or self.heard):
            level = ERROR  # it knew the protocol
        self.decides(outcome, level)
        self.state = "gone"
        raise Over

    def decides(self, outcome: str, level: int = 0) -> None:
        self.level = max(self.level, level)
        if outcome and not self.outcome:
            self.outcome, self.last = outcome, self.state


def expected(
    script: Script, ended: int | None, cancelled: int | None, *, swallows: bool, limit: bool
) -> Result:
    """Say what a run has to come to; without a limit it hangs where it would have timed out."""
    it = Oracle(ended, cancelled, swallows=swallows)
    it.plays(script)
    raised = EXCEPTIONS.get((it.last, it.outcome), "")
    served = ended is not None if cancelled is not None else not raised.startswith("Startup")
    seen = (served, tuple(it.heard), tuple(it.refused), it.begun)
    if it.hangs or (it.outcome == "timed_out" and not limit):
        return Result(*seen, hangs=True)
    seconds = LIMIT if it.outcome == "timed_out" else 0.0  # nothing else takes time
    raised = "CancelledError" if cancelled is not None else raised
    return Result(*seen, it.outcome, raised, it.level, seconds)
