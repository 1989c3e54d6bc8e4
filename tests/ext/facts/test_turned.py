"""Which words one language changed, and the other did not."""

import pytest

from lifespec_docs.facts.turned import Texts, turned

OLD = Texts("The server waits before it starts.", "服务器启动之前会等待。")


@pytest.mark.parametrize(
    ("english", "chinese", "told"),
    [
        (
            OLD.english,
            "服务器启动之后会等待。",
            ["the Chinese alone changed a word of order: 之前 → 之后"],
        ),
        (
            "The server waits after it starts.",
            OLD.chinese,
            ["the English alone changed a word of order: before → after"],
        ),
        ("The server waits after it starts.", "服务器启动之后会等待。", []),
        (
            OLD.english,
            "服务器启动之前不会等待。",
            ["the Chinese alone changed a word of denial: – → 不"],
        ),
        (
            OLD.english,
            "应用程序启动之前会等待。",
            ["the Chinese alone changed a word of party: 服务器 → 应用程序"],
        ),
        (OLD.english, "服务器在启动之前等待。", []),
        (OLD.english, "无论如何，服务器启动之前会等待。", []),
        (OLD.english, "", []),
    ],
)
def test_what_one_language_alone_changed(english: str, chinese: str, told: list[str]) -> None:
    assert list(turned(OLD, Texts(english, chinese))) == told
