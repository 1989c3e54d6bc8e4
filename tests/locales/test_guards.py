"""What contributing describes, walked: what a step forgets is named by file and line.

The steps are taken in a small project of its own, with the true configuration.
"""

import io
import shutil
import sys
from pathlib import Path

import pytest
from sphinx.application import Sphinx
from sphinx.locale import translators
from sphinx.util.console import nocolor
from sphinx.util.docutils import docutils_namespace, patch_docutils

from lifespec.conformance import cases
from lifespec.conformance.data_files import DataError
from lifespec_docs import translate
from lifespec_docs.i18n import messages
from lifespec_docs.lint import doctrees

# myst-parser 5.2 resolves references with what Sphinx 11 will not have.
pytestmark = pytest.mark.filterwarnings("ignore::sphinx.deprecation.RemovedInSphinx11Warning")

RULES = """\
[startup-sent]
role = "server"
observable = "application"
stage = "startup"
page = "index"
says = "The server must send `lifespan.startup` before it processes requests."
source = [{ specs = "asgi 2.0", level = "must", section = "Startup" }]
"""
PAGE = """\
# Startup

The server waits 10 s for an answer to `lifespan.startup`, see [above](#startup).

```{rule} startup-sent
```

{rule}`startup-sent` in a program:

```python
import asyncio

from lifespec import Lifespan


async def app(scope, receive, send):
    message = await receive()  # the server speaks first
    print(message["type"])
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})


async def main():
    async with Lifespan(app, strict=True):
        print("serving")


asyncio.run(main())
```

```{output}
lifespan.startup
serving
```
"""
CHINESE = {
    "Startup": "启动",
    "The server waits 10 s for an answer to `lifespan.startup`, see [above](#startup).": (
        "服务器等待 10 秒，以待对 `lifespan.startup` 的回答，见[上文](#startup)。"
    ),
    "{rule}`startup-sent` in a program:": "用程序展示 {rule}`startup-sent`：",
    "# the server speaks first": "# 服务器先说话",
}
CATALOG = f"{translate.CATALOGS}/index.po"


class Project:
    """A project of one page."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def change(self, name: str, old: str, new: str) -> int:
        """Change one place of a file; give its line."""
        text = (self.root / name).read_text()
        assert text.count(old) == 1, text
        (self.root / name).write_text(text.replace(old, new))
        return text[: text.index(old)].count("\n") + 1

    def build(self, language: str) -> list[str]:
        """Read the page in a language, its examples run; give Sphinx's warnings."""
        docs, said = self.root / "docs", io.StringIO()
        nocolor()
        translators.clear()
        with patch_docutils(docs), docutils_namespace():
            app = Sphinx(
                docs, docs, self.root / "out", self.root / language, "dummy",
                {"language": language}, status=None, warning=said,
            )  # fmt: skip
            app.build()
        return said.getvalue().replace(f"{self.root}/", "").splitlines()

    def check(self) -> list[str]:
        """Check the catalogs; give the faults of the page and its own."""
        pages = translate.pages_of(self.root)
        found = translate.faults(self.root, pages)
        return [str(fault) for fault in found if Path(fault.file).stem == "index"]

    def compare(self) -> list[str]:
        """Compare the doctrees of both languages."""
        return list(map(str, doctrees.stored(self.root / "en", self.root / "zh_CN", self.root)))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the project, with its true configuration and catalogs, and complete them."""
    root = tmp_path_factory.mktemp("whole")
    true = translate.ROOT
    (root / "docs").mkdir()
    shutil.copy(true / "pyproject.toml", root)
    shutil.copy(true / "docs" / "conf.py", root / "docs")
    for folder in ("_static", "_templates"):
        shutil.copytree(true / "docs" / folder, root / "docs" / folder)
    (root / "docs" / "index.md").write_text(PAGE)
    rules = root / "src" / "lifespec" / "conformance" / "data" / "rules.toml"
    rules.parent.mkdir(parents=True)
    rules.write_text(RULES)
    for name in ("report.zh.po", "rules.zh.po"):
        shutil.copy(true / translate.DATA / name, rules.parent)
    (root / translate.CATALOGS).mkdir(parents=True)
    shutil.copy(true / translate.CATALOGS / "lifespec.po", root / translate.CATALOGS)
    assert translate.main([], root) == 0
    for english, chinese in CHINESE.items():
        entry = f'msgid "{english}"\nmsgstr "'
        if f"{entry}{chinese}" not in (root / CATALOG).read_text():  # a word of ours is there
            Project(root).change(CATALOG, entry, f"{entry}{chinese}")
    assert translate.main([], root) == 0
    return root


@pytest.fixture
def project(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Copy the whole project, to break it."""
    monkeypatch.setattr(sys, "path", sys.path.copy())
    translators.clear()  # where Sphinx keeps the catalogs of all that was built before
    return Project(shutil.copytree(whole, tmp_path / "project"))


# What contributing describes, walked; what is forgotten is named with file and line.
NEW_RULE = """
[quiet]
role = "server"
observable = "no"
stage = "scope"
page = "index"
says = "The server must rest."
source = [{ specs = "asgi 2.0", level = "must", section = "Scope" }]
"""
BOX = "\n```{rule} quiet\n```\n"
EXAMPLE = "\n{rule}`quiet`\n\n```python\nprint(1)\n```\n```{output}\n1\n```\n"
NEW_CASE = """
[once-more]
role = "application"
says = "The application is called once more."
script = ["call", "offer lifespan.startup", "await startup"]
expect = {startup-answered = "answered"}
"""


def renewed(project: Project, capsys: pytest.CaptureFixture[str]) -> str:
    """Renew the catalogs; give the end of what was said."""
    assert translate.main([], project.root) == 0
    return capsys.readouterr().out.splitlines()[-1].rpartition(", ")[2]


def test_a_rule_is_added_as_contributing_describes(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    (rules,) = (project.root / "src").rglob("rules.toml")
    rules.write_text(RULES + NEW_RULE)
    line = f"{RULES}{NEW_RULE}".split("\n").index("[quiet]") + 1
    place = f"{rules.relative_to(project.root)}:{line}: "
    sentence = "No page has the rule 'quiet': put its block {rule} on the page 'index'."
    assert project.build("en") == [f"{place}WARNING: {sentence}"]
    page = project.root / "docs" / "index.md"
    page.write_text(PAGE + BOX)
    box = f"{PAGE}{BOX}".split("\n").index("```{rule} quiet") + 1
    sentence = "No example shows the rule 'quiet': link to it in the paragraph above one."
    assert project.build("en") == [f"docs/index.md:{box}: WARNING: {sentence}"]
    page.write_text(PAGE + BOX + EXAMPLE)
    assert project.build("en") == []
    (link,) = project.check()
    assert "'{rule}`quiet`' is missing in " in link
    assert renewed(project, capsys) == "1 waiting for a translation"
    entry = 'msgid "{rule}`quiet`"\nmsgstr "'
    project.change(CATALOG, f'{entry}"', entry + '{rule}`quiet`"')
    assert renewed(project, capsys) == "0 waiting for a translation"
    assert project.build("zh_CN") == project.compare() == []
    translators.clear()
    assert project.check() == []


def test_a_case_is_added_as_contributing_describes(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its sentence is a message of report.zh.po; where it is missing there is told."""
    says = "The application is called once more."
    with pytest.raises(DataError, match=r"^cases\.toml:2: once-more: 'sing' is no verb"):
        cases.read(NEW_CASE.replace('"call"', '"sing"'), "cases.toml")
    more = (*cases.load(), *cases.read(NEW_CASE, "cases.toml"))
    monkeypatch.setattr(cases, "load", lambda: more)
    messages.package_messages.cache_clear()
    try:
        found = translate.faults(project.root, translate.pages_of(project.root))
        (fault,) = (each for each in found if says in str(each))
        words = f"{translate.DATA}/report.zh.po"
        assert str(fault).endswith(
            f": {says!r} is missing in {words}: run `make translate`, fill it in."
        )
        assert translate.main([], project.root) == 0
        (fault,) = (each for each in translate.waiting(project.root) if says in each.sentence)
        assert fault.file == words
        assert translate.faults(project.root, translate.pages_of(project.root)) == []
    finally:
        messages.package_messages.cache_clear()
