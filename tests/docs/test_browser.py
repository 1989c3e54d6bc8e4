"""The site in Chromium: every page opened once for all readers, then what answers keys and clicks.

A page fits a phone, keeps to its policy, asks no other host and moves for nobody who asks for less
motion; axe finds nothing; what Tab reaches is seen.
"""

import json
import re
from base64 import b64decode
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import pytest
from browser import Browser
from bs4 import BeautifulSoup

pytestmark = pytest.mark.timeout(900)
WIDE, PHONE = 1280, 390  # pixels
LANGUAGES = ("en", "zh-cn")
MOVED = 'http-equiv="refresh"'  # of an old address
PARTS = 5  # of the pages of a language, to be opened side by side


@pytest.fixture(autouse=True)
def window(browser: Browser) -> None:
    """Begin as wide as most screens, with no page."""
    browser.width(WIDE)
    browser.open("about:blank")


# -- every page --

AXE = files("axe_core_python") / "axe.min.js"
# Most of the time of axe is for the contrast of texts, and most texts of a site look like others.
RUN_AXE = """(async (seen, all) => {
    const known = new Set(seen), looks = [], texts = [];
    for (const each of document.querySelectorAll("body *")) {
        const own = [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
        if (!own || !each.checkVisibility({visibilityProperty: true})) continue;
        const {color, fontSize, fontWeight} = getComputedStyle(each);
        const look = [color, fontSize, fontWeight];
        for (let at = each; at; at = at.parentElement) {
            const {backgroundColor, backgroundImage, opacity} = getComputedStyle(at);
            look.push(backgroundColor, backgroundImage, opacity);
        }
        const name = look.filter((part) => !/^(none|1|rgba\\(.*, 0\\))$/.test(part)).join(" ");
        if (known.has(name)) continue;
        known.add(name);
        looks.push(name);
        texts.push(each);
    }
    const options = {resultTypes: ["violations"], iframes: false}, contrast = "color-contrast";
    const runs = [];  // it runs one at a time
    if (all) runs.push(axe.run(document, {...options, rules: {[contrast]: {enabled: false}}}));
    await runs[0];
    if (texts.length) runs.push(axe.run({include: texts}, {...options, runOnly: [contrast]}));
    const found = (await Promise.all(runs)).flatMap((run) => run.violations);
    return [looks, found.flatMap((rule) => rule.nodes.map(
        (node) => `${rule.id}: ${node.target.join(" ")}: ${node.failureSummary}`))];
})"""
# With all notes unfolded: what its policy has stopped, what moves, and what is wider than a phone.
# The theme lets its content scroll sideways: the page itself would not tell.
WRONG = """(() => {
    document.querySelectorAll("details").forEach((each) => { each.open = true; });
    const moving = [...document.querySelectorAll("*")].filter((each) => {
        const style = getComputedStyle(each);
        return style.scrollBehavior === "smooth" || parseFloat(style.transitionDuration) > 0
            && style.transitionProperty !== "none";
    });
    const fits = [...document.querySelectorAll("html, .content")]
        .every((each) => each.scrollWidth <= each.clientWidth);
    const wide = fits ? [] : [...document.querySelectorAll("article *")].filter(
        (each) => each.getBoundingClientRect().right > document.body.clientWidth
            && !each.closest("pre, .table-wrapper"));
    return [...stopped, ...[...moving, ...wide].map((each) => each.outerHTML.slice(0, 80))];
})()"""
LISTEN = """
    globalThis.stopped = [];
    addEventListener("securitypolicyviolation", (event) => {
        stopped.push(`${event.effectiveDirective} ${event.blockedURI} ${event.sourceFile}`);
    });
"""


@pytest.fixture
def listening(browser: Browser) -> Iterator[None]:
    """Let each page note what its policy stops, and tell it that its reader wants no motion."""
    reduced = [{"name": "prefers-reduced-motion", "value": "reduce"}]
    browser.send("Emulation.setEmulatedMedia", features=reduced)
    script = browser.send("Page.addScriptToEvaluateOnNewDocument", source=LISTEN)
    yield
    browser.send("Page.removeScriptToEvaluateOnNewDocument", **script)
    browser.send("Emulation.setEmulatedMedia", features=[])


def violations(
    browser: Browser, width: int, theme: str, looks: set[str], *, all_rules: bool = True
) -> list[str]:
    """Return what axe finds on the page that is open, in its contrasts those of new `looks`."""
    browser.width(width)
    browser.run(f"document.body.dataset.theme = {theme!r}; scrolls?.(); 0")
    new, found = browser.run(f"{RUN_AXE}({json.dumps([*looks])}, {json.dumps(all_rules)})")
    looks.update(new)
    return [*found]


@pytest.mark.usefixtures("listening")
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("folder", LANGUAGES)
def test_a_page_is_for_all_readers(
    browser: Browser, address: str, site: Path, folder: str, part: int
) -> None:
    """Nothing moves, is too wide or asks others; axe sees the main English pages and each fourth.

    Others share their template with one that it sees. Of texts with the same colours, size and
    weight the contrast is measured once, and colours do not depend on the width. What is not of
    contrast is the same in both themes: a fourth of the pages shows what is wide.
    """
    files = [
        each for each in (site / folder).rglob("*.html") if MOVED not in each.read_text("utf-8")
    ]
    names = sorted(path.relative_to(site).as_posix() for path in files)
    wrong, looks = dict[str, list[str]](), set[str]()
    browser.requests.clear()
    browser.failures.clear()
    for number, name in [*enumerate(names)][part::PARTS]:
        browser.width(PHONE)
        browser.open(f"{address}/{name}")
        found = browser.run(WRONG)
        is_main = folder == "en" and name.count("/") == 1
        if is_main or number % 4 == 0:
            browser.run(AXE.read_text(encoding="utf-8") + "; 0")
            found += violations(browser, PHONE, "dark", looks)
        if is_main:
            found += violations(browser, WIDE, "light", looks, all_rules=number % 4 == 0)
        if found:
            wrong[name] = found
    assert wrong == {}
    requests = [each for each in browser.requests if urlsplit(each).scheme != "data"]
    assert len(requests) > len(names) // PARTS > 9
    assert [each for each in requests if not each.startswith(f"{address}/")] == []
    assert browser.failures == []


@pytest.mark.usefixtures("listening")
def test_the_policy_stops_scripts_and_requests_of_others(browser: Browser, address: str) -> None:
    browser.open(f"{address}/en/protocol.html")
    browser.run("""
        document.body.append(Object.assign(document.createElement("script"), { text: "ran = 1" }));
        fetch("https://example.org/").catch(() => 0);
        document.body.append(Object.assign(new Image(), { src: "https://example.org/x.png" }));
        0
    """)
    stopped = browser.until("stopped.length > 2 && stopped.join()")
    assert {each.split()[0] for each in stopped.split(",")} == {
        "script-src-elem", "connect-src", "img-src",
    }  # fmt: skip
    assert browser.run("globalThis.ran") is None


# -- keys --

SEEN = """[...document.querySelectorAll("DRAWER a")]
    .some((each) => each.checkVisibility({visibilityProperty: true}))"""
FOCUSED = "document.activeElement"
# An element that has the focus and shows nothing of it would be here.
SHOWN = """(() => {
    const each = document.activeElement, style = getComputedStyle(each);
    const box = each.getBoundingClientRect();
    return each === document.body
        || (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1
            && each.checkVisibility({visibilityProperty: true}) && box.right > 0
            && box.left < innerWidth) || each.outerHTML.slice(0, 120);
})()"""


def tab_to(browser: Browser, selector: str, most: int = 300) -> None:
    """Press Tab until an element has the focus."""
    for _ in range(most):
        browser.press("Tab")
        if browser.run(f"{FOCUSED}.matches({selector!r})"):
            return
    raise AssertionError(f"Tab does not reach {selector}")


@pytest.mark.parametrize(
    ("page", "width"),
    [("index", WIDE), ("protocol", PHONE), ("server-compatibility", WIDE), ("search", PHONE)],
)
def test_what_has_the_focus_is_seen(browser: Browser, address: str, page: str, width: int) -> None:
    """At the first hundred stops, none of which lies outside the window."""
    browser.width(width)
    browser.open(f"{address}/en/{page}.html")
    hidden = []
    for _ in range(100):
        browser.press("Tab")
        if (found := browser.run(SHOWN)) is not True:
            hidden.append(found)
    assert hidden == []


def slash(browser: Browser) -> None:
    """Press the key that leads to the search, whose field takes it like any other letter."""
    browser.run(f"{FOCUSED}.blur()")
    browser.press("/")
    browser.until(f"{FOCUSED}.matches('.sidebar-search') && {FOCUSED}.checkVisibility()")
    browser.press("/")
    assert browser.run(f"{FOCUSED}.value") == "/"


def test_keys_lead_to_the_search_and_unfold_the_navigation(browser: Browser, address: str) -> None:
    browser.open(f"{address}/en/protocol.html")
    slash(browser)
    tab_to(browser, ".sidebar-tree details:not([open]) > summary")
    hidden = f"{FOCUSED}.parentElement.querySelector('a')"
    assert not browser.run(f"{hidden}.checkVisibility()")
    browser.press("Enter")
    browser.press("Tab")
    assert browser.run(f"{FOCUSED}.matches('.sidebar-tree details a')")


def test_keys_open_the_drawers_of_a_phone(browser: Browser, address: str) -> None:
    """The focus goes in, and back to what opened them; the search is in one."""
    browser.width(PHONE)
    browser.open(f"{address}/en/protocol.html")
    for name, drawer in ("__navigation", ".sidebar-drawer"), ("__toc", ".toc-drawer"):
        tab_to(browser, f"#{name}")
        assert not browser.run(SEEN.replace("DRAWER", drawer))
        browser.press(" ")
        browser.until(f"!!{FOCUSED}.closest('{drawer}')")
        browser.until(SEEN.replace("DRAWER", drawer))
        browser.press("Escape")
        assert browser.run(f"{FOCUSED}.id") == name
    slash(browser)


# -- places --


def test_the_other_language_is_at_the_same_place(browser: Browser, address: str) -> None:
    """Where one has scrolled to, or at the fragment of the address."""
    place = "document.querySelector('#startup-sent')"
    browser.open(f"{address}/en/protocol.html")
    browser.run(f"{place}.scrollIntoView({{behavior: 'instant'}})")
    for there in "zh-cn", "en":
        browser.run("document.querySelector('.languages a').click()")
        browser.until(f"location.pathname.endsWith('/{there}/protocol.html') && !!{place}")
        browser.until("!!document.querySelector(':target')")
        top = f"{place}.getBoundingClientRect().top"
        browser.until(f"0 <= {top} && {top} < 800")  # it scrolls there


@pytest.mark.parametrize("place", ["protocol.html#startup-sent", "edge-cases.html#cancelled-twice"])
def test_a_link_to_a_rule_or_a_case_is_not_below_the_header_of_a_phone(
    browser: Browser, address: str, place: str
) -> None:
    browser.width(PHONE)
    browser.open(f"{address}/en/{place}")
    browser.until("scrollY > 0")
    header = "document.querySelector('.mobile-header').getBoundingClientRect().bottom"
    target = "document.querySelector(':target').getBoundingClientRect().top"
    assert browser.run(f"{target} >= {header}")


def test_the_first_page_leads_to_a_language(browser: Browser, site: Path) -> None:
    """From the file system, too; without JavaScript there are two links."""
    browser.open(f"{site.as_uri()}/index.html")
    browser.until("location.pathname.endsWith('/en/index.html')")
    page = BeautifulSoup((site / "index.html").read_text("utf-8"), "html.parser")
    assert [link["href"] for link in page.find_all("a")] == ["en/index.html", "zh-cn/index.html"]


def test_an_address_without_a_page_leads_to_the_search(
    browser: Browser, address: str, site: Path
) -> None:
    """At any depth, if the site was told where it stands, and without a word to another host."""
    page = (site / "404.html").read_text("utf-8")
    missing = site / "en" / "none.html"
    missing.write_text(page.replace('<base href="./">', f'<base href="{address}/">'), "utf-8")
    for language, said in ("en", "Pages found"), ("zh-cn", "找到"):
        browser.open(f"{address}/en/none.html")
        browser.until(f"!!document.querySelector('form[action^={language}] input')")
        browser.run(f"""
            document.querySelector("form[action^={language}] input").value = "uvicorn";
            setTimeout(() => document.querySelector("form[action^={language}]").requestSubmit());
        """)
        browser.until(f"location.pathname.endsWith('/{language}/search.html')")
        browser.until(f"document.querySelector('#search-summary')?.textContent.includes({said!r})")
    links = BeautifulSoup(page, "html.parser").select("a[href], link[href]")
    assert [link["href"] for link in links if not (site / str(link["href"])).exists()] == []
    missing.unlink()


# -- search --

LINKS = "[...document.querySelectorAll('#search-results a')].map((each) => each.href)"
SUMMARY = "document.querySelector('#search-summary').textContent"


@pytest.mark.parametrize(
    ("folder", "query", "said", "first"),
    [
        ("en", "", "Type words", ""),
        ("en", "xyzzy", "Nothing was found", ""),
        ("zh-cn", "<>?!", "没有找到", ""),
        ("en", "uvicron", "Pages found for “uvicorn”: ", "uvicorn.html"),
        ("zh-cn", "uvicron", "“uvicorn”", "uvicorn.html"),
        ("zh-cn", "lifespec.Lifespan", "找到", "api.html#lifespec.Lifespan"),
    ],
)
def test_the_page_of_the_search_says_what_is_found_and_leads_there(
    browser: Browser, address: str, folder: str, query: str, said: str, first: str
) -> None:
    """A word that no page has is taken for the nearest."""
    browser.open(f"{address}/{folder}/search.html?q={quote(query)}")
    assert said in browser.until(SUMMARY)
    places = browser.run(LINKS)
    assert [unquote(each.rpartition("/")[2]) for each in places][:1] == [first] * bool(first)
    if "#" in first:
        browser.open(places[0])
        assert browser.until("!!document.querySelector(':target')")


# -- from disk --


def test_a_site_on_disk_is_searched_while_one_types(browser: Browser, site: Path) -> None:
    browser.open(f"{site.as_uri()}/en/search.html")
    browser.run("""
        const field = document.querySelector("#search-query");
        field.value = "graceful shut";
        field.dispatchEvent(new Event("input"));
    """)
    assert "graceful-shutdown.html" in browser.until(f"{LINKS}[0]")
    assert browser.run("location.search") == "?q=graceful+shut"


def copied(browser: Browser, program: str) -> str:
    """Press the button of a program; return what it copies."""
    browser.run(f"""
        navigator.clipboard.writeText = async (text) => {{ globalThis.taken = text; }};
        document.querySelector("{program} .copybtn").click();
    """)
    text: str = browser.until("globalThis.taken")
    return text


def test_a_page_on_disk_copies_programs_and_unfolds_their_checks(
    browser: Browser, site: Path
) -> None:
    """A copied program has what it needs; checks are loaded when one unfolds."""
    browser.open((site / "zh-cn/edge-cases.html").as_uri())
    text = copied(browser, ".needs-0")
    assert "async def serve(app" in text
    compile(text, "copied", "exec")
    assert browser.run("document.querySelectorAll('.output .copybtn').length") == 0
    checks, programs = (
        f"document.querySelectorAll('details.check{each}').length" for each in ("", " pre")
    )
    assert browser.run(programs) == 0
    browser.run("document.querySelector('details.check').open = true")
    assert browser.until(programs) == browser.run(checks)


@pytest.mark.parametrize("folder", LANGUAGES)
def test_the_protocol_fits_on_four_sheets(browser: Browser, site: Path, folder: str) -> None:
    browser.open((site / folder / "protocol.html").as_uri())
    a4 = {"paperWidth": 8.27, "paperHeight": 11.69}
    printed = b64decode(browser.send("Page.printToPDF", printBackground=True, **a4)["data"])
    assert 0 < len(re.findall(rb"/Type /Page$", printed, re.MULTILINE)) <= 4


# -- the table of verdicts --

ROWS = """[...document.querySelectorAll("table.matrix.servers .row[id]")]
    .filter((row) => row.offsetHeight > 0).map((row) => row.id)"""
COLUMNS = """document.querySelector("table.matrix.servers")
    .querySelectorAll("th + th:not([hidden])").length"""


def choose(name: str, value: str) -> str:
    """Return a script that chooses as a reader does."""
    return f"""(() => {{
        const field = document.querySelector(".matrix-controls [name={name}]");
        field.value = {json.dumps(value)};
        field.dispatchEvent(new Event("change", {{ bubbles: true }}));
    }})()"""


def test_the_form_shows_some_rows_and_columns_and_all_again(browser: Browser, address: str) -> None:
    browser.open(f"{address}/zh-cn/server-compatibility.html")
    everything, columns = browser.run(ROWS), browser.run(COLUMNS)
    browser.run(choose("rows", "faults"))
    faults = browser.run(ROWS)
    assert 0 < len(faults) < len(everything)
    counted = browser.run("document.querySelector('.matrix-controls output').value")
    assert {str(len(faults)), str(len(everything))} <= {*re.findall(r"\d+", counted)}
    browser.run(choose("subject", "uvicorn"))
    assert browser.run(COLUMNS) == 1
    assert browser.run("location.search") == "?subject=uvicorn&rows=faults"
    browser.run("document.querySelector('.matrix-controls button').click()")
    browser.until(f"({ROWS}).length === {len(everything)}")
    assert browser.run(COLUMNS) == columns > 1
    browser.run(choose("rows", "differences"))
    assert "servers-state-untouched" in browser.run(ROWS)
    assert "servers-scope-type" not in browser.run(ROWS)
    browser.run("location.hash = 'servers-scope-type-uvicorn'")  # what the address names is shown
    browser.until(f"({ROWS}).includes('servers-scope-type')")


def test_an_address_shows_its_view_whose_head_stays_in_sight(
    browser: Browser, address: str
) -> None:
    """What the address has that no field offers is nothing; the head is seen on a phone, too."""
    browser.width(PHONE)
    page = f"{address}/en/server-compatibility.html"
    browser.open(f"{page}?part=startup&subject=granian&rows=nonsense")
    rows = browser.run(ROWS)
    assert "servers-startup-sent" in rows
    assert "servers-shutdown-sent" not in rows
    assert browser.run(COLUMNS) == 1
    browser.run("document.querySelector('.matrix-controls button').click()")
    browser.until(f"({ROWS}).includes('servers-shutdown-sent')")
    browser.run("document.documentElement.style.scrollBehavior = 'auto'")
    browser.run("document.querySelector('#servers-shutdown-sent').scrollIntoView({block: 'end'})")
    top, bottom = browser.run("""(() => {
        const box = document.querySelector("table.matrix thead th").getBoundingClientRect();
        return [box.top, box.bottom];
    })()""")
    assert 0 <= top < bottom < 300
