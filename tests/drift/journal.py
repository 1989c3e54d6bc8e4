"""What was tried, a line of JSON each: a run that was stopped goes on where it was."""

import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["FOLDER", "ROOT", "Journal", "Row", "Task", "emptied", "side_by_side"]

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "drift"
LIMIT = 300.0  # seconds of one task, on the wall's clock
POLL = 0.02
Row = dict[str, Any]


class Task(NamedTuple):
    """Something to try: a key that no other has, what is told of it, and the changed text."""

    key: str
    told: Row
    source: str


class Journal:
    """The results of one kind, by the key of their task; what is added is written at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[str, Row] = {}
        text = path.read_text("utf-8") if path.exists() else ""
        for line in text.splitlines():
            with suppress(ValueError):  # it was stopped while it wrote
                row = json.loads(line)
                self.rows[row["key"]] = row
        self._torn = bool(text) and not text.endswith("\n")

    def add(self, key: str, row: Row) -> None:
        """Keep a result."""
        self.rows[key] = {**row, "key": key}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            line = json.dumps(self.rows[key], ensure_ascii=False)
            file.write("\n" * self._torn + line + "\n")
        self._torn = False

    @property
    def seconds(self) -> float:
        """How much of a processor's time all of it took, over all runs."""
        return float(self.rows.get("seconds", {}).get("seconds", 0))


def side_by_side(
    tasks: Iterable[Task], places: list[Path], work: Callable[[Task, Path], Row]
) -> Iterator[tuple[Task, Row]]:
    """Try the tasks, each in a process of its own and one in each place at a time."""
    waiting, free = iter(tasks), list(places)
    running: dict[int, tuple[Task, Path, float]] = {}
    try:
        while True:
            while free and (task := next(waiting, None)):
                place = free.pop()
                running[_begun(task, place, work)] = task, place, time.monotonic()
            if not running:
                return
            process = _ended(running)
            task, place, _ = running.pop(process)
            free.append(place)
            yield task, _answer(place)
    finally:
        for process in running:
            _kill(process)
            os.waitpid(process, 0)


def _begun(task: Task, place: Path, work: Callable[[Task, Path], Row]) -> int:
    answer = place / "answer.json"
    answer.unlink(missing_ok=True)
    if process := os.fork():
        return process
    try:
        os.setsid()
        found = work(task, place)
        answer.with_suffix(".new").write_text(json.dumps(found), "utf-8")
        answer.with_suffix(".new").replace(answer)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stderr.flush()
        os._exit(0)


def _ended(running: dict[int, tuple[Task, Path, float]]) -> int:
    """Wait for one of them; end one that takes too long."""
    while True:
        for process, (_, _, began) in running.items():
            if time.monotonic() - began > LIMIT:
                _kill(process)
            if os.waitpid(process, os.WNOHANG)[0]:
                return process
        time.sleep(POLL)


def _kill(process: int) -> None:
    """End a process and all that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)


def _answer(place: Path) -> Row:
    answer = place / "answer.json"
    if not answer.exists():
        return {"stopped": True}
    found: Row = json.loads(answer.read_text("utf-8"))
    return found


def emptied(folder: Path) -> Path:
    """Make a folder anew."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
