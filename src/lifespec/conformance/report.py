"""What was found about a subject: verdicts, and how they are told in a terminal, JSON and JUnit."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, TextIO, get_args
from xml.etree import ElementTree as ET

from rich.console import Console
from rich.padding import Padding
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from lifespec.conformance.cases import rules
from lifespec.conformance.drawn import sequence
from lifespec.validate import DIALECTS, RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

__all__ = [
    "VERDICTS",
    "Finding",
    "Report",
    "Verdict",
    "as_json",
    "as_junit",
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
    level, title = rules()[slug].levels.get(dialect), DIALECTS[dialect].title
    if silent:
        return f"{RULES[slug]} (but {title} is silent on this case)"
    return (
        f"{RULES[slug]} ({level}, {title})" if level else f"{RULES[slug]} (ours: {title} is silent)"
    )


# ---- in a terminal -----------------------------------------------------------------------------


@contextmanager
def progress(title: str, total: int) -> Iterator[Callable[[], None]]:
    """Show a bar on standard error, where that is a terminal; what is given moves it by one."""
    console = Console(stderr=True)
    bar = Progress(console=console, transient=True, disable=not console.is_terminal)
    with bar:
        task = bar.add_task(title, total=total)
        yield lambda: bar.advance(task)


def show(report: Report, stream: TextIO, *, every: bool = False) -> None:
    """Write the report for a reader; the conversations of what conforms only where `every`.

    Of what was not run, it is told why.
    """
    terminal = stream.isatty()
    console = _Console(
        file=stream, width=None if terminal else WIDTH, highlight=False, markup=False, emoji=False
    )
    told = _Told(console, stream.encoding or "ascii")
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

    def text(self, text: str, style: str = "") -> Text:
        lines = ("".join(map(_printable, line)) for line in text.split("\n"))
        plain = "\n".join(lines).encode(self.encoding, "backslashreplace").decode(self.encoding)
        return Text(plain, style)

    def head(self, report: Report) -> None:
        title = f"{report.subject}, by {DIALECTS[report.dialect].title}"
        self.console.print(self.text(title, "bold"))
        if report.note:
            self.console.print(self.text(report.note))
        table = Table("verdict", "rule", "cases", box=None, padding=(0, 2, 0, 0), pad_edge=False)
        for slug, findings in report.by_rule().items():
            worst = findings[0].verdict
            same = [finding.case for finding in findings if finding.verdict == worst]
            cases = same[0] if len(same) == 1 else f"{same[0]} and {len(same) - 1} more"
            table.add_row(self.text(worst, _STYLES[worst]), self.text(slug), self.text(cases))
        self.console.print(Padding(table, (1, 0, 1, 0)))

    def finding(self, finding: Finding, cases: Sequence[str]) -> None:
        rows = {"case": ", ".join(cases)}
        rows |= {word: getattr(finding, word) for word in ("requirement", "expected", "actual")}
        self.section(f"{finding.verdict}: {finding.slug}", finding.verdict, rows)
        diagram = f"\n{finding.conversation}\n" if finding.conversation else ""
        self.console.print(self.text(diagram))

    def unplayed(self, findings: Sequence[Finding]) -> None:
        rows = {
            "case": ", ".join(dict.fromkeys(each.case for each in findings)),
            "rule": ", ".join(dict.fromkeys(each.slug for each in findings)),
            "actual": findings[0].actual,
        }
        self.section("not run", "not run", rows)
        self.console.print()

    def section(self, title: str, verdict: Verdict, rows: Mapping[str, str]) -> None:
        self.console.rule(self.text(title, _STYLES[verdict]), align="left", style="dim")
        table = Table.grid("", "", padding=(0, 2, 0, 0))
        for word, said in rows.items():
            table.add_row(word, self.text(said))
        self.console.print(table)

    def foot(self, report: Report) -> None:
        counts = report.counts()
        words = [f"{each} {counts[each]}" for each in VERDICTS if counts[each]]
        self.console.print(self.text(f"Rules: {', '.join(words) or 'none'}."))


def _printable(character: str) -> str:
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode()


# ---- for machines ------------------------------------------------------------------------------


def as_json(report: Report) -> str:
    """Return the report as a JSON object: subject, dialect, note, and the findings' fields."""
    return json.dumps(asdict(report), indent=2, ensure_ascii=False) + "\n"


def as_junit(report: Report, *, strict: bool = False) -> str:
    """Return the report as JUnit XML, a test case for each finding.

    A failure is what violates, or with `strict` departs; skipped is what does not apply or did
    not run; the rest has passed, and says what was seen.
    """
    counted = Counter(_outcome(finding, strict=strict) for finding in report.findings)
    numbers: dict[str, str] = {
        "tests": str(len(report.findings)),
        "failures": str(counted["failure"]),
        "errors": "0",
        "skipped": str(counted["skipped"]),
    }
    suite = ET.Element("testsuite", {"name": f"{report.subject}, {report.dialect}", **numbers})
    for finding in report.findings:
        names = {"classname": finding.slug, "name": finding.case}
        _add(ET.SubElement(suite, "testcase", names), finding, strict=strict)
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _outcome(finding: Finding, *, strict: bool) -> str:
    if finding.verdict == "violates" or (strict and finding.verdict == "departs"):
        return "failure"
    return "skipped" if finding.verdict in ("not applicable", "not run") else "system-out"


def _add(case: ET.Element, finding: Finding, *, strict: bool) -> None:
    outcome = _outcome(finding, strict=strict)
    said: dict[str, Any] = {}
    if outcome != "system-out":
        said = {"message": _xml(f"{finding.verdict}: {finding.actual}")}
    body = f"{finding.requirement}\nexpected: {finding.expected}\nactual: {finding.actual}\n"
    ET.SubElement(case, outcome, said).text = _xml(f"{body}\n{finding.conversation}")


def _xml(text: str) -> str:
    """Write what XML has no character for as an escape."""
    return "".join(c if c in "\n\t" or c.isprintable() else _printable(c) for c in text)
