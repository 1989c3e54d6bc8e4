"""A section for each server of a record: `{subjects}` with the name of the record.

The record gives versions, counts and findings: for each cell of the table that is no PASS there is
a sentence here, to which the cell leads.  What users should know beside that stands in
docs/matrix/notes.toml, as Markdown, and is translated with the page that shows it.

`{findings}` shows the sentences alone, as a list.
"""

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx

from lifespec.conformance.observed import translated
from lifespec.conformance.report import Verdict
from lifespec.conformance.words import mark as _
from lifespec_docs.records.issue import issues
from lifespec_docs.records.record import (
    FAULTS,
    LATER,
    SIGNS,
    Finding,
    Issue,
    OfRecord,
    Subject,
    sign_and_word,
    word_of,
)

Note = dict[str, Any]

__all__ = ["NOTES", "Findings", "Subjects", "setup"]

NOTES = "matrix/notes.toml"
ISSUES = "https://github.com/{}/issues/{}"


class Findings(OfRecord):
    """What was seen of each subject, as a list of definitions."""

    option_spec: ClassVar = {}

    def draw(self) -> list[nodes.Node]:
        """Return the list."""
        items = (
            nodes.definition_list_item(
                "",
                nodes.term("", each.name, translatable=False),
                nodes.definition("", *self.told(each)),
            )
            for each in self.record.subjects
        )
        return [nodes.definition_list("", *items, classes=["simple"])]

    def told(self, subject: Subject) -> Iterator[nodes.Node]:
        """Yield what has changed, and the list of sentences."""
        if subject.before:
            yield self._changes(subject)
        if items := [*self._items(subject)]:
            yield nodes.bullet_list("", *items, bullet="-", classes=["simple", "findings"])

    def _changes(self, subject: Subject) -> nodes.paragraph:
        """Return the verdicts that were others in the record before."""
        pair = self.translate("%s: %s")
        line = self._paragraph(ids=[self.record.changes_anchor(subject)], classes=["changes"])
        since = self.translate("Compared with the record of %s") % subject.before
        cells = [
            (row, silent, before)
            for row, silent in subject.changed
            if (before := subject.verdict_before(row, silent=silent))
        ]
        if not cells:
            line += nodes.Text(pair % (since, self.translate("the verdicts are the same")))
            return line
        line += nodes.Text(pair % (since, ""))
        for number, (row, silent, before) in enumerate(cells):
            after = subject.verdict(row, silent=silent)
            words = [word_of(each, self.translate) for each in (before, after)]
            line += nodes.Text(self.translate("; ") if number else "")
            line += [self.link("case" if silent else "rule", row), nodes.Text(" ")]
            line += nodes.Text(" → ".join(words))
        return line

    def _items(self, subject: Subject) -> Iterator[nodes.list_item]:
        """Yield a sentence for each cell that is no PASS, the worst first."""
        record, order = self.record, [*SIGNS]
        faults: dict[tuple[str, bool, str, str], list[Finding]] = {}
        for each in subject.findings:
            if each.verdict in FAULTS:
                key = each.verdict, each.silent, each.row, each.rule
                faults.setdefault(key, []).append(each)
        named = set()
        for (verdict, silent, row, rule), found in sorted(
            faults.items(), key=lambda item: (order.index(item[0][0]), item[0][1])
        ):
            item = self._item(rule, verdict, found)
            anchor = record.seen_anchor(row, subject, silent=silent)
            if verdict == subject.signs(row, silent=silent)[-1] and anchor not in named:
                item["ids"] = [anchor]
                named.add(anchor)
            yield item
        yield from self._not_seen(subject)

    def _item(self, rule: str, verdict: str, found: Sequence[Finding]) -> nodes.list_item:
        """Say in which cases it was, what happens in each, and what was seen."""
        head = self._paragraph(sign_and_word(verdict, self.translate), nodes.Text(" "))
        head += self.link("rule", rule)
        if found[0].silent:
            unspecified = self.translate("not specified")
            head += nodes.Text(f" · {unspecified}")
        lines = (nodes.list_item("", self._seen(each)) for each in found)
        return nodes.list_item("", head, nodes.bullet_list("", *lines, bullet="-"))

    def _seen(self, finding: Finding) -> nodes.paragraph:
        line = self._paragraph(self.link("case", finding.case), nodes.Text(" "))
        if finding.case in self.cases:
            line += nodes.Text(f"{self.translate(self.cases[finding.case].says)} ")
        line += nodes.inline("", "→ ", self._observed(finding.actual), classes=["actual"])
        return line

    def _observed(self, sentence: str) -> nodes.inline:
        """Return what was observed, in the language of the page where that is known."""
        if found := translated(sentence, self.translate):
            return nodes.inline("", found)
        return nodes.inline("", sentence, classes=["language-en"])

    def _not_seen(self, subject: Subject) -> Iterator[nodes.list_item]:
        """Say why something could not be observed, and what was not measured."""
        record = self.record
        rows: dict[tuple[str, str, str], list[nodes.Node]] = {}
        for silent, names in record.rows.items():
            for row in names:
                verdict = subject.verdict(row, silent=silent)
                if verdict in {Verdict.SKIP, LATER}:
                    reason = "".join(each.actual for each in subject.of(row, silent=silent)[:1])
                    anchor = record.seen_anchor(row, subject, silent=silent)
                    link = self.link("case" if silent else "rule", row)
                    rows.setdefault((verdict, reason, anchor), []).append(link)
        for (verdict, reason, anchor), links in rows.items():
            line = self._paragraph(sign_and_word(verdict, self.translate), nodes.Text(" "))
            if subject.has_lifespan:  # else the reason is one, and it is about all of them
                line += [*self.listed(links), nodes.Text(" ")]
            line += nodes.inline("", "", self._observed(reason), classes=["actual"])
            yield nodes.list_item("", line, ids=[anchor])

    def _paragraph(self, *content: nodes.Node, **attributes: Any) -> nodes.paragraph:
        return nodes.paragraph("", "", *content, translatable=False, **attributes)


class Subjects(Findings):
    """Sections, in the order of the record; without a note, its findings alone."""

    def draw(self) -> list[nodes.Node]:
        """Return the sections."""
        self.env.note_dependency(NOTES)
        text = Path(self.env.srcdir, NOTES).read_text(encoding="utf-8")
        self.notes: list[Note] = tomllib.loads(text)["notes"]
        self.reported: set[tuple[str, ...]] = set()
        return [self._section(each) for each in self.record.subjects]

    def _section(self, subject: Subject) -> nodes.section:
        section = nodes.section("", names=[nodes.fully_normalize_name(subject.name)])
        self.state.document.note_implicit_target(section, section)
        self.domain.note_place("subject", subject.name, section["ids"][0])
        packages = subject.packages.replace(", ", self.translate(", "))
        date = f"{packages} · {self.record.data['date']}"
        counted = self.record.counts(subject)
        counts = " · ".join(f"{counted[each]} {each.upper()}" for each in Verdict if counted[each])
        section += nodes.title("", subject.name, translatable=False)
        section += self._paragraph(nodes.Text(self.translate("%s: %s") % (date, counts)))
        section += self._paragraph(nodes.literal("", subject.command))
        for note in self.notes:
            if subject.name in note["of"]:
                section += self._note(note)
        section += self.told(subject)
        section += self._issues(subject)
        return section

    def _issues(self, subject: Subject) -> Iterator[nodes.Node]:
        """Yield a text for the server's project for each case in which it breaks rules."""
        data = self.record.data
        package = next(iter(subject.versions))
        python = f"{data['python']}, {data['system']}"
        for each in issues(subject, self.cases, python, data.get("text", "")):
            if (package, *each.rules) in self.reported:
                continue  # another worker of the same project
            self.reported.add((package, *each.rules))
            yield self.report_this(each, self._reported(subject, each))

    def _reported(self, subject: Subject, issue: Issue) -> list[nodes.reference]:
        """Return links to where it was reported."""
        return [
            _issue(number)
            for note in self.notes
            if subject.name in note["of"] and {*issue.rules} & {*note.get("rules", ())}
            for number in note.get("issues", ())
        ]

    def _note(self, note: Note) -> Iterator[nodes.Node]:
        yield from self._parsed(note["text"])
        rows: list[tuple[str, Sequence[nodes.Node]]] = []
        if "since" in note:
            rows.append((_("Since"), self._parsed(note["since"])))
        if "workaround" in note:
            rows.append((_("Workaround"), [*self._parsed(note["workaround"]), self._program(note)]))
        if "issues" in note:
            rows.append((_("Issue"), [self._paragraph(*self.listed(map(_issue, note["issues"])))]))
        if rows:
            items = (self._noted(self.translate(word), content) for word, content in rows)
            yield nodes.definition_list("", *items, classes=["simple", "note-rows"])

    def _noted(self, word: str, content: Sequence[nodes.Node]) -> nodes.definition_list_item:
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
        program = note["program"]
        place = {"refdomain": "std", "reftype": "ref", "reftarget": f"workaround-{program}"}
        shown = nodes.literal("", f"{program}.py")
        link = pending_xref(
            "", shown, refdoc=self.env.docname, refwarn=True, refexplicit=True, **place
        )
        parts: list[nodes.Node] = [link]
        if options := note.get("options"):
            parts.append(nodes.literal("", options))
        parts.append(nodes.Text(self.translate("run on %s") % note["tried"]))
        return self._paragraph(*self.listed(parts))


def _issue(issue: str) -> nodes.reference:
    """Return a link to an issue of a public repository."""
    repository, number = issue.split("#")
    text = f"{repository.rpartition('/')[2]}#{number}"
    return nodes.reference("", text, refuri=ISSUES.format(repository, number))


def setup(app: Sphinx) -> None:
    """Register the directives."""
    app.add_directive("findings", Findings)
    app.add_directive("subjects", Subjects)
