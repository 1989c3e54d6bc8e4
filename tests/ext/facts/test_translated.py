"""A translation that changed while its English did not waits for somebody who has looked at it."""

import json
from pathlib import Path

import pytest

from lifespec_docs.facts import proofs, review, translated

__all__: list[str] = []

PAGE = "# A\n\nIt ends.\n\nIt `waits`.\n\n```{check}\nassert 1\n```\n"
PO = f"{proofs.CATALOGS}/a.po"
CATALOG = """\
msgid "It ends."
msgstr "结束。"

msgid "It `waits`."
msgstr "等。"

#. rule stop
msgid "It must."
msgstr "必须。"
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Write a project of one page."""
    for name, text in {"docs/a.md": PAGE, PO: CATALOG}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    proofs.approve(tmp_path, proofs.waiting(tmp_path))
    translated.renew(tmp_path)
    return tmp_path


def edit(root: Path, old: str, new: str) -> None:
    """Change a word of the catalog."""
    text = (root / PO).read_text("utf-8")
    (root / PO).write_text(text.replace(old, new), encoding="utf-8")


def test_what_nothing_else_approves_is_bound(root: Path) -> None:
    """A rule and a statement with a check have an approval of their own."""
    assert [each.english for each in translated.texts(root)] == ["It ends."]
    assert [*json.loads((root / translated.TRANSLATED).read_text())] == ["a"]
    assert not list(translated.faults(root))


def test_chinese_that_changed_alone_waits(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """To renew the catalogs does not approve it; to approve another page does not, either."""
    edit(root, "结束", "不结束")
    translated.renew(root)
    (fault,) = translated.faults(root)
    assert fault == f"{PO}:1: the Chinese changed alone: `make approve` shows it, and asks."
    assert review.main(["--approve", "--page", "b", "--yes"], root) == 1
    capsys.readouterr()
    assert review.main(["--approve", "--yes"], root) == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["  = It ends.", "  + 不结束。"]
    assert not list(translated.faults(root))


def test_the_old_chinese_is_shown(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is the one of the last commit."""
    edit(root, "结束", "不结束")
    monkeypatch.setattr(review, "_git", lambda *_: CATALOG)
    assert review.main(["--approve", "--yes"], root) == 0
    assert "  - 结束。\n  + 不结束。\n" in capsys.readouterr().out


def test_a_new_english_text_is_free(root: Path) -> None:
    """Its translation is added with the catalog; one that is not is a fault."""
    edit(root, "It ends.", "It stops.")
    edit(root, "结束", "停止")
    (fault,) = translated.faults(root)
    assert fault.startswith(f"{PO}: a translation is not in docs/translated.json yet: run `make")
    translated.renew(root)
    assert not list(translated.faults(root))


def test_without_the_file_nothing_is_bound(root: Path) -> None:
    (root / translated.TRANSLATED).unlink()
    assert not list(translated.faults(root))
