"""What there is to translate, taken from the pages as Sphinx reads them."""

from pathlib import Path

import polib
import pytest

from lifespec_docs.i18n import extraction, messages
from lifespec_docs.i18n.catalogs import Message
from sample_site import RULES, SampleSite, named

__all__: list[str] = []

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
PACKAGE = "package/report", "package/rules"
EXTENSIONS = [
    "sphinx.ext.autodoc",
    "i18n.comments",
    "examples.directive",
    "rules.domain",
    "examples.included",
]


@pytest.fixture
def sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SampleSite:
    """Three pages, not read yet."""
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


def test_each_page_has_a_template_with_its_messages_in_order(sample: SampleSite) -> None:
    """Each with its line and its kind; a comment has the line it stands in, if that is here."""
    with sample:
        found = extraction.updated(sample.app.env, sample.app.env.found_docs)
    assert list(found.by_catalog) == ["code", "deeper/other", "index", messages.CATALOG, *PACKAGE]
    index = found.by_catalog["index"]
    assert index.file == "docs/index.md"
    assert index.messages == (
        Message("Pages", 3, "text"),
        Message("A page", 1, "title"),
        Message("Text that stands twice.", 8, "text"),
        Message("# one", 18, "comment"),
        Message("# two", 19, "comment"),
        Message("# three", 22, "comment"),
    )
    assert found.extensions == {"attrs_block", "colon_fence"}


def test_a_cell_of_a_table_is_known(sample: SampleSite) -> None:
    """It may show a term in the other language."""
    with sample:
        messages = (
            extraction.updated(sample.app.env, sample.app.env.found_docs)
            .by_catalog["deeper/other"]
            .messages
        )
    assert [message.text for message in messages if message.kind == "cell"] == ["head", "cell"]


def test_a_docstring_has_the_line_of_the_section_that_shows_it(sample: SampleSite) -> None:
    """Its own lines are those of another file."""
    with sample:
        code = extraction.updated(sample.app.env, sample.app.env.found_docs).by_catalog["code"]
    assert code.messages == (Message("Code", 2, "title"), Message("Do it.", 2, "text"))


def test_the_words_of_the_extensions_are_a_template_too(sample: SampleSite) -> None:
    """They stand in no page."""
    with sample:
        found = extraction.updated(sample.app.env, sample.app.env.found_docs).by_catalog
    own = found[messages.CATALOG]
    assert [message.text for message in own.messages] == list(messages.messages())
    report, sentences = (found[name].messages for name in PACKAGE)
    assert Message("It could not be checked: %s", 1, "word") in report
    assert "rule startup-sent" in {message.kind for message in sentences}
    assert {message.kind for message in own.messages} == {"word"}
    assert own.file.endswith("docs/_ext/lifespec_docs")


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
