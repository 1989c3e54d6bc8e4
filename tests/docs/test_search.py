"""The search of the built site: what people ask, and the page that shows what is found."""

import json
import subprocess
import tomllib
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest
from browser import Browser
from published import ROOT

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
LANGUAGES = ("en", "zh-cn")
QUERIES = tomllib.loads(Path(__file__).with_name("queries.toml").read_text("utf-8"))
SECTIONS = QUERIES.pop("sections")
SHOWN = 3  # results that a reader looks at
RIGHT = 0.9  # of the queries, those that the first result answers
LINKS = "[...document.querySelectorAll('#search-results a')].map((each) => each.href)"
SUMMARY = "document.querySelector('#search-summary').textContent"
LOG_LINE = "ASGI 'lifespan' protocol appears unsupported."


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
@pytest.mark.parametrize("folder", LANGUAGES)
def test_the_first_results_answer_what_people_ask(site: Path, folder: str) -> None:
    """Each query by one of the first results, and most by the first."""
    queries: dict[str, list[str]] = QUERIES[folder]
    results = found((site / folder / "search-index.js").read_text("utf-8"), [*queries])
    ranks = {
        query: next((at for at, each in enumerate(pages) if each["page"] in answers), 99)
        for (query, answers), pages in zip(queries.items(), results, strict=True)
    }
    assert {query: rank for query, rank in ranks.items() if rank >= SHOWN} == {}
    assert [*ranks.values()].count(0) >= RIGHT * len(ranks)


@pytest.mark.needs("node")
@pytest.mark.parametrize("folder", LANGUAGES)
def test_a_symptom_leads_to_its_section(site: Path, folder: str) -> None:
    """In the words of a reader, as one word or two, with its module, or mistyped."""
    index = (site / folder / "search-index.js").read_text("utf-8")
    results = found(index, [*SECTIONS[folder]])
    firsts = {query: pages[0] for query, pages in zip(SECTIONS[folder], results, strict=True)}
    places = {query: f"{each['page']}#{each['anchor']}" for query, each in firsts.items()}
    assert places == SECTIONS[folder]
    excerpts = [each["text"].strip("…") for pages in results for each in pages]
    assert [
        text for text in excerpts if json.dumps(text, ensure_ascii=False)[1:-1] not in index
    ] == []


def test_a_page_that_sphinx_no_longer_has_is_not_found(tmp_path: Path) -> None:
    for name in "kept", "gone":
        (tmp_path / f"{name}.html").write_text('<article><section id="a">A</section></article>')
    inventory = b"# zlib.\n" + zlib.compress(b"kept std:doc -1 kept.html Kept\n")
    (tmp_path / "objects.inv").write_bytes(inventory)
    assert index(tmp_path) == 'setSearchIndex({"kept":["",["a","A","",""]]});\n'


def search(browser: Browser, address: str, folder: str, query: str) -> list[str]:
    """Open the page of the search with a query; return where its results lead."""
    browser.open(f"{address}/{folder}/search.html?q={quote(query)}")
    browser.until(SUMMARY)
    return [unquote(link.rpartition("/")[2]) for link in browser.run(LINKS)]


@pytest.mark.needs("chromium")
@pytest.mark.parametrize("folder", LANGUAGES)
@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("startup-sent", "protocol.html#startup-sent"),
        ("lifespec.Lifespan", "api.html#lifespec.Lifespan"),
        ("StartupFailed", "api.html#lifespec.StartupFailed"),
        (f"INFO:     {LOG_LINE}", "troubleshooting.html#lifespan-unsupported"),
    ],
)
def test_a_name_or_a_log_line_leads_to_its_place(
    browser: Browser, address: str, folder: str, query: str, place: str
) -> None:
    assert search(browser, address, folder, query)[0] == place
    browser.open(browser.run(LINKS)[0])
    assert browser.until("!!document.querySelector(':target')")


@pytest.mark.needs("chromium")
@pytest.mark.parametrize(
    ("folder", "query", "said"),
    [("en", "", "Type words"), ("en", "xyzzy", "Nothing was found"), ("zh-cn", "<>?!", "没有找到")],
)
def test_the_page_says_if_there_is_nothing(
    browser: Browser, address: str, folder: str, query: str, said: str
) -> None:
    assert search(browser, address, folder, query) == []
    assert said in browser.run(SUMMARY)


@pytest.mark.needs("chromium")
@pytest.mark.parametrize(
    ("folder", "said"), [("en", "Pages found for “uvicorn”: "), ("zh-cn", "“uvicorn”")]
)
def test_a_word_that_no_page_has_is_taken_for_the_nearest(
    browser: Browser, address: str, folder: str, said: str
) -> None:
    assert search(browser, address, folder, "uvicron")[0] == "uvicorn.html"
    assert said in browser.run(SUMMARY)


@pytest.mark.needs("chromium")
def test_a_site_on_disk_is_searched_while_one_types(browser: Browser, site: Path) -> None:
    browser.open(f"{site.as_uri()}/en/search.html")
    browser.run("""
        const field = document.querySelector("#search-query");
        field.value = "graceful shut";
        field.dispatchEvent(new Event("input"));
    """)
    assert "graceful-shutdown.html" in browser.until(f"{LINKS}[0]")
    assert browser.run("location.search") == "?q=graceful+shut"
