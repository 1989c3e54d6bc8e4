"""The score of each server: `{scores}` with the name of a record has a line for each of them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from docutils import nodes
from sphinx.addnodes import pending_xref

from lifespec.conformance.report.model import Verdict
from lifespec_docs.records.markup import caption_node, element
from lifespec_docs.records.record import LATER, SIGNS, OfRecord, verdict_class, word_of
from lifespec_docs.rules.domain import RuleDomain

if TYPE_CHECKING:
    from sphinx.application import Sphinx

    from lifespec_docs.records.markup import markup_node
    from lifespec_docs.records.record import Subject

__all__ = ["Scores", "setup"]

COUNTED = (Verdict.PASS, Verdict.WARN, Verdict.FAIL, Verdict.INFO, Verdict.SKIP)


class Scores(OfRecord):
    """How many rules have which verdict; the content is the caption."""

    has_content = True
    option_spec: ClassVar = {}

    @cached_property
    def counted(self) -> list[str]:
        """Return the verdicts that have a column: what is not yet measured only where some is."""
        later = any(LATER in self.record.counts(each) for each in self.record.subjects)
        return [*COUNTED, *([LATER] if later else [])]

    def draw(self) -> list[nodes.Node]:
        """Return the table."""
        self.assert_has_content()
        inlines, messages = self.parse_inline("\n".join(self.content))
        caption = caption_node(self.content[0], "", *inlines)
        self.set_source_info(caption)
        heads = (
            element(
                "th", element("span", SIGNS[each], aria_hidden="true"), " ",
                word_of(each, self.translate), scope="col", classes=[verdict_class(each)],
            )
            for each in self.counted
        )  # fmt: skip
        first = element("th", self.translate(self.record.title), scope="col")
        table = element(
            "table", caption, element("thead", element("tr", first, *heads)),
            element("tbody", *map(self._row, self.record.subjects)),
            classes=["docutils", "scores", "no-search"],
        )  # fmt: skip
        return [table, *messages]

    def _row(self, subject: Subject) -> markup_node:
        place = {"refdomain": RuleDomain.name, "reftype": "subject", "reftarget": subject.name}
        link = pending_xref(
            "", nodes.inline("", subject.name), refdoc=self.env.docname, refwarn=True, **place
        )
        versions = element("span", subject.release, classes=["versions"])
        counts = self.record.counts(subject)
        cells = (
            element(
                "td", str(counts[each]), classes=[verdict_class(each) if counts[each] else "none"]
            )
            for each in self.counted
        )
        return element("tr", element("th", link, " ", versions, scope="row"), *cells)


def setup(app: Sphinx) -> None:
    """Register `{scores}`."""
    app.setup_extension("lifespec_docs.records.markup")
    app.add_directive("scores", Scores)
