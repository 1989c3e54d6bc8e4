"""What Sphinx draws of the blocks that pytest runs."""

import json
from collections.abc import Callable
from textwrap import indent

import pytest
from bs4 import BeautifulSoup
from samples import Sample

from lifespec_docs.blocks import joined
from lifespec_pages.page import Block

PAGE = """\
# Title

True.

```{check} asyncio
assert "a" < "b"
```

```python
print("never run by Sphinx")
raise ValueError("a")
```
```{output}
<seen>
Traceback (most recent call last):
ValueError: a
```

```{shown} a.py
```

:::{folded} A `title`
Text.
:::
"""


def test_a_page_draws_its_blocks_and_runs_nothing(build: Callable[..., Sample]) -> None:
    """The page of the command line has no ✓."""
    tree = "\n```{toctree}\ncommand-line\n```\n"
    files = {"index.md": PAGE + tree, "command-line.md": PAGE, "a.py": "a = 1\n"}
    site = build(files, extensions=["myst_parser", "lifespec_docs.blocks"])
    assert site.warnings == ""
    page, other = site.page(), site.page("command-line")
    assert [each.text for each in page.select("details.check > summary")] == ["✓"]
    (folded,) = page.select("details.check")
    assert folded["data-checks"] == "_checks/index.js"
    script = site.text("_checks/index.js").removeprefix("showChecks(").removesuffix(");\n")
    (check,) = (BeautifulSoup(each, "html.parser") for each in json.loads(script))
    assert 'assert "a" < "b"' in check.text
    assert [each["href"] for each in check.select("a")] == ["contributing.html#prove"]
    assert [each.text[:6] for each in page.select(".output")] == ["<seen>"]
    assert [each.text.strip() for each in page.select(".shown.highlight-python")] == ["a = 1"]
    assert [each.text for each in page.select("details.folded > summary")] == ["A title"]
    assert other.select("details.folded")
    assert not other.select("details.check")
    assert "never run by Sphinx" in site.text("_programs/index.py")


NEEDS = """\
# Title

```python
import asyncio

def serve(app): asyncio.run(app())
```

```python
async def app(): print("one")
def twice(app): serve(app)
```

{.real}
```python
async def app(): print("alone")
serve = twice = None
```

```python
async def app(): print("two")
twice(app)
```
"""


def test_a_program_is_marked_with_those_that_define_its_names(build: Callable[..., Sample]) -> None:
    """Names of its own, and those of programs that run alone, need nothing."""
    site = build({"index.md": NEEDS}, extensions=["myst_parser", "lifespec_docs.blocks"])
    marks = [
        [name for name in each["class"] if name.startswith(("program-", "needs-"))]
        for each in site.page().select("div.highlight-python")
    ]
    assert marks == [
        ["program-0"],
        ["program-1", "needs-0"],
        [],
        ["program-2", "needs-0", "needs-1"],
    ]


def test_the_programs_of_a_page_go_on_after_an_exception_that_it_shows() -> None:
    shown = "Traceback (most recent call last):\nValueError"
    first = Block("a", 1, "program", "a = 1\nraise ValueError", output=shown)
    text = joined([first, Block("a", 9, "program", "print(a)")])
    assert text == (
        "import traceback\n\n\na = 1\ntry:\n    raise ValueError\n"
        "except Exception:\n    traceback.print_exc()\n\n\nprint(a)\n"
    )


@pytest.mark.parametrize(("language", "text"), [("en", "seen"), ("zh_CN", "看见")])
def test_a_chinese_output_takes_the_place_of_the_other_on_chinese_pages(
    build: Callable[..., Sample], language: str, text: str
) -> None:
    shell = "{.real}\n```sh\na\n```\n```{output}\nseen\n```\n```{output} zh\n看见\n```\n"
    files = {"index.md": f"# A\n\n- b\n\n{indent(shell, '  ')}"}
    site = build(files, extensions=["myst_parser", "lifespec_docs.blocks"], language=language)
    assert site.warnings == ""
    assert [each.text.strip() for each in site.page().select("pre")] == ["a", text]
