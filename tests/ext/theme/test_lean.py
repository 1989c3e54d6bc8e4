"""What no page uses is not loaded."""

from pathlib import Path

from lifespec_docs.theme.lean import compact
from sample_site import SampleSite

__all__: list[str] = []

PAGES = {"index": "# Home\n\n```python\nprint(1)\n```\n"}


def test_the_colours_of_a_build_are_compact(tmp_path: Path) -> None:
    """A build that failed, or that is none of pages, is left alone."""
    styles = {
        "pygments_style": "lifespec_docs.theme.highlighting.Light",
        "pygments_dark_style": "lifespec_docs.theme.highlighting.Dark",
    }
    with SampleSite(tmp_path, PAGES, "theme.lean", html_theme="furo", **styles) as built:
        file = Path(built.app.outdir, "_static", "pygments.css")
        css = file.read_text()
        assert ".highlight .k {" in css
        assert ".highlight .n {" not in css
        file.write_text("/* kept */")
        compact(built.app, ValueError())
        assert file.read_text() == "/* kept */"
        code = built.page().select_one("pre")
        assert code
        assert [each["class"] for each in code.select("span[class]")] == [["mi"]]
        assert code.get_text() == "print(1)\n"
