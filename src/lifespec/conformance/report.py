"""The report of a check: what was found about a subject, and its text in English or Chinese."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from lifespec.catalog import WIDTH, wrapped
from lifespec.conformance.blocks import BOLD, COLOURS, IN_FULL, Blocks, case_names
from lifespec.conformance.cases import COURSE, TWICE, Role, load
from lifespec.conformance.finding import Finding, Row, Verdict
from lifespec.conformance.rules import rules
from lifespec.diagnosis.fact import Fact, fact
from lifespec.diagnosis.problem import FAILING, names_of, problem_of
from lifespec.pages import explaining
from lifespec.words import Words

FAULTS = ("does-not-start", "does-not-stop")  # reasons of skipped rules that are told as faults
# reasons of skipped rules that are the server's right, the author's option or the machine's doing
APPLIES_NOT = (
    "no-workers",
    "no-limit",
    "no-state",
    "port-in-use",
    "connection-closed",
    "websocket-refused",
)
FIRST_ROWS_OF = {TWICE}.union(COURSE)  # the cases that the first rows are about
COUNTED = (  # the counts in the order in which they are told
    (Verdict.FAIL, "fail-count"),
    (Verdict.WARN, "warn-count"),
    (Verdict.PASS, "pass-count"),
    (Verdict.INFO, "info-count"),
    (Verdict.SKIP, "skip-count"),
)


@dataclass(frozen=True, repr=False)
class Report:
    """The result of a check: all findings about a subject under one specification.

    Each rule is kept, broken (or missed, if it is a SHOULD), open or not judged, and counts once.

    Of an application, `starts` says whether it completes startup, `stops` whether it stops in time
    and without a failure, and `ends` whether its process can end then; None if that is not known.
    `supported` is False if it does not support lifespan, `framework` names the package that lacks
    it.  `obstacle` is why nothing could be checked.  `rows` are the lines of the report that belong
    to no rule.  `times` is how many seconds each case took, while others ran, and `pace` how many
    those were.
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
    pace: Fact | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return render(self)

    def __repr__(self) -> str:
        words = Words(spec=self.spec)
        return f"<{type(self).__name__}: {words.say(_headline(self, words.title))}>"

    def by_rule(self) -> dict[str, list[Finding]]:
        """Return the findings of each rule, with the decisive one first."""
        by_rule: dict[str, list[Finding]] = {finding.rule: [] for finding in self.findings}
        for finding in sorted(self.findings, key=_rank):
            by_rule[finding.rule].append(finding)
        return by_rule

    def verdicts(self) -> dict[str, Verdict]:
        """Return the verdict on each rule: "fail", "warn", "info", "pass" or "skip"."""
        return {rule_id: findings[0].verdict for rule_id, findings in self.by_rule().items()}

    def counts(self) -> Counter[Verdict]:
        """Count the rules by verdict."""
        return Counter(self.verdicts().values())

    def without(self, ignored: Collection[str]) -> Self:
        """Return the report without these rules."""
        # also of rules that were kept: what is ignored is not counted either
        kept = [finding for finding in self.findings if finding.rule not in ignored]
        return replace(self, findings=tuple(kept))

    @property
    def problems(self) -> dict[str, list[Fact]]:
        """What was found beside the rules, by the name of the problem, the worst first."""
        # FAILING has the worst first, and a dict keeps the order in which its keys came
        by_name: dict[str, list[Fact]] = {name: [] for name in FAILING}
        for row in self.rows:
            name = problem_of(row.fact)
            if name:
                by_name[name].append(row.fact)
        return {name: facts for name, facts in by_name.items() if facts}

    @property
    def unchecked(self) -> Fact | None:
        """Why the subject could not be checked, or None."""
        if self.obstacle or not self.supported or self.starts is False:
            return self.obstacle
        for finding in self.findings:
            if finding.verdict != Verdict.SKIP:
                return None
        # no rule was judged: the first reason is the one that explains the others
        return self.findings[0].observed if self.findings else Fact("no-case")

    @property
    def unjudged(self) -> Fact | None:
        """Why it is not known whether a server keeps the MUSTs, though nothing broke; or None.

        A rule that could not be judged counts, unless it does not apply.  So does a server that
        sends startup twice: what its cases show is not what an application sees.
        """
        if self.role != "server":
            return None
        if self.unchecked:  # which says more, and is said instead
            return None
        for finding in self.findings:
            if finding.kind == "startup-twice":  # which is only ever the reason of a skip
                return fact("sends-startup-twice")
        missing = []
        for rule_id, findings in self.by_rule().items():
            if self._is_missing(findings[0]):
                missing.append(rule_id)
        return fact("musts-unseen", names=tuple(missing)) if missing else None

    def _is_missing(self, worst: Finding) -> bool:
        """Tell whether nothing is known of a MUST that applies."""
        if worst.verdict != Verdict.SKIP:
            return False
        if worst.kind in APPLIES_NOT:
            return False
        return "must" in rules()[worst.rule].level(self.spec)

    @property
    def ok(self) -> bool:
        """Whether the exit status is 0."""
        return self.status == 0

    @property
    def status(self) -> int:
        """The exit status of the command.

        0: every MUST was kept, and an application starts and stops, or does not support lifespan.
        1: a MUST was broken, an application does not start as its author meant, does not stop, or
        keeps its process from ending; if `strict`, also a missed SHOULD, what lifespec does
        otherwise, missing support, and each of `problems`.
        2: it could not be checked, or it is not known whether a server keeps a MUST.
        """
        if any(finding.fails(strict=self.strict) for finding in self.findings):
            return 1
        # before the problems: of a subject that could not be checked nothing is known
        if self.unchecked or self.unjudged:
            return 2
        if self.strict:
            if self.problems:
                return 1
        if not self.supported:
            if self.starts is not False:
                # an author cannot add what the framework lacks
                return int(self.strict and not self.framework)
        # None is no fault: of what did not start, it is not known whether it would have stopped
        return int(False in (self.starts, self.stops, self.ends))


def _rank(finding: Finding) -> int:
    """Return where a verdict stands: the one that decides is the first."""
    return list(Verdict).index(finding.verdict)


# ---- the text of a report ------------------------------------------------------------------------


def _counts(report: Report) -> Iterator[Fact]:
    """Yield how many rules were broken, missed, kept, open and not judged; names of the first two.

    Rules that a framework decides are left out, and of an application those that do not apply.
    """
    # all verdicts, since COUNTED asks for each
    by_verdict: dict[Verdict, list[str]] = {verdict: [] for verdict in Verdict}
    for rule_id, findings in report.by_rule().items():
        if not findings[0].framework:
            by_verdict[findings[0].verdict].append(rule_id)
    for verdict, kind in COUNTED:
        names = by_verdict[verdict]
        if not names:
            continue
        if verdict == Verdict.SKIP:
            if report.role == "application":
                continue
        # the report of a server ends with a table of all rules, which has their names
        if verdict in IN_FULL and report.role != "server":
            yield fact(f"{verdict}-rules", count=len(names), names=tuple(names))
        else:
            yield fact(kind, count=len(names))


def _decided_by_frameworks(report: Report) -> Iterator[Fact]:
    """Yield the rules that each framework decides."""
    by_framework: dict[str, list[str]] = {}
    for rule_id, findings in report.by_rule().items():
        framework = findings[0].framework
        if framework:
            by_framework.setdefault(framework, []).append(rule_id)
    for framework, rule_ids in by_framework.items():
        yield fact("decided-by", count=len(rule_ids), name=framework, names=tuple(rule_ids))


def _not_judged(report: Report) -> Iterator[Fact]:
    """Yield the rules that were not judged, with the reason; of an application only faults."""
    reasons: dict[Fact, list[str]] = {}
    for rule_id, findings in report.by_rule().items():
        if findings[0].verdict == Verdict.SKIP:
            reasons.setdefault(findings[0].observed, []).append(rule_id)
    for why, names in reasons.items():
        if report.role != "application":
            yield fact("not-judged", rules=tuple(names), reason=why)
        elif why.kind in FAULTS:
            # without support no rule applies, which is no fault
            if report.supported:
                yield fact("not-judged-count", count=len(names), reason=why)


def _undecided(findings: Iterable[Finding]) -> Iterator[Sequence[Finding]]:
    """Yield what was seen and no specification decides, by rule and kind."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        if finding.verdict != Verdict.INFO:
            continue
        if not _is_in_first_rows(finding):
            groups.setdefault((finding.rule, finding.kind), []).append(finding)
    yield from groups.values()


def _is_in_first_rows(finding: Finding) -> bool:
    """Tell whether the first lines say it already: those of the start, the stop, a framework."""
    if finding.framework:
        return True
    if finding.kind not in ("course", "course-start"):
        return False
    return finding.case in FIRST_ROWS_OF


def render(
    report: Report,
    language: str = "en",
    *,
    verbose: bool = False,
    width: int = WIDTH,
    colours: bool = False,
) -> str:
    """Return the report as text: what the reader came for, what is wrong, and a table.

    With `verbose`, it has a block for each finding, and the table of all rules.
    """
    words = Words(language, report.spec)
    page = _Page(words, width, colours, report.role, report.strict, report, verbose)
    return "".join(f"{line}\n" for line in page.lines())


@dataclass(frozen=True)
class _Page(Blocks):
    """A report in one language and width."""

    report: Report
    verbose: bool

    def lines(self) -> Iterator[str]:
        """Yield the lines."""
        report, words = self.report, self.words
        for line in wrapped(words.say(_headline(report, words.title)), self.width):
            yield self.painted(line, BOLD)
        if report.unchecked:
            if report.starts is None:  # else the first row says it
                yield from wrapped(words.say(report.unchecked), self.width)
        # of a server that could not be checked, counts and table would be of skipped rules only
        judged = True
        if report.role == "server":
            judged = not report.unchecked
        rows = list(self.first_rows())
        if judged:
            rows += self.rule_rows()
        rows += self.more_rows()
        yield from self.grid(rows)
        for group in self.blocks():
            yield ""
            yield from self.block(group)
        if report.role != "application" and judged:
            reasons = [("not judged", words.say(why)) for why in _not_judged(report)]
            if reasons:
                yield ""
                yield from self.grid(reasons)
        if self.verbose:
            yield ""
            yield from self.table()

    def first_rows(self) -> Iterator[tuple[str, str]]:
        """Yield the rows that belong to no rule."""
        for row in self.report.rows:
            yield row.label, self.words.say(row.fact)

    def rule_rows(self) -> Iterator[tuple[str, str]]:
        """Yield the counts of rules, what a framework decides, and what is open."""
        report, say = self.report, self.words.say
        counts = tuple(_counts(report))
        if report.role == "server":
            yield "rules", say(fact("rules", total=len(report.by_rule()), counts=counts))
        elif counts:
            yield "rules", self.words.translate("; ").join(map(say, counts))
        for decided in _decided_by_frameworks(report):
            yield "rules", say(decided)
        if report.role == "application":
            for why in _not_judged(report):
                yield "rules", say(why)
        sentences_of_open = self.open_in_full() if self.verbose else self.open_shortly()
        for sentence in sentences_of_open:
            yield "open", sentence
        yield from self.problem_rows()
        if self.verbose:
            if report.pace:  # a server's check has none: its cases are always side by side
                yield "cases", say(report.pace)

    def problem_rows(self) -> Iterator[tuple[str, str]]:
        """Yield what the problems that were found do, or would do, to the exit status."""
        report = self.report
        names = tuple(report.problems)
        if not names:
            return
        if report.strict:
            yield "problems", self.say("strict-fails", names=names)
        elif report.ok:  # else the exit status has another reason, and is not 0
            yield "problems", self.say("strict-would", names=names)

    def open_in_full(self) -> Iterator[str]:
        """Yield what was seen of each rule that is open, and what happens in its first case."""
        says = {case.name: case.says for case in load()}
        for group in _undecided(self.report.findings):
            first = group[0]
            # a measuring program has cases of its own, which say nothing
            when = self.words.translate(says.get(first.case, ""))
            parts = {
                "rule": first.rule,
                "when": when,
                "what": first.observed,
                "cases": tuple(case_names(group)),
            }
            yield self.say("open", **parts)

    def open_shortly(self) -> Iterator[str]:
        """Yield what was seen of rules that are open, rules of which the same was seen together."""
        by_sight: dict[Fact, list[Finding]] = {}
        for group in _undecided(self.report.findings):
            by_sight.setdefault(group[0].observed, []).extend(group)
        for observed, findings in by_sight.items():
            names = tuple(dict.fromkeys(finding.rule for finding in findings))
            case, *others = case_names(findings)
            if others:
                case = self.say("first-of", name=case, count=len(others))
            yield self.say("open-shortly", rules=names, what=observed, cases=case)

    def more_rows(self) -> Iterator[tuple[str, str]]:
        """Yield the commands that explain what stands in the rows above."""
        facts = [self.report.obstacle]
        facts += [row.fact for row in self.report.rows]
        if self.report.starts is False:
            if not names_of(facts):  # nothing is known of this failure but that it is one
                facts.append(Fact("headline-does-not-start"))
        for command in explaining(facts):
            yield "more", self.words.say(command)

    def blocks(self) -> Iterator[Sequence[Finding]]:
        """Yield the findings that are told in full, equal ones of several cases together."""
        groups: dict[object, list[Finding]] = {}
        for finding in self.report.findings:
            is_shown = self.verbose
            if not _is_in_first_rows(finding):
                is_shown |= self.is_fault(finding)
            if is_shown:
                key = (finding.verdict, finding.rule, finding.observed, finding.framework)
                groups.setdefault(key, []).append(finding)
        yield from sorted(groups.values(), key=lambda group: _rank(group[0]))

    def table(self) -> Iterator[str]:
        """Yield a line for each rule: its verdict, its name and the cases that decided."""
        by_rule = self.report.by_rule()
        longest = max(map(len, by_rule), default=0)
        for rule_id, findings in by_rule.items():
            verdict = findings[0].verdict
            decisive = [finding for finding in findings if finding.verdict == verdict]
            cases, *others = case_names(decisive)
            if others:
                cases = self.say("first-of", name=cases, count=len(others))
            yield f"{self.painted(verdict.upper(), COLOURS[verdict])}  {rule_id:{longest}}  {cases}"


def _headline(report: Report, title: str) -> Fact:
    """Return what the first line says: the worst that was seen."""
    kinds = {row.fact.kind for row in report.rows}
    whys = {row.fact.parts["why"].kind for row in report.rows if "why" in row.fact.parts}
    # of the lines that fit, the first one is said: a fault of the start comes before one of the
    # stop, which an author sees only once the start is mended, and a rule comes after both
    lines = {
        "does-not-always-start": report.starts is False and "no-if" in kinds,
        "does-not-start": report.starts is False and report.supported,
        "without-startup": report.starts is False,
        "unchecked": report.unchecked,
        "unsupported": not report.supported,
        "fails-early": whys & {"failed-early", "raised-early", "exited-early"},
        "does-not-always-stop": report.stops is False and "no-if" in kinds,
        "does-not-stop": report.stops is False,
        # where one case shows it and the other does not, "lingers" is a part of "only-if"
        "does-not-always-end": report.ends is False and "lingers" not in kinds,
        "does-not-end": report.ends is False,
        "broken": any(finding.fails() for finding in report.findings),
        "unjudged": report.unjudged,
        "missed": any(finding.fails(strict=report.strict) for finding in report.findings),
        "found": report.problems,
        "kept": True,
    }
    line = next(line for line, fits in lines.items() if fits)
    why: Fact | str = ""
    if report.unjudged:
        why = report.unjudged
    if line == "found":
        why = Fact(f"found-{next(iter(report.problems))}")
    return fact(f"headline-{line}", subject=report.subject, title=title, why=why)
