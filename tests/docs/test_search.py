"""The search of the built site: what people ask, and the page that shows what is found."""

import re
import tomllib
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import pytest
from browser import Browser
from bs4 import BeautifulSoup
from searching import found

from lifespec_docs.search.index import FILE

pytestmark = pytest.mark.timeout(300)  # the first test builds the site
looked_at = pytest.mark.needs("chromium")

LANGUAGES = ("en", "zh-cn")
QUERIES = tomllib.loads(Path(__file__).with_name("queries.toml").read_text(encoding="utf-8"))
SHOWN = 3  # results that a reader looks at
RIGHT = 0.9  # of the queries: the first result answers; of those held back: one of the shown does
LINKS = "[...document.querySelectorAll('#search-results ol.search > li > a')].map((a) => a.href)"
SUMMARY = "document.querySelector('#search-summary').textContent"
DOORS = "[...document.querySelectorAll('#search-doors a')].some((a) => a.checkVisibility())"
LOG_LINE = "ASGI 'lifespan' protocol appears unsupported."


def ranks(site: Path, folder: str, name: str) -> dict[str, int]:
    """Return for each query at which place an answer is found; a large number if it is not."""
    queries: dict[str, list[str]] = QUERIES[folder][name]
    script = (site / folder / FILE).read_text(encoding="utf-8")
    pages = [[each["page"] for each in answer["results"]] for answer in found(script, *queries)]
    asked = zip(queries.items(), pages, strict=True)
    return {
        query: next((at for at, page in enumerate(given) if page in answers), 99)
        for (query, answers), given in asked
    }


@pytest.mark.needs("node")
@pytest.mark.parametrize("folder", LANGUAGES)
@pytest.mark.parametrize("name", ["review", "tuned"])
def test_each_query_is_answered(site: Path, folder: str, name: str) -> None:
    """By one of the first results, and most by the first."""
    found = ranks(site, folder, name)
    assert {query: at for query, at in found.items() if at >= SHOWN} == {}
    assert [*found.values()].count(0) >= RIGHT * len(found), found


@pytest.mark.needs("node")
@pytest.mark.parametrize("folder", LANGUAGES)
def test_queries_that_the_search_was_not_fitted_to_are_answered(site: Path, folder: str) -> None:
    """Nearly as well: the search is not made for its tests."""
    found = ranks(site, folder, "held")
    assert sum(at < SHOWN for at in found.values()) >= RIGHT * len(found), found


@pytest.mark.needs("node")
@pytest.mark.parametrize(
    ("folder", "query"), [("en", "startup"), ("en", "state"), ("zh-cn", "启动")]
)
def test_a_frequent_word_leads_to_more_than_the_page_that_is_called_so(
    site: Path, folder: str, query: str
) -> None:
    """A reader of the page on startup may want that on troubleshooting."""
    (answer,) = found((site / folder / FILE).read_text(encoding="utf-8"), query)
    assert len(answer["results"]) > SHOWN


def search(browser: Browser, address: str, folder: str, query: str) -> list[str]:
    """Open the page of the search with a query; return where its results lead."""
    browser.open(f"{address}/{folder}/search.html?q={quote(query)}")
    browser.until(SUMMARY)
    return [unquote(link.rpartition("/")[2]) for link in browser.run(LINKS)]


@looked_at
@pytest.mark.parametrize("folder", LANGUAGES)
@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("startup-sent", "startup.html#startup-sent"),
        ("lifespec.Lifespan", "api.html#lifespec.Lifespan"),
        ("with_lifespan", "api.html#lifespec.with_lifespan"),
        ("StartupFailed", "api.html#lifespec.StartupFailed"),
        (LOG_LINE, "troubleshooting.html#lifespan-unsupported"),
        (f"INFO:     {LOG_LINE}", "troubleshooting.html#lifespan-unsupported"),
    ],
)
def test_a_name_or_a_log_line_leads_to_its_place(
    browser: Browser, address: str, folder: str, query: str, place: str
) -> None:
    assert search(browser, address, folder, query)[0] == place
    browser.open(browser.run(LINKS)[0])
    assert browser.until("!!document.querySelector(':target')")


@looked_at
@pytest.mark.parametrize(
    ("folder", "query", "said"),
    [
        ("en", "", "Type words"),
        ("en", "xyzzyplugh", "Nothing was found"),
        ("en", "<>?!", "Nothing was found"),
        ("zh-cn", "", "请输入"),
        ("zh-cn", "饕餮", "没有找到"),
    ],
)
def test_the_doors_are_shown_where_nothing_is(
    browser: Browser, address: str, folder: str, query: str, said: str
) -> None:
    """The doors of the front page, and a sentence; they are gone when something is found."""
    assert search(browser, address, folder, query) == []
    assert said in browser.run(SUMMARY)
    assert browser.run(DOORS)
    assert search(browser, address, folder, "timeout")
    assert not browser.run(DOORS)


@pytest.mark.parametrize("folder", LANGUAGES)
def test_the_doors_are_those_of_the_front_page(site: Path, folder: str) -> None:
    """They are in the page itself, so that a browser without JavaScript shows them."""

    def doors(name: str) -> list[tuple[str, str]]:
        page = BeautifulSoup((site / folder / name).read_text(encoding="utf-8"), "html.parser")
        return [(link.get_text(), str(link["href"])) for link in page.select("ul.doors a")]

    assert len(doors("index.html")) == 4
    assert doors("search.html") == doors("index.html")


@looked_at
@pytest.mark.parametrize(("folder", "words"), [("en", "all words"), ("zh-cn", "全部关键词")])
def test_a_page_without_all_words_is_told(
    browser: Browser, address: str, folder: str, words: str
) -> None:
    """Above the results, and the missing word at each."""
    assert search(browser, address, folder, "timeouts xyzzyplugh")
    assert words in browser.run(SUMMARY)
    assert "xyzzyplugh" in browser.run("document.querySelector('.result-missing').textContent")
    assert search(browser, address, folder, "timeout")
    assert words not in browser.run(SUMMARY)


@looked_at
@pytest.mark.parametrize(("here", "there"), [("en", "zh-cn"), ("zh-cn", "en")])
def test_the_other_language_keeps_the_query(
    browser: Browser, address: str, here: str, there: str
) -> None:
    search(browser, address, here, "state")
    browser.run("document.querySelector('#search-query').select()")
    browser.send("Input.insertText", text="uvicorn & 超时")
    browser.until("location.search.includes('uvicorn')")
    browser.run("document.querySelector('.languages a').click()")
    browser.until(f"location.pathname.endsWith('/{there}/search.html') && {LINKS}.length")
    assert browser.run("document.querySelector('#search-query').value") == "uvicorn & 超时"


@looked_at
def test_no_result_is_fetched(browser: Browser, address: str) -> None:
    browser.requests.clear()
    assert len(search(browser, address, "en", "timeout")) > 3
    assert browser.run("document.querySelectorAll('.result-sentence mark').length") > 3
    pages = [urlsplit(each).path for each in browser.requests if ".html" in each]
    assert [path.rpartition("/")[2] for path in pages] == ["search.html"]


@looked_at
def test_the_keyboard_is_enough(browser: Browser, address: str) -> None:
    """A query is typed, Tab and the arrows lead to the results, Enter to the first of them."""
    search(browser, address, "en", "")
    assert browser.run("document.activeElement.id") == "search-query"
    browser.send("Input.insertText", text="startup-sent")
    browser.press("Enter")
    browser.until(f"{LINKS}.length")
    for _ in range(2):
        browser.press("Tab")
    assert browser.run("document.activeElement.href") == browser.run(LINKS)[0]
    browser.press("ArrowDown")
    assert browser.run("document.activeElement.href") == browser.run(LINKS)[1]
    for _ in range(3):
        browser.press("ArrowUp")
    assert browser.run("document.activeElement.id") == "search-query"
    browser.run("document.activeElement.blur()")
    browser.press("ArrowDown")
    browser.press("Enter")
    browser.until("location.hash === '#startup-sent'")


@looked_at
@pytest.mark.parametrize("folder", LANGUAGES)
def test_results_fit_a_phone(browser: Browser, address: str, folder: str) -> None:
    browser.width(390)
    for query in (LOG_LINE, "lifespan.startup.complete", "x" * 90):
        search(browser, address, folder, query)
        assert browser.run("document.querySelector('.content').scrollWidth") <= 390
    browser.width(1280)


@looked_at
def test_the_search_works_from_a_file_system(browser: Browser, site: Path) -> None:
    assert search(browser, site.as_uri(), "zh-cn", "超时")[0].startswith("timeouts.html")


def test_each_row_of_the_index_of_log_lines_leads_to_a_place(site: Path) -> None:
    """That exists; both languages have the same rows."""
    anchors = {}
    for folder in LANGUAGES:
        page = (site / folder / "troubleshooting.html").read_text(encoding="utf-8")
        rows = BeautifulSoup(page, "html.parser").select("table.log-index tbody tr")
        anchors[folder] = [row["id"] for row in rows]
        for link in (link for row in rows for link in row.select("a")):
            name, _, anchor = str(link["href"]).partition("#")
            target = (site / folder / (name or "troubleshooting.html")).read_text(encoding="utf-8")
            assert not anchor or re.search(rf'id="{re.escape(anchor)}"', target), link
    assert anchors["en"] == anchors["zh-cn"]
    assert "log-asgi-lifespan-protocol-appears-unsupported" in anchors["en"]
