"""What `make bench` measured, on a page."""

from pathlib import Path

from sample_site import SampleSite

__all__: list[str] = []


def test_what_was_not_measured_is_not_shown(tmp_path: Path) -> None:
    """A measure without rows leaves nothing on the page."""
    page = {"index": "# A\n\n```{measured} validator\n:chart:\n```\n"}
    sample = SampleSite(tmp_path, page, "records.bench")
    (sample.docs / "matrix").mkdir()
    (sample.docs / "matrix" / "bench.json").write_text('{"validator": []}')
    with sample:
        assert not sample.warnings
        assert not sample.page().select("table, svg")
