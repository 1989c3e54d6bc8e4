"""Statements with checks wait until somebody has looked at both languages and the check."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from lifespec_docs.facts import proofs, review
from lifespec_docs.facts.proofs import Proof

PAGE = """\
# A

It `waits`. It
goes on.

```{check}
assert 1
```

- One of `two`.

  ```{check} asyncio
  assert 2
  ```

| a | `b` |
|---|---|
| c | d |

```{check}
assert 3
```

A literal without.

It `waits`. It goes on.

```{check}
assert 4
```

It `prints`:

```python
print(1)
```
```{output}
1
```

That was `one`.
"""
CHINESE = {
    "A": "A 页",
    "A literal without.": "无。",
    "It `waits`. It goes on.": "等。",
    "One of `two`.": "二。",
    "c": "丙",
    "a": "甲",
    "`b`": "`b`",
    "d": "丁",
    "It `prints`:": "打印：",
    "That was `one`.": "那是一。",
}
PO = "locales/zh_CN/LC_MESSAGES/a.po"
DATA = "src/lifespec/conformance/data/rules.toml"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Write a project of one page whose statements are approved, and commit it."""
    entries = "\n".join(f'msgid "{a}"\nmsgstr "{b}"\n' for a, b in CHINESE.items())
    for name, text in {"docs/a.md": PAGE, "docs/b.md": "# B\n", PO: entries, DATA: ""}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    proofs.approve(tmp_path, proofs.waiting(tmp_path))
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "a"]):
        subprocess.run([*git, *command], check=True)
    return tmp_path


@pytest.mark.parametrize(
    ("file", "old", "new", "label"),
    [
        ("docs/a.md", "It `waits`. It\n", "It `ends`. It\n", "text 'It `ends`. It goes on.'"),
        ("docs/a.md", "assert 2", "assert 5", "text 'One of `two`.'"),
        ("docs/a.md", "{check} asyncio", "{check}", "text 'One of `two`.'"),
        ("docs/a.md", "\n1\n", "\n2\n", "text 'That was `one`.'"),
        ("docs/a.md", "# A", "# An A", "title 'An A'"),
        ("docs/a.md", "without", "within", "text 'A literal within.'"),
        (PO, "无", "有", "text 'A literal without.'"),
        (PO, "丙", "戊", "table '| a | `b` | |---|---| | c | d |'"),
    ],
)
def test_what_changes_alone_waits(
    root: Path, file: str, old: str, new: str, label: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is shown as it was and as it is, and approved with a yes."""
    text = (root / file).read_text()
    (root / file).write_text(text.replace(old, new, 1))
    said = label.partition("'")[2][:-1]
    if said not in CHINESE:
        (root / PO).write_text(f'{(root / PO).read_text()}\nmsgid "{said}"\nmsgstr "止。"\n')
    told = list(proofs.faults(root))
    assert any(f"the {label} changed, or its Chinese, or the evidence" in each for each in told)
    assert review.main(["--approve", "--yes"], root) == 0
    shown = capsys.readouterr().out.splitlines()
    assert any(line.startswith("  - ") and old.strip("# \n") in line for line in shown)
    assert any(line.startswith("  + ") and new.strip("# \n") in line for line in shown)
    assert not list(proofs.faults(root))


def test_of_long_evidence_the_lines_that_differ_are_shown(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What has no Chinese yet says so."""
    page, po = root / "docs" / "a.md", root / PO
    page.write_text(PAGE.replace("assert 4", "\n".join(f"assert {n}" for n in range(20, 40))))
    proofs.approve(root, proofs.waiting(root))
    git = ["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "commit", "-qam", "b"], check=True)
    page.write_text(page.read_text().replace("assert 33", "assert 99"))
    po.write_text(po.read_text().replace("等。", ""))
    told = list(proofs.faults(root))
    assert all(f"and its Chinese is missing in {PO}" in each for each in told)
    assert review.main(["--approve", "--yes"], root) == 0
    shown = capsys.readouterr().out
    assert "    …\n    assert 31\n    assert 32\n  - assert 33\n  + assert 99\n" in shown
    assert "assert 30" not in shown
    assert "--- it has no Chinese yet: the Chinese page shows the English\n" in shown


STEPS = """\
# B

Do this:

1. Open it.
2. Close it.
3. Lock it.

## C

| a | b |
|---|---|
| one | `three` |
| two | four |

## D

Files: the page.

## E

Files: the page.
"""


@pytest.mark.parametrize(
    ("pairs", "fault"),
    [
        ([("Close", "Lock"), ("Lock", "Close")], "6: the text 'Lock it.' stands elsewhere now"),
        ([("# D", "# E"), ("# E", "# D")], "16: the title 'E' stands elsewhere now"),
        ([("`three`", "four"), ("four", "`three`")], "11: the table '| a | b | |---|"),
        ([("2. Close it.\n", "")], " a statement that was approved is gone"),
        ([("3. ", "3. Shake it.\n3. ")], "7: the text 'Shake it.' is new"),
    ],
)
def test_what_stands_elsewhere_waits(
    root: Path, pairs: Sequence[tuple[str, str]], fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Steps, titles and cells that change places."""
    page = root / "docs" / "b.md"
    page.write_text(STEPS)
    proofs.approve(root, proofs.waiting(root))
    changed = STEPS
    for number, (old, _) in enumerate(pairs):
        changed = changed.replace(old, f"<{number}>", 1)
    for number, (_, new) in enumerate(pairs):
        changed = changed.replace(f"<{number}>", new)
    page.write_text(changed)
    assert fault in next(iter(proofs.faults(root)))
    assert review.main(["--approve", "--page", "a", "--yes"], root) == 1
    assert review.main(["--approve", "--page", "b", "--yes"], root) == 0
    assert ("--- it stands elsewhere now" in capsys.readouterr().out) == ("elsewhere" in fault)
    assert not list(proofs.faults(root))


def test_no_is_kept(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was not approved waits on, and what was is written down."""
    page = root / "docs" / "b.md"
    page.write_text(STEPS)
    proofs.approve(root, proofs.waiting(root))
    text = (
        STEPS.replace("Open", "Break")
        .replace("Do", "Try")
        .replace("# D\n\nFiles: the page.", "# D")
    )
    page.write_text(text.replace("2. Close it.\n3. Lock it.", "2. Lock it.\n3. Close it."))
    before = len([*proofs.faults(root)])
    answers = iter(["yes", "no", "no", "no"])
    monkeypatch.setattr(review, "_agreed", lambda _: next(answers) == "yes")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    assert review.main(["--approve", "--page", "b"], root) == 1
    assert len([*proofs.faults(root)]) == before - 1
    assert not any("'Try this:'" in each for each in proofs.faults(root))


def test_a_check_that_is_gone_waits(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = root / "docs" / "a.md"
    page.write_text(PAGE[: PAGE.index("- One")])
    gone = [
        each for each in proofs.faults(root) if " a statement that was approved is gone" in each
    ]
    assert len(gone) == 6
    assert review.main(["--approve", "--page", "b", "--yes"], root) == 1
    assert review.main(["--approve", "--yes"], root) == 0
    assert "  - One of `two`.\n" in capsys.readouterr().out
    assert not list(proofs.faults(root))


def test_words_that_no_statement_has_wait(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They have no place, and what is gone is forgotten; a rule has an approval of its own."""
    words = (
        'msgid "x"\nmsgstr "乙"\n\nmsgid "y"\nmsgstr "己"\n\n#. rule stop\nmsgid "z"\nmsgstr "庚"\n'
    )
    (root / proofs.REPORT).write_text(words)
    proofs.approve(root, proofs.waiting(root))
    (root / proofs.REPORT).write_text(words.replace("乙", "己").replace("庚", "乙"))
    (fault,) = proofs.faults(root)
    assert fault == (
        f"{proofs.REPORT}:1: 'x' is new, or its Chinese changed:"
        " `make approve PAGE=report` shows it, and asks."
    )
    assert review.main(["--approve", "--page", "report", "--yes"], root) == 0
    assert "    x\n  + 己\n" in capsys.readouterr().out.replace("  + x", "    x")
    (root / proofs.REPORT).write_text("")
    assert not list(proofs.faults(root))


def test_statements_without_evidence_are_listed(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert review.main(["--unproved"], root) == 0
    assert capsys.readouterr().out.splitlines() == [
        "=== docs/a.md: 1 ".ljust(80, "="),
        "docs/a.md:24: A literal without.",
    ]


def test_a_check_below_no_statement_is_a_fault(root: Path) -> None:
    (root / "docs" / "b.md").write_text("# B\n\n```{check}\nassert 1\n```\n")
    assert list(proofs.faults(root)) == [
        "docs/b.md:3: this check has no paragraph and no table directly above it."
    ]
    assert review.main(["--approve", "--yes"], root) == 1


def test_without_git_the_new_is_shown(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def unknown(*_: object) -> str:
        raise review.NoRevisionError

    monkeypatch.setattr(review, "_git", unknown)
    (root / proofs.PROOFS).unlink()
    assert review.main(["--approve", "--yes"], root) == 0
    assert "  + One of `two`.\n" in capsys.readouterr().out


def test_a_statement_that_no_catalog_has_is_a_fault(root: Path) -> None:
    """Its Chinese could change unseen."""
    (root / PO).write_text((root / PO).read_text().replace("One of", "Two of"))
    fault, _ = proofs.faults(root)
    assert fault.startswith("docs/a.md:10: 'One of `two`.' has no entry in its catalog: run `make")
    assert review.main(["--approve", "--yes"], root) == 1


def test_a_title_shows_the_first_evidence_of_its_section(root: Path) -> None:
    """It is no part of what is approved: a changed check does not ask about the title too."""
    (root / "docs" / "b.md").write_text("# B\n\nSo.\n\nIs it.\n\n```{loglines} a\n```\n\n## C\n")
    first, *_, last = (each for each in proofs.proofs(root) if each.file == "docs/b.md")
    assert (first.evidence, first.held) == ("{loglines} a\n", True)
    assert (last.evidence, last.held) == ("", False)
    assert first.hash == first._replace(evidence="").hash


def test_a_statement_waits_if_a_rule_that_it_names_changes(root: Path) -> None:
    """A list of links states nothing, and waits for nobody."""
    page = "# B\n\nThe server waits for it ({rule}`wait`).\n\n- {rule}`wait`\n"
    (root / "docs" / "b.md").write_text(page)
    rule = (
        '[wait]\nrole = "server"\nobservable = "no"\nunseen = "a"\nstage = "startup"\n'
        'page = "b"\nsays = "The server must wait."\nhint = "Wait."\n'
        'source = [{ specs = "all", level = "must", section = "A" }]\n'
    )
    (root / DATA).write_text(rule)
    waits, _ = (each for each in proofs.waiting(root) if each.file == "docs/b.md")
    assert waits.proof
    assert waits.proof.evidence == "wait: The server must wait.\n"
    assert not waits.proof.runs
    assert review.main(["--approve", "--page", "b", "--yes"], root) == 1  # the rule waits
    assert not [each for each in proofs.waiting(root) if each.file == "docs/b.md"]
    (root / DATA).write_text(rule.replace("must wait", "must stop"))
    assert [each.proof and each.proof.label for each in proofs.waiting(root)] == [waits.proof.label]


def of_b(root: Path, page: str) -> list[Proof]:
    """Return the statements of another page."""
    (root / "docs" / "b.md").write_text(page)
    return [each for each in proofs.proofs(root) if each.file == "docs/b.md"][1:]


def test_a_statement_is_bound_to_the_help_of_its_commands(root: Path) -> None:
    """What looks like a command and is none adds nothing."""
    said = "Run `make docs`, `lifespec check app shop:app`, and `make docs` or `make dogs`."
    (proof,) = of_b(root, f"# B\n\n{said}\n")
    docs, check = proof.evidence.splitlines()
    assert docs.startswith("make docs: run every example")
    assert check.startswith("lifespec check app: Check an application")
    for said, announced in ("These commands:", True), ("It ends", False):
        (proof,) = of_b(root, f"# B\n\n{said}\n\n```sh\nmake docs\n```\n")
        assert ("make docs: run every" in proof.evidence) is proof.held is announced
