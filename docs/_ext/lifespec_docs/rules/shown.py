"""Which example shows which rule: the one below the paragraphs that link to the rule."""

from collections.abc import Iterator
from itertools import takewhile

from docutils import nodes
from sphinx.addnodes import pending_xref

from lifespec_docs.examples.directive import is_example, is_folded

__all__ = ["examples"]


def examples(doctree: nodes.document) -> dict[str, nodes.Element]:
    """Return the examples of a page by the IDs of the rules that they show."""
    found: dict[str, nodes.Element] = {}
    for node in doctree.findall(nodes.literal_block):
        if is_example(node):
            for rule_id in _linked_above(node):
                found.setdefault(rule_id, node)
    return found


def _linked_above(example: nodes.Element) -> Iterator[str]:
    """Yield the rules to which the paragraphs above an example link, which may carry checks."""
    before = example.parent.children[: example.parent.index(example)]
    unfolded = (node for node in reversed(before) if not is_folded(node))
    for paragraph in takewhile(lambda node: isinstance(node, nodes.paragraph), unfolded):
        for link in paragraph.findall(pending_xref):
            if link["reftype"] == "rule":
                yield link["reftarget"]
