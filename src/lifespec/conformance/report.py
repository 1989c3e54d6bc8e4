"""The report of a check: what was found about a subject, and its text in English or Chinese."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, Self

from lifespec.conformance.cases import COURSE, Role, vocabulary
from lifespec.conformance.finding import Finding, Row, Verdict
from lifespec.conformance.rules import rules
from lifespec.diagnosis.fact import Fact, fact
from lifespec.testing.trace import sequence
from lifespec.words import WIDTH, Words, base, columns, site, wrapped

LONG = 1.0  # seconds of a message sequence from which on its times are drawn
COLOURS = dict(zip(Verdict, ("1;31", "33", "32", "36", "2"), strict=True))
BOLD, DIM = "1", "2"
BLOCKS = {False: (Verdict.FAIL, Verdict.WARN), True: tuple(Verdict)}
HINTS = {"not-served-waits": "unsupported-never-blocks"}  # kinds that another rule's hint explains
NOT_JUDGED = ("does-not-start", "does-not-stop")  # reasons of skipped rules that are faults


@dataclass(frozen=True, repr=False)
class Report:
    """The result of a check: all findings about a subject under one specification.

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


# ---- the text of a report ------------------------------------------------------------------------


def _own_rules(worst: Sequence[Finding]) -> Iterator[Fact]:
    """Yield how many rules were broken, missed and kept, of those that no framework decides."""
    for verdict, kind in zip(Verdict, ("fail-rules", "warn-rules", "pass-count"), strict=False):
        own = tuple(x.rule for x in worst if x.verdict == verdict and not x.framework)
        if own:
            yield fact(kind, count=len(own), names=own)


def _other_rules(worst: Sequence[Finding], *, supported: bool) -> Iterator[Fact]:
    """Yield the rules that a framework decides, and why others were not judged."""
    for name in dict.fromkeys(each.framework for each in worst if each.framework):
        of = tuple(each.rule for each in worst if each.framework == name)
        yield fact("decided-by", count=len(of), name=name, names=of)
    reasons = [each.observed for each in worst if each.verdict == Verdict.SKIP and supported]
    for why, count in Counter(each for each in reasons if each.kind in NOT_JUDGED).items():
        yield fact("not-judged-count", count=count, reason=why)


def _rules_of_server(report: Report) -> Iterator[Fact]:
    """Yield how many rules a server kept, and why others were not judged."""
    verdicts, found = report.counts(), report.by_rule()
    counts = tuple(
        fact(f"{each}-count", count=verdicts[each]) for each in Verdict if verdicts[each]
    )
    yield fact("rules", total=len(found), counts=counts)
    if opened := sum(any(each.verdict == Verdict.INFO for each in of) for of in found.values()):
        yield fact("open", count=opened)
    reasons: dict[Fact, list[str]] = {}
    for rule_id, findings in found.items():
        if findings[0].verdict == Verdict.SKIP:
            reasons.setdefault(findings[0].observed, []).append(rule_id)
    for why, rule_ids in reasons.items():
        yield fact("not-judged", rules=tuple(rule_ids), reason=why)


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
    page = _Page(report, Words(language, report.spec), verbose, width, colours)
    return "".join(f"{line}\n" for line in page.lines())


@dataclass(frozen=True)
class _Page:
    """A report in one language and width."""

    report: Report
    words: Words
    verbose: bool
    width: int
    colours: bool

    def say(self, kind: str, /, **parts: Any) -> str:
        """Return a sentence."""
        return self.words.say(fact(kind, **parts))

    def lines(self) -> Iterator[str]:
        """Yield the lines."""
        report, words = self.report, self.words
        kind = f"headline-{_headline(report)}"
        yield self.painted(self.say(kind, subject=report.subject, title=words.title), BOLD)
        if report.unchecked and not report.rows:
            yield from wrapped(words.say(report.unchecked), self.width)
        rows = [(row.label, words.say(row.fact)) for row in report.rows]
        rows += [("rules", line) for line in self.rules()]
        rows += [("cases", words.say(report.pace))] if self.verbose and report.pace else []
        yield from self.grid(rows)
        for grouped in _grouped(report.findings, BLOCKS[self.verbose]):
            yield ""
            yield from self.block(grouped)
        if self.verbose or (report.role == "server" and not report.unchecked):
            yield ""
            yield from self.table()

    def rules(self) -> Iterator[str]:
        """Yield how many rules were kept, and which were not judged and why."""
        report, say = self.report, self.words.say
        if report.role == "server":
            yield from map(say, () if report.unchecked else _rules_of_server(report))
            return
        worst = [found[0] for found in report.by_rule().values()]
        counts = self.words.translate("; ").join(map(say, _own_rules(worst)))
        yield from [counts] if counts else []
        yield from map(say, _other_rules(worst, supported=report.supported))

    def grid(self, rows: Sequence[tuple[str, str]]) -> Iterator[str]:
        """Yield rows with a label each; a label that repeats is left out."""
        rows = [(self.words.translate(label), text) for label, text in rows]
        room = max((columns(label) for label, _text in rows), default=0) + 3
        for label, group in groupby(rows, key=lambda row: row[0]):
            head = self.painted(label, BOLD) + " " * (room - columns(label))
            for paragraph in "\n".join(text for _label, text in group).split("\n"):
                for line in wrapped(paragraph, self.width - room):
                    yield f"{head}{line}".rstrip()
                    head = " " * room

    def block(self, grouped: Sequence[Finding]) -> Iterator[str]:
        """Yield what was found about a rule, in one case or in several."""
        finding = grouped[0]
        title = f"{finding.verdict.upper()} {finding.rule} "
        dashes = self.painted("-" * (self.width - columns(title)), DIM)
        yield self.painted(title, COLOURS[finding.verdict]) + dashes
        rows = self.rows(finding, self.words.listed(dict.fromkeys(each.case for each in grouped)))
        yield from self.grid([(label, text) for label, text in rows.items() if text])
        if finding.entries:
            yield ""
            yield from self.sequence(finding)

    def rows(self, finding: Finding, cases: str) -> dict[str, str]:
        """Return what stands in the block of a finding, by label."""
        words, rule, theirs = self.words, rules()[finding.rule], finding.framework
        link = f"\n{site(words.language)}{rule.address}" if base() else ""
        hints = rules()[HINTS.get(finding.kind, finding.rule)].hint_for(self.report.role)
        needed = finding.verdict in BLOCKS[False] and not theirs
        return {
            "case": cases,
            "specified" if finding.verdict == Verdict.INFO else "requirement": self.requirement(
                finding
            ),
            "expected": self.expected(finding),
            "actual": words.say(finding.observed),
            "origin": self.say("by-framework", framework=theirs) if theirs else "",
            "hint": words.translate(hints) if needed else "",
            "more": f"lifespec explain {finding.rule}{link}",
        }

    def requirement(self, finding: Finding) -> str:
        """Return the sentence of the rule, and its level in the specification."""
        rule, words = rules()[finding.rule], self.words
        says = rule.says(words.spec, words.translate)
        level = words.translate(rule.level(words.spec))
        if not level:
            return self.say("requirement-ours", says=says)
        if finding.verdict == Verdict.INFO:
            return self.say("requirement-open", title=words.title)
        return self.say("requirement", says=says, level=level, title=words.title)

    def expected(self, finding: Finding) -> str:
        """Return what the case expected, or ""."""
        if not finding.phrase:
            return ""
        says = self.words.translate(vocabulary().phrases[finding.phrase].says)
        return self.say("expected", says=says, argument=arg) if (arg := finding.argument) else says

    def sequence(self, finding: Finding) -> Iterator[str]:
        """Yield the diagram of a message sequence; a detail that is a fact becomes a sentence."""
        entries = [replace(each, detail=self.words.part(each.detail)) for each in finding.entries]
        if self.report.role != "server" and entries[-1].time < LONG:
            entries = [replace(each, time=0.0) for each in entries]
        right = "middleware" if self.report.role == "middleware" else "application"
        yield from sequence(entries, "server", right, self.words.translate, columns).split("\n")

    def table(self) -> Iterator[str]:
        """Yield a line for each rule: its verdict, its name and the cases that decided."""
        found = self.report.by_rule()
        longest = max(map(len, found), default=0)
        for rule_id, findings in found.items():
            verdict = findings[0].verdict
            first, *more = dict.fromkeys(each.case for each in findings if each.verdict == verdict)
            cases = self.say("first-of", name=first, count=len(more)) if more else first
            yield f"{self.painted(verdict.upper(), COLOURS[verdict])}  {rule_id:{longest}}  {cases}"

    def painted(self, text: str, colour: str) -> str:
        return f"\x1b[{colour}m{text}\x1b[0m" if self.colours else text


def _headline(report: Report) -> str:
    """Return what the first line says."""
    labels = {row.label for row in report.rows}
    kinds = {row.fact.kind for row in report.rows}
    lines = {
        "does-not-start": report.starts is False and report.supported,
        "without-startup": report.starts is False,
        "unchecked": report.unchecked,
        "unsupported": not report.supported,
        "fails-early": kinds & {"failed-early", "raised-early", "exited-early"},
        "does-not-stop": report.stops is False,
        "does-not-end": report.ends is False,
        "broken": any(each.fails() for each in report.findings),
        "never-ran": "never ran" in labels,
        "cut-off": any(each.startswith(("cut-off", "left-out")) for each in kinds),
        "error": labels & {"logged", "failed tasks"},
        "kept": True,
    }
    return next(line for line, fits in lines.items() if fits)


def _grouped(
    findings: Iterable[Finding], verdicts: Sequence[Verdict]
) -> Iterator[Sequence[Finding]]:
    """Yield the findings with these verdicts, equal findings of several cases together.

    If PASS is not among the verdicts, leave out what the first lines of the report say already.
    """
    found: dict[object, list[Finding]] = {}
    for each in findings:
        first = each.case in COURSE and each.kind in ("course", "course-start")
        short = Verdict.PASS not in verdicts
        if each.verdict in verdicts and not (short and (first or each.framework)):
            key = each.verdict, each.rule, each.observed, each.framework
            found.setdefault(key, []).append(each)
    order = [*Verdict]
    yield from sorted(found.values(), key=lambda group: order.index(group[0].verdict))
