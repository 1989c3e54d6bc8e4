"""Takes a message apart as Sphinx will: what it marks up, and the prose a reader sees."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from types import MethodType

from docutils import frontend, nodes, utils
from docutils.parsers import rst
from docutils.parsers.rst import states
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

from lifespec_docs.facts.known import canonical, facts

__all__ = ["CODE", "UNKNOWN", "Parts", "parse"]

# In the prose of a message, one of these stands where a reader sees code, and the other where
# Sphinx puts a text that the message does not have, such as the title of a section.
CODE = "\ufffc"
UNKNOWN = "\ufffd"

EXPLICIT = re.compile(r"(.*?)\s*<([^<>]+)>", re.DOTALL)
TITLED = frozenset({"any", "doc", "numref", "ref", "std:doc", "std:ref"})
WORDS = frozenset({"abbr", "std:term", "term"})
# What is code in a comment; what is code or filled in in a word of ours, and the events it names.
BARE_CODE = re.compile(
    r"""`[^`]*` | "[^"]*" | (?!e\.g|i\.e)\b[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+ (?:\(\))?
    | \[[a-z]+(?:-[a-z]+)+\] | \b\w*_\w* | \b[A-Za-z]\w*(?:\(\)|\[[^\]]*\])""",
    re.VERBOSE | re.ASCII,
)
EMPHASIS = {"em_open": "italic", "emphasis": "italic", "strong": "bold", "strong_open": "bold"}
PLACEHOLDER = re.compile(r"`[^`]*`|%[sd]|\{\w*\}|\blifespan(?:\.[a-z]+)+", re.ASCII)


@dataclass
class Parts:
    """A message: how often it has each literal, role (with target), link and emphasis.

    `blocks` names what the message is as a text of its own: one paragraph, if all is well.
    """

    literals: Counter[str] = field(default_factory=Counter)
    roles: Counter[str] = field(default_factory=Counter)
    links: Counter[str] = field(default_factory=Counter)
    emphasis: Counter[str] = field(default_factory=Counter)
    blocks: list[str] = field(default_factory=list)
    prose: str = ""

    def add_literal(self, text: str) -> None:
        """Note code."""
        self.literals[text] += 1
        self.prose += CODE

    def add_role(self, name: str, content: str) -> None:
        """Note a role: its text belongs to the prose, its target does not."""
        titled = EXPLICIT.fullmatch(content)
        self.roles[f"{{{name}}}`{titled[2] if titled else content}`"] += 1
        if name == "fact":
            self.prose += _fact(content)
        elif titled or name in WORDS:
            self.prose += titled[1] if titled else content
        else:
            self.prose += UNKNOWN if name in TITLED else CODE


def _fact(name: str) -> str:
    """Return what stands for a fact: code, or a number and the Chinese unit."""
    value = facts().get(canonical(name))
    return f"{CODE} 秒" if value and value.seconds else CODE


def parse(text: str, kind: str, suffix: str, extensions: frozenset[str] = frozenset()) -> Parts:
    """Take a message of this kind apart; `suffix` names the markup of its page."""
    if kind in {"comment", "word"}:
        return _plain(text, PLACEHOLDER if kind == "word" else BARE_CODE)
    if suffix == ".rst":
        return _restructured(text)
    return _markdown(_markdown_parser(extensions).parse(text))


def _plain(text: str, code: re.Pattern[str]) -> Parts:
    literals = Counter(code.findall(text))
    return Parts(literals, blocks=["paragraph"], prose=code.sub(CODE, text).lstrip("#: "))


@lru_cache(maxsize=4)
def _markdown_parser(extensions: frozenset[str]) -> MarkdownIt:
    return create_md_parser(MdParserConfig(enable_extensions=set(extensions)), RendererHTML)


def _markdown(tokens: Iterable[Token]) -> Parts:
    parts = Parts()
    for token in tokens:
        if token.level == 0 and token.nesting >= 0:
            parts.blocks.append(token.type.removesuffix("_open"))
        opened = 0
        for child in token.children or ():
            if child.type == "link_open":
                opened = len(parts.prose)
            _markdown_inline(child, parts, opened)
    return parts


def _markdown_inline(token: Token, parts: Parts, opened: int) -> None:
    """Note what a token is; the text of the link it may stand in begins at `opened`."""
    match token.type:
        case "text" | "text_special":
            parts.prose += token.content
        case "softbreak" | "hardbreak":
            parts.prose += " "
        case "myst_role":
            parts.add_role(token.meta["name"], token.content)
        case "link_open":
            parts.links[str(token.attrs["href"])] += 1
        case "link_close" if token.markup == "autolink":
            parts.prose = parts.prose[:opened] + CODE
        case "link_close" if len(parts.prose) == opened:
            parts.prose += UNKNOWN
        case "strong_open" | "em_open":
            parts.emphasis[EMPHASIS[token.type]] += 1
        case "image":
            parts.links[str(token.attrs["src"])] += 1
            parts.prose += token.content
        case "code_inline" | "html_inline":
            parts.add_literal(token.content)


def _any_role(
    _inliner: states.Inliner, rawsource: str, text: str, role: str, _line: int
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """Read a role, known or not."""
    return [nodes.inline(rawsource, utils.unescape(text), role=role)], []


def _restructured(text: str) -> Parts:
    inliner = states.Inliner()
    # It reads the patterns of its own class, so no class can derive from it.
    inliner.interpreted = MethodType(_any_role, inliner)  # type: ignore[method-assign]
    parser = rst.Parser(inliner=inliner)
    settings = frontend.get_default_settings(rst.Parser)
    settings.report_level = 5
    document = utils.new_document("message", settings)
    parser.parse(text, document)
    parts = Parts(blocks=[child.__class__.__name__ for child in document.children])
    for child in document.children:
        _restructured_inline(child, parts)
    return parts


def _restructured_inline(node: nodes.Node, parts: Parts) -> None:
    match node:
        case nodes.literal():
            parts.add_literal(node.astext())
        case nodes.inline():
            parts.add_role(node["role"], node.astext())
        case nodes.reference() if node.get("refuri") == node.astext():
            parts.links[node["refuri"]] += 1
            parts.prose += CODE
        case nodes.Element():
            if isinstance(node, nodes.reference):
                parts.links[node.get("refuri") or node["refname"]] += 1
            parts.emphasis.update(filter(None, [EMPHASIS.get(node.tagname)]))
            for child in node.children:
                _restructured_inline(child, parts)
        case _:
            parts.prose += node.astext()
