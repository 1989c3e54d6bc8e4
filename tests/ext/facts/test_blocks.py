"""A page in blocks: what there is, where, and what a text belongs to."""

from lifespec_docs.facts.blocks import Block, blocks, sentences, shows

__all__: list[str] = []

PAGE = """\
# Startup

(target)=
One. Two, e.g. this.

```{rule} sent
It must be sent.
```

## Example

- an item

{.real}
```python
print(1)
```
```{output}
1
```

## Table

Text.

| a | b |
|---|---|
| c | d |

## Empty

Nothing.

```sh
make docs
```
```{diagram} a
```
"""


def test_blocks() -> None:
    """Each has a kind, a line, its words, what it is about, and its section."""
    assert blocks(PAGE) == [
        Block("title", 1, "Startup", section="Startup"),
        Block("text", 3, "(target)=\nOne. Two, e.g. this.", section="Startup"),
        Block("rule", 6, "It must be sent.\n", "sent", "Startup"),
        Block("title", 10, "Example", section="Example"),
        Block("text", 12, "an item", section="Example", items=12),
        Block("example", 15, "print(1)\n", "python", "Example"),
        Block("output", 18, "1\n", "{output}", "Example"),
        Block("title", 22, "Table", section="Table"),
        Block("text", 24, "Text.", section="Table"),
        Block("table", 26, "| a | b |\n|---|---|\n| c | d |", section="Table"),
        Block("title", 30, "Empty", section="Empty"),
        Block("text", 32, "Nothing.", section="Empty"),
        Block("code", 34, "make docs\n", "sh", "Empty"),
        Block("drawn", 37, "", "{diagram} a", "Empty"),
    ]


def test_what_a_text_belongs_to() -> None:
    """The example, table or rule that follows in its section, or the last before it."""
    found = blocks(PAGE)
    about = {found[place].text: shows(found, place) for place in range(len(found))}
    assert about["an item"] == found[5]
    assert about["Text."] == found[9]
    assert about["1\n"] == found[5]
    assert shows(blocks("# A\n\nText.\n"), 1) is None


def test_sentences() -> None:
    """They end at a full stop, in either language."""
    assert list(sentences("One, e.g. Two.\n`three` is. {doc}`x`? 一。二。")) == [
        "One, e.g. Two.",
        "`three` is.",
        "{doc}`x`? 一。",
        "二。",
    ]


def test_directives() -> None:
    """One with a colon fence begins before its text, and the text of a section follows it."""
    page = """\
---
myst: {}
---

:::{decision} a
:rules: b

It sends.
:::

```{framework} Starlette
Use `lifespan=`.

- Or not.
```
```{terms}
lifespan
```
"""
    assert blocks(page) == [
        Block("box", 5, "", ":::{decision} a\n:rules: b"),
        Block("text", 8, "It sends."),
        Block("drawn", 11, "", "{framework} Starlette"),
        Block("text", 12, "Use `lifespan=`."),
        Block("text", 14, "Or not.", items=3),
        Block("drawn", 16, "lifespan\n", "{terms}"),
    ]
