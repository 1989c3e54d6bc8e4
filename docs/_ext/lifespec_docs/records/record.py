"""What `make matrix` found, as pages show it: a record of `docs/matrix`, by name.

A row is a rule, or a case that the specification does not cover; a cell is a row and a subject,
which is a server, a test client or an adapter.  Every cell has an anchor, and so has the sentence
that says what was seen.
"""

import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, cast

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from lifespec.conformance import cases
from lifespec.conformance.cases import Case
from lifespec.conformance.report import Verdict
from lifespec.conformance.rules import rules
from lifespec.conformance.words import mark as _
from lifespec_docs.blocks import folded_node, summary_node
from lifespec_docs.facts import recorded
from lifespec_docs.facts.role import with_literals
from lifespec_docs.i18n.messages import note_cases, words
from lifespec_docs.rules.domain import RuleDomain, refer

Translate = Callable[[str], str]

__all__ = [
    "FAULTS",
    "LATER",
    "SIGNS",
    "TITLES",
    "Finding",
    "Issue",
    "OfRecord",
    "Record",
    "Shows",
    "Subject",
    "sign_and_word",
    "verdict_class",
    "word_of",
]

BETWEEN_CHINESE = re.compile(r"(?<=[\u4e00-\u9fff]) (?=[\u4e00-\u9fff])")
BY_SIGNAL = re.compile(r"ended by signal (\d+)")
LATER = _("not yet measured")  # a record may be older than a case
SIGNS = {**{verdict.value: verdict.sign for verdict in Verdict}, LATER: "?"}
TITLES = {"drivers": _("Test client or adapter")}  # of a record whose subjects are no servers
REPORTED = _("Read first what has been reported:")
REPORT = _(
    "A text for the issue tracker of the project. Run the program first, and search the tracker"
    " for the same report."
)
FAULTS = (Verdict.FAIL, Verdict.WARN, Verdict.INFO)  # which are told case by case


class Finding(NamedTuple):
    """What was seen of a rule in a case."""

    case: str
    rule: str
    verdict: str
    actual: str
    silent: bool

    @property
    def row(self) -> str:
        """Return the row of the table that it counts in."""
        return self.case if self.silent else self.rule


class Subject(NamedTuple):
    """A server, test client or adapter: its row of the record."""

    name: str
    command: str
    versions: dict[str, str]  # by package, the first is its own
    findings: list[Finding]
    before: str  # date and versions of the record before, "" if there is none
    changed: dict[tuple[str, bool], str]  # by cell, the verdict there, if it was another one

    @property
    def key(self) -> str:
        """Return the name as part of an anchor."""
        return nodes.make_id(self.name)

    @property
    def packages(self) -> str:
        """Return each package with its version."""
        return _packages(self.versions)

    @property
    def release(self) -> str:
        """Return its version, and what it was checked with."""
        (_, version), *others = self.versions.items()
        return ", ".join([version, *(" ".join(each) for each in others)])

    @property
    def has_lifespan(self) -> bool:
        """Tell whether anything could be observed, as far as it was measured."""
        return not self.findings or any(each.verdict != Verdict.SKIP for each in self.findings)

    def verdict(self, row: str, *, silent: bool) -> str:
        """Return the verdict that counts of a cell, LATER if there is none."""
        return _worst(each.verdict for each in self.of(row, silent=silent))

    def signs(self, row: str, *, silent: bool) -> tuple[str, ...]:
        """Return the verdicts that the sign of a cell shows: a PASS does not hide an INFO."""
        counts = self.verdict(row, silent=silent)
        info = any(each.verdict == Verdict.INFO for each in self.of(row, silent=silent))
        return (counts, Verdict.INFO) if counts == Verdict.PASS and info else (counts,)

    def verdict_before(self, row: str, *, silent: bool) -> str:
        """Return what a cell had in the record before, "" if that was the same."""
        before = self.changed.get((row, silent), "")
        return before if before != self.verdict(row, silent=silent) else ""

    def of(self, row: str, *, silent: bool) -> list[Finding]:
        """Return the findings of a cell."""
        return [each for each in self.findings if (each.row, each.silent) == (row, silent)]


class Record:
    """A record: when it was made, and who was checked."""

    def __init__(self, name: str, data: dict[str, Any]) -> None:
        self.name, self.data = name, data
        self.title = TITLES.get(name, _("Server"))  # what a subject is

    @cached_property
    def subjects(self) -> list[Subject]:
        """Return who was checked, in the order of the record."""
        return [_subject(row) for row in self.data["subjects"]]

    @cached_property
    def rows(self) -> dict[bool, list[str]]:
        """Return the rules, and under True the cases that are not specified; each once.

        They come in the order of the cases, and then what only the record has.
        """
        found: dict[bool, dict[str, None]] = {False: {}, True: {}}
        for case, rule_id, silent in _of_the_cases(self.data.get("spec", "")):
            found[silent][case if silent else rule_id] = None
        for subject in self.subjects:
            for each in subject.findings:
                found[each.silent][each.row] = None
        return {silent: [*rows] for silent, rows in found.items()}

    def counts(self, subject: Subject) -> Counter[str]:
        """Count the rules by the verdict that counts, as a report does."""
        verdicts: dict[str, list[str]] = {rule: [] for rule in self.rows[False]}
        for each in subject.findings:
            verdicts.setdefault(each.rule, []).append(each.verdict)
        return Counter(map(_worst, verdicts.values()))

    def row_anchor(self, row: str) -> str:
        """Name a row."""
        return f"{self.name}-{row}"

    def cell_anchor(self, row: str, subject: Subject) -> str:
        """Name a cell."""
        return f"{self.name}-{row}-{subject.key}"

    def skip_anchor(self, subject: Subject, reason: str) -> str:
        """Name the sentence that says why something could not be observed."""
        skipped = (each.actual for each in subject.findings if each.verdict == Verdict.SKIP)
        number = list(dict.fromkeys(skipped)).index(reason)
        return f"seen-{self.name}-{subject.key}-skip-{number}"

    def changes_anchor(self, subject: Subject) -> str:
        """Name the paragraph that says what has changed since the record before."""
        return f"changes-{self.name}-{subject.key}"

    def seen_anchor(self, row: str, subject: Subject, *, silent: bool) -> str:
        """Name the sentence about a cell: of those with the same reason for a SKIP it is one."""
        verdict = subject.verdict(row, silent=silent)
        if verdict == LATER:
            return f"seen-{self.name}-{subject.key}-later"
        if verdict == Verdict.SKIP:
            reason = subject.of(row, silent=silent)[0].actual
            return self.skip_anchor(subject, reason)
        return f"seen-{self.cell_anchor(row, subject)}"


def _subject(row: dict[str, Any]) -> Subject:
    findings = [
        Finding(
            each["case"],
            each["rule"],
            each["verdict"],
            BY_SIGNAL.sub(_with_status, each["actual"]),
            each.get("unspecified", False),
        )
        for each in row["findings"]
    ]
    before = row.get("before", {})
    when = f"{before['date']}, {_packages(before['versions'])}" if before else ""
    changed = {(each["row"], each["silent"]): each["verdict"] for each in before.get("changed", ())}
    command = row.get("command", "")
    return Subject(row["name"], command, row["versions"], findings, when, changed)


def _with_status(found: re.Match[str]) -> str:
    """Say how a process ended as a shell has it."""
    return f"ended with status {recorded.exit_status(-int(found[1]))}"


def _packages(versions: dict[str, str]) -> str:
    return ", ".join(f"{package} {version}" for package, version in versions.items())


def _worst(found: Iterable[str]) -> str:
    verdicts = [Verdict.named(each) for each in found]
    return Verdict.of(verdicts).value if verdicts else LATER


def _of_the_cases(spec: str) -> Iterator[tuple[str, str, bool]]:
    """Yield case and rule of each expectation, and whether the specification is silent on it."""
    for case in cases.load():
        if case.role == "server" and spec in case.specs:
            for each in case.expect:
                if spec in rules()[each.rule].specs:
                    yield case.name, each.rule, case.silent_on(each.rule, spec)


class Issue(NamedTuple):
    """An issue about the rules that a server breaks in a case: their IDs, and Markdown."""

    rules: list[str]
    text: str


class Shows(SphinxDirective):
    """A directive that shows a record; if that is old, the page says so before the first of them.

    The page is read anew when the record changes, or what it was made with.
    """

    @property
    def shown(self) -> str:
        """The name of the record."""
        return self.name

    @abstractmethod
    def draw(self) -> list[nodes.Node]:
        """Return what the directive shows."""

    def run(self) -> list[nodes.Node]:
        """Return it, below what the reader must know of the record."""
        try:
            drawn = self.draw()
            return [*self._older(), *drawn]
        except recorded.RecordError as error:
            raise self.error(str(error)) from error

    def _older(self) -> Iterator[nodes.Node]:
        told = cast("set[str]", self.env.temp_data.setdefault("lifespec_older", set()))
        parts = recorded.changed(self.root, self.shown)
        if parts and self.shown not in told:
            told.add(self.shown)
            yield nodes.note("", older(parts, self.translate))

    @property
    def root(self) -> Path:
        """The folder of the project."""
        return Path(self.env.srcdir).parent

    @cached_property
    def data(self) -> dict[str, Any]:
        """Read the record."""
        self.env.note_dependency(f"matrix/{self.shown}.json")
        return recorded.read(self.root, self.shown)

    @cached_property
    def translate(self) -> Translate:
        """Return what gives a word in the language of the page."""
        return words(self.env)

    def listed(self, parts: Iterable[nodes.Node]) -> list[nodes.Node]:
        """Put commas between parts."""
        comma = self.translate(", ")
        return [node for part in parts for node in (nodes.Text(comma), part)][1:]

    def report_this(self, issue: Issue, reported: Sequence[nodes.Node] = ()) -> nodes.Element:
        """Return an issue, folded, with links to where it was reported, or the hint to look."""
        rules = self.listed(nodes.literal("", rule) for rule in issue.rules)
        title = nodes.Text(self.translate("%s: %s") % (self.translate("Report this"), ""))
        summary = summary_node("", "", title, *rules, translatable=False)
        hint: list[nodes.Node] = [nodes.Text(self.translate(REPORT))]
        if reported:
            hint = [nodes.Text(f"{self.translate(REPORTED)} "), *self.listed(reported)]
        known = nodes.paragraph("", "", *hint, translatable=False)
        text = nodes.literal_block(issue.text, issue.text, language="text", classes=["drawn"])
        return folded_node("", summary, known, text)


class OfRecord(Shows):
    """A directive about a record, which its argument names.

    With `:silent:` it is about the cases that the specification does not cover.
    """

    required_arguments = 1
    option_spec: ClassVar = {"silent": directives.flag}

    @property
    def shown(self) -> str:
        """The name of the record."""
        return self.arguments[0]

    @cached_property
    def record(self) -> Record:
        """Return the record by its subjects, and the cases that it should have."""
        note_cases(self.env)
        return Record(self.shown, self.data)

    @property
    def silent(self) -> bool:
        """Tell which rows it is about."""
        return "silent" in self.options

    @cached_property
    def cases(self) -> dict[str, Case]:
        """Return the cases of the suite by name; a record may have one that is gone."""
        note_cases(self.env)
        return {case.name: case for case in cases.load()}

    @property
    def domain(self) -> RuleDomain:
        """Return what knows the places of rules, cases and subjects."""
        return cast("RuleDomain", self.env.domains[RuleDomain.name])

    def link(self, kind: str, name: str) -> nodes.Element:
        """Return a link to a rule, or to a case that the suite has."""
        if kind == "case" and name not in self.cases:
            return nodes.literal("", name)
        return refer(self.env.docname, kind, name, refwarn=True)


def older(parts: Iterable[str], translate: Translate) -> nodes.paragraph:
    """Return the sentence that says before what a record was measured."""
    text = translate("Measured before the last change of %s.") % recorded.named(parts, translate)
    text = BETWEEN_CHINESE.sub("", text)
    return nodes.paragraph("", "", *with_literals(text), translatable=False)


def verdict_class(verdict: str) -> str:
    """Return the class by which style sheet and script know a verdict."""
    return f"verdict-{verdict.replace(' ', '-')}"


def word_of(verdict: str, translate: Translate) -> str:
    """Return a verdict as it is written in every language; LATER in the page's."""
    return translate(LATER) if verdict == LATER else verdict.upper()


def sign_and_word(verdict: str, translate: Translate) -> nodes.inline:
    """Return a verdict with its sign."""
    text = f"{SIGNS[verdict]}\N{NO-BREAK SPACE}{word_of(verdict, translate)}"
    return nodes.inline("", text, classes=[verdict_class(verdict)])
