"""What both languages say equally often: denials, parties, and terms that are easily exchanged."""

# ruff: noqa: RUF001 - Chinese marks are what is tested

import pytest

import tallies

__all__: list[str] = []


def told(english: str, chinese: str, note: str = "", rule: str = "") -> str:
    """Return what is said of a translation."""
    return " ".join(tallies.faults(english, chinese, note, rule))


@pytest.mark.parametrize(
    ("english", "chinese", "wrong"),
    [
        ("It does not run.", "它不运行。", ""),
        ("It runs.", "它不运行。", "not once, the Chinese once"),
        ("It does not run.", "它运行。", "once, the Chinese not once"),
        ("Nobody runs without it.", "没有它就运行。", "2 times, the Chinese once"),
        ("A missing key is empty, and nothing else.", "若没有该键，则为空，别无其他。", ""),
        ("Whatever it does.", "无论它做什么，不论何时，不仅如此。", ""),
        ("Both are asked (2019, open).", "两者都要求（2019 年，未关闭）。", ""),
        ("It is open.", "它开着。", ""),
    ],
)
def test_what_is_denied(english: str, chinese: str, wrong: str) -> None:
    """As often in one language as in the other; words that only look so deny nothing."""
    sentence = told(english, chinese)
    assert wrong in sentence
    assert bool(wrong) == bool(sentence)


def test_who_is_named() -> None:
    """As often; names that only have the word in them are no party."""
    assert told("The server starts the application.", "服务器启动应用程序。") == ""
    assert told("Debian’s redis-server, SERVER (Servers)", "它") == ""
    sentence = told("Servers start a server.", "服务器启动。")
    assert sentence.startswith("the English says “server” 2 times, the Chinese 服务器 once")
    assert "应用程序 once" in told("It starts.", "应用程序启动。")


@pytest.mark.parametrize(
    ("english", "chinese", "other"),
    [
        ("the scope", "作用域", "范围"),
        ("a message", "消息", "事件"),
        ("the state", "状态", "情况"),
        ("States", "状态", "情况"),
    ],
)
def test_a_term_is_said_as_often(english: str, chinese: str, other: str) -> None:
    """So that none of several can become another word."""
    assert told(english, chinese) == ""
    assert told(f"{english} and {english}", f"{chinese}和{other}") != ""


def test_a_verb_is_no_term() -> None:
    """Who states that something is so names no state."""
    assert told("It states that something is so.", "它说如此。") == ""


@pytest.mark.parametrize(
    ("english", "chinese", "same"),
    [
        ("It waits before it starts.", "启动之前等待。", True),
        ("It waits before it starts.", "启动之后等待。", False),
        ("After startup it waits.", "启动之前等待。", False),
        ("It waits after startup and before shutdown.", "启动之后等待。", True),
        ("It waits, then starts.", "启动之前等待。", True),
    ],
)
def test_what_is_before_is_not_after(english: str, chinese: str, same: bool) -> None:  # noqa: FBT001
    """Where each language has one of the two words, it is the same one; or the entry says why."""
    sentence = told(english, chinese)
    assert bool(sentence) is not same
    assert told(english, chinese, "order: +1") != sentence
    if not same:
        assert sentence.startswith("the one language says “before”, the other “after”: where both")


def test_an_entry_says_where_chinese_has_its_own_way() -> None:
    """By the number of times; with another number, or where nothing differs, it is wrong."""
    english, chinese = "It ends before it starts.", "服务器还没有启动就结束。"
    assert told(english, chinese, "denials: +1, server: +1") == ""
    assert told(english, chinese, "denials: +1\nserver: +1") == ""
    assert "“server” not once" in told(english, chinese, "denials: +1")
    assert "write `# server: +1` above the message" in told(english, chinese, "denials: +1")
    sentence = told("It runs.", "它运行。", "denials: -1")
    assert "and the entry states -1" in sentence
    assert sentence.endswith("write no such comment.")
    assert told("It runs.", "它运行。", "events: +1").startswith("events is not counted, only den")


def test_no_entry_excuses_a_rule() -> None:
    """What a rule denies, both languages deny; parties may be named more often."""
    sentence = told("It must run.", "它不得运行。", "denials: +1", rule="runs")
    assert sentence.startswith("in the rule runs the English denies something not once")
    assert sentence.endswith("a rule denies what the original does.")
    assert told("It must run.", "服务器必须运行。", "server: +1", rule="runs") == ""
