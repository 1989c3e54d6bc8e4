"""What there is to translate, taken from the pages as Sphinx reads them."""

from pathlib import Path

import polib
import pytest

from lifespec_docs.i18n import extraction
from sample_site import RULES, SampleSite, named

# myst-parser 5.2 resolves references with what Sphinx 11 will not have.
pytestmark = pytest.mark.filterwarnings("ignore::sphinx.deprecation.RemovedInSphinx11Warning")

INDEX = """# A page

```{toctree}
:caption: Pages
deeper/other
```

Text that stands twice.

```{rule} startup-sent
```

Text that stands twice.

```python
a = 1

# one
b = 2  # two
```

```{shown} ../file.py
```
"""
OTHER = (
    "# Another page\n\n- an item\n- an item\n- [](#a-page)\n\n![What is seen](a.svg)\n\n"
    "| head |\n|---|\n| cell |\n"
)
EXTENSIONS = [
    "sphinx.ext.autodoc",
    "i18n.comments",
    "examples.directive",
    "rules.domain",
    "examples.included",
]


@pytest.fixture
def sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SampleSite:
    (tmp_path / "file.py").write_text("# three\n")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "sample_code.py").write_text('def f():\n    """Do it."""\n')
    code = "Code\n====\n\n.. autofunction:: sample_code.f\n"
    pages = {"index": INDEX, "deeper/other": OTHER, "code.rst": code}
    monkeypatch.syspath_prepend(tmp_path / "docs")
    return SampleSite(
        tmp_path, pages, *EXTENSIONS, builder="gettext", gettext_compact=False,
        examples_run=False, rules_file="rules.toml",
    )  # fmt: skip


def test_the_messages_are_those_of_the_gettext_builder(sample: SampleSite) -> None:
    """All of them, and in its order."""
    with sample:
        found = extraction.updated(sample.app.env, sample.app.env.found_docs).by_catalog
        for name in ("index", "deeper/other"):
            written = polib.pofile(str(sample.app.outdir / f"{name}.pot"))
            ours = [message.text for message in found[name].messages]
            assert ours == [entry.msgid for entry in written]


def test_changed_pages_are_read_and_no_example_runs(tmp_path: Path) -> None:
    """Nothing is left behind beside them; what Sphinx complains of is raised, without colour."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "rules.toml").write_text(RULES)
    (docs / "conf.py").write_text(
        f"extensions = ['myst_parser', *{[name for each in EXTENSIONS for name in named(each)]}]\n"
        "rules_file = 'rules.toml'\nlanguage = 'zh_CN'\n"
    )
    page = "# A page\n\n```python\n1 / 0  # x y\n```\n"
    (docs / "index.md").write_text(page)
    found = extraction.fresh(docs, tmp_path / "kept").by_catalog
    assert [message.text for message in found["index"].messages] == ["A page", "# x y"]
    (docs / "index.md").write_text(f"{page}\n```{{none}}\n```\n")
    with pytest.raises(extraction.UncleanError) as raised:
        extraction.fresh(docs, tmp_path / "kept")
    assert sorted(path.name for path in docs.iterdir()) == ["conf.py", "index.md", "rules.toml"]
    warning = "docs/index.md:7: WARNING: Unknown directive type: 'none' [myst.directive_unknown]"
    assert str(raised.value).splitlines()[0] == warning
