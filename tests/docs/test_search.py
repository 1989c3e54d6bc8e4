"""The search of the built site: what people ask, and what is found."""

import json
import subprocess
import tomllib
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from samples import ROOT

from lifespec_docs.search import index

SCRIPT = ROOT / "docs" / "_static" / "search.js"
RUN = """
const Search = require(process.argv[1]);
let index;
globalThis.setSearchIndex = (data) => { index = Search.read(data); };
const { script, queries } = JSON.parse(require("fs").readFileSync(0, "utf-8"));
(0, eval)(script);
console.log(JSON.stringify(queries.map((query) => Search.search(query, index).results)));
"""
QUERIES = tomllib.loads(Path(__file__).with_name("queries.toml").read_text("utf-8"))
SECTIONS, QUESTIONS = QUERIES.pop("sections"), QUERIES.pop("questions")
SHOWN = 3  # results that a reader looks at
RIGHT = 0.9  # of the queries, those that the first result answers


def found(script: str, queries: list[str]) -> list[list[dict[str, Any]]]:
    """Return what is found for each query; `script` is the index as it is published."""
    given = json.dumps({"script": script, "queries": queries})
    done = subprocess.run(
        ["node", "-e", RUN, SCRIPT], input=given, capture_output=True, text=True, timeout=120,
        check=True,
    )  # fmt: skip
    results: list[list[dict[str, Any]]] = json.loads(done.stdout)
    return results


@pytest.mark.needs("node")
@pytest.mark.parametrize("folder", ["en", "zh-cn"])
def test_the_first_results_answer_what_people_ask(site: Path, folder: str) -> None:
    """Each query by one of the first results, and most by the first; a symptom by its section.

    In the words of a reader, as one word or two, with its module, or mistyped.
    """
    queries, sections = QUERIES[folder], SECTIONS[folder]
    index = (site / folder / "search-index.js").read_text("utf-8")
    results = dict(zip([*queries, *sections], found(index, [*queries, *sections]), strict=True))
    ranks = {
        query: next((at for at, each in enumerate(results[query]) if each["page"] in answers), 99)
        for query, answers in queries.items()
    }
    assert {query: rank for query, rank in ranks.items() if rank >= SHOWN} == {}
    assert [*ranks.values()].count(0) >= RIGHT * len(ranks)
    firsts = {query: results[query][0] for query in sections}
    assert {query: f"{to['page']}#{to['anchor']}" for query, to in firsts.items()} == sections
    excerpts = [each["text"].strip("…") for query in sections for each in results[query]]
    assert [
        text for text in excerpts if json.dumps(text, ensure_ascii=False)[1:-1] not in index
    ] == []


@pytest.mark.needs("node")
@pytest.mark.parametrize("folder", ["en", "zh-cn"])
def test_a_question_leads_to_the_section_that_answers_it(site: Path, folder: str) -> None:
    """One of the first results; a page has three at the most."""
    index = (site / folder / "search-index.js").read_text("utf-8")
    results = found(index, [*QUESTIONS[folder]])
    for question, answers in zip(QUESTIONS[folder], results, strict=True):
        places = [(each["page"], each["anchor"]) for each in answers]
        page, _, section = QUESTIONS[folder][question].partition("#")
        shown = [place for place in places[:SHOWN] if place[0] == page]
        assert (page, section) in shown or (shown and not section), (question, places[:5])
        assert max(Counter(each["page"] for each in answers).values()) <= SHOWN


def test_a_page_that_sphinx_no_longer_has_is_not_found(tmp_path: Path) -> None:
    for name in "kept", "gone":
        (tmp_path / f"{name}.html").write_text('<article><section id="a">A</section></article>')
    inventory = b"# zlib.\n" + zlib.compress(b"kept std:doc -1 kept.html Kept\n")
    (tmp_path / "objects.inv").write_bytes(inventory)
    assert index(tmp_path) == 'setSearchIndex({"kept":["",["a","A","","",""]]});\n'
