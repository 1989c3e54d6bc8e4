"""The cases of applications as tests of pytest, for its option --lifespec-app."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import ExitStack
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import pytest

from lifespec.conformance import cases
from lifespec.conformance.app import assertions
from lifespec.conformance.app import check as app_check
from lifespec.conformance.app import run as app_run
from lifespec.conformance.app.assertions import DECLINED
from lifespec.conformance.app.isolation import Pool
from lifespec.conformance.oldreport import summary
from lifespec.conformance.oldreport.model import Course, Finding, Verdict
from lifespec.conformance.rules import known_rule, known_spec
from lifespec.testing import LifespanWarning

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from lifespec.conformance.app.run import CaseResult
    from lifespec.conformance.cases import Case

__all__ = ["Application", "Applications", "CaseFailed", "CaseItem", "Settings"]


class Settings(NamedTuple):
    """What to check: applications as `module:attribute`, a specification, and how strictly.

    `ignore` are rules to leave out; `timeout` is in seconds, 0 for the usual one.
    """

    targets: tuple[str, ...]
    spec: str = "asgi"
    strict: bool = False
    factory: bool = False
    ignore: tuple[str, ...] = ()
    timeout: float = 0


class CaseFailed(AssertionError):
    """An application broke rules in a case: `str()` is what a report shows of it."""


class Applications:
    """A plugin that adds the cases of applications, and whether they start and stop, as tests."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.stack = ExitStack()
        try:
            known_spec(settings.spec)
            for rule_id in settings.ignore:
                known_rule(rule_id)
        except cases.Unchecked as error:
            raise pytest.UsageError(str(error)) from None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> None:
        """Add the cases, before options such as -k select."""
        for target in self.settings.targets:
            place = session.config.rootpath / target
            parent = Application.from_parent(
                session, name=target, path=place, nodeid=target, settings=self.settings
            )
            found = list(parent.collect())
            items += found
            _report(session, pytest.CollectReport(target, "passed", None, [*found]))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Import the applications whose cases were selected."""
        chosen = dict.fromkeys(each.parent for each in session.items if isinstance(each, _Item))
        for parent in () if session.config.option.collectonly else chosen:
            parent.open(self.stack)
            if parent.obstacle:
                sentence: Any = parent.obstacle  # shown as it is
                _report(session, pytest.CollectReport(parent.nodeid, "failed", sentence, None))

    def pytest_unconfigure(self) -> None:
        """End what the cases need."""
        self.stack.close()


def _report(session: pytest.Session, report: pytest.CollectReport) -> None:
    session.ihook.pytest_collectreport(report=report)


class Application(pytest.Collector):
    """An application that is checked; `obstacle` says why it cannot be, or is ""."""

    obstacle = ""

    def __init__(self, *, settings: Settings, **node: Any) -> None:
        super().__init__(**node)
        spec = known_spec(settings.spec)
        self.strict, self.ignore = settings.strict, settings.ignore
        self.known: set[str] = set()  # sentences that one of its items has told
        timeout = settings.timeout or app_run.LIMIT
        self.job = app_check.AppCheck(
            "application", self.name, spec, factory=settings.factory, limit=timeout
        )

    def collect(self) -> Iterator[_Item]:
        """Yield an item for whether it starts, one for whether it stops, and one for each case."""
        yield StartItem.from_parent(self, name="starts")
        yield StopItem.from_parent(self, name="stops")
        for case in self.job.cases():
            yield CaseItem.from_parent(self, name=case.name, case=case)

    def open(self, stack: ExitStack) -> None:
        """Import the application, in a process of its own, and play the first case."""
        job = self.job
        pool = Pool(app_check.__name__, asdict(job), job.isolation, job.limit * 2 + app_check.SPARE)
        self.first = job.cases()[0]
        try:
            self.bench = app_check.CaseRunner(job, stack.enter_context(pool))
            self.usual = self.bench.first(self.first)
        except cases.Unchecked as error:
            self.obstacle = str(error)

    @property
    def course(self) -> Course:
        """How it starts and stops."""
        return self.bench.usual or Course("")

    def told(self, what: str, sentence: str) -> str:
        """Say that it does not start or stop: its own traceback, why, and the message sequence."""
        diagram = next(each.conversation for each in self.usual.findings)
        why = f"{what}: {sentence.removeprefix('no, ')}."
        return "\n\n".join(filter(None, [self.course.traceback, why, diagram]))

    def tried(self, case: Case) -> CaseResult:
        """Play a case."""
        return self.usual if case.name == self.first.name else self.bench.tried(case)


class _Item(pytest.Item):
    """A test of one application."""

    parent: Application
    needs_start = True  # it says nothing of an application that does not start

    def setup(self) -> None:
        """Raise what keeps the test from being run, which makes it an error and no failure."""
        why = self.parent.obstacle
        if not why and self.needs_start:
            why = assertions.obstacle(self.parent.course)
        if why:
            raise pytest.fail.Exception(why, pytrace=False)

    def runtest(self) -> None:
        """Tell what its author would want to know, as the first of its items; then test."""
        self.tell(summary.told_of(self.parent.usual.notices))
        self.test()

    @abstractmethod
    def test(self) -> None:
        """Raise what is wrong."""

    def tell(self, sentences: Iterable[str]) -> None:
        """Warn of what no item of the application has told before."""
        for each in dict.fromkeys(sentences):
            if each not in self.parent.known:
                self.parent.known.add(each)
                self.warn(LifespanWarning(each))

    def skip(self, reason: str, *, fails: bool = False) -> NoReturn:
        """Skip the test, or fail it."""
        if fails and self.parent.strict:
            raise CaseFailed(reason)
        raise pytest.skip.Exception(reason, _use_item_location=True)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show what an exception says, and no traceback of ours."""
        if isinstance(excinfo.value, CaseFailed | LifespanWarning | cases.Unchecked):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Name the test as its node ID does; there is no line."""
        return self.path, 0, self.name


class StartItem(_Item):
    """Whether an application starts."""

    needs_start = False

    def test(self) -> None:
        """Raise if it does not start; skip if it does not support lifespan."""
        course = self.parent.course
        if course.starts:
            return
        sentence = summary.sentence(course, "startup")
        if course.startup in DECLINED:
            late = course.received and course.startup == "raised"
            self.skip(f"It starts {sentence}.", fails=late or not course.whose)
        raise CaseFailed(self.parent.told("It does not start", sentence))


class StopItem(_Item):
    """Whether an application stops."""

    def test(self) -> None:
        """Raise if it does not stop; skip if it does not support lifespan."""
        course = self.parent.course
        if not course.starts:
            self.skip("It does not support lifespan.")
        sentence = summary.sentence(course, "shutdown")
        if not course.stops:
            raise CaseFailed(self.parent.told("It does not stop", sentence))
        if course.shutdown != "complete":
            self.skip(f"It stops {sentence}.", fails=True)


class CaseItem(_Item):
    """One case, played to one application."""

    def __init__(self, *, case: Case, **node: Any) -> None:
        super().__init__(**node)
        self.case = case

    @property
    def needs_start(self) -> bool:  # type: ignore[override]
        """Whether the case is not played to an application that does not start."""
        app = self.parent
        return self.case != app.first and app_run.left_out(self.case, app.course) is not None

    def test(self) -> None:
        """Play the case: what fails is raised, what misses a should is a warning."""
        app = self.parent
        tried = app.tried(self.case).findings
        findings = [each for each in tried if each.rule not in app.ignore]
        if failed := [each for each in findings if each.fails(strict=app.strict)]:
            raise CaseFailed(_shown(failed))
        self._warn(findings)
        if all(each.verdict == Verdict.SKIP for each in findings):
            self.skip(" ".join(dict.fromkeys(each.actual for each in findings)))

    def _warn(self, findings: Sequence[Finding]) -> None:
        for each in findings:
            if each.verdict == Verdict.WARN and not each.whose:
                text = f"[{each.rule}] {each.requirement} {each.actual}"
                self.warn(LifespanWarning(text))
        self.tell(summary.theirs(findings))


def _shown(findings: Sequence[Finding]) -> str:
    """Return what a reader has to know of rules that were broken, with one message sequence."""
    parts = [
        f"{each.verdict.upper()} [{each.rule}] {each.requirement}\n"
        f"expected: {each.expected}\n"
        f"actual:   {each.actual}\n" + f"{each.whose}\n" * bool(each.whose)
        for each in findings
    ]
    diagrams = dict.fromkeys(each.conversation for each in findings if each.conversation)
    return "\n".join([*parts, *diagrams]).rstrip()
