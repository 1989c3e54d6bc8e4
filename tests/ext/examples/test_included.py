"""A file shown whole."""

from pathlib import Path

from sample_site import SampleSite

__all__: list[str] = []


def test_a_file_that_is_not_there_is_a_warning(tmp_path: Path) -> None:
    """The warning names page and line."""
    pages = {"index": "# A page\n\n```{shown} ../file.py\n```\n"}
    with SampleSite(tmp_path, pages, "examples.included", builder="dummy") as sample:
        assert sample.warnings[0].startswith("docs/index.md:3: WARNING: Include file")
