"""Says where a Chinese message is not the English one: what it marks up, numbers, duties, terms.

Sphinx warns of none of this: a lost literal, a lost Markdown link, a *must* that became *should*.
Everything here takes plain texts and returns sentences, so that it can judge any page.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import comments
import terms
import typography
from catalogue import Fault
from markup import Parts, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polib

    from catalogue import Template

__all__ = ["Pair", "duties", "faults", "pairs", "sentences"]

# English word, Chinese word. The Chinese of a longer row is not counted for a shorter one.
DUTIES = {
    "must not": ("must (?:not|never)|mustn't|mustn’t", "(?<!不)不得(?!不|已)"),
    "should not": ("should (?:not|never)|shouldn't|shouldn’t", "不应当|不应该|不应(?![用答])"),
    "must": ("must", "必须"),
    "should": ("should", "应当|应该|(?<![响对相反适供效回感顺呼照])应(?![用答变急付邀声])"),
    "may": (r"may(?! \d)", "可以"),
}
CHINESE = {
    "must": "必须",
    "must not": "不得",
    "should": "应",
    "should not": "不应",
    "may": "可以",
}
# What English may say instead, in prose that is no rule, where Chinese says the word.
INSTEAD = {
    "must not": r"cannot|can't|can’t|never|forbid\w*|not allowed|may not",
    "should not": r"ought not|had better not",
    "must": r"ha(?:s|ve|d) to|needs?(?: to)?|needed|required?|requires|necessary",
    "should": r"ought to|supposed to",
    "may": r"can|could|able|allow\w*|might|permit\w*|free to|possible",
}
POSSIBLY = "可能|也许|或许|会"

NUMBER = re.compile(r"\d+(?:\.\d+)*")
NAMES = "zero one two three four five six seven eight nine ten eleven twelve".split()
SPELLED = {name: str(n) for n, name in enumerate(NAMES)} | {
    "first": "1", "once": "1", "second": "2", "twice": "2", "both": "2", "third": "3",
}  # fmt: skip
ENDS = dict(zip(".?!:", "。？！：", strict=True))  # noqa: RUF001 - they are the subject
CLOSING = "”’）》)\"' *_"  # noqa: RUF001


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
        yield Pair(name, entry.linenum or 1, entry.msgid, entry.msgstr, kind, suffix)


def faults(pair: Pair, extensions: frozenset[str] = frozenset()) -> Iterator[Fault]:
    """Yield what is wrong with a translation; `extensions` are those of the Markdown."""
    for sentence in sentences(pair, extensions):
        yield Fault(pair.file, pair.line, sentence)


def sentences(pair: Pair, extensions: frozenset[str] = frozenset()) -> Iterator[str]:
    """Yield a sentence for each fault of a translation."""
    english, chinese = (
        parse(text, pair.kind, pair.suffix, extensions) for text in (pair.english, pair.chinese)
    )
    if pair.kind == "comment" and (why := comments.objection(pair.english, pair.chinese)):
        yield f"{pair.chinese!r} cannot translate the comment {pair.english!r}: {why}."
    if chinese.blocks != ["paragraph"] != english.blocks:
        return
    yield from _markup(english, chinese)
    yield from _numbers(english.prose, chinese.prose)
    yield from duties(english.prose, chinese.prose, strict=pair.kind.startswith("rule "))
    yield from _words(english.prose, chinese.prose)
    yield from terms.faults(english.prose, chinese.prose)
    yield from typography.faults(chinese.prose)
