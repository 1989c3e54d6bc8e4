"""How the search ranks the pages of a small index."""

import json
from typing import Any

import pytest
from searching import found, marked

pytestmark = pytest.mark.needs("node")

FILLER = "Many words stand here about nothing at all."
LOG_LINE = "ASGI 'lifespan' protocol appears unsupported."
ENTRIES: dict[str, list[list[Any]]] = {
    "timeouts": [
        ["", "Timeouts and Ctrl-C", f"{FILLER}\nA server waits for 5 seconds."],
        ["choose", "Choose the timeouts", "Give each connection a limit."],
    ],
    "tests": [
        ["", "Test an application", f"{FILLER}\nA timeout, a timeout, a timeout.", "TestClient"],
        ["fails", "A test fails", f"The log has `{LOG_LINE}` then."],
    ],
    "api": [
        ["", "Python API", FILLER],
        ["lifespec.Lifespan.startup", "lifespec.Lifespan.startup", "It is called once.", "", 1],
        ["startup-sent", "startup-sent", "It is sent once.", "", 1],
    ],
    "超时": [
        ["", "超时与中断", "启动没有抛出异常。服务器会等待。"],
        ["b", "启动", "启动时抛出异常。"],
    ],
    "中间件": [["", "编写中间件", "服务器，服务器，服务器。中间件不改变状态。"]],
    "服务器": [["", "服务器", "中间件，中间件，中间件，中间件。"]],
}
KEYWORDS = {"timeouts": "time limit, frozen", "超时": "卡住"}
SYNONYMS = [["stop", "shut down"], ["limit", "deadline"]]
FIRST = {
    "timeout": "timeouts",  # in the title, though another page has it more often
    "timeouts": "timeouts",
    "testing applications": "tests",  # by the stems
    "appli": "tests",  # by its beginning
    "timeuot": "timeouts",  # mistyped
    "timeot": "timeouts",
    "tiimeout": "timeouts",
    "timeeut": "timeouts",
    "frozen": "timeouts",  # a keyword
    "deadline": "timeouts",  # a synonym of a word
    "test client": "tests",  # parts of a name
    "testclient": "tests",
    "ctrl+c": "timeouts",
    "ctrl c": "timeouts",
    "中间件": "中间件",  # in the title
    "服务器": "服务器",
    "抛出异常": "超时",
    "如何编写中间件？": "中间件",
    "卡": "超时",  # one character
    "d": "",  # one letter is no word
    "为什么": "",
    "zebra": "",
    "": "",
    "?!": "",
}
PLACES = {
    "startup-sent": "startup-sent",
    "lifespec.Lifespan.startup": "lifespec.Lifespan.startup",
    "Lifespan.startup()": "lifespec.Lifespan.startup",
    "Choose the timeouts": "choose",
    LOG_LINE: "fails",
    f"2026-11-22 INFO:     {LOG_LINE}": "fails",
    "Timeouts and Ctrl-C": "",
}


def index(entries: dict[str, list[list[Any]]]) -> str:
    pages = {
        name: {"keywords": KEYWORDS.get(name, ""), "entries": each}
        for name, each in entries.items()
    }
    return f"setSearchIndex({json.dumps({'synonyms': SYNONYMS, 'pages': pages})})"


INDEX = index(ENTRIES)


@pytest.fixture(scope="module")
def answers() -> dict[str, list[dict[str, Any]]]:
    """Return the results for each query of the tables, asked together."""
    queries = [*FIRST, *PLACES]
    every = found(INDEX, *queries)
    return {query: each["results"] for query, each in zip(queries, every, strict=True)}


@pytest.mark.parametrize("query", FIRST)
def test_the_first_page(answers: dict[str, list[dict[str, Any]]], query: str) -> None:
    """The one that a reader expects, or none."""
    assert [each["page"] for each in answers[query]][:1] == [
        each for each in [FIRST[query]] if each
    ]


@pytest.mark.parametrize("query", PLACES)
def test_a_result_leads_to_the_place(answers: dict[str, list[dict[str, Any]]], query: str) -> None:
    """To a rule, a name or a section, and to the beginning of a page if its title is asked for."""
    assert answers[query][0]["anchor"] == PLACES[query]


def test_words_that_a_page_lacks_are_named() -> None:
    """Where no page has all words, those that have some are found."""
    both, some = found(INDEX, "server seconds", "server zebra")
    assert both["complete"]
    assert both["results"][0]["missing"] == []
    assert not some["complete"]
    assert some["results"][0]["page"] == "timeouts"
    assert some["results"][0]["missing"] == ["zebra"]


def test_words_that_ask_are_left_out() -> None:
    """No page is about them; alone they are what is asked."""
    (answer, alone) = found(INDEX, "how do I choose a timeout?", "how")
    assert answer["words"] == ["choose", "timeout"]
    assert alone["words"] == ["how"]


def test_a_pair_between_two_chinese_words_is_left_out() -> None:
    """No page has 件服, which stands in none of the two words."""
    (answer,) = found(INDEX, "中间件服务器")
    assert "件服" not in answer["words"]
    assert answer["complete"]


def test_the_sentence_has_the_query() -> None:
    """And not the page's first one; a long one is cut around the word."""
    (answer,) = found(INDEX, "seconds")
    assert answer["results"][0]["sentence"] == "A server waits for 5 seconds."
    long = " ".join(["one two three"] * 50) + " needle " + " ".join(["four five six"] * 50)
    (answer, first) = found(index({"a": [["", "A", long]]}), "needle", "one")
    text = answer["results"][0]["sentence"]
    assert "needle" in text
    assert len(text) < 270
    assert (text[0], text[-1]) == ("…", "…")
    assert first["results"][0]["sentence"].startswith("one two three one")


def test_words_of_the_query_are_marked() -> None:
    """Also with another ending, and in Chinese; not within a word."""
    assert marked("It starts, not restarts.", "start") == [
        ["It ", False],
        ["starts", True],
        [", not restarts.", False],
    ]
    assert marked("服务器超时。", "超时") == [["服务器", False], ["超时", True], ["。", False]]
    assert marked("a+b", "a") == [["a+b", False]]
