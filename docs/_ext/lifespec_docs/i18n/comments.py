"""Translates the comments of code blocks, and nothing else of them: a catalog holds no code.

A block that has comments becomes a node whose messages are these
comments; a translation is spliced back into the one source where the comment stood.
Whatever the catalog says, the program stays the same: a translation that is not one comment
on one line, or that a tool would obey, is refused with a warning.
"""

import io
import itertools
import re
import tokenize
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import polib
from docutils import nodes
from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]
from pygments.token import Comment as CommentToken  # type: ignore[import-untyped]
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

__all__ = [
    "LANGUAGES",
    "Comment",
    "RefusedComments",
    "TranslatableComments",
    "UntranslatableTypes",
    "bare",
    "comments",
    "literal_block",
    "objection",
    "setup",
    "spliced",
]

PYTHON = frozenset({"py", "python", "python3"})
SESSION = frozenset({"pycon", "python-console"})
LANGUAGES = PYTHON | SESSION | {"bash", "console", "perl", "sh", "shell", "toml", "zsh"}

PROMPT = re.compile(r"( *)(>>>|\.\.\.)(?: |$)")
BEGINNING = re.compile(r"#+:?[ \t]*")
DIRECTIVE = re.compile(
    r"""\#!                                      # names the program that runs the file
    | \#.*coding[:=]\s*[-\w.]                    # names the encoding of a Python file
    | \#+:?\s*(?: -\*- | (?:line\s+\d|noqa|nosec|pragma|shellcheck)\b
        | (?:doctest|fmt|isort|mypy|pylint|pyright|ruff|type|vim?)\s*: )
    """,
    re.VERBOSE | re.IGNORECASE,
)
# A rule by its ID, or a name with dots.
NAME = re.compile(r"\[[a-z0-9-]+\]|\b[a-z_]\w*(?:\.\w+)+", re.ASCII | re.IGNORECASE)
TYPES = (":sphinx_autodoc_typehints_type:", ":py:class:`dict`\\ \\[")  # the second is conf.py's

logger = logging.getLogger(__name__)


class Comment(NamedTuple):
    """A comment: where it starts in its source, and its text from the `#` on."""

    start: int
    text: str


def comments(source: str, language: str) -> list[Comment]:
    """Return the comments that are written for readers, in order.

    Directives (`noqa`, `type:` …) are none, also behind another comment, and neither is what
    has no word but names of rules and events.  ValueError: the source does not parse.
    """
    return [
        Comment(start, prose)
        for start, text in _tokens(source, language)
        if _has_word(prose := DIRECTIVE.split(text, maxsplit=1)[0].rstrip())
    ]


def spliced(source: str, language: str, translations: Mapping[str, str]) -> str:
    """Return the source with its comments translated."""
    for start, text in reversed(comments(source, language)):
        translated = translations.get(text, text)
        source = source[:start] + translated + source[start + len(text) :]
    return source


def bare(source: str, language: str) -> str:
    """Return the source with every comment for readers emptied: what no translation changes."""
    found = comments(source, language)
    return spliced(source, language, {text: _beginning(text).rstrip() for _, text in found})


def objection(original: str, translated: str) -> str | None:
    """Say why a text cannot stand in the place of a comment; None where it can."""
    if not translated.isprintable() or not _has_word(translated):
        return "it must be one line of printable characters, with a word"
    if _beginning(translated) != (wanted := _beginning(original)):
        return f"it must begin with {wanted!r}, as the comment does"
    if found := DIRECTIVE.search(translated):
        return f"{found[0]!r} reads as an order to a tool"
    return None


def _has_word(text: str) -> bool:
    return any(map(str.isalpha, NAME.sub("", text)))


def _beginning(text: str) -> str:
    return found[0] if (found := BEGINNING.match(text)) else ""


def _tokens(source: str, language: str) -> Iterator[Comment]:
    if language in PYTHON:
        return _python(source)
    if language in SESSION:
        return _session(source)
    return _highlighted(source, language)


def _python(source: str) -> Iterator[Comment]:
    """Yield a Python source's comments; one inside an f-string is part of that string."""
    # Python ends a line there, its tokenizer does not: code would be taken for a comment.
    if re.search("\r(?!\n)", source):
        raise ValueError("it is no Python: a carriage return stands alone")
    starts = [0, *itertools.accumulate(map(len, io.StringIO(source)))]
    depth = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            name = tokenize.tok_name[token.type]
            depth += name.endswith("STRING_START") - name.endswith("STRING_END")
            if name == "COMMENT" and not depth:
                yield Comment(starts[token.start[0] - 1] + token.start[1], token.string)
    except (tokenize.TokenError, SyntaxError) as error:
        raise ValueError(f"it is no Python: {error.args[0]}") from error


def _session(source: str) -> Iterator[Comment]:
    """Yield the comments of the statements behind the prompts; what they print has none."""
    lines: list[str] = []
    starts: list[int] = []
    position = 0
    for line in [*io.StringIO(source), ""]:
        prompt = PROMPT.match(line)
        if lines and not (prompt and prompt[2] == "..."):
            yield from _statement(lines, starts)
            lines, starts = [], []
        if prompt and (lines or prompt[2] == ">>>"):
            lines.append(line[prompt.end() :])
            starts.append(position + prompt.end())
        position += len(line)


def _statement(lines: list[str], starts: list[int]) -> Iterator[Comment]:
    """Yield the comments of a statement whose lines stand at these places."""
    within = [0, *itertools.accumulate(map(len, lines))]
    for start, text in _python("".join(lines)):
        row = next(n for n in range(len(lines)) if start < within[n + 1])
        yield Comment(starts[row] + start - within[row], text)


def _highlighted(source: str, language: str) -> Iterator[Comment]:
    """Yield the `#` comments Pygments finds, where a space or a line's start is before them."""
    lexer = get_lexer_by_name(language)
    # The shell's lexer wants a line end behind a comment.
    for start, kind, value in lexer.get_tokens_unprocessed(f"{source}\n"):
        alone = not start or source[start - 1].isspace()
        if kind is CommentToken.Single and alone and value.startswith("#"):
            yield Comment(start, value.rstrip("\n"))


class literal_block(nodes.literal_block, addnodes.translatable):
    """A code block whose comments are messages; writers and Pygments know it by this name.

    Its state is in its attributes, since doctrees are pickled: `untranslated` (the source),
    `translations` and `refused` (comment → what the catalog says).
    """

    def preserve_original_messages(self) -> None:
        """Keep the source, of which every translation starts."""
        self["untranslated"], self["translations"], self["refused"] = self.astext(), {}, {}

    def extract_original_messages(self) -> list[str]:
        """Return the comments, each once."""
        # Sphinx marks the node as translated when one comment equals its translation, and
        # then passes over the others: the mark is taken off before it is read.
        self.attributes.pop("translated", None)
        found = comments(self["untranslated"], self["language"])
        return list(dict.fromkeys(comment.text for comment in found))

    def apply_translated_message(self, original_message: str, translated_message: str) -> None:
        """Splice a translated comment in, or note that it is refused."""
        if objection(original_message, translated_message):
            self["refused"][original_message] = translated_message
            return
        self["translations"][original_message] = translated_message.rstrip()
        self.rawsource = spliced(self["untranslated"], self["language"], self["translations"])
        self.children = []
        self += nodes.Text(self.rawsource)


class TranslatableComments(SphinxTransform):
    """Makes the comments of code blocks messages."""

    default_priority = 9  # before Sphinx keeps (10) and replaces (20) messages

    def apply(self, **_: object) -> None:
        """Replace each block that has comments."""
        for node in list(self.document.findall(nodes.literal_block)):
            if node.get("language") in LANGUAGES and node.rawsource == node.astext():
                self._replace(node)

    def _replace(self, node: nodes.literal_block) -> None:
        try:
            found = comments(node.astext(), node["language"])
        except ValueError as error:
            text = "the comments of this block cannot be read: %s"
            logger.warning(text, error, location=node)
            return
        if found:
            new = literal_block(node.rawsource, node.astext(), **node.attributes)
            new.source, new.line = node.source, node.line
            self.document.ids.update(dict.fromkeys(node["ids"], new))
            node.replace_self(new)


class RefusedComments(SphinxTransform):
    """Warns of the translations that were refused, at their place in the catalog."""

    default_priority = 21  # after Sphinx has replaced messages

    def apply(self, **_: object) -> None:
        """Say for each what is wrong."""
        for node in self.document.findall(literal_block):
            for original, translated in node["refused"].items():
                why = objection(original, translated)
                text = "%r cannot translate the comment %r: %s"
                where = self._place(original) or node
                logger.warning(text, translated, original, why, location=where)

    def _place(self, original: str) -> str | None:
        name = f"{self.config.language}/LC_MESSAGES/{self.env.current_document.docname}.po"
        for folder in self.config.locale_dirs:
            path = Path(self.env.srcdir, folder, name).resolve()
            if path.is_file() and (entry := polib.pofile(str(path)).find(original)):
                return f"{path}:{entry.linenum}"
        return None


class UntranslatableTypes(SphinxTransform):
    """Keeps types out of the catalogs: they are code, under names that Sphinx translates."""

    default_priority = 9

    def apply(self, **_: object) -> None:
        """Mark the names of fields, and the types that sphinx-autodoc-typehints wrote."""
        for content in self.document.findall(addnodes.desc_content):
            for node in content.findall(nodes.TextElement):
                if isinstance(node, nodes.field_name) or node.rawsource.startswith(TYPES):
                    node["translatable"] = False


def setup(app: Sphinx) -> None:
    """Register the transforms."""
    app.add_transform(TranslatableComments)
    app.add_transform(RefusedComments)
    app.add_transform(UntranslatableTypes)
