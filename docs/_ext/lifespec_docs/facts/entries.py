"""The entries of api.rst as blocks: what a docstring says is a statement, and has a check below."""

import inspect
import re
import textwrap
from collections.abc import Iterator
from pkgutil import resolve_name

from lifespec_docs.facts.blocks import CHECK, Block

__all__ = ["entries"]

ENTRY = re.compile(r"(?P<indent> *)\.\. auto(?P<kind>\w+):: (?P<name>[\w.]+)")
CHECKED = re.compile(r"(?P<indent> *)\.\. check::(?P<about>.*)")


def entries(page: str) -> Iterator[Block]:
    """Yield a block for each entry that has a docstring, and for each check."""
    above, lines = "", page.splitlines()
    for number, line in enumerate(lines, 1):
        if entry := ENTRY.match(line):
            name = entry["name"]
            if entry["indent"]:
                name = f"{above}.{name}"
            else:
                above = name
            yield Block("text", number, _said(name), name)
        elif check := CHECKED.match(line):
            about = check["about"].strip() or CHECK
            yield Block("check", number, _body(lines[number:], len(check["indent"])), about)


def _said(name: str) -> str:
    return inspect.getdoc(resolve_name(name)) or ""


def _body(lines: list[str], indent: int) -> str:
    """Return the lines below a directive that stand deeper than it."""
    deeper = []
    for line in lines:
        if line.strip() and not line.startswith(" " * (indent + 1)):
            break
        deeper.append(line)
    return textwrap.dedent("\n".join(deeper)).strip("\n") + "\n"
