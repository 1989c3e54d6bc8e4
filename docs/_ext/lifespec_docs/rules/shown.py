"""Which example shows which rule: the one below the paragraphs that link to the rule."""

from collections.abc import Iterator
from itertools import takewhile

from docutils import nodes
from sphinx.addnodes import pending_xref

__all__ = ["examples"]


def examples(doctree: nodes.document) -> dict[str, nodes.Element]:
    """Return the examples of a page by the IDs of the rules that they show."""
    found: dict[str, nodes.Element] = {}
    for node in doctree.findall(nodes.literal_block):
        if _is_program(node):
            for rule_id in _linked_above(node):
                found.setdefault(rule_id, node)
    return found


def _linked_above(example: nodes.Element) -> Iterator[str]:
    """Yield the rules to which the paragraphs above an example link, which may carry checks."""
    before = example.parent.children[: example.parent.index(example)]
    unfolded = (node for node in reversed(before) if not _is_folded(node))
    for paragraph in takewhile(lambda node: isinstance(node, nodes.paragraph), unfolded):
        for link in paragraph.findall(pending_xref):
            if link["reftype"] == "rule":
                yield link["reftarget"]


def _is_program(node: nodes.Element) -> bool:
    """Return whether a block is a program that runs."""
    real = node.get("language") == "sh" and "real" in node["classes"]
    shown_only = {"check", "not-run", "shown"} & {*node["classes"]}
    return not shown_only and (real or node.get("language") in {"python", "pycon"})


def _is_folded(node: nodes.Node) -> bool:
    """Return whether this node is a check, or begins or ends one."""
    check = isinstance(node, nodes.literal_block) and "check" in node["classes"]
    return check or isinstance(node, nodes.raw)
