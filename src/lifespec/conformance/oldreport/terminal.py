"""Shows in a terminal what was found about a subject."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import dropwhile
from typing import TYPE_CHECKING, TextIO

from rich.console import Console
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from lifespec.conformance.explain import base, columns, wrapped
from lifespec.conformance.i18n import ENGLISH, LEFT_OUT
from lifespec.conformance.oldreport import summary
from lifespec.conformance.oldreport.model import Verdict
from lifespec.conformance.texts import printable
from lifespec.conformance.words import mark as _

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from rich.console import ConsoleOptions, RenderResult

    from lifespec.conformance.i18n import Wording
    from lifespec.conformance.oldreport.model import Finding, Report

__all__ = ["brief", "progress", "show"]

WIDTH = 80


@contextmanager
def progress(title: str, total: int) -> Iterator[Callable[[], None]]:
    """Show a progress bar on standard error if that is a terminal; yield what advances it."""
    from rich.progress import Progress  # noqa: PLC0415  it takes a tenth of a check

    terminal = sys.stderr.isatty()  # rich takes a file for one under FORCE_COLOR
    bar = Progress(console=Console(stderr=True), transient=True, disable=not terminal)
    with bar:
        task = bar.add_task(title, total=total)
        yield lambda: bar.advance(task)


def show(
    report: Report, stream: TextIO, *, every: bool = False, wording: Wording = ENGLISH
) -> None:
    """Write the report for a reader: a sentence and the counts, what was found, and the table.

    Passed rules are shown in full only if `every` is set.  `wording` has the words of the
    reader's language.
    """
    console = _console(stream)
    told = _Writer(console, stream.encoding or "ascii", wording, report.spec, report.role)
    shown = [each for each in report.findings if every or _is_shown(each, report)]
    listed = bool(every or shown or report.partial or not report.course)
    told.head(report, listed=listed)
    if every and report.isolation:
        told.isolation(report.isolation)
    for alike in _alike(sorted(shown, key=lambda each: [*Verdict].index(each.verdict))):
        told.finding(alike[0], [*dict.fromkeys(each.case for each in alike)])
    if listed:
        told.table(report)
        told.skipped(() if every else report.findings)


def brief(report: Report, stream: TextIO, *, wording: Wording = ENGLISH) -> None:
    """Write what a report comes to, and the names of the rules that were broken or missed."""
    console = _console(stream)
    told = _Writer(console, stream.encoding or "ascii", wording, report.spec, report.role)
    told.head(report, listed=True, also=[*_not_kept(report, wording)])


def _not_kept(report: Report, wording: Wording) -> Iterator[str]:
    for verdict in (Verdict.FAIL, Verdict.WARN):
        names = [rule for rule, worst in report.verdicts().items() if worst == verdict]
        if names:
            yield wording.word("%s: %s", verdict.word, wording.word(", ").join(names))


_WAYS = {
    "fork": _("It was imported once, and a process was forked for each case."),
    "spawn": _("It was imported for each case, in a new interpreter."),
}


def _console(stream: TextIO) -> Console:
    width = None if stream.isatty() else WIDTH
    return _Console(file=stream, width=width, highlight=False, markup=False, emoji=False)


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Raise it: rich would exit with status 1, which means a broken MUST here."""
        raise BrokenPipeError


_FOUND = (Verdict.FAIL, Verdict.WARN, Verdict.INFO)


def _is_shown(finding: Finding, report: Report) -> bool:
    """Tell whether a finding has a section: what a framework does is a line at the top."""
    return finding.verdict in _FOUND and not (finding.whose and report.course)


def _alike(findings: Iterable[Finding]) -> Iterable[list[Finding]]:
    """Group the findings that are the same for a rule in several cases."""
    found: dict[tuple[str, ...], list[Finding]] = {}
    for each in findings:
        found.setdefault((each.rule, each.verdict, each.actual, each.whose), []).append(each)
    return found.values()


@dataclass
class _Unpadded:
    """A table without the trailing spaces of rich, which a log would keep."""

    table: Table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in console.render_lines(self.table, options, pad=False):
            kept = list(dropwhile(lambda part: not part.text.strip(), reversed(line)))[::-1]
            yield from kept[:-1]
            yield from (Segment(part.text.rstrip(), part.style) for part in kept[-1:])
            yield Segment.line()


@dataclass
class _Writer:
    """Writes the parts of a report in the characters that the stream can encode."""

    console: Console
    encoding: str
    wording: Wording
    spec: str
    role: str

    def text(self, text: str, style: str = "") -> Text:
        lines = ("".join(map(printable, line)) for line in text.split("\n"))
        plain = "\n".join(lines).encode(self.encoding, "backslashreplace").decode(self.encoding)
        return Text(plain, style, overflow="fold")  # an ellipsis would be no character of some

    def head(self, report: Report, *, listed: bool, also: Sequence[str] = ()) -> None:
        word, counts = self.wording.word, report.counts()
        title = self.wording.title(report.spec)
        named = self.text(word("%s, checked against %s", report.subject, title), "bold")
        # a command is as long as it is: broken into lines it could not be copied
        self.console.print(named, soft_wrap=True)
        numbers = word(", ").join(f"{each.word} {counts[each]}" for each in Verdict if counts[each])
        counted = numbers if listed else word("%s (--verbose lists them)", numbers)
        told = f"{summary.of_rules(report, self.wording)}\n{counted}"
        if rows := summary.rows(report, told, self.wording):
            self.grid(rows)
        else:
            lines = [
                summary.of_rules(report, self.wording),
                numbers,
                *(also or [report.note, self.left_out(report)]),
            ]
            for line in filter(None, lines):
                self.console.print(self.text("\n".join(wrapped(line, self.console.width))))
        self.console.print()

    def isolation(self, way: str) -> None:
        """Say how the processes of the cases were started."""
        self.console.print(self.text(f"{self.wording.word(_WAYS[way])}\n"))

    def left_out(self, report: Report) -> str:
        """Return how many cases were left out, which, and how to run them, or ""."""
        names = self.wording.word(", ").join(report.left_out)
        return self.wording.word(LEFT_OUT, str(len(report.left_out)), names) if names else ""

    def table(self, report: Report) -> None:
        word = self.wording.word
        heads = (self.text(each).plain for each in (word("verdict"), word("rule"), word("cases")))
        table = Table(*heads, box=None, padding=(0, 2, 0, 0), pad_edge=False)
        for rule_id, findings in report.by_rule().items():
            first = findings[0].verdict
            cases_of = (finding.case for finding in findings if finding.verdict == first)
            same = [*dict.fromkeys(cases_of)]
            more = word("%s and %s more", same[0], str(len(same) - 1))
            cases = self.text(same[0] if len(same) == 1 else more)
            table.add_row(self.text(first.word, first.style), self.text(rule_id), cases)
        if report.findings:
            self.console.print(_Unpadded(table))
            self.console.print()

    def finding(self, finding: Finding, cases: Sequence[str]) -> None:
        rows = {
            _("case"): self.wording.word(", ").join(cases),
            _("requirement"): self.wording.requirement(
                finding.requirement, finding.rule, self.spec
            ),
            _("expected"): self.wording.expected(finding.expected),
            _("actual"): self.wording.seen(finding.actual),
        }
        rows |= self.advice(finding)
        more = [f"lifespec explain {finding.rule}"]
        if base():
            more.append(self.wording.address(finding.rule))
        rows[_("more")] = "\n".join(more)
        title = self.wording.word("%s: %s", finding.verdict.word, finding.rule)
        self.section(title, finding.verdict, rows)
        diagram = f"\n{self.wording.drawn(finding.conversation)}\n" if finding.conversation else ""
        self.console.print(self.text(diagram))

    def advice(self, finding: Finding) -> dict[str, str]:
        """Return where a finding comes from or how to fix it; empty if nothing is specified."""
        if finding.whose:
            return {_("origin"): self.wording.seen(finding.whose)}
        broken = finding.verdict in (Verdict.FAIL, Verdict.WARN)
        hint = self.wording.hint(finding.rule, self.role) if broken else ""
        return {_("hint"): hint} if hint else {}

    def skipped(self, findings: Iterable[Finding]) -> None:
        """Name the rules that were skipped in every case, once for each reason."""
        seen = {each.rule for each in findings if each.verdict != Verdict.SKIP}
        found: dict[str, list[Finding]] = {}
        for each in findings:
            if each.rule not in seen:
                found.setdefault(each.actual, []).append(each)
        for reason, skipped in found.items():
            names = self.wording.word(", ").join(dict.fromkeys(each.rule for each in skipped))
            line = self.wording.word(
                "%s: %s", f"{Verdict.SKIP.word} {names}", self.wording.seen(reason)
            )
            self.console.print(self.text("\n".join(wrapped(line, self.console.width))))

    def section(self, title: str, verdict: Verdict, rows: Mapping[str, str]) -> None:
        self.console.rule(self.text(title, verdict.style), align="left", style="dim")
        self.grid(rows)

    def grid(self, rows: Mapping[str, str]) -> None:
        """Write rows with a head each, wrapped by the rules of the language."""
        table = Table.grid("", "", padding=(0, 2, 0, 0))
        heads = [self.wording.word(word) for word in rows]
        room = self.console.width - max(map(columns, heads)) - 2
        for head, said in zip(heads, rows.values(), strict=True):
            lines = (line for part in said.split("\n") for line in wrapped(part, room))
            table.add_row(self.text(head), self.text("\n".join(lines)))
        self.console.print(_Unpadded(table))
