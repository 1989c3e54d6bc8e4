"""Check a server: play its cases, several at a time, and judge what was observed."""

import os
import re
import shlex
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from lifespec.conformance import cases
from lifespec.conformance.cases import Case, Expectation, steps
from lifespec.conformance.finding import (
    Assessment,
    Finding,
    OnCase,
    OnWait,
    Row,
    Unchecked,
    judged,
    known_rule,
    known_spec,
    skipped,
    unknown,
)
from lifespec.conformance.log import REQUESTS
from lifespec.conformance.processes import TELL_EVERY
from lifespec.conformance.report import Report
from lifespec.conformance.server.judge import AT_CALL, ServerJudge
from lifespec.conformance.server.play import SERVER_TIMEOUT, START_LIMIT, Player, ServerObservation
from lifespec.conformance.server.process import ServerProcess, is_free
from lifespec.diagnosis.fact import Fact, fact
from lifespec.validate import SPECS

AT_ONCE = 5 * (os.cpu_count() or 1)  # cases at a time: in most the suite waits for the server
TRIES = 3  # ports for a case
PLAIN_WORD = re.compile(r"[\w@%+=:,./{}-]+", re.ASCII)  # a word that a shell takes as it is


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
    timeout: float = SERVER_TIMEOUT
    judge: ClassVar[type[ServerJudge]] = ServerJudge

    @property
    def subject(self) -> str:
        """The command in one line, as in a shell."""
        return " ".join(w if PLAIN_WORD.fullmatch(w) else shlex.quote(w) for w in self.command)

    @property
    def takes_workers(self) -> bool:
        """Whether it can be started with two workers."""
        return bool(self.workers) or any("{workers}" in word for word in self.command)

    def not_applicable(self, name: str) -> Fact | None:
        """Return why a case or a rule does not apply to it; None if it does."""
        for case in cases.load():
            if case.name != name:
                continue
            if case.workers > 1 and not self.takes_workers:
                return fact("no-workers")
            if case.limit and not self.limit:
                return fact("no-limit")
        return None

    def play(self, case: Case, cancelled: threading.Event) -> ServerObservation:
        """Play a case, again if another program took its port; return what was observed."""
        command = list(self.command)
        if case.workers > 1 and "{workers}" not in self.subject:
            command += shlex.split(self.workers)
        if case.limit:
            command += shlex.split(self.limit)
        stranger = False
        # between the choice of a port and the server's own call of bind, anybody may take it
        for _ in range(TRIES):
            seen = ServerObservation(case, self.spec, self.timeout)
            process = ServerProcess(command, steps(case.script), case.workers)
            Player(process, seen, cancelled).play()
            stranger |= seen.stranger
            if is_free(process.port):  # what the case has started has ended
                break
        seen.stranger = stranger
        return seen


def chosen(only: Sequence[str] = (), *, slow: bool = False) -> list[Case]:
    """Return the cases for servers: those named, or all; slow ones only if `slow` is set.

    Raises Unchecked for an unknown name.
    """
    known = {case.name: case for case in cases.load() if case.role == "server"}
    for name in only:
        if name not in known:
            raise unknown("case", name, known, "lifespec cases --role server")
    if only:
        return [known[name] for name in dict.fromkeys(only)]
    return [case for case in known.values() if slow or not case.slow]


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
    timeout: float = SERVER_TIMEOUT,
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
    spec = known_spec(spec)
    ignored = [known_rule(rule_id) for rule_id in ignore]
    family = spec.partition(" ")[0]
    if family != "asgi":
        raise Unchecked(fact(f"no-{family}-server", title=SPECS[spec].title))
    words = _split(command) if isinstance(command, str) else command
    for options in (workers, limit):
        _split(options)  # now, since it may raise, and not in the middle of the check
    target = Target(tuple(words), spec, workers, limit, timeout)
    report = check(target, chosen(list(only), slow=slow), on_case, on_wait)
    return replace(report.without(ignored), strict=strict)


def _split(text: str) -> list[str]:
    """Split a text as a shell does."""
    try:
        return shlex.split(text)
    except ValueError:
        raise Unchecked(fact("bad-arguments", text=text)) from None


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
    command = target.subject
    if not any("{app}" in word for word in target.command):
        own = f"-- {command}"
        if len(target.command) == 1:
            if ":" in command:
                own = command  # it is the name of an application
        raise Unchecked(fact("no-place-app", command=command, own=own))
    if not any("{port}" in word for word in target.command):
        raise Unchecked(fact("no-place-port", command=command))
    running = _Check(target, on_case)
    by_case = running.run(only, on_wait)
    findings = []
    for case in only:
        findings += by_case[case.name]
    rows = []
    if not running.obstacle:
        rows += [Row("seen", observed) for observed in running.seen_in_all()]
        rows += [Row("left out", left_out) for left_out in _unchosen(target, only)]
    return Report(
        target.subject,
        target.spec,
        tuple(findings),
        role="server",
        obstacle=running.obstacle,
        rows=tuple(rows),
        times=running.times,
    )


def _unchosen(target: Target, only: Sequence[Case]) -> Iterator[Fact]:
    """Yield what was left out where nothing was chosen: slow cases, and those without an option."""
    if any(case not in only for case in chosen()):
        return
    slow = [case for case in chosen(slow=True) if case not in only]
    if slow:
        yield fact("slow-cases", count=len(slow))
    workers = [case for case in only if case.workers > 1 and target.spec in case.specs]
    if workers and not target.takes_workers:
        yield fact("worker-cases", count=len(workers))
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
        self.judges: dict[str, ServerJudge] = {}  # of each case that was played
        self.disturbed: list[str] = []  # names of cases that went otherwise alone
        self.times, self.begun = dict[str, float](), dict[str, float]()

    def run(self, only: Sequence[Case], on_wait: OnWait) -> dict[str, list[Finding]]:
        """Play the cases, and return the findings of each."""
        first = chosen()[0]
        others = [case for case in only if case != first]
        others.sort(key=_may_wait, reverse=True)  # the longest first: the others fill the gaps
        by_case = {first.name: self.timed(self.play_first, first, notify=first in only)}
        if self.obstacle:
            for case in others:
                by_case[case.name] = list(skipped(case, self.spec, self.obstacle))
            return by_case
        # threads suffice: each waits for the processes of its own case
        with ThreadPoolExecutor(AT_ONCE) as pool:
            try:
                playing = {case.name: pool.submit(self.timed, self.play, case) for case in others}
                self.wait_for(playing.values(), on_wait)
                for name, future in playing.items():
                    by_case[name] = future.result()
            except BaseException:  # Ctrl-C, too: no server may outlive the check
                self.cancelled.set()
                pool.shutdown(cancel_futures=True)
                raise
        self.play_again(others, by_case)
        return by_case

    def wait_for(self, playing: Collection[Future[list[Finding]]], on_wait: OnWait) -> None:
        """Wait until all cases were played, and name the longest when a second brought none."""
        rest = list(playing)
        while rest:
            ended, _ = wait(rest, TELL_EVERY, FIRST_COMPLETED)
            rest = [future for future in rest if future not in ended]
            # a copy, since the threads of the pool write into it meanwhile
            begun = list(self.begun)
            running = [name for name in begun if name not in self.times]
            if running and not ended:
                on_wait(running[0], time.monotonic() - self.begun[running[0]])

    @property
    def met_another(self) -> bool:
        """Whether a request of some case was answered by the application of another one."""
        return any(judge.seen.stranger for judge in self.judges.values())

    def play_again(self, played: Sequence[Case], by_case: dict[str, list[Finding]]) -> None:
        """Play alone what others may have disturbed, and note what comes of it."""
        met = self.met_another
        for case in played:
            together = by_case[case.name]
            if not self.is_doubtful(case, together, met=met):
                continue
            alone = self.play(case)
            by_case[case.name] = alone
            if [finding.verdict for finding in together] != [finding.verdict for finding in alone]:
                self.disturbed.append(case.name)
        if self.met_another:  # also alone: nothing that was seen can be trusted
            self.obstacle = fact("cases-met")
            for case in played:
                by_case[case.name] = list(skipped(case, self.spec, self.obstacle))

    def is_doubtful(self, case: Case, findings: Sequence[Finding], *, met: bool) -> bool:
        """Tell whether a case may have gone wrong only because others ran beside it.

        `met` says that a request of some case was answered by the application of another one.
        """
        if case.name not in self.judges:
            return False
        judge = self.judges[case.name]
        if judge.seen.stranger:
            return True
        # a server that finds its port taken may well end before it calls anything
        if not judge.seen.log.of("called") and case.meanwhile[0].verb != "occupy":
            return True
        # what was served, by the application of this case, had its port and its files
        if any(answer.body for answer in judge.seen.answers):
            return False
        if not met and not judge.by_itself:
            return False
        return any(finding.fails(strict=True) for finding in findings)

    def seen_in_all(self) -> Iterator[Fact]:
        """Yield what was seen in several cases, and is no matter of one rule."""
        misled = [judge.misled() for judge in self.judges.values()]
        twice = misled.count(Fact("startup-twice"))
        if twice:
            yield fact("startup-came-twice", count=twice, total=len(misled))
        if self.disturbed:
            yield fact("alone-otherwise", cases=tuple(self.disturbed))

    def timed(
        self, play: Callable[[Case], list[Finding]], case: Case, *, notify: bool = True
    ) -> list[Finding]:
        """Play a case, and note how long it takes."""
        began = time.monotonic()
        self.begun[case.name] = began
        findings = play(case)
        self.times[case.name] = time.monotonic() - began
        if notify:
            self.on_case(case.name, findings)
        return findings

    def play_first(self, case: Case) -> list[Finding]:
        """Play the first case; raise Unchecked if it shows that nothing can be checked."""
        seen = self.target.play(case, self.cancelled)
        if not seen.log.of("called"):
            raise Unchecked(_not_called(seen, self.target))
        answered = any(answer.body for answer in seen.answers)
        if not seen.log.of("called", type_="lifespan"):
            self.obstacle = fact("no-lifespan")
        elif seen.log.of("sent", type_="lifespan.startup.complete"):
            if not answered:
                self.obstacle = fact("idle")
        return self.judged(case, seen)

    def play(self, case: Case) -> list[Finding]:
        """Play a case, and judge it; if that is not possible, return why."""
        why = self.target.not_applicable(case.name)
        if why:
            return list(skipped(case, self.spec, why))
        if not any(cases.expected(case, self.spec)):
            return []
        try:
            return self.judged(case, self.target.play(case, self.cancelled))
        except Unchecked as unchecked:
            self.obstacle = fact("case-not-played", case=case.name, why=unchecked.fact)
            return list(skipped(case, self.spec, unchecked.fact))

    def judged(self, case: Case, seen: ServerObservation) -> list[Finding]:
        """Return the findings of a case that was played."""
        judge = self.target.judge(seen)
        self.judges[case.name] = judge
        return list(judged(case, self.spec, partial(self.outcome, judge), seen.entries))

    def outcome(self, judge: ServerJudge, wanted: Expectation) -> Assessment:
        """Judge an expectation, unless something else explains what was observed."""
        # a server is asked by the name of a case; a program that measures a host overrides this for
        # rules, which cannot apply to a host that has no workers, say
        why = self.target.not_applicable(wanted.rule)
        if why is None:
            why = self.explained(judge, wanted)
        if why:
            return Assessment("skip", why)
        return judge.outcome(wanted)

    def explained(self, judge: ServerJudge, wanted: Expectation) -> Fact | None:
        """Return what explains whatever was observed: no lifespan, nothing served, startup twice.

        The scope of a call is judged all the same.
        """
        if self.obstacle == Fact("no-lifespan"):
            types = {line.type for line in judge.seen.log.of("called")}
            if wanted.rule == "scope-type":
                # a scope of no known type is a breach of its own, lifespan or not
                if types.difference(REQUESTS, ["lifespan"]):
                    return None
            return self.obstacle
        if wanted.phrase in AT_CALL:
            return None
        if self.obstacle == Fact("idle"):
            return self.obstacle
        return judge.misled()


def _may_wait(case: Case) -> tuple[bool, bool, int]:
    """Sort cases: those in which the suite waits, or would if the server is wrong, begin first."""
    verbs = {action.verb for action in case.script}
    verbs |= {action.verb for action in case.meanwhile}
    waits = bool(verbs & {"hang", "wait", "throw", "traffic"})
    return waits, "stop" not in verbs, case.workers


def _not_called(seen: ServerObservation, target: Target) -> Fact:
    """Return why the application was never called."""
    name = target.subject
    if seen.status is None:
        why = fact("app-not-called", name=name, seconds=START_LIMIT)
    elif seen.left_running:
        why = fact("left-processes", name=name)
    else:
        why = fact("ended-at-once", name=name, status=seen.status)
    lines = seen.output.strip().splitlines()
    if lines:  # a server that ends at once usually says why in its last line
        return fact("last-words", what=why, line=lines[-1].strip()[:200])
    return why
