"""Puts a server on trial: case by case, several at a time, each in a process of its own."""

from __future__ import annotations

import os
import shlex
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from lifespec.conformance import cases, judging
from lifespec.conformance.cases import Unchecked
from lifespec.conformance.judging import Told
from lifespec.conformance.phrases import PHRASES
from lifespec.conformance.report import Report, sequence
from lifespec.conformance.seen import LIFESPAN, Beside, clock
from lifespec.conformance.trials import START, Trial
from lifespec.trace import Entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lifespec.conformance.cases import Case, Expectation
    from lifespec.conformance.report import Finding
    from lifespec.conformance.seen import Line, Seen

__all__ = ["AT_ONCE", "check", "chosen"]

AT_ONCE = 2 * (os.cpu_count() or 1)
WITHOUT = "The server calls the application with no lifespan scope."


def chosen(only: Sequence[str] = ()) -> list[Case]:
    """Return the cases for servers, all or those named; raise Unchecked for an unknown name."""
    known = {case.name: case for case in cases.load() if case.party == "server"}
    for name in only:
        if name not in known:
            raise Unchecked(f"there is no case {name!r} for servers: `lifespec cases` lists them")
    return [known[name] for name in only or known]


def check(
    command: Sequence[str],
    dialect: str = "asgi 2.0",
    trials: Sequence[Case] = (),
    *,
    workers: str = "",
    tell: Callable[[], object] = lambda: None,
) -> Report:
    """Put a server on trial; raise Unchecked where it cannot be.  `tell` is called after a case.

    `command` has places for {app} and {port}; `workers` is added to it where two are wanted and
    it has no place for {workers}.  The first of `trials`, by default all cases for servers, shows
    whether the server can be put on trial at all.
    """
    for place in ("{app}", "{port}"):
        if not any(place in word for word in command):
            raise Unchecked(f"the command has no {place}: {shlex.join(command)}")
    first, *others = trials or chosen()
    bench = _Bench(command, dialect, workers, tell)
    found = [*bench.first(first)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        try:
            for findings in pool.map(bench.play, others):
                found += findings
        finally:
            bench.broken_off.set()
            pool.shutdown(cancel_futures=True)
    return Report(shlex.join(command), dialect, tuple(found))


class _Bench:
    """Plays cases, and judges what was seen."""

    def __init__(
        self, command: Sequence[str], dialect: str, workers: str, tell: Callable[[], object]
    ) -> None:
        self.command, self.dialect, self.workers, self.tell = [*command], dialect, workers, tell
        self.broken_off = threading.Event()
        self.without = False

    def first(self, case: Case) -> list[Finding]:
        """Play the first case; raise Unchecked where it shows that nothing can be judged."""
        seen = Trial(self.command, case, self.broken_off).run()
        if not any(line["kind"] == "called" for line in seen.lines):
            raise Unchecked(_obstacle(seen, self.command[0]))
        self.without = not any((line["kind"], line.get("type")) == LIFESPAN for line in seen.lines)
        self.tell()
        return self.judged(case, seen)

    def play(self, case: Case) -> list[Finding]:
        """Play a case, and judge it; where it cannot be, say why."""
        try:
            return self.played(case)
        except Unchecked as unchecked:
            return [*judging.without(case, self.dialect, "not run", f"Not run: {unchecked}.")]
        finally:
            self.tell()

    def played(self, case: Case) -> list[Finding]:
        command = self.command
        if not any(judging.expected(case, self.dialect)):
            return []
        if self.without:
            return [*judging.without(case, self.dialect, "not applicable", WITHOUT)]
        if case.workers > 1 and not any("{workers}" in word for word in command):
            if not self.workers:
                raise Unchecked("the command has no {workers}, and --workers was not given")
            command = [*command, *shlex.split(self.workers)]
        return self.judged(case, Trial(command, case, self.broken_off).run())

    def judged(self, case: Case, seen: Seen) -> list[Finding]:
        drawn = sequence([*_entries(seen)])
        return [
            judging.finding(case, self.dialect, each, self.told(each, seen), drawn)
            for each in judging.expected(case, self.dialect)
        ]

    def told(self, expected: Expectation, seen: Seen) -> Told:
        try:
            held, actual = PHRASES[expected.phrase](seen, expected.argument)
        except Beside as beside:
            return Told("not applicable", WITHOUT) if self.without else Told(*beside.args)
        return Told("held" if held else "broken", actual)


def _obstacle(seen: Seen, name: str) -> str:
    """Say why the application was never called: by this nothing can be judged."""
    if seen.left and seen.status is not None:
        what = f"{name!r} ended and left other processes behind: start it in the foreground"
    elif seen.status is not None:
        what = f"{name!r} ended with status {seen.status} before it served anything"
    elif seen.elsewhere:
        ports = ", ".join(map(str, seen.elsewhere))
        what = f"{name!r} listens on port {ports}, not on the one that {{port}} stands for"
    else:
        what = f"{name!r} did not call the application within {START:g} s"
    said = seen.output.strip().splitlines()[-1:]
    return what + "".join(f"; its last words: {line.strip()[:200]}" for line in said)


SPOKEN = ("called", "received", "sent", "refused", "returned", "raised", "cancelled")


def _entries(seen: Seen) -> Iterator[Entry]:
    """Yield what the first lifespan and the server said to each other, as a trace has it."""
    calls = [line for line in seen.lines if (line["kind"], line.get("type")) == LIFESPAN]
    for line in sorted(seen.lines, key=clock) if calls else ():
        ours = (line["pid"], line["call"]) == (calls[0]["pid"], calls[0]["call"])
        request = (line["kind"], line.get("type")) == ("called", "http")
        if request or (ours and line["kind"] in SPOKEN):
            seconds = round(clock(line) - clock(calls[0]), 3)
            yield Entry(seconds, line["kind"], _what(line), _detail(line))


def _what(line: Line) -> str:
    """Return what came, was sent or raised."""
    what = str(line["error"] if line["kind"] == "raised" else line.get("type") or "")
    return f"{what} {line['path']}" if "path" in line else what


def _detail(line: Line) -> str:
    event = line.get("event")
    said = event.get("message", "") if isinstance(event, dict) else ""
    refusal = f"{line['error']}: {line['text']}" if line["kind"] == "refused" else line.get("text")
    return str(refusal or said)
