"""Takes from a page what can be searched for: its sections, rules, cases, terms and API names.

What a program prints and the recorded events are left out, and so is what a directive marks with
the class `no-search`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from docutils import nodes
from sphinx import addnodes

from lifespec_docs.blocks import summary_node
from lifespec_docs.rules.domain import rule_node
from lifespec_docs.rules.edge_cases import case_node

__all__ = ["Entry", "Page", "page_of", "sentences"]

LEFT_OUT = {"no-search", "output", "shown"}
BLOCKS = (nodes.paragraph, nodes.caption, nodes.rubric, nodes.line, summary_node)
# A full stop ends a sentence if a new one begins behind it; a Chinese one always does.
END = re.compile(r"(?<=[.!?:])\s+(?=[A-Z“\"`(])|(?<=[。！？])\s*(?=[^”’）」])")
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")


@dataclass
class Entry:
    """A place that a result can lead to; `name` is whether its title is a name or an ID."""

    anchor: str
    title: str
    name: bool = False
    sentences: list[str] = field(default_factory=list)
    code: dict[str, None] = field(default_factory=dict)

    def packed(self) -> list[object]:
        """Return it as the index holds it; what ends it and is empty is left out."""
        text = "\n".join(dict.fromkeys(self.sentences))
        code = " ".join(word for word in self.code if word not in text)
        packed: list[object] = [self.anchor, self.title, text, code, int(self.name)]
        while not packed[-1]:
            packed.pop()
        return packed


@dataclass
class Page:
    """A page: its other names, and its entries; the first of them is its beginning."""

    keywords: str
    entries: list[Entry]


def page_of(document: nodes.document) -> Page:
    """Return what can be searched for on a page."""
    metas = document.findall(nodes.meta)
    keywords = " ".join(meta["content"] for meta in metas if meta.get("name") == "keywords")
    entries = [Entry("", "")]
    _walk(document, entries[0], entries)
    return Page(keywords, entries)


def sentences(text: str) -> list[str]:
    """Cut a text into its sentences."""
    return [each.strip() for each in END.split(_spaced(text)) if each.strip()]


def _walk(node: nodes.Element, entry: Entry, entries: list[Entry]) -> None:
    for child in node.children:
        if not isinstance(child, nodes.Element) or LEFT_OUT.intersection(child["classes"]):
            continue
        if (found := _entry(child)) is not None:
            first = isinstance(child, nodes.section) and not entries[0].title
            if first:
                entries[0].title = found.title
            else:
                entries.append(found)
            _walk(child, entries[0] if first else found, entries)
        elif isinstance(child, nodes.literal_block):
            if "drawn" not in child["classes"]:
                entry.code |= dict.fromkeys(WORD.findall(child.astext()))
        elif isinstance(child, nodes.row):
            cells = (text for cell in child.children for text in _lines(cell))
            entry.sentences.append(" · ".join(filter(None, cells)))
        elif isinstance(child, BLOCKS):
            entry.sentences += sentences(child.astext())
        elif not isinstance(child, nodes.title | addnodes.desc_signature | nodes.raw):
            _walk(child, entry, entries)


def _entry(node: nodes.Element) -> Entry | None:
    """Return the entry that a node begins, or None."""
    if isinstance(node, nodes.section):
        heading = next(node.findall(nodes.title))
        return Entry(node["ids"][0], _spaced(heading.astext()))
    if isinstance(node, rule_node):
        return Entry(node["ids"][0], node["rule_id"], name=True)
    if isinstance(node, case_node):
        return Entry(node["ids"][0], node["name"], name=True)
    for anchor, title in _named(node):
        return Entry(anchor, title, name=True)
    return None


def _named(node: nodes.Element) -> Iterator[tuple[str, str]]:
    """Yield anchor and name of a Python object or of a term of the glossary."""
    lists = isinstance(node, addnodes.desc | nodes.definition_list_item)
    yield from (
        (part["ids"][0], _spaced(part.astext()) if isinstance(part, nodes.term) else part["ids"][0])
        for part in (node.children if lists else ())
        if isinstance(part, addnodes.desc_signature | nodes.term) and part["ids"]
    )


def _lines(cell: nodes.Node) -> list[str]:
    """Return the text of a cell: of one with log lines, each line."""
    inlines = cell.findall(nodes.inline)
    found: list[nodes.Node] = [each for each in inlines if "log-line" in each["classes"]]
    return [_spaced(each.astext()) for each in found or [cell]]


def _spaced(text: str) -> str:
    return " ".join(text.split())
