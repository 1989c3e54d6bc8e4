"""The words of the cases are tables, and each word is used."""

from lifespec.conformance import cases
from lifespec.conformance.phrases import PHRASES as JUDGED
from lifespec.conformance.vocabulary import DOINGS, KEYS, PARTIES, PHRASES, SERVER, USUAL, VERBS

__all__: list[str] = []


def test_each_phrase_for_servers_has_a_meaning() -> None:
    """What a case may expect of a server is judged, and nothing else is."""
    assert {name for name, row in PHRASES.items() if "server" in row.parties} == set(JUDGED)


def test_each_phrase_is_expected_somewhere() -> None:
    """No phrase waits for a case."""
    assert {each.phrase for case in cases.load() for each in case.expect} == set(PHRASES)


def test_each_word_of_an_operator_is_used() -> None:
    """No doing waits for a case."""
    assert {doing.verb for case in cases.load() for doing in case.meanwhile} == set(DOINGS)


def test_words_say_what_they_mean() -> None:
    """Each has a sentence without a full stop, and belongs to a party."""
    for row in (*VERBS.values(), *DOINGS.values(), *PHRASES.values()):
        assert row.says
        assert not row.says.endswith(".")
        assert set(row.parties) <= set(PARTIES)


def test_the_format_has_its_keys() -> None:
    """What is usual is written in words that there are."""
    assert {"party", "says", "script", "meanwhile", "expect"} < set(KEYS)
    assert {line.partition(" ")[0] for line in USUAL} <= set(DOINGS)
    assert {line.partition(" ")[0] for line in SERVER} <= set(VERBS)
