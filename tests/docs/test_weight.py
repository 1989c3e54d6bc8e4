"""How much a browser loads for a page, compressed; without what runs the examples."""

import gzip
import re
from functools import cache
from pathlib import Path

from bs4 import BeautifulSoup

BUDGET = 75_000  # bytes; the heaviest page is that of the frameworks
INDEX = "search-index.js"  # of the search: every sentence of the site
LOADED = 'script[src], link[rel="stylesheet"], link[rel~="icon"], article img'
URL = re.compile(r"url\((?![\"']?data:)[\"']?([^)\"']+)")


@cache
def compressed(path: Path) -> int:
    """Return the size of a file as a server sends it."""
    return len(gzip.compress(path.read_bytes(), 6))


def loaded(page: Path) -> set[Path]:
    """Return the files that a page loads, itself included; those that its styles name, too."""
    soup = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")
    links = [str(each.get("src") or each["href"]) for each in soup.select(LOADED)]
    found = {(page.parent / link.partition("?")[0]).resolve() for link in links}
    for style in [path for path in found if path.suffix == ".css"]:
        found |= {(style.parent / url).resolve() for url in URL.findall(style.read_text("utf-8"))}
    return {page.resolve(), *found}


def test_every_page_is_within_the_budget(site: Path) -> None:
    """The page of the search without its index, which is measured by itself."""
    weights = {
        page.relative_to(site).as_posix(): sum(
            compressed(path) for path in loaded(page) if path.name != INDEX
        )
        for page in sorted(site.glob("*/*.html"))
    }
    assert len(weights) > 70
    assert {page: weight for page, weight in weights.items() if weight > BUDGET} == {}
