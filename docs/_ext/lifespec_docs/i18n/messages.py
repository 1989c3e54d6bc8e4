"""The words that our own directives and templates put on a page, in the page's language.

Their catalog is `locales/<language>/LC_MESSAGES/lifespec.po`; `messages()` is what belongs in it.
A word stands where it is used, as the string of `translate("…")`, or of `_("…")` in what is
translated later. Babel collects them; it does not read what stands in braces of an f-string.
"""

import os
import tomllib
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

import polib
from babel.messages.extract import extract_from_dir
from sphinx.environment import BuildEnvironment

from lifespec.conformance import cases, language, rules
from lifespec.conformance.words import translator
from lifespec_docs.i18n import restructured
from lifespec_docs.i18n.catalogs import Message

__all__ = [
    "CATALOG",
    "UnmarkedWordError",
    "in_data",
    "in_text",
    "marked",
    "messages",
    "note_cases",
    "package_messages",
    "sentences",
    "words",
]

CATALOG = "lifespec"
CASES = Path(cases.__file__).parent / "data" / "cases.toml"

FOLDER = Path(__file__).parents[1]
TEMPLATES = FOLDER.parents[1] / "_templates"
KEYWORDS = {"_": None, "translate": None}
METHODS = [
    ("**.py", "python"), ("**.toml", f"{__name__}:in_data"), ("**.rst", f"{__name__}:in_text"),
]  # fmt: skip
SHOWN = frozenset({"says", "title"})  # the keys of our data that have words


class UnmarkedWordError(LookupError):
    """A page asks for a word that nothing marks: no catalog could hold it."""


@lru_cache(maxsize=1)
def messages() -> tuple[str, ...]:
    """All English strings of the catalog, which does not change when code moves.

    What the package says too is in a catalog of its own.
    """
    of_package = {each.text for found in package_messages().values() for each in found}
    return tuple(sorted({text for texts in _by_file().values() for text in texts} - of_package))


def marked(*files: str) -> tuple[str, ...]:
    """Return the words that some of our modules mark."""
    return tuple(text for file in files for text in _by_file()[file])


@lru_cache(maxsize=1)
def _by_file() -> dict[str, list[str]]:
    """Return the words of each file of ours; a template asks for them by `word(...)`."""
    ours = extract_from_dir(FOLDER, METHODS, keywords=KEYWORDS)
    templates = [("**.html", "jinja2.ext:babel_extract")]
    found: dict[str, list[str]] = {}
    for file, _line, text, *_ in (
        *ours, *extract_from_dir(TEMPLATES, templates, keywords={"word": None}),
    ):  # fmt: skip
        found.setdefault(file, []).append(str(text))
    return found


def in_data(
    file: BinaryIO,
    _keywords: object,
    _tags: object,
    options: object,  # noqa: ARG001
) -> Iterator[tuple[int, None, str, list[str]]]:
    """Yield the words of a file of data, as an extractor of Babel."""
    rows = tomllib.load(file)
    listed = [row for each in rows.values() for row in (each if isinstance(each, list) else [each])]
    for row in filter(lambda row: isinstance(row, dict), listed):
        for said in (row[key] for key in SHOWN & row.keys()):
            for text in filter(None, said.values() if isinstance(said, dict) else [said]):
                yield 1, None, text, []


def in_text(
    file: BinaryIO,
    _keywords: object,
    _tags: object,
    options: object,  # noqa: ARG001
) -> Iterator[tuple[int, None, str, list[str]]]:
    """Yield the words of a text in reStructuredText, as an extractor of Babel."""
    for block in restructured.blocks(file.read().decode()):
        if not block.code:
            yield 1, None, block.words, []


@lru_cache(maxsize=1)
def package_messages() -> dict[str, tuple[Message, ...]]:
    """Return what the catalogs of the package translate, by their names."""
    said = (*_marked(), *_of_the_cases())
    report = tuple(Message(text, 1, "word") for text in dict.fromkeys(said))
    sentences = {text: Message(text, line, kind) for text, line, kind in rules.messages()}
    return {"report": report, "rules": tuple(sentences.values())}


def _marked() -> Iterator[str]:
    """Yield the words that the modules of the package mark, in their order."""
    keywords = {"_": None, "word": None}
    folder = Path(rules.__file__).parent
    for _file, _line, text, _comments, _context in extract_from_dir(
        folder, method_map=[("**/probe.py", "ignore"), ("**.py", "python")], keywords=keywords
    ):
        yield text if isinstance(text, str) else text[0]


def _of_the_cases() -> Iterator[str]:
    """Yield the sentences of the cases and of their vocabulary."""
    yield from (case.says for case in cases.load())
    yield from language.KEYS.values()
    for table in (language.VERBS, language.DOINGS, language.PHRASES):
        yield from (row.says for row in table.values())


def note_cases(env: BuildEnvironment) -> None:
    """Let the page be read anew when a case changes, or its Chinese."""
    env.note_dependency(os.path.relpath(CASES, env.srcdir))


@lru_cache(maxsize=4)
def _translations(path: Path, _modified: int) -> dict[str, str]:
    return {entry.msgid: entry.msgstr for entry in polib.pofile(str(path)) if entry.msgstr}


def sentences(env: BuildEnvironment) -> Callable[[str], str]:
    """Translate a sentence of a rule into the language of this build."""
    return translator("zh" if env.config.language == "zh_CN" else "en")


def words(env: BuildEnvironment) -> Callable[[str], str]:
    """Translate a word of ours into the language of this build.

    A word without a translation stays English: the check of the catalogs reports it.
    """
    of_package = (each.text for found in package_messages().values() for each in found)
    known = dict.fromkeys((*messages(), *of_package), "")
    known |= {text: sentences(env)(text) for text in known}
    for folder in env.config.locale_dirs:
        path = Path(env.srcdir, folder, env.config.language, "LC_MESSAGES", f"{CATALOG}.po")
        if path.exists():
            known |= _translations(path, path.stat().st_mtime_ns)

    def translate(message: str) -> str:
        if message not in known:
            raise UnmarkedWordError(f"{message!r} is not marked: write _({message!r}).")
        return known[message] or message

    return translate
