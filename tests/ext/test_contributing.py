"""What contributing describes is done, on a copy of the project, and what is forgotten is named.

The copy has one page, one rule at most, and one case at most; its commands are the true ones.
"""

import json
import re
import runpy
from pathlib import Path

import pytest
from published import ROOT

from test_build import INDEX, ONE_RULE, commanded, project, whole

__all__ = ["project", "whole"]  # the fixtures

CATALOGS = "locales/zh_CN/LC_MESSAGES"
MATRIX = ROOT / "tests" / "matrix" / "run.py"
CASE = """\
[one-more]
party = "application"
says = "The application is called once more."
script = ["call", "offer lifespan.startup", "await startup"]
expect = {}
"""
MESSAGE = """\
# A page

```python
from lifespec.conformance.wording import WORDS

print(WORDS[1])
```
```{output}
verdict
```
"""


def change(file: Path, old: str, new: str) -> None:
    """Change one place of a file."""
    text = file.read_text()
    assert text.count(old) == 1, text
    file.write_text(text.replace(old, new))


def refused(project: Path, *options: str) -> list[str]:
    """Build the site in vain; give the faults."""
    done = commanded(project, "build.py", *options)
    assert done.returncode == 1, done.stdout
    return done.stderr.splitlines()[:-1]


def accepted(project: Path) -> str:
    """Build the site; give how many entries wait."""
    done = commanded(project)
    assert done.returncode == 0, done.stderr
    return re.findall(r"(\d+) waiting for a translation", done.stdout)[0]


def fill(project: Path, catalog: str, english: str, chinese: str) -> None:
    """Translate an entry, and renew the catalogs."""
    entry = f'msgid "{english}"\nmsgstr "'
    change(project / CATALOGS / catalog, f'{entry}"', f'{entry}{chinese}"')
    assert commanded(project, "catalogs.py").returncode == 0


@pytest.mark.slow
def test_a_sentence_is_changed(project: Path) -> None:
    """Page and catalog; the old Chinese is there to be changed."""
    page = project / "docs" / "index.md"
    page.write_text(f"{INDEX}\nThe server waits.\n")
    (fault,) = refused(project)
    assert fault.startswith("docs/index.md:10: 'The server waits.' is missing in locales/")
    assert commanded(project, "catalogs.py").returncode == 0
    fill(project, "index.po", "The server waits.", "服务器等待。")
    assert accepted(project) == "0"
    change(page, "server waits", "server always waits")
    assert commanded(project, "catalogs.py").returncode == 0
    assert "# Chinese before: 服务器等待。\n" in (project / CATALOGS / "index.po").read_text()
    assert accepted(project) == "1"
    fill(project, "index.po", "The server always waits.", "服务器总是等待。")
    assert accepted(project) == "0"


@pytest.mark.slow
def test_a_rule_is_added(project: Path) -> None:
    """The file of rules, page and catalog; each that is forgotten is named."""
    (rules,) = (project / "src").rglob("rules.toml")
    rules.write_text(ONE_RULE)
    name = rules.relative_to(project).as_posix()
    assert refused(project) == [f"{name}:1: No page has the rule 'quiet'."]
    page = project / "docs" / "index.md"
    page.write_text(f"{INDEX}\n:::{{rule}} quiet\nIt must rest.\n:::\n")
    faults = refused(project)
    assert "docs/index.md:10: No example follows the rule 'quiet'." in faults
    assert any(fault.startswith("docs/index.md:11: 'It must rest.' is missing") for fault in faults)
    page.write_text(f":::{{rule}} quiet\nIt must rest.\n:::\n\n{INDEX}")
    assert commanded(project, "catalogs.py").returncode == 0
    assert accepted(project) == "1"
    fill(project, "index.po", "It must rest.", "必须安静。")
    assert accepted(project) == "0"
    (explained,) = (project / "src").rglob("explain.zh.json")
    assert json.loads(explained.read_text())["quiet"]["text"] == "必须安静。"


@pytest.mark.slow
def test_a_case_is_added(project: Path) -> None:
    """The file of cases and the catalog of words."""
    (cases,) = (project / "src").rglob("cases.toml")
    cases.write_text(CASE)
    says = "The application is called once more."
    (fault,) = refused(project)
    assert f"{says!r} is missing in {CATALOGS}/lifespec.po: run `make translate`." in fault
    assert commanded(project, "catalogs.py").returncode == 0
    fill(project, "lifespec.po", says, "再调用一次应用程序。")
    assert accepted(project) == "0"
    cases.write_text(CASE.replace('"call", ', '"sing", '))
    assert any("cases.toml: [one-more]: 'sing' is no verb" in fault for fault in refused(project))


@pytest.mark.slow
def test_a_message_of_the_command_is_changed(project: Path) -> None:
    """The example that prints the old one is named, and so is the entry."""
    page = project / "docs" / "index.md"
    page.write_text(MESSAGE)
    assert accepted(project) == "0"
    (wording,) = (project / "src").rglob("wording.py")
    change(wording, '\n    "verdict",\n', '\n    "found",\n')
    faults = refused(project)
    assert any(fault.startswith("docs/index.md:9: ") for fault in faults), faults
    assert any(f"'found' is missing in {CATALOGS}/lifespec.po" in fault for fault in faults)
    change(page, "\nverdict\n", "\nfound\n")
    assert commanded(project, "catalogs.py").returncode == 0
    fill(project, "lifespec.po", "found", "结果")
    assert accepted(project) == "0"


def test_a_server_is_added(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Its packages must be locked; what is not is named before anything is measured."""
    run = runpy.run_path(str(MATRIX))
    locked = run["LOCKED"].read_text()
    assert list(run["lacking"](run["RECORDS"]["servers"], locked)) == []
    copy = tmp_path / "tests" / "matrix" / "run.py"
    copy.parent.mkdir(parents=True)
    copy.write_text(MATRIX.read_text())
    change(copy, "SERVERS = {", 'SERVERS = {\n    "spider": (["spider"], "spider {app}"),\n   ')
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".ci" / "matrix.txt").write_text(locked)
    line = copy.read_text().split("\n").index('    "spider": (["spider"], "spider {app}"),') + 1
    assert runpy.run_path(str(copy))["main"](["none", str(tmp_path / "servers.json")]) == 2
    assert capsys.readouterr().err == (
        f"tests/matrix/run.py:{line}: .ci/matrix.txt does not have the package 'spider' of "
        "'spider': add it to the group matrix of pyproject.toml, then run `make lock`.\n"
    )
    (tmp_path / ".ci" / "matrix.txt").write_text(f"{locked}spider==1.0\n")
    added = runpy.run_path(str(copy))
    assert list(added["lacking"](added["RECORDS"]["servers"], added["LOCKED"].read_text())) == []
