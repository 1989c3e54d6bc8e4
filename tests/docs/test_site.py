"""The site as a browser shows it: both languages, a phone's width, and no word to another host."""

import json
import re
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest
from browser import Browser
from bs4 import BeautifulSoup, Tag

pytestmark = pytest.mark.timeout(300)  # the first test builds the site
looked_at = pytest.mark.needs("chromium")


@pytest.fixture(scope="module")
def pages(site: Path) -> list[str]:
    """Return the pages' paths, both languages."""
    found = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    found = [name for name in found if not name.startswith("simple/")]  # for pip
    return [name for name in found if name != "404.html"]  # its links begin at the host


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


class Visits(NamedTuple):
    """Every page was opened: what is too wide on it, what was asked for, and what not found.

    `stopped` is what a page tried and its policy did not allow.
    """

    wide: dict[str, list[str]]
    stopped: dict[str, list[str]]
    asked: list[str]
    lost: list[str]


@pytest.fixture(scope="module")
def visits(browser: Browser, address: str, pages: list[str]) -> Visits:
    """Open every page, as wide as a phone."""
    browser.width(400)
    browser.requests.clear()
    browser.failures.clear()
    listening = browser.send("Page.addScriptToEvaluateOnNewDocument", source=LISTEN)
    wide, stopped = {}, {}
    for page in pages:
        browser.open(f"{address}/{page}")
        wide[page] = browser.run(WIDE)
        stopped[page] = browser.run("stopped")
    browser.send("Page.removeScriptToEvaluateOnNewDocument", **listening)
    return Visits(wide, stopped, list(browser.requests), list(browser.failures))


@looked_at
def test_no_page_is_wider_than_a_phone(visits: Visits) -> None:
    assert {page: found for page, found in visits.wide.items() if found} == {}


@looked_at
@pytest.mark.parametrize("pixels", [1216, 1280, 1312])
def test_the_contents_fit_beside_the_page(browser: Browser, address: str, pixels: int) -> None:
    """Where there is room for the list of the sections, it is whole within the window."""
    browser.width(pixels)
    browser.open(f"{address}/zh-cn/server-compatibility.html")
    box = "document.querySelector('.toc-drawer').getBoundingClientRect()"
    left, right, width = browser.run(f"[{box}.left, {box}.right, document.body.clientWidth]")
    assert 0 < left < right <= width


@looked_at
def test_no_page_does_what_its_policy_forbids(visits: Visits) -> None:
    assert {page: found for page, found in visits.stopped.items() if found} == {}


@looked_at
@pytest.mark.parametrize(
    ("script", "directive"),
    [
        ("const s = document.createElement('script'); s.text = 'ran = 1'; document.body.append(s)",
         "script-src-elem inline"),
        ("fetch('https://example.org/').catch(() => 0)", "connect-src https://example.org"),
        ("document.body.append(Object.assign(new Image(), {src: 'https://example.org/x.png'}))",
         "img-src https://example.org/x.png"),
    ],
)  # fmt: skip
def test_what_the_policy_forbids_is_stopped(
    browser: Browser, address: str, script: str, directive: str
) -> None:
    listening = browser.send("Page.addScriptToEvaluateOnNewDocument", source=LISTEN)
    browser.open(f"{address}/en/state.html")
    browser.run(f"{script}; 0")
    browser.send("Page.removeScriptToEvaluateOnNewDocument", **listening)
    assert directive in browser.until("stopped.join()")
    assert browser.run("globalThis.ran") is None


@looked_at
def test_no_page_asks_another_host(visits: Visits, address: str, pages: list[str]) -> None:
    asked = [each for each in visits.asked if urlsplit(each).scheme != "data"]
    assert len(asked) > len(pages)
    assert [each for each in asked if not each.startswith(f"{address}/")] == []
    assert visits.lost == []


@looked_at
@pytest.mark.parametrize(("here", "there"), [("en", "zh-cn"), ("zh-cn", "en")])
def test_the_other_language_is_at_the_same_place(
    browser: Browser, address: str, here: str, there: str
) -> None:
    browser.open(f"{address}/{here}/startup.html#startup-sent")
    browser.run("document.querySelector('.languages a').click()")
    browser.until(f"location.pathname.endsWith('/{there}/startup.html') && document.readyState")
    assert browser.run("location.hash") == "#startup-sent"
    assert browser.until("!!document.querySelector(':target')")


@looked_at
@pytest.mark.parametrize("served", [True, False])
def test_a_program_can_be_copied(browser: Browser, address: str, site: Path, served: bool) -> None:
    browser.open(f"{address if served else site.as_uri()}/zh-cn/index.html")
    origin = {"origin": address.partition("/some")[0]} if served else {}
    if served:
        permissions = ["clipboardReadWrite", "clipboardSanitizedWrite"]
        browser.send("Browser.grantPermissions", permissions=permissions, **origin)
    browser.run("""
        globalThis.taken = "";
        addEventListener("copy", () => { taken = document.activeElement.value; });
        if (navigator.clipboard) navigator.clipboard.writeText = async (text) => { taken = text; };
        document.querySelector(".highlight-python .copybtn").click();
    """)
    copied = browser.until("globalThis.taken")
    assert copied.startswith("from contextlib import asynccontextmanager\n")
    assert copied.endswith("    return request.state.pool")
    assert browser.run("document.querySelectorAll('.output .copybtn').length") == 0


@looked_at
def test_the_first_page_leads_to_a_language(browser: Browser, site: Path) -> None:
    """From the file system, too; without JavaScript there are two links."""
    browser.open(f"{site.as_uri()}/index.html")
    browser.until("location.pathname.endsWith('/en/index.html')")
    page = BeautifulSoup((site / "index.html").read_text(), "html.parser")
    assert [link["href"] for link in page.find_all("a")] == ["en/index.html", "zh-cn/index.html"]


def test_alternates_name_both_languages(site: Path, pages: list[str]) -> None:
    """Every page says where its other language stands, and it stands there."""
    for page in pages:
        head, body, _ = (site / page).read_text().partition("</head>")
        assert body, page
        soup = BeautifulSoup(head, "html.parser")
        links = {link["hreflang"]: link["href"] for link in soup.select("link[hreflang]")}
        assert links.keys() == {"en", "zh-CN", "x-default"}, page
        assert all(((site / page).parent / href).exists() for href in links.values()), page


# A row of a table is one text: it may set an English term beside its Chinese.
PROSE = ["p", "li", "dt", "dd", "summary", "figcaption", "title", "label"]
PROSE += [f"h{level}" for level in range(1, 7)]
CODE = re.compile(r"(<(pre|script|style)\b[^>]*>).*?(</\2>)", re.DOTALL)
NAMES = {"API", "lifespec", "ASGI", "AMGI", "PAGI"} | {
    "asgi", "asyncio", "daphne", "granian", "gunicorn", "hypercorn", "uvicorn",
    "PASS", "FAIL", "WARN", "INFO", "SKIP", "SIGINT", "SIGTERM",
    "Django", "FastAPI", "Hypercorn", "Starlette",
}  # fmt: skip
WORD = re.compile(r"(?<!\d)[A-Za-z]+")  # no letter of a version, as in 0.66b2
RECORDS = Path(__file__).parents[2] / "docs" / "matrix"
for record in RECORDS.glob("*.json"):  # what was measured has a name
    for subject in json.loads(record.read_text(encoding="utf-8")).get("subjects", []):
        NAMES.update(WORD.findall(subject["name"]))
MEASURED = re.compile(  # a name, and its version or in a measure the time it took
    r"\b(?:import )?[a-z_-]+(?:\(\))?(?: \d+\.\d+\.\d+)?\s+[\d.,]+\s[mµ]s\b"
    r"|\b[a-z_-]+ \d+(?:\.\d+)+\b"
)


def latin_only(text: Tag) -> bool:
    """Whether a text has English words and no Chinese ones; code and names are neither."""
    words = " ".join(
        piece
        for piece in text.find_all(string=True)
        if not piece.find_parent(["code", "pre", "svg", "script"])
        and not piece.find_parent(lang="en")
    )
    words = MEASURED.sub("", words)
    english = set(WORD.findall(words)) - NAMES
    return bool(english) and not re.search(r"[\u3400-\u9fff]", words)


def test_a_chinese_page_is_chinese(site: Path, pages: list[str]) -> None:
    """No paragraph, heading, label or link of a Chinese page is in Latin letters alone."""
    found = []
    for page in (page for page in pages if page.startswith("zh-cn/")):
        soup = BeautifulSoup(CODE.sub(r"\1\3", (site / page).read_text()), "html.parser")
        for signature in soup.select(".sig, .field-list dd"):
            signature.decompose()
        texts = soup.find_all(PROSE)
        around = {id(parent) for each in texts for parent in each.parents}
        inmost = [each for each in texts if id(each) not in around and not each.find_parent("tr")]
        prose = [*soup.find_all("tr"), *inmost]
        found += [f"{page}: {each.get_text(' ', strip=True)}" for each in prose if latin_only(each)]
        labels = [
            each[key]
            for key in ("aria-label", "title", "alt")
            for each in soup.find_all(attrs={key: True})
        ]
        english = [text for text in labels if text.isascii() and " " in text]
        found += [f"{page}: label {text}" for text in english if WORD.findall(text) != ["PAGI"]]
    assert found == []
