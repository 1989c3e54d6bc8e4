"""The site for all readers: axe finds nothing, what Tab reaches is seen, controls work by keys."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from browser import Browser

pytestmark = [pytest.mark.timeout(600), pytest.mark.needs("chromium")]

AXE = files("axe_core_python") / "axe.min.js"
SETTINGS = [(1280, "light"), (390, "dark")]  # colours do not depend on the width
# Most of the time of axe is for the contrast of texts, and most texts of a site look like others.
RUN = """(async (seen) => {
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
    const runs = [axe.run(document, {...options, rules: {[contrast]: {enabled: false}}})];
    await runs[0];  // it runs one at a time
    if (texts.length) runs.push(axe.run({include: texts}, {...options, runOnly: [contrast]}));
    const found = (await Promise.all(runs)).flatMap((run) => run.violations);
    return [looks, found.flatMap((rule) => rule.nodes.map(
        (node) => `${rule.id}: ${node.target.join(" ")}: ${node.failureSummary}`))];
})"""


def looked_at(browser: Browser, width: int, theme: str, looks: set[str]) -> list[str]:
    """Return the violations on the page that is open, in its contrasts those of new `looks`."""
    browser.width(width)
    browser.run(f"document.body.dataset.theme = {theme!r}; scrolls?.(); 0")
    new, found = browser.run(f"{RUN}({json.dumps([*looks])})")
    looks.update(new)
    return [*found]


def opened(browser: Browser, address: str) -> None:
    """Open a page, all notes unfolded, with axe in it."""
    browser.open(address)
    browser.run(AXE.read_text(encoding="utf-8") + "; 0")
    browser.run("document.querySelectorAll('details').forEach((each) => { each.open = true; }); 0")


@pytest.mark.parametrize(
    ("folder", "part", "of"), [*(("en", n, 3) for n in range(3)), ("zh-cn", 0, 4)]
)
def test_axe_finds_none(
    browser: Browser, address: str, site: Path, folder: str, part: int, of: int
) -> None:
    """All English pages; of the Chinese ones, with the same templates and colours, a fourth.

    Of texts with the same colours, size and weight the contrast is measured once.
    """
    names = sorted(path.relative_to(site).as_posix() for path in (site / folder).rglob("*.html"))[
        part::of
    ]
    assert len(names) > 9
    found: dict[str, Any] = {}
    looks = set[str]()
    for name in names:
        opened(browser, f"{address}/{name}")
        # a page of one framework or host is drawn by a template: one look
        for width, theme in SETTINGS if name.count("/") == 1 and of == 3 else SETTINGS[1:]:
            if wrong := looked_at(browser, width, theme, looks):
                found[f"{name} {width} {theme}"] = wrong
    assert found == {}


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


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("page", ["index", "protocol", "server-compatibility", "search"])
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


@pytest.mark.parametrize("width", [1280, 390])
def test_a_slash_leads_to_the_search(browser: Browser, address: str, width: int) -> None:
    """The field can be seen, and takes a slash like any other letter."""
    browser.width(width)
    browser.open(f"{address}/en/protocol.html")
    browser.press("/")
    browser.until(f"{FOCUSED}.matches('.sidebar-search') && {FOCUSED}.checkVisibility()")
    browser.press("/")
    assert browser.run(f"{FOCUSED}.value") == "/"
    browser.width(1280)


def test_a_group_of_the_navigation_unfolds_by_the_keyboard(browser: Browser, address: str) -> None:
    browser.width(1280)
    browser.open(f"{address}/en/protocol.html")
    tab_to(browser, ".sidebar-tree details:not([open]) > summary")
    hidden = f"{FOCUSED}.parentElement.querySelector('a')"
    assert not browser.run(f"{hidden}.checkVisibility()")
    browser.press("Enter")
    browser.press("Tab")
    assert browser.run(f"{FOCUSED}.matches('.sidebar-tree details a')")


@pytest.mark.parametrize(
    ("name", "drawer"), [("__navigation", ".sidebar-drawer"), ("__toc", ".toc-drawer")]
)
def test_drawers_of_a_phone_work(browser: Browser, address: str, name: str, drawer: str) -> None:
    """The focus goes in, and back to what opened them."""
    browser.width(390)
    browser.open(f"{address}/en/protocol.html")
    tab_to(browser, f"#{name}")
    assert not browser.run(SEEN.replace("DRAWER", drawer))
    browser.press(" ")
    browser.until(f"!!{FOCUSED}.closest('{drawer}')")
    browser.until(SEEN.replace("DRAWER", drawer))
    browser.press("Escape")
    assert browser.run(f"{FOCUSED}.id") == name


def test_nothing_moves_for_who_asks_for_less_motion(browser: Browser, address: str) -> None:
    reduced = [{"name": "prefers-reduced-motion", "value": "reduce"}]
    browser.send("Emulation.setEmulatedMedia", features=reduced)
    browser.open(f"{address}/en/protocol.html")
    moving = browser.run("""[...document.querySelectorAll("*")].filter((each) => {
        const style = getComputedStyle(each);
        return style.scrollBehavior === "smooth" || parseFloat(style.transitionDuration) > 0
            && style.transitionProperty !== "none";
    }).map((each) => each.outerHTML.slice(0, 80))""")
    browser.send("Emulation.setEmulatedMedia", features=[])
    assert moving == []
