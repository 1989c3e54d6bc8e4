"""A section for each server of a record: `{subjects}` with the name of the record.

The record gives versions, counts and findings. What users should know beside that stands in
docs/matrix/notes.toml, as Markdown, and is translated with the page that shows it.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.addnodes import pending_xref

from lifespec.conformance.report.model import Verdict
from lifespec_docs.i18n.messages import words
from lifespec_docs.records.matrix import FAULTS, SIGNS, OfRecord, place_of, verdict_class
from lifespec_docs.rules.domain import RuleDomain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, ClassVar

    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata

    Note = dict[str, Any]
    Subject = dict[str, Any]

__all__ = ["NOTES", "Subjects", "setup"]

NOTES = "matrix/notes.toml"
ISSUES = "https://github.com/{}/issues/{}"


class Subjects(OfRecord):
    """Sections, in the order of the record; without a note, its findings alone."""

    option_spec: ClassVar = {}

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        self.env.note_dependency(NOTES)
        text = Path(self.env.srcdir, NOTES).read_text(encoding="utf-8")
        self.notes: list[Note] = tomllib.loads(text)["notes"]
        self.translate = words(self.env)
        record = self.record
        return [self._section(each, record["date"]) for each in record["subjects"]]

    def _section(self, subject: Subject, date: str) -> nodes.section:
        name = subject["name"]
        section = nodes.section("", names=[nodes.fully_normalize_name(name)])
        self.state.document.note_implicit_target(section, section)
        versions = ", ".join(" ".join(pair) for pair in subject["versions"].items())
        counted = Counter(each["verdict"] for each in subject["findings"])
        counts = " · ".join(f"{counted[each]} {each.upper()}" for each in Verdict if counted[each])
        colon = self.translate("%s: %s") % (f"{versions}, {date}", counts)
        section += nodes.title("", name, translatable=False)
        section += nodes.paragraph("", colon, translatable=False)
        command = nodes.literal("", subject["command"])
        section += nodes.paragraph("", "", command, translatable=False)
        for note in self.notes:
            if name in note["of"]:
                section += self._note(note)
        if findings := [*self._findings(subject)]:
            section += nodes.bullet_list("", *findings, bullet="-", classes=["simple", "findings"])
        return section

    def _note(self, note: Note) -> Iterator[nodes.Node]:
        yield from self._parsed(note["text"])
        rows: list[tuple[str, Sequence[nodes.Node]]] = []
        if "since" in note:
            rows.append(("Since", self._parsed(note["since"])))
        if "workaround" in note:
            rows.append(("Workaround", [*self._parsed(note["workaround"]), self._program(note)]))
        if "issues" in note:
            rows.append(("Issue", [self._line(*map(_issue, note["issues"]))]))
        if rows:
            items = (self._item(self.translate(word), content) for word, content in rows)
            yield nodes.definition_list("", *items, classes=["simple", "note-rows"])

    def _item(self, word: str, content: Sequence[nodes.Node]) -> nodes.definition_list_item:
        return nodes.definition_list_item(
            "", nodes.term("", word, translatable=False), nodes.definition("", *content)
        )

    def _parsed(self, text: str) -> list[nodes.Node]:
        """Read Markdown; it becomes a message of the page's catalog."""
        found = nodes.Element()
        self.state.nested_parse(StringList([text], self.env.docname), 0, found)
        return [*found.children]

    def _program(self, note: Note) -> nodes.paragraph:
        """Return the line with the program, and when it was run."""
        parts: list[nodes.Node] = []
        if program := note.get("program"):
            place = {"refdomain": "std", "reftype": "ref", "reftarget": f"workaround-{program}"}
            shown = nodes.literal("", f"{program}.py")
            parts.append(
                pending_xref(
                    "", shown, refdoc=self.env.docname, refwarn=True, refexplicit=True, **place
                )
            )
        if options := note.get("options"):
            parts.append(nodes.literal("", options))
        parts.append(nodes.Text(self.translate("run on %s") % note["tried"]))
        return self._line(*parts)

    def _line(self, *parts: nodes.Node) -> nodes.paragraph:
        """Return a paragraph of parts, with commas between them."""
        line = nodes.paragraph("", "", translatable=False)
        for part in parts:
            line += [nodes.Text(self.translate(", ")), part] if line.children else [part]
        return line

    def _findings(self, subject: Subject) -> Iterator[nodes.list_item]:
        """Yield a line for each rule that has findings other than PASS and SKIP."""
        grouped: dict[tuple[str, str, bool], list[str]] = {}
        for each in subject["findings"]:
            if each["verdict"] in FAULTS:
                key = each["verdict"], each["rule"], each.get("silent", False)
                grouped.setdefault(key, []).append(each["case"])
        order = [*SIGNS]
        for (verdict, rule, silent), cases in sorted(
            grouped.items(), key=lambda item: order.index(item[0][0])
        ):
            sign = f"{SIGNS[verdict]} {verdict.upper()}"
            place = {"refdomain": RuleDomain.name, "reftype": "rule", "reftarget": rule}
            line = nodes.paragraph("", "", translatable=False)
            line += [nodes.inline("", sign, classes=[verdict_class(verdict)]), nodes.Text(" ")]
            line += pending_xref(
                "", nodes.literal("", rule), refdoc=self.env.docname, refwarn=True, **place
            )
            line += nodes.Text(self.translate("%s: %s").split("%s")[1])
            for number, case in enumerate(cases):
                row = place_of(self.arguments[0], case if silent else rule)
                link = nodes.reference("", "", nodes.literal("", case), refid=row)
                line += [nodes.Text(self.translate(", ")), link] if number else [link]
            yield nodes.list_item("", line)


def _issue(issue: str) -> nodes.reference:
    """Return a link to an issue of a public repository."""
    repository, number = issue.split("#")
    text = f"{repository.rpartition('/')[2]}#{number}"
    return nodes.reference("", text, refuri=ISSUES.format(repository, number))


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the directive."""
    app.add_directive("subjects", Subjects)
    return {"version": "1", "parallel_read_safe": True}
