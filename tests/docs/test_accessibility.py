"""Axe finds nothing on any page, in either language, light or dark, wide or as a phone.

The pages of single frameworks and hosts are drawn by one template: they are looked at once each.
"""

from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from browser import Browser

pytestmark = [pytest.mark.timeout(600), pytest.mark.needs("chromium")]

AXE = files("axe_core_python") / "axe.min.js"
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
# furo's wrapper of a table repeats its id
OFF = "{'duplicate-id': {enabled: false}}"
RUN = """
    axe.run(document, {resultTypes: ["violations"], iframes: false, rules: OFF, RULES})
        .then((found) => found.violations.flatMap((rule) => rule.nodes.map(
            (node) => `${rule.id}: ${node.target.join(" ")}: ${node.failureSummary}`)))
"""


def looked_at(browser: Browser, width: int, theme: str, rules: str) -> list[str]:
    """Return the violations of some rules on the page that is open."""
    browser.width(width)
    browser.run(f"document.body.dataset.theme = {theme!r}; scrolls?.(); 0")
    found: list[str] = browser.run(RUN.replace("RULES", rules).replace("OFF", OFF))
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
    names = sorted(path.relative_to(site).as_posix() for path in (site / folder).rglob("*.html"))[
        part::4
    ]
    assert len(names) > 9
    found: dict[str, Any] = {}
    for name in names:
        opened(browser, f"{address}/{name}")
        for width, theme, rules in SETTINGS if name.count("/") == 1 else SETTINGS[2:3]:
            if wrong := looked_at(browser, width, theme, rules):
                found[f"{name} {width} {theme}"] = wrong
    assert found == {}
