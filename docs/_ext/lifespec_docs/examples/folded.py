"""A note that unfolds when its title is chosen.

    {folded} How to read a rule

The title and the content are page text, and so are translated.
"""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

__all__ = ["folded_node", "setup", "summary_node"]


class folded_node(nodes.General, nodes.Element):
    """A note; its first child is the title."""


class summary_node(nodes.General, nodes.TextElement):
    """The title of a note."""


class Folded(SphinxDirective):
    """A note with a title, which is shown alone at first."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the note with its title and content parsed."""
        inlines, messages = self.parse_inline(self.arguments[0])
        summary = summary_node(self.arguments[0], "", *inlines)
        self.set_source_info(summary)
        return [folded_node("", summary, *self.parse_content_to_nodes()), *messages]


def visit_folded(writer: HTML5Translator, node: folded_node) -> None:
    """Open the note."""
    writer.body.append(writer.starttag(node, "details", CLASS="folded"))


def depart_folded(writer: HTML5Translator, _node: folded_node) -> None:
    """Close it."""
    writer.body.append("</details>\n")


def visit_summary(writer: HTML5Translator, node: summary_node) -> None:
    """Open the title."""
    writer.body.append(writer.starttag(node, "summary", ""))


def depart_summary(writer: HTML5Translator, _node: summary_node) -> None:
    """Close it."""
    writer.body.append("</summary>\n")


def setup(app: Sphinx) -> None:
    """Register the directive and its nodes."""
    app.add_directive("folded", Folded)
    app.add_node(folded_node, html=(visit_folded, depart_folded))
    app.add_node(summary_node, html=(visit_summary, depart_summary))
