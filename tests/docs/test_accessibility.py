"""Axe finds nothing on any page, in either language, light or dark, wide or as a phone."""

from pathlib import Path
from typing import Any

import pytest
from browser import Browser
from published import ROOT

pytestmark = [pytest.mark.timeout(600), pytest.mark.needs("chromium")]

AXE = ROOT / "build" / "live" / "node_modules" / "axe-core" / "axe.min.js"
LANGUAGES = ("en", "zh-cn")
ALL = "runOnly: undefined"
# What the theme can change is looked at in both of them, all else in one.
OF_COLOURS = "runOnly: ['color-contrast', 'link-in-text-block']"
SETTINGS = [
    (1280, "light", ALL),
    (1280, "dark", OF_COLOURS),
    (390, "dark", ALL),
    (390, "light", OF_COLOURS),
]
# The playground's editor scrolls with its cursor, which axe does not see.
RUN = """
    axe.run({exclude: [".cm-scroller"]}, {resultTypes: ["violations"], iframes: false, RULES})
        .then((found) => found.violations.flatMap((rule) => rule.nodes.map(
            (node) => `${rule.id}: ${node.target.join(" ")}: ${node.failureSummary}`)))
"""


def looked_at(browser: Browser, width: int, theme: str, rules: str) -> list[str]:
    """Return the violations of some rules on the page that is open."""
    browser.width(width)
    browser.run(f"document.body.dataset.theme = {theme!r}; scrolls?.(); 0")
    found: list[str] = browser.run(RUN.replace("RULES", rules))
    return found


def opened(browser: Browser, address: str) -> None:
    """Open a page, all notes unfolded, with axe in it."""
    browser.open(address)
    browser.run(AXE.read_text(encoding="utf-8") + "; 0")
    browser.run("document.querySelectorAll('details').forEach((each) => { each.open = true; }); 0")


@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("folder", LANGUAGES)
def test_axe_finds_no_violation(
    browser: Browser, address: str, site: Path, folder: str, part: int
) -> None:
    """Each test looks at every fourth page of a language."""
    names = sorted(path.name for path in (site / folder).glob("*.html"))[part::4]
    assert len(names) > 9
    found: dict[str, Any] = {}
    for name in names:
        opened(browser, f"{address}/{folder}/{name}")
        for width, theme, rules in SETTINGS:
            if wrong := looked_at(browser, width, theme, rules):
                found[f"{folder}/{name} {width} {theme}"] = wrong
    assert found == {}


@pytest.mark.parametrize("name", ["index.html", "404.html"])
def test_axe_finds_no_violation_on_the_pages_of_no_language(
    browser: Browser, address: str, name: str
) -> None:
    """Where scripts do not run the first of them stays."""
    browser.send("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(f"{address}/{name}")
    browser.send("Emulation.setScriptExecutionDisabled", value=False)
    browser.run(AXE.read_text(encoding="utf-8") + "; 0")
    assert browser.run(RUN.replace("RULES", ALL)) == []
