"""The command behind `make drift`: an example notices a mutant, and what was tried is kept."""

import sys
import time
from pathlib import Path
from typing import Any

import by_examples
import journal
import mutated
import pytest
from journal import Task, side_by_side

__all__: list[str] = []


def two(tmp_path: Path) -> list[Path]:
    """Make two places."""
    return [journal.emptied(tmp_path / name) for name in "ab"]


def test_a_task_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told as stopped: nothing has noticed it."""
    monkeypatch.setattr(journal, "LIMIT", 0.2)

    def work(_task: Task, _place: Path) -> dict[str, Any]:
        time.sleep(60)
        return {}

    [(_, row)] = side_by_side([Task("1", {}, "")], two(tmp_path), work)
    assert row == {"stopped": True}
    assert by_examples.missed(row)


def block(source: str, expected: str | None = None, kind: str = "virtual") -> dict[str, Any]:
    """Return an example of a page."""
    found = {"page": "docs/a.md", "line": 3, "language": "python", "source": source}
    more = {"expected": expected, "kind": kind, "needs": (), "requests": 0, "beside": ()}
    return found | more


def tried(source: str, tmp_path: Path, *blocks: dict[str, Any]) -> list[str]:
    """Try a mutant in a process of its own, as the command does."""
    pages = {"a": list(blocks)}
    task = Task("1", {"file": "application"}, source)
    place = mutated.place(tmp_path, 0)

    def work(task: Task, place: Path) -> dict[str, Any]:
        for name in [
            name for name in sys.modules if name.partition(".")[0] in ("lifespec", "lifespec_docs")
        ]:
            del sys.modules[name]
        return mutated.tried(task, place, pages)

    [(_, row)] = side_by_side([task], [place], work)
    file = place / "lifespec" / "application.py"
    assert file.read_text() == mutated.source("application")
    return list(row["noticed"])


USE = "from lifespec import double_to_single_callable\nprint(double_to_single_callable.__name__)\n"


def test_a_mutant_is_noticed_by_the_example_that_fails(tmp_path: Path) -> None:
    """Without a change nothing fails."""
    text = mutated.source("application")
    example = block(USE, "double_to_single_callable")
    assert tried(text, tmp_path, example) == ["", ""]
    found = tried(f"{text}\ndouble_to_single_callable.__name__ = 'other'\n", tmp_path, example)
    assert found[0] == "docs/a.md:3"
    assert "printed 'other'" in found[1]


def test_a_mutant_is_noticed_by_a_check(tmp_path: Path) -> None:
    """It runs where it stands, with the names of the programs above it."""
    text = mutated.source("application")
    check = block("assert name == 'with_lifespan'\n", kind="check") | {"run_by": "asyncio"}
    define = block("from lifespec import with_lifespan\nname = with_lifespan.__name__\n")
    assert tried(text, tmp_path, define, check) == ["", ""]
    found = tried(f"{text}\nwith_lifespan.__name__ = 'other'\n", tmp_path, define, check)
    assert "What stands above is not so" in found[1]


def test_what_fails_without_a_change_is_said_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would have noticed every mutant."""
    monkeypatch.setattr(by_examples, "FOLDER", tmp_path)
    assert by_examples.unchanged({"a": [block(USE, "double_to_single_callable")]}) == ""
    said = by_examples.unchanged({"a": [block("open('/nowhere')")]})
    assert said.startswith("docs/a.md:3: The example raised FileNotFoundError")


def test_a_mutant_that_hangs_is_noticed_where_a_limit_says_so(tmp_path: Path) -> None:
    """The virtual clock's, by its name; the end of patience is no guard."""
    text = mutated.source("application")
    use = USE + "import asyncio\nasyncio.run(asyncio.Event().wait())\n"
    assert "Deadlock" in tried(text, tmp_path, block(use, "double_to_single_callable"))[1]
    dead = "import os\nos._exit(7)\n"
    found = tried(dead, tmp_path, block(USE))
    assert found[0] == ""
    assert by_examples.missed({"noticed": found})


def test_a_check_that_nothing_makes_fail_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that runs a command says nothing about the files to copy, and is not asked."""
    monkeypatch.setattr(by_examples, "FOLDER", tmp_path)
    monkeypatch.setattr(mutated, "BROKEN", {"application": mutated.BROKEN["application"]})
    text = "assert with_lifespan.__name__ == 'with_lifespan'\n"
    found = {text: 3, "assert True\n": 9, "assert command('x')\n": 12}
    pages = {
        "a": [
            block(source, kind="check") | {"line": line, "run_by": "asyncio"}
            for source, line in found.items()
        ]
    }
    ours = "lifespec", "lifespec_docs"  # which other tests have imported as they are
    for name in [name for name in sys.modules if name.partition(".")[0] in ours]:
        monkeypatch.delitem(sys.modules, name)
    assert by_examples.idle(pages) == {"docs/a.md:9": "assert True\n"}
