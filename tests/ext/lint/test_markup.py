"""A message, taken apart as Sphinx will: what it marks up, and the prose a reader sees."""

from collections import Counter

import pytest

from lifespec_docs.lint.markup import CODE, UNKNOWN, parse

INLINE = frozenset({"attrs_inline"})


def test_markdown_is_parsed_as_the_pages_are() -> None:
    """Literals, roles with their targets, links and emphasis are counted, not their places."""
    parts = parse(
        "A `code`, {rule}`sent`, {term}`scope`, {term}`作用域 <scope>`, [text](#a){.x}, **bold**"
        " and *it*\\_ali\\_c <https://a.b/?c=1> `code` ![alt](x.svg)<br>.",
        "text",
        ".md",
        INLINE,
    )
    assert parts.literals == Counter({"code": 2, "<br>": 1})
    assert parts.roles == Counter({"{rule}`sent`": 1, "{term}`scope`": 2})
    assert parts.links == Counter(["#a", "https://a.b/?c=1", "x.svg"])
    assert parts.emphasis == Counter(["bold", "italic"])
    assert parts.prose == (
        f"A {CODE}, {CODE}, scope, 作用域, text, bold and it_ali_c {CODE} {CODE} alt{CODE}."
    )
    assert parts.blocks == ["paragraph"]


def test_restructured_text_is_parsed_too() -> None:
    """Pages of the interface are written in it; its roles need not be known."""
    parts = parse(
        "A ``code``, :rule:`sent`, :term:`作用域 <scope>`, `text <http://a.b>`_, `name`_, "
        "**bold** and *italic*, https://c.d",
        "text",
        ".rst",
    )
    assert parts.literals == Counter(["code"])
    assert parts.roles == Counter(["{rule}`sent`", "{term}`scope`"])
    assert parts.links == Counter(["http://a.b", "name", "https://c.d"])
    assert parts.emphasis == Counter(["bold", "italic"])
    assert parts.prose == f"A {CODE}, {CODE}, 作用域, text, name, bold and italic, {CODE}"
    assert parts.blocks == ["paragraph"]


@pytest.mark.parametrize(
    ("text", "prose"),
    [
        ("see {ref}`a`.", f"see {UNKNOWN}."),
        ("see {ref}`there <a>`.", "see there."),
        ("see [](#a).", f"see {UNKNOWN}."),
        ("two\nlines\\\nand more", "two lines and more"),
        ("**`a`** b", f"{CODE} b"),
    ],
)
def test_prose_is_what_a_reader_sees(text: str, prose: str) -> None:
    """What Sphinx fills in is not known here."""
    assert parse(text, "text", ".md").prose == prose


@pytest.mark.parametrize(
    ("text", "suffix", "blocks"),
    [
        ("1. x", ".md", ["ordered_list"]),
        ("# x", ".md", ["heading"]),
        ("[a]: b", ".md", []),
        ("1. x", ".rst", ["enumerated_list"]),
        ("a *b", ".rst", ["paragraph", "system_message"]),
    ],
)
def test_a_message_that_is_no_paragraph_is_seen(text: str, suffix: str, blocks: list[str]) -> None:
    """Sphinx drops such a translation without a word."""
    assert parse(text, "text", suffix).blocks == blocks


def test_bold_that_ends_behind_a_full_width_mark_is_no_bold() -> None:
    """CommonMark reads it so."""
    assert not parse("**注意：**文字", "text", ".md").emphasis
    assert parse("**注意**：文字", "text", ".md").emphasis == Counter(["bold"])


@pytest.mark.parametrize(
    ("text", "literals", "prose"),
    [
        ("# open it, e.g. now", [], "open it, e.g. now"),
        (
            '# a.b "c d" `e` f() g[1] h_i a.b()',
            ["a.b", '"c d"', "`e`", "f()", "g[1]", "h_i", "a.b()"],
            " ".join([CODE] * 7),
        ),
        ("#: in 3.11", [], "in 3.11"),
        ("# [state-shallow-copy] again", ["[state-shallow-copy]"], f"{CODE} again"),
    ],
)
def test_a_comment_is_no_markdown(text: str, literals: list[str], prose: str) -> None:
    """What looks like code in it is code."""
    parts = parse(text, "comment", ".md")
    assert (parts.literals, parts.prose) == (Counter(literals), prose)


def test_a_word_of_ours_has_placeholders_and_code() -> None:
    """They are what must not be lost."""
    parts = parse("%s: {count} `messages`", "word", ".py")
    assert (parts.literals, parts.prose) == (
        Counter(["%s", "{count}", "`messages`"]),
        f"{CODE}: {CODE} {CODE}",
    )
