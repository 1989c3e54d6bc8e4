"""Rules, edge cases and the tables of the specifications on pages."""

import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from samples import ROOT, Sample

from lifespec.conformance.rules import rules
from lifespec.validate import SPECS
from lifespec_docs import decisions
from lifespec_docs.rules import address
from lifespec_docs.views import specs
from lifespec_docs.views.suite import TABLES

EXTENSIONS = ["myst_parser", *(f"lifespec_docs.{name}" for name in ("tables", "blocks"))]
EXTENSIONS += [f"lifespec_docs.{name}" for name in ("rules", "decisions")]
IGNORED = "No page has", "cases-", "servers-", "toctree"  # a sample has few of the pages
PROGRAM = "```python\n1\n```\n"
Build = Callable[..., Sample]


@pytest.fixture(name="sample")
def the_sample(build: Build) -> Build:
    """Return what builds pages with rules and edge cases."""

    def sample(language: str = "en", **pages: str) -> Sample:
        files = {f"{name}.md": text for name, text in {"index": "# Index\n", **pages}.items()}
        return build(files, language=language, extensions=EXTENSIONS, nitpicky=True)

    return sample


def warnings(site: Sample) -> str:
    found = site.warnings.splitlines()
    return "\n".join(line for line in found if not any(each in line for each in IGNORED))


def box(rule_id: str) -> str:
    return f"\n```{{rule}} {rule_id}\n```\n"


PROTOCOL = "# Protocol\n" + box("startup-sent")


def test_a_box_has_the_level_the_sentence_and_the_sources(sample: Build) -> None:
    site = sample("zh_CN", protocol=PROTOCOL)
    found = site.page("protocol").select_one("div.rule.must#startup-sent")
    assert not warnings(site)
    assert found is not None
    assert found.select_one(".rule-level") is not None
    text = found.get_text()
    assert "必须 MUST" in text
    assert "服务器必须向应用程序发送 lifespan.startup" in text
    assert "AMGI 1.0 和 2.0，“Lifespan startup”" in text
    assert "未作规定" not in text  # every specification states it
    assert len(found.select("details.sources a.external")) == 5


@pytest.mark.filterwarnings("ignore:'myst_parser:PendingDeprecationWarning")  # MyST's own
def test_each_reference_to_a_rule_leads_to_its_box(sample: Build) -> None:
    links = "# Other\n\n{rule}`startup-sent`, [text](#startup-sent), {any}`startup-sent`\n"
    site = sample(protocol=PROTOCOL, other=links)
    assert not warnings(site)
    assert len(site.page("other").select('a[href="protocol.html#startup-sent"]')) == 3


@pytest.mark.parametrize(
    ("page", "warning"),
    [
        (box("no-such"), r"protocol.md:2: ERROR: rules.toml has no rule 'no-such'"),
        (box("scope-worker"), r"protocol.md:2: ERROR: .* page 'other-specifications'"),
        (PROTOCOL + box("startup-sent"), r"protocol.md:\d+: ERROR: .* page 'protocol', once"),
        ("{rule}`no-such`\n", r"protocol.md:1: WARNING: 'rule' reference target not found"),
    ],
)
def test_a_fault_is_named_with_its_line(sample: Build, page: str, warning: str) -> None:
    assert re.search(warning, warnings(sample(protocol=page)))


def test_a_rule_that_lifespan_2_does_not_state_has_first_what_lifespec_does(sample: Build) -> None:
    site = sample(protocol="# Protocol\n" + box("return-value-ignored"))
    (found,) = site.page("protocol").select("div.rule.ours#return-value-ignored")
    (says, *_) = (each.get_text() for each in found.select("p"))
    (sources,) = (each.get_text() for each in found.select("details.sources"))
    assert says == "Lifespan ignores the value that the application returns."
    assert "must not · PAGI 0.3 The server must not act on the value" in sources


def test_each_section_that_a_rule_cites_has_an_address_at_a_fixed_commit() -> None:
    cited = {
        (spec, source.text, source.section)
        for rule in rules().values()
        for source in rule.sources
        for spec in source.specs
    }
    assert [each for each in cited if not re.search(r"/blob/[0-9a-f]{40}/", address(*each))] == []
    # one that AMGI takes over has the address of the original
    assert address("amgi 2.0", "asgi", "Scope") == address("asgi 2.0", "", "Scope") != ""
    assert address("asgi 2.0", "", "No such section") == ""


@pytest.mark.parametrize(
    ("rule_id", "name"),
    [
        ("startup-sent", "lifespan 2.0 (ASGI)"),
        ("version-default", "the main specification of ASGI"),
        ("unsupported-by-returning", "PAGI 0.3, adopted"),
        ("startup-answered-once", "lifespec's choice"),
    ],
)
def test_lifespan_2_decides_then_pagi_then_lifespec(rule_id: str, name: str) -> None:
    assert decisions.authority(rules()[rule_id], str) == name


PRINTED = "served: yes, outcome: returned"


def decision(options: str = ":lifespec:", name: str = "leaves", printed: str = PRINTED) -> str:
    text = f"\n:::{{decision}} {name}\n{options}\n\nIt returns.\n\nThe body goes on.\n:::\n\n"
    return f"{text}```python\n1\n```\n```{{output}}\n{printed}\n```\n"


def test_the_table_of_edge_cases_has_what_their_programs_print(sample: Build) -> None:
    """What is printed below the next case, or in a section below, is not its own."""
    second = decision(name="fails", printed="ERROR: no (with a traceback)\nraises: X\n" + PRINTED)
    below = f"\n### C\n\n{PROGRAM}```{{output}}\nraises: Y\n```\n"
    page = f"# A\n\n```{{decisions}}\n```\n\n## B\n{decision()}{second}{below}"
    rows = sample(edges=page).page("edges").select("table.decisions tbody tr")
    cells = [[cell.get_text(" ", strip=True) for cell in row.select("td")] for row in rows]
    assert cells == [
        ["B"],
        ["It returns.", "returned served", "–", "lifespec’s choice"],
        ["It returns.", "returned served raises X", "ERROR with traceback", "lifespec’s choice"],
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
def test_a_case_that_is_not_whole_is_a_fault(sample: Build, page: str, warning: str) -> None:
    assert warning in sample(edges=f"# A\n{page}").warnings


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


def test_each_wait_of_a_server_ends_also_without_an_answer(sample: Build) -> None:
    """A server that follows the steps does not wait for what can no longer come."""
    page = "# A\n" + "".join(f'\n```{{table}} walkthrough "{spec}"\n```\n' for spec in SPECS)
    waits = sample(steps=page).page("steps").select("ol > li:has(> ul)")
    assert len(waits) == 2 * len(SPECS)
    for wait in waits:
        assert "It raises" in wait.get_text()
        assert "returns without an answer" in wait.get_text()


# -- from elsewhere --

VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
MARKDOWN = "# Notes\n\n<inv:lifespec:std:rule#startup-sent>\n"
RESTRUCTURED = "Notes\n=====\n\n:external+lifespec:ref:`rule-startup-sent`\n"


@pytest.mark.parametrize(
    ("language", "name", "text"),
    [("en", "index.md", MARKDOWN), ("zh-cn", "index.rst", RESTRUCTURED)],
)
def test_a_page_elsewhere_links_to_a_rule(
    build: Build, site: Path, language: str, name: str, text: str
) -> None:
    """As the page on the rules says; the version of the inventory is that of the project."""
    inventory = str(site / language / "objects.inv")
    elsewhere = build(
        {name: text},
        extensions=["myst_parser", "sphinx.ext.intersphinx"],
        intersphinx_mapping={"lifespec": ("https://docs.example/", inventory)},
    )
    assert elsewhere.warnings == ""
    (link,) = elsewhere.page().select("a.external")
    assert link["href"] == "https://docs.example/protocol.html#startup-sent"
    assert link.get_text() == "startup-sent"
    assert VERSION in str(link["title"])
    assert text.splitlines()[-1] in (ROOT / "docs" / "rules.md").read_text("utf-8")
