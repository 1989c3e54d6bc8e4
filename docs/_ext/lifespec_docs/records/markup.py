"""Elements of HTML for what docutils cannot say: heads of rows, captions, controls."""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

__all__ = ["caption_node", "element", "markup_node", "setup", "unseen"]


class markup_node(nodes.General, nodes.TextElement):
    """An element of HTML: `tag` is its name, `attributes` are its attributes; no message."""


class caption_node(nodes.General, nodes.TextElement):
    """The caption of a table: text of the page, which is translated."""


def element(tag: str, *content: nodes.Node | str, **attributes: object) -> markup_node:
    """Return an element; an underscore at the end of an attribute's name is left out.

    `ids` and `classes` are those of docutils.
    """
    children = (nodes.Text(each) if isinstance(each, str) else each for each in content)
    ids, classes = attributes.pop("ids", []), attributes.pop("classes", [])
    named = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
    return markup_node(
        "", "", *children,
        tag=tag, attributes=named, ids=ids, classes=classes, translatable=False,
        support_smartquotes=tag != "code",
    )  # fmt: skip


def unseen(text: str) -> markup_node:
    """Return a text that only a screen reader reads."""
    return element("span", text, classes=["visually-hidden"])


def visit_markup(writer: HTML5Translator, node: markup_node) -> None:
    writer.body.append(writer.starttag(node, node["tag"], "", **node["attributes"]))


def depart_markup(writer: HTML5Translator, node: markup_node) -> None:
    writer.body.append(f"</{node['tag']}>")


def visit_caption(writer: HTML5Translator, node: caption_node) -> None:
    writer.body.append(writer.starttag(node, "caption", ""))


def depart_caption(writer: HTML5Translator, _node: caption_node) -> None:
    writer.body.append("</caption>\n")


def setup(app: Sphinx) -> None:
    """Register the nodes."""
    app.add_node(markup_node, html=(visit_markup, depart_markup))
    app.add_node(caption_node, html=(visit_caption, depart_caption))
