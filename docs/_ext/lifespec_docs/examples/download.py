"""The programs of a page as one file, for a reader to take."""

import ast
from collections.abc import Sequence
from textwrap import indent

from lifespec_docs.examples.runner import TRACEBACK, Example, compiled

__all__ = ["joined"]


def joined(blocks: Sequence[Example]) -> str:
    """Return a page's programs as one file that runs to its end.

    Where a program ends in an exception that its page shows, the file prints it and goes on.
    """
    head: set[str] = set()
    parts = [_part(block, head) for block in blocks if block.language == "python"]
    return "\n\n\n".join(["\n".join(sorted(head))] * bool(head) + parts) + "\n"


def _part(block: Example, head: set[str]) -> str:
    """Return a program's text, and add to `head` what stands at the head of the whole file."""
    compiled(block, block.line, block.source)
    lines = block.source.strip("\n").split("\n")
    body = ast.parse("\n".join(lines)).body
    if body and TRACEBACK in (block.expected or ""):
        head.add("import traceback")
        start = body[-1].lineno - 1
        caught = indent("\n".join(lines[start:]), "    ")
        lines[start:] = ["try:", caught, "except Exception:", "    traceback.print_exc()"]
    return "\n".join(lines).strip("\n")
