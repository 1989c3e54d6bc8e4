"""The words of a rule box: levels, denials, roles and order are the same in both languages."""

import pytest

from lifespec_docs.lint import rules


def told(english: str, chinese: str) -> list[str]:
    """Give what is said of the translation of a rule."""
    return [
        each.removeprefix("in the rule runs ") for each in rules.faults(english, chinese, "runs")
    ]


@pytest.mark.parametrize(
    ("english", "right", "wrong"),
    [
        ("must", "必须", "应"),
        ("must", "必须", "可以"),
        ("must", "必须", ""),
        ("must", "必须", "应用"),
        ("must not", "不得", "不应"),
        ("must not", "不得", "必须"),
        ("should", "应", "可以"),
        ("should", "应", "必须"),
        ("should not", "不应", "应"),
        ("may", "可以", "应"),
        ("may", "可以", "必须"),
    ],
)
def test_another_level_is_a_fault(english: str, right: str, wrong: str) -> None:
    """Weaker or stronger."""
    assert told(f"It {english} run.", f"它{right}运行。") == []
    sentence, *_ = told(f"It {english} run.", f"它{wrong}运行。")
    assert sentence.startswith(f"the levels differ: the English {english}, the Chinese ")


@pytest.mark.parametrize(
    ("english", "chinese", "sentence"),
    [
        ("It must run. It may stop.", "它可以停止。它必须运行。",
         "the levels differ: the English must, may, the Chinese may, must."),
        ("It must run.", "它必须运行，必须停止。",
         "the levels differ: the English must, the Chinese must, must."),
        ("It runs without it.", "它运行。",
         "the number of denials differs: the English 1, the Chinese 0."),
        ("The application and middleware run.", "应用程序运行。",
         "a role is not named: the English application, middleware, the Chinese application."),
        ("The server must stop an application.", "应用程序必须停止服务器。",
         "another role owes the duty: the English server, the Chinese application."),
        ("It waits before it starts.", "启动之后等待。",
         "the order is another one: the English before, the Chinese after."),
        ("After startup it waits.", "启动之前等待。",
         "the order is another one: the English after, the Chinese before."),
    ],
)  # fmt: skip
def test_what_says_something_else_is_a_fault(english: str, chinese: str, sentence: str) -> None:
    assert told(english, chinese) == [sentence]


@pytest.mark.parametrize(
    ("text", "owed"),
    [
        ("The server must. An application should not; it may.", ["server", "application"]),
        ("Where the application raises, the server must go on, and must wait.", ["server"] * 2),
        ("The server must call the application, and must wait.", ["server"] * 2),
        ("After the application’s call, `send` should do nothing.", []),
        ("服务器必须等待；应用程序不得发送。", ["server", "application"]),
        ("应用程序若要阻止服务器启动，必须发送。", ["application"]),
        ("它必须等待。", []),
    ],
)
def test_who_owes_a_duty(text: str, owed: list[str]) -> None:
    """The role that is named last before it, in its own sentence."""
    chinese = not text.isascii() and "’" not in text
    found = list(rules.debtors(text, chinese=chinese))
    assert found[: len(owed)] == owed
    assert set(found) == set(owed)
