"""The words of RFC 2119: a duty is the same in both languages."""

# ruff: noqa: RUF001 - Chinese marks are what is tested

import pytest

import duties

__all__: list[str] = []


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("It must run.", "它必须运行。"),
        ("It must not run, must never run and mustn’t run.", "它不得运行，不得运行，也不得运行。"),
        ("It should run. It should run.", "它应运行。它应当运行。"),
        ("It should run, and should not stop.", "它应该运行，不应停止。"),
        ("It may run in May 2019.", "它可以在 2019 年 5 月运行。"),
        ("The application responds.", "应用程序响应，相应地适应、反应、回应。"),
        ("All is as it should be.", "一切正常。"),
        ("It has no choice.", "它不得不运行。"),
    ],
)
def test_the_words_are_paired(english: str, chinese: str) -> None:
    """Words that only look like one lay no duty on anybody: 应用程序, 响应, 不得不."""
    assert list(duties.faults(english, chinese, rule="runs")) == []
    assert list(duties.faults(english, chinese)) == []


WEAKER = [
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
]


@pytest.mark.parametrize("rule", ["runs", ""])
@pytest.mark.parametrize(("english", "right", "wrong"), WEAKER)
def test_another_level_is_caught(rule: str, english: str, right: str, wrong: str) -> None:
    """In a rule as in other prose, weaker or stronger; the sentence has both words."""
    (first, *_) = duties.faults(f"It {english} run.", f"它{wrong}运行。", rule=rule)
    sentences = " ".join(duties.faults(f"It {english} run.", f"它{wrong}运行。", rule=rule))
    assert f"the English says “{english}” once, the Chinese {right} not once" in sentences
    assert first.startswith("in the rule runs " if rule else "the English")


def test_a_word_that_is_there_too_often_is_caught() -> None:
    """The sentence counts."""
    (sentence,) = duties.faults("It must run.", "它必须运行，必须停止。")
    assert "“must” once, the Chinese 必须 2 times" in sentence


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("It has to run.", "它必须运行。"),
        ("It cannot run.", "它不得运行。"),
        ("It ought to run.", "它应运行。"),
        ("It ought not run.", "它不应运行。"),
        ("It can run.", "它可以运行。"),
        ("It may hang.", "它可能停住。"),
    ],
)
def test_prose_may_say_a_duty_in_other_words(english: str, chinese: str) -> None:
    """A rule may not."""
    assert list(duties.faults(english, chinese)) == []
    assert list(duties.faults(english, chinese, rule="runs")) != []


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
    """The party that is named last before it, in its own sentence."""
    chinese = not text.isascii() and "’" not in text
    found = list(duties.debtors(text, chinese=chinese))
    assert found[: len(owed)] == owed
    assert set(found) == set(owed)


def test_a_text_owes_what_its_rule_says() -> None:
    """Its level, and perhaps a may; nobody else's."""
    right = "The server must wait. It may read."
    assert list(duties.owed(right, "must", "server", chinese=False)) == []
    assert list(duties.owed("服务器必须等待。", "must", "server", chinese=True)) == []
    assert list(duties.owed(right, "should", "application", chinese=False)) == [
        "is a “should” by rules.toml; what its text says is: may, must.",
        "is one of the application by rules.toml; its text lays a duty on the server.",
    ]
    (sentence,) = duties.owed("服务器等待。", "must", "server", chinese=True)
    assert sentence.endswith("what its text says is: nothing.")
