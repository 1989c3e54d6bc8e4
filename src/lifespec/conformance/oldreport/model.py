"""The result of a check: verdicts, findings and reports.

Each case's process loads this, so it imports nothing heavy: terminal.py has the terminal's report.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Self

from lifespec.conformance.rules import rules
from lifespec.validate import SPECS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from lifespec.conformance.language import Role
    from lifespec.conformance.oldreport.notices import Notice

__all__ = [
    "Course",
    "Finding",
    "Report",
    "Verdict",
    "requirement",
    "verdict_for",
]


class Verdict(StrEnum):
    """The verdict on a rule in a case, a string: `fail`, `warn`, `pass`, `info` or `skip`.

    If a rule has several cases, the first of these in this order counts: `info` and `skip` never
    hide a `pass`.
    """

    sign: str
    style: str
    says: str

    def __new__(cls, name: str, sign: str, style: str, says: str) -> Self:
        """Make a member: its name, its sign in a table, its colour in a terminal, its meaning."""
        verdict = str.__new__(cls, name)
        verdict._value_ = name
        verdict.sign, verdict.style, verdict.says = sign, style, says
        return verdict

    FAIL = "fail", "✗", "bold red", "the subject broke a MUST of the specification"
    WARN = "warn", "△", "yellow", "the subject missed a SHOULD of the specification"
    PASS = "pass", "✓", "green", "the message sequence ran to its end, and the rule was kept"
    INFO = "info", "○", "cyan", "this was observed, and the specification does not mention it"
    SKIP = "skip", "·", "dim", "not applicable or not run; the reason is given"

    @property
    def word(self) -> str:
        """The verdict as it is shown, in every language."""
        return self.upper()

    @classmethod
    def named(cls, name: str) -> Verdict:
        """Return the member of that name."""
        return cls[name.upper()]

    @classmethod
    def of(cls, verdicts: Iterable[Verdict]) -> Verdict:
        """Return the verdict that counts for a rule, of those in its cases."""
        return min(verdicts, key=[*cls].index, default=cls.SKIP)


@dataclass(frozen=True, slots=True)
class Finding:
    """The verdict on one rule in one case.

    `requirement`, `expected` and `actual` are sentences or phrases for a reader; `conversation` is
    a diagram in text.  `whose` is a sentence if this comes from a framework.  Both can be empty.
    """

    case: str
    rule: str
    verdict: Verdict
    requirement: str
    expected: str
    actual: str
    conversation: str = ""
    whose: str = ""

    @classmethod
    def read(cls, row: dict[str, Any]) -> Self:
        """Return a finding from its row in JSON."""
        return cls(**row | {"verdict": Verdict.named(row["verdict"])})

    def fails(self, *, strict: bool = False) -> bool:
        """Return whether this fails the check: a broken MUST or, if `strict`, a missed SHOULD."""
        missed = self.verdict == Verdict.WARN and not self.whose
        return self.verdict == Verdict.FAIL or (strict and missed)


@dataclass(frozen=True, slots=True)
class Course:
    """How an application answers startup and shutdown.

    `startup` and `shutdown` are "complete", "failed", "raised", "returned", "exited" (it ended its
    process), "killed" (its process had to be ended), "hung" (it was still at work when its time was
    over), "silent" (it called `receive` again instead of answering) or "refused" (no server takes
    what it sent).  `shutdown` is "raised early" or the like for an application that ended before
    it received shutdown, and "" if startup was not completed.  `received` says whether the
    application received startup.

    `detail` has the message of a failure, the exception, what was refused, or what the application
    was doing when its time was over.  `place` is where that was in its author's code, `traceback`
    the exception's, `limit` how many seconds an answer could take.  `rule` is the rule that it
    broke so that it was refused.  `whose` is a sentence if a framework does not support lifespan.
    """

    startup: str
    shutdown: str = ""
    received: bool = False
    detail: str = ""
    place: str = ""
    limit: float = 0.0
    rule: str = ""
    whose: str = ""
    traceback: str = ""
    cause: str = ""

    @property
    def supports(self) -> bool:
        """Whether it supports lifespan: it stayed to answer startup."""
        return self.startup not in ("raised", "returned", "refused")

    @property
    def starts(self) -> bool:
        """Whether it completes startup."""
        return self.startup == "complete"

    @property
    def stops(self) -> bool:
        """Whether it stops in time and without a failure, or had returned before."""
        return self.shutdown in ("complete", "returned early")

    @property
    def answers(self) -> tuple[str, str]:
        """How it answers the two events."""
        return self.startup, self.shutdown


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a check: all findings about a subject under one specification.

    `note` is a sentence about the whole check.  `obstacle` says why nothing could be checked.
    `supported` is False for an application that does not support lifespan; `whose` is a sentence
    if that comes from a framework.  `isolation` is how the processes of the cases were started,
    `"fork"` or `"spawn"`.  A text is empty if there is nothing to say.  `role` is that of the
    subject.  `course` says how an application starts and stops; it is None for other roles.
    `notices` are for its author.  `times`
    is how many seconds each case took, while other cases ran in parallel.  `left_out` is the names
    of the slow cases that were not asked for.  `partial` is True if only some cases were chosen, or
    rules are ignored.  `factory` is True if the subject names what makes the application.
    """

    subject: str
    spec: str
    findings: tuple[Finding, ...]
    note: str = ""
    obstacle: str = ""
    supported: bool = True
    whose: str = ""
    isolation: str = ""
    role: Role = "application"
    course: Course | None = None
    notices: tuple[Notice, ...] = ()
    times: Mapping[str, float] = field(default_factory=dict, compare=False)
    left_out: tuple[str, ...] = ()
    partial: bool = False
    factory: bool = False

    def by_rule(self) -> dict[str, list[Finding]]:
        """Return the findings of each rule, with the decisive one first."""
        order = [*Verdict]
        found: dict[str, list[Finding]] = {}
        for finding in self.findings:
            found.setdefault(finding.rule, []).append(finding)
        for findings in found.values():
            findings.sort(key=lambda finding: order.index(finding.verdict))
        return found

    def verdicts(self) -> dict[str, Verdict]:
        """Return the verdict on each rule: "fail", "warn", "pass", "info" or "skip"."""
        return {rule_id: findings[0].verdict for rule_id, findings in self.by_rule().items()}

    def counts(self) -> Counter[Verdict]:
        """Count the rules by verdict."""
        return Counter(self.verdicts().values())

    def without(self, rules: Collection[str]) -> Report:
        """Return the report without these rules."""
        kept = tuple(finding for finding in self.findings if finding.rule not in rules)
        return replace(self, findings=kept, partial=self.partial or kept != self.findings)

    @property
    def unchecked(self) -> str:
        """Why the subject could not be checked, in a sentence, or ""."""
        seen = any(each.verdict != Verdict.SKIP for each in self.findings)
        if self.obstacle or seen or not self.supported:
            return self.obstacle
        reasons = dict.fromkeys(each.actual for each in self.findings)
        return next(iter(reasons), "There is no case for it.")

    @property
    def ok(self) -> bool:
        """Whether the exit status is 0."""
        return self.status() == 0

    def status(self, *, strict: bool = False) -> int:
        """Return the exit status.

        0: every MUST was kept, and an application starts and stops, or does not support lifespan.
        1: a MUST was broken, or an application that has started does not stop.  2: it could not be
        checked.  With `strict`, also 1 if a SHOULD was missed or an application does not support
        lifespan or returns before shutdown.
        """
        course = self.course
        if any(finding.fails(strict=strict) for finding in self.findings):
            return 1
        if course and course.starts and not course.stops:
            return 1
        if self.unchecked:
            return 2
        lacks = not (self.supported or self.whose) or (course and course.shutdown.endswith("early"))
        return int(strict and bool(lacks))


def verdict_for(rule_id: str, spec: str, *, held: bool, silent: bool = False) -> Verdict:
    """Return the verdict on a rule that was kept or broken, by its level in a specification.

    The verdict is INFO if the specification only allows it, or does not specify it, in general
    or (`silent`) in this case.
    """
    if held:
        return Verdict.PASS
    level = "" if silent else rules()[rule_id].level(spec)
    return Verdict.FAIL if "must" in level else Verdict.WARN if "should" in level else Verdict.INFO


def requirement(rule_id: str, spec: str, *, silent: bool = False) -> str:
    """Return the sentence of a rule, with its level; `silent` as in verdict_for."""
    rule, title = rules()[rule_id], SPECS[spec].title
    level, says = rule.level(spec), rule.says(spec)
    if level and silent:
        return f"{says} ({title} does not specify this case)"
    return f"{says} ({level or 'not specified'}, {title})"
