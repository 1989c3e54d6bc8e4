"""What the site is made from, by content."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from lifespec_docs import inputs
from lifespec_docs.inputs import Inputs

CATALOGS = "locales/zh_CN/LC_MESSAGES"
FILES = (
    "src/lifespec/server.py", "docs/_ext/lifespec_docs/build.py", ".ci/requirements.lock",
    "docs/conf.py", "docs/_static/a.css", f"{CATALOGS}/lifespec.po",
    "docs/index.md", f"{CATALOGS}/index.po", "docs/matrix/servers.json",
    "pyproject.toml",
)  # fmt: skip


DATA = "src/lifespec/conformance/data"
CASE = '[a]\nsays = "It waits."\nrole = "application"\n'
CHINESE = 'msgid "It waits."\nmsgstr "等待。"\n\nmsgid "Result"\nmsgstr "结果"\n'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    data = {f"{DATA}/cases.toml": CASE, f"{DATA}/rules.toml": "", f"{DATA}/report.zh.po": CHINESE}
    for name, text in {**{name: name for name in FILES}, **data}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "code", "frame", "single"),
    [
        ("src/lifespec/server.py", True, True, []),
        ("src/lifespec/new.py", True, True, []),
        ("docs/_ext/lifespec_docs/build.py", True, True, []),
        (".ci/requirements.lock", True, True, []),
        ("docs/conf.py", False, True, []),
        ("docs/_static/a.css", False, True, []),
        (f"{CATALOGS}/lifespec.po", False, True, []),
        ("docs/index.md", False, False, ["docs/index.md"]),
        ("docs/new.md", False, False, ["docs/new.md"]),
        (f"{CATALOGS}/index.po", False, False, [f"{CATALOGS}/index.po"]),
        ("docs/matrix/servers.json", False, False, ["docs/matrix/servers.json"]),
        ("pyproject.toml", False, True, ["pyproject.toml"]),
        (f"{CATALOGS}/index.mo", False, False, []),
        ("src/lifespec/__pycache__/server.pyc", False, False, []),
    ],
)
def test_a_change_counts_where_it_can_show(
    root: Path, name: str, code: bool, frame: bool, single: list[str]
) -> None:
    """In what the examples do, on any page, or on the pages that use the file."""
    before = Inputs.now(root, ())
    (root / name).parent.mkdir(exist_ok=True)
    (root / name).write_text("changed")
    now = Inputs.now(root, ())
    assert (now.code != before.code, now.frame != before.frame) == (code, frame)
    assert now.changed(before) == before.changed(now) == single


@pytest.mark.parametrize(
    ("name", "text", "frame"),
    [
        ("cases.toml", CASE.replace("a", "b", 1), False),
        ("report.zh.po", CHINESE.replace("等待", "等"), False),
        ("report.zh.po", CHINESE.replace("结果", "果"), True),
    ],
)
def test_a_case_concerns_the_pages_that_use_cases(
    root: Path, name: str, text: str, frame: bool
) -> None:
    """And each example that runs a command; another word of a report can stand anywhere."""
    before = Inputs.now(root, ())
    (root / DATA / name).write_text(text)
    now = Inputs.now(root, ())
    assert (now.code != before.code, now.frame != before.frame) == (True, frame)
    assert now.changed(before) == ([] if frame else [f"{DATA}/cases.toml"])


@pytest.mark.parametrize(
    "change",
    [
        lambda patch: patch.setattr(sys, "version", "4.0"),
        lambda patch: patch.setattr(inputs.metadata, "distributions", list),
    ],
)
def test_python_and_its_packages_count(
    root: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[pytest.MonkeyPatch], None]
) -> None:
    before = Inputs.now(root, ())
    change(monkeypatch)
    now = Inputs.now(root, ())
    assert now.code != before.code
    assert now.frame != before.frame


@pytest.mark.parametrize("name", inputs.NAMES.values())
def test_the_address_of_the_site_counts(
    root: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """It stands on every page, and no example knows it."""
    before = Inputs.now(root, ())
    monkeypatch.setenv(name, "https://example.org/")
    now = Inputs.now(root, ())
    assert (now.code == before.code, now.frame == before.frame) == (True, False)


def test_programs_count(root: Path) -> None:
    """One that is there now lets an example run that did not."""
    found = Inputs.now(root, ["no-such-program", "sh"])
    assert found.programs == {"no-such-program": "no-such-program", "sh": ""}
    assert found != replace(found, programs={"no-such-program": "", "sh": ""})


def test_what_was_written_is_read(root: Path) -> None:
    file = root / "inputs.json"
    assert Inputs.read(file) is None
    found = Inputs.now(root, ["sh"])
    found.write(file)
    assert Inputs.read(file) == found
    for text in ("{", "{}"):
        file.write_text(text)
        assert Inputs.read(file) is None
