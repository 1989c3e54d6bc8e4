"""The page of the playground, and the links that lead to it."""

from pathlib import Path
from typing import Any

import pytest
from docutils import nodes
from published import ROOT

from lifespec_docs.live import playground
from lifespec_docs.live.play import Conduct, Result, ran
from lifespec_docs.rules.edge_cases import case_node
from sample_site import SampleSite

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

```python
import asyncio
```

:::{decision} lasts
:lifespec:

The `app` lasts.

It is cancelled.
:::

```python
async def app(scope, receive, send):
    await asyncio.sleep(60)
```
```{output}
served: no, outcome: timed_out
```

:::{decision} shown
:lifespec:

It has no program.

It is shown.
:::

{.not-run}
```python
print(1)
```
```{output}
served: no, outcome: cancelled
```
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


def test_the_cases_of_a_page_are_forgotten_with_it(tmp_path: Path) -> None:
    with site(tmp_path) as sample:
        assert "lasts" in {start.name for start in playground.starts(sample.app.env)}
        for name in ("edge-cases", "unknown"):
            playground.forget_cases(sample.app, sample.app.env, name)
        assert "lasts" not in {start.name for start in playground.starts(sample.app.env)}


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
