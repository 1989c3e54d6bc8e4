"""What was found about a subject: verdicts, and what becomes of them together.

The process of each case loads this, so it imports nothing heavy: the report for a terminal is in
report.py.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal, get_args

from lifespec.conformance.cases import rules
from lifespec.validate import DIALECTS

__all__ = [
    "VERDICTS",
    "Finding",
    "Report",
    "Verdict",
    "printable",
    "requirement",
    "verdict_for",
]

Verdict = Literal["conforms", "violates", "departs", "unspecified", "not applicable", "not run"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
_WORST: tuple[Verdict, ...] = (
    "violates",
    "departs",
    "unspecified",
    "not run",
    "conforms",
    "not applicable",
)


@dataclass(frozen=True, slots=True)
class Finding:
    """What became of one rule in one case.

    `requirement`, `expected` and `actual` are sentences or phrases for a reader; `conversation` is
    a diagram in text, or "".
    """

    case: str
    slug: str
    verdict: Verdict
    requirement: str
    expected: str
    actual: str
    conversation: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """All that was found about a subject, on trial by one of DIALECTS.

    `note` is a sentence about all of it, or "".
    """

    subject: str
    dialect: str
    findings: tuple[Finding, ...]
    note: str = ""

    def by_rule(self) -> dict[str, list[Finding]]:
        """Return the findings of each rule, the worst first."""
        found: dict[str, list[Finding]] = {}
        for finding in self.findings:
            found.setdefault(finding.slug, []).append(finding)
        for findings in found.values():
            findings.sort(key=lambda finding: _WORST.index(finding.verdict))
        return found

    def counts(self) -> Counter[Verdict]:
        """Count the rules by their worst verdict."""
        return Counter(findings[0].verdict for findings in self.by_rule().values())

    def status(self, *, strict: bool = False) -> int:
        """Return the exit status: 0 conforms, 1 does not, 2 nothing of it could be checked.

        What departs from a should does not conform where `strict`.
        """
        counts = self.counts()
        if counts["violates"] or (strict and counts["departs"]):
            return 1
        return 2 if set(counts) <= {"not run"} else 0


def verdict_for(slug: str, dialect: str, *, held: bool, silent: bool = False) -> Verdict:
    """Return the verdict on a rule that was held or broken, by the level that the text gives it.

    Where the text is silent, in general or (`silent`) in just this case, or says no more than
    "may", nobody is at fault.
    """
    if held:
        return "conforms"
    level = "" if silent else rules()[slug].levels.get(dialect, "")
    return "violates" if "must" in level else "departs" if "should" in level else "unspecified"


def requirement(slug: str, dialect: str, *, silent: bool = False) -> str:
    """Return the sentence of a rule, with its level in this text; `silent` as in verdict_for."""
    rule, title = rules()[slug], DIALECTS[dialect].title
    level, says = rule.levels[dialect], rule.says[dialect]
    if not level:
        return f"{title} does not specify this. {says}"
    if silent:
        return f"{says} (but {title} does not specify this case)"
    return f"{says} ({level}, {title})"


def printable(character: str) -> str:
    """Return a character, or an escape where it is none to print."""
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode()
