"""Two translations that changed places are found by the words of all the others."""

# ruff: noqa: RUF001 - Chinese marks are what is tested

from itertools import permutations, product

import pytest

import pairing
from parity import Pair

__all__: list[str] = []

WHO = {"servers": "服务器", "applications": "应用程序", "workers": "工作进程"}
WHAT = {"waiting": "等待", "answering": "答复", "logging": "记录"}


def pair(english: str, chinese: str, line: int = 1) -> Pair:
    """Return an entry of a catalog."""
    return Pair("a.po", line, english, chinese)


CATALOG = [
    pair(f"{who} {what} for `{what}`", f"{WHO[who]}{WHAT[what]}", line)
    for line, (who, what) in enumerate(product(WHO, WHAT), 1)
]


def test_what_stands_in_its_place_is_right() -> None:
    """Also where two are alike, and where a text has no word."""
    assert list(pairing.exchanged([CATALOG, [], [pair("", ""), pair("—", "：")]])) == []


@pytest.mark.parametrize("places", list(permutations([0, 4, 8], 2)))
def test_what_changed_places_is_told(places: tuple[int, int]) -> None:
    """With both texts, where the second stands."""
    one, other = (CATALOG[place] for place in places)
    rest = [each for each in CATALOG if each not in {one, other}]
    wrong = [one._replace(chinese=other.chinese), other._replace(chinese=one.chinese)]
    (fault,) = pairing.exchanged([rest[:3], wrong, rest[3:]])
    assert (fault.file, fault.line) == ("a.po", other.line)
    assert fault.sentence.startswith(f"{one.chinese!r} looks like the translation of")
    assert fault.sentence.endswith("they have changed places.")


def test_nothing_speaks_for_itself() -> None:
    """Two entries that are the only ones with their words prove nothing."""
    pairs = [pair("apple", "苹果"), pair("pear", "梨")]
    corpus = pairing.Corpus(pairs)
    assert corpus.margin(*map(pairing.words, pairs)) == 0


def test_words_are_cut() -> None:
    """English ones lose their endings; Chinese ones are pairs of characters; code is left out."""
    found = pairing.words(pair("The servers waited for {rule}`state`", "服务器等 `a` 与 asgi，好"))
    assert found.english == {"server", "wait"}
    assert found.chinese == {"服务", "务器", "器等", "与", "好", "asgi"}
