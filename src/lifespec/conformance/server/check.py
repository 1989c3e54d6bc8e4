"""Check a server: play its cases, several at a time, and judge what was observed."""

import os
import re
import shlex
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from lifespec.conformance import cases
from lifespec.conformance.cases import Case, Expectation, steps
from lifespec.conformance.finding import (
    Finding,
    OnCase,
    OnWait,
    Outcome,
    Row,
    Unchecked,
    judged,
    known_rule,
    known_spec,
    skipped,
    unknown,
)
from lifespec.conformance.log import REQUESTS
from lifespec.conformance.report import Report
from lifespec.conformance.server.judge import AT_CALL, OfServer
from lifespec.conformance.server.play import START, TIMEOUT, Observation, Player
from lifespec.conformance.server.process import Process, is_free
from lifespec.diagnosis.fact import Fact, fact
from lifespec.validate import SPECS

AT_ONCE = 5 * (os.cpu_count() or 1)  # cases at a time: in most the suite waits for the server
TRIES = 3  # ports for a case
TICK = 1.0
PLAIN = re.compile(r"[\w@%+=:,./{}-]+", re.ASCII)  # a word that a shell takes as it is


@dataclass(frozen=True)
class Target:
    """A server under test; `workers` is added to the command in cases with two workers.

    `limit` is added in the case in which the server's own limit for open requests expires.
    A program that measures something else than a server overrides how it is judged.
    """

    command: tuple[str, ...]
    spec: str = "asgi 2.0"
    workers: str = ""
    limit: str = ""
    timeout: float = TIMEOUT
    judge: ClassVar[type[OfServer]] = OfServer

    @property
    def subject(self) -> str:
        """The command in one line, as in a shell."""
        return " ".join(w if PLAIN.fullmatch(w) else shlex.quote(w) for w in self.command)

    @property
    def takes_workers(self) -> bool:
        """Whether it can be started with two workers."""
        return bool(self.workers) or any("{workers}" in word for word in self.command)

    def not_applicable(self, name: str) -> Fact | None:
        """Return why a case or a rule does not apply to it; None if it does."""
        for case in cases.load():
            if case.name == name and case.workers > 1 and not self.takes_workers:
                return fact("no-workers")
            if case.name == name and case.limit and not self.limit:
                return fact("no-limit")
        return None

    def play(self, case: Case, cancelled: threading.Event) -> Observation:
        """Play a case, again if another program took its port; return what was observed."""
        command = [*self.command]
        if case.workers > 1 and "{workers}" not in self.subject:
            command += shlex.split(self.workers)
        if case.limit:
            command += shlex.split(self.limit)
        met = False
        for _ in range(TRIES):
            seen = Observation(case, self.spec, self.timeout)
            process = Process(command, steps(case.script), case.workers)
            Player(process, seen, cancelled).play()
            met = met or seen.stranger
            if is_free(process.port):  # what the case has started has ended
                break
        seen.stranger = met
        return seen


def chosen(only: Sequence[str] = (), *, slow: bool = False) -> list[Case]:
    """Return the cases for servers: those named, or all; slow ones only if `slow` is set.

    Raises Unchecked for an unknown name.
    """
    known = {case.name: case for case in cases.load() if case.role == "server"}
    for name in only:
        if name not in known:
            raise unknown("case", name, known, "lifespec cases --role server")
    default = (name for name, case in known.items() if slow or not case.slow)
    return [known[name] for name in dict.fromkeys(only or default)]


def check_server(
    command: Sequence[str] | str,
    spec: str = "asgi 2.0",
    *,
    strict: bool = False,
    only: Collection[str] = (),
    ignore: Collection[str] = (),
    slow: bool = False,
    workers: str = "",
    limit: str = "",
    timeout: float = TIMEOUT,
    on_case: OnCase = lambda *_: None,
    on_wait: OnWait = lambda *_: None,
) -> Report:
    """Check a server that a command starts, and return the report.

    `command` is a list of arguments, or one string as in a shell; {app} and {port} in it are
    replaced, as in ``uvicorn {app} --port {port}``, and {folder} by an empty folder of the case,
    since the cases run side by side.  `only` names the cases to play, `ignore` rules to leave out;
    cases that take half a minute or longer are left out unless `slow` is set.
    `workers` is added to the command in cases with two workers, and `limit`, which sets the
    server's own limit for open requests to a second or so, in the case in which that expires.
    `timeout` is how many seconds the server may do nothing after it has called the application.
    `on_wait` is called with the name of a case and its seconds, each second in which none ends.
    Raises Unchecked if the server cannot be checked.
    """
    spec, ignored = known_spec(spec), [*map(known_rule, ignore)]
    if (family := spec.partition(" ")[0]) != "asgi":
        raise Unchecked(fact(f"no-{family}-server", title=SPECS[spec].title))
    words = _split(command) if isinstance(command, str) else command
    for options in (workers, limit):
        _split(options)
    target = Target(tuple(words), spec, workers, limit, timeout)
    report = check(target, chosen([*only], slow=slow), on_case, on_wait)
    return replace(report.without(ignored), strict=strict)


def _split(text: str) -> list[str]:
    """Split a text as a shell does."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise Unchecked(fact("bad-arguments", text=text, error=str(error))) from None


def check(
    target: Target,
    only: Sequence[Case],
    on_case: OnCase = lambda *_: None,
    on_wait: OnWait = lambda *_: None,
) -> Report:
    """Check a server, and return the report; raise Unchecked if that is not possible.

    The first of all cases shows whether the server can be checked, and is played even if it is not
    among `only`.
    """
    for place in ("{app}", "{port}"):
        if not any(place in word for word in target.command):
            raise Unchecked(fact("no-place", place=place, command=target.subject))
    played = _Check(target, on_case)
    found = played.run(only, on_wait)
    rows = [] if played.obstacle else [Row("seen", each) for each in played.seen_in_all()]
    rows += [] if played.obstacle else [Row("left out", each) for each in _left_out(target, only)]
    return Report(
        target.subject,
        target.spec,
        tuple(each for case in only for each in found[case.name]),
        role="server",
        obstacle=played.obstacle,
        rows=tuple(rows),
        times=played.times,
    )


def _left_out(target: Target, only: Sequence[Case]) -> Iterator[Fact]:
    """Yield what was left out where nothing was chosen: slow cases, and those without an option."""
    if any(case not in only for case in chosen()):
        return
    if slow := sum(case not in only for case in chosen(slow=True)):
        yield fact("slow-cases", count=slow)
    workers = sum(case.workers > 1 and target.spec in case.specs for case in only)
    if workers and not target.takes_workers:
        yield fact("worker-cases", count=workers)
    if not target.limit:
        for case in only:
            if case.limit:
                yield fact("limit-case", case=case.name)


class _Check:
    """One check: the first case alone, and the others side by side.

    They may disturb each other, if the command gives two of them the same file or port.  So a case
    that may have gone wrong for this reason is played once more, alone.
    """

    def __init__(self, target: Target, on_case: OnCase) -> None:
        self.target, self.spec, self.on_case = target, target.spec, on_case
        self.cancelled = threading.Event()
        self.obstacle: Fact | None = None
        self.judges: dict[str, OfServer] = {}  # of each case that was played
        self.disturbed: list[str] = []  # names of cases that went otherwise alone
        self.times, self.begun = dict[str, float](), dict[str, float]()

    def run(self, only: Sequence[Case], on_wait: OnWait) -> dict[str, list[Finding]]:
        """Play the cases, and return the findings of each."""
        first = chosen()[0]
        others = sorted((case for case in only if case != first), key=_may_wait, reverse=True)
        found = {first.name: self.timed(self.play_first, first, notify=first in only)}
        if self.obstacle:
            return found | {c.name: [*skipped(c, self.spec, self.obstacle)] for c in others}
        with ThreadPoolExecutor(AT_ONCE) as pool:
            try:
                playing = {each.name: pool.submit(self.timed, self.play, each) for each in others}
                while rest := [each for each in playing.values() if not each.done()]:
                    ended = wait(rest, TICK, FIRST_COMPLETED).done
                    running = [each for each in [*self.begun] if each not in self.times]
                    for name in () if ended else running[:1]:
                        on_wait(name, time.monotonic() - self.begun[name])
                found |= {name: each.result() for name, each in playing.items()}
            except BaseException:
                self.cancelled.set()
                pool.shutdown(cancel_futures=True)
                raise
        self.play_again(others, found)
        return found

    def play_again(self, played: Sequence[Case], found: dict[str, list[Finding]]) -> None:
        """Play alone what others may have disturbed, and note what comes of it."""
        met = any(judge.seen.stranger for judge in self.judges.values())
        for case in played:
            if not self.is_doubtful(case, found[case.name], met=met):
                continue
            before, found[case.name] = found[case.name], self.play(case)
            if [each.verdict for each in before] != [each.verdict for each in found[case.name]]:
                self.disturbed.append(case.name)
        if any(judge.seen.stranger for judge in self.judges.values()):
            self.obstacle = fact("cases-met")
            for case in played:
                found[case.name] = [*skipped(case, self.spec, self.obstacle)]

    def is_doubtful(self, case: Case, found: Sequence[Finding], *, met: bool) -> bool:
        """Tell whether a case may have gone wrong only because others ran beside it.

        `met` says that a request of some case was answered by the application of another one.
        """
        if case.name not in self.judges:
            return False
        judge = self.judges[case.name]
        if judge.seen.stranger:
            return True
        if not judge.seen.log.of("called") and case.meanwhile[0].verb != "occupy":
            return True
        if any(answer.body for answer in judge.seen.answers):
            return False
        return (met or judge.by_itself) and any(each.fails(strict=True) for each in found)

    def seen_in_all(self) -> Iterator[Fact]:
        """Yield what was seen in several cases, and is no matter of one rule."""
        twice = 0
        for judge in self.judges.values():
            twice += judge.misled() == Fact("startup-twice")
        if twice:
            yield fact("startup-came-twice", count=twice, total=len(self.judges))
        if self.disturbed:
            yield fact("alone-otherwise", cases=tuple(self.disturbed))

    def timed(
        self, play: Callable[[Case], list[Finding]], case: Case, *, notify: bool = True
    ) -> list[Finding]:
        """Play a case, and note how long it takes."""
        self.begun[case.name] = began = time.monotonic()
        found = play(case)
        self.times[case.name] = time.monotonic() - began
        if notify:
            self.on_case(case.name, found)
        return found

    def play_first(self, case: Case) -> list[Finding]:
        """Play the first case; raise Unchecked if it shows that nothing can be checked."""
        seen = self.target.play(case, self.cancelled)
        if not seen.log.of("called"):
            raise Unchecked(_not_called(seen, self.target))
        answered = any(answer.body for answer in seen.answers)
        if not seen.log.of("called", type_="lifespan"):
            self.obstacle = fact("no-lifespan")
        elif seen.log.of("sent", type_="lifespan.startup.complete") and not answered:
            self.obstacle = fact("idle")
        return self.judged(case, seen)

    def play(self, case: Case) -> list[Finding]:
        """Play a case, and judge it; if that is not possible, return why."""
        if why := self.target.not_applicable(case.name):
            return [*skipped(case, self.spec, why)]
        if not any(cases.expected(case, self.spec)):
            return []
        try:
            return self.judged(case, self.target.play(case, self.cancelled))
        except Unchecked as unchecked:
            self.obstacle = fact("case-not-played", case=case.name, why=unchecked.fact)
            return [*skipped(case, self.spec, unchecked.fact)]

    def judged(self, case: Case, seen: Observation) -> list[Finding]:
        """Return the findings of a case that was played."""
        judge = self.target.judge(seen)
        self.judges[case.name] = judge
        return [*judged(case, self.spec, partial(self.outcome, judge), seen.entries)]

    def outcome(self, judge: OfServer, wanted: Expectation) -> Outcome:
        """Judge an expectation, unless something else explains what was observed."""
        why, kind = self.target.not_applicable(wanted.rule), self.obstacle and self.obstacle.kind
        if kind == "no-lifespan" and not why:
            types = {line.type for line in judge.seen.log.of("called")}
            other = bool(types - {"lifespan", *REQUESTS}) and wanted.rule == "scope-type"
            why = None if other else self.obstacle
        elif wanted.phrase not in AT_CALL and not why:
            why = self.obstacle if kind == "idle" else judge.misled()
        return Outcome("skip", why) if why else judge.outcome(wanted)


def _may_wait(case: Case) -> tuple[bool, bool, int]:
    """Sort cases: those in which the suite waits, or would if the server is wrong, begin first."""
    verbs = {action.verb for action in (*case.script, *case.meanwhile)}
    return bool(verbs & {"hang", "wait", "throw", "traffic"}), "stop" not in verbs, case.workers


def _not_called(seen: Observation, target: Target) -> Fact:
    """Return why the application was never called."""
    name = target.subject
    if seen.status is None:
        why = fact("app-not-called", name=name, seconds=START)
    elif seen.left:
        why = fact("left-processes", name=name)
    else:
        why = fact("ended-at-once", name=name, status=seen.status)
    last = "".join(seen.output.strip().splitlines()[-1:]).strip()[:200]
    return fact("last-words", what=why, line=last) if last else why
