"""Two doctrees of one page, side by side."""

import pickle
from pathlib import Path

import pytest
from docutils import nodes, utils

from lifespec_docs.i18n import comments
from lifespec_docs.i18n.catalogs import Fault
from lifespec_docs.lint import doctrees


def page(*children: nodes.Node) -> nodes.document:
    document = utils.new_document("docs/page.md")
    document.extend(children)
    for line, node in enumerate(document.findall(nodes.Element)):
        node.line = line * 2
    return document


def code(text: str, language: str = "python") -> nodes.literal_block:
    node = comments.literal_block(text, text, language=language)
    node.preserve_original_messages()
    return node


def paragraph(*children: nodes.Node) -> nodes.paragraph:
    return nodes.paragraph("", "", *children)


def told(english: nodes.document, chinese: nodes.document) -> list[str]:
    return [str(each) for each in doctrees.faults(english, chinese, "page.md")]


SHAPE = "The pages must have one shape."


@pytest.mark.parametrize(
    ("english", "chinese", "fault"),
    [
        ([paragraph(), paragraph()], [paragraph()],
         f"4: the Chinese page has nothing where the English has a paragraph. {SHAPE}"),
        ([paragraph()], [paragraph(), nodes.note(ids=["x"], classes=["y"])],
         ("4: the Chinese page has a note with the id x of the class y where the English has "
          f"nothing. {SHAPE}")),
        ([nodes.section(ids=["a"])], [nodes.section(ids=["b"])],
         ("2: the Chinese page has a section with the id b where the English has a section "
          f"with the id a. {SHAPE}")),
        ([code("a = 1  # x")], [code("a = 2  # x")],
         "2: the Chinese page's code has 'a = 2  #' where the English has 'a = 1  #'."),
        ([nodes.literal_block("a", "a")], [nodes.literal_block("a\nb", "a\nb")],
         "2: the Chinese page's code has 'b' where the English has ''."),
        ([paragraph(nodes.literal("", "a"))], [paragraph()],
         "2: the Chinese page lacks the literal `a`, which the English has."),
        ([paragraph()], [paragraph(nodes.reference("", "a", refuri="#x"))],
         "2: the Chinese page has the reference #x, which the English has not."),
    ],
)  # fmt: skip
def test_each_difference_is_named_with_its_line(
    english: list[nodes.Node], chinese: list[nodes.Node], fault: str
) -> None:
    """Where the shapes go apart, the rest of the page is not compared."""
    assert told(page(*english), page(*chinese)) == [f"page.md:{fault}"]


def test_the_number_of_examples_is_told() -> None:
    """An example that is lost is not run."""
    found = told(page(code("a  # b")), page(nodes.note()))
    assert "page.md:1: the Chinese page has 0 examples, the English 1: each must run." in found


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
