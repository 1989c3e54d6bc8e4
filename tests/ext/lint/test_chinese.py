"""How Chinese is set."""

import pytest

from lifespec_docs.lint import chinese
from lifespec_docs.lint.markup import CODE, UNKNOWN

__all__: list[str] = []


@pytest.mark.parametrize(
    "prose",
    [
        f"服务器先发送 {CODE}，再等待 10 秒；见{UNKNOWN}。",
        "它说：“启动”（见 RFC 2119）！",
        "Python 3.11、asyncio 与 HTTP/1.1 都可以。",
        "在 10:30 启动；共 1,000 次，占 50%。",
        "它说“yes, it is: (so)”。",
        "一步一步，常常如此。",
        "这是目的的一种，介绍了了解的方法……",
        'Latin only, with (half-width) marks. It\'s "free".',
        "",
    ],
)
def test_good_chinese_has_no_faults(prose: str) -> None:
    """Full-width marks, spaces around Latin text and code, none beside a mark."""
    assert list(chinese.faults(prose)) == []


@pytest.mark.parametrize(
    ("prose", "sentence"),
    [
        ("启动, 关闭", "the half-width , stands in Chinese: write ， (in “启动, 关闭”)."),
        (f"用 {CODE}; 再用", "the half-width ; stands in Chinese: write ； (in “用 `…`; 再用”)."),
        ("如下:", "the half-width : stands in Chinese: write ： (in “如下:”)."),
        ("启动?", "the half-width ? stands in Chinese: write ？ (in “启动?”)."),
        ("启动!", "the half-width ! stands in Chinese: write ！ (in “启动!”)."),
        ("启动 (关闭", "the half-width ( stands in Chinese: write （ (in “启动 (关闭”)."),
        ("启动）关闭)", "the half-width ) stands in Chinese: write ） (in “启动）关闭)”)."),
        ("启动.", "the half-width . stands in Chinese: write 。 (in “启动.”)."),
        (f"启动 {CODE}.", "the half-width . stands in Chinese: write 。 (in “启动 `…`.”)."),
        ("启动 asyncio. 关闭", "the half-width . stands in Chinese: write 。 (in “syncio. 关闭”)."),
        ("启动「完成", "「 stands in Chinese: write “ ” (in “启动「完成”)."),
        ("启动 'x", "' stands in Chinese: write “ ” (in “启动 'x”)."),
        (
            "启动asyncio",
            "a space is missing between Chinese and Latin text or code (in “启动asyncio”).",
        ),
        (
            f"{CODE}启动",
            "a space is missing between Chinese and Latin text or code (in “`…`启动”).",
        ),
        ("第1 章", "a space is missing between Chinese and Latin text or code (in “第1 章”)."),
        ("启动 。", "a space stands beside the full-width mark: delete it (in “启动 。”)."),
        ("启动， 关闭", "a space stands beside the full-width mark: delete it (in “启动， 关闭”)."),
        ("启动 关闭", "a space stands within Chinese: delete it (in “启动 关闭”)."),
        ("启动 a  b", "two spaces stand together: keep one (in “启动 a  b”)."),
        ("启动 １", "１ is full-width: write it as ASCII (in “启动 １”)."),
        ("生命周期周期", "the word 周期 stands twice: keep one (in “生命周期周期”)."),
        ("启动的的", "的 stands twice: keep one (in “启动的的”)."),
        ("启动。。", "。 stands twice: keep one (in “启动。。”)."),
        (
            "语句体结束",
            "语句体 has another name on this site: write 代码块 (in “语句体结束”).",
        ),
        ("启动挂起", "挂起 has another name on this site: write 卡住 (in “启动挂起”)."),
        (
            "双可调用对象",
            "双可调用 has another name on this site: write 两步调用 (in “双可调用对象”).",
        ),
    ],
)
def test_each_fault_is_named_with_its_place(prose: str, sentence: str) -> None:
    """One sentence says what is there, and what to write."""
    assert list(chinese.faults(prose)) == [sentence]


def test_three_dots_are_a_fault() -> None:
    """Chinese has two marks of three."""
    assert "three dots stand in Chinese: write …… (in “启动...”)." in chinese.faults("启动...")


def test_chinese_is_what_has_a_chinese_character() -> None:
    """A mark alone is none."""
    assert chinese.is_chinese("a 中")
    assert not chinese.is_chinese("a，")
