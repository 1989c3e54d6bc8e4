"""Reports names that do not exist and facts that are typed, with file and line.

The English pages alone are checked: the check of the catalogs holds the Chinese to the same
literals and numbers.  Text in rule boxes is worded by rules.toml, and may have any number.
"""

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

from lifespec_docs.facts.known import ROOT
from lifespec_docs.facts.names import names, words
from lifespec_docs.facts.typed import typed
from lifespec_docs.rules.domain import rule_node, text_of

__all__ = ["EXCEPTIONS", "Found", "excused", "in_docstrings", "in_doctree", "setup"]

logger = logging.getLogger(__name__)
EXCEPTIONS = Path(__file__).with_name("exceptions.toml")
SHELL = {"sh", "shell", "bash", "console"}
DOCSTRING_LITERAL = re.compile(r"``?([^`]+)``?")
DOCSTRING_EVENT = re.compile(r"(?<![\w.`\"])lifespan\.(?:startup|shutdown)[\w.]*\w")


class Found(NamedTuple):
    """Something to report: of which kind, its words, the sentence, and where it stands."""

    kind: str
    what: str
    sentence: str
    place: nodes.Node | int
    true: bool = False


def in_doctree(doctree: nodes.document) -> Iterator[Found]:
    """Yield what is not known, and what is typed, on a page."""
    blocks = list(doctree.findall(nodes.literal_block))
    own = {word for block in blocks for word in words(block.astext()) | _files(block)}
    for literal in doctree.findall(nodes.literal):
        if "fact" not in literal.parent.get("classes", ()):
            for name in names().faults(literal.astext(), own, _before(literal)):
                yield Found("name", name.name, str(name), literal)
    for block in (block for block in blocks if block.get("language") in SHELL):
        for name in names().of_shell(block.astext()):
            yield Found("name", name.name, str(name), block)
    for node in doctree.findall(_is_prose):
        for fact in typed(_defaults(node) + _prose(node)):
            yield Found("typed", fact.what, str(fact), node, fact.true)


def _defaults(node: nodes.Node) -> str:
    """Return the word for what a row lists, if the head of its table says so."""
    heads = node.parent.parent.findall(nodes.thead) if isinstance(node, nodes.row) else ()
    return "default " * any("default" in head.astext().lower() for head in heads)


def _files(block: nodes.literal_block) -> set[str]:
    """Return the modules that a block is for those below it."""
    stems = {name.removeprefix("file-") for name in block["classes"] if name[:5] == "file-"}
    return stems | {stem.replace("-", "_") for stem in stems}


def _before(literal: nodes.Node) -> str:
    """Return the text that stands right before a literal."""
    siblings = literal.parent.children
    place = siblings.index(literal)
    return siblings[place - 1].astext() if place else ""


def _is_prose(node: nodes.Node) -> bool:
    """Whether this is a row of a table, or a paragraph that stands in none, nor in a rule."""
    if isinstance(node, nodes.row):
        return True
    if not isinstance(node, nodes.paragraph | nodes.title):
        return False
    while node.parent is not None:
        node = node.parent
        if isinstance(node, nodes.row | rule_node):
            return False
    return True


def _prose(node: nodes.Node) -> str:
    """Return the text of a node without what is drawn, its literals in backquotes."""
    if isinstance(node, nodes.inline) and "fact" in node:
        return "…"
    if isinstance(node, nodes.Text):
        return node.astext()
    if isinstance(node, nodes.literal):
        return text_of(node)
    between = " " if isinstance(node, nodes.row | nodes.entry) else ""
    return between.join(map(_prose, node.children))


def in_docstrings(source: str) -> Iterator[Found]:
    """Yield what is not known in the docstrings of a module, or typed and false, by line."""
    for first, text in _docstrings(source):
        for pattern in (DOCSTRING_LITERAL, DOCSTRING_EVENT):
            for match in pattern.finditer(text):
                line = first + text.count("\n", 0, match.start())
                literal = match[1] if pattern.groups else match[0]
                for name in names().faults(literal):
                    yield Found("name", name.name, str(name), line)
        for fact in typed(text):
            yield Found("typed", fact.what, str(fact), first, fact.true)


def _docstrings(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each docstring."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(ast.Constant(str(text))):
                yield node.lineno, text


def excused(file: str, found: Iterable[Found], path: Path = EXCEPTIONS) -> Iterator[Found]:
    """Yield what no row excuses, and each row of this file that excuses nothing."""
    rows = tomllib.loads(path.read_text(encoding="utf-8")).get("exception", [])
    excuses = {
        (kind, row[kind]) for row in rows if row["file"] == file for kind in row if kind in KINDS
    }
    used = set()
    for each in found:
        if (each.kind, each.what) in excuses:
            used.add((each.kind, each.what))
        else:
            yield each
    for kind, what in sorted(excuses - used):
        sentence = f"{path.name} excuses {what!r} here, and nothing has it: delete that row."
        yield Found(kind, what, sentence, 1)


KINDS = "name", "typed"


def check(app: Sphinx, doctree: nodes.document) -> None:
    """Warn of each on a page in English; what a directive draws does not stand in its source."""
    if app.config.language != "en":
        return
    file = Path(app.env.doc2path(app.env.docname)).resolve()
    name = file.relative_to(ROOT).as_posix() if file.is_relative_to(ROOT) else file.name
    source = " ".join(file.read_text(encoding="utf-8").split())
    written = (each for each in in_doctree(doctree) if each.kind == "name" or each.what in source)
    for found in excused(name, written):
        place = found.place if isinstance(found.place, nodes.Node) else app.env.docname
        logger.warning("%s", found.sentence, location=place)


def setup(app: Sphinx) -> None:
    """Register the check."""
    app.connect("doctree-read", check)
