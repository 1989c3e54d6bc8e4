"""Tells in a terminal what was found about a subject."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from rich.console import Console
from rich.padding import Padding
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from lifespec.conformance.explain import columns, wrapped
from lifespec.conformance.findings import VERDICTS, printable
from lifespec.conformance.wording import ENGLISH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from lifespec.conformance.findings import Finding, Report, Verdict
    from lifespec.conformance.wording import Wording

__all__ = ["progress", "show"]

_STYLES = {
    "conforms": "green",
    "violates": "bold red",
    "departs": "yellow",
    "unspecified": "cyan",
    "not applicable": "dim",
    "not run": "magenta",
}
WIDTH = 80


@contextmanager
def progress(title: str, total: int) -> Iterator[Callable[[], None]]:
    """Show a bar on standard error, where that is a terminal; what is given moves it by one."""
    console = Console(stderr=True)
    bar = Progress(console=console, transient=True, disable=not console.is_terminal)
    with bar:
        task = bar.add_task(title, total=total)
        yield lambda: bar.advance(task)


def show(
    report: Report, stream: TextIO, *, every: bool = False, wording: Wording = ENGLISH
) -> None:
    """Write the report for a reader; the conversations of what conforms only where `every`.

    Of what was not run, it is told why.  `wording` has the words of the reader's language.
    """
    terminal = stream.isatty()
    console = _Console(
        file=stream, width=None if terminal else WIDTH, highlight=False, markup=False, emoji=False
    )
    told = _Told(console, stream.encoding or "ascii", wording, report.dialect)
    told.head(report)
    shown = [each for each in report.findings if every or each.verdict in _FAULTS]
    for alike in _alike(shown).values():
        told.finding(alike[0], [each.case for each in alike])
    for findings in _unplayed(() if every else report.findings):
        told.unplayed(findings)
    told.foot(report)


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Raise it; rich would exit with status 1, which is a verdict here."""
        raise BrokenPipeError


_FAULTS: tuple[Verdict, ...] = ("violates", "departs", "unspecified")


def _alike(findings: Iterable[Finding]) -> dict[tuple[str, str, str], list[Finding]]:
    """Put findings together that say the same of a rule, in several cases."""
    found: dict[tuple[str, str, str], list[Finding]] = {}
    for each in findings:
        found.setdefault((each.slug, each.verdict, each.actual), []).append(each)
    return found


def _unplayed(findings: Iterable[Finding]) -> Iterable[list[Finding]]:
    """Put those together that were not run for the same reason."""
    found: dict[str, list[Finding]] = {}
    for each in findings:
        if each.verdict == "not run":
            found.setdefault(each.actual, []).append(each)
    return found.values()


@dataclass
class _Told:
    """Writes the parts of a report, in what characters the stream has."""

    console: Console
    encoding: str
    wording: Wording
    dialect: str

    def text(self, text: str, style: str = "") -> Text:
        lines = ("".join(map(printable, line)) for line in text.split("\n"))
        plain = "\n".join(lines).encode(self.encoding, "backslashreplace").decode(self.encoding)
        return Text(plain, style)

    def head(self, report: Report) -> None:
        word = self.wording.word
        title = word("%s, by %s", report.subject, self.wording.title(report.dialect))
        self.console.print(self.text(title, "bold"))
        if report.note:
            self.console.print(self.text(report.note))
        heads = map(word, ("verdict", "rule", "cases"))
        table = Table(*heads, box=None, padding=(0, 2, 0, 0), pad_edge=False)
        for slug, findings in report.by_rule().items():
            worst = findings[0].verdict
            same = [finding.case for finding in findings if finding.verdict == worst]
            more = word("%s and %s more", same[0], str(len(same) - 1))
            cases = self.text(same[0] if len(same) == 1 else more)
            table.add_row(self.text(word(worst), _STYLES[worst]), self.text(slug), cases)
        self.console.print(Padding(table, (1, 0, 1, 0)))

    def finding(self, finding: Finding, cases: Sequence[str]) -> None:
        named = finding.slug, finding.case, self.dialect
        rows = {
            "case": self.wording.word(", ").join(cases),
            "requirement": self.wording.requirement(finding.requirement, *named),
            "expected": self.wording.expected(finding.expected),
            "actual": finding.actual,
        }
        verdict = self.wording.word(finding.verdict)
        title = self.wording.word("%s: %s", verdict, finding.slug)
        self.section(title, finding.verdict, rows)
        diagram = f"\n{finding.conversation}\n" if finding.conversation else ""
        self.console.print(self.text(diagram))

    def unplayed(self, findings: Sequence[Finding]) -> None:
        comma = self.wording.word(", ")
        rows = {
            "case": comma.join(dict.fromkeys(each.case for each in findings)),
            "rule": comma.join(dict.fromkeys(each.slug for each in findings)),
            "actual": findings[0].actual,
        }
        self.section(self.wording.word("not run"), "not run", rows)
        self.console.print()

    def section(self, title: str, verdict: Verdict, rows: Mapping[str, str]) -> None:
        self.console.rule(self.text(title, _STYLES[verdict]), align="left", style="dim")
        table = Table.grid("", "", padding=(0, 2, 0, 0))
        heads = [self.wording.word(word) for word in rows]
        room = self.console.width - max(map(columns, heads)) - 2
        for head, said in zip(heads, rows.values(), strict=True):
            lines = (line for part in said.split("\n") for line in wrapped(part, room))
            table.add_row(self.text(head), self.text("\n".join(lines)))
        self.console.print(table)

    def foot(self, report: Report) -> None:
        word, counts = self.wording.word, report.counts()
        words = [f"{word(each)} {counts[each]}" for each in VERDICTS if counts[each]]
        numbers = word(", ").join(words) or word("none")
        self.console.print(self.text(word("Rules: %s.", numbers)))
