"""The specification as one file of plain text."""

from pathlib import Path

from lifespec_docs.theme.plain_text import FILE
from sample_site import SampleSite

__all__: list[str] = []

PAGES = {
    "index": "# Home\n",
    "one": """\
# One

:::{rule} startup-sent
The server *must* send it.
:::

For {rule}`startup-sent`:

```python
print(1)
```

:::{folded} A note
Its text.
:::
""",
    "two": "# Two\n\nText.\n",
}
EXTENSIONS = ("examples.directive", "rules.domain", "examples.folded", "theme.plain_text")


def test_the_pages_are_written_in_order(tmp_path: Path) -> None:
    """With the heads and the sources of rules, the code, and what unfolds."""
    with SampleSite(tmp_path, PAGES, *EXTENSIONS, specification_pages=["two", "one"]) as built:
        text = Path(built.app.outdir, FILE).read_text(encoding="utf-8")
    two, _, one = text.partition("One\n***")
    assert two.startswith("Two\n***\n\nText.\n")
    assert "startup-sent · server · must\n\nIt must be sent.\n\nSource" in one
    assert "   print(1)\n" in one
    assert "Its text." in one


def test_a_site_that_names_no_pages_has_no_file(tmp_path: Path) -> None:
    """Nor has a build that failed, nor one of another kind."""
    with SampleSite(tmp_path, PAGES, *EXTENSIONS) as built:
        assert not Path(built.app.outdir, FILE).exists()


def test_a_paragraph_in_chinese_is_one_line(tmp_path: Path) -> None:
    """One in English has lines of the usual width."""
    long = "A sentence that goes on and on. " * 8
    pages = {"index": f"# A\n\n{long}\n"}
    for language, lines in (("en", 4), ("zh_CN", 1)):
        site = SampleSite(
            tmp_path, pages, *EXTENSIONS, specification_pages=["index"], language=language
        )
        with site as built:
            text = Path(built.app.outdir, FILE).read_text(encoding="utf-8")
        assert len(text.partition("*\n\n")[2].strip().splitlines()) == lines
