"""Statements with checks wait until somebody has looked at both languages and the check."""

import json
import subprocess
from pathlib import Path

import pytest

from lifespec.conformance.rules import rules
from lifespec_docs.facts import proofs, review
from lifespec_docs.facts.known import facts

__all__: list[str] = []

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

A `literal` without.

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


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Write a project of one page whose statements are approved, and commit it."""
    entries = "\n".join(f'msgid "{a}"\nmsgstr "{b}"\n' for a, b in CHINESE.items())
    data = "src/lifespec/conformance/data/rules.toml"
    for name, text in {"docs/a.md": PAGE, "docs/b.md": "# B\n", PO: entries, data: ""}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    proofs.approve(tmp_path, proofs.waiting(tmp_path))
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "a"]):
        subprocess.run([*git, *command], check=True)
    return tmp_path


def test_a_proof_has_both_languages_and_the_check(root: Path) -> None:
    found = proofs.proofs(root)
    assert [(each.line, each.label, each.chinese.strip(), each.evidence) for each in found] == [
        (6, "It `waits`. It goes on.", "等。", "{check}\nassert 1\n"),
        (12, "One of `two`.", "二。", "{check} asyncio\nassert 2\n"),
        (20, "| a | `b` | |---|---| | c | d |", "甲\n`b`\n丙\n丁", "{check}\nassert 3\n"),
        (28, "It `waits`. It goes on. (2)", "等。", "{check}\nassert 4\n"),
        (32, "It `prints`:", "打印：", "print(1)\n-----\n1\n"),
        (41, "That was `one`.", "那是一。", "print(1)\n-----\n1\n"),
    ]
    assert list(proofs.bare(root)) == [("docs/a.md", 24, "A `literal` without.")]
    assert not list(proofs.faults(root))


@pytest.mark.parametrize(
    ("file", "old", "new", "label"),
    [
        ("docs/a.md", "It `waits`. It\n", "It `ends`. It\n", "It `ends`. It goes on."),
        ("docs/a.md", "assert 2", "assert 5", "One of `two`."),
        ("docs/a.md", "{check} asyncio", "{check}", "One of `two`."),
        ("docs/a.md", "\n1\n", "\n2\n", "That was `one`."),
        (PO, "丙", "戊", "| a | `b` | |---|---| | c | d |"),
    ],
)
def test_what_changes_alone_waits(
    root: Path,
    file: str,
    old: str,
    new: str,
    label: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It is shown as it was and as it is, and approved with a yes."""
    text = (root / file).read_text()
    (root / file).write_text(text.replace(old, new, 1))
    if label not in CHINESE:
        (root / PO).write_text(f'{(root / PO).read_text()}\nmsgid "{label}"\nmsgstr "止。"\n')
    told = list(proofs.faults(root))
    what = "is new" if "ends" in label else "changed, or its Chinese, or the evidence"
    assert any(f"the statement {label!r} {what}" in each for each in told)
    assert review.main(["--approve", "--yes"], root) == 0
    shown = capsys.readouterr().out.splitlines()
    assert any(line.startswith("  - ") and old.strip() in line for line in shown)
    assert any(line.startswith("  + ") and new.strip() in line for line in shown)
    assert not list(proofs.faults(root))
    assert label in json.loads((root / proofs.PROOFS).read_text())["a"]


def test_a_table_without_evidence_waits_when_two_rows_change_places(tmp_path: Path) -> None:
    table = "| a | b |\n|---|---|\n| one | {} |\n| two | {} |\n"
    for name in ("docs/a.md", "src/lifespec/conformance/data/rules.toml"):
        (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / "src/lifespec/conformance/data/rules.toml").write_text("")
    (tmp_path / "docs/a.md").write_text(table.format("`three`", "four"))
    proofs.approve(tmp_path, proofs.waiting(tmp_path))
    assert len([*proofs.bare(tmp_path)]) == 1
    assert not [*proofs.faults(tmp_path)]

    (tmp_path / "docs/a.md").write_text(table.format("four", "`three`"))

    assert [fault.split("'")[2][:7] for fault in proofs.faults(tmp_path)] == [" is new", " is gon"]


def test_a_check_that_is_gone_waits(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = root / "docs" / "a.md"
    page.write_text(PAGE[: PAGE.index("- One")])
    assert [line.partition(": ")[2][:28] for line in proofs.faults(root)] == [
        "the statement 'One of `two`.",
        "the statement '| a | `b` | |",
        "the statement 'It `waits`. I",
        "the statement 'It `prints`:'",
        "the statement 'That was `one",
    ]
    assert review.main(["--approve", "--page", "b", "--yes"], root) == 1
    assert review.main(["--approve", "--page", "a", "--yes"], root) == 0
    assert "  - One of `two`.\n" in capsys.readouterr().out
    assert not list(proofs.faults(root))


def test_statements_without_a_check_are_listed(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert review.main(["--unproved"], root) == 0
    assert capsys.readouterr().out == "docs/a.md:24: A `literal` without.\n"


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
    (fault,) = proofs.faults(root)
    assert fault.startswith("docs/a.md:12: 'One of `two`.' has no entry in its catalog: run `make")
    assert review.main(["--approve", "--yes"], root) == 1


def test_a_definition_is_two_messages(tmp_path: Path) -> None:
    catalog = tmp_path / "a.po"
    catalog.write_text('msgid "It waits."\nmsgstr "等。"\n', encoding="utf-8")
    (proof,) = proofs.read(
        "a", "lifespec\n: It waits.\n\n  ```{check}\n  1\n  ```\n", str(catalog), {}
    )
    assert proof.chinese == "\n等。"


@pytest.mark.parametrize("mark", ["{.live-only}", "(a-label)="])
def test_the_marks_of_a_paragraph_are_no_words_of_it(tmp_path: Path, mark: str) -> None:
    catalog = tmp_path / "a.po"
    catalog.write_text('msgid "It waits."\nmsgstr "等。"\n', encoding="utf-8")
    (proof,) = proofs.read("a", f"{mark}\nIt waits.\n\n```{{check}}\n1\n```\n", str(catalog), {})
    assert (proof.chinese, proof.lost) == ("等。", ())


def test_a_label_ends_with_a_word() -> None:
    (proof,) = proofs.read("a", f"{'word ' * 20}\n\n```{{check}}\n1\n```\n", "", {})
    assert proof.label == f"{'word ' * 11}word …"


def test_a_statement_waits_if_a_rule_that_it_names_changes(root: Path) -> None:
    """A list of links states nothing, and waits for nobody."""
    page = "# B\n\nThe server waits for it ({rule}`wait`).\n\n- {rule}`wait`\n"
    (root / "docs" / "b.md").write_text(page)
    rule = (
        '[wait]\nrole = "server"\nobservable = "no"\nunseen = "a"\nstage = "startup"\n'
        'page = "b"\nsays = "The server must wait."\nhint = "Wait."\n'
        'source = [{ specs = "all", level = "must", section = "A" }]\n'
    )
    rules = root / "src/lifespec/conformance/data/rules.toml"
    rules.write_text(rule)
    (waits,) = [each for each in proofs.waiting(root) if each.page == "b"]
    assert waits.proof
    assert waits.proof.evidence == "wait: The server must wait.\n"
    assert not waits.proof.runs
    assert review.main(["--approve", "--page", "b", "--yes"], root) == 1  # the rule waits
    assert not [each for each in proofs.waiting(root) if each.page == "b"]
    rules.write_text(rule.replace("must wait", "must stop"))
    assert [each.label for each in proofs.waiting(root)] == [waits.label]


def test_a_statement_is_bound_to_what_it_draws_of_others(root: Path) -> None:
    """It is approved again if another version was measured."""
    (root / "docs" / "b.md").write_text("# B\n\nuvicorn {fact}`version  uvicorn` waits.\n")
    (proof,) = [each for each in proofs.proofs(root) if each.page == "b"]
    assert proof.evidence == f"version uvicorn: {facts()['version uvicorn'].words[0]}\n"


def test_a_statement_is_bound_to_the_help_of_its_commands(root: Path) -> None:
    """What looks like a command and is none adds nothing."""
    page = (
        "# B\n\nRun `make docs`, `lifespec check app shop:app`, and `make docs` or `make dogs`.\n"
    )
    (root / "docs" / "b.md").write_text(page)
    (proof,) = [each for each in proofs.proofs(root) if each.page == "b"]
    docs, check = proof.evidence.splitlines()
    assert docs.startswith("make docs: run every example")
    assert check.startswith("lifespec check app: Check an application")


def test_a_check_below_a_list_proves_each_item(root: Path) -> None:
    """One that is indented proves its own item alone."""
    page = "# B\n\n- One `a`.\n- Two `b`.\n\n  ```{check}\n  1\n  ```\n- Three.\n\n"
    (root / "docs" / "b.md").write_text(f"{page}```{{check}}\n2\n```\n")
    found = [(each.label, each.evidence) for each in proofs.proofs(root) if each.page == "b"]
    assert found == [
        ("One `a`.", "{check}\n2\n"),
        ("Two `b`.", "{check}\n1\n"),
        ("Two `b`. (2)", "{check}\n2\n"),
        ("Three.", "{check}\n2\n"),
    ]


API = """\
API
===

.. autofunction:: lifespec.lifespan_scope

.. autoclass:: lifespec.Lifespan

   .. check:: asyncio

      if 1:

          assert 2

   .. automethod:: startup

      .. check::

         assert 3
"""


def test_a_docstring_is_proved_by_the_check_below_its_entry(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "docs" / "api.rst").write_text(API)
    one, two = (each for each in proofs.proofs(root) if each.page == "api")
    assert (one.line, one.label) == (8, "lifespec.Lifespan")
    assert one.evidence == "{check} asyncio\nif 1:\n\n    assert 2\n"
    assert two.statement.startswith("Send startup and return self")
    assert (two.label, two.evidence) == ("lifespec.Lifespan.startup", "{check}\nassert 3\n")
    fault, _ = proofs.faults(root)
    assert fault.startswith("docs/api.rst:8: the statement 'lifespec.Lifespan' is new")
    assert review.main(["--unproved"], root) == 0
    assert "docs/api.rst:4: Return a new lifespan scope" in capsys.readouterr().out


def test_definitions_in_a_row_share_a_check_and_their_links() -> None:
    """So that what a specification says cannot change beside what lifespec does unseen."""
    listed = "Text\n: It.\n\nServers\n: They.\n\nlifespec\n: It `waits`.\n\n"
    text = f"# A\n\n{listed}```{{check}}\nassert 1\n```\n\nAlone\n: one.\n"
    found = list(proofs.read("a", text, "", {}))
    assert [(each.line, each.label) for each in found] == [
        (12, "Text : It."),
        (12, "Servers : They."),
        (12, "lifespec : It `waits`."),
    ]
    text = "# A\n\nText\n: It says so in a section.\n\nlifespec\n: {rule}`startup-sent`\n"
    (first, _) = proofs.read("a", text, "", rules())
    assert first.evidence.startswith("startup-sent: ")
