"""A translation is held against its message: what it marks up, its numbers, a rule's words."""

import polib
import pytest

from lifespec_docs.i18n.catalogs import Fault, Message, Template
from lifespec_docs.lint.translations import Pair, faults, pairs, sentences

ENGLISH = "The server must send `startup` 2 times, see [here](#a) and {rule}`sent`: **now**."
CHINESE = "服务器必须发送 `startup` 2 次，见[此处](#a)与 {rule}`sent`：**现在**。"


def told(english: str, chinese: str, kind: str = "text", suffix: str = ".md") -> list[str]:
    return list(sentences(Pair("page.po", 7, english, chinese, kind, suffix)))


LACKS, FIGURES = "the Chinese lacks the", "of the English: write it in figures."


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (" `startup` ", " ", [f"{LACKS} literal `startup` of the English."]),
        ("见[此处](#a)", "见此处", [f"{LACKS} link to #a of the English."]),
        ("#a", "#b", [f"{LACKS} link to #a of the English.",
                      "the Chinese has the link to #b, which the English has not."]),
        ("与 {rule}`sent`", "", [f"{LACKS} role {{rule}}`sent` of the English."]),
        (" 2 ", " 两", [f"{LACKS} number 2 {FIGURES}"]),
        (" 2 ", " 3 ", [f"{LACKS} number 2 {FIGURES}",
                        "the Chinese has the number 3, which the English has not."]),
        ("**现在**。", "**现在。**好。",
         [f"{LACKS} bold text of the English: it must end before a full-width mark."]),
        ("必须", "应",
         ["in the rule sent the levels differ: the English must, the Chinese should (应)."]),
        ("服务器", "服务",
         ["in the rule sent a role is not named: the English server, the Chinese nothing."]),
        ("次，", "次,",
         ["the half-width , stands in Chinese: write ， (in “ `…` 2 次,见此处与 `…`”)."]),
    ],
)  # fmt: skip
def test_each_fault_has_its_own_sentence(old: str, new: str, expected: list[str]) -> None:
    assert old in CHINESE
    assert told(ENGLISH, CHINESE.replace(old, new), "rule sent") == expected


def test_a_number_that_is_spelled_in_english_may_be_a_figure_in_chinese() -> None:
    """Not the other way round, and no other number."""
    assert told("It has two or three.", "它有 2 个或 3 个。") == []
    assert told("It has two.", "它有两个。") == []
    assert told("It has two.", "它有 3 个。") != []
    assert told("It has 2.", "它有两个。") != []


@pytest.mark.parametrize(
    ("english", "chinese", "fault"),
    [
        ("Contributing", "Contributing", True),
        ("Uvicorn", "Uvicorn", False),
        ("ASGI", "ASGI", False),
        ("amgi-common 0.49.0", "amgi-common 0.49.0", False),
        ("measured in 0.5", "measured in 0.5", True),
        ("`send`", "`send`", False),
        ("Contributing", "参与", False),
    ],
)
def test_what_has_words_must_have_chinese_words(english: str, chinese: str, fault: bool) -> None:
    """Names stay."""
    assert told(english, chinese) == ["this has no Chinese word: translate it."] * fault


@pytest.mark.parametrize(
    ("text", "suffix", "what"),
    [
        ("1. 一项", ".md", "ordered_list"),
        ("[a]: #b", ".md", "nothing"),
        ("“一*项", ".rst", "paragraph"),
    ],
)
def test_what_sphinx_would_drop_is_a_fault(text: str, suffix: str, what: str) -> None:
    """A translation must be one paragraph, in the markup of its page."""
    (first, *_) = [each for each in told("An item", text, suffix=suffix) if "drop" in each] or [""]
    assert first.startswith(f"the Chinese is read as {what}") or what == "paragraph"


def test_restructured_text_is_held_too() -> None:
    """Its literals are its own."""
    assert told("A ``literal``.", "一个 ``literal``。", suffix=".rst") == []
    assert told("A ``literal``.", "一个 ``literally``。", suffix=".rst") != []


@pytest.mark.parametrize("chinese", ["关闭", "# 关闭\nimport os", "# noqa"])
def test_a_comment_can_be_replaced_by_a_comment_only(chinese: str) -> None:
    """The catalogs' check says so at the entry, before a page is built."""
    assert [each for each in told("# close it", chinese, "comment") if "cannot translate" in each]
    assert told("# close it", "# 关闭它", "comment") == []


def test_a_word_of_ours_keeps_its_placeholders() -> None:
    """Else the page could not be written."""
    assert told("%s messages", "%s 条消息", "word") == []
    assert told("%s messages", "消息", "word") == [
        "the Chinese lacks the literal `%s` of the English."
    ]


def test_the_translated_entries_of_a_catalog_are_checked() -> None:
    """Each as what it is on its page; a fault has the catalog's file and the entry's line."""
    catalog = polib.POFile()
    for english, chinese in [("It must run.", "它应运行。"), ("# x y", "# 译"), ("No", "")]:
        catalog.append(polib.POEntry(msgid=english, msgstr=chinese, linenum=9))
    template = Template("docs/a.md", (Message("It must run.", 1, "rule runs"),))
    rule, comment = pairs(catalog, template, "a.po")
    assert rule == Pair("a.po", 10, "It must run.", "它应运行。", "rule runs", ".md")
    assert comment.kind == "text"
    assert {(fault.file, fault.line) for fault in faults(rule)} == {("a.po", 10)}
    assert next(faults(rule)) == Fault("a.po", 10, next(sentences(rule)))
