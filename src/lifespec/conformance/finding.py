"""What a check finds, as data: verdicts, and what was observed as a fact."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import Any, Literal, NamedTuple, Self

from lifespec.conformance.cases import Case, Expectation, expected
from lifespec.conformance.rules import NEWEST, rules
from lifespec.diagnosis.fact import Fact, fact
from lifespec.testing.trace import Entry
from lifespec.validate import SPECS
from lifespec.words import Explained, english

How = Literal["held", "broken", "missed", "unspecified", "skip"]


class Verdict(StrEnum):
    """The verdict on a rule in a case, a string: `fail`, `warn`, `info`, `pass` or `skip`.

    If a rule has several cases, the first of these in this order counts.  So a rule is not kept but
    open if something was seen in one of its cases that no specification decides.
    """

    FAIL = "fail"
    WARN = "warn"
    INFO = "info"
    PASS = "pass"  # noqa: S105
    SKIP = "skip"

    @classmethod
    def of(cls, verdicts: Iterable[Self]) -> Self:
        """Return the verdict that counts for a rule, of those in its cases."""
        in_order: list[Self] = list(cls)
        return min(verdicts, key=in_order.index, default=cls.SKIP)


class Unchecked(Explained):
    """A subject could not be checked: `fact` says why, and `str()` is its sentence in English."""


def unknown(what: str, name: str, known: Iterable[str], lists: str) -> Unchecked:
    """Return what is raised for an unknown name; `what` is "rule" or "case".

    The command `lists` names all.
    """
    written = name.lower().replace("_", "-")
    names = list(known)
    near = get_close_matches(written, names, n=3)
    for other in names:  # a part of a name is not near to it for difflib
        if written in other and other not in near:
            near.append(other)
    kind = f"unknown-{what}-near" if near else f"unknown-{what}"
    return Unchecked(fact(kind, name=name, near=tuple(near[:3]), lists=lists))


def known_rule(rule_id: str) -> str:
    """Return a rule ID; raise Unchecked if there is no such rule."""
    if rule_id not in rules():
        raise unknown("rule", rule_id, rules(), "lifespec cases")
    return rule_id


def known_spec(name: str) -> str:
    """Return the key of SPECS that a name means: the name itself, or the newest of a family."""
    if name in SPECS:
        return name
    if name in NEWEST:
        return NEWEST[name]
    raise Unchecked(fact("unknown-spec", name=name, known=tuple(SPECS) + tuple(NEWEST)))


class Row(NamedTuple):
    """A line of a report that belongs to no rule: a label, such as "stops", and what it says."""

    label: str
    fact: Fact


@dataclass(frozen=True, slots=True)
class Finding:
    """The verdict on one rule in one case, and what was observed.

    `phrase` and `argument` are what the case expected.  `framework` is the name of the package
    that decides this in the author's place, or "".  `entries` is the message sequence.  `own` says
    that the specification is silent, and the rule's box says that lifespec does otherwise.
    """

    verdict: Verdict
    rule: str
    case: str
    observed: Fact
    phrase: str = ""
    argument: str = ""
    entries: tuple[Entry, ...] = ()
    framework: str = ""
    own: bool = False

    @property
    def kind(self) -> str:
        """The kind of what was observed."""
        return self.observed.kind

    def __str__(self) -> str:
        return f"{self.verdict.upper()} {self.rule} ({self.case}): {english(self.observed)}"

    def fails(self, *, strict: bool = False) -> bool:
        """Return whether this fails the check: a broken MUST.

        If `strict`, also a missed SHOULD and what lifespec does otherwise, unless a framework
        decides it.
        """
        if self.verdict == Verdict.FAIL:
            return True
        if not strict or self.framework:
            return False
        return self.verdict == Verdict.WARN or self.own


OnCase = Callable[[str, Sequence[Finding]], object]
OnWait = Callable[[str, float], object]
OnPlan = Callable[[Fact], object]
OnFirst = Callable[[Sequence[Row]], object]


class Assessment(NamedTuple):
    """What became of an expectation, before a specification gives it a verdict.

    "missed" is broken where no specification goes beyond a should, "unspecified" where none says
    anything.
    """

    how: How
    observed: Fact


def finding(
    case: Case,
    spec: str,
    wanted: Expectation,
    outcome: Assessment,
    entries: Sequence[Entry] = (),
    framework: str = "",
) -> Finding:
    """Return an outcome as a finding, with the verdict of the specification."""
    verdict = _verdict(case, spec, wanted.rule, outcome.how)
    own = False
    if outcome.how == "broken":
        if spec in rules()[wanted.rule].unspecified:
            own = not case.leaves_open(wanted.rule, spec)
    # a MUST that is broken is its author's, whoever has made it so
    is_excused = own or verdict == Verdict.WARN
    return Finding(
        verdict,
        wanted.rule,
        case.name,
        outcome.observed,
        phrase=wanted.phrase,
        argument=wanted.argument,
        entries=tuple(entries),
        framework=framework if is_excused else "",
        own=own,
    )


def judged(
    case: Case, spec: str, judge: Callable[[Expectation], Assessment], *parts: Any
) -> Iterator[Finding]:
    """Yield a finding for each expectation of a case; the other arguments are as of `finding`."""
    for wanted in expected(case, spec):
        yield finding(case, spec, wanted, judge(wanted), *parts)


def skipped(case: Case, spec: str, why: Fact) -> Iterator[Finding]:
    """Return the findings of a case that was not played."""
    return judged(case, spec, lambda _: Assessment("skip", why))


def _verdict(case: Case, spec: str, rule_id: str, how: How) -> Verdict:
    """Return the verdict, by the level of the rule in the specification, which may be silent."""
    plain = {"held": Verdict.PASS, "skip": Verdict.SKIP, "missed": Verdict.WARN}
    if how in plain:
        return plain[how]
    # the case is asked after the outcome: what is kept passes, though it need not have been
    if how == "unspecified" or case.leaves_open(rule_id, spec):
        return Verdict.INFO
    level = rules()[rule_id].level(spec)
    if "must" in level:  # or "must not"
        return Verdict.FAIL
    if "should" in level:
        return Verdict.WARN
    return Verdict.INFO
