"""What of a page can be searched for."""

from pathlib import Path

import pytest

from lifespec_docs.search.entries import Page, page_of, sentences
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
