"""A file shown whole."""

from pathlib import Path

import pytest
from docutils import nodes

from sample_site import SampleSite

__all__: list[str] = []


@pytest.mark.parametrize(
    ("suffix", "language"), [("py", "python"), ("toml", "toml"), ("x", "text")]
)
def test_a_shown_file_takes_its_language_from_its_suffix(
    tmp_path: Path, suffix: str, language: str
) -> None:
    """The file stands whole on the page, as a block of the class `shown`."""
    (tmp_path / f"file.{suffix}").write_text("a = 1\n")
    pages = {"index": f"# A page\n\n```{{shown}} ../file.{suffix}\n```\n"}
    with SampleSite(tmp_path, pages, "examples.included", builder="dummy") as sample:
        (block,) = sample.app.env.get_doctree("index").findall(nodes.literal_block)
        assert (block.astext(), block["language"], block["classes"]) == (
            "a = 1\n",
            language,
            ["shown"],
        )


def test_a_file_that_is_not_there_is_a_warning(tmp_path: Path) -> None:
    """The warning names page and line."""
    pages = {"index": "# A page\n\n```{shown} ../file.py\n```\n"}
    with SampleSite(tmp_path, pages, "examples.included", builder="dummy") as sample:
        assert sample.warnings[0].startswith("docs/index.md:3: WARNING: Include file")
