"""The words that our own directives and templates put on a page, in the page's language.

Their catalog is `locales/<language>/LC_MESSAGES/lifespec.po`; `messages()` is what belongs in it.
A word stands where it is used, as the string of `translate("…")`, or of `_("…")` in what is
translated later. Babel collects them; it does not read what stands in braces of an f-string.
"""

import os
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
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
ROOT = FOLDER.parents[2]
TEMPLATES = FOLDER.parents[1] / "_templates"
TABLES = language.VERBS, language.DOINGS, language.PHRASES
KEYWORDS = {"_": None, "translate": None}
METHODS = [
    ("**.py", "python"), ("**.toml", f"{__name__}:in_data"), ("**.rst", f"{__name__}:in_text"),
]  # fmt: skip
SHOWN = frozenset({"says", "title"})  # the keys of our data that have words


class UnmarkedWordError(LookupError):
    """A page asks for a word that nothing marks: no catalog could hold it."""


@lru_cache(maxsize=1)
def messages() -> tuple[Message, ...]:
    """All English strings of the catalog, in an order that does not change when code moves.

    What the package says too is in a catalog of its own.
    """
    of_package = {each.text for found in package_messages().values() for each in found}
    found = {each.text: each for each in _ours() if each.text not in of_package}
    return tuple(found[text] for text in sorted(found))


def marked(*files: str) -> tuple[str, ...]:
    """Return the words that some of our modules mark."""
    names = {_name(FOLDER / file) for file in files}
    return tuple(each.text for each in _ours() if each.file in names)


@lru_cache(maxsize=1)
def _ours() -> tuple[Message, ...]:
    """Return the words of each file of ours; a template asks for them by `word(...)`."""
    templates = [("**.html", "jinja2.ext:babel_extract")]
    return (
        *_extracted(FOLDER, METHODS, KEYWORDS),
        *_extracted(TEMPLATES, templates, {"word": None}),
        *_extracted(TEMPLATES / "records", [("**.md", "jinja2.ext:babel_extract")], KEYWORDS),
    )


def _extracted(
    folder: Path, methods: Sequence[tuple[str, str]], keywords: Mapping[str, None]
) -> Iterator[Message]:
    for file, line, text, *_ in extract_from_dir(folder, methods, keywords=keywords):
        word = text if isinstance(text, str) else text[0]
        yield Message(word, line, "word", _name(folder / file))


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


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
    folder = Path(rules.__file__).parent
    methods = [("**/probe.py", "ignore"), ("**.py", "python")]
    said = [*_extracted(folder, methods, KEYWORDS | {"word": None}), *_of_the_cases()]
    report = {each.text: each for each in reversed(said)}
    sentences = {text: Message(text, line, kind) for text, line, kind in rules.messages()}
    return {"report": tuple(reversed(report.values())), "rules": tuple(sentences.values())}


def _of_the_cases() -> Iterator[Message]:
    """Yield the sentences of the cases and of their vocabulary."""
    heads = {line: n for n, line in enumerate(CASES.read_text(encoding="utf-8").split("\n"), 1)}
    for case in cases.load():
        yield Message(case.says, heads.get(f"[{case.name}]", 1), "word", _name(CASES))
    vocabulary = _name(Path(language.__file__))
    rows = (row.says for table in TABLES for row in table.values())
    yield from (Message(text, 1, "word", vocabulary) for text in (*language.KEYS.values(), *rows))


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
    all_ = [*messages(), *(each for found in package_messages().values() for each in found)]
    known = dict.fromkeys((each.text for each in all_), "")
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
