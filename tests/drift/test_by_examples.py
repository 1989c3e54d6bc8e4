"""The command behind `make drift`: an example notices a mutant, and what was tried is kept."""

import os
import sys
import time
from pathlib import Path
from typing import Any

import by_examples
import journal
import mutated
import pytest
from journal import Journal, Task, side_by_side

__all__: list[str] = []


def test_what_was_tried_is_kept(tmp_path: Path) -> None:
    """Also where the last line was not written to its end."""
    path = tmp_path / "a.jsonl"
    Journal(path).add("one", {"noticed": ["", ""]})
    with path.open("a") as file:
        file.write('{"key": "tw')
    again = Journal(path)
    assert list(again.rows) == ["one"]
    again.add("three", {"noticed": ["", ""]})
    assert list(Journal(path).rows) == ["one", "three"]


def two(tmp_path: Path) -> list[Path]:
    """Make two places."""
    return [journal.emptied(tmp_path / name) for name in "ab"]


def test_tasks_run_side_by_side(tmp_path: Path) -> None:
    """Each in a process of its own; one that dies is told as stopped."""
    tasks = [Task(str(n), {"n": n}, "") for n in range(5)]

    def work(task: Task, place: Path) -> dict[str, Any]:
        if task.told["n"] == 3:
            os._exit(1)
        return {"process": os.getpid(), "place": place.name}

    found = {task.key: row for task, row in side_by_side(tasks, two(tmp_path), work)}
    assert found.pop("3") == {"stopped": True}
    assert len({row["process"] for row in found.values()}) == 4
    assert {row["place"] for row in found.values()} == {"a", "b"}


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


def test_a_mutant_that_cannot_be_imported_is_noticed(tmp_path: Path) -> None:
    """By the first example that imports it."""
    found = tried("raise OSError('gone')\n", tmp_path, block(USE))
    assert found == ["docs/a.md:3", "The example raised OSError: gone"]


def test_a_mutant_that_hangs_is_noticed_where_a_limit_says_so(tmp_path: Path) -> None:
    """The virtual clock's, by its name; the end of patience is no guard."""
    text = mutated.source("application")
    use = USE + "import asyncio\nasyncio.run(asyncio.Event().wait())\n"
    assert "Deadlock" in tried(text, tmp_path, block(use, "double_to_single_callable"))[1]
    dead = "import os\nos._exit(7)\n"
    found = tried(dead, tmp_path, block(USE))
    assert found[0] == ""
    assert by_examples.missed({"noticed": found})


def test_mutants_that_are_no_other_program_are_left_out() -> None:
    """By the list of `make mutation`."""
    name, old, new = min(mutated.equivalent())
    row = {"file": name, "where": "", "line": 1, "old": old, "new": new, "source": "x"}
    assert mutated.tasks("", [row]) == []
    assert len(mutated.tasks("", [{**row, "new": "else"}])) == 1


def test_the_sample_is_always_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many of each file, or all of a small one."""
    monkeypatch.setattr(by_examples, "AT_MOST", 3)
    counts = {"server": 50, "application": 2, "validate": 9}
    tasks = [Task(f"{name}{n}", {"file": name}, "") for name in counts for n in range(counts[name])]
    found = by_examples.sample(tasks)
    assert [task.told["file"] for task in found].count("server") == 3
    assert len({task.key for task in found}) == len(found) == 8
    assert by_examples.sample(tasks) == found


def test_mutants_are_counted_by_file() -> None:
    """All there are, those that were tried, and those that an example noticed."""
    rows = [{"file": "server", "noticed": [where, "no"]} for where in ("a.md:1", "")]
    tasks = [Task(str(number), {"file": "server"}, "") for number in range(5)]
    found = by_examples.counted(tasks, rows, 1.0)["code"]
    assert found["server"] == {"mutants": 5, "tried": 2, "noticed": 1}
    assert found["validate"] == {"mutants": 0, "tried": 0, "noticed": 0}
    assert [by_examples.missed(row) for row in rows] == [False, True]
