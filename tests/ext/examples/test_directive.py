"""Examples on pages: found where they stand, run in order, and shown with what was said."""

import re
from pathlib import Path
from typing import Any

import pytest

from lifespec_docs.examples import directive
from sample_site import SampleSite

PLACES = """\
```python
x = 1
```

```{code-block} python
:class: wide

x = 1
```

:::{note}
```python
x = 1
```
:::

- an item

  ```python
  x = 1
  ```

```python


x = 1
```

```{literalinclude} ../x.py
:language: python
```
"""
NOT_RUN = """\
```py
1
```

~~~python3
1
~~~

```
1
```

```{code-block} py
1
```

```{eval-rst}
>>> 1
1
```

:::{note}
```text
1
```
:::

    1
"""


def sample(folder: Path, page: str, **options: Any) -> SampleSite:
    extensions = "examples.directive", "examples.included"
    return SampleSite(folder, {"index": f"# A page\n\n{page}"}, *extensions, **options)


def test_the_line_of_a_block_is_that_of_its_first_line_of_code(tmp_path: Path) -> None:
    """Code that the page does not hold begins where it is asked for."""
    (tmp_path / "x.py").write_text("x = 1\n")
    with sample(tmp_path, PLACES) as built:
        found = directive.blocks(built.app.env)["index"]
        assert [block.line for block in found] == [4, 10, 15, 22, 28, 32]
        assert {(block.page, block.source.strip()) for block in found} == {
            ("docs/index.md", "x = 1")
        }


def test_an_example_that_prints_something_else_is_a_warning(tmp_path: Path) -> None:
    """It names page and line, once; of those below it, what runs by itself is told, too."""
    page = "```python\nprint(1)\n```\n```{output}\n2\n```\n\n```python\nunknown\n```\n"
    page += "\n{.real}\n```python\nunknown\n```\n"
    with sample(tmp_path, page) as built:
        warning, other = [line for line in built.warnings if "WARNING" in line]
        assert other.startswith("docs/index.md:16: WARNING: The example ended with status 1")
        assert warning.startswith("docs/index.md:7: WARNING: ")
        assert "docs/index.md" not in warning[20:]


def test_output_that_belongs_to_no_block_and_a_file_that_is_not_there_are_warnings(
    tmp_path: Path,
) -> None:
    page = "```{output}\n1\n```\n\n```python\nprint(2)\n```\n\nText.\n\n```{output}\n2\n```\n"
    page += "\n```{shown} ../file.py\n```\n"
    with sample(tmp_path, page, examples_run=False) as built:
        second, file, first = sorted(built.warnings)
        assert file.startswith("docs/index.md:17: WARNING: Include file")
        for line, told in (3, first), (13, second):
            assert told == (
                f"docs/index.md:{line}: WARNING: This output has no program directly above it."
            )


def test_where_a_need_is_missing_the_page_says_so(tmp_path: Path) -> None:
    """The recorded output stays, and the block is counted as not run."""
    page = "{.real .needs-no-such-program}\n```python\nprint(1)\n```\n```{output}\n1\n```\n"
    with sample(tmp_path, page) as built:
        note = built.page().find("p", class_="not-run").string
        assert note == "Not run here, for want of no-such-program. The output was recorded."
        (page_known,) = directive.pages(built.app.env).values()
        assert page_known.run == 0
        assert page_known.not_run == ["docs/index.md:5 (no-such-program)"]


def test_the_usual_course_of_a_lifespan_is_not_shown_again(tmp_path: Path) -> None:
    """The front page draws it; one that took time, or failed, has its event log."""
    page = """
```python
import asyncio
from lifespec import Lifespan

async def app(scope, receive, send):
    for name in "startup", "shutdown":
        await receive()
        await send({"type": f"lifespan.{name}.complete"})

async def start(seconds):
    async with Lifespan(app):
        await asyncio.sleep(seconds)

asyncio.run(start(0))
```

```python
asyncio.run(start(2))
```
"""
    with sample(tmp_path, page) as built:
        assert built.warnings == []
        (log,) = built.page().select("details.said summary")
    assert log.string == "Event log: 6 entries in 2 s"


def test_a_page_read_again_is_known_once_and_one_that_is_gone_is_not(tmp_path: Path) -> None:
    """What it held before is forgotten; and a build that failed writes nothing."""
    with sample(tmp_path, "```python\nx = 1\n```\n", builder="dummy") as built:
        known = Path(built.app.doctreedir, "examples.json")
        known.unlink()
        directive.write_programs(built.app, ValueError())
        assert not known.exists()
        (built.docs / "index.md").write_text("# A page\n")
        (built.docs / "other.md").write_text("# Another\n")
        built.app.build()
        assert directive.blocks(built.app.env) == {"index": [], "other": []}
        (built.docs / "other.md").unlink()
        built.app.build()
        assert directive.blocks(built.app.env) == {"index": []}


def test_a_block_that_is_not_run_says_so_however_it_is_spelled(tmp_path: Path) -> None:
    with sample(tmp_path, NOT_RUN) as built:
        said = "docs/index.md:.*This block is not run: write python, pycon or perl"
        assert [bool(re.match(said, line)) for line in built.warnings] == [True] * 7


@pytest.mark.parametrize(
    ("library", "told"),
    [
        ("asyncio", "index.md:7: WARNING: What stands above is not so, on asyncio"),
        ("curio", "A check runs on asyncio trio, not on 'curio'."),
    ],
)
def test_a_check_that_fails_or_runs_on_no_library_is_a_warning(
    tmp_path: Path, library: str, told: str
) -> None:
    with sample(
        tmp_path, f"It is `1`.\n\n```{{check}} {library}\nx = 2\nassert x == 1\n```\n"
    ) as built:
        assert told in "".join(built.warnings)
