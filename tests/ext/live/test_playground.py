"""The page of the playground, and the links that lead to it."""

import json
from pathlib import Path
from typing import Any

import pytest
from docutils import nodes
from published import ROOT

from lifespec_docs.i18n.messages import marked
from lifespec_docs.live import playground
from lifespec_docs.live.play import Conduct, Result, ran
from lifespec_docs.rules.edge_cases import case_node
from sample_site import SampleSite

__all__: list[str] = []

PLAYGROUND = """\
# Playground

{.not-live}
There is none.

::::{container} live-only
:name: play

Needs JavaScript.
::::
"""
CASES = """\
# Edge cases

```{decisions}
```

```python
import asyncio
import logging.handlers
from lifespec import Lifespan, ProtocolError


async def serve(app, **limits):
    async with Lifespan(app, **limits):
        await asyncio.sleep(1)
```

## Section `one`

:::{decision} lasts
:lifespec:

The `app` lasts.

It is cancelled.
:::

```python
async def app(scope, receive, send):
    await asyncio.sleep(60)


asyncio.run(serve(app, startup_timeout=1, grace=None))
```
```{output}
raises: StartupTimeout
served: no, outcome: timed_out
```

:::{decision} shown
:lifespec:

It has no program of its own.

It is shown.
:::

A note.

{.not-run}
```python
def app(scope, receive, send):
    raise ProtocolError
```
```{output}
served: no, outcome: cancelled
```

:::{decision} twice
:lifespec:

It is cancelled twice.

It is.
:::

```python
def app(scope, receive, send):
    raise ProtocolError


async def main(*moments, **limits):
    await interrupt(app, 1, 2, *moments, **limits)
    await asyncio.sleep(1)
    async with Lifespan(app):
        if moments:
            raise OSError
```
```{output}
served: no, outcome: cancelled
```

## Section two

| A | table |
|---|---|
| of | others |
"""
INDEX = """\
# A

{.live-only}
See {doc}`playground`.

```{toctree}
other
playground
edge-cases
```
"""
PAGES = {
    "index": INDEX,
    "playground": PLAYGROUND,
    "edge-cases": CASES,
    "other": "# B\n\n```{rule} startup-sent\nIt must be sent.\n```\n",
}
TEMPLATE = """\
{%- if playground -%}
<script src="{{ playground.folder }}play.js" data-play="{{ playground.data }}"></script>
{%- endif -%}
{{ toctree() }}
{{ body }}
"""
EXTENSIONS = ("examples.directive", "rules.edge_cases", "rules.edge_case_tables",
              "rules.domain", "live")  # fmt: skip


def site(folder: Path, size: int = 13, pages: Any = PAGES, **configuration: Any) -> SampleSite:
    """Return these pages, whose examples do not run."""
    templates = folder / "docs" / "templates"
    templates.mkdir(parents=True)
    (templates / "page.html").write_text(TEMPLATE)
    settings = {"templates_path": ["templates"], "examples_run": False, "live_size": size}
    return SampleSite(folder, pages, *EXTENSIONS, **(settings | configuration))


def data(sample: SampleSite) -> Any:
    """Return what the script reads."""
    return json.loads(Path(sample.app.outdir, playground.DATA).read_text(encoding="utf-8"))


def test_the_page_has_its_script_and_what_that_reads(tmp_path: Path) -> None:
    """The words, the specifications, where the rules are."""
    with site(tmp_path) as sample:
        page = sample.page("playground")
        (script,) = page.select("script[data-play]")
        assert (script["src"], script["data-play"]) == ("../live/play.js", playground.DATA)
        assert page.select_one("#play") is not None
        assert "There is none." not in page.get_text()
        assert not sample.page().select("script[data-play]")
        found = data(sample)
        assert found["size"] == 13
        assert found["labels"]["run"] == "Run"
        assert found["words"] == {}
        assert found["specs"]["asgi 1.0"] == "lifespan 1.0 (ASGI)"
        assert found["specs"]["pagi 0.3"] == "PAGI 0.3"
        assert found["rules"] == {"startup-sent": "other.html#startup-sent"}


def test_programs_to_begin_with_are_ours_and_the_edge_cases(tmp_path: Path) -> None:
    """An edge case has the imports that it needs, and the conduct of its server."""
    with site(tmp_path) as sample:
        found = {start["name"]: start for start in data(sample)["starts"]}
        assert found["lifespan"]["title"] == "Startup and shutdown"
        assert {start["title"] for start in found.values() if not start["group"]} == {
            *marked("live/starts.toml")
        }
        assert found["lasts"] == {
            "name": "lasts",
            "title": "The app lasts",
            "group": "Section one",
            "server": {"startup_timeout": 1, "grace": None},
            "program": "import asyncio\n\n\n"
            "async def app(scope, receive, send):\n    await asyncio.sleep(60)\n",
        }
        assert found["twice"]["server"] == {"cancel": [1, 2], "fails": True}
        assert found["twice"]["program"].startswith("from lifespec import ProtocolError\n\n\ndef")
        assert "shown" not in found


def test_each_edge_case_leads_to_its_program(tmp_path: Path) -> None:
    """In its row of the table, and below it."""
    with site(tmp_path) as sample:
        links = sample.page("edge-cases").select("a.try-it")
        assert [link["href"] for link in links] == [
            *("playground.html#start=lasts", "playground.html#start=twice") * 2,
        ]
        assert {link.get_text() for link in links} == {"Try it"}
        assert links[0].find_parent("td") is not None
        assert "playground.html" in str(sample.page().select_one("p"))
        assert "Playground" in [link.get_text() for link in sample.page("other").select("li a")]


def test_the_words_are_those_of_the_language(tmp_path: Path) -> None:
    """Of the page, of the link, and of what the validator says."""
    sample = site(tmp_path, language="zh_CN")
    sample.translate("lifespec", {"Try it": "试一试", "while running": "在运行期间", "Run": "运行"})
    with sample:
        found = data(sample)
        assert found["labels"]["run"] == "运行"
        assert found["words"]["while running"] == "在运行期间"
        assert "试一试" in sample.page("edge-cases").get_text()


def test_without_a_runtime_the_page_says_so_and_nothing_leads_to_it(tmp_path: Path) -> None:
    """No link, no entry in the navigation, no script; and no warning of a page without one."""
    with site(tmp_path, 0, suppress_warnings=[]) as sample:
        page = sample.page("playground")
        assert "There is none." in page.get_text()
        assert page.select_one("#play") is None
        assert not page.select("script")
        assert not Path(sample.app.outdir, playground.DATA).exists()
        for name in ("index", "other", "edge-cases"):
            assert "playground.html" not in str(sample.page(name))
        assert not [line for line in sample.warnings if "toctree" in line]


def test_a_site_without_the_page_has_no_links(tmp_path: Path) -> None:
    """Its cases are read all the same."""
    pages = {"index": "# A\n", "edge-cases": CASES}
    with site(tmp_path, pages=pages) as sample:
        assert not sample.page("edge-cases").select("a.try-it")
        assert not Path(sample.app.outdir, playground.DATA).exists()


def test_a_build_that_failed_writes_nothing(tmp_path: Path) -> None:
    """As for the data of other pages; and a page that is read again is forgotten."""
    with site(tmp_path) as sample:
        file = Path(sample.app.outdir, playground.DATA)
        file.unlink()
        playground.write_data(sample.app, RuntimeError())
        assert not file.exists()
        playground.forget_cases(sample.app, sample.app.env, "edge-cases")
        playground.forget_cases(sample.app, sample.app.env, "unknown")
        playground.write_data(sample.app, None)
        assert '"lasts"' not in file.read_text()


def told(result: Result) -> set[tuple[str, bool]]:
    """Return the levels that were logged, each with whether there was an exception."""
    return {(kind, "\n" in text) for kind, text in result.console if kind.isupper()}


@pytest.fixture(scope="module")
def edge_cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Any, Any]]:
    """Return facts and start of each edge case of the real page."""
    docs = ROOT / "docs"
    pages = {"index": "# A\n", "edge-cases": (docs / "edge-cases.md").read_text(encoding="utf-8")}
    rules = (ROOT / "src/lifespec/conformance/data/rules.toml").read_text(encoding="utf-8")
    folder = tmp_path_factory.mktemp("cases")
    with site(folder, pages=pages, rules=rules, builder="dummy") as sample:
        document = sample.app.env.get_doctree("edge-cases")
        facts = {case["name"]: case["facts"] for case in document.findall(case_node)}
        starts = {start.name: start for start in playground.starts(sample.app.env)}
        assert document.findall(nodes.table)
    return {name: (facts[name], starts.get(name)) for name in facts}


def test_each_edge_case_ends_in_the_playground_as_on_its_page(
    edge_cases: dict[str, tuple[Any, Any]],
) -> None:
    """Each has a program there; outcome, exception, log, and whether it was served, are the same.

    Where a page shows no outcome yet, the playground shows the one at the end.
    """
    assert len(edge_cases) > 30
    for name, (facts, start) in edge_cases.items():
        result = ran(start.program, Conduct.of(start.server))
        assert result.waits is None, name
        assert result.failure == "", name
        assert result.served is (facts["served"] == ["yes"]), name
        if facts["outcome"] != ["None"]:
            assert [result.outcome] == facts["outcome"], name
        raised = [result.raised[0]] if result.raised else []
        assert {*raised} <= {*facts["raises"]}, name
        assert bool(raised) == bool(facts["raises"]), name
        assert told(result) == {(level, bool(more)) for level, more in facts["log"]}, name
