"""The sentences of the pages, each with what stands below it.

They come from the catalogs that Sphinx's gettext builder writes, which have each sentence of each
page: those in subfolders, in docstrings and in cells, too.
"""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from lifespec_pages.page import PARSER, RST_CHECK

RULES = "src/lifespec/conformance/data/rules.toml"
RULE = re.compile(r"\{rule\}`(?:[^`<]*<)?([\w-]+)")
NEAREST = 3  # paragraphs above a block that it may prove
MESSAGE = re.compile(r'((?:^#: .*\n)+)msgid ((?:".*"\n)+)', re.MULTILINE)
DOCSTRING = re.compile(r"(.*):docstring of ([\w.]+)")
DIRECTIVE = re.compile(r"^( *)\.\. auto\w+:: ([\w.]+)", re.MULTILINE)
RST_TITLE = re.compile(r"^(?=\S.*\n(?:===|---|~~~))", re.MULTILINE)
UNKNOWN = 1  # up to this line nothing is said: docutils knows no line of a cell


class Sentence(NamedTuple):
    """A message: its page and line, and where it is written if that is a docstring."""

    text: str
    page: str
    line: int
    docstring: str = ""


class Block(NamedTuple):
    """What can prove the sentences above it: a program, an output, a check, a file, or a rule."""

    line: int
    text: str


class Group(NamedTuple):
    """The paragraphs above some blocks, the nearest last, and these blocks."""

    paragraphs: list[list[Sentence]]
    blocks: list[Block]


def build(root: Path) -> None:
    """Write the catalogs of a project with the places of their messages, into build/sentences."""
    # an older build may have catalogs of pages that have gone since
    shutil.rmtree(root / "build/sentences", ignore_errors=True)
    folders = ["-d", "build/doctrees/gettext", "docs", "build/sentences"]
    options = ["-q", "-b", "gettext", "-t", "live", "-D", "gettext_location=1"]
    command = [sys.executable, "-m", "sphinx", *options, *folders]
    subprocess.run(command, cwd=root, check=True)


def groups(root: Path) -> dict[str, list[Group]]:
    """Return the sentences of each page, grouped by what stands below them, from built catalogs."""
    rules = {}
    if (root / RULES).exists():
        rules = tomllib.loads((root / RULES).read_text("utf-8"))
    by_page = {}
    for page, sentences in sorted(_by_page(root).items()):
        lines = (root / page).read_text("utf-8").split("\n")
        blocks, titles = _page(root, page, rules)
        prose = []
        for sentence in sentences:
            if sentence.docstring or sentence.line not in titles:
                prose.append(sentence)
        by_page[page] = list(_grouped(prose, blocks, titles, lines))
        for sentence in prose:  # a rule that is linked proves its sentence, too
            for name in RULE.findall(sentence.text):
                if name in rules:
                    rule = Block(sentence.line, repr(rules[name]))
                    by_page[page].append(Group([[sentence]], [rule]))
    return by_page


def _by_page(root: Path) -> dict[str, list[Sentence]]:
    drawn: dict[str, tuple[str, int]] = {}
    for page in sorted((root / "docs").rglob("*.rst")):
        drawn |= _drawn(page.relative_to(root).as_posix(), page.read_text("utf-8"))
    by_page: dict[str, list[Sentence]] = {}
    for catalog in sorted((root / "build/sentences").glob("*.pot")):
        lines: dict[str, int] = {}  # the last that was known, by page
        for text, place in _messages(catalog.read_text("utf-8")):
            file, _, number = place.rpartition(":")
            if docstring := DOCSTRING.match(file):
                name = docstring[2]
                while name and name not in drawn:
                    name = name.partition(".")[2]
                if name:
                    page_name, line = drawn[name]
                    written = f"{_within(root, docstring[1])}, docstring of {docstring[2]}"
                    sentence = Sentence(text, page_name, line, written)
                    by_page.setdefault(page_name, []).append(sentence)
                continue
            page_name = _within(root, file)
            line = int(number)
            if line <= UNKNOWN:
                line = lines.get(page_name, line)
            lines[page_name] = line
            by_page.setdefault(page_name, []).append(Sentence(text, page_name, line))
    return by_page


def _messages(text: str) -> Iterator[tuple[str, str]]:
    """Yield the messages of a catalog, each with every place in which it stands."""
    for places, quoted in MESSAGE.findall(text):
        message = str(ast.literal_eval(f"({quoted})"))
        for place in places.splitlines():
            yield message, place.removeprefix("#: ")


def _within(root: Path, file: str) -> str:
    """Return the name of a file within the project; catalogs name it from their own folder."""
    path = (root / "build/sentences" / file).resolve()
    return path.relative_to(root.resolve()).as_posix()


def _drawn(page: str, text: str) -> dict[str, tuple[str, int]]:
    """Return by name, without the module, in which line a page draws a docstring."""
    places = {}
    outer = ""
    for directive in DIRECTIVE.finditer(text):
        name = directive[2]
        if directive[1]:
            name = f"{outer}.{name}"
        else:
            outer = name = name.rpartition(".")[2]
        places[name] = page, text.count("\n", 0, directive.start()) + 1
    return places


def _page(root: Path, page: str, rules: dict[str, object]) -> tuple[list[Block], list[int]]:
    """Return the blocks of a page, and the lines of its titles."""
    text = (root / page).read_text("utf-8")
    if page.endswith(".rst"):
        checks = RST_CHECK.finditer(text)
        blocks = [Block(text.count("\n", 0, each.start()) + 1, each[0].strip()) for each in checks]
        # a docstring begins a section of its own
        starts = [*RST_TITLE.finditer(text), *DIRECTIVE.finditer(text)]
        return blocks, [text.count("\n", 0, each.start()) + 1 for each in starts]
    blocks, titles = [], list[int]()
    for line, kind, info, content in tokens(text):
        if kind == "heading_open":
            titles.append(line)
        if kind == "fence":
            name, _, argument = info.partition(" ")
            shown = root / "docs" / argument
            drawn = ""
            if name == "{shown}" and shown.is_file():
                drawn = shown.read_text("utf-8")
            if name == "{rule}":
                drawn = repr(rules.get(argument, ""))
            blocks.append(Block(line, f"{info}\n{content}{drawn}"))
    return blocks, titles


def tokens(text: str, first: int = 1) -> Iterator[tuple[int, str, str, str]]:
    """Yield line, type, language and content of tokens, and of those inside of directives."""
    for token in PARSER.parse(text):
        line = first + (token.map or [0])[0]
        if token.type == "colon_fence":
            yield from tokens(token.content, line + 1)
        else:
            yield line, token.type, token.info.strip(), token.content


def _grouped(
    sentences: list[Sentence], blocks: list[Block], titles: list[int], lines: list[str]
) -> Iterator[Group]:
    """Yield the sentences of a page with the blocks below them.

    A block belongs to the nearest paragraphs above it; those above a title are another section's.
    """
    steps: list[tuple[int, int, Sentence | Block | None]] = []
    steps += [(line, 0, None) for line in titles]
    steps += [(sentence.line, 1, sentence) for sentence in sentences]
    steps += [(block.line, 2, block) for block in blocks]
    above = list[Sentence]()
    below = list[Block]()
    for _, _, step in sorted(steps, key=lambda step: step[:2]):
        if isinstance(step, Block):
            below.append(step)
            continue
        if above and below:
            yield Group(_nearest(above, lines), below)
        if below or step is None:
            above, below = [], []
        if step is not None:
            above.append(step)
    if above and below:
        yield Group(_nearest(above, lines), below)


def _nearest(sentences: list[Sentence], lines: list[str]) -> list[list[Sentence]]:
    """Return the last paragraphs; a table, a list or a docstring is one."""
    paragraphs: list[list[Sentence]] = []
    for sentence in sentences:
        if not paragraphs or "" in lines[paragraphs[-1][-1].line : sentence.line]:
            paragraphs.append([])
        paragraphs[-1].append(sentence)
    return paragraphs[-NEAREST:]
