"""The catalogs are renewed from the pages; a text without Chinese is shown, and a dead link not."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po
from samples import Sample

from lifespec_docs import translate
from lifespec_docs.site import localized

CATALOGS = Path("locales/zh_CN/LC_MESSAGES")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to a folder with the template of a page, and no catalogs."""
    monkeypatch.chdir(tmp_path)
    for folder in (Path("build/gettext"), CATALOGS):
        folder.mkdir(parents=True)
    return tmp_path


def wants(page: str, *messages: str) -> None:
    """Write the template of a page, as the gettext builder does."""
    catalog = Catalog()
    for message in messages:
        catalog.add(message)
    with Path(f"build/gettext/{page}.pot").open("wb") as file:
        write_po(file, catalog)


def has(page: str, **messages: str) -> None:
    """Write the catalog of a page."""
    catalog = Catalog("zh_CN")
    for message, chinese in messages.items():
        catalog.add(message.replace("_", " "), chinese)
    with (CATALOGS / f"{page}.po").open("wb") as file:
        write_po(file, catalog)


def renewed(page: str, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> dict[str, str]:
    """Run the program; return the messages of a catalog, those that are fuzzy with a mark."""
    monkeypatch.setattr(sys, "argv", ["translate.py", *arguments])
    translate.main()
    with (CATALOGS / f"{page}.po").open("rb") as file:
        found = [each for each in read_po(file) if each.id]
    return {str(each.id): "?" * each.fuzzy + str(each.string) for each in found}


@pytest.mark.usefixtures("project")
def test_a_changed_message_is_fuzzy_and_a_moved_one_takes_its_chinese_along(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    has("one", A_server_starts="启动", It_moves="移动", It_goes="离开")
    wants("one", "A server starts first", "It is new")
    wants("two", "It moves")
    assert renewed("one", monkeypatch) == {"A server starts first": "?启动", "It is new": ""}
    assert renewed("two", monkeypatch) == {"It moves": "移动"}
    text = (CATALOGS / "one.po").read_text("utf-8")
    assert "20" not in text  # no date, which would conflict
    assert renewed("one", monkeypatch)
    assert (CATALOGS / "one.po").read_text("utf-8") == text


@pytest.mark.usefixtures("project")
def test_a_new_message_gets_no_guess(monkeypatch: pytest.MonkeyPatch) -> None:
    has("one", A_server_starts="启动")
    wants("one", "A server starts", "A server starts not")
    assert renewed("one", monkeypatch) == {"A server starts": "启动", "A server starts not": ""}


@pytest.mark.usefixtures("project")
def test_the_check_names_what_waits_and_writes_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    has("one", It_goes="离开")
    has("gone", It_stays="停留")
    wants("one", "It is new")
    assert renewed("one", monkeypatch, "--check") == {"It goes": "离开"}
    capsys.readouterr()
    assert translate.main() == 1
    assert capsys.readouterr().out.splitlines()[:3] == [
        f"{CATALOGS}/one.po: translate: It is new",
        f"{CATALOGS}/one.po:22: is not needed: It goes",
        f"{CATALOGS}/gone.po: has no page any more",
    ]
    monkeypatch.setattr(sys, "argv", ["translate.py"])
    assert translate.main() == 0
    assert not (CATALOGS / "gone.po").exists()


def test_a_changed_sentence_is_shown_in_english_with_a_note(
    project: Path, build: Callable[..., Sample]
) -> None:
    """Without a warning, which would end the build."""
    has("index", Old="旧的", Kept="保留")
    site = build(
        {"index.md": "# Kept\n\nNew\n"},
        extensions=["myst_parser"],
        language="zh_CN",
        locale_dirs=["locales"],
        translation_progress_classes="untranslated",
    )
    assert site.warnings == ""
    assert site.page().select_one("h1").get_text().startswith("保留")  # type: ignore[union-attr]
    assert [each.get_text() for each in site.page().select(".untranslated")] == ["New"]


def test_a_link_to_an_id_that_the_page_lacks_is_refused(build: Callable[..., Sample]) -> None:
    raw = '# Page\n\n<p id="there"><a href="#there">.</a> <a href="#nowhere">.</a></p>\n'
    site = build({"index.md": raw}, extensions=["myst_parser", "lifespec_docs.site"])
    assert "The link #nowhere leads nowhere on this page." in site.warnings
    assert "#there" not in site.warnings


def test_the_labels_of_the_theme_are_translated_and_its_landmarks_named() -> None:
    html = '<aside class="toc-drawer no-toc"><input aria-label="Toggle site navigation sidebar">'
    assert localized(html) == html.replace("<aside", '<aside aria-label="On this page"')
