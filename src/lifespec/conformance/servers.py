"""Puts a server on trial: each case in a process of its own, several at a time.

The suite plays the application, a client and an operator.  Every wait is for something that is
seen, and has a limit: PATIENCE since the application noted something last.
"""

from __future__ import annotations

import os
import shlex
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import groupby
from typing import TYPE_CHECKING, Any

from lifespec.conformance.cases import Unchecked
from lifespec.conformance.phrases import PHRASES
from lifespec.conformance.report import Finding, Report, requirement, sequence, verdict_for
from lifespec.conformance.seen import PATIENCE, Beside, Seen
from lifespec.conformance.subjects import FLOOD, Subject, until
from lifespec.trace import Entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from lifespec.conformance.cases import Action, Case, Expectation

__all__ = ["AT_ONCE", "Trial", "check"]

START = 40.0  # seconds that a server has to call or import the application in
LONGEST = 60.0  # seconds for one step, even where things go on happening
TRAFFIC = 1.0
AT_ONCE = 2 * (os.cpu_count() or 1)


class Trial:
    """One case, played with a server."""

    def __init__(self, command: Sequence[str], case: Case, broken_off: threading.Event) -> None:
        self.case, self.broken_off = case, broken_off
        script = [[action.verb, _argument(action)] for action in case.script]
        self.subject = Subject(command, script, case.workers)
        self.seen = Seen(case)
        self.clients: list[threading.Thread] = []

    def run(self) -> Seen:
        """Play the case to its end; raise Unchecked where it cannot be judged."""
        with ExitStack() as stack:
            if self.case.meanwhile[0].verb == "occupy":
                stack.enter_context(socket.create_server(("127.0.0.1", self.subject.port)))
            stack.enter_context(self.subject)
            self.seen.told = time.monotonic()
            for doing in self.case.meanwhile:
                _DOINGS[doing.verb](self, doing)
            self.await_end()
            self.seen.left = self.subject.pids() - {self.subject.process.pid}
            self.seen.elsewhere = self.subject.elsewhere()
            self.subject.end_processes()
            for client in self.clients:
                client.join(PATIENCE)
            self.seen.lines = self.subject.complete()
            self.seen.output = self.subject.output
        if self.subject.flooded:
            raise Unchecked(f"it wrote more than {FLOOD // 1_000_000} MB to its output")
        return self.seen

    def patiently(self, done: Callable[[], object]) -> bool:
        """Wait until something is done, while the server lives and things happen."""
        begun = last = time.monotonic()
        count = -1
        while not done() and self.running():
            lines, now = len(self.subject.lines()), time.monotonic()
            last = now if lines != count else last
            count = lines
            if now - last > (PATIENCE if lines else START) or now - begun > LONGEST:
                return False
            time.sleep(0.02)
        return bool(done())

    def running(self) -> bool:
        """Whether the process is there still, and the suite wants it to be."""
        return self.subject.status is None and not (
            self.subject.flooded or self.broken_off.is_set()
        )

    def request(self, doing: Action) -> None:
        """Request a path until it is answered; the first one waits for the server to start."""
        limit = PATIENCE if any(answer.body for answer in self.seen.answers) else TRAFFIC
        answers = [self.subject.ask(doing.text, limit)]

        def answered() -> bool:
            if answers[-1].body is None:
                answers.append(self.subject.ask(doing.text, limit))
            return answers[-1].body is not None

        self.patiently(answered)
        self.seen.answers.append(answers[-1])

    def traffic(self, _: Action) -> None:
        """Make requests for a second, answered or not."""
        end = time.monotonic() + TRAFFIC
        until(lambda: self.subject.ask("/", TRAFFIC).body and not self.running(), TRAFFIC)
        until(lambda: time.monotonic() >= end, TRAFFIC)

    def open(self, doing: Action) -> None:
        """Begin a request, and wait until the application holds it."""
        ask = threading.Thread(target=self.subject.ask, args=(doing.text, LONGEST))
        ask.start()
        self.clients.append(ask)
        self.patiently(lambda: self.noted("holds"))

    def noted(self, what: str) -> bool:
        """Whether the application has noted this: a kind of line, perhaps with its type."""
        lines = self.subject.lines()
        return any(what in (line["kind"], f"{line['kind']} {line.get('type')}") for line in lines)

    def workers(self, _: Action) -> None:
        """Wait until each worker has called the application."""
        self.patiently(lambda: len(self.calls()) >= self.case.workers)

    def calls(self) -> set[int]:
        """Return the processes that have called the application with a lifespan scope."""
        lines = self.subject.lines()
        return {line["pid"] for line in lines if (line["kind"], line.get("type")) == LIFESPAN}

    def tell(self, what: signal.Signals) -> None:
        """Send a signal, where there is somebody to hear it."""
        if self.subject.status is None:
            self.seen.stopped = time.monotonic()
            self.subject.tell(what)

    def await_end(self) -> None:
        """Wait for the process to end, where it was told to."""
        self.seen.told = time.monotonic()
        if self.seen.stopped is not None and self.case.meanwhile[-1].verb != "wait":
            until(lambda: not self.running(), PATIENCE)
        self.seen.status = self.subject.status
        self.seen.ended = None if self.seen.status is None else time.monotonic()


LIFESPAN = ("called", "lifespan")
_DOINGS: dict[str, Callable[[Trial, Action], object]] = {
    "request": Trial.request,
    "traffic": Trial.traffic,
    "open": Trial.open,
    "release": lambda trial, _: trial.subject.release(),
    "until": lambda trial, doing: trial.patiently(lambda: trial.noted(doing.text)),
    "go": lambda trial, _: trial.subject.go(),
    "wait": lambda trial, doing: until(lambda: not trial.running(), doing.seconds),
    "stop": lambda trial, _: trial.tell(signal.SIGTERM),
    "interrupt": lambda trial, _: trial.tell(signal.SIGINT),
    "occupy": lambda _, __: None,
    "workers": Trial.workers,
}


def _argument(action: Action) -> Any:
    """Return what the probe's step takes."""
    of = dict.fromkeys(("send", "try", "later", "give"), action.event) | {"raise": action.text}
    of |= {"state": dict(action.keys), "wait": action.seconds}
    return of.get(action.verb)


# ---- all of them -------------------------------------------------------------------------------


def check(
    command: Sequence[str],
    dialect: str,
    cases: Sequence[Case],
    *,
    workers: str = "",
    done: Callable[[Case], None] = lambda _: None,
) -> Report:
    """Put a server on trial; `done` is told of each case that was played.

    `command` has places for {app} and {port}; `workers` is added to it where two are wanted and
    it has no place for {workers}.  The first of `cases` shows whether it can be checked at all.
    Raises Unchecked where it cannot be.
    """
    for place in ("app", "port"):
        if not any(f"{{{place}}}" in word for word in command):
            raise Unchecked(f"the command has no {{{place}}}: {shlex.join(command)}")
    bench = _Bench(command, dialect, workers, done)
    return Report(shlex.join(command), dialect, tuple(bench.findings(cases)))


class _Bench:
    """Plays cases, several at a time."""

    def __init__(
        self, command: Sequence[str], dialect: str, workers: str, done: Callable[[Case], None]
    ) -> None:
        self.command, self.dialect, self.more, self.done = [*command], dialect, workers, done
        self.broken_off = threading.Event()
        self.without = ""

    def findings(self, cases: Sequence[Case]) -> list[Finding]:
        first, *others = cases
        seen = Trial(self.command, first, self.broken_off).run()
        _refuse(seen, self.command)
        if not any((line["kind"], line.get("type")) == LIFESPAN for line in seen.lines):
            self.without = "The server calls the application with no lifespan scope."
        found = [self.judged(first, seen)]
        self.done(first)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            try:
                found += pool.map(self.play, others)
            finally:
                self.broken_off.set()
                pool.shutdown(cancel_futures=True)
        return [finding for findings in found for finding in findings]

    def play(self, case: Case) -> list[Finding]:
        """Play a case, and judge it; where it cannot be, say why."""
        try:
            return self.played(case)
        except Unchecked as unchecked:
            return self.beside(case, "not run", f"{unchecked}.")
        finally:
            self.done(case)

    def played(self, case: Case) -> list[Finding]:
        if self.dialect not in case.dialects:
            return self.beside(case, "not applicable", "The text does not have this.")
        if self.without:
            return self.beside(case, "not applicable", self.without)
        command = self.command
        if case.workers > 1 and not any("{workers}" in word for word in command):
            if not self.more:
                raise Unchecked("the command has no {workers}, and --workers was not given")
            command = [*command, *shlex.split(self.more)]
        return self.judged(case, Trial(command, case, self.broken_off).run())

    def beside(self, case: Case, verdict: Any, why: str) -> list[Finding]:
        return [self.finding(case, each, verdict, why) for each in case.expect]

    def judged(self, case: Case, seen: Seen) -> list[Finding]:
        drawn = sequence(_entries(seen))
        return [self.judge(case, each, seen, drawn) for each in case.expect]

    def judge(self, case: Case, expected: Expectation, seen: Seen, drawn: str) -> Finding:
        try:
            held, actual = PHRASES[expected.phrase](seen, expected.argument)
        except Beside as beside:
            verdict, why = beside.verdict, str(beside)
            if self.without:
                verdict, why = "not applicable", self.without
            return self.finding(case, expected, verdict, why, drawn)
        silent = case.silent_on(expected.slug, self.dialect)
        verdict = verdict_for(expected.slug, self.dialect, held=held, silent=silent)
        return self.finding(case, expected, verdict, actual, drawn)

    def finding(
        self, case: Case, expected: Expectation, verdict: Any, actual: str, drawn: str = ""
    ) -> Finding:
        slug, wanted = expected.slug, str(expected)
        sentence = requirement(slug, self.dialect)
        return Finding(case.name, slug, verdict, sentence, wanted, actual, drawn)


def _refuse(seen: Seen, command: Sequence[str]) -> None:
    """Raise Unchecked where the application was never called: by this nothing can be judged."""
    if any(line["kind"] == "called" for line in seen.lines):
        return
    name = command[0]
    said = seen.output.strip().splitlines()[-1:]
    tail = f"; its last words: {said[0].strip()[:200]}" if said else ""
    if seen.left and seen.status is not None:
        what = f"{name!r} ended and left other processes behind: start it in the foreground"
    elif seen.status is not None:
        what = f"{name!r} ended with status {seen.status} before it served anything"
    elif seen.elsewhere:
        ports = ", ".join(map(str, seen.elsewhere))
        what = f"{name!r} listens on port {ports}, not on the one that {{port}} stands for"
    else:
        what = f"{name!r} did not call the application within {START:g} s"
    raise Unchecked(what + tail)


def _entries(seen: Seen) -> Iterable[Entry]:
    """Return what the first lifespan and the server said to each other, as a trace has it."""
    calls = [line for line in seen.lines if (line["kind"], line.get("type")) == LIFESPAN]
    if not calls:
        return []
    began, of = calls[0]["time"], (calls[0]["pid"], calls[0]["call"])
    entries = []
    for line in sorted(seen.lines, key=lambda line: float(line["time"])):
        kind, type_ = line["kind"], line.get("type") or ""
        if (line["pid"], line["call"]) != of and (kind, type_) != ("called", "http"):
            continue
        if kind in ("called", "received", "sent", "refused", "returned", "raised", "cancelled"):
            detail = line.get("text") or (line.get("event") or {}).get("message", "")
            shown = f"{type_} {line['path']}" if "path" in line else line.get("error", type_)
            entries.append(Entry(round(line["time"] - began, 3), kind, shown, str(detail)))
    return entries
