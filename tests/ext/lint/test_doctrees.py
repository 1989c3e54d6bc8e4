"""Two doctrees of one page, side by side."""

import pickle
from pathlib import Path

import pytest
from docutils import nodes, utils

from lifespec_docs.i18n import comments
from lifespec_docs.i18n.catalogs import Fault
from lifespec_docs.lint import doctrees
from sample_site import SampleSite

__all__: list[str] = []

PAGE = """# A page

Text with `code`, [a link](#more), **bold** and [another](other.md#there).

```python
a = 1  # one
```

```{output}
1
```

## More

- an item
- an item
"""
EXTENSIONS = ("i18n.comments", "examples.directive")


def page(*children: nodes.Node) -> nodes.document:
    """Make a doctree."""
    document = utils.new_document("docs/page.md")
    document.extend(children)
    for line, node in enumerate(document.findall(nodes.Element)):
        node.line = line * 2
    return document


def code(text: str, language: str = "python") -> nodes.literal_block:
    """Make a block whose comments are translatable."""
    node = comments.literal_block(text, text, language=language)
    node.preserve_original_messages()
    return node


def paragraph(*children: nodes.Node) -> nodes.paragraph:
    """Make a paragraph."""
    return nodes.paragraph("", "", *children)


def told(english: nodes.document, chinese: nodes.document) -> list[str]:
    """Give the faults of a Chinese page."""
    return [str(each) for each in doctrees.faults(english, chinese, "page.md")]


def test_pages_that_differ_in_language_only_are_alike() -> None:
    """Text, the order within a text, comments and attributes that are not its place."""
    bold, link = nodes.strong("", "b"), nodes.reference("", "l", refuri="#a")
    english = page(paragraph(bold, link), code("a  # one"))
    chinese = page(paragraph(link.deepcopy(), bold.deepcopy()), code("a  # 一"))
    assert told(english, chinese) == []


@pytest.mark.parametrize(
    ("english", "chinese", "fault"),
    [
        (
            [paragraph(), paragraph()],
            [paragraph()],
            (
                "4: the Chinese page has nothing where the English has a paragraph. "
                "The pages must have one shape."
            ),
        ),
        (
            [paragraph()],
            [paragraph(), nodes.note(ids=["x"], classes=["y"])],
            (
                "4: the Chinese page has a note with the id x of the class y where the English has "
                "nothing. The pages must have one shape."
            ),
        ),
        (
            [nodes.section(ids=["a"])],
            [nodes.section(ids=["b"])],
            (
                "2: the Chinese page has a section with the id b where the English has a section "
                "with the id a. The pages must have one shape."
            ),
        ),
        (
            [code("a = 1  # x")],
            [code("a = 2  # x")],
            "2: the Chinese page's code has 'a = 2  #' where the English has 'a = 1  #'.",
        ),
        (
            [nodes.literal_block("a", "a")],
            [nodes.literal_block("a\nb", "a\nb")],
            "2: the Chinese page's code has 'b' where the English has ''.",
        ),
        (
            [paragraph(nodes.literal("", "a"))],
            [paragraph()],
            "2: the Chinese page lacks the literal `a`, which the English has.",
        ),
        (
            [paragraph()],
            [paragraph(nodes.reference("", "a", refuri="#x"))],
            "2: the Chinese page has the reference #x, which the English has not.",
        ),
    ],
)
def test_each_difference_is_named_with_its_line(
    english: list[nodes.Node], chinese: list[nodes.Node], fault: str
) -> None:
    """Where the shapes go apart, the rest of the page is not compared."""
    assert told(page(*english), page(*chinese)) == [f"page.md:{fault}"]


def test_the_number_of_examples_is_told() -> None:
    """An example that is lost is not run."""
    found = told(page(code("a  # b")), page(nodes.note()))
    assert "page.md:1: the Chinese page has 0 examples, the English 1: each must run." in found


# myst-parser 5.2 resolves references with what Sphinx 11 will not have.
@pytest.mark.filterwarnings("ignore::sphinx.deprecation.RemovedInSphinx11Warning")
def test_a_page_that_sphinx_translated_is_its_english_page(tmp_path: Path) -> None:
    """But for what Sphinx mistakes: of two links to headings of one page it takes the last."""
    both = "[one](other.md#there) and [two](other.md#elsewhere)"
    pages = {
        "index": PAGE,
        "two": f"# Two\n\n{both}\n",
        "other": "# O\n\n## There\n\n## Elsewhere\n",
    }
    chinese = {
        "A page": "一页",
        "Text with `code`, [a link](#more), **bold** and [another](other.md#there).": (
            "**粗体**、[另一个](other.md#there)、`code` 与[链接](#more)。"
        ),
        "# one": "# 一",
        "More": "更多",
        "an item": "一项",
    }
    for language in ("en", "zh_CN"):
        sample = SampleSite(
            tmp_path, pages, *EXTENSIONS, builder="dummy", language=language, examples_run=False,
            gettext_compact=False, myst_heading_anchors=2,
        )  # fmt: skip
        sample.translate("index", chinese)
        sample.translate("two", {both: "[一](other.md#there)与[二](other.md#elsewhere)"})
        with sample:
            Path(sample.app.doctreedir).rename(tmp_path / language)
    found = list(doctrees.stored(tmp_path / "en", tmp_path / "zh_CN", tmp_path))
    assert {fault.file for fault in found} == {"docs/two.md"}
    assert "lacks the pending_xref doc myst other there" in found[0].sentence


def test_a_page_that_was_read_in_one_language_only_is_a_fault(tmp_path: Path) -> None:
    """It names the doctree that is not there."""
    for language in ("en", "zh"):
        (tmp_path / language).mkdir()
    (tmp_path / "en" / "a.doctree").write_bytes(pickle.dumps(page()))
    (fault,) = doctrees.stored(tmp_path / "en", tmp_path / "zh", tmp_path)
    sentence = "the page a was not read in both languages."
    assert fault == Fault(str(tmp_path / "zh" / "a.doctree"), 1, sentence)
    assert list(doctrees.stored(tmp_path / "en", tmp_path / "zh", tmp_path, {"b"})) == []
    assert list(doctrees.stored(tmp_path / "en", tmp_path / "zh", tmp_path, {"a"})) == [fault]
