"""The blocks of a Markdown page with their lines: text, examples, tables and rules."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from markdown_it import MarkdownIt

__all__ = ["CHECK", "DEFINITION", "MARKDOWN", "RULES", "Block", "blocks", "sentences", "shows"]

MARKDOWN = MarkdownIt("commonmark").enable("table").disable("inline")  # blocks alone: quick

RULES = {"{rule}", "{behaviour}"}
EXAMPLES = {"python", "pycon", "perl"}
OUTPUT = "{output}"
CHECK = "{check}"
DEFINITION = re.compile(r"\n:\s")  # a term stands in the line above
LISTS = {"bullet_list_open", "ordered_list_open"}
FENCE = re.compile(r"^:::.*\n?|\n:::\Z", re.MULTILINE)  # of a directive, which is no text
BOX = re.compile(r":::\{.*(?:\n:[\w-]+:.*)*")
OPTIONS = re.compile(r"(?::[\w-]+:.*\n?|\s*\n)*")
FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
SECTIONS = {"{framework}", "{host}"}  # what stands in them is text
NO_TEXT = re.compile(r"\{[^`]*\}|\([\w-]+\)=|(?::[\w-]+:.*\n?)+")  # attributes, target, options
# A sentence ends at a full stop before a capital, a literal or a role; “e.g.” ends none.
END = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)\s+(?=[A-Z`{\[*“\"])|(?<=[。！？])")


class Block(NamedTuple):
    """A block of a page.

    `kind` is "text", "title", "table", "example", "output", "check", "rule", "code", "drawn", or
    "box" for what begins one.  `line` is its first line, `about` the rule or the directive with its
    arguments, `section` the titles above it, and `items` the first line of the list that it stands
    in, or 0.  Text in a drawn directive follows it.
    """

    kind: str
    line: int
    text: str
    about: str = ""
    section: str = ""
    items: int = 0


@cache
def blocks(page: str) -> Sequence[Block]:
    """Return the blocks of a page, in order; a build asks four times for those of each."""
    found: list[Block] = []
    section, titled, table, items = "", False, 0, 0
    page = FRONT.sub(lambda match: "\n" * match[0].count("\n"), page)
    for token in MARKDOWN.parse(page):
        first, last = token.map or (0, 0)
        if token.type in LISTS and not token.level:
            items = first + 1
        if not token.level and token.type not in LISTS:
            items = 0
        if token.type == "heading_open":
            titled = True
        elif token.type == "table_open":
            table = last
            text = "\n".join(page.splitlines()[first:last])
            found.append(Block("table", first + 1, text, section=section))
        elif token.type == "fence":
            fences = _fences(token.info.strip(), token.content, first + 1, section)
            found += [fence._replace(items=items or fence.items) for fence in fences]
        elif token.type == "inline":
            if titled:
                section = token.content
            kind = "title" if titled else "text"
            titled = False
            if first >= table:
                found += _text(kind, token.content, first + 1, section, found, items)
    return found


def _text(
    kind: str, text: str, line: int, section: str, found: Sequence[Block], items: int
) -> Iterator[Block]:
    """Yield a text without the fences of its directive, and before it what begins that one."""
    if box := BOX.match(text):
        yield Block("box", line, "", box[0], section)
    text = FENCE.sub("", text)
    if text and not NO_TEXT.fullmatch(text):
        yield Block(kind, line, text, "", section, _defined(found, text, line) or items)


def _defined(found: Sequence[Block], text: str, line: int) -> int:
    """Return the first line of the list of definitions that a text stands in, or 0."""
    if not DEFINITION.search(text):
        return 0
    above = found[-1] if found else None
    return above.items if above and above.kind == "text" and DEFINITION.search(above.text) else line


def _fences(info: str, text: str, line: int, section: str) -> Iterator[Block]:
    """Yield a fence, and the text of a directive."""
    language, _, about = info.partition(" ")
    if language in RULES:
        kind = "rule"
    elif language in EXAMPLES:
        kind = "example"
    elif language == CHECK:
        kind = "check"
    else:
        kind = "output" if language == OUTPUT else "drawn" if language[:1] == "{" else "code"
    if language not in SECTIONS:
        named = info if kind == "drawn" else about or language
        yield Block(kind, line, text, named, section)
        return
    options = OPTIONS.match(text)
    own = options[0] if options else ""
    yield Block(kind, line, own, info, section)
    for block in blocks(text.removeprefix(own)):
        yield block._replace(line=line + own.count("\n") + block.line, section=section)


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text, each in one line."""
    for sentence in END.split(" ".join(text.split())):
        yield from filter(None, [sentence.strip()])


def shows(found: Sequence[Block], place: int) -> Block | None:
    """Return the example, check, table or rule that a text belongs to: the next of its section.

    Where none follows, the last before it.
    """
    here = found[place]
    kinds = {"example", "check", "table", "rule", "drawn"}
    shown = [block for block in found if block.section == here.section and block.kind in kinds]
    after = [block for block in shown if block.line > here.line]
    return next(iter(after), shown[-1] if shown else None)
