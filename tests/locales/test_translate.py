"""The command that renews the catalogs, or says what is wrong with them."""

import re
import runpy
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from lifespec_docs import translate
from lifespec_docs.facts import proofs
from lifespec_docs.i18n import catalogs, messages

OURS = "lifespec_docs.i18n.comments", "lifespec_docs.examples.directive"
CONF = f"extensions = {['myst_parser', *OURS]}\n"
PAGES = {
    "index.md": "# The server\n\n```{toctree}\nother\n```\n\nIt must send `a` 2 times.\n",
    "other.md": "# Another page\n\nIt must send `a` 2 times.\n\n```python\na = 1  # one\n```\n",
}
CHINESE = {
    "The server": "服务器",
    "It must send `a` 2 times.": "它必须发送 `a` 2 次。",
    "Another page": "另一页",
    "# one": "# 一",
    "must": "必须",
}
INDEX, OTHER, WORDS = (f"{translate.CATALOGS}/{name}.po" for name in ("index", "other", "lifespec"))


class Project:
    """A project of two pages, without catalogs."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root, self.capsys = root, capsys
        (root / "docs").mkdir()
        self.write("docs/conf.py", CONF)
        for name, text in PAGES.items():
            self.write(f"docs/{name}", text)

    def write(self, name: str, text: str) -> None:
        """Write a file of the project."""
        (self.root / name).write_text(text)

    def read(self, name: str) -> str:
        """Read a file of the project."""
        return (self.root / name).read_text()

    def change(self, name: str, old: str, new: str) -> None:
        """Change a file of the project."""
        assert old in self.read(name)
        self.write(name, self.read(name).replace(old, new))

    def run(self, *arguments: str) -> tuple[int, list[str]]:
        """Run the command; give its status and what it said."""
        status = translate.main(list(arguments), self.root)
        said = self.capsys.readouterr()
        return status, [*said.out.splitlines(), *said.err.splitlines()]

    def renewed(self) -> list[str]:
        """Renew; give what is new and what is gone."""
        status, lines = self.run()
        assert status == 0
        assert re.fullmatch(r"3 catalogs, \d messages, \d waiting for a translation", lines[-1])
        return lines[:-1]

    def checked(self) -> list[str]:
        """Check what somebody has approved; give the faults."""
        with suppress(OSError):  # what is no catalog
            proofs.approve(self.root, proofs.waiting(self.root))
        status, lines = self.run("--check")
        assert status == bool(lines[:-1])
        assert re.fullmatch(r"3 catalogs, \d messages", lines[-1])
        return lines[:-1]


@pytest.fixture
def project(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Project:
    """Make a project without a catalog; our extensions say one word."""
    monkeypatch.setattr(messages, "messages", lambda: (catalogs.Message("must", 1),))
    monkeypatch.setattr(messages, "package_messages", dict)
    return Project(tmp_path, capsys)


@pytest.fixture
def whole(project: Project) -> Project:
    project.run()
    for path in (project.root / translate.CATALOGS).glob("*.po"):
        text = path.read_text()
        for english, chinese in CHINESE.items():
            text = text.replace(f'"{english}"\nmsgstr ""', f'"{english}"\nmsgstr "{chinese}"')
        path.write_text(text)
    project.run()  # takes the marks off
    return project


def test_renewing_writes_an_entry_for_each_message(project: Project) -> None:
    """It says what is new; the second time there is nothing to do."""
    assert project.renewed() == [
        f"{INDEX}: new: The server",
        f"{INDEX}: new: It must send `a` 2 times.",
        f"{OTHER}: new: Another page",
        f"{OTHER}: new: It must send `a` 2 times.",
        f"{OTHER}: new: # one",
        f"{WORDS}: new: must",
    ]
    before = project.read(INDEX)
    assert project.renewed() == []
    assert project.read(INDEX) == before


def test_a_changed_message_is_new_and_its_translation_is_gone(whole: Project) -> None:
    """The old translation is shown, for the translator, and is not guessed to fit."""
    whole.change("docs/other.md", "# one", "# two")
    whole.change(OTHER, "Another page", "Another place")
    assert whole.renewed() == [
        f"{OTHER}: new: Another page",
        f"{OTHER}: new: # two",
        f"{OTHER}: gone: Another place",
        "    另一页",
        f"{OTHER}: gone: # one",
        "    # 一",
    ]
    assert (
        '# English before: # one\n# Chinese before: # 一\n#, waiting\nmsgid "# two"\nmsgstr ""\n'
    ) in whole.read(OTHER)


def test_an_entry_that_waits_is_counted_and_only_a_release_refuses_it(whole: Project) -> None:
    """Its older text stands above it, also when the English changes again, until it is filled."""
    whole.change("docs/other.md", "# one", "# two")
    assert whole.run()[1][-1].endswith(", 1 waiting for a translation")
    assert whole.checked() == []
    assert whole.run("--release") == (1, [f"{OTHER}:15: '# two' is waiting for a translation."])
    before = whole.read(OTHER)
    whole.change("docs/other.md", "# two", "# three")
    whole.run()
    assert whole.read(OTHER) == before.replace("# two", "# three")
    whole.change(OTHER, 'msgid "# three"\nmsgstr ""', 'msgid "# three"\nmsgstr "# 三"')
    assert whole.checked() == [
        f"{OTHER}:15: '# three' is translated: `make translate` takes the mark “waiting” off."
    ]
    assert whole.renewed() == whole.checked() == []
    assert 'msgid "# three"\nmsgstr "# 三"\n' in whole.read(OTHER)
    assert "before:" not in whole.read(OTHER)
    assert "waiting" not in whole.read(OTHER)
    assert whole.run("--release") == (0, [])


def test_a_page_that_does_not_read_cleanly_leaves_the_catalogs_alone(whole: Project) -> None:
    """What could not be read has no messages; its translations would be thrown away."""
    whole.change("docs/conf.py", "extensions = [", "extensions = ['sphinx.ext.autodoc', ")
    whole.write(
        "docs/other.md", "# Another page\n\n```{eval-rst}\n.. autofunction:: no.such\n```\n"
    )
    before = whole.read(OTHER)
    for options in ([], ["--check"]):
        status, lines = whole.run(*options)
        assert status == 2
        assert lines[0].startswith("WARNING: autodoc: failed to import ")
        assert lines[-1] == "No catalog was read or written, since a page did not read cleanly."
    assert whole.read(OTHER) == before


def test_a_translation_is_kept_where_the_message_moved_to_another_page(whole: Project) -> None:
    """The same text needs no second translator; one not translated leaves nothing to show."""
    whole.write("docs/index.md", PAGES["index.md"] + "\nAnother page\n")
    whole.write("docs/other.md", "# None\n\n```python\na = 1  # one\n```\n\nA\n\nB\n")
    whole.renewed()
    assert 'msgid "Another page"\nmsgstr "另一页"\n' in whole.read(INDEX)
    whole.write("docs/other.md", "# None\n\n```python\na = 1  # one\n```\n\nA\n\nC\n")
    assert whole.renewed() == [f"{OTHER}: new: C", f"{OTHER}: gone: B"]


@pytest.mark.parametrize(
    "entry", ['#, fuzzy\nmsgid "# one"\nmsgstr "# 一"', '#~ msgid "# one"\n#~ msgstr "# 一"']
)
def test_what_is_fuzzy_or_obsolete_is_not_kept(whole: Project, entry: str) -> None:
    whole.change(OTHER, 'msgid "# one"\nmsgstr "# 一"', entry)
    whole.renewed()
    assert 'msgid "# one"\nmsgstr ""\n' in whole.read(OTHER)


def test_a_catalog_without_a_page_is_a_fault_and_is_deleted(whole: Project) -> None:
    """Only the theme's own catalog has none."""
    old, chrome = (f"{translate.CATALOGS}/{name}.po" for name in ("old", "sphinx"))
    for name in (old, chrome):
        whole.write(name, whole.read(INDEX))
    assert whole.checked() == [f"{old}:1: this catalog has no page: run `make translate`."]
    assert whole.renewed() == [f"{old}: deleted, 2 entries: it has no page"]
    assert whole.checked() == []
    assert whole.read(chrome)


def test_a_page_without_a_catalog_is_a_fault(whole: Project) -> None:
    (whole.root / OTHER).unlink()
    assert whole.checked() == [f"docs/other.md:1: {OTHER} is missing: run `make translate`."]


TOO, RUN = "of the English: write it in figures.", "run `make translate`."
FAULTS = [
    ("docs/other.md", "Another page", "A page",
     [f"docs/other.md:1: 'A page' is missing in {OTHER}: run `make translate`, fill it in.",
      f"{OTHER}:9: 'Another page' does not stand in docs/other.md (any more): {RUN}"]),
    (OTHER, "`a` 2 次。", "`a` 3 次。",
     [f"{OTHER}:13: the Chinese has the number 3, which the English has not.",
      f"{OTHER}:13: the Chinese lacks the number 2 {TOO}"]),
    (OTHER, "zh_CN", "zh", [f"{OTHER}:4: this line is not as `make translate` writes it: run it."]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new", "faults"), FAULTS)
def test_a_catalog_that_is_not_as_its_page_is_a_fault(
    whole: Project, name: str, old: str, new: str, faults: list[str]
) -> None:
    """Of a message that is missing, or too many, or translated otherwise; of another form."""
    text = whole.read(name)
    assert old in text
    whole.write(name, text.replace(old, new))
    assert whole.checked() == faults


@pytest.mark.parametrize("name", ["other", "sphinx"])
def test_what_is_no_catalog_is_a_fault(whole: Project, name: str) -> None:
    """It is left alone when catalogs are renewed, and so are all others."""
    broken = f"{translate.CATALOGS}/{name}.po"
    whole.write(broken, "no catalog\n")
    sentence = f"{broken}:1: this is no catalog: this line is not of one."
    assert whole.checked() == [sentence]
    if name == "other":
        before = whole.read(INDEX)
        whole.change("docs/index.md", "The server", "A server")
        assert whole.run() == (2, [sentence])
        assert whole.read(INDEX) == before


def test_the_theme_words_must_be_translated(whole: Project) -> None:
    chrome = f"{translate.CATALOGS}/sphinx.po"
    whole.write(chrome, whole.read(INDEX).replace("服务器", ""))
    assert whole.checked() == [f"{chrome}:9: 'The server' is not translated."]


@pytest.mark.parametrize(
    ("conf", "sentence"),
    [("1 / 0", "There is a programmable error"), ("extensions = ['none']", "Could not import")],
)
def test_pages_that_sphinx_cannot_read_are_told(project: Project, conf: str, sentence: str) -> None:
    project.write("docs/conf.py", conf)
    status, lines = project.run()
    assert status == 2
    assert sentence in lines[0]
    assert not (project.root / "locales").exists()


def test_the_command_is_understood_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["catalogs.py", "--check", "--release"])
    with pytest.raises(SystemExit, match="2"):
        runpy.run_path(translate.ROOT / "docs" / "catalogs.py", run_name="__main__")


def test_the_script_finds_its_modules_itself() -> None:
    command = [sys.executable, "-I", translate.ROOT / "docs" / "catalogs.py", "--help"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "Renews the Chinese catalogs" in said
