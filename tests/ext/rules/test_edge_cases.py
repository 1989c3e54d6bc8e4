"""Cases on pages: their text, who decided them, and the facts that their programs print."""

import re
from pathlib import Path
from typing import Any

import pytest

import sample_site
from lifespec.conformance.rules import Rule, Source
from lifespec_docs.rules import edge_cases
from sample_site import SampleSite

RULES = "\n:::{rule} startup-sent\n:::\n\n:::{rule} answered-once\n:::\n"
RULES += "\n{rule}`startup-sent`, {rule}`answered-once`\n\n```python\n1\n```\n"
PRINTED = "served: yes, outcome: returned"


def decision(text: str = "It leaves.\n\nThe body goes on.", options: str = ":lifespec:") -> str:
    """Write a decision and a program that prints its facts."""
    program = f"```python\nprint({PRINTED!r})\n```\n```{{output}}\n{PRINTED}\n```\n"
    return f"\n:::{{decision}} leaves\n{options}\n\n{text}\n:::\n\n{program}"


def sample(folder: Path, page: str, **options: Any) -> SampleSite:
    """Return a page of cases, and one with the rules."""
    pages = {"index": f"# A\n{page}", "rules": f"# B\n{RULES}"}
    extensions = "examples.directive", "rules.domain", "rules.edge_cases"
    rules = sample_site.RULES.replace('"index"', '"rules"')
    return SampleSite(folder, pages, *extensions, rules=rules, **options)


def case(built: SampleSite) -> edge_cases.case_node:
    (found, *_) = built.app.env.get_doctree("index").findall(edge_cases.case_node)
    return found


def source(spec: str, section: str = "Scope", text: str = "") -> Source:
    return Source((spec,), "must", section, text)


@pytest.mark.parametrize(
    ("sources", "said"),
    [
        ([source("asgi 2.0")], "lifespan 2.0 (ASGI)"),
        ([source("asgi 2.0", text="core")], "the main specification of ASGI"),
        ([source("pagi 0.3"), source("asgi 2.0")], "lifespan 2.0 (ASGI)"),
        ([source("asgi 2.0", ""), source("pagi 0.3")], "PAGI 0.3, adopted"),
        ([source("pagi 0.3", text="core")], "the main specification of PAGI, adopted"),
        ([source("asgi 2.0", ""), source("amgi 1.0")], "lifespec's choice"),
        ([source("asgi 2.0", ""), source("asgi 2.0")], "lifespan 2.0 (ASGI)"),
    ],
)
def test_a_rule_is_the_texts_or_pagis_or_ours(sources: list[Source], said: str) -> None:
    """PAGI counts where lifespan 2.0 is silent; another text does not."""
    assert edge_cases.authority(Rule("x", "server", "no", "", "", tuple(sources), {}), str) == said


@pytest.mark.parametrize(
    ("page", "warning"),
    [
        (decision(options=":rules: no-such"), "rules.toml has no rule 'no-such'."),
        (
            decision(options=""),
            "The case 'leaves' names no rule, and is not lifespec's choice either.",
        ),
        (decision() + decision(), "This page has the name 'leaves' already."),
        (decision().partition("```")[0], "No program of the case 'leaves' prints its outcome."),
        (decision(options=":lifespec: x"), "Invalid option value for 'lifespec'"),
        (
            decision(options=":lifespec: too"),
            "The case 'leaves' is lifespec's choice alone: not “too”.",
        ),
        (
            decision(options=":rules: answered-once\n:lifespec: too"),
            "The rules of the case 'leaves' are lifespec's choice: delete its option.",
        ),
        (
            decision(options=":rules: answered-once\n:lifespec:"),
            "The rules of the case 'leaves' are lifespec's choice: delete its option.",
        ),
    ],
)
def test_a_case_that_is_not_whole_is_a_warning(tmp_path: Path, page: str, warning: str) -> None:
    with sample(tmp_path, page) as built:
        found = [line for line in built.warnings if warning in line]
        assert found
        assert re.match(r"docs/index.md:\d+: ", built.warnings[0])


def test_a_case_without_text_is_an_error(tmp_path: Path) -> None:
    with sample(tmp_path, "\n:::{decision} empty\n:lifespec:\n:::\n") as built:
        assert "Content block expected" in "".join(built.warnings)


def test_facts_are_what_the_programs_print() -> None:
    """Each once, in order; other lines are none, and no outcome is a fact, too."""
    printed = "INFO: a\nERROR: b: c (with a traceback)\nserved: no, outcome: timed_out\nouch: 1"
    again = "ERROR: d (with a traceback)\nraises: OSError no such\nserved: yes\noutcome: None"
    assert edge_cases.facts_of([printed, again]) == {
        "outcome": ["timed_out", "None"],
        "served": ["no", "yes"],
        "raises": ["OSError"],
        "log": [("INFO", ""), ("ERROR", " (with a traceback)")],
    }


def test_the_facts_of_a_case_end_with_it(tmp_path: Path) -> None:
    """What is printed below the next one, or in another section, is not its own."""
    other = decision().replace("leaves", "other").replace("outcome: returned", "outcome: crashed")
    with sample(tmp_path, f"\n## B\n{decision()}{other}\n## C\n\n{decision()[-30:]}") as built:
        assert case(built)["facts"]["outcome"] == ["returned"]
    nested = f"\n## B\n{decision()}\n### C\n```python\nprint('raises: X')\n```\n"
    with sample(tmp_path, nested + "```{output}\nraises: X\n```\n") as built:
        assert case(built)["facts"]["raises"] == []
