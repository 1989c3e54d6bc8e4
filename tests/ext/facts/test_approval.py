"""The approval of rule boxes: what has changed is told until it is approved."""

import json
import sys
from pathlib import Path

import pytest

from lifespec_docs.facts import approval, review

__all__: list[str] = []

RULES = """\
[sent]
role = "server"
says = "It must be sent."
source = [
    { specs = ["asgi 2.0"], level = "must", section = "Startup" },
    { specs = ["asgi 2.0"], level = "must", text = "core", section = "Events" },
]
[kept]
role = "application"
unseen = "Nobody sees it."
says = "It must be kept."
"""
CASES = '[quick]\nsays = "It is quick."\nexpect = { sent = [] }\n'
LIST = """\
[[text]]
file = "a.txt"
sections = [{ name = "Startup", begins = "Startup" }]
sentences = [
    { section = "Startup", ordinal = 1, rule_ids = ["sent"] },
    { section = "Startup", ordinal = 2 },
]
"""
PAGE = """\
# A

```{rule} sent
:in: asgi 2.0
It must
be sent.
```

```python
print(0)
```

The server sends it once ({rule}`sent`).

It prints a number.

```python
print(1)
```
```{output}
1
```
"""
OTHER = "# B\n\n```{rule} kept\nIt must be kept.\n\nReally.\n```\n"
CATALOG = 'msgid ""\nmsgstr ""\n\nmsgid "It must be sent."\nmsgstr "必须发送。"\n'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Write a project with two rules, both approved."""
    files = {
        f"{approval.DATA}/rules.toml": RULES,
        f"{approval.DATA}/cases.toml": CASES,
        approval.SENTENCES: LIST,
        "docs/a.md": PAGE,
        "docs/b.md": OTHER,
        "docs/c.md": "# C\n",
        f"{approval.CATALOGS}/a.po": CATALOG,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    approval.approve(tmp_path, ["sent", "kept"])
    return tmp_path


def test_what_is_approved_is_no_fault(root: Path) -> None:
    """The file has a hash for each rule, in the order of the rules."""
    assert list(approval.faults(root)) == []
    assert list(json.loads((root / approval.APPROVED).read_text())) == ["sent", "kept"]


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("docs/a.md", "be sent", "be sent first"),
        ("docs/a.md", ":in: asgi 2.0", ":in: asgi 1.0"),
        (f"{approval.CATALOGS}/a.po", "必须", "不得"),
        (f"{approval.DATA}/rules.toml", 'level = "must", section', 'level = "should", section'),
    ],
)
def test_a_change_is_a_fault(root: Path, name: str, old: str, new: str) -> None:
    """In either language, and in the row; the line names the command."""
    path = root / name
    path.write_text(path.read_text().replace(old, new))
    (fault,) = approval.faults(root)
    assert fault == (
        "docs/a.md:3: the rule 'sent' is not approved as it stands here, in rules.toml and in "
        "Chinese: read it against its source with `make approve RULE=sent`."
    )
    approval.approve(root, ["sent"])
    assert not list(approval.faults(root))


def test_the_example_may_change(root: Path) -> None:
    """It runs: what it shows is held by its output."""
    path = root / "docs/a.md"
    path.write_text(path.read_text().replace("print(1)", "print(2)"))
    assert not list(approval.faults(root))


def test_rules_that_are_gone_or_have_no_box(root: Path) -> None:
    """The first are forgotten, the second are told in rules.toml."""
    (root / "docs/a.md").unlink()
    (fault,) = approval.faults(root)
    assert fault.startswith(f"{approval.DATA}/rules.toml:1: the rule 'sent' is not approved")
    (root / approval.DATA / "rules.toml").write_text(RULES.replace("[kept]", "[held]"))
    approval.approve(root, [])
    assert list(json.loads((root / approval.APPROVED).read_text())) == ["sent"]
    assert not list(approval.faults(root / "docs"))


def test_a_rule_is_shown_with_its_source(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sections, sentences, both languages, cases and the example, in 80 columns."""
    (tmp_path / "a.txt").write_text("Startup\n\nIt is sent. It is so.\n")
    monkeypatch.setitem(sys.modules, "sentences", __import__("sentences"))
    lines = list(approval.told(root, "sent", tmp_path))
    assert lines[0] == "=== sent (server) ".ljust(80, "=")
    assert lines[1:] == [
        "asgi 2.0: must, “Startup”",
        "asgi 2.0: must, “Events”, text core",
        "    a.txt, Startup, sentence 1: It is sent.",
        "--- docs/a.md:3 :in: asgi 2.0",
        "    It must be sent.",
        "    必须发送。",
        "--- cases",
        "    quick: It is quick.",
        "--- example",
        "    print(1)",
        "    -----",
        "    1",
    ]


def test_a_rule_without_a_case(root: Path) -> None:
    """Its reason is shown; and what is not translated."""
    lines = list(approval.told(root, "kept"))
    assert lines[2:5] == ["    It must be kept.", "    Really.", "    "]
    assert lines[-3:] == ["--- cases", "    Nobody sees it.", "--- example"]
    assert list(approval.told(root, "sent", root))[3] == "    a.txt, Startup, sentence 1"


def test_the_command_approves(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It shows the rule, writes it down, and says what else waits."""
    (root / approval.APPROVED).write_text("{}")
    assert review.main(["--rule", "sent"], root) == 0
    assert json.loads((root / approval.APPROVED).read_text()) == {}
    assert review.main(["--approve", "sent"], root) == 1
    assert "make approve RULE=kept" in capsys.readouterr().out
    assert review.main(["--approve", "kept"], root) == 0
    assert review.main(["--approve", "snet"], root) == 2
    assert capsys.readouterr().err == "There is no rule 'snet': did you mean sent or kept?\n"
    assert review.main(["--rule", "xxxxxxxx"], root) == 2
    assert capsys.readouterr().err == "There is no rule 'xxxxxxxx'\n"
