"""What became of an expectation of a case, as a finding: for applications and for servers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from lifespec.conformance.oldreport.model import Finding, Verdict, requirement, verdict_for
from lifespec.conformance.rules import rules
from lifespec.conformance.texts import cut

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lifespec.conformance.cases import Case, Expectation

    Tell = Callable[[str, Sequence[Finding]], bool]

__all__ = ["STOPPED", "How", "Outcome", "expected", "finding", "without"]

STOPPED = "Not run: another case failed before."
How = Literal["held", "broken", "missed", "unspecified", "skip"]


class Outcome(NamedTuple):
    """What became of an expectation, and a sentence.

    "missed" is broken where no specification goes beyond a should, "unspecified" where none says
    anything.
    """

    how: How
    actual: str


def expected(case: Case, spec: str) -> Iterator[Expectation]:
    """Yield what is expected by a specification that the case is for, and that has the rule."""
    if spec in case.specs:
        yield from (each for each in case.expect if spec in rules()[each.rule].specs)


def without(case: Case, spec: str, how: How, actual: str) -> Iterator[Finding]:
    """Yield the findings of a case that was not played."""
    for each in expected(case, spec):
        yield finding(case, spec, each, Outcome(how, actual))


def finding(
    case: Case, spec: str, each: Expectation, told: Outcome, conversation: str = ""
) -> Finding:
    """Return what an expectation came to, with the verdict of the text."""
    silent = case.silent_on(each.rule, spec)
    wanted = requirement(each.rule, spec, silent=silent or told.how == "unspecified")
    verdict = _verdict(each.rule, spec, told, silent=silent)
    return Finding(case.name, each.rule, verdict, wanted, each.says, cut(told.actual), conversation)


def _verdict(rule_id: str, spec: str, told: Outcome, *, silent: bool) -> Verdict:
    if told.how == "skip":
        return Verdict.SKIP
    if told.how == "missed":
        return Verdict.WARN
    silent = silent or told.how == "unspecified"
    return verdict_for(rule_id, spec, held=told.how == "held", silent=silent)


# ---- what was seen, in words -------------------------------------------------------------------
