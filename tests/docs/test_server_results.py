"""The table of verdicts in a browser: its form, the address, the head that stays."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser
from bs4 import BeautifulSoup, Tag

pytestmark = pytest.mark.timeout(300)  # the first test builds the site
looked_at = pytest.mark.needs("chromium")
both = pytest.mark.parametrize("language", ["en", "zh-cn"])
RECORD = Path(__file__).parents[2] / "docs" / "matrix" / "servers.json"
PAGE = "server-compatibility.html"

SHOWN = """
    [...document.querySelectorAll("table.matrix[data-record=servers] tr[id]")]
        .filter((row) => row.offsetHeight > 0).map((row) => row.id)
"""
COLUMNS = """
    [...document.querySelectorAll("table.matrix[data-record=servers] thead")][0]
        .querySelectorAll("th + th:not([hidden])").length
"""


def choose(name: str, value: str) -> str:
    """Return a script that chooses as a reader does."""
    return f"""
        (() => {{
            const field = document.querySelector(".matrix-controls [name={name}]");
            field.value = {json.dumps(value)};
            field.dispatchEvent(new Event("change", {{ bubbles: true }}));
        }})()
    """


def counted() -> str:
    """Return a script for what the form says of the rows."""
    return "document.querySelector('.matrix-controls output').value"


@pytest.fixture
def opened(browser: Browser, address: str, language: str) -> Iterator[Browser]:
    """Open the page anew, as wide as a desk's."""
    browser.width(1280)
    browser.open("about:blank")
    browser.open(f"{address}/{language}/{PAGE}")
    yield browser
    browser.width(1280)


@looked_at
@both
def test_the_form_shows_some_rows_and_columns_and_all_again(opened: Browser) -> None:
    """The address keeps the choice; what is counted is what is shown."""
    everything = opened.run(SHOWN)
    subjects = len(json.loads(RECORD.read_text(encoding="utf-8"))["subjects"])
    assert opened.run(COLUMNS) == subjects
    opened.run(choose("rows", "faults"))
    faults = opened.run(SHOWN)
    assert 0 < len(faults) < len(everything)
    said = opened.run(counted())
    assert str(len(faults)) in said
    assert str(len(everything)) in said
    opened.run(choose("subject", "uvicorn"))
    assert opened.run(COLUMNS) == 1
    assert 0 < len(opened.run(SHOWN)) < len(faults)
    assert opened.run("location.search") == "?subject=uvicorn&rows=faults"
    opened.run("document.querySelector('.matrix-controls button').click()")
    opened.until(f"({SHOWN}).length === {len(everything)}")
    assert opened.run("location.search") == ""
    assert opened.run(COLUMNS) == subjects


@looked_at
@both
def test_an_address_shows_its_view(browser: Browser, address: str, language: str) -> None:
    """One part of a lifespan, and one server; what is no choice changes nothing."""
    browser.open("about:blank")
    browser.open(f"{address}/{language}/{PAGE}?part=startup&subject=granian&rows=nonsense")
    rows = browser.run(SHOWN)
    assert "servers-startup-sent" in rows
    assert "servers-shutdown-sent" not in rows
    assert browser.run(COLUMNS) == 1
    chosen = "document.querySelector('.matrix-controls [name=rows]').value"
    assert browser.run(chosen) == ""


@looked_at
@both
def test_differences_are_those_of_servers_with_a_lifespan(opened: Browser) -> None:
    """A server of which nothing could be seen differs from nobody."""
    opened.run(choose("rows", "differences"))
    rows = opened.run(SHOWN)
    assert "servers-state-untouched" in rows
    assert "servers-scope-type" not in rows


@looked_at
@both
def test_changes_are_the_marked_cells(opened: Browser) -> None:
    """A row is shown if the record before had another verdict."""
    opened.run(choose("rows", "changes"))
    marked = """
        [...document.querySelectorAll("[data-record=servers] td.changed")]
            .map((cell) => cell.parentNode.id)
    """
    assert set(opened.run(SHOWN)) == set(opened.run(marked))


@looked_at
@both
def test_what_the_address_names_is_never_hidden(opened: Browser) -> None:
    opened.run(choose("rows", "faults"))
    assert "servers-scope-type" not in opened.run(SHOWN)
    opened.run("location.hash = 'servers-scope-type-uvicorn'")
    opened.until(f"({SHOWN}).includes('servers-scope-type')")


@looked_at
@both
@pytest.mark.parametrize("width", [1280, 390])
def test_the_head_stays_and_nothing_scrolls_sideways(
    opened: Browser, width: int, language: str
) -> None:
    """Thirty rows down, the names of the servers are in sight; all columns are on a phone."""
    opened.width(width)
    opened.run("document.documentElement.style.scrollBehavior = 'auto'")
    opened.run("document.querySelector('#servers-shutdown-sent').scrollIntoView({block: 'end'})")
    heads = """
        [...document.querySelector("table.matrix").querySelectorAll("thead th")]
            .map((head) => head.getBoundingClientRect())
            .map((box) => [box.top, box.bottom, box.left, box.right])
    """
    for top, bottom, left, right in opened.run(heads):
        assert 0 <= top < bottom < 300
        assert 0 <= left < right <= width
    names = "[...document.querySelectorAll('table.matrix thead a')].map((name) => name.innerText)"
    assert "uvicorn" in opened.run(names)


def cells(page: BeautifulSoup) -> Iterator[Tag]:
    """Yield the cells of all tables of verdicts of a page."""
    yield from page.select("table.matrix td")


@both
@pytest.mark.parametrize("name", [PAGE, "test-clients.html"])
def test_each_cell_has_an_anchor_and_leads_to_a_sentence(
    site: Path, language: str, name: str
) -> None:
    """A PASS that was one before leads nowhere; the sentence stands without a script."""
    page = BeautifulSoup((site / language / name).read_text(encoding="utf-8"), "html.parser")
    ids = {each["id"] for each in page.select("[id]")}
    assert len(ids) == len(page.select("[id]"))
    assert len([*cells(page)]) > 200
    for cell in cells(page):
        assert cell["id"]
        plain = cell["class"] == ["verdict-pass"]
        link = cell.a
        assert bool(link) != plain, cell["id"]
        if link:
            target = page.find(id=link["href"][1:])  # type: ignore[index]
            assert target, cell["id"]
            assert target.get_text(strip=True)
    assert page.select_one("form.matrix-controls[hidden]")


@both
def test_the_front_page_has_a_line_for_each_server(site: Path, language: str) -> None:
    front = BeautifulSoup(
        (site / language / "index.html").read_text(encoding="utf-8"), "html.parser"
    )
    page = BeautifulSoup((site / language / PAGE).read_text(encoding="utf-8"), "html.parser")
    links = [link["href"] for link in front.select("table.scores th[scope=row] a")]
    names = [row["name"] for row in json.loads(RECORD.read_text(encoding="utf-8"))["subjects"]]
    assert len(links) == len(names)
    for link, name in zip(links, names, strict=True):
        file, _, anchor = str(link).partition("#")
        assert file == PAGE
        section = page.find("section", id=anchor)
        assert section
        title = section.find(["h2", "h3"])
        assert title
        assert title.get_text().startswith(name)


@both
def test_every_rule_that_has_a_case_leads_to_it(site: Path, language: str) -> None:
    pages = {
        path.name: BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
        for path in (site / language).glob("*.html")
    }
    links = [link for page in pages.values() for link in page.select(".rule-links a")]
    assert len(links) > 80
    for link in links:
        file, _, anchor = str(link["href"]).partition("#")
        assert pages[file].find(id=anchor), link["href"]


@looked_at
@both
def test_one_framework_is_shown_alone(browser: Browser, address: str, language: str) -> None:
    shown = """[...document.querySelectorAll("section.framework")]
        .filter((each) => each.offsetHeight > 0).map((each) => each.id)"""
    browser.open(f"{address}/{language}/framework-compatibility.html")
    assert len(browser.run(shown)) > 1
    browser.run("document.querySelector('.choice select').value = 'framework-starlette'")
    assert browser.run(shown) == ["framework-starlette"]
