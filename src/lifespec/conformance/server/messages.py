"""Processes whose application is given messages, not requests.

A message's payload is a path, and a number after "?".  That it was answered is read in the log of
the probe, by that number: so it does not matter what way answers take.
"""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING, Any

from lifespec.conformance.processes import until
from lifespec.conformance.server.observation import Answer
from lifespec.conformance.server.process import Subject

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Delivered"]


class Delivered(Subject):
    """A process that gives its application a message for each request at its port."""

    def __init__(self, command: Sequence[str], script: list[Any], workers: int = 1) -> None:
        super().__init__(command, script, workers)
        self.numbers = itertools.count(1)

    def deliver(self, message: str, limit: float) -> bool:
        """Let a message come to the process; return whether there is a way to it."""
        super().ask(message, limit)
        return True

    def ask(self, path: str = "/", limit: float = 1.0) -> Answer:
        """Let a message come; its answer is what the probe noted in time, or none."""
        asked, number = time.monotonic(), f"{next(self.numbers)}"
        if self.deliver(f"{path}?{number}", limit):
            until(lambda: self.noted(number) or self.over, limit)
        found = self.noted(number)
        return Answer(path, asked, time.monotonic(), found[0]["body"] if found else None)

    @property
    def over(self) -> bool:
        """Whether no answer can come any more, or none is awaited."""
        return self.status is not None or self.broken_off.is_set()

    def noted(self, number: str) -> list[dict[str, Any]]:
        """Return the lines that say that a message was answered."""
        rows = (line for line in self.lines() if line["kind"] == "answered")
        return [line for line in rows if line["query"] == [number]]
