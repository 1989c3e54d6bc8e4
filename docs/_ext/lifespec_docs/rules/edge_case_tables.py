"""Tables of a page's cases, drawn from what their programs print.

`{decisions}` is a table of the decisions, by the sections in which they stand. No fact in it was
typed.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

from lifespec.conformance.words import mark as _
from lifespec_docs.i18n.messages import words
from lifespec_docs.rules.edge_cases import case_node
from lifespec_docs.rules.spec_tables import grid

__all__ = ["NOTHING", "CaseOverview", "OverviewDirective", "overview_node", "setup"]

DECISIONS = {
    _("What happens"): 27,
    _("Outcome"): 16,
    _("What Lifespan does"): 32,
    _("Log"): 12,
    _("Decided by"): 13,
}
SERVED = {"yes": _("served"), "no": _("not served")}
NOTHING = "\N{EN DASH}"

Facts = dict[str, list[str]]


class overview_node(nodes.General, nodes.Element):
    """Stands for the tables of a page's cases until it has been read."""


class OverviewDirective(SphinxDirective):
    """All decisions of this page."""

    def run(self) -> list[nodes.Node]:
        """Return a place for the tables."""
        return [overview_node()]


class CaseOverview(SphinxPostTransform):
    """Puts the tables in their places, before links are resolved."""

    default_priority = 5

    def run(self, **_kwargs: Any) -> None:
        """Replace each place by what is drawn from the cases."""
        self.translate = words(self.env)
        for place in list(self.document.findall(overview_node)):
            place.replace_self(self._decisions(list(self.document.findall(case_node))))

    def _decisions(self, cases: Sequence[case_node]) -> nodes.table:
        rows: list[nodes.row] = []
        for before, case in zip([None, *cases], cases, strict=False):
            if before is None or before.parent is not case.parent:
                rows.append(_phase(cast("nodes.section", case.parent)))
            rows.append(_row(self._decision(case)))
        head = _row([nodes.paragraph("", self.translate(title))] for title in DECISIONS)
        classes = "cases", "decisions", "colwidths-given"
        return grid(head, rows, [*DECISIONS.values()], *classes)

    def _decision(self, case: case_node) -> Iterator[Sequence[nodes.Node]]:
        facts, (_title, *does, foot) = case["facts"], case.children
        sources = foot.findall(nodes.inline)
        yield [nodes.paragraph("", "", _link(case))]
        yield [*self._ends(facts), *(self._small(_("raises %s"), name) for name in facts["raises"])]
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
            text = self.translate("with traceback")
            found += nodes.inline("", f" {text}", classes=["small"])
        return found


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


def setup(app: Sphinx) -> None:
    """Register `{decisions}`."""
    app.add_directive("decisions", OverviewDirective)
    app.add_post_transform(CaseOverview)
