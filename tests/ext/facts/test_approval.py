"""The approval of rule boxes: what has changed is told until it is approved."""

import io
import json
import sys
from pathlib import Path

import pytest

from lifespec.conformance.data_files import DataError
from lifespec_docs import translate
from lifespec_docs.facts import approval, proofs, review

RULES = """\
[sent]
role = "server"
observable = "application"
stage = "startup"
page = "a"
says = "It must be sent."
hint = "Send it."
source = [
    { specs = "asgi 2.0", level = "must", section = "Startup" },
    { specs = "asgi 2.0", level = "must", text = "core", section = "Events" },
]
[kept]
role = "application"
observable = "no"
stage = "startup"
page = "b"
unseen = "Nobody sees it."
[kept.ours]
specs = "asgi 2.0"
says = "It is kept."
"""
CASES = '[quick]\nsays = "It is quick."\nexpect = { sent = [] }\n'
LIST = """\
[[text]]
file = "a.txt"
sections = [{ name = "Startup", begins = "Startup" }]
sentences = [
    { section = "Startup", ordinal = 1, hash = "aa", rule_ids = ["sent"] },
    { section = "Startup", ordinal = 2 },
]
"""
PAGE = """\
# A

```{rule} sent
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
CATALOG = """\
msgid ""
msgstr ""

msgid "It must be sent."
msgstr "必须发送。"

msgid "Send it."
msgstr "请发送。"
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Write a project with two rules, both approved."""
    files = {
        f"{approval.DATA}/rules.toml": RULES,
        f"{approval.DATA}/cases.toml": CASES,
        approval.SENTENCES: LIST,
        "docs/a.md": PAGE,
        f"{approval.DATA}/{approval.CHINESE}": CATALOG,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    approval.approve(tmp_path, ["sent", "kept"])
    proofs.approve(tmp_path, proofs.waiting(tmp_path))
    return tmp_path


def test_what_is_approved_is_no_fault(root: Path) -> None:
    """The file has a hash for each rule, in the order of the rules."""
    assert list(approval.faults(root)) == []
    assert list(json.loads((root / approval.APPROVED).read_text())) == ["sent", "kept"]


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        (f"{approval.DATA}/rules.toml", "be sent", "be sent first"),
        (f"{approval.DATA}/rules.toml", 'section = "Startup"', 'section = "Shutdown"'),
        (f"{approval.DATA}/rules.toml", "Send it.", "Never send it."),
        (f"{approval.DATA}/{approval.CHINESE}", "必须", "不得"),
        (f"{approval.DATA}/{approval.CHINESE}", "请", "不要"),
        (approval.SENTENCES, '"aa"', '"bb"'),
    ],
)
def test_a_change_is_a_fault(root: Path, name: str, old: str, new: str) -> None:
    """In either language, the row, the hint, the source; the line names the command that shows."""
    path = root / name
    path.write_text(path.read_text().replace(old, new))
    (fault,) = approval.faults(root)
    assert fault == (
        f"{approval.DATA}/rules.toml:1: the rule 'sent' is not approved as it stands here and in "
        "rules.zh.po: `make approve RULE=sent` shows it, and asks."
    )
    approval.approve(root, ["sent"])
    assert not list(approval.faults(root))


def test_rules_that_are_gone(root: Path) -> None:
    """They are forgotten."""
    path = root / approval.DATA / "rules.toml"
    path.write_text(RULES.replace("[kept", "[held"))
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
        "--- sentence",
        "    It must be sent.",
        "    必须发送。",
        "--- hint",
        "    Send it.",
        "    请发送。",
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
    assert lines[1:4] == ["--- asgi 2.0", "    It is kept.", "    (not translated)"]
    assert lines[-4:-1] == ["--- cases", "    Nobody sees it.", "--- example"]
    assert lines[-1] == "    none: link to {rule}`kept` in the paragraph above it"


def test_what_lacks_of_the_sources_is_said(root: Path, tmp_path: Path) -> None:
    """Nobody takes a rule for read against a sentence that was not shown."""
    place = "    a.txt, Startup, sentence 1:"
    assert list(approval.told(root, "sent"))[3:5] == [
        place.removesuffix(":"),
        "    (no specifications at hand: SOURCES=FOLDER shows these sentences)",
    ]
    told = " ".join(map(str.strip, approval.told(root, "sent", root)))
    assert f"{place.strip()} {root} has no such file" in told
    (tmp_path / "a.txt").write_text("Startup\n\n")
    assert list(approval.told(root, "sent", tmp_path))[3] == f"{place} there is no such sentence"


class Terminal(io.StringIO):
    """What somebody types."""

    def isatty(self) -> bool:
        """Say that there is somebody."""
        return True


def test_the_command_shows_and_asks(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a rule it asks for each that waits; a yes is written down, and no other answer."""
    (root / approval.APPROVED).write_text("{}")
    monkeypatch.setattr(sys, "stdin", Terminal("\nyes\n"))
    assert review.main(["--approve"], root) == 1
    shown = capsys.readouterr().out
    questions = [line for line in shown.splitlines() if line.startswith("---") and "?" in line]
    assert [line.partition("[y/N]")[0] for line in questions] == [
        f"--- Do all of these say the same, and is {rule!r} right? " for rule in ("sent", "kept")
    ]
    assert shown.index("It must be sent.") < shown.index("is 'sent' right?")
    assert shown.endswith("`make approve RULE=sent` shows it, and asks.\n")
    assert [*json.loads((root / approval.APPROVED).read_text())] == ["kept"]
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    assert review.main(["--approve", "sent"], root) == 0


def test_without_a_terminal_it_shows_and_approves_nothing(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else a script would approve what nobody has read."""
    (root / approval.APPROVED).write_text("{}")
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    assert review.main(["--approve", "sent"], root) == 2
    said = capsys.readouterr()
    assert said.err == "Nothing was approved, for want of a terminal: YES=1 approves all this.\n"
    assert "It must be sent." in said.out
    assert "?" not in said.out
    assert json.loads((root / approval.APPROVED).read_text()) == {}
    assert review.main(["--approve", "sent", "--yes"], root) == 0  # it is asked of this one alone
    assert review.main(["--approve"], root) == 2
    assert review.main(["--approve", "sent", "kept", "--yes"], root) == 0


def test_a_review_approves_nothing(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It names the command that does."""
    assert review.main(["--rule", "sent"], root) == 0
    assert "approve" not in capsys.readouterr().out
    (root / approval.APPROVED).write_text("{}")
    assert review.main(["--rule", "sent"], root) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "--- not approved as it stands: `make approve RULE=sent` asks"
    assert json.loads((root / approval.APPROVED).read_text()) == {}


def test_a_rule_that_there_is_not(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the names that are most like it."""
    assert review.main(["--approve", "snet"], root) == 2
    assert capsys.readouterr().err == "There is no rule 'snet': did you mean sent or kept?\n"
    assert review.main(["--rule", "xxxxxxxx"], root) == 2
    assert capsys.readouterr().err == "There is no rule 'xxxxxxxx'\n"


def test_data_of_the_package_that_is_wrong_is_told_by_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each fault on a line of its own, before anything is read or translated."""

    def wrong() -> None:
        raise DataError("rules.toml:1: one\nrules.toml:2: two")

    monkeypatch.setattr(approval.rulebook, "rules", wrong)
    assert translate.main([]) == 1
    told = capsys.readouterr().out.splitlines()
    assert told == [f"{approval.DATA}/rules.toml:{line}" for line in ("1: one", "2: two")]
