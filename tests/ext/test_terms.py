"""One English term, one Chinese term."""

# ruff: noqa: RUF001 - Chinese marks are what is tested

import re

import pytest

import terms

__all__: list[str] = []

EXAMPLES = {
    "生命周期": "lifespans",
    "应用程序": "the application",
    "服务器": "Servers",
    "作用域": "a scope",
    "事件": "this event",
    "消息": "a message",
    "启动": "at startup",
    "关闭": "shuts down",
    "事件循环": "event loops",
    "可调用对象": "a callable",
    "中间件": "middleware",
    "浅拷贝": "shallow copies",
    "命名空间": "a namespace",
    "状态": "the state",
    "连接池": "connection pools",
    "工作进程": "each worker",
    "谢绝": "declined",
    "崩溃": "crashes",
    "符合性": "conformance",
    "规则": "the clause",
    "异常": "an exception",
    "抛出": "raises",
}


@pytest.mark.parametrize("term", terms.TERMS, ids=lambda term: term.name)
def test_a_term_has_one_translation(term: terms.Term) -> None:
    """It must be there; the sentence names both."""
    english = EXAMPLES[term.chinese]
    assert not [each for each in terms.faults(english, term.chinese) if term.chinese in each]
    found = " ".join(terms.faults(english, "别的"))
    assert f"the Chinese must say {term.chinese}." in found


@pytest.mark.parametrize(
    ("english", "chinese", "wrong"),
    [
        ("the lifespan", "生命周期（寿命）", "寿命"),
        ("the scope", "作用域的范围", "范围"),
        ("a namespace", "命名空间，即名称空间", "名称空间"),
        ("an application", "应用程序，即应用", "应用"),
        ("a callable", "可调用对象可调用", "可调用"),
    ],
)
def test_a_term_has_no_second_translation(english: str, chinese: str, wrong: str) -> None:
    """Also beside the right one."""
    (sentence,) = terms.faults(english, chinese)
    assert sentence.startswith(f"{wrong} stands for")


@pytest.mark.parametrize(
    "english",
    [
        "lifespan.startup",
        "asgi-lifespan",
        "it states that",
        "as a rule",
        "rule out",
        "worker threads",
        "eventual",
        "servers_",
        "scoped",
    ],
)
def test_what_only_looks_like_a_term_is_none(english: str) -> None:
    """Names, verbs and idioms are free."""
    assert list(terms.faults(english, "别的")) == []


def test_some_words_stand_nowhere() -> None:
    """Whatever the English says."""
    assert list(terms.faults("you", "您")) == [
        "您 stands in the Chinese; a specification does not address its reader: leave it out."
    ]


def test_what_no_term_allows_stands_nowhere() -> None:
    """But for words that mean something else where the term does not stand."""
    assert list(terms.faults("It begins.", "它开机。")) == [
        "开机 stands for 'startup': write 启动."
    ]
    assert list(terms.faults("It has a range.", "它有范围。")) == []


def test_a_term_is_known_in_both_languages() -> None:
    """A page that shows the table shows both, untranslated."""
    assert all(map(terms.is_term, ["lifespan", "worker process", "shallow copies", "浅拷贝"]))
    assert not any(map(terms.is_term, ["a lifespan", "浅", "lifespan.startup"]))


def test_the_table_has_no_term_twice() -> None:
    """Else one of the two would be broken always."""
    assert len({term.name for term in terms.TERMS}) == len(terms.TERMS)
    assert all(terms.is_term(term.name) for term in terms.TERMS)
    assert len({term.english for term in terms.TERMS}) == len(terms.TERMS)
    assert len({term.chinese for term in terms.TERMS}) == len(terms.TERMS)
    assert {term.chinese for term in terms.TERMS} == set(EXAMPLES)
    assert all(re.compile(term.never) for term in terms.TERMS)
