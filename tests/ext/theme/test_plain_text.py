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


def test_a_site_that_names_no_pages_has_no_file(tmp_path: Path) -> None:
    """Nor has a build that failed, nor one of another kind."""
    with SampleSite(tmp_path, PAGES, *EXTENSIONS) as built:
        assert not Path(built.app.outdir, FILE).exists()
