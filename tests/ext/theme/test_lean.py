"""What no page uses is not loaded."""

from pathlib import Path

from sample_site import SampleSite


def test_the_colours_of_a_build_are_compact(tmp_path: Path) -> None:
    styles = {
        f"pygments_{name}style": f"lifespec_docs.theme.highlighting.{style}"
        for name, style in (("", "Light"), ("dark_", "Dark"))
    }
    page = {"index": "# Home\n\n```python\nprint(1)\n```\n"}
    with SampleSite(tmp_path, page, "theme.lean", html_theme="furo", **styles) as built:
        css = Path(built.app.outdir, "_static", "pygments.css").read_text()
        assert ".highlight .k {" in css
        assert ".highlight .n {" not in css
        code = built.page().select_one("pre")
        assert code
        assert [each["class"] for each in code.select("span[class]")] == [["mi"]]
        assert code.get_text() == "print(1)\n"
