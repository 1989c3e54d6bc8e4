"""Writes the pages of the specification as one file of plain text, for programs that read it.

Sphinx's writer of text does the work; rule boxes and edge cases get their head as a line.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

from docutils import nodes
from docutils.io import StringOutput
from sphinx.application import Sphinx
from sphinx.builders.text import TextBuilder
from sphinx.writers.text import TextTranslator, TextWriter

from lifespec_docs.finished import then
from lifespec_docs.rules import citations
from lifespec_docs.rules.domain import rule_node

__all__ = ["FILE", "setup"]

FILE = "specification.txt"


class Translator(TextTranslator):
    """Writes what is inside the nodes of our own directives."""

    def end_state(
        self,
        wrap: bool = True,  # noqa: FBT001, FBT002  Sphinx's signature
        end: Sequence[str] | None = ("",),
        first: str | None = None,
    ) -> None:
        """Wrap no paragraph of Chinese: a line would end within a word."""
        super().end_state(wrap and self.config.language != "zh_CN", end, first)

    def visit_literal(self, _node: nodes.Element) -> None:
        """Begin a literal as Markdown does."""
        self.add_text("`")

    def depart_literal(self, _node: nodes.Element) -> None:
        """End it."""
        self.add_text("`")

    def unknown_visit(self, node: nodes.Node) -> None:
        """Go on to the children."""

    def unknown_departure(self, node: nodes.Node) -> None:
        """Go on."""


class Writer(TextWriter):
    """Writes with that translator."""

    def translate(self) -> None:
        """Write the document."""
        document = cast("nodes.document", self.document)
        visitor = Translator(document, self.builder)
        document.walkabout(visitor)
        self.output = visitor.body


def write(app: Sphinx) -> None:
    """Write the file."""
    names = [name for name in app.config.specification_pages if name in app.env.found_docs]
    builder = TextBuilder(app, app.env)
    builder.secnumbers = {}
    writer = Writer(builder)
    texts = [_page(app, writer, name) for name in names]
    Path(app.outdir, FILE).write_text("\n\n".join(texts), encoding="utf-8")


def _page(app: Sphinx, writer: Writer, docname: str) -> str:
    document = app.env.get_and_resolve_doctree(docname, app.builder, tags=app.tags)
    for rule in document.findall(rule_node):
        head = " · ".join(filter(None, (rule["rule_id"], *rule["head"])))
        rule.insert(0, nodes.paragraph("", head))
        rule += [nodes.paragraph("", citations.as_text(line)) for line in rule["sources"]]
    writer.write(document, StringOutput(encoding="unicode"))
    return str(writer.output).strip() + "\n"


def setup(app: Sphinx) -> None:
    """Register the value `specification_pages`, the names of the pages in order."""
    app.add_config_value("specification_pages", [], rebuild="html", types=[list])
    then(app, write)
