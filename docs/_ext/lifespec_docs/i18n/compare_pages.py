"""Says where two copies of one Markdown page have drifted apart, each kept by hand.

Our own pages cannot drift so: their Chinese has no code of its own. This holds the same checks
against pages that were translated whole.
"""

from __future__ import annotations

import ast
import itertools
from typing import TYPE_CHECKING, NamedTuple

from markdown_it import MarkdownIt

from lifespec_docs.i18n import comments, lint
from lifespec_docs.i18n.catalogs import Fault
from lifespec_docs.i18n.doctrees import other_code
from lifespec_docs.i18n.lint import Pair

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Piece", "faults", "pieces"]

KINDS = {"heading_open": "title", "td_open": "cell", "th_open": "cell"}


class Piece(NamedTuple):
    """A text or a block of code: its kind, its first line, and the language of code."""

    kind: str
    line: int
    text: str
    language: str = ""


def pieces(page: str) -> Iterator[Piece]:
    """Yield the texts and the code of a page, in order."""
    kind, line = "text", 1
    for token in MarkdownIt("commonmark").enable("table").parse(page):
        line = token.map[0] + 1 if token.map else line
        if token.type == "inline":
            yield Piece(kind, line, token.content)
        elif token.type in {"fence", "code_block"}:
            first = line + (token.type == "fence")
            yield Piece("code", first, token.content, token.info.strip())
        else:
            kind = KINDS.get(token.type, "text")


def faults(english: str, chinese: str, file: str) -> Iterator[Fault]:
    """Yield what is wrong with the Chinese copy of a page, by its lines.

    Where the two have another order of texts and code, the first difference, and no more.
    """
    for ours, theirs in itertools.zip_longest(pieces(english), pieces(chinese)):
        if ours is None or theirs is None or ours.kind != theirs.kind:
            is_, should = (f"a {piece.kind}" if piece else "nothing" for piece in (theirs, ours))
            line = (theirs or ours).line
            yield Fault(file, line, f"the Chinese page has {is_} where the English has {should}.")
            return
        if ours.kind == "code":
            yield from _code_faults(ours, theirs, file)
        else:
            pair = Pair(file, theirs.line, ours.text, theirs.text, ours.kind)
            yield from lint.faults(pair)


def _code_faults(ours: Piece, theirs: Piece, file: str) -> Iterator[Fault]:
    """Yield the one fault of a block: where it does not compile, nothing more is compared."""
    if theirs.language in comments.PYTHON:
        try:
            ast.parse(theirs.text)
        except SyntaxError as error:
            line = theirs.line + (error.lineno or 1) - 1
            yield Fault(file, line, f"the code does not compile: {error.msg}.")
            return
    bare = [_bare(piece) for piece in (ours, theirs)]
    if bare[0] != bare[1]:
        yield Fault(file, theirs.line, other_code(*bare))


def _bare(piece: Piece) -> str:
    """Return code without the comments that a translation may change."""
    known = piece.language in comments.LANGUAGES
    return comments.bare(piece.text, piece.language) if known else piece.text
