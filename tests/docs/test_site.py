"""The site as a browser shows it: both languages, a phone's width, and no word to another host."""

import re
from base64 import b64decode
from collections import Counter
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from browser import Browser
from bs4 import BeautifulSoup

pytestmark = pytest.mark.timeout(600)  # the first test reads all pages
looked_at = pytest.mark.needs("chromium")
LANGUAGES = ("en", "zh-cn")

# The theme lets its content scroll sideways: the page itself would not tell.
WIDE = """
    document.querySelectorAll("details").forEach((each) => { each.open = true; });
    [...document.querySelectorAll("html, .content")]
        .every((each) => each.scrollWidth <= each.clientWidth)
      ? []
      : [...document.querySelectorAll("article *")]
          .filter((each) => each.getBoundingClientRect().right > document.body.clientWidth
            && !each.closest("pre, .table-wrapper"))
          .map((each) => each.outerHTML.slice(0, 80))
"""
LISTEN = """
    globalThis.stopped = [];
    addEventListener("securitypolicyviolation", (event) => {
        stopped.push(`${event.effectiveDirective} ${event.blockedURI} ${event.sourceFile}`);
    });
"""


NAME = "a2wsgi, to WSGI and back"  # of a record
# What is in a sentence, and in no list of names.
ENGLISH = re.compile(
    r"\b(the|a|an|of|is|are|was|and|or|to|in|with|not|no|for|by|after)\b", re.IGNORECASE
)


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, BeautifulSoup]:
    """Return all pages of both languages by their paths."""
    return {
        path.relative_to(site).as_posix(): BeautifulSoup(path.read_text("utf-8"), "html.parser")
        for path in sorted(site.glob("*/**/*.html"))
    }


def test_the_navigation_is_folded_but_for_the_page_s_group(pages: dict[str, BeautifulSoup]) -> None:
    """A page that is in no group unfolds the one whose table leads to it; the search, none.

    FastAPI is in a group and in a table.
    """
    for name, page in pages.items():
        groups = page.select(".sidebar-tree > details")
        unfolded = [group for group in groups if group.has_attr("open")]
        links = {str(link["href"]) for group in unfolded for link in group.select("a")}
        up = page.select_one(".breadcrumb a")
        here, open_ = str(up["href"]) if up else "#", 1 + name.endswith("/fastapi.html")
        assert len(groups) == 9, name
        found = len(unfolded), here in links
        assert found == (open_, True) or name.endswith("/search.html"), name


def test_an_anchor_is_the_same_in_both_languages(pages: dict[str, BeautifulSoup]) -> None:
    """And no element of a page has the ID of another."""
    ids = {name: [str(each["id"]) for each in page.select("[id]")] for name, page in pages.items()}
    assert [name for name, found in ids.items() if len({*found}) < len(found)] == []
    anchors = {
        name: [str(each["id"]) for each in page.select("section[id]")]
        for name, page in pages.items()
    }
    english = {name: found for name, found in anchors.items() if name.startswith("en/")}
    assert {
        name for name, found in english.items() if anchors[f"zh-cn{name[2:]}"] != found
    } == set()


@pytest.mark.parametrize("folder", LANGUAGES)
def test_a_page_of_a_framework_has_its_place(pages: dict[str, BeautifulSoup], folder: str) -> None:
    """The way up above its title and in the navigation, and the ones beside it in a chain."""
    chain, page = [], "a2wsgi.html"
    while page:
        chain.append(page)
        here = pages[f"{folder}/frameworks/{page}"]
        up, parent = here.select_one(".breadcrumb a"), here.select(".current-page > a")[-1]
        assert up is not None, page
        assert up["href"] == parent["href"] == "../framework-compatibility.html"
        following = here.select_one("a.next-page")
        page = str(following["href"]) if following else ""
    there = {name.rpartition("/")[2] for name in pages if name.startswith(f"{folder}/frameworks/")}
    assert (sorted(chain), chain.index("fastapi.html")) == (sorted(there), 6)


def test_each_link_of_the_site_leads_somewhere(site: Path, pages: dict[str, BeautifulSoup]) -> None:
    ids = {name: {each["id"] for each in page.select("[id]")} for name, page in pages.items()}
    dead = []
    for name, page in pages.items():
        for link in page.select("a[href], link[href]"):
            parts = urlsplit(str(link["href"]))
            if parts.scheme:
                continue
            file = ((site / name).parent / parts.path).resolve() if parts.path else site / name
            there = file.relative_to(site.resolve()).as_posix()
            known = ids.get(there, set())
            if not file.exists() or (parts.fragment and unquote(parts.fragment) not in known):
                dead.append(f"{name}: {link['href']}")
    assert dead == []


def test_every_page_names_its_other_language_and_itself(pages: dict[str, BeautifulSoup]) -> None:
    """Its policy is the first in the head, and it has one heading of the first rank."""
    for name, page in pages.items():
        links = {str(link["hreflang"]) for link in page.select("link[hreflang]")}
        assert links == {"en", "zh-CN", "x-default"}, name
        first = page.select_one("head > *")
        assert first is not None
        assert first.get("http-equiv") == "Content-Security-Policy", name
        assert len(page.select("h1")) == 1, name
        foot = page.select_one(".colophon")
        assert foot is not None, name
        assert re.search(r"\d+\.\d+\.\d+.*\d{4}-\d\d-\d\d.*0BSD", foot.get_text(" ", strip=True))


@pytest.mark.parametrize("folder", LANGUAGES)
def test_a_page_has_a_description_of_its_own(pages: dict[str, BeautifulSoup], folder: str) -> None:
    found = {
        name: str(page.select('meta[name="description"]')[0]["content"])
        for name, page in pages.items()
        if name.startswith(f"{folder}/") and not name.endswith("/search.html")
    }
    assert [text for text, count in Counter(found.values()).items() if count > 1] == []
    chinese = {name: bool(re.search(r"[\u3400-\u9fff]", text)) for name, text in found.items()}
    assert {name for name in found if chinese[name] != (folder == "zh-cn")} == set()


def test_each_table_is_drawn_as_one(pages: dict[str, BeautifulSoup]) -> None:
    """A blank line between the rows of a template would show them as paragraphs."""
    rows = {
        name: [p for p in page.select("p") if p.text.startswith("| ")]
        for name, page in pages.items()
    }
    assert [name for name, found in rows.items() if found] == []


def test_a_chinese_page_is_chinese(pages: dict[str, BeautifulSoup]) -> None:
    """No text or label of it has words of English grammar and no Chinese; code is no text."""
    found = []
    for name, page in pages.items():
        if not name.startswith("zh-cn/"):
            continue
        labels = [str(each["aria-label"]) for each in page.select("[aria-label]")]
        for code in page.select("code, pre, svg, script, style, .sig, [lang=en]"):
            code.decompose()
        texts = page.find_all(["p", "li", "dd", "tr", "summary", "figcaption", "h1", "h2", "h3"])
        found += [
            f"{name}: {text}"
            for text in [*labels, *(each.get_text(" ", strip=True) for each in texts)]
            if ENGLISH.search(text.replace(NAME, "")) and not re.search("[\u3400-\u9fff]", text)
        ]
    assert found == []


@looked_at
def test_a_page_fits_a_phone_keeps_to_its_policy_and_asks_no_other_host(
    browser: Browser, address: str, site: Path
) -> None:
    browser.width(390)
    browser.requests.clear()
    browser.failures.clear()
    listening = browser.send("Page.addScriptToEvaluateOnNewDocument", source=LISTEN)
    wrong, pages = {}, [path.relative_to(site).as_posix() for path in site.glob("*/**/*.html")]
    for page in pages:
        browser.open(f"{address}/{page}")
        if found := browser.run(WIDE) + browser.run("stopped"):
            wrong[page] = found
    browser.send("Page.removeScriptToEvaluateOnNewDocument", **listening)
    assert wrong == {}
    requests = [each for each in browser.requests if urlsplit(each).scheme != "data"]
    assert len(requests) > len(pages)
    assert [each for each in requests if not each.startswith(f"{address}/")] == []
    assert browser.failures == []


@looked_at
def test_the_policy_stops_scripts_and_requests_of_others(browser: Browser, address: str) -> None:
    listening = browser.send("Page.addScriptToEvaluateOnNewDocument", source=LISTEN)
    browser.open(f"{address}/en/protocol.html")
    browser.run("""
        document.body.append(Object.assign(document.createElement("script"), { text: "ran = 1" }));
        fetch("https://example.org/").catch(() => 0);
        document.body.append(Object.assign(new Image(), { src: "https://example.org/x.png" }));
        0
    """)
    browser.send("Page.removeScriptToEvaluateOnNewDocument", **listening)
    stopped = browser.until("stopped.length > 2 && stopped.join()")
    assert {each.split()[0] for each in stopped.split(",")} == {
        "script-src-elem", "connect-src", "img-src",
    }  # fmt: skip
    assert browser.run("globalThis.ran") is None


@looked_at
@pytest.mark.parametrize(("here", "there"), [("en", "zh-cn"), ("zh-cn", "en")])
@pytest.mark.parametrize("fragment", ["#startup-sent", ""])
def test_the_other_language_is_at_the_same_place(
    browser: Browser, address: str, here: str, there: str, fragment: str
) -> None:
    """At the fragment of the address, or where one has scrolled to."""
    browser.width(1280)
    browser.open(f"{address}/{here}/protocol.html{fragment}")
    if not fragment:
        browser.run("document.querySelector('#startup-sent').scrollIntoView({behavior: 'instant'})")
    browser.run("document.querySelector('.languages a').click()")
    browser.until(f"location.pathname.endsWith('/{there}/protocol.html') && document.readyState")
    assert browser.until("!!document.querySelector(':target')")
    top = "document.querySelector('#startup-sent').getBoundingClientRect().top"
    browser.until(f"0 <= {top} && {top} < 800", 20)  # it scrolls there


@looked_at
@pytest.mark.parametrize("place", ["protocol.html#startup-sent", "edge-cases.html#cancelled-twice"])
def test_a_link_to_a_rule_or_a_case_is_not_below_the_header_of_a_phone(
    browser: Browser, address: str, place: str
) -> None:
    browser.width(390)
    browser.open(f"{address}/en/{place}")
    browser.until("scrollY > 0")
    header = "document.querySelector('.mobile-header').getBoundingClientRect().bottom"
    target = "document.querySelector(':target').getBoundingClientRect().top"
    assert browser.run(f"{target} >= {header}")
    browser.width(1280)


def copied(browser: Browser, page: Path, program: str) -> str:
    """Press the button of a program on a page on disk; return what it copies."""
    browser.open(page.as_uri())
    browser.run(f"""
        navigator.clipboard.writeText = async (text) => {{ globalThis.taken = text; }};
        document.querySelector("{program} .copybtn").click();
    """)
    text: str = browser.until("globalThis.taken")
    return text


@looked_at
def test_a_program_can_be_copied_from_a_page_on_disk(browser: Browser, site: Path) -> None:
    text = copied(browser, site / "zh-cn/index.html", ".highlight-python")
    assert text.startswith("from contextlib import asynccontextmanager\n")
    assert browser.run("document.querySelectorAll('.output .copybtn').length") == 0


@looked_at
def test_a_copied_program_has_what_it_needs(browser: Browser, site: Path) -> None:
    text = copied(browser, site / "en/edge-cases.html", ".needs-0")
    assert "async def serve(app" in text
    compile(text, "copied", "exec")


@looked_at
def test_checks_are_loaded_from_disk_when_one_unfolds(browser: Browser, site: Path) -> None:
    browser.open((site / "en/timeouts.html").as_uri())
    checks, programs = (
        f"document.querySelectorAll('details.check{each}').length" for each in ("", " pre")
    )
    assert browser.run(programs) == 0
    browser.run("document.querySelector('details.check').open = true")
    assert browser.until(programs) == browser.run(checks)


@looked_at
@pytest.mark.parametrize("folder", LANGUAGES)
def test_the_protocol_fits_on_four_sheets(browser: Browser, site: Path, folder: str) -> None:
    browser.open((site / folder / "protocol.html").as_uri())
    a4 = {"paperWidth": 8.27, "paperHeight": 11.69}
    printed = b64decode(browser.send("Page.printToPDF", printBackground=True, **a4)["data"])
    assert 0 < len(re.findall(rb"/Type /Page$", printed, re.MULTILINE)) <= 4


@looked_at
def test_the_first_page_leads_to_a_language(browser: Browser, site: Path) -> None:
    """From the file system, too; without JavaScript there are two links."""
    browser.open(f"{site.as_uri()}/index.html")
    browser.until("location.pathname.endsWith('/en/index.html')")
    page = BeautifulSoup((site / "index.html").read_text("utf-8"), "html.parser")
    assert [link["href"] for link in page.find_all("a")] == ["en/index.html", "zh-cn/index.html"]


@looked_at
def test_an_address_without_a_page_leads_to_the_search(
    browser: Browser, address: str, site: Path
) -> None:
    """At any depth, if the site was told where it stands, and without a word to another host."""
    page = (site / "404.html").read_text("utf-8")
    missing = site / "en" / "none.html"
    missing.write_text(page.replace('<base href="./">', f'<base href="{address}/">'), "utf-8")
    for language, said in ("en", "Pages found"), ("zh-cn", "找到"):
        browser.open(f"{address}/en/none.html")
        browser.run(f"""
            document.querySelector("form[action^={language}] input").value = "uvicorn";
            setTimeout(() => document.querySelector("form[action^={language}]").requestSubmit());
        """)
        browser.until(f"location.pathname.endsWith('/{language}/search.html')")
        browser.until(f"document.querySelector('#search-summary')?.textContent.includes({said!r})")
    links = BeautifulSoup(page, "html.parser").select("a[href], link[href]")
    assert [link["href"] for link in links if not (site / str(link["href"])).exists()] == []
    missing.unlink()
