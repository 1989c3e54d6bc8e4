"""Notes beside what waits for a translation."""

from pathlib import Path

from sample_site import SampleSite

CATALOG = """\
msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\\n"

msgid "A page"
msgstr "一页"

#, waiting
msgid "It waits."
msgstr ""
"""


def test_what_waits_has_a_note(tmp_path: Path) -> None:
    """What is translated has none."""
    catalog = tmp_path / "locales" / "zh_CN" / "LC_MESSAGES" / "index.po"
    catalog.parent.mkdir(parents=True)
    catalog.write_text(CATALOG, encoding="utf-8")
    pages = {"index": "# A page\n\nIt waits.\n"}
    with SampleSite(tmp_path, pages, "i18n.waiting", "i18n.messages", language="zh_CN") as sample:
        text = sample.page("index").select_one("[role=main]").get_text(" ", strip=True)
    assert text.startswith("一页")
    assert "It waits. [waiting for a translation]" in text
