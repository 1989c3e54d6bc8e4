"""Find the blocks of a page that run.

A `python` or `pycon` block runs, and a `sh` block that is `{.real}`. Classes above a block:

    {.not-run}                      it is shown only
    {.real}                         it runs in a process of its own, in real time
    {.real .needs-redis-server}     it is skipped if this program is not installed
    {.real .beside}                 it finds copies of the files that the page shows
    {.real .pytest}                 pytest runs it; the output is errors and summary, without times
    {.real .uvicorn}                uvicorn serves its `app`; the output is the log
    {.real .report}                 `lifespec check app` of each line runs once for both languages
    {.lifespan}                     `Lifespan` serves its `app`, which answers one request
    {.file-shop}                    the real blocks below find it as shop.py (shop.toml, shop.pl)

An `{output}` block directly below a block contains what it prints, exactly. An `{output} zh` block
below that contains what a `{.real}` block prints in a Chinese locale; it may stand below a text
that is `{.not-run}`, too. A `{check}` block proves the statement above it, see `prelude`.
"""

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.attrs import attrs_block_plugin
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.front_matter import front_matter_plugin

from lifespec_pages.block import Block

SUFFIXES = {"python": "py", "perl": "pl"}  # of other languages: the language itself
SHOWN_ONLY = {"json", "sh", "toml", "yaml"}
CODE_DIRECTIVES = {
    "{code}",
    "{code-block}",
    "{code-cell}",
    "{doctest}",
    "{eval-rst}",
    "{literalinclude}",
    "{parsed-literal}",
    "{sourcecode}",
}
PRINTING = ("program", "process")  # an {output} block may follow these, and a shown program
REFUSED = "this block does not run: write ```python, ```pycon, or {.not-run} above it"
STRAY = "no program stands directly above this output"
OPTION = re.compile(r":class: .*\bshown\b")
RST_CHECK = re.compile(
    r"^(?P<indent> *)\.\. check::(?P<libraries>.*)\n\n(?P<body>(?:(?P=indent)   .*\n|\n)+)",
    re.MULTILINE,
)
RST_CODE = re.compile(
    r"^ *(?:\.\. (?:code|code-block|sourcecode|literalinclude|parsed-literal|doctest)::.*"
    r"|(?! *\.\. ).*::|>>> .*)$",
    re.MULTILINE,
)
PARSER = (
    MarkdownIt("commonmark")
    .enable("table")
    .disable("inline")
    .use(front_matter_plugin)
    .use(colon_fence_plugin)
    .use(deflist_plugin)
    .use(attrs_block_plugin)
)


class PageError(Exception):
    """A block of a page can neither run nor be left out."""

    def __init__(self, page: str, line: int, sentence: str) -> None:
        super().__init__(f"{page}:{line}: {sentence}")


def blocks(path: Path, page: str) -> list[Block]:
    """Return the blocks of a file that run, in order; `page` is its name in messages."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".rst":
        return list(_rst_checks(text, page))
    fences = list(_fences(PARSER.parse(text), 0))
    if path.name == "README.md":  # others render it, which know no {output}
        fences = [_as_output(fence) for fence in fences]
    shown = {path.parent / fence.argument for fence in fences if fence.language == "{shown}"}
    return list(_runnable(fences, text.split("\n"), page, sorted(shown)))


@dataclass(frozen=True, slots=True)
class _Fence:
    """A fenced block; its content begins in line `line`, and `above` is the one directly above."""

    line: int
    language: str
    argument: str
    content: str
    classes: tuple[str, ...]
    end: int
    above: "_Fence | None"


def _fences(tokens: Sequence[Token], first: int) -> Iterator[_Fence]:
    """Yield the fences of a page, those inside of its directives too."""
    above = None
    for token in tokens:
        start, end = token.map or (0, 0)
        if token.type not in {"fence", "colon_fence", "code_block"}:
            above = None
            continue
        language, _, argument = token.info.strip().partition(" ")
        classes = tuple(str(token.attrs.get("class", "")).split())
        line = first + start + 1 + (token.type != "code_block")
        above = _Fence(line, language, argument.strip(), token.content, classes, first + end, above)
        yield above
        if language.startswith("{") and language not in {"{check}", "{output}"}:
            yield from _fences(PARSER.parse(token.content), line - 1)


def _as_output(fence: _Fence) -> _Fence:
    """Return a plain text below a program as its output, and any other fence as it is."""
    if fence.language == "text" and fence.above is not None and _kind(fence.above):
        return replace(fence, language="{output}")
    return fence


def _runnable(
    fences: Sequence[_Fence], lines: Sequence[str], page: str, shown: Sequence[Path]
) -> Iterator[Block]:
    """Yield the blocks that run, each with the files that it finds; refuse what is unclear."""
    named: dict[str, str] = {}
    outputs = {id(fence.above): fence for fence in fences if fence.language == "{output}"}
    for fence in fences:
        if fence.language == "{output}":
            if not _printed(fence):
                raise PageError(page, fence.line, STRAY)
            continue
        kind = _kind(fence)
        if kind:
            output = outputs.get(id(fence))
            files = named.copy() if kind == "process" else {}
            if "beside" in fence.classes:
                files |= {path.name: path.read_text(encoding="utf-8") for path in shown}
            block = Block(
                page,
                fence.line,
                kind,
                fence.content.rstrip("\n"),
                fence.language.strip("{}"),
                fence.classes,
                output.content if output else None,
                output.line if output else fence.end + 1,
                tuple(files.items()),
                tuple(fence.argument.split()) or ("asyncio", "trio"),
                re.match(" *", lines[fence.line - 2])[0],  # type: ignore[index]
            )
            yield block
            chinese = outputs.get(id(output))
            if chinese:
                yield replace(
                    block, output=chinese.content, output_line=chinese.line, locale="zh_CN.UTF-8"
                )
        elif not _may_stay(fence):
            raise PageError(page, fence.line, REFUSED)
        for class_ in fence.classes:
            if class_.startswith("file-"):
                suffix = SUFFIXES.get(fence.language, fence.language)
                named[f"{class_.removeprefix('file-')}.{suffix}"] = fence.content


def _printed(output: _Fence) -> bool:
    """Return whether an output stands below what prints it."""
    above = output.above
    if above is None:
        return False
    if not output.argument:
        return above.language == "{shown}" or _kind(above) in PRINTING
    # in another language: below English that is shown, which a test compares, or that is printed
    if "not-run" in above.classes:
        return above.language == "text"
    if above.argument or above.language != "{output}" or above.above is None:
        return False
    return _kind(above.above) == "process"


def _kind(fence: _Fence) -> str:
    """Return what kind of block a fence is, or "" if it does not run."""
    if fence.language == "{check}":
        return "check"
    if "not-run" in fence.classes or fence.language not in {"python", "pycon", "sh"}:
        return ""
    if "real" in fence.classes:
        return "process"
    return {"python": "program", "pycon": "session"}.get(fence.language, "")


def _may_stay(fence: _Fence) -> bool:
    """Return whether a fence that does not run may stand on a page."""
    if fence.language.startswith("{") and fence.language not in CODE_DIRECTIVES:
        return True
    if fence.language in SHOWN_ONLY or "not-run" in fence.classes:
        return True
    return OPTION.search(fence.content) is not None


def _rst_checks(text: str, page: str) -> Iterator[Block]:
    """Yield the checks of a page in reStructuredText, which has no other blocks."""
    for code in RST_CODE.finditer(RST_CHECK.sub(lambda found: "\n" * found[0].count("\n"), text)):
        line = text.count("\n", 0, text.find(code[0])) + 1
        raise PageError(page, line, "a page in reStructuredText has no blocks but checks")
    for check in RST_CHECK.finditer(text):
        libraries = tuple(check["libraries"].split()) or ("asyncio", "trio")
        line = text.count("\n", 0, check.start("body")) + 1
        source = textwrap.dedent(check["body"]).rstrip("\n")
        yield Block(page, line, "check", source, libraries=libraries)
