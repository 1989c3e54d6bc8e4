"""Two copies of one page, side by side."""

import pytest

from lifespec_docs.i18n.compare_pages import Piece, faults, pieces

__all__: list[str] = []

PAGE = """\
# A title

A text.

| a | b |
|---|---|
| c | d |

- item

```python
a = 1  # one
```

    indented
"""


def told(english: str, chinese: str) -> list[str]:
    """Give the faults of a Chinese page."""
    return [str(each) for each in faults(english, chinese, "zh.md")]


def fenced(code: str, language: str = "python") -> str:
    """Make a page of one block."""
    return f"~~~{language}\n{code}\n~~~\n"


def test_a_page_is_its_texts_and_its_code() -> None:
    """Each with its line; code with the line where it begins."""
    assert list(pieces(PAGE)) == [
        Piece("title", 1, "A title"),
        Piece("text", 3, "A text."),
        Piece("cell", 5, "a"),
        Piece("cell", 5, "b"),
        Piece("cell", 7, "c"),
        Piece("cell", 7, "d"),
        Piece("text", 9, "item"),
        Piece("code", 12, "a = 1  # one\n", "python"),
        Piece("code", 15, "indented\n"),
    ]


def test_a_text_is_held_to_the_checks_of_the_catalogs() -> None:
    """Literals, numbers, duties, terms, marks."""
    assert told("Text.\n\nThe server has 2.", "正文。\n\n服务器有 3 个。") == [
        "zh.md:3: the Chinese lacks the number 2 of the English: write it in figures.",
        "zh.md:3: the Chinese has the number 3, which the English has not.",
    ]


@pytest.mark.parametrize(
    ("english", "chinese", "is_", "should"),
    [
        ("Text.", "正文。\n\n正文。", "a text", "nothing"),
        ("Text.\n\nText.", "正文。", "nothing", "a text"),
        ("# Title", "正文。", "a text", "a title"),
        ("Text.", fenced("a"), "a code", "a text"),
    ],
)
def test_another_order_is_told_once(english: str, chinese: str, is_: str, should: str) -> None:
    """What follows cannot be compared."""
    (sentence,) = told(english, chinese)
    assert sentence.endswith(f": the Chinese page has {is_} where the English has {should}.")


def test_a_translated_comment_is_no_drift() -> None:
    """All else in a program is."""
    assert told(fenced("a = 1  # one"), fenced("a = 1  # 一")) == []
    assert told(fenced("a = 1  # one"), fenced("a = 2  # 一")) == [
        "zh.md:2: the Chinese page's code has 'a = 2  #' where the English has 'a = 1  #'."
    ]


def test_code_that_does_not_compile_is_told_with_its_line() -> None:
    """And nothing more of that block."""
    (sentence,) = told(fenced("if a:\n    b"), fenced("if a:\nb"))
    why = "expected an indented block after 'if' statement on line 1"
    assert sentence == f"zh.md:3: the code does not compile: {why}."


def test_of_other_code_every_letter_counts() -> None:
    """What is not known to have comments has none."""
    assert told(fenced("# a", "text"), fenced("# a", "text")) == []
    assert len(told(fenced("# a", "text"), fenced("# b", "text"))) == 1
