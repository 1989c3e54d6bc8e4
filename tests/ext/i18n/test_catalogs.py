"""Catalogs: read, written in one form, compared with their pages."""

from collections.abc import Callable
from pathlib import Path

import polib
import pytest

from lifespec_docs.i18n import catalogs
from lifespec_docs.i18n.catalogs import CatalogError, Fault, Message, Template

PAGE = Template(
    "docs/page.md",
    (Message("A page", 1, "title"), Message("It must run.", 5, "rule runs"), Message("# x", 9)),
)
WHOLE = """\
# docs/page.md in simplified Chinese. `make translate` renews this file.
msgid ""
msgstr ""
"Language: zh_CN\\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset=UTF-8\\n"
"Content-Transfer-Encoding: 8bit\\n"

msgid "A page"
msgstr "一页"

# Thought about for long.
#. rule runs
msgid "It must run."
msgstr "它必须运行。"

msgid "# x"
msgstr "# 一"
"""


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str], polib.POFile]:
    """Read a text as a catalog."""

    def read(text: str) -> polib.POFile:
        path = tmp_path / "page.po"
        path.write_text(text)
        return catalogs.read(path, "page.po")

    return read


def known(catalog: polib.POFile) -> dict[str, polib.POEntry]:
    return {entry.msgid: entry for entry in catalog}


def test_a_catalog_has_one_form(read: Callable[[str], polib.POFile]) -> None:
    """No dates, no wrapping, no lines; page order; a rule is marked, a translator's note kept."""
    catalog = read(WHOLE)
    assert catalogs.rendered(PAGE, known(catalog)) == WHOLE
    assert catalogs.form(WHOLE, PAGE, known(catalog)) is None
    long = Template("p.md", (Message("word " * 100, 1),))
    assert f'msgid "{"word " * 100}"' in catalogs.rendered(long, {})


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("\n\n# Thought", "\n\n\n# Thought", 12),
        ('"它', '""\n"它', 15),
        ("zh_CN", "zh", 4),
        ('# 一"\n', '# 一"', 19),
    ],
)
def test_another_form_is_found_at_its_line(
    read: Callable[[str], polib.POFile], old: str, new: str, line: int
) -> None:
    """Also where it means the same."""
    changed = WHOLE.replace(old, new)
    assert catalogs.form(changed, PAGE, known(read(changed))) == line


def test_entries_in_another_order_are_another_form(read: Callable[[str], polib.POFile]) -> None:
    """The page's order is the catalog's."""
    other = Template(PAGE.file, PAGE.messages[::-1])
    assert catalogs.form(WHOLE, other, known(read(WHOLE))) == 9


@pytest.mark.parametrize(
    ("old", "new", "line", "sentence"),
    [
        ('"# 一"', '" "', 17, "'# x' is not translated."),
        ('msgid "A', '#, fuzzy\nmsgid "A', 9, "'A page' is fuzzy: translate it, delete the mark."),
        ('msgid "# x"\nm', '#~ msgid "# x"\n#~ m', 17, "'# x' is obsolete: delete it."),
    ],
)
def test_each_entry_must_be_translated_and_in_use(
    read: Callable[[str], polib.POFile], old: str, new: str, line: int, sentence: str
) -> None:
    """A fault names the file and the entry's line."""
    assert old in WHOLE
    found = list(catalogs.duties(read(WHOLE.replace(old, new)), "page.po"))
    assert found == [Fault("page.po", line, sentence)]


def test_a_message_that_is_not_on_the_page_is_a_fault_of_the_catalog(
    read: Callable[[str], polib.POFile],
) -> None:
    """And the message that is there instead is a fault at its line of the page."""
    found = [str(each) for each in catalogs.differences(
        read(WHOLE.replace("A page", "A leaf")), PAGE, "page.po"
    )]  # fmt: skip
    assert found == [
        "page.po:9: 'A leaf' does not stand in docs/page.md (any more): run `make translate`.",
        "docs/page.md:1: 'A page' is missing in page.po: run `make translate`, fill it in.",
    ]


def test_an_entry_that_stands_twice_is_a_fault(read: Callable[[str], polib.POFile]) -> None:
    """Which of the two would count, nobody could see."""
    twice = read(WHOLE + '\nmsgid "# x"\nmsgstr "# 二"\n')
    (fault,) = catalogs.differences(twice, PAGE, "page.po")
    assert fault == Fault("page.po", 20, "'# x' stands twice: keep one.")


def test_a_long_message_is_quoted_by_its_beginning() -> None:
    """A fault fits a line."""
    catalog = polib.POFile()
    catalog.append(polib.POEntry(msgid="long " * 30))
    (fault,) = catalogs.duties(catalog, "page.po")
    assert fault == Fault("page.po", 1, f"{'long ' * 11 + 'long…'!r} is not translated.")


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        (b'msgid "a"\nmsgstr "b\n', 2, "this line is not of one"),
        (b'msgid "a"\nmsgstr "b" c"\n', 2, "this line is not of one"),
        (b"msgid a\n", 1, "this line is not of one"),
        (b"\nThis is no catalog.\n", 2, "this line is not of one"),
        (b'msgid "a"\nmsgid_plural "b"\n', 2, "this line is not of one"),
        (b'\nmsgstr "b"\n', 2, "this line does not follow from those before"),
        (b'msgid "a"\nmsgstr "\xff"\n', 2, "it is not UTF-8"),
    ],
)
def test_what_is_no_catalog_is_refused_with_its_line(
    tmp_path: Path, text: bytes, line: int, why: str
) -> None:
    """The sentence says why."""
    path = tmp_path / "page.po"
    path.write_bytes(text)
    with pytest.raises(CatalogError) as raised:
        catalogs.read(path, "page.po")
    assert raised.value.fault == Fault("page.po", line, f"this is no catalog: {why}.")


def test_a_file_that_cannot_be_opened_is_no_catalog(tmp_path: Path) -> None:
    """The sentence is the system's."""
    with pytest.raises(CatalogError, match=r"folder\.po:1: this is no catalog: .*Is a directory"):
        catalogs.read(tmp_path, "folder.po")
