"""Holds a page's two doctrees side by side: their shape, ids, links, examples and code.

This is the published text, with its translations in place: what the catalogs' check saw as
single messages is checked here as pages.
"""

import itertools
import os
import pickle
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple, cast

from docutils import nodes

from lifespec_docs.i18n.catalogs import Fault

__all__ = ["Block", "blocks", "faults", "other_code", "stored"]

TARGETS = ("refuri", "refid", "refname", "refdomain", "reftype", "reftarget", "reftargetid")


class Block(NamedTuple):
    """What a block of a page is, whatever its language: a node that is neither inline nor text."""

    depth: int
    name: str
    ids: tuple[str, ...]
    classes: tuple[str, ...]
    code: str
    line: int = 0


def blocks(document: nodes.Element) -> Iterator[tuple[Block, nodes.Element]]:
    """Yield the blocks of a page in its order, each with its node."""
    line = 1
    for node, depth in _walk(document, 0):
        line = node.line or line
        name, attributes = node.__class__.__name__, node.attributes
        ids, classes = tuple(attributes["ids"]), tuple(attributes["classes"])
        yield Block(depth, name, ids, classes, _code(node), line), node


def _walk(node: nodes.Element, depth: int) -> Iterator[tuple[nodes.Element, int]]:
    for child in node.children:
        if isinstance(child, nodes.Element) and not isinstance(child, nodes.Inline):
            yield child, depth
            yield from _walk(child, depth + 1)


def _code(node: nodes.Element) -> str:
    """Return the code of a block."""
    return node.astext() if isinstance(node, nodes.literal_block) else ""


def faults(english: nodes.document, chinese: nodes.document, file: str) -> Iterator[Fault]:
    """Yield where the Chinese page is not the English one; where both go apart, once."""
    for ours, theirs in itertools.zip_longest(blocks(english), blocks(chinese)):
        if ours is None or theirs is None or ours[0][:4] != theirs[0][:4]:
            line = (theirs or ours)[0].line
            is_, should = (_named(side[0] if side else None) for side in (theirs, ours))
            sentence = f"the Chinese page has {is_} where the English has {should}."
            yield Fault(file, line, f"{sentence} The pages must have one shape.")
            return
        if ours[0].code != theirs[0].code:
            yield Fault(file, theirs[0].line, other_code(ours[0].code, theirs[0].code))
        yield from _inline(ours[1], theirs[1], Fault(file, theirs[0].line, ""))


def _named(block: Block | None) -> str:
    if block is None:
        return "nothing"
    ids = f" with the id {', '.join(block.ids)}" if block.ids else ""
    classes = f" of the class {' '.join(block.classes)}" if block.classes else ""
    return f"a {block.name}{ids}{classes}"


def other_code(ours: str, theirs: str) -> str:
    """Say in which line two programs that are not the same first differ."""
    pairs = itertools.zip_longest(ours.split("\n"), theirs.split("\n"), fillvalue="")
    is_, should = next((b, a) for a, b in pairs if a != b)
    return f"the Chinese page's code has {is_!r} where the English has {should!r}."


def _inline(english: nodes.Element, chinese: nodes.Element, at: Fault) -> Iterator[Fault]:
    """Compare what stands within a text; its order is the language's own affair."""
    ours, theirs = _marks(english), _marks(chinese)
    for mark in (ours - theirs).elements():
        yield at._replace(sentence=f"the Chinese page lacks {mark}, which the English has.")
    for mark in (theirs - ours).elements():
        yield at._replace(sentence=f"the Chinese page has {mark}, which the English has not.")


def _marks(block: nodes.Element) -> Counter[str]:
    if not isinstance(block, nodes.TextElement) or isinstance(block, nodes.literal_block):
        return Counter()
    found = block.findall(nodes.Element)
    return Counter(_mark(node) for node in found if isinstance(node, nodes.Inline))


def _mark(node: nodes.Element) -> str:
    name = node.__class__.__name__
    if isinstance(node, nodes.literal):
        return f"the {name} `{node.astext()}`"
    targets = [str(node[key]) for key in TARGETS if node.get(key)]
    return f"the {name} {' '.join(targets)}".rstrip()


def stored(
    english: Path, chinese: Path, root: Path, only: Collection[str] | None = None
) -> Iterator[Fault]:
    """Compare the doctrees that the two builds of a project left, or those of some pages."""
    names = {path.relative_to(it) for it in (english, chinese) for path in it.rglob("*.doctree")}
    for name in sorted(names):
        if only is not None and name.with_suffix("").as_posix() not in only:
            continue
        missing = [it for it in (english, chinese) if not (it / name).exists()]
        if missing:
            sentence = f"the page {name.with_suffix('')} was not read in both languages."
            yield Fault(str(missing[0] / name), 1, sentence)
            continue
        ours, theirs = (_read(it / name) for it in (english, chinese))
        yield from faults(ours, theirs, os.path.relpath(ours["source"], root))


def _read(path: Path) -> nodes.document:
    return cast("nodes.document", pickle.loads(path.read_bytes()))  # noqa: S301 - our own build's
