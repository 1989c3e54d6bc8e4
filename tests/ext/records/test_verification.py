"""What long commands measured, on a page."""

from pathlib import Path

from sample_site import SampleSite

__all__: list[str] = []


def test_a_part_that_there_is_not(tmp_path: Path) -> None:
    """It is a fault of the page, with its line."""
    page = {"index": "# A\n\n```{drift} luck\n```\n"}
    sample = SampleSite(tmp_path, page, "records.verification")
    (sample.docs / "matrix").mkdir()
    (sample.docs / "matrix" / "drift.json").write_text('{"code": {}}')
    with sample:
        (first, *_) = sample.warnings
        assert first.startswith("docs/index.md:3: ERROR: ")
        assert "There is no part 'luck', only code, when." in first
