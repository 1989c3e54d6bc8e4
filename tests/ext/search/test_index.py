"""The index of the search and its page, as a build writes them."""

import json
from pathlib import Path
from typing import Any

import pytest

from lifespec_docs.search.index import FILE, STOCK, Index, synonyms
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


def test_the_index_replaces_sphinxs(tmp_path: Path) -> None:
    """Each page is in it; Sphinx's own index and scripts are not written."""
    with SampleSite(tmp_path, PAGES, "search") as sample:
        found = written(sample)
        assert found["pages"]["one"] == {"keywords": "", "entries": [["", "One", "Text."]]}
        assert [*found["pages"]] == ["index", "one"]
        out = Path(sample.app.outdir)
        assert not (out / "searchindex.js").exists()
        assert [name for name in STOCK if (out / "_static" / name).exists()] == []
        assert (out / "search.html").exists()


def test_the_page_has_the_doors_of_the_front_page(tmp_path: Path) -> None:
    """With their links."""
    templates = tmp_path / "docs" / "templates"
    templates.mkdir(parents=True)
    (templates / "search.html").write_text("<main>{{ doors }}</main>")
    with SampleSite(tmp_path, PAGES, "search", templates_path=["templates"]) as sample:
        links = sample.page("search").select("main ul.doors a")
        assert [(link.get_text(), link["href"]) for link in links] == [("One", "one.html")]


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


@pytest.mark.parametrize(("language", "chinese"), [("en", False), ("zh_CN", True)])
def test_synonyms_are_those_of_the_language(language: str, chinese: bool) -> None:
    """English ones are for everybody; each group is one, and no word is twice in it."""
    groups = synonyms(language)
    assert any("sigterm" in group for group in groups)
    assert any("超时" in group for group in groups) == chinese
    assert [group for group in groups if len({*group}) < max(2, len(group))] == []
