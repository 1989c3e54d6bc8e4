"""Says where a Chinese message is not the English one: what it marks up, and its numbers.

Sphinx warns of none of this: a lost literal, a lost Markdown link, a number that became another.
How a sentence is built is the translator's; the words of a rule box alone are compared.
Everything here takes plain texts and returns sentences, so that it can check any page.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import polib

from lifespec_docs.facts.typed import SPELLED
from lifespec_docs.i18n.catalogs import Fault, Template
from lifespec_docs.lint import rules
from lifespec_docs.lint.chinese import faults as wrongly_set
from lifespec_docs.lint.chinese import is_chinese
from lifespec_docs.lint.markup import Parts, parse

__all__ = ["Fault", "Pair", "faults", "pairs", "sentences"]

NUMBER = re.compile(r"\d+(?:\.\d+)*")
FIGURES = {name: str(n) for n, name in enumerate(SPELLED)} | {
    "first": "1", "once": "1", "second": "2", "twice": "2", "both": "2", "third": "3",
}  # fmt: skip
PROPER_NAMES = {
    "amgi", "asgi", "asyncio", "blacksheep", "daphne", "django", "falcon", "fastapi", "granian",
    "gunicorn", "hypercorn", "lifespec", "litestar", "perl", "python", "quart", "sanic",
    "starlette", "trio", "uvicorn", "worker",
}  # fmt: skip
RELEASE = re.compile(r"[a-z][\w-]* \d+(\.\d+)+")  # of a package: its name and version
KINDS = {"literals": "the literal", "roles": "the role", "links": "the link to", "emphasis": "the"}


class Pair(NamedTuple):
    """A message in both languages, and where the Chinese stands; `kind` as in `Message`."""

    file: str
    line: int
    english: str
    chinese: str
    kind: str = "text"
    suffix: str = ".md"


def pairs(catalog: polib.POFile, template: Template, name: str) -> Iterator[Pair]:
    """Yield the entries of a catalog that are translated."""
    kinds = {message.text: message.kind for message in template.messages}
    suffix = template.file[template.file.rfind(".") :]
    for entry in catalog.translated_entries():
        kind = kinds.get(entry.msgid, "text")
        yield Pair(name, (entry.linenum or 1) + 1, entry.msgid, entry.msgstr, kind, suffix)


def faults(pair: Pair, extensions: frozenset[str] = frozenset()) -> Iterator[Fault]:
    """Yield what is wrong with a translation; `extensions` are those of the Markdown."""
    for sentence in sentences(pair, extensions):
        yield Fault(pair.file, pair.line, sentence)


def sentences(pair: Pair, extensions: frozenset[str] = frozenset()) -> Iterator[str]:
    """Yield a sentence for each fault of a translation."""
    english = parse(pair.english, pair.kind, pair.suffix, extensions)
    chinese = parse(pair.chinese, pair.kind, pair.suffix, extensions)
    if chinese.blocks != ["paragraph"]:
        blocks = " and ".join(chinese.blocks) or "nothing"
        yield f"the Chinese is read as {blocks}, not as one paragraph: Sphinx would drop it."
    yield from _markup(english, chinese)
    yield from _numbers(english.prose, chinese.prose)
    if pair.kind.startswith("rule "):
        yield from rules.faults(english.prose, chinese.prose, pair.kind.removeprefix("rule "))
    yield from wrongly_set(chinese.prose)
    if _has_words(english.prose) and not is_chinese(chinese.prose):
        yield "this has no Chinese word: translate it."


def _markup(english: Parts, chinese: Parts) -> Iterator[str]:
    for name, noun in KINDS.items():
        ours: Counter[str] = getattr(english, name)
        theirs: Counter[str] = getattr(chinese, name)
        hint = ": it must end before a full-width mark" if name == "emphasis" else ""
        for what in (ours - theirs).elements():
            yield f"the Chinese lacks {noun} {_quoted(what, name)} of the English{hint}."
        for what in (theirs - ours).elements():
            yield f"the Chinese has {noun} {_quoted(what, name)}, which the English has not."


def _quoted(text: str, name: str) -> str:
    return {"literals": f"`{text}`", "emphasis": f"{text} text"}.get(name, text)


def _numbers(english: str, chinese: str) -> Iterator[str]:
    """Compare figures; Chinese may write a figure where English spells the number."""
    ours, theirs = Counter(NUMBER.findall(english)), Counter(NUMBER.findall(chinese))
    words = re.findall(r"[a-z]+", english.lower())
    spelled = Counter(FIGURES[word] for word in words if word in FIGURES)
    for number in (ours - theirs).elements():
        yield f"the Chinese lacks the number {number} of the English: write it in figures."
    for number in (theirs - ours - spelled).elements():
        yield f"the Chinese has the number {number}, which the English has not."


def _has_words(english: str) -> bool:
    """Whether a text has words to translate, beside names and the release of a package."""
    words = {word.lower() for word in re.findall("[A-Za-z]{3,}", english) if not word.isupper()}
    return bool(words - PROPER_NAMES) and not RELEASE.fullmatch(english)
