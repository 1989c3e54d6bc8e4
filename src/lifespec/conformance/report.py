"""What was found about a subject: verdicts, and how they are told in a terminal."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TextIO, get_args

from rich.console import Console
from rich.padding import Padding
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from lifespec.conformance.cases import rules
from lifespec.conformance.drawn import sequence
from lifespec.conformance.explain import columns, wrapped
from lifespec.conformance.wording import ENGLISH
from lifespec.validate import DIALECTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from lifespec.conformance.wording import Wording

__all__ = [
    "VERDICTS",
    "Finding",
    "Report",
    "Verdict",
    "printable",
    "progress",
    "requirement",
    "sequence",
    "show",
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
_STYLES = {
    "conforms": "green",
    "violates": "bold red",
    "departs": "yellow",
    "unspecified": "cyan",
    "not applicable": "dim",
    "not run": "magenta",
}
WIDTH = 80


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


# ---- in a terminal -----------------------------------------------------------------------------


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


def printable(character: str) -> str:
    """Return a character, or an escape where it is none to print."""
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode()
