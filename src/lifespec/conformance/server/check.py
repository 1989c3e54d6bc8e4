"""Checks a server case by case, several at a time, each in a process of its own."""

from __future__ import annotations

import os
import re
import shlex
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lifespec.conformance import cases, findings
from lifespec.conformance.cases import Unchecked
from lifespec.conformance.findings import STOPPED, Outcome
from lifespec.conformance.oldreport.model import Report
from lifespec.conformance.server.assertions import AT_ONCE as SHOWN_AT_ONCE
from lifespec.conformance.server.assertions import PHRASES, misled
from lifespec.conformance.server.observation import (
    LIFESPAN,
    PATIENCE,
    REQUESTS,
    Beside,
    Unspecified,
    clock,
)
from lifespec.conformance.server.process import Subject
from lifespec.conformance.server.run import START, CaseRun
from lifespec.conformance.unchecked import unknown
from lifespec.testing.diagram import sequence
from lifespec.testing.trace import Entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from concurrent.futures import Executor, Future

    from lifespec.conformance.cases import Case, Expectation
    from lifespec.conformance.findings import Tell
    from lifespec.conformance.oldreport.model import Finding
    from lifespec.conformance.server.observation import Line, ServerObservation

__all__ = ["AT_ONCE", "MOST", "ServerCheck", "check", "chosen"]

AT_ONCE = 2 * (os.cpu_count() or 1)  # cases in which something happens
MOST = 6 * AT_ONCE  # with those that do nothing but wait
_PLAIN = re.compile(r"[\w@%+=:,./{}-]+", re.ASCII)  # what no shell takes for something else
WITHOUT = "The server calls the application with no lifespan scope: no lifespan took place."
IDLE = "Startup was completed, and the server answered no request."
MISLED = "Not judged, because startup-sent failed."
_DEMAND = re.compile(r"--[\w-]*lifespan[ =]on\b")  # uvicorn's and gunicorn's


def chosen(only: Sequence[str] = (), *, slow: bool = False) -> list[Case]:
    """Return the cases for servers: those named, or all, of the slow ones only if `slow` is set.

    Raises Unchecked for an unknown name.
    """
    known = {case.name: case for case in cases.load() if case.role == "server"}
    for name in only:
        if name not in known:
            raise unknown("case for servers", name, known, "lifespec cases --role server")
    usual = (name for name, case in known.items() if slow or not case.slow)
    return [known[name] for name in dict.fromkeys(only or usual)]


def _left_out(only: Sequence[Case]) -> tuple[str, ...]:
    """Return the names of the slow cases that are left out where all others are run."""
    others = [case.name for case in chosen(slow=True) if case not in only]
    return tuple(others if all(case in only for case in chosen()) else ())


class _NoPlace(Unchecked):
    """A command has no place for what a case needs."""


@dataclass(frozen=True)
class ServerCheck:
    """What is checked: see the options of `lifespec check server`.

    `begins` makes the process of a case.  `beside` has the names of cases and rules that say
    nothing of this one, each with the sentence that says why.  `client` is True of a test client or
    an adapter, whose exceptions go to the code that uses it.
    """

    command: tuple[str, ...]
    spec: str = "asgi 2.0"
    workers: str = ""
    limit: float = PATIENCE
    title: str = ""
    begins: Callable[[Sequence[str], list[Any], int], Subject] = Subject
    beside: Mapping[str, str] = field(default_factory=dict)
    client: bool = False

    @property
    def demand(self) -> str:
        """The option by which applications without lifespan support are refused, or ""."""
        found = _DEMAND.search(" ".join(self.command))
        return found[0] if found else ""

    @property
    def subject(self) -> str:
        """Its title, or the command in one line, as it was given."""
        words = (word if _PLAIN.fullmatch(word) else shlex.quote(word) for word in self.command)
        return self.title or " ".join(words)

    def arguments(self, case: Case) -> list[str]:
        """Return the command for a case; raise Unchecked where workers have no place in it."""
        if case.workers == 1 or any("{workers}" in word for word in self.command):
            return [*self.command]
        if not self.workers:
            raise _NoPlace("the command has no {workers}, and --workers was not given")
        return [*self.command, *shlex.split(self.workers)]


def check(
    job: ServerCheck,
    only: Sequence[Case],
    tell: Tell = lambda *_: False,
    *,
    places: threading.Semaphore | None = None,
    broken_off: threading.Event | None = None,
) -> Report:
    """Check a server; raise Unchecked where it cannot be.

    Checks of several servers share `places`; one ends early once its `broken_off` is set.

    `tell` is called after a case; where it returns True, cases that have not begun are not played.

    The first of all cases shows whether it can be, and is played even if it is not among `only`.
    Where something was awaited in vain and a rule would be broken by that, a case is played again
    when the others are over: a machine with too much to do is nobody's fault.
    """
    for place in ("{app}", "{port}"):
        if not any(place in word for word in job.command):
            raise Unchecked(f"the command has no {place}: {job.subject}")
    first = chosen()[0]
    bench = _CaseRunner(job, only, tell)
    bench.places, bench.broken_off = places or bench.places, broken_off or bench.broken_off
    waiting = [case for case in only if _waits(case)]
    others = [case for case in only if case != first and not _waits(case)]
    others.sort(key=lambda case: -case.workers)  # these take longest
    with ThreadPoolExecutor(MOST) as pool:
        try:
            shows = bench.begin(pool, bench.first, first)
            playing = {case.name: bench.begin(pool, bench.play, case) for case in waiting}
            found = {first.name: shows.result()}
            playing |= {case.name: bench.begin(pool, bench.play, case) for case in others}
            found |= {name: each.result() for name, each in playing.items()}
            doubted, bench.doubted = bench.doubted, None
            repeated = {case.name: bench.begin(pool, bench.play, case) for case in doubted or ()}
            found |= {name: each.result() for name, each in repeated.items()}
        finally:
            bench.broken_off.set()
            bench.known.set()
            pool.shutdown(cancel_futures=True)
    findings = tuple(each for case in only for each in found[case.name])
    return Report(
        job.subject,
        job.spec,
        findings,
        obstacle=bench.obstacle,
        role="server",
        partial=any(case not in only for case in chosen()),
        times=bench.times,
        left_out=_left_out(only),
    )


def _waits(case: Case) -> bool:
    """Whether the suite does little in a case but wait: such a one begins before the others."""
    verbs = {action.verb for action in case.script}
    return "hang" in verbs or "wait" in {doing.verb for doing in case.meanwhile}


class _CaseRunner:
    """Plays cases, and checks what was seen."""

    def __init__(self, job: ServerCheck, only: Sequence[Case], tell: Tell) -> None:
        self.job, self.spec, self.tell, self.only = job, job.spec, tell, only
        self.over = threading.Event()
        self.times: dict[str, float] = {}
        self.broken_off = threading.Event()
        self.places = threading.Semaphore(AT_ONCE)
        self.known, self.without = threading.Event(), ""  # what the first case shows
        self.obstacle = ""
        self.doubted: list[Case] | None = []  # to be played again; None while they are

    def begin(
        self, pool: Executor, play: Callable[[Case, ExitStack], list[Finding]], case: Case
    ) -> Future[list[Finding]]:
        """Let a case be played as soon as there is a place; it gives that up once it only waits."""
        self.places.acquire()
        place = ExitStack()
        place.callback(self.places.release)
        return pool.submit(play, case, place)

    def run_case(self, case: Case, place: ExitStack) -> ServerObservation:
        """Play a case."""
        job, command = self.job, self.job.arguments(case)
        off, begins = self.broken_off, job.begins
        seen = CaseRun(command, case, job.limit, off, begins=begins, rests=place.close).run()
        seen.spec, seen.client, seen.demand = self.spec, job.client, job.demand
        return seen

    def first(self, case: Case, place: ExitStack) -> list[Finding]:
        """Play the first case; raise Unchecked where it shows that nothing can be checked."""
        began = time.monotonic()
        with place:
            seen = self.run_case(case, place)
        self.times[case.name] = time.monotonic() - began
        if not any(line["kind"] == "called" for line in seen.lines):
            raise Unchecked(_obstacle(seen, self.job.title or self.job.command[0]))
        if not any((line["kind"], line.get("type")) == LIFESPAN for line in seen.lines):
            self.without = WITHOUT
        elif seen.all("sent", "lifespan.startup.complete") and not any(
            answer.body for answer in seen.answers
        ):
            self.without = IDLE
        self.obstacle = self.without
        self.known.set()
        return self.announce(case, self.findings_of(case, seen))

    def announce(self, case: Case, found: list[Finding]) -> list[Finding]:
        waits = self.doubted is not None and case in self.doubted
        if case in self.only and not waits and self.tell(case.name, found):
            self.over.set()
        return found

    def play(self, case: Case, place: ExitStack) -> list[Finding]:
        """Play a case, and check it; where it cannot be, say why."""
        if self.over.is_set() or self.broken_off.is_set():
            place.close()
            return [*findings.without(case, self.spec, "skip", STOPPED)]
        began = time.monotonic()
        found = self.play_or_say_why(case, place)
        self.times[case.name] = time.monotonic() - began
        return self.announce(case, found)

    def play_or_say_why(self, case: Case, place: ExitStack) -> list[Finding]:
        try:
            return self.play_and_check(case, place)
        except _NoPlace as reason:
            return [*findings.without(case, self.spec, "skip", f"Not run: {reason}.")]
        except Unchecked as unchecked:
            self.obstacle = f"The case {case.name} could not be played: {unchecked}."
            return [*findings.without(case, self.spec, "skip", f"Not run: {unchecked}.")]
        finally:
            place.close()

    def play_and_check(self, case: Case, place: ExitStack) -> list[Finding]:
        if not any(findings.expected(case, self.spec)):
            return []
        if case.name in self.job.beside:
            why = self.job.beside[case.name]
            return [*findings.without(case, self.spec, "skip", why)]
        seen = None if self.without else self.run_case(case, place)
        place.close()
        self.known.wait()
        if seen is None or self.without:
            return [*findings.without(case, self.spec, "skip", self.without)]
        return self.findings_of(case, seen)

    def findings_of(self, case: Case, seen: ServerObservation) -> list[Finding]:
        drawn = sequence([*_entries(seen)])
        found = [
            findings.finding(case, self.spec, each, self.outcome(each, seen), drawn)
            for each in findings.expected(case, self.spec)
        ]
        if (
            self.doubted is not None
            and not self.without  # then nothing else is played
            and seen.late
            and any(each.fails(strict=True) for each in found)
        ):
            self.doubted.append(case)
        return found

    def outcome(self, expected: Expectation, seen: ServerObservation) -> Outcome:
        if expected.rule in self.job.beside:
            return Outcome("skip", self.job.beside[expected.rule])
        others = {line.get("type") for line in seen.all("called")} - {"lifespan", *REQUESTS}
        if self.without == WITHOUT and not (others and expected.rule == "scope-type"):
            return Outcome("skip", WITHOUT)
        if expected.phrase not in SHOWN_AT_ONCE and (self.without or misled(seen)):
            return Outcome("skip", self.without or MISLED)
        try:
            held, actual = PHRASES[expected.phrase](seen, expected.argument)
            if held:
                seen.finished()
        except Beside as beside:
            return Outcome("skip", str(beside))
        except Unspecified as unspecified:
            return Outcome("unspecified", str(unspecified))
        return Outcome("held" if held else "broken", actual)


def _obstacle(seen: ServerObservation, name: str) -> str:
    """Say why the application was never called: then nothing can be checked."""
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


def _entries(seen: ServerObservation) -> Iterator[Entry]:
    """Yield what the first lifespan and the server said to each other, as a trace has it."""
    calls = [line for line in seen.lines if (line["kind"], line.get("type")) == LIFESPAN]
    for line in sorted(seen.lines, key=clock) if calls else ():
        ours = (line["pid"], line["call"]) == (calls[0]["pid"], calls[0]["call"])
        request = line["kind"] == "called" and line.get("type") in REQUESTS
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
