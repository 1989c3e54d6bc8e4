"""Tables of a page's cases, drawn from what their programs print.

`{decisions}` is a table of the decisions, by the sections in which they stand; `{conversations}`
are the conversations as a tree of their steps, and as a table. No fact in them was typed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

from lifespec.validate import EVENTS
from lifespec_docs.examples.edge_cases import case_node
from lifespec_docs.i18n.messages import words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata

__all__ = ["NOTHING", "CaseOverview", "OverviewDirective", "overview_node", "setup"]

DECISIONS = {
    "What happens": 27,
    "Outcome": 16,
    "What the server does": 32,
    "Log": 12,
    "Source": 13,
}
CONVERSATIONS = {"Conversation": 60, "Outcome": 20, "Served": 20}
SERVED = {"yes": "served", "no": "not served"}
NOTHING = "\N{EN DASH}"

Facts = dict[str, list[str]]


class overview_node(nodes.General, nodes.Element):
    """Stands for the tables of a page's cases until it has been read."""


class OverviewDirective(SphinxDirective):
    """All decisions, or all conversations, of this page."""

    def run(self) -> list[nodes.Node]:
        """Return a place for the tables."""
        return [overview_node("", kind=self.name.removesuffix("s"))]


class CaseOverview(SphinxPostTransform):
    """Puts the tables in their places, before links are resolved."""

    default_priority = 5

    def run(self, **_kwargs: Any) -> None:
        """Replace each place by what is drawn from the cases."""
        self.translate = words(self.env)
        drawn = {"decision": self._decisions, "conversation": self._conversations}
        for place in list(self.document.findall(overview_node)):
            kind = place["kind"]
            cases = [case for case in self.document.findall(case_node) if case["kind"] == kind]
            place.replace_self(list(drawn[kind](cases)))

    def _decisions(self, cases: Sequence[case_node]) -> Iterator[nodes.Node]:
        rows: list[nodes.row] = []
        for before, case in zip([None, *cases], cases, strict=False):
            if before is None or before.parent is not case.parent:
                rows.append(_phase(cast("nodes.section", case.parent)))
            rows.append(_row(self._decision(case)))
        yield self._table(DECISIONS, rows, "decisions")

    def _decision(self, case: case_node) -> Iterator[Sequence[nodes.Node]]:
        facts, (_, *does, foot) = case["facts"], case.children
        sources = foot.findall(nodes.inline)
        yield [nodes.paragraph("", "", _link(case))]
        yield [*self._ends(facts), *(self._small("raises %s", name) for name in facts["raises"])]
        links = (part for link in foot.findall(pending_xref) for part in (link, nodes.Text(" ")))
        rules = nodes.paragraph("", "", *(part.deepcopy() for part in links), classes=["small"])
        yield [*(each.deepcopy() for each in does), rules]
        yield [self._log(*each) for each in facts["log"]] or [_nothing()]
        yield [nodes.paragraph("", each.astext(), classes=["small"]) for each in sources]

    def _ends(self, facts: Facts) -> Iterator[nodes.Node]:
        """Yield the outcome, if there is one yet, and whether anything was served."""
        for outcome in facts["outcome"]:
            yield _nothing() if outcome == "None" else nodes.paragraph("", "", _outcome(outcome))
        for served in facts["served"]:
            yield self._small(SERVED[served])

    def _small(self, sentence: str, name: str = "") -> nodes.paragraph:
        before, _, after = self.translate(sentence).partition("%s")
        parts = [nodes.Text(before)] + [nodes.literal("", name), nodes.Text(after)] * bool(name)
        return nodes.paragraph("", "", *parts, classes=["small"])

    def _log(self, level: str, traceback: str) -> nodes.paragraph:
        found = nodes.paragraph("", "", nodes.literal("", level))
        if traceback:
            text = f" {self.translate('with traceback')}"
            found += nodes.inline("", text, classes=["small"])
        return found

    def _conversations(self, cases: Sequence[case_node]) -> Iterator[nodes.Node]:
        tree = _branches([(case["facts"]["way"][0].split(", "), case) for case in cases])
        tree["classes"].append("ways")
        yield tree
        rows = [self._conversation(case) for case in cases]
        yield self._table(CONVERSATIONS, map(_row, rows), "conversations")

    def _conversation(self, case: case_node) -> Iterator[Sequence[nodes.Node]]:
        yield [nodes.paragraph("", "", _link(case))]
        outcome, served = self._ends(case["facts"])
        yield [outcome]
        yield [served]

    def _table(self, columns: dict[str, int], rows: Iterable[nodes.row], name: str) -> nodes.table:
        group = nodes.tgroup(cols=len(columns))
        group += [nodes.colspec(colwidth=width) for width in columns.values()]
        group += nodes.thead(
            "", _row([nodes.paragraph("", self.translate(title))] for title in columns)
        )
        group += nodes.tbody("", *rows)
        return nodes.table("", group, classes=["cases", name, "colwidths-given"])


def _outcome(outcome: str) -> nodes.literal:
    return nodes.literal("", outcome, classes=["outcome"])


def _nothing() -> nodes.paragraph:
    return nodes.paragraph("", NOTHING, classes=["nothing"])


def _link(case: case_node) -> nodes.reference:
    """Return the first paragraph of a case as a link to it."""
    words_ = (node.deepcopy() for node in case.children[0].children)
    return nodes.reference("", "", *words_, refid=case["name"], internal=True)


def _phase(section: nodes.section) -> nodes.row:
    """Return a row across the table: the title of a section."""
    title = cast("nodes.title", section.children[0])
    link = nodes.reference("", title.astext(), refid=section["ids"][0], internal=True)
    entry = nodes.entry("", nodes.paragraph("", "", link), morecols=len(DECISIONS) - 1)
    return nodes.row("", entry, classes=["phase"])


def _row(cells: Iterable[Sequence[nodes.Node]]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", *cell) for cell in cells))


def _branches(ways: Sequence[tuple[list[str], case_node]]) -> nodes.bullet_list:
    """Return the ways as a tree: each step once below the steps before it."""
    found = nodes.bullet_list()
    for step in dict.fromkeys(way[0] for way, _ in ways):
        below = [(way[1:], case) for way, case in ways if way[0] == step]
        line = nodes.paragraph("", "", *_step(step))
        item = nodes.list_item("", line)
        for way, case in below:
            if not way:
                line += [nodes.Text(" "), _link(case), nodes.Text(" ")]
                line += _outcome(case["facts"]["outcome"][0])
        if rest := [(way, case) for way, case in below if way]:
            item += _branches(rest)
        found += item
    return found


def _step(step: str) -> Iterator[nodes.Node]:
    """Yield an arrow, to the application or to the server as in the drawings, and the step."""
    event = EVENTS.get(f"lifespan.{step}")
    yield nodes.Text("→ " if event and event.sender == "server" else "← ")
    yield nodes.literal("", event.type if event else step)


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register `{decisions}` and `{conversations}`."""
    app.add_directive("decisions", OverviewDirective)
    app.add_directive("conversations", OverviewDirective)
    app.add_post_transform(CaseOverview)
    return {"version": "1", "env_version": 1, "parallel_read_safe": True}
