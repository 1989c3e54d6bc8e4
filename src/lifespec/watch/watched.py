"""A watched process, as its agent has written it down: what it is at, and what has happened."""

import time
from ast import literal_eval
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

STARTED = "lifespan.startup.complete"
TELL_STOP = ("uvicorn",)  # servers whose agent knows when they begin to stop


@dataclass
class Process:
    """A process with an agent: the file that this writes, and what it has said so far.

    Of `events` it has the last of each kind, and of each type that was sent.
    """

    path: Path
    server: str = ""
    events: dict[str, dict[str, Any]] = field(default_factory=dict)
    died: list[dict[str, Any]] = field(default_factory=list)  # tasks
    look: Mapping[str, Any] = field(default_factory=dict)
    kept: list[Any] = field(default_factory=list)  # lines of the lifespan, when it was last seen
    size: int = 0
    told_to_end: float | None = None  # when a signal for the command came

    @property
    def pid(self) -> int:
        """The number of the process."""
        return int(self.path.stem)

    def read(self) -> None:
        """Take in the lines that are new."""
        with suppress(OSError), self.path.open("rb") as file:
            file.seek(self.size)
            whole, newline, _ = file.read().rpartition(b"\n")
            self.size += len(whole + newline)
            for line in whole.splitlines():
                self.take(literal_eval(line.decode()))

    def take(self, line: dict[str, Any]) -> None:
        """Take in a line."""
        if line["what"] == "look":
            self.look = line
            self.kept = next((x["lines"] for x in self.lifespans if x["lines"]), self.kept)
            return
        self.server = line.get("server", self.server)
        if line["what"] == "died":
            self.died.append(line)
        else:
            self.events[line.get("type") or line["what"]] = line

    @property
    def is_hooked(self) -> bool:
        """Whether its server is known, and was watched before it called the application."""
        return "server" in self.events.get("called", ())

    def infer(self) -> None:
        """Note what no hook has told, from where the lifespan is."""
        calls = self.look.get("others")
        if self.is_hooked or calls is None:
            return
        waits = any(each["asks"] for each in calls)
        event = {"time": self.look["time"]}
        if calls:
            self.events.setdefault("called", event)
        if waits and not self.answered:
            self.events[STARTED] = event
        if calls and not waits and self.has_started and self.told_to_end:
            self.events.setdefault("shutdown", event)
        if not calls and "shutdown" in self.events:
            self.events.setdefault("lifespan.shutdown.complete", event)

    def seen(self) -> float:
        """Return when its agent looked last, as the clock has it."""
        files = self.path, Path(f"/proc/{self.pid}")
        found = [each.stat() for each in files if each.exists()]
        # somebody has removed it, or the process has become another user and cannot write
        if not self.path.exists() or len({each.st_uid for each in found}) > 1:
            return time.time()
        return found[0].st_mtime

    @property
    def lifespans(self) -> list[dict[str, Any]]:
        """Where its calls with the lifespan scope are."""
        found: list[dict[str, Any]] = self.look.get("lifespans") or self.look.get("others") or []
        return found

    @property
    def call(self) -> dict[str, Any] | None:
        """Where the one is that is not over, if there is one."""
        return next((each for each in self.lifespans if not each["over"]), None)

    def time(self, *kinds: str) -> float | None:
        """Return when the first of these events was that has been."""
        return next((self.events[each]["time"] for each in kinds if each in self.events), None)

    @property
    def answered(self) -> bool:
        """Whether startup was answered, or the application has raised before."""
        return any(each.startswith(("lifespan.startup", "raised")) for each in self.events)

    @property
    def has_started(self) -> bool:
        """Whether startup was completed."""
        return STARTED in self.events

    @property
    def is_over(self) -> bool:
        """Whether shutdown was answered."""
        return any(each.startswith("lifespan.shutdown") for each in self.events)

    @property
    def is_stopping(self) -> bool:
        """Whether the server has begun to stop."""
        return self.time("stop", "shutdown") is not None

    @property
    def stopped(self) -> float | None:
        """When the server began to stop, or was told to."""
        return self.time("shutdown", "stop") or self.told_to_end

    @property
    def has_crashed(self) -> bool:
        """Whether the application raised after startup and before the server began to stop."""
        raised = self.events.get("raised")
        if not raised or not self.has_started:
            return False
        if was_cancelled(raised) and self.server not in TELL_STOP:  # perhaps by the server
            return False
        return self.stopped is None or bool(raised["time"] < self.stopped)

    @property
    def has_server(self) -> bool:
        """Whether it is one that serves an application."""
        return bool(self.server or self.lifespans or self.look.get("open"))


def was_cancelled(raised: Mapping[str, Any]) -> bool:
    """Tell whether the server, or whoever else, has cancelled the call."""
    error = raised["error"] or {}
    of_kind = error.get("type") in ("CancelledError", "Cancelled")
    return of_kind and bool(error.get("outside", True))
