"""Examples on pages: found where they stand, run in order, and shown with what was said."""

from pathlib import Path
from typing import Any

import pytest

from lifespec_docs.examples import directive
from lifespec_docs.examples.runner import Example
from sample_site import SampleSite

__all__: list[str] = []


def sample(folder: Path, page: str, **options: Any) -> SampleSite:
    """Return one page with examples."""
    return SampleSite(folder, {"index": f"# A page\n\n{page}"}, "examples.directive", **options)


def only(built: SampleSite) -> Example:
    """Return the page's one block."""
    (block,) = directive.blocks(built.app.env)["index"]
    return block


def test_a_block_knows_its_page_and_the_line_of_its_code(tmp_path: Path) -> None:
    """The line is that of the first line of code, not of the fence."""
    with sample(tmp_path, "```python\nx = 1\n```\n") as built:
        assert only(built) == Example("docs/index.md", 4, "python", "x = 1\n", None)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("```{code-block} python\n:class: wide\n\nx = 1\n```\n", 6),
        (":::{note}\n```python\nx = 1\n```\n:::\n", 5),
        ("- an item\n\n  ```python\n  x = 1\n  ```\n", 6),
        ("```python\n\n\nx = 1\n```\n", 6),
    ],
)
def test_the_line_is_found_below_options_and_in_other_blocks(
    tmp_path: Path, text: str, line: int
) -> None:
    """Wherever a block stands, its line is the page's."""
    with sample(tmp_path, text) as built:
        assert only(built).line == line


def test_the_line_of_a_block_from_another_file_is_below_its_place(tmp_path: Path) -> None:
    """Code that the page does not hold begins where it is asked for."""
    (tmp_path / "x.py").write_text("x = 1\n")
    with sample(tmp_path, "```{literalinclude} ../x.py\n:language: python\n```\n") as built:
        assert only(built).line == 4


def test_an_example_that_prints_something_else_is_a_warning(tmp_path: Path) -> None:
    """It names page and line, once, and the examples below it are not tried."""
    page = "```python\nprint(1)\n```\n```{output}\n2\n```\n\n```python\nunknown\n```\n"
    with sample(tmp_path, page) as built:
        (warning,) = [line for line in built.warnings if "WARNING" in line]
        assert warning.startswith("docs/index.md:4: WARNING: ")
        assert "docs/index.md" not in warning[20:]


def test_output_that_belongs_to_no_block_is_a_warning(tmp_path: Path) -> None:
    """It stands directly below a python block, or it is never compared."""
    page = "```{output}\n1\n```\n\n```python\nprint(2)\n```\n\nText.\n\n```{output}\n2\n```\n"
    with sample(tmp_path, page, examples_run=False) as built:
        assert built.warnings == [
            f"docs/index.md:{line}: WARNING: This output has no program directly above it."
            for line in (3, 13)
        ]


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


def test_examples_can_be_read_without_running(tmp_path: Path) -> None:
    """The tests read the pages so."""
    with sample(tmp_path, "```python\nunknown\n```\n", examples_run=False) as built:
        assert only(built).source == "unknown\n"
        assert not built.warnings


def test_a_build_that_failed_writes_nothing(tmp_path: Path) -> None:
    """There is nothing to be sure of."""
    with sample(tmp_path, "```python\nx = 1\n```\n", builder="dummy") as built:
        known = Path(built.app.doctreedir, "examples.json")
        known.unlink()
        directive.write_programs(built.app, ValueError())
        assert not known.exists()


def test_a_page_read_again_is_known_once(tmp_path: Path) -> None:
    """What it held before is forgotten."""
    with sample(tmp_path, "```python\nx = 1\n```\n", builder="dummy") as built:
        (built.docs / "index.md").write_text("# A page\n")
        built.app.build()
        assert directive.blocks(built.app.env) == {"index": []}


@pytest.mark.parametrize(
    "block",
    [
        "```py\n1\n```",
        "~~~python3\n1\n~~~",
        "```\n1\n```",
        "```text\n1\n```",
        "```{code-block} py\n1\n```",
        "    1",
        "```{eval-rst}\n>>> 1\n1\n```",
        ":::{note}\n```py\n1\n```\n:::",
    ],
)
def test_a_block_that_is_not_run_says_so_however_it_is_spelled(tmp_path: Path, block: str) -> None:
    """Else nobody would see that it is not held."""
    with sample(tmp_path, f"{block}\n") as built:
        (warning,) = built.warnings
        assert "This block is not run: write python, pycon or perl" in warning
        assert warning.startswith("docs/index.md:")


def test_what_need_not_be_run_is_left_alone(tmp_path: Path) -> None:
    """Commands, settings, and what says that it is not run."""
    page = "```sh\nls\n```\n\n```toml\na = 1\n```\n\n{.not-run}\n```py\n1\n```\n"
    with sample(tmp_path, page) as built:
        assert built.warnings == []


def test_a_check_is_folded_and_fails_where_it_stands(tmp_path: Path) -> None:
    """It uses the names of the page, runs on the libraries that it names, and shows no output."""
    page = (
        "```python\nx = 1\n```\n\n- It is `1`.\n\n  ```{check} asyncio\n  print(x)\n"
        "  assert x == 1\n  ```\n"
    )
    with sample(tmp_path, page) as built:
        _, check = directive.blocks(built.app.env)["index"]
        assert (check.kind, check.line, check.run_by) == ("check", 10, "asyncio")
        assert len(built.page().select("li > details.check pre")) == 1
    false = tmp_path / "false"
    false.mkdir()
    with sample(false, page.replace("x == 1", "x == 2")) as built:
        warning, *_ = built.warnings
    assert "index.md:11: WARNING: What stands above is not so, on asyncio" in warning


def test_a_check_on_another_library_is_refused(tmp_path: Path) -> None:
    """Else it would run on none."""
    with sample(tmp_path, "It is `1`.\n\n```{check} curio\nassert 1\n```\n") as built:
        warning = "".join(built.warnings)
    assert "A check runs on asyncio trio, not on 'curio'." in warning
