"""The index of the search, and when a build writes it."""

from pathlib import Path

import pytest

from lifespec_docs.search.entries import sentences
from lifespec_docs.search.index import FILE
from sample_site import SampleSite

PAGES = {"index": "# Home\n\n{.doors}\n- {doc}`One <one>`\n\n- no door\n", "one": "# One\n"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It runs. It ends.", ["It runs.", "It ends."]),
        ("See e.g. this", ["See e.g. this"]),
        ("启动。关闭！", ["启动。", "关闭！"]),
        ("他说“好。”然后", ["他说“好。”然后"]),
        ("  ", []),
    ],
)
def test_a_text_is_cut_into_sentences(text: str, found: list[str]) -> None:
    """In English where a new one begins, in Chinese at each full stop."""
    assert sentences(text) == found


def test_a_build_that_failed_or_that_is_none_of_pages_writes_nothing(tmp_path: Path) -> None:
    with SampleSite(tmp_path, PAGES, "search", builder="dummy") as sample:
        assert not sample.warnings
        assert not list(Path(sample.app.outdir).rglob(FILE))
    with SampleSite(tmp_path, PAGES, "search") as sample:
        file = Path(sample.app.outdir, FILE)
        file.write_text("kept")
        sample.app.events.emit("build-finished", ValueError("no page"))
        assert file.read_text() == "kept"
