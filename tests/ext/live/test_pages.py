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


def test_a_page_tells_its_scripts_what_they_need(tmp_path: Path) -> None:
    """Where the programs are, how much is loaded, the words, and what cannot run."""
    with site(tmp_path) as sample:
        index, deep = (told(sample.page(name)) for name in ("index", "guides/deep"))
        assert index["data"] == "_live/index.json"
        assert deep["data"] == "../_live/guides/deep.json"
        assert index["size"] == 13
        assert index["words"]["run"] == "Run"
        assert {number: each["program"] for number, each in deep["obstacles"].items()} == {
            "1": "../_programs/guides/deep-1.py",
            "2": "../_programs/guides/deep-2.pl",
            "4": "",
            "6": "",
        }
        assert "process" in index["obstacles"]["1"]["reason"]
        assert "Perl" in index["obstacles"]["2"]["reason"]
        assert "package" in index["obstacles"]["4"]["reason"]
        assert "record of" in deep["obstacles"]["6"]["reason"]
        (script,) = sample.page("guides/deep").select("script[data-live]")
        assert script["src"] == "../../live/run.js"
        assert not sample.page("other").select("script[data-live]")
        out = Path(sample.app.outdir)
        assert (out / "_programs" / "index-1.py").read_text() == "import subprocess\n"
        assert (out / "_programs" / "guides" / "deep-2.pl").read_text() == "my $app;\n"
        assert not (out / "_live" / "other.json").exists()


def test_each_example_has_its_number(tmp_path: Path) -> None:
    """As a class of its block; what does not run has none."""
    with site(tmp_path) as sample:
        index = sample.page()
        found = [index.select_one(f".example-{number}") for number in range(7)]
        texts = [block and block.get_text().strip() for block in found]
        assert texts == [
            "print(1)",
            "import subprocess",
            "my $app;",
            "x = 1",
            "assert x == 1",
            None,
            None,
        ]


def test_the_data_has_the_programs_that_can_run(tmp_path: Path) -> None:
    """By number, with the output that the page shows."""
    with site(tmp_path) as sample:
        found = json.loads(Path(sample.app.outdir, "_live", "index.json").read_text())
        assert [*found["blocks"]] == ["0", "3"]
        assert found["blocks"]["0"]["source"].strip() == "print(1)"
        assert found["blocks"]["0"]["expected"].strip() == "1"
        assert found["words"] == {}


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


def test_a_site_without_a_playground_leads_to_none(tmp_path: Path) -> None:
    """One with it says which programs can be opened there, and where it is."""
    with site(tmp_path / "without") as sample:
        assert told(sample.page())["programs"] == {}
    with site(tmp_path / "with", pages={**PAGES, "playground": "# Playground\n"}) as sample:
        assert told(sample.page())["programs"] == {"0": [0], "3": [3]}
        assert told(sample.page("guides/deep"))["playground"] == "../playground.html"


def test_the_words_are_those_of_the_language(tmp_path: Path) -> None:
    """Of the buttons on the page, of event logs in its data."""
    sample = site(tmp_path, language="zh_CN")
    sample.translate("lifespec", {"Run": "运行", "Event log: %s": "事件日志：%s"})
    with sample:
        assert told(sample.page())["words"]["run"] == "运行"
        found = json.loads(Path(sample.app.outdir, "_live", "index.json").read_text())
        assert found["words"]["Event log: %s"] == "事件日志：%s"


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
