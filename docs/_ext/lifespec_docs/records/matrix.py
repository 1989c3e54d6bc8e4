"""The table of verdicts: `{matrix}` has a row for each rule, and a column for each subject.

Its content is the caption.  Each cell has an anchor; one that is no PASS leads to the sentence
that says what was seen.  With `:controls:` the page has a form above it, which `matrix.js` shows:
without JavaScript the table is whole, and there is no form.
"""

from collections.abc import Iterable, Iterator
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx

from lifespec.conformance.report import Verdict
from lifespec.conformance.rules import STAGES
from lifespec.conformance.words import mark as _
from lifespec_docs.records.markup import caption_node, element, markup_node, unseen
from lifespec_docs.records.record import SIGNS, TITLES, OfRecord, Subject, verdict_class, word_of

__all__ = ["Matrix", "RecordedWhen", "setup"]

SCRIPT = "matrix.js"
CHANGED = "*"
VIEWS = {  # what the form shows, by its value in the address
    "": _("All"),
    "differences": _("Only differences"),
    "faults": _("Only FAIL, WARN and INFO"),
    "changes": _("Only what has changed"),
}


class Matrix(OfRecord):
    """Rules, or cases that are not specified, by subjects: a sign in each cell."""

    has_content = True
    option_spec: ClassVar = {"silent": directives.flag, "controls": directives.flag}

    def draw(self) -> list[nodes.Node]:
        """Return the table, below its form if it has one."""
        self.assert_has_content()
        inlines, messages = self.parse_inline("\n".join(self.content))
        caption = caption_node(self.content[0], "", *inlines)
        self.set_source_info(caption)
        groups = [*self._groups()]
        bodies = (self._body(stage, rows) for stage, rows in groups)
        table = element(
            "table", caption, self._head(), *bodies,
            classes=["docutils", "matrix", "no-search"], data_record=self.record.name,
        )  # fmt: skip
        controls = [self._controls([stage for stage, _ in groups])]
        return [*(controls if "controls" in self.options else []), table, *messages]

    def _groups(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the stages of a lifespan, each with its rows; all rows in one if there is none."""
        rows = self.record.rows[self.silent]
        book = {} if self.silent else self.domain.book
        stages = {row: book[row].stage if row in book else "" for row in rows}
        for stage in ("", *STAGES):
            if here := [row for row in rows if stages[row] == stage]:
                yield stage, here

    def _head(self) -> markup_node:
        first = self.translate("Case") if self.silent else self.translate("Rule")
        heads = (
            element("th", element("a", each.name, href=f"#{each.key}"), scope="col",
                    data_key=each.key)
            for each in self.record.subjects
        )  # fmt: skip
        return element("thead", element("tr", element("th", first, scope="col"), *heads))

    def _body(self, stage: str, rows: Iterable[str]) -> markup_node:
        lines = []
        if title := STAGES.get(stage, ""):
            span = len(self.record.subjects) + 1
            text = self.translate(title)
            lines.append(element("tr", element("th", text, scope="rowgroup", colspan=span)))
        lines += map(self._row, rows)
        return element("tbody", *lines, data_group=stage)

    def _row(self, row: str) -> markup_node:
        anchor = self.record.row_anchor(row)
        if self.record.name not in TITLES:
            for rule in self._rules(row):
                self.domain.note_place("servers", rule, anchor)
        head = element("th", self.link("case" if self.silent else "rule", row), scope="row")
        cells = (self._cell(row, each) for each in self.record.subjects)
        return element("tr", head, *cells, ids=[anchor])

    def _rules(self, row: str) -> Iterable[str]:
        """Return the rules that a row is about."""
        if not self.silent:
            return (row,)
        found = (each for subject in self.record.subjects for each in subject.findings)
        return {each.rule: None for each in found if each.silent and each.case == row}

    def _cell(self, row: str, subject: Subject) -> markup_node:
        verdict, *more = verdicts = subject.signs(row, silent=self.silent)
        before = subject.verdict_before(row, silent=self.silent)
        content: list[nodes.Node] = [
            *(
                element("span", SIGNS[each], aria_hidden="true", classes=[verdict_class(each)])
                for each in verdicts
            ),
            unseen(self.translate(", ").join(word_of(each, self.translate) for each in verdicts)),
        ]
        place = self.record.seen_anchor(row, subject, silent=self.silent)
        if before:
            content += [
                element("sup", CHANGED, aria_hidden="true"),
                unseen(self.translate("before: %s") % before.upper()),
            ]
            if verdicts == (Verdict.PASS,):
                place = self.record.changes_anchor(subject)
        if before or more or verdict != Verdict.PASS:
            content = [element("a", *content, href=f"#{place}")]
        classes = [*map(verdict_class, verdicts), *(["changed"] if before else [])]
        anchor = self.record.cell_anchor(row, subject)
        return element("td", *content, ids=[anchor], classes=classes)

    def _controls(self, stages: Iterable[str]) -> markup_node:
        """Return the form; its values are those of the address, in every language."""
        subjects = {"": _("All")} | {each.key: each.name for each in self.record.subjects}
        groups = {"": _("All")} | {stage: STAGES[stage] for stage in stages if stage}
        counted = element("output", data_text=self.translate("%s of %s rows"))
        return element(
            "form",
            self._choice(self.record.title, "subject", subjects),
            self._choice(_("Part of a lifespan"), "part", groups),
            self._choice(_("Rows"), "rows", VIEWS),
            element("button", self.translate("Show all"), type="reset"),
            counted,
            classes=["matrix-controls"], hidden="", data_for=self.record.name,
        )  # fmt: skip

    def _choice(self, title: str, name: str, choices: dict[str, str]) -> markup_node:
        known = {each.name for each in self.record.subjects}
        options = (
            element("option", text if text in known else self.translate(text), value=value)
            for value, text in choices.items()
        )
        return element(
            "label", element("span", self.translate(title)), element("select", *options, name=name)
        )


class RecordedWhen(OfRecord):
    """The sentence that says when, with which Python and on what system."""

    def draw(self) -> list[nodes.Node]:
        """Return a paragraph."""
        text = self.translate("Measured on %s: %s; %s.")
        text %= (self.data["date"], self.data["python"], self.data["system"])
        return [nodes.paragraph("", text, translatable=False)]


def add_script(
    app: Sphinx, _page: str, _template: str, _context: object, doctree: nodes.document | None
) -> None:
    """Load the script on each page that has the form."""
    found = doctree.findall(markup_node) if doctree else ()
    if any("matrix-controls" in node["classes"] for node in found):
        app.add_js_file(SCRIPT, defer="defer")


def setup(app: Sphinx) -> None:
    """Register `{matrix}` and `{recorded-when}`."""
    app.setup_extension("lifespec_docs.records.markup")
    app.add_directive("matrix", Matrix)
    app.add_directive("recorded-when", RecordedWhen)
    app.connect("html-page-context", add_script)
