"""A report for a reader, in English or Chinese: the only room that has sentences.

`app` and `server` have the sentence of each kind of fact.  `words` puts the parts into it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from lifespec.conformance.explain import base, columns, wrapped
from lifespec.conformance.report import Finding, Report, Verdict
from lifespec.conformance.text import app
from lifespec.conformance.text.words import Words
from lifespec.conformance.words import mark as _
from lifespec.testing.trace import sequence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["WIDTH", "Words", "render"]

WIDTH = 80
LONG = 1.0  # seconds of a message sequence whose times are shown
COLOURS = {
    Verdict.FAIL: "1;31",
    Verdict.WARN: "33",
    Verdict.PASS: "32",
    Verdict.INFO: "36",
    Verdict.SKIP: "2",
}
BOLD, DIM = "1", "2"
BLOCKS = {False: (Verdict.FAIL, Verdict.WARN), True: tuple(Verdict)}
HEADS = (
    _("case"),
    _("requirement"),
    _("specified"),
    _("expected"),
    _("actual"),
    _("origin"),
    _("hint"),
    _("more"),
)
DRAWN = (
    *(_("server"), _("application"), _("middleware")),
    *(_("cancelled"), _("returned"), _("raised")),
)
LABELS = (
    *(_("starts"), _("stops"), _("left"), _("logged"), _("died"), _("never ran"), _("know")),
    *(_("rules"), _("change"), _("where"), _("left out")),
)


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

    def lines(self) -> Iterator[str]:
        """Yield the lines."""
        report, word = self.report, self.words.word
        yield self.painted(self.words.headline(report), BOLD)
        if report.unchecked and not report.rows:
            yield from wrapped(self.words.say(report.unchecked), self.width)
        rows = [(row.label, self.words.say(row.fact)) for row in report.rows]
        rows += (("rules", line) for line in self.words.rules(report))
        yield from self.grid([(word(label), said) for label, said in rows])
        for _reason, alike in _alike(report.findings, BLOCKS[self.verbose]):
            yield ""
            yield from self.block(alike)
        if self.verbose or (report.role == "server" and not report.unchecked):
            yield ""
            yield from self.table()

    def grid(self, rows: Sequence[tuple[str, str]]) -> Iterator[str]:
        """Yield rows with a label each; a label that repeats is left out."""
        room = max((columns(label) for label, _said in rows), default=0) + 3
        for label, group in groupby(rows, key=lambda row: row[0]):
            head = self.painted(label, BOLD) + " " * (room - columns(label))
            for _label, said in group:
                for paragraph in said.split("\n"):
                    for line in wrapped(paragraph, self.width - room):
                        yield f"{head}{line}".rstrip()
                        head = " " * room

    def block(self, alike: Sequence[Finding]) -> Iterator[str]:
        """Yield what was found about a rule, in one case or in several alike."""
        finding, words = alike[0], self.words
        title = f"{finding.verdict.upper()} {finding.rule} "
        dashes = self.painted("-" * (self.width - columns(title)), DIM)
        yield self.painted(title, COLOURS[finding.verdict]) + dashes
        rows = {
            "case": words.listed(dict.fromkeys(each.case for each in alike)),
            "specified" if finding.verdict == Verdict.INFO else "requirement": words.requirement(
                finding
            ),
            "expected": words.expected(finding),
            "actual": words.say(finding.observed),
            "origin": words.origin(finding),
            "hint": "" if finding.framework else words.hint(finding, self.report.role),
            "more": words.more(finding.rule, linked=bool(base())),
        }
        yield from self.grid([(words.word(name), said) for name, said in rows.items() if said])
        if finding.entries:
            right = "middleware" if self.report.role == "middleware" else "application"
            yield ""
            entries = finding.entries
            if self.report.role != "server" and entries[-1].time < LONG:
                entries = tuple(replace(each, time=0.0) for each in entries)
            yield from words.drawn(entries, right, sequence).split("\n")

    def table(self) -> Iterator[str]:
        """Yield a line for each rule: its verdict, its name and the cases that decided."""
        found = self.report.by_rule()
        longest = max(map(len, found), default=0)
        for rule_id, findings in found.items():
            verdict = findings[0].verdict
            names = [*dict.fromkeys(each.case for each in findings if each.verdict == verdict)]
            cases = self.words.first_of(names)
            yield f"{self.painted(verdict.upper(), COLOURS[verdict])}  {rule_id:{longest}}  {cases}"

    def painted(self, text: str, colour: str) -> str:
        return f"\x1b[{colour}m{text}\x1b[0m" if self.colours else text


def _alike(
    findings: Iterable[Finding], verdicts: Sequence[Verdict]
) -> Iterator[tuple[object, list[Finding]]]:
    """Yield the findings with these verdicts, those together that are the same in several cases."""
    found: dict[object, list[Finding]] = {}
    for each in findings:
        told = each.framework or app.is_told(each)  # in the first lines
        if each.verdict in verdicts and not (told and Verdict.PASS not in verdicts):
            key = each.verdict, each.rule, repr(each.observed), each.framework
            found.setdefault(key, []).append(each)
    order = [*Verdict]
    yield from sorted(found.items(), key=lambda item: order.index(item[1][0].verdict))
