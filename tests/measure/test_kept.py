"""How a record is renewed subject by subject."""

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ORDER = ["a", "b"]


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Load the module, whose records depend on this alone."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    found = importlib.import_module("kept")
    monkeypatch.setattr(found, "made_with", lambda name: {name: "1"})
    return found


def rows(*names: str) -> Iterator[dict[str, Any]]:
    """Observe subjects; None stands for an interruption."""
    for name in names:
        if not name:
            raise KeyboardInterrupt
        yield {"name": name, "happened": {"usual": [["again"]]}}


def test_an_interrupted_renewal_goes_on_where_it_was(kept: Any, tmp_path: Path) -> None:
    """The digests are those of now once each subject was observed with them."""
    path = tmp_path / "hosts.json"
    with pytest.raises(KeyboardInterrupt):
        kept.keep(path, "hosts", ORDER, rows("a", ""), whole=True)
    assert json.loads(path.read_text())["made_with"] == {}
    assert kept.left(path, "hosts", ORDER) == ["b"]
    kept.keep(path, "hosts", ORDER, rows("b"), whole=True)
    record = json.loads(path.read_text())
    assert record["made_with"] == {"hosts": "1"}
    assert "renewed" not in record
    assert kept.left(path, "hosts", ORDER) == ORDER


def test_what_was_observed_with_other_programs_is_observed_again(
    kept: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "hosts.json"
    with pytest.raises(KeyboardInterrupt):
        kept.keep(path, "hosts", ORDER, rows("a", ""), whole=True)
    monkeypatch.setattr(kept, "made_with", lambda _: {"hosts": "2"})
    assert kept.left(path, "hosts", ORDER) == ORDER
    kept.keep(path, "hosts", ORDER, rows("b"), whole=True)
    assert kept.left(path, "hosts", ORDER) == ["a"]


def test_one_subject_alone_renews_neither_digest_nor_date(kept: Any, tmp_path: Path) -> None:
    path = tmp_path / "hosts.json"
    kept.keep(path, "hosts", ORDER, rows("a", "b"), whole=True)
    before = json.loads(path.read_text()) | {"date": "2025-01-01", "python": "CPython 3.11.2"}
    path.write_text(json.dumps(before))
    kept.made_with = lambda _: {"hosts": "2"}
    kept.keep(path, "hosts", ORDER, rows("b"), whole=False)
    assert json.loads(path.read_text()) == before
