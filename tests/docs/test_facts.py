"""Facts of pages: each one that a page or a catalog names exists, and is what the code has."""

import inspect
import re
from pathlib import Path

import pytest

from lifespec import Lifespan
from lifespec_docs.facts import ROOT, facts

__all__: list[str] = []

FACTS = facts(", ")
NAMED = re.compile(r"(?<!`)\{\{ (.*?) \}\}")
FILES = [*ROOT.glob("docs/*.md"), *ROOT.glob("locales/*/LC_MESSAGES/*.po")]


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
def test_each_fact_of_a_file_exists(file: Path) -> None:
    assert {*NAMED.findall(file.read_text("utf-8"))} <= {*FACTS}


def test_a_fact_is_what_the_code_and_the_records_have() -> None:
    grace = inspect.signature(Lifespan).parameters["grace"].default
    assert float(FACTS["default Lifespan.grace"]) == grace
    assert FACTS["default Lifespan.startup_timeout"] == "`None`"
    assert FACTS["message lifespan.startup.failed"] == '`""`'
    assert re.fullmatch(r"\d+\.\d+\.\d+", FACTS["version uvicorn"])


def test_a_list_has_the_comma_of_its_language() -> None:
    name = "seen completes-twice startup-answered-once pass"
    assert facts("、")[name] == FACTS[name].replace(", ", "、")
    assert "gunicorn (uvicorn-worker)" in FACTS[name]
