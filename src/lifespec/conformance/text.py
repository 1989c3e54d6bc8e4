"""A report for a reader, in English or Chinese.

`data/sentences.toml` has the sentence of each kind of fact, and `Words` puts the parts into it.
"""

import functools
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from lifespec.conformance.cases import COURSE, vocabulary
from lifespec.conformance.explain import WIDTH, address, base, columns, wrapped
from lifespec.conformance.report import Finding, Report, Verdict
from lifespec.conformance.rules import names, rules
from lifespec.conformance.words import data, printable, translator
from lifespec.diagnosis.fact import SENTENCES, Fact, fact
from lifespec.testing.trace import sequence

LONG = 1.0  # seconds of a message sequence from which on its times are drawn
COLOURS = dict(zip(Verdict, ("1;31", "33", "32", "36", "2"), strict=True))
BOLD, DIM = "1", "2"
BLOCKS = {False: (Verdict.FAIL, Verdict.WARN), True: tuple(Verdict)}
HINTS = {"not-served-waits": "unsupported-never-blocks"}  # kinds that another rule's hint explains
NOT_JUDGED = ("does-not-start", "does-not-stop")  # reasons of skipped rules that are faults


@functools.cache
def sentences() -> Mapping[str, str]:
    """Return the English sentence of each kind of fact."""
    tables = tomllib.loads(data("sentences.toml"))
    return {**SENTENCES, **tables["formats"], **tables["sentences"]}


class Words:
    """The words of a report in one language, about one specification."""

    def __init__(self, language: str = "en", spec: str = "asgi 2.0") -> None:
        self.language, self.spec, self.translate = language, spec, translator(language)
        self.title = names([spec], self.translate)
        named = (kind for kind in sentences() if kind.startswith("page-"))
        self.pages = {kind: self.translate(sentences()[kind]) for kind in named}

    def say(self, fact: Fact) -> str:
        """Return the sentence of a fact."""
        template = sentences()[fact.kind]
        parts = {name: self.part(each) for name, each in fact.parts.items()}
        text = self.translate(template).format(**self.pages, **parts)
        first = template[1:].partition("}")[0] if template[0] == "{" and template[-1] == "." else ""
        begins = isinstance(fact.parts.get(first), Fact)  # with a part of a sentence
        return f"{text[:1].upper()}{text[1:]}" if begins else text

    def part(self, part: Any) -> str:
        """Return what stands in the place of a part: each character of it can be printed."""
        if isinstance(part, Fact):
            return self.say(part)
        if isinstance(part, tuple):
            return self.listed(map(self.part, part))
        text = f"{part:g}" if isinstance(part, float) else str(part)
        return "\n".join("".join(map(printable, line)) for line in text.split("\n"))

    def listed(self, items: Iterable[str]) -> str:
        """Return items with commas between them."""
        return self.translate(", ").join(items)

    def rules(self, report: Report) -> Iterator[str]:
        """Yield lines on how many rules were kept, and which were not judged and why."""
        if report.role == "server":
            yield from map(self.say, () if report.unchecked else _rules_of_server(report))
            return
        worst = [found[0] for found in report.by_rule().values()]
        theirs = {each.rule: each.framework for each in worst if each.framework}
        counts = []
        for verdict, kind in zip(Verdict, ("fail-rules", "warn-rules", "pass-count"), strict=False):
            own = tuple(x.rule for x in worst if x.verdict == verdict and x.rule not in theirs)
            if own:
                counts.append(self.say(fact(kind, count=len(own), names=own)))
        yield from [self.translate("; ").join(counts)] if counts else []
        for name in dict.fromkeys(theirs.values()):
            of = tuple(rule for rule, other in theirs.items() if other == name)
            yield self.say(fact("decided-by", count=len(of), name=name, names=of))
        skipped = (each for each in worst if each.verdict == Verdict.SKIP)
        reasons = [each.observed for each in skipped if report.supported]
        for why, count in Counter(each for each in reasons if each.kind in NOT_JUDGED).items():
            yield self.say(fact("not-judged-count", count=count, reason=why))


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
        yield from self.grid(rows + [("rules", line) for line in words.rules(report)])
        for alike in _alike(report.findings, BLOCKS[self.verbose]):
            yield ""
            yield from self.block(alike)
        if self.verbose or (report.role == "server" and not report.unchecked):
            yield ""
            yield from self.table()

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

    def block(self, alike: Sequence[Finding]) -> Iterator[str]:
        """Yield what was found about a rule, in one case or in several alike."""
        finding = alike[0]
        title = f"{finding.verdict.upper()} {finding.rule} "
        dashes = self.painted("-" * (self.width - columns(title)), DIM)
        yield self.painted(title, COLOURS[finding.verdict]) + dashes
        rows = self.rows(finding, self.words.listed(dict.fromkeys(each.case for each in alike)))
        yield from self.grid([(label, text) for label, text in rows.items() if text])
        if finding.entries:
            yield ""
            yield from self.sequence(finding)

    def rows(self, finding: Finding, cases: str) -> dict[str, str]:
        """Return what stands in the block of a finding, by label."""
        words, rule, theirs = self.words, rules()[finding.rule], finding.framework
        link = f"\n{address(rule, words.language)}" if base() else ""
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
    early = {"failed-early", "raised-early", "exited-early"} & {r.fact.kind for r in report.rows}
    lines = {
        "does-not-start": report.starts is False and report.supported,
        "without-startup": report.starts is False,
        "unchecked": report.unchecked,
        "unsupported": not report.supported,
        "fails-early": early,
        "does-not-stop": report.stops is False,
        "does-not-end": report.ends is False,
        "broken": any(each.fails() for each in report.findings),
        "never-ran": "never ran" in labels,
        "error": labels & {"logged", "died"},
        "kept": True,
    }
    return next(line for line, fits in lines.items() if fits)


def _alike(findings: Iterable[Finding], verdicts: Sequence[Verdict]) -> Iterator[Sequence[Finding]]:
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
    yield from sorted(found.values(), key=lambda alike: order.index(alike[0].verdict))
