"""What a page and its data say for the scripts that run its examples."""

import json
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup

from lifespec_docs.examples.runner import Example
from lifespec_docs.live import pages
from sample_site import SampleSite

__all__: list[str] = []

PAGE = """\
# A page

```python
print(1)
```
```{output}
1
```

{.real}
```python
import subprocess
```

{.not-run}
```python
left = "out"
```

{.real .needs-perl .requests-1}
```perl
my $app;
```

```python
x = 1
```

```{check} trio
assert x == 1
```

{.real}
```sh
ls
```
"""
RECORD = '\n```{check}\nassert record("servers")\n```\n'
PAGES = {
    "index": PAGE,
    "guides/deep": PAGE + "\nIt is.\n" + RECORD,
    "other": "# Another\n\nNothing runs here.\n",
}
EXTENSIONS = "examples.directive", "rules.domain", "live"
TEMPLATE = """\
{%- if live -%}
<script src="{{ live.folder }}run.js" data-live="{{ live.data|e }}"></script>
{%- endif -%}
{{ body }}
"""


def site(folder: Path, size: int = 13, pages: Any = PAGES, **configuration: Any) -> SampleSite:
    """Return pages with examples, which do not run, and that template."""
    templates = folder / "docs" / "templates"
    templates.mkdir(parents=True)
    (templates / "page.html").write_text(TEMPLATE)
    settings = {"templates_path": ["templates"], "examples_run": False, "live_size": size}
    return SampleSite(folder, pages, *EXTENSIONS, **(settings | configuration))


def told(page: BeautifulSoup) -> dict[str, Any]:
    """Return what a page tells its scripts."""
    (script,) = page.select("script[data-live]")
    found: dict[str, Any] = json.loads(str(script["data-live"]))
    return found


def example(source: str, **more: Any) -> Example:
    """Return a block of a page."""
    return Example("page.md", 1, "python", source, None, **more)


def test_a_program_is_whole_with_those_that_it_needs() -> None:
    """The blocks that define its names, and what those need; not what it defines itself."""
    blocks = [
        example("import asyncio\nfrom os import path as where"),
        example("async def app(*_):\n    await asyncio.sleep(1)"),
        example("app = 1", kind="real"),
        example("class Mine:\n    pass\n\n\nfor each in range(3):\n    where.join(each)"),
        example("asyncio.run(app())"),
        example("def app(*_):\n    return [len(str(Mine)), each]"),
        example("print(app)", named=(("shop.py", ""),)),
        example("app()"),
        example("assert app", kind="check"),
    ]
    assert pages.programs(blocks) == {
        0: [0], 1: [0, 1], 3: [0, 3], 4: [0, 1, 4], 5: [0, 3, 5], 7: [0, 3, 5, 7],
    }  # fmt: skip


def test_without_a_runtime_a_page_is_as_it_was(tmp_path: Path) -> None:
    """No script, and no data."""
    with site(tmp_path, 0) as sample:
        assert not sample.page().select("script[data-live]")
        assert not Path(sample.app.outdir, "_live").exists()


def test_a_build_that_failed_writes_nothing(tmp_path: Path) -> None:
    """Nor does one of another kind."""
    with site(tmp_path, builder="html") as sample:
        data = Path(sample.app.outdir, "_live", "index.json")
        data.unlink()
        pages.write_data(sample.app, RuntimeError())
        assert not data.exists()
        pages.write_data(sample.app, None)
        assert data.exists()
