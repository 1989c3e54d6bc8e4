"""The words of a report: English as they were found, Chinese as the pages have them."""

import json
from importlib import resources

import pytest

from lifespec.conformance import cases, explain, i18n
from lifespec.conformance.cases import Unchecked
from lifespec.conformance.i18n import ENGLISH, WORDS
from lifespec.validate import SPECS

__all__: list[str] = []

CHINESE = i18n.wording("zh")
FILE = resources.files("lifespec.conformance") / "data" / "words.zh.json"


def test_english_is_what_was_found() -> None:
    """Nothing is read, and nothing changed."""
    assert i18n.wording("en") is ENGLISH
    assert ENGLISH.word("verdict") == "verdict"
    assert ENGLISH.word("%s, checked against %s", "it", "a text") == "it, checked against a text"
    assert ENGLISH.word("100 %") == "100 %"
    assert ENGLISH.title("pagi 0.3") == SPECS["pagi 0.3"].title
    assert ENGLISH.requirement("It answers.", "startup-answered", "a", "asgi 2.0") == "It answers."
    assert ENGLISH.expected("it answers") == "it answers"


@pytest.mark.parametrize(
    ("rule_id", "role", "english", "chinese"),
    [
        ("startup-sent", "server", "Queue `lifespan.startup` once", "放入队列一次"),
        ("startup-sent", "middleware", "The middleware handles", "中间件只处理"),
        ("middleware-passes-on", "middleware", "Await the application", "等待应用程序结束"),
    ],
)
def test_a_hint_in_both_languages(rule_id: str, role: str, english: str, chinese: str) -> None:
    """That for the author of the role."""
    assert english in ENGLISH.hint(rule_id, role)
    assert chinese in CHINESE.hint(rule_id, role)
    assert (
        ENGLISH.hint("crash-may-continue", role) == CHINESE.hint("crash-may-continue", role) == ""
    )


def test_each_word_has_its_chinese() -> None:
    """The file of the package has all of them, and no other."""
    words = json.loads(FILE.read_text(encoding="utf-8"))
    assert list(words) == list(dict.fromkeys(WORDS))
    assert all(words.values())
    assert {word.count("%s") - text.count("%s") for word, text in words.items()} == {0}


@pytest.mark.parametrize("spec", SPECS)
def test_a_text_has_its_name(spec: str) -> None:
    """The one that the pages give it."""
    assert CHINESE.title(spec) == SPECS[spec].title.replace("lifespan ", "生命周期 ").replace(
        " (ASGI)", "（ASGI）"
    )


@pytest.mark.parametrize(
    ("case", "rule_id", "spec", "end"),
    [
        ("start-and-stop", "startup-answered", "asgi 2.0", "%s〔必须 MUST，生命周期 2.0（ASGI）〕"),
        ("start-and-stop", "startup-answered", "pagi 0.3", "%s〔必须 MUST，PAGI 0.3〕"),
        (
            "crashes-while-serving",
            "crash-logged",
            "asgi 2.0",
            "%s〔规范未规定，生命周期 2.0（ASGI）〕",
        ),
        ("crashes-while-serving", "crash-logged", "pagi 0.3", "%s〔应 SHOULD，PAGI 0.3〕"),
        ("hangs-at-startup", "wait-for-startup", "amgi 2.0", "%s〔AMGI 2.0 未规定这种情形〕"),
    ],
)
def test_a_rule_is_worded_as_on_its_page(case: str, rule_id: str, spec: str, end: str) -> None:
    """And the level is that of the text, where it has one for this case."""
    said = CHINESE.requirement("", rule_id, case, spec)
    assert said == end % explain.read("zh")[rule_id].said(spec).replace("\n", "")


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("the process ends by itself", "进程自行结束"),
        ("the output has this text: no database: db-1", "输出里有这段文字：no database: db-1"),
        ("a missing message makes no difference: there is no KeyError", None),
        ("what nobody has worded: x", "what nobody has worded: x"),
    ],
)
def test_what_is_expected(english: str, chinese: str | None) -> None:
    """What follows a colon is the case's own, unless the whole is one phrase."""
    words = json.loads(FILE.read_text(encoding="utf-8"))
    assert CHINESE.expected(english) == (chinese or words[english])


def test_every_expectation_of_the_suite_is_worded() -> None:
    """In Chinese none is as it was in English."""
    for case in cases.load():
        for each in case.expect:
            assert CHINESE.expected(each.says) != each.says, each


def test_a_language_that_is_not_here() -> None:
    """An installation that lacks the file says which."""
    with pytest.raises(Unchecked, match=r"this installation has no .*words\.eo\.json: install"):
        i18n.wording("eo")
