"""What a reviewer is shown of a change."""

import subprocess
import sys
from pathlib import Path

import pytest

from lifespec_docs.facts import proofs, review

ROOT = Path(__file__).parents[3]
PAGE = """\
# A

It waits. It goes on.

```python
print(1)
```

## B

It ends.

## C

Old.

| a |
|---|
| b |
"""
CATALOG = (
    'msgid ""\nmsgstr ""\n\nmsgid "It waits."\nmsgstr "它等待。"\n\nmsgid "Old."\nmsgstr "旧。"\n'
)
PO = "locales/zh_CN/LC_MESSAGES/a.po"


def git(root: Path, *arguments: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", "-C", root, *who, *arguments], check=True, capture_output=True)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a project of two pages under git, where no approval is asked."""
    monkeypatch.setattr(proofs, "faults", lambda _root: iter(()))
    for name, text in {"docs/a.md": PAGE, PO: CATALOG, "docs/gone.md": "# G\n\nGone.\n"}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    git(tmp_path, "init")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "a")
    return tmp_path


def edit(root: Path, name: str, *pairs: tuple[str, str]) -> None:
    text = (root / name).read_text()
    for old, new in pairs:
        text = text.replace(old, new)
    (root / name).write_text(text)


def test_a_changed_sentence_is_shown_with_what_it_belongs_to(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has a mark where the example did not change; sentences that are gone are shown, too."""
    edit(root, "docs/a.md", ("It waits.", "It never waits."), ("It ends.", "It stops."))
    edit(root, "docs/a.md", ("Old.", "New."), ("| b |", "| c |"))
    assert review.main([], root) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "=== docs/a.md ".ljust(80, "="),
        "! docs/a.md:3",
        "  + It never waits.",
        "      unchanged example python, line 5:",
        "      | print(1)",
        "  docs/a.md:11",
        "  + It stops.",
        "      (no example, check, table or rule in this section)",
        "  docs/a.md:15",
        "  + New.",
        "      changed table, line 17:",
        "      | | a |",
        "      | |---|",
        "      | | c |",
        "  docs/a.md:17",
        "  + | c |",
        "      changed table, line 17:",
        "      | | a |",
        "      | |---|",
        "      | | c |",
        "  - It waits.",
        "  - It ends.",
        "  - Old.",
        "  - | b |",
    ]


def test_a_long_example_is_cut(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its first lines are enough to find it."""
    edit(root, "docs/a.md", ("It waits.", "It runs."), ("print(1)", "1\n" * 8))
    review.main(["HEAD"], root)
    assert "      | … 2 lines more" in capsys.readouterr().out.splitlines()


def test_changed_chinese(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A translation that changed alone is shown under its English."""
    edit(root, PO, ("它等待。", "它不等待。"))
    (root / PO).write_text((root / PO).read_text() + '\nmsgid "New."\nmsgstr "新。"\n')
    assert review.main(["main"], root) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert lines == ["  line 4", "  = It waits.", "  - 它等待。", "  + 它不等待。"]


def test_what_one_language_alone_changed_is_named(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where both changed, and where there is nothing to compare with, it is not."""
    edit(root, PO, ("它等待。", "它不等待。"))
    review.main(["--approve", "--page", "a", "--yes"], root)
    said = capsys.readouterr().out.splitlines()
    assert [line for line in said if line.startswith("!!!")] == [
        "!!! the Chinese alone changed a word of denial: – → 不"
    ]


def test_pages_that_come_go_and_move(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A page that was only renamed has no changed sentence."""
    git(root, "mv", "docs/a.md", "docs/z.md")
    (root / "docs/gone.md").unlink()
    (root / PO).unlink()
    (root / "docs/new.md").write_text("# New\n\nFresh.\n")
    git(root, "add", "docs/new.md")
    assert review.main([], root) == 0
    told = capsys.readouterr().out
    assert "z.md" not in told
    assert "  + Fresh." in told
    assert "  - Gone." in told


def test_a_branch_is_compared_with_where_it_began(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a main of its own a project is compared with its last commit."""
    git(root, "checkout", "-b", "mine")
    edit(root, "docs/a.md", ("It waits.", "It sits."))
    git(root, "commit", "-am", "b")
    review.main([], root)
    assert "It sits." in capsys.readouterr().out
    git(root, "branch", "-D", "main")
    review.main([], root)
    assert capsys.readouterr().out == ""


def test_no_such_revision(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is a sentence, and status 2."""
    assert review.main(["nowhere"], root) == 2
    assert "nowhere" in capsys.readouterr().err


def test_the_command_shows_a_rule() -> None:
    """As `make review RULE=…` has it."""
    command = [sys.executable, ROOT / "docs/review.py", "--rule", "startup-sent"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout.startswith("=== startup-sent (server) ===")
    assert max(map(len, found.stdout.splitlines())) <= 80
