"""Whether a translation is that of its own message: two that changed places are found.

Words of one meaning stand in the same entries, all over the catalogs.  So each English word has
Chinese ones that go with it, and a text has more of those in its own translation than in its
neighbour's.  The two entries in question are left out of the counts, so that they cannot speak
for themselves.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from catalogue import Fault

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from parity import Pair

__all__ = ["LIMIT", "Corpus", "exchanged"]

LIMIT = 0.15  # how much better two have to fit the other way round: what is right stays below 0.1
RARE = 4  # what stands together once or twice says little
CODE = re.compile(r"\{[^}]*\}|`[^`]*`")
HAN = re.compile("[\u4e00-\u9fff]+")
LATIN = re.compile("[a-z]{2,}")
ENDINGS = re.compile(r"(?<=[a-z]{3})(?:ations?|ings?|ed|es|s|e|ly)$")
PLAIN = frozenset(re.findall(r"\w+", "the of and to in is it that an as for or are its"))


class Words(NamedTuple):
    """The words of an entry: English ones without their endings, Chinese ones as two characters."""

    english: frozenset[str]
    chinese: frozenset[str]


def words(pair: Pair) -> Words:
    """Cut both texts into words, code left out."""
    english, chinese = (CODE.sub(" ", text.lower()) for text in (pair.english, pair.chinese))
    stems = (ENDINGS.sub("", word) for word in set(LATIN.findall(english)) - PLAIN)
    runs = HAN.findall(chinese)
    bigrams = {run[at : at + 2] for run in runs for at in range(max(len(run) - 1, 1))}
    return Words(frozenset(stems), frozenset(bigrams | set(LATIN.findall(chinese))))


class Corpus:
    """All entries of all catalogs: which words go together."""

    def __init__(self, pairs: Iterable[Pair]) -> None:
        self._english, self._chinese = Counter[str](), Counter[str]()
        self._beside: dict[str, Counter[str]] = {}
        for found in map(words, pairs):
            self._english.update(found.english)
            self._chinese.update(found.chinese)
            for word in found.english:
                self._beside.setdefault(word, Counter()).update(found.chinese)

    def margin(self, one: Words, other: Words) -> float:
        """Say how much better two entries fit as they are than crossed: from -2 to 2."""
        out = one, other
        crossed = Words(one.english, other.chinese), Words(other.english, one.chinese)
        return sum(self._fit(each, out) for each in out) - sum(
            self._fit(each, out) for each in crossed
        )

    def _fit(self, entry: Words, out: Sequence[Words]) -> float:
        """Say how well the words of a text and of a translation go together: from 0 to 1."""
        best: dict[str, float] = dict.fromkeys((*entry.english, *entry.chinese), 0.0)
        for english in entry.english:
            for chinese in entry.chinese & self._beside.get(english, Counter()).keys():
                share = self._share(english, chinese, out)
                best[english] = max(best[english], share)
                best[chinese] = max(best[chinese], share)
        return sum(best.values()) / max(len(best), 1)

    def _share(self, english: str, chinese: str, out: Sequence[Words]) -> float:
        """Say how often two words stand together, of all the times that one of them stands."""
        together = self._beside[english][chinese]
        either = self._english[english] + self._chinese[chinese]
        for entry in out:
            one, two = english in entry.english, chinese in entry.chinese
            together -= one and two
            either -= one + two
        return 2 * together / (either + RARE) if together else 0.0


def exchanged(catalogs: Sequence[Sequence[Pair]]) -> Iterator[Fault]:
    """Yield two neighbours of a catalog, each with the translation of the other."""
    corpus = Corpus(pair for pairs in catalogs for pair in pairs)
    for pairs in catalogs:
        for one, other in pairwise([(pair, words(pair)) for pair in pairs]):
            if corpus.margin(one[1], other[1]) < -LIMIT:
                yield _fault(one[0], other[0])


def _fault(one: Pair, other: Pair) -> Fault:
    sentence = (
        f"{other.chinese!r} looks like the translation of {one.english!r}, and {one.chinese!r} "
        f"like that of {other.english!r}: they have changed places."
    )
    return Fault(other.file, other.line, sentence)
