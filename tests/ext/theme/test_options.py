"""Options in a text are marked, so that no line ends at their hyphens."""

from pathlib import Path

from sample_site import SampleSite

TEXT = "# Home\n\n`--spec`, `check app -v`, `a --json b`, `scope-type`, `a - b`, `-` and `--`.\n"


def test_literals_with_an_option(tmp_path: Path) -> None:
    """One that begins a word; a hyphen within a word, or one that stands alone, is none."""
    with SampleSite(tmp_path, {"index": TEXT}, "theme.options") as built:
        found = built.page().select("p code.option")
        assert [each.get_text() for each in found] == ["--spec", "check app -v", "a --json b"]
