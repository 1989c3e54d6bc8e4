"""Rules, edge cases and the tables of the specifications on pages."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from sphinx.testing.util import SphinxTestApp

from lifespec.conformance.rules import Rule, Source, rules
from lifespec.validate import SPECS
from lifespec_docs import decisions
from lifespec_docs.citations import address
from lifespec_docs.views import specs
from lifespec_docs.views.rules import TABLES

__all__: list[str] = []

EXTENSIONS = ["myst_parser", *(f"lifespec_docs.{name}" for name in ("tables", "blocks"))]
EXTENSIONS += [f"lifespec_docs.{name}" for name in ("rules", "decisions")]
IGNORED = "No page has", "cases-", "servers-", "toctree"  # a sample has few of the pages
PROGRAM = "```python\n1\n```\n"
Sample = Callable[..., "Site"]


class Site:
    """A few pages, built: `warnings` are lines that begin with the file and the line."""

    def __init__(self, folder: Path, pages: dict[str, str], language: str) -> None:
        self.folder = folder
        (folder / "conf.py").write_text("")
        for name, text in {"index": "# Index\n", **pages}.items():
            (folder / f"{name}.md").write_text(text)
        self.app = SphinxTestApp(
            "html",
            srcdir=folder,
            freshenv=True,
            confoverrides={
                "extensions": EXTENSIONS,
                "html_theme": "basic",
                "language": language,
                "myst_enable_extensions": ["attrs_block", "attrs_inline", "colon_fence", "deflist"],
                "nitpicky": True,
            },
        )
        self.app.build()

    @property
    def warnings(self) -> list[str]:
        lines = re.sub(r"\x1b\[[\d;]*m", "", self.app.warning.getvalue()).splitlines()
        found = [line.replace(f"{self.folder}/", "") for line in lines]
        return [line for line in found if not any(each in line for each in IGNORED)]

    def page(self, name: str) -> BeautifulSoup:
        text = Path(self.app.outdir, f"{name}.html").read_text("utf-8")
        return BeautifulSoup(text, "html.parser")


@pytest.fixture
def sample(tmp_path: Path) -> Iterator[Sample]:
    """Return what builds pages."""
    built: list[Site] = []

    def build(language: str = "en", **pages: str) -> Site:
        built.append(Site(tmp_path, pages, language))
        return built[-1]

    yield build
    for site in built:
        site.app.cleanup()


def box(rule_id: str) -> str:
    return f"\n```{{rule}} {rule_id}\n```\n"


PROTOCOL = "# Protocol\n" + box("startup-sent")


def test_a_box_has_the_level_the_sentence_and_the_sources(sample: Sample) -> None:
    site = sample("zh_CN", protocol=PROTOCOL)
    found = site.page("protocol").select_one("div.rule.must#startup-sent")
    assert not site.warnings
    assert found is not None
    assert found.select_one(".rule-level") is not None
    text = found.get_text()
    assert "必须 MUST" in text
    assert "服务器必须向应用程序发送 lifespan.startup" in text
    assert "AMGI 1.0 和 2.0，“Lifespan startup”" in text
    assert len(found.select("details.sources a.external")) == 5


@pytest.mark.filterwarnings("ignore:'myst_parser:PendingDeprecationWarning")  # MyST's own
def test_each_reference_to_a_rule_leads_to_its_box(sample: Sample) -> None:
    links = "# Other\n\n{rule}`startup-sent`, [text](#startup-sent), {any}`startup-sent`\n"
    site = sample(protocol=PROTOCOL, other=links)
    assert not site.warnings
    assert len(site.page("other").select('a[href="protocol.html#startup-sent"]')) == 3


@pytest.mark.parametrize(
    ("page", "warning"),
    [
        (box("no-such"), r"protocol.md:2: ERROR: rules.toml has no rule 'no-such'"),
        (box("scope-worker"), r"protocol.md:2: ERROR: .* page 'other-specifications'"),
        (PROTOCOL + box("startup-sent"), r"protocol.md:\d+: ERROR: .* page 'protocol', once"),
        ("{rule}`no-such`\n", r"protocol.md:1: WARNING: lifespec:rule reference target not found"),
    ],
)
def test_a_fault_is_named_with_its_line(sample: Sample, page: str, warning: str) -> None:
    assert re.search(warning, "\n".join(sample(protocol=page).warnings))


def test_a_rule_that_lifespan_2_does_not_state_has_first_what_lifespec_does(sample: Sample) -> None:
    site = sample(protocol="# Protocol\n" + box("return-value-ignored"))
    (found,) = site.page("protocol").select("div.rule.ours#return-value-ignored")
    (says, *_) = (each.get_text() for each in found.select("p"))
    (sources,) = (each.get_text() for each in found.select("details.sources"))
    assert says == "Lifespan ignores the value that the application returns."
    assert "must not · PAGI 0.3 The server must not act on the value" in sources


def test_a_page_that_is_read_again_forgets_its_anchors(sample: Sample) -> None:
    site = sample(protocol=PROTOCOL)
    places = site.app.env.domains["lifespec"].data["places"]
    assert places == {"startup-sent": "protocol"}
    (site.folder / "protocol.md").write_text("# Protocol\n")
    site.app.build()
    assert site.app.env.domains["lifespec"].data["places"] == {}


def test_each_section_that_a_rule_cites_has_an_address_at_a_fixed_commit() -> None:
    cited = {
        (spec, source.text, source.section)
        for rule in rules().values()
        for source in rule.sources
        for spec in source.specs
    }
    assert [each for each in cited if not re.search(r"/blob/[0-9a-f]{40}/", address(*each))] == []


def test_a_section_of_lifespan_2_that_amgi_takes_over_has_the_address_of_the_original() -> None:
    assert address("amgi 2.0", "asgi", "Scope") == address("asgi 2.0", "", "Scope") != ""
    assert address("asgi 2.0", "", "No such section") == ""


def rule(*sources: Source) -> Rule:
    return Rule("x", "server", "no", "", "", sources, {})


def source(spec: str, section: str = "Scope", text: str = "") -> Source:
    return Source((spec,), "must", section, text)


@pytest.mark.parametrize(
    ("sources", "name"),
    [
        ([source("asgi 2.0")], "lifespan 2.0 (ASGI)"),
        ([source("asgi 2.0", text="core")], "the main specification of ASGI"),
        ([source("pagi 0.3"), source("asgi 2.0")], "lifespan 2.0 (ASGI)"),
        ([source("pagi 0.3")], "PAGI 0.3, adopted"),
        ([source("pagi 0.3", text="core")], "the main specification of PAGI, adopted"),
        ([source("amgi 1.0")], "lifespec's choice"),
    ],
)
def test_lifespan_2_decides_then_pagi_then_lifespec(sources: list[Source], name: str) -> None:
    assert decisions.authority(rule(*sources), str) == name


PRINTED = "served: yes, outcome: returned"


def decision(options: str = ":lifespec:", name: str = "leaves", printed: str = PRINTED) -> str:
    text = f"\n:::{{decision}} {name}\n{options}\n\nIt returns.\n\nThe body goes on.\n:::\n\n"
    return f"{text}```python\n1\n```\n```{{output}}\n{printed}\n```\n"


def test_the_table_of_edge_cases_has_what_their_programs_print(sample: Sample) -> None:
    """What is printed below the next case, or in a section below, is not its own."""
    second = decision(name="fails", printed="ERROR: no (with a traceback)\nraises: X\n" + PRINTED)
    below = f"\n### C\n\n{PROGRAM}```{{output}}\nraises: Y\n```\n"
    page = f"# A\n\n```{{decisions}}\n```\n\n## B\n{decision()}{second}{below}"
    rows = sample(edges=page).page("edges").select("table.decisions tbody tr")
    cells = [[cell.get_text(" ", strip=True) for cell in row.select("td")] for row in rows]
    assert cells == [
        ["B"],
        ["It returns.", "returned served", "The body goes on.", "–", "lifespec’s choice"],
        [
            *("It returns.", "returned served raises X", "The body goes on."),
            *("ERROR with traceback", "lifespec’s choice"),
        ],
    ]


@pytest.mark.parametrize(
    ("page", "warning"),
    [
        (decision(":rules: no-such"), "rules.toml has no rule 'no-such'"),
        (decision(""), "Name the rules of a case"),
        (decision(":lifespec: too"), "Name the rules of a case"),
        (decision(":lifespec: x"), "Invalid option value for 'lifespec'"),
        (decision() * 2, "This page has the name 'leaves' already"),
        (decision(printed="served: no"), "No program of the case 'leaves' prints its outcome"),
    ],
)
def test_a_case_that_is_not_whole_is_a_fault(sample: Sample, page: str, warning: str) -> None:
    assert warning in "".join(sample(edges=f"# A\n{page}").warnings)


def test_specifications_with_the_same_rows_share_a_column() -> None:
    shown = {"asgi 1.0": 1, "asgi 2.0": 2, "amgi 1.0": 1}
    assert specs.groups(shown) == [("asgi 1.0", "amgi 1.0"), ("asgi 2.0",)]


def test_specifications_that_differ_are_not_drawn_as_one() -> None:
    with pytest.raises(ValueError, match=r"asgi 2.0 and pagi 0.3 differ in the rule '"):
        TABLES["differences"]("asgi 2.0", "pagi 0.3")


def test_a_specification_differs_by_level_by_wording_and_by_what_does_not_apply() -> None:
    found = TABLES["differences"]("asgi 1.0")
    stated = {rule.rule_id: level for rule, level in found["stated"]}
    assert (stated["once-per-loop"], stated["same-loop"]) == ("must", "not specified")
    assert "scope-type" not in stated
    assert "state-shallow-copy" in found["absent"]
    assert not TABLES["differences"]("asgi 2.0")["stated"]


def test_each_wait_of_a_server_ends_also_without_an_answer(sample: Sample) -> None:
    """A server that follows the steps does not wait for what can no longer come."""
    page = "# A\n" + "".join(f'\n```{{table}} walkthrough "{spec}"\n```\n' for spec in SPECS)
    waits = sample(steps=page).page("steps").select("ol > li:has(> ul)")
    assert len(waits) == 2 * len(SPECS)
    for wait in waits:
        assert "It raises" in wait.get_text()
        assert "returns without an answer" in wait.get_text()
