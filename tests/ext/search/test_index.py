"""The index of the search and its page, as a build writes them."""

import json
from pathlib import Path
from typing import Any

from lifespec_docs.search.index import FILE, Index
from sample_site import SampleSite

__all__: list[str] = []

PAGES = {
    "index": "# Home\n\n{.doors}\n- {doc}`One <one>`\n\n- no door\n",
    "one": "# One\n\nText.\n",
}


def written(sample: SampleSite) -> dict[str, Any]:
    """Return the index of a build."""
    text = Path(sample.app.outdir, FILE).read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text.removeprefix("setSearchIndex(").removesuffix(");\n"))
    return found


def test_a_build_that_writes_no_page_keeps_the_index(tmp_path: Path) -> None:
    """So does one that failed."""
    with SampleSite(tmp_path, PAGES, "search") as sample:
        file = Path(sample.app.outdir, FILE)
        file.write_text("kept")
        index = Index()
        index.write(sample.app, None)
        index.pages["one"] = {}
        index.write(sample.app, ValueError("no page"))
        assert file.read_text() == "kept"


def test_another_builder_has_no_search(tmp_path: Path) -> None:
    """It writes no pages to search in."""
    with SampleSite(tmp_path, PAGES, "search", builder="dummy") as sample:
        assert not sample.warnings
        assert not list(Path(sample.app.outdir).rglob(FILE))
