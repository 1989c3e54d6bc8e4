"""What `make matrix` found: `{matrix}` is a table of signs, `{observed}` what was seen.

Both read a record of `docs/matrix`, by name. A cell has a sign, and its verdict as a title; it
leads to what was observed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.addnodes import pending_xref
from sphinx.util.docutils import SphinxDirective

from lifespec.conformance import cases
from lifespec.conformance.report.model import Verdict
from lifespec_docs.i18n.messages import words
from lifespec_docs.rules.domain import RuleDomain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, ClassVar

    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata

    Record = dict[str, Any]
    Seen = dict[str, str]
    Translate = Callable[[str], str]

__all__ = [
    "FAULTS",
    "SIGNS",
    "Legend",
    "Matrix",
    "Observed",
    "OfRecord",
    "RecordedWhen",
    "place_of",
    "setup",
    "verdict_class",
]

LATER = "not yet measured"  # a record may be older than a case
SIGNS = {**{verdict.value: verdict.sign for verdict in Verdict}, LATER: "?"}
FAULTS = (Verdict.FAIL, Verdict.WARN, Verdict.INFO)  # which are told case by case


class OfRecord(SphinxDirective):
    """A directive about a record, which its argument names.

    With `:silent:` it is about the cases on which the text is silent, else about the rules.
    """

    required_arguments = 1
    option_spec: ClassVar = {"silent": directives.flag}

    @property
    def record(self) -> Record:
        """Read the record; the page is read anew when that changes."""
        file = f"matrix/{self.arguments[0]}.json"
        self.env.note_dependency(file)
        text = Path(self.env.srcdir, file).read_text(encoding="utf-8")
        found: Record = json.loads(text)
        return found

    @property
    def rows(self) -> dict[str, dict[str, list[Seen]]]:
        """The findings by rule, or by case, and by subject; in the order of the cases."""
        silent = "silent" in self.options
        record = self.record
        found: dict[str, dict[str, list[Seen]]] = {}
        for case, rule_id, apart in _of_the_cases(record.get("text", "")):
            if apart == silent:
                found[case if silent else rule_id] = {}
        for subject in record["subjects"]:
            for finding in subject["findings"]:
                if finding.get("silent", False) == silent:
                    of = found.setdefault(finding["case" if silent else "rule"], {})
                    of.setdefault(subject["name"], []).append(finding)
        return found

    def place(self, row: str) -> str:
        """Return where on the page it is told what was observed."""
        return place_of(self.arguments[0], row)

    def label(self, row: str) -> nodes.Element:
        """Return a link to a rule, or the name of a case."""
        text = nodes.literal("", row)
        if "silent" in self.options:
            return text
        place = {"refdomain": RuleDomain.name, "reftype": "rule", "reftarget": row}
        return pending_xref("", text, refdoc=self.env.docname, refwarn=True, **place)


def place_of(record: str, row: str) -> str:
    """Return the id of what was observed of a rule or in a case."""
    return f"{record}-{row}"


def _of_the_cases(spec: str) -> Iterator[tuple[str, str, bool]]:
    """Yield case and rule of each expectation, and whether it stands apart."""
    for case in cases.load():
        if case.role == "server" and spec in case.specs:
            for each in case.expect:
                if spec in cases.rules()[each.rule].levels:
                    yield case.name, each.rule, case.silent_on(each.rule, spec)


class Matrix(OfRecord):
    """Rules by subjects: a sign in each cell."""

    def run(self) -> list[nodes.Node]:
        """Return the table, in a box that can be scrolled."""
        record, translate = self.record, words(self.env)
        subjects = record["subjects"]
        group = nodes.tgroup(cols=len(subjects) + 1)
        group += [nodes.colspec(colwidth=1) for _ in range(len(subjects) + 1)]
        first = nodes.Text(translate("Case" if "silent" in self.options else "Rule"))
        titles = (first, *(_title(each) for each in subjects))
        group += nodes.thead("", nodes.row("", *map(_entry, titles)))
        body = nodes.tbody("")
        for row, found in self.rows.items():
            place = self.place(row)
            signs = (_sign(place, found.get(each["name"], []), translate) for each in subjects)
            body += nodes.row("", _entry(self.label(row)), *signs)
        group += body
        table = nodes.table("", group, classes=["matrix"])
        return [nodes.container("", table, classes=["matrix-box"])]


class Observed(OfRecord):
    """For each rule, what was observed of whom."""

    def run(self) -> list[nodes.Node]:
        """Return a list of definitions."""
        items = (self._item(row, found) for row, found in self.rows.items())
        return [nodes.definition_list("", *items, classes=["simple", "observed"])]

    def _item(self, row: str, found: dict[str, list[Seen]]) -> nodes.definition_list_item:
        translate = words(self.env)
        term = nodes.term("", "", self.label(row), ids=[self.place(row)])
        lines = (_line(key, names, translate) for key, names in _alike(found).items())
        return nodes.definition_list_item(
            "", term, nodes.definition("", nodes.bullet_list("", *lines, bullet="-"))
        )


class RecordedWhen(OfRecord):
    """The sentence that says when, with which Python and on what system."""

    def run(self) -> list[nodes.Node]:
        """Return a paragraph."""
        record = self.record
        sentence = words(self.env)("Measured on %s: %s; %s.")
        text = sentence % (record["date"], record["python"], record["system"])
        return [nodes.paragraph("", text, translatable=False)]


class Legend(SphinxDirective):
    """The signs and their verdicts in a line."""

    def run(self) -> list[nodes.Node]:
        """Return a paragraph."""
        translate = words(self.env)
        parts = [
            nodes.inline(
                "",
                f"{sign}\N{NO-BREAK SPACE}{_word(verdict, translate)}",
                classes=[verdict_class(verdict)],
            )
            for verdict, sign in SIGNS.items()
        ]
        return [nodes.paragraph("", "", *parts, classes=["matrix-legend"], translatable=False)]


def _worst(findings: Iterable[Seen]) -> str:
    """Return the verdict that counts, of several cases; LATER where there is none."""
    verdicts = [Verdict.named(each["verdict"]) for each in findings]
    return Verdict.of(verdicts).value if verdicts else LATER


def _alike(found: dict[str, list[Seen]]) -> dict[tuple[str, str, str], list[str]]:
    """Return who did the same: verdict, case and what was seen; the last two only of FAULTS."""
    alike: dict[tuple[str, str, str], list[str]] = {}
    for name, findings in found.items():
        worst = _worst(findings)
        shown = [each for each in findings if each["verdict"] == worst]
        told = [(worst, each["case"], each["actual"]) for each in shown]
        for key in told if worst in FAULTS else [(worst, "", "")]:
            alike.setdefault(key, []).append(name)
    return dict(sorted(alike.items(), key=lambda item: [*SIGNS].index(item[0][0])))


def _line(key: tuple[str, str, str], names: list[str], translate: Translate) -> nodes.list_item:
    verdict, case, actual = key
    sign = nodes.inline(
        "", f"{SIGNS[verdict]} {_word(verdict, translate)}", classes=[verdict_class(verdict)]
    )
    colon = translate("%s: %s").split("%s")[1]
    line = nodes.paragraph("", "", sign, nodes.Text(colon + translate("; ").join(names)))
    if case:
        line += [nodes.Text(" · "), nodes.literal("", case), nodes.Text(" ")]
        line += nodes.inline("", actual, classes=["actual", "language-en"])
    return nodes.list_item("", line)


def _sign(place: str, findings: list[Seen], translate: Translate) -> nodes.entry:
    verdict = _worst(findings)
    link = nodes.reference("", SIGNS[verdict], refid=place, reftitle=_word(verdict, translate))
    entry = _entry(link)
    entry["classes"].append(verdict_class(verdict))
    return entry


def _title(subject: Record) -> nodes.Element:
    (_, version), *others = subject["versions"].items()
    versions = ", ".join([version, *(" ".join(other) for other in others)])
    return nodes.inline("", "", nodes.Text(f"{subject['name']} "), nodes.emphasis("", versions))


def _entry(*content: nodes.Node) -> nodes.entry:
    return nodes.entry("", nodes.paragraph("", "", *content))


def _word(verdict: str, translate: Translate) -> str:
    """Return a verdict as it is written in every language; LATER in the page's."""
    return translate(LATER) if verdict == LATER else verdict.upper()


def verdict_class(verdict: str) -> str:
    """Return the class by which a style sheet knows a verdict."""
    return f"verdict-{verdict.replace(' ', '-')}"


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register `{matrix}`, `{observed}`, `{recorded-when}` and `{matrix-legend}`."""
    app.add_directive("matrix", Matrix)
    app.add_directive("observed", Observed)
    app.add_directive("recorded-when", RecordedWhen)
    app.add_directive("matrix-legend", Legend)
    return {"version": "1", "env_version": 1, "parallel_read_safe": True}
