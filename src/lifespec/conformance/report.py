"""The result of a check as data: facts, findings with their verdicts, and the report.

A fact is a kind and its parts.  `text` has the sentence of each kind in every language, so that
nothing here has a sentence, and programs need not read one.
"""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from difflib import get_close_matches
from enum import StrEnum
from importlib import import_module
from typing import Any, Literal, NamedTuple, Self

from lifespec.conformance.cases import Case, Expectation, Role, expected
from lifespec.conformance.rules import NEWEST, rules
from lifespec.conformance.words import printable
from lifespec.diagnosis.fact import Fact, fact
from lifespec.testing.trace import Entry
from lifespec.validate import SPECS

Say = Callable[["Fact"], str]


FORMAT = 2  # of the JSON; a consumer can rely on each key as long as it is the same
How = Literal["held", "broken", "missed", "unspecified", "skip"]


class Verdict(StrEnum):
    """The verdict on a rule in a case, a string: `fail`, `warn`, `pass`, `info` or `skip`.

    If a rule has several cases, the first of these in this order counts: `info` and `skip` never
    hide a `pass`.
    """

    FAIL = "fail"
    WARN = "warn"
    PASS = "pass"  # noqa: S105
    INFO = "info"
    SKIP = "skip"

    @classmethod
    def of(cls, verdicts: Iterable[Self]) -> Self:
        """Return the verdict that counts for a rule, of those in its cases."""
        return min(verdicts, key=[*cls].index, default=cls.SKIP)


class Unchecked(Exception):
    """A subject could not be checked: `fact` says why, and `str()` is its sentence in English."""

    def __init__(self, why: Fact) -> None:
        super().__init__(why)
        self.fact = why

    def __str__(self) -> str:
        return _english(self.fact).removesuffix(".")


def _english(observed: Fact) -> str:
    words = import_module("lifespec.conformance.text").Words()  # which imports this module
    return str(words.say(observed))


def unknown(what: str, name: str, known: Iterable[str], lists: str) -> Unchecked:
    """Return what is raised for an unknown name; `what` is "rule" or "case".

    The command `lists` names all.
    """
    lower, names = name.lower().replace("_", "-"), [*known]
    near = [*get_close_matches(lower, names, n=3), *(each for each in names if lower in each)]
    alike = tuple(dict.fromkeys(near))[:3]
    kind = f"unknown-{what}-near" if alike else f"unknown-{what}"
    return Unchecked(fact(kind, name=name, near=alike, lists=lists))


def known_rule(rule_id: str) -> str:
    """Return a rule ID; raise Unchecked if there is no such rule."""
    if rule_id not in rules():
        raise unknown("rule", rule_id, rules(), "lifespec cases")
    return rule_id


def known_spec(name: str) -> str:
    """Return the key of SPECS that a name means: the name itself, or the newest of a family."""
    if name not in {*SPECS, *NEWEST}:
        raise Unchecked(fact("unknown-spec", name=name, known=(*SPECS, *NEWEST)))
    return NEWEST.get(name, name)


class Row(NamedTuple):
    """A line of a report that belongs to no rule: a label, such as "stops", and what it says."""

    label: str
    fact: Fact


@dataclass(frozen=True, slots=True)
class Finding:
    """The verdict on one rule in one case, and what was observed.

    `phrase` and `argument` are what the case expected.  `framework` is the name of the package
    that decides this in the author's place, or "".  `entries` is the message sequence.
    """

    verdict: Verdict
    rule: str
    case: str
    observed: Fact
    phrase: str = ""
    argument: str = ""
    entries: tuple[Entry, ...] = ()
    framework: str = ""
    kind = property(lambda self: self.observed.kind)
    parts = property(lambda self: self.observed.parts)

    def __str__(self) -> str:
        return f"{self.verdict.upper()} {self.rule} ({self.case}): {_english(self.observed)}"

    def fails(self, *, strict: bool = False) -> bool:
        """Return whether this fails the check: a broken MUST or, if `strict`, a missed SHOULD."""
        missed = self.verdict == Verdict.WARN and not self.framework
        return self.verdict == Verdict.FAIL or (strict and missed)


class Outcome(NamedTuple):
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
    outcome: Outcome,
    entries: Sequence[Entry] = (),
    framework: str = "",
) -> Finding:
    """Return an outcome as a finding, with the verdict of the specification."""
    verdict = _verdict(case, spec, wanted.rule, outcome.how)
    missed = framework if verdict == Verdict.WARN else ""
    parts = wanted.phrase, wanted.argument, tuple(entries), missed
    return Finding(verdict, wanted.rule, case.name, outcome.observed, *parts)


def skipped(case: Case, spec: str, why: Fact) -> Iterator[Finding]:
    """Yield the findings of a case that was not played."""
    for each in expected(case, spec):
        yield finding(case, spec, each, Outcome("skip", why))


def _verdict(case: Case, spec: str, rule_id: str, how: How) -> Verdict:
    """Return the verdict, by the level of the rule in the specification, which may be silent."""
    plain = {"held": Verdict.PASS, "skip": Verdict.SKIP, "missed": Verdict.WARN}
    if how in plain:
        return plain[how]
    unspecified = how == "unspecified" or case.leaves_open(rule_id, spec)
    level = "" if unspecified else rules()[rule_id].level(spec)
    return Verdict.FAIL if "must" in level else Verdict.WARN if "should" in level else Verdict.INFO


@dataclass(frozen=True, repr=False)
class Report:
    """The result of a check: all findings about a subject under one specification.

    Of an application, `starts` says whether it completes startup, `stops` whether it stops in time
    and without a failure, and `ends` whether its process can end then; None if that is not known.
    `supported` is False if it does not support lifespan, `framework` names the package that lacks
    it.  `obstacle` is why nothing could be checked.  `rows` are the lines of the report that belong
    to no rule.  `times` is how many seconds each case took, while others ran.
    """

    subject: str
    spec: str
    findings: tuple[Finding, ...] = ()
    role: Role = "application"
    strict: bool = False
    obstacle: Fact | None = None
    supported: bool = True
    starts: bool | None = None
    stops: bool | None = None
    ends: bool | None = None
    framework: str = ""
    rows: tuple[Row, ...] = ()
    times: Mapping[str, float] = field(default_factory=dict, compare=False)

    def __str__(self) -> str:
        text: str = import_module("lifespec.conformance.text").render(self)  # which imports this
        return text

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {str(self).partition(chr(10))[0]}>"

    def by_rule(self) -> dict[str, list[Finding]]:
        """Return the findings of each rule, with the decisive one first."""
        order = [*Verdict]
        found: dict[str, list[Finding]] = {each.rule: [] for each in self.findings}
        for each in sorted(self.findings, key=lambda each: order.index(each.verdict)):
            found[each.rule].append(each)
        return found

    def verdicts(self) -> dict[str, Verdict]:
        """Return the verdict on each rule: "fail", "warn", "pass", "info" or "skip"."""
        return {rule_id: findings[0].verdict for rule_id, findings in self.by_rule().items()}

    def counts(self) -> Counter[Verdict]:
        """Count the rules by verdict."""
        return Counter(self.verdicts().values())

    def without(self, ignored: Collection[str]) -> Self:
        """Return the report without these rules."""
        kept = tuple(each for each in self.findings if each.rule not in ignored)
        return replace(self, findings=kept)

    @property
    def unchecked(self) -> Fact | None:
        """Why the subject could not be checked, or None."""
        seen = any(each.verdict != Verdict.SKIP for each in self.findings)
        if self.obstacle or seen or not self.supported or self.starts is False:
            return self.obstacle
        return next((each.observed for each in self.findings), Fact("no-case"))

    @property
    def ok(self) -> bool:
        """Whether the exit status is 0."""
        return self.status == 0

    @property
    def status(self) -> int:
        """The exit status of the command.

        0: every MUST was kept, and an application starts and stops, or does not support lifespan.
        1: a MUST was broken, an application does not start as its author meant, does not stop, or
        keeps its process from ending; if `strict`, also a missed SHOULD and missing support.
        2: it could not be checked.
        """
        if any(each.fails(strict=self.strict) for each in self.findings):
            return 1
        if self.unchecked:
            return 2
        if not self.supported and self.starts is not False:
            return int(self.strict and not self.framework)
        return int(False in (self.starts, self.stops, self.ends))


# ---- for machines ------------------------------------------------------------------------------


def as_json(report: Report, say: Say) -> str:
    """Return the report as a JSON object; `say` words a fact."""
    times = {name: round(seconds, 3) for name, seconds in report.times.items()}
    counts = report.counts()
    names = dict.fromkeys(each.case for each in report.findings)
    whole = {
        "format": FORMAT,
        "tool": {"name": "lifespec", "version": version()},
        "subject": {"name": report.subject, "role": report.role},
        "spec": report.spec,
        "strict": report.strict,
        "status": report.status,
        "unchecked": _worded(report.unchecked, say) if report.unchecked else None,
        "supported": report.supported,
        "starts": report.starts,
        "stops": report.stops,
        "ends": report.ends,
        "rows": [{"label": row.label, **_worded(row.fact, say)} for row in report.rows],
        "counts": {verdict: counts[verdict] for verdict in Verdict},
        "rules": [{"id": name, "verdict": each} for name, each in report.verdicts().items()],
        "cases": [{"name": name, "seconds": times.get(name)} for name in names],
        "findings": [_finding(each, say) for each in report.findings],
    }
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def version() -> str | None:
    """Return the version of lifespec; None if it is not installed."""
    from importlib.metadata import distributions  # noqa: PLC0415  it imports much

    found = next(iter(distributions(name="lifespec")), None)
    return found.version if found else None


def _worded(observed: Fact, say: Say) -> dict[str, Any]:
    return {"says": say(observed), **observed.data()}


def _finding(each: Finding, say: Say) -> dict[str, Any]:
    entries = [(asdict(entry), entry.detail) for entry in each.entries]
    return {
        "case": each.case,
        "rule": each.rule,
        "verdict": each.verdict,
        "framework": each.framework,
        "expected": " ".join(filter(None, (each.phrase, each.argument))),
        "observed": _worded(each.observed, say),
        "sequence": [
            entry | ({"detail": _worded(detail, say)} if isinstance(detail, Fact) else {})
            for entry, detail in entries
        ],
    }


def as_junit(report: Report, say: Say) -> str:
    """Return the report as JUnit XML, with a test case for each finding.

    A broken MUST is a failure and, if strict, a missed SHOULD.  All other findings that were not
    skipped have passed and say what was observed.  What else ends the check with another status
    than 0 is a test case of its own.
    """
    from xml.etree import ElementTree as ET  # noqa: PLC0415

    rows = []
    for each in report.findings:
        fails = each.fails(strict=report.strict)
        other = "skipped" if each.verdict == Verdict.SKIP else "system-out"
        says = f"{each.verdict.upper()}: {say(each.observed)}"
        rows.append((each.rule, each.case, "failure" if fails else other, says))
    if report.status and not any(tag == "failure" for _rule, _case, tag, _says in rows):
        facts = [report.unchecked] if report.unchecked else [row.fact for row in report.rows]
        tag = "error" if report.unchecked else "failure"
        rows.append(("lifespan", "checked", tag, " ".join(map(say, facts))))
    tags = Counter(tag for _rule, _case, tag, _says in rows)
    counts = {"tests": len(rows), "failures": tags["failure"], "errors": tags["error"]}
    named = {"name": "".join(map(printable, f"{report.subject}, {report.spec}"))}
    root = ET.Element("testsuites", named | {key: str(count) for key, count in counts.items()})
    suite = ET.SubElement(root, "testsuite", root.attrib | {"skipped": str(tags["skipped"])})
    for rule_id, name, tag, says in rows:
        case = ET.SubElement(suite, "testcase", {"classname": f"lifespec.{rule_id}", "name": name})
        element = ET.SubElement(case, tag, {} if tag == "system-out" else {"message": says})
        element.text = says
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
