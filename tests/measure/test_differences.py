"""What differs between two records is told, and what does not differ is not."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).with_name("differences.py")
RECORDS = Path(__file__).parents[2] / "docs" / "matrix"


def compared(before: Path, after: Path) -> tuple[int, list[str]]:
    """Return status and rows, or the complaint."""
    command = [sys.executable, str(PROGRAM), str(before), str(after)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout.splitlines()[2:] or done.stderr.splitlines()


@pytest.fixture
def changed(tmp_path: Path) -> Callable[..., Path]:
    """Return what copies the records and changes the first subject of one."""

    def change(name: str, how: Callable[[Any], None]) -> Path:
        copy = Path(shutil.copytree(RECORDS, tmp_path / "matrix"))
        record = json.loads((copy / name).read_text(encoding="utf-8"))
        how(record["subjects"][0])
        (copy / name).write_text(json.dumps(record), encoding="utf-8")
        return copy

    return change


def test_a_verdict_that_differs_is_a_row(changed: Callable[..., Path]) -> None:
    first: dict[str, str] = {}

    def fail(subject: Any) -> None:
        first.update(subject["findings"][0])
        subject["findings"][0] |= {"verdict": "fail", "actual": "a | b\nc"}
        subject["versions"] = {"uvicorn": "99"}

    status, rows = compared(RECORDS, changed("servers.json", fail))
    cells = first["rule"], first["case"], first["verdict"], "fail", "a \\| b c |"
    assert (status, rows) == (1, [" | ".join(["| uvicorn 99", *cells])])


def test_a_new_case_was_not_measured_before_and_one_that_is_gone_is_not_after(
    changed: Callable[..., Path],
) -> None:
    gone: list[Any] = []
    copy = changed("servers.json", lambda subject: gone.append(subject["findings"].pop(0)))
    verdict = gone[0]["verdict"]
    for pair, verdicts in (
        ((RECORDS, copy), [verdict, "not measured"]),
        ((copy, RECORDS), ["not measured", verdict]),
    ):
        status, (row,) = compared(*pair)
        assert (status, row.split(" | ")[3:5]) == (1, verdicts)


def test_what_a_server_logs_otherwise_is_told(changed: Callable[..., Path]) -> None:
    def change(subject: Any) -> None:
        next(iter(subject["runs"].values()))["SIGTERM"]["status"] = 99

    _, (row,) = compared(RECORDS, changed("loglines.json", change))
    assert "| SIGTERM status 99 |" in row


def test_what_happens_to_a_question_is_told_where_it_differs(changed: Callable[..., Path]) -> None:
    def change(subject: Any) -> None:
        subject["happened"]["usual"][0] = ["event", "lifespan.nothing"]
        subject["versions"] = {"starlette": "99"}

    row = "| starlette 99 |  | usual | event lifespan.startup | event lifespan.nothing |  |"
    assert compared(RECORDS, changed("frameworks.json", change)) == (1, [row])


def test_a_folder_without_records_is_told(tmp_path: Path) -> None:
    status, (told,) = compared(tmp_path, RECORDS)
    assert status == 2
    assert str(tmp_path) in told
