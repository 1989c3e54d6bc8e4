"""What Sphinx draws of the blocks that pytest runs."""

import subprocess
import sys
from pathlib import Path
from textwrap import indent

import pytest
from bs4 import BeautifulSoup

from lifespec_docs.blocks import joined
from lifespec_pages.page import Block

EXT = Path(__file__).resolve().parents[2] / "docs" / "_ext"
CONF = f"""\
import sys
sys.path.insert(0, {str(EXT)!r})
extensions = ["myst_parser", "lifespec_docs.blocks"]
myst_enable_extensions = ["attrs_block", "colon_fence"]
html_theme = "basic"
"""
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


def test_a_page_draws_its_blocks_and_runs_nothing(tmp_path: Path) -> None:
    """The page of the command line has no ✓."""
    (tmp_path / "conf.py").write_text(CONF)
    (tmp_path / "a.py").write_text("a = 1\n")
    (tmp_path / "index.md").write_text(f"{PAGE}\n```{{toctree}}\ncommand-line\n```\n")
    (tmp_path / "command-line.md").write_text(PAGE)
    command = [sys.executable, "-m", "sphinx", "-q", "-W", str(tmp_path), str(tmp_path / "out")]
    subprocess.run(command, check=True, timeout=120)
    page, other = (
        BeautifulSoup((tmp_path / "out" / f"{name}.html").read_text(), "html.parser")
        for name in ("index", "command-line")
    )
    assert [each.text for each in page.select("details.check > summary")] == ["✓"]
    (check,) = page.select("details.check")
    assert 'assert "a" < "b"' in check.text
    assert [each["href"] for each in check.select("a")] == ["contributing.html#prove"]
    assert [each.text[:6] for each in page.select(".output")] == ["<seen>"]
    assert [each.text.strip() for each in page.select(".shown.highlight-python")] == ["a = 1"]
    assert [each.text for each in page.select("details.folded > summary")] == ["A title"]
    assert other.select("details.folded")
    assert not other.select("details.check")
    program = (tmp_path / "out" / "_programs" / "index.py").read_text()
    assert "never run by Sphinx" in program


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
    tmp_path: Path, language: str, text: str
) -> None:
    (tmp_path / "conf.py").write_text(CONF)
    shell = "{.real}\n```sh\na\n```\n```{output}\nseen\n```\n```{output} zh\n看见\n```\n"
    (tmp_path / "index.md").write_text(f"# A\n\n- b\n\n{indent(shell, '  ')}")
    build = [tmp_path, tmp_path / "out", "-D", f"language={language}"]
    command = [sys.executable, "-m", "sphinx", "-q", "-W", *map(str, build)]
    subprocess.run(command, check=True, timeout=120)
    page = BeautifulSoup((tmp_path / "out/index.html").read_text("utf-8"), "html.parser")
    assert [each.text.strip() for each in page.select("pre")] == ["a", text]
