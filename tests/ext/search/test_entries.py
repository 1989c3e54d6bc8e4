"""What of a page can be searched for."""

from pathlib import Path

import pytest
from docutils import nodes
from docutils.utils import new_document

from lifespec_docs.rules.edge_cases import case_node
from lifespec_docs.search.entries import Entry, Page, page_of, sentences
from sample_site import SampleSite

__all__: list[str] = []

PAGE = """\
---
myst:
  html_meta:
    keywords: "first steps, hello"
    description: "not searched for"
---

# Welcome

One sentence.  Another
one!

{.no-search}
This is left out.

```python
print(shop.pool)
```
```{output}
3 connections
```

(own-name)=
## A table

| a | b |
|---|---|
| 1 | |

- {rule}`startup-sent`

### Below

:::{rule} startup-sent
It must be sent.
:::

:::{folded} A note
Its text.
:::

```python
1
```

```{glossary}
pool
  Several connections.
```

```{py:function} shop.open(name)
Opens it.
```

```{py:function} shop.shut()
:no-index:
Not named.
```
"""


OTHER = """\
:::{behaviour} answered-once
A second answer is refused.
:::

{rule}`answered-once`

```python
1
```
"""


def page(folder: Path) -> Page:
    """Read a page with all of it."""
    extensions = ("examples.directive", "rules.domain", "examples.folded", "search")
    syntax = ["attrs_block", "colon_fence"]
    pages = {"index": PAGE, "other": OTHER}
    with SampleSite(folder, pages, *extensions, myst_enable_extensions=syntax) as sample:
        return page_of(sample.app.env.get_doctree("index"))


def test_a_page_has_entries(tmp_path: Path) -> None:
    """Sections, rules, terms and Python names; what is printed or marked is left out."""
    found = page(tmp_path)
    assert found.keywords == "first steps, hello"
    assert [(each.anchor, each.title, each.name) for each in found.entries] == [
        ("", "Welcome", False),
        ("own-name", "A table", False),
        ("below", "Below", False),
        ("startup-sent", "startup-sent", True),
        ("term-pool", "pool", True),
        ("shop.open", "shop.open", True),
    ]
    texts = {each.title: each.sentences for each in found.entries}
    assert texts["Welcome"] == ["One sentence.", "Another one!"]
    assert texts["A table"] == ["a · b", "1", "startup-sent"]
    assert texts["Below"] == ["A note", "Its text.", "Not named."]
    assert texts["startup-sent"] == ["It must be sent."]
    assert texts["pool"] == ["Several connections."]
    assert texts["shop.open"] == ["Opens it."]
    assert [*found.entries[0].code] == ["print", "shop.pool"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It runs. It ends.", ["It runs.", "It ends."]),
        ("See e.g. this", ["See e.g. this"]),
        ("启动。关闭！", ["启动。", "关闭！"]),
        ("他说“好。”然后", ["他说“好。”然后"]),
        ("  ", []),
    ],
)
def test_a_text_is_cut_into_sentences(text: str, found: list[str]) -> None:
    """In English where a new one begins, in Chinese at each full stop."""
    assert sentences(text) == found


def test_what_is_empty_at_the_end_is_not_stored() -> None:
    """A sentence is stored once, and code without the words that the text has."""
    bare = Entry("", "A")
    full = Entry("b", "B", name=True, sentences=["x y", "x y"], code={"x": None, "z": None})
    assert bare.packed() == ["", "A"]
    assert full.packed() == ["b", "B", "x y", "z", 1]


def test_each_log_line_of_a_cell_is_apart() -> None:
    """Though they stand in one paragraph; a drawn listing has no words to search for."""
    lines = [nodes.inline("", text, classes=["log-line"]) for text in ("ERROR: one", "two")]
    cells = [nodes.Text("uvicorn")], lines
    row = nodes.row("", *(nodes.entry("", nodes.paragraph("", "", *cell)) for cell in cells))
    listing = nodes.literal_block("call once", "call once", classes=["drawn"])
    document = new_document("a page")
    document += [nodes.tbody("", row), listing]
    (entry,) = page_of(document).entries
    assert entry.sentences == ["uvicorn · ERROR: one · two"]
    assert not entry.code


def test_a_case_is_found_by_its_name() -> None:
    """A term without an anchor is a text like any other: no result could lead to it."""
    case = case_node("", nodes.paragraph("", "The server waits."), name="waits", ids=["waits"])
    term = nodes.definition_list_item(
        "",
        nodes.term("", "pool"),
        nodes.definition("", nodes.paragraph("", "Several connections.")),
    )
    document = new_document("a page")
    document += [case, nodes.definition_list("", term)]
    beginning, found = page_of(document).entries
    assert (found.anchor, found.title, found.name) == ("waits", "waits", True)
    assert found.sentences == ["The server waits."]
    assert beginning.sentences == ["Several connections."]
