"""The score of each server: `{scores}` with the name of a record has a line for each of them.

With `short` it is a list, which says what is wrong and counts the servers with which nothing is.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx

from lifespec.conformance.report import Verdict
from lifespec.conformance.words import mark as _
from lifespec_docs.records.markup import caption_node, element, markup_node
from lifespec_docs.records.record import LATER, SIGNS, OfRecord, Subject, verdict_class, word_of
from lifespec_docs.rules.domain import refer

__all__ = ["Scores", "setup"]

COUNTED = (Verdict.PASS, Verdict.WARN, Verdict.FAIL, Verdict.INFO, Verdict.SKIP)
WRONG = (Verdict.FAIL, Verdict.WARN)
BEST = _("Servers that follow every MUST and SHOULD that was observed: {good} of {all}.")
GOOD = _("follows all that was observed")
NONE = _("starts no lifespan")


class Scores(OfRecord):
    """How many rules have which verdict; the content is the caption."""

    has_content = True
    option_spec: ClassVar = {"short": directives.flag}

    def _older(self) -> Iterator[nodes.Node]:
        """Leave it to the table of the page to say that the record is old."""
        return iter(()) if "short" in self.options else super()._older()

    @cached_property
    def counted(self) -> list[str]:
        """Return the verdicts that have a column: what is not yet measured only where some is."""
        later = any(LATER in self.record.counts(each) for each in self.record.subjects)
        return [*COUNTED, *([LATER] if later else [])]

    def draw(self) -> list[nodes.Node]:
        """Return the table, or the list."""
        if "short" in self.options:
            return [*self._short()]
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

    def _short(self) -> Iterator[nodes.Node]:
        """Yield how many servers are as they should be, and a line for each way to run one."""
        servers: dict[str, bool] = {}
        items = []
        for each in self.record.subjects:
            counts = self.record.counts(each)
            wrong = [verdict for verdict in WRONG if counts[verdict]]
            good = each.has_lifespan and not wrong
            name = each.name.partition(",")[0]
            servers[name] = servers.get(name, True) and good
            told = [
                element(
                    "span",
                    f"{SIGNS[verdict]} {counts[verdict]} ",
                    word_of(verdict, self.translate),
                    classes=[verdict_class(verdict)],
                )
                for verdict in wrong
            ]
            if not told:
                sign = Verdict.PASS if good else Verdict.SKIP
                words = f"{SIGNS[sign]} {self.translate(GOOD if good else NONE)}"
                told = [element("span", words, classes=[verdict_class(sign)])]
            items.append(element("li", self._link(each), *told))
        best = self.translate(BEST).format(good=sum(servers.values()), all=len(servers))
        yield element("p", best, classes=["best"])
        yield element("ul", *items, classes=["best", "no-search"])

    def _link(self, subject: Subject) -> nodes.Node:
        name = nodes.inline("", subject.name)
        return refer(self.env.docname, "subject", subject.name, name, refwarn=True)

    def _row(self, subject: Subject) -> markup_node:
        versions = element("span", subject.release, classes=["versions"])
        counts = self.record.counts(subject)
        cells = (
            element(
                "td", str(counts[each]), classes=[verdict_class(each) if counts[each] else "none"]
            )
            for each in self.counted
        )
        return element("tr", element("th", self._link(subject), " ", versions, scope="row"), *cells)


def setup(app: Sphinx) -> None:
    """Register `{scores}`."""
    app.setup_extension("lifespec_docs.records.markup")
    app.add_directive("scores", Scores)
