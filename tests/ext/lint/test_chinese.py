"""How Chinese is set."""

import pytest

from lifespec_docs.lint import chinese
from lifespec_docs.lint.markup import CODE

HALF = "the half-width %s stands in Chinese: write %s"
SPACE = "a space is missing between Chinese and Latin text or code"


@pytest.mark.parametrize(
    ("prose", "what"),
    [
        ("启动, 关闭", HALF % (",", "，")),
        (f"用 {CODE}; 再用", HALF % (";", "；")),
        ("如下:", HALF % (":", "：")),
        ("启动?", HALF % ("?", "？")),
        ("启动!", HALF % ("!", "！")),
        ("启动 (关闭", HALF % ("(", "（")),
        ("启动）关闭)", HALF % (")", "）")),
        ("启动.", HALF % (".", "。")),
        (f"启动 {CODE}.", HALF % (".", "。")),
        ("启动 a. 关闭", HALF % (".", "。")),
        ("启动「完成", "「 stands in Chinese: write “ ”"),
        ("启动 'x", "' stands in Chinese: write “ ”"),
        ("启动asyncio", SPACE),
        (f"{CODE}启动", SPACE),
        ("第1 章", SPACE),
        ("启动 。", "a space stands beside the full-width mark: delete it"),
        ("启动， 关闭", "a space stands beside the full-width mark: delete it"),
        ("启动 关闭", "a space stands within Chinese: delete it"),
        ("启动 a  b", "two spaces stand together: keep one"),
        ("启动 １", "１ is full-width: write it as ASCII"),
        ("生命周期周期", "the word 周期 stands twice: keep one"),
        ("启动的的", "的 stands twice: keep one"),
        ("启动。。", "。 stands twice: keep one"),
        ("语句体结束", "语句体 has another name on this site: write 代码块"),
        ("启动挂起", "挂起 has another name on this site: write 卡住"),
        ("双可调用对象", "双可调用 has another name on this site: write 两步调用"),
    ],
)
def test_each_fault_is_named_with_its_place(prose: str, what: str) -> None:
    """One sentence says what is there, and what to write."""
    assert [*chinese.faults(prose)] == [f"{what} (in “{prose.replace(CODE, '`…`')}”)."]


def test_three_dots_are_a_fault() -> None:
    """Chinese has two marks of three."""
    assert "three dots stand in Chinese: write …… (in “启动...”)." in chinese.faults("启动...")


def test_chinese_is_what_has_a_chinese_character() -> None:
    """A mark alone is none."""
    assert chinese.is_chinese("a 中")
    assert not chinese.is_chinese("a，")
