"""Notes that unfold."""

from pathlib import Path

from sample_site import SampleSite

__all__: list[str] = []

PAGE = "# A\n\n:::{folded} How to *read*\nOne box.\n\n- A list.\n:::\n"


def test_a_note_shows_its_title_alone_at_first(tmp_path: Path) -> None:
    """Title and content are markup."""
    with SampleSite(tmp_path, {"index": PAGE}, "examples.folded") as built:
        note = built.page().find("details")
        assert not note.has_attr("open")
        assert note["class"] == ["folded"]
        assert str(note.summary) == "<summary>How to <em>read</em></summary>"
        assert [part.get_text(strip=True) for part in note.find_all(["p", "ul"])][:2] == [
            "One box.",
            "A list.",
        ]
        assert not built.warnings


def test_a_note_is_translated(tmp_path: Path) -> None:
    """The title is a message of the page's catalog, as the content is."""
    built = SampleSite(tmp_path, {"index": PAGE}, "examples.folded", language="zh_CN")
    built.translate("index", {"How to *read*": "怎样*读*", "One box.": "一个框。"})
    with built:
        note = built.page().find("details")
        assert note.summary.get_text() == "怎样读"
        assert note.p.get_text() == "一个框。"
