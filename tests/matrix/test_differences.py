"""What differs between two records is told, and what does not differ is not."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("differences.py")
RECORDS = Path(__file__).parents[2] / "docs" / "matrix"


def compared(before: Path, after: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(PROGRAM), str(before), str(after)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(RECORDS, tmp_path / "matrix"))


def test_a_verdict_that_differs_is_a_row(copy: Path) -> None:
    file = copy / "servers.json"
    record = json.loads(file.read_text(encoding="utf-8"))
    subject = record["subjects"][0]
    finding = subject["findings"][0]
    before = finding["verdict"]
    finding["verdict"], finding["actual"] = "fail", "a | b\nc"
    subject["versions"] = {"uvicorn": "99"}
    file.write_text(json.dumps(record), encoding="utf-8")
    found = compared(RECORDS, copy)
    row = f"| uvicorn 99 | {finding['rule']} | {finding['case']} | {before} | fail | a \\| b c |"
    assert found.returncode == 1
    assert found.stdout.splitlines()[2:] == [row]


@pytest.mark.parametrize("turned", [False, True])
def test_a_new_case_was_not_measured_before_and_one_that_is_gone_is_not_after(
    copy: Path, *, turned: bool
) -> None:
    file = copy / "servers.json"
    record = json.loads(file.read_text(encoding="utf-8"))
    gone = record["subjects"][0]["findings"].pop(0)
    file.write_text(json.dumps(record), encoding="utf-8")
    found = compared(RECORDS, copy) if turned else compared(copy, RECORDS)
    verdicts = [gone["verdict"], "not measured"] if turned else ["not measured", gone["verdict"]]
    assert found.returncode == 1
    assert found.stdout.splitlines()[2].split(" | ")[3:5] == verdicts


def test_what_a_server_logs_otherwise_is_told(copy: Path) -> None:
    file = copy / "loglines.json"
    record = json.loads(file.read_text(encoding="utf-8"))
    subject = record["subjects"][0]
    program, runs = next(iter(subject["runs"].items()))
    runs["SIGTERM"]["status"] = 99
    file.write_text(json.dumps(record), encoding="utf-8")
    (row,) = compared(RECORDS, copy).stdout.splitlines()[2:]
    assert f"| {program} | SIGTERM status " in row
    assert "| SIGTERM status 99 |" in row


def test_what_happens_to_a_question_is_told_where_it_differs(copy: Path) -> None:
    file = copy / "frameworks.json"
    record = json.loads(file.read_text(encoding="utf-8"))
    subject = record["subjects"][0]
    subject["happened"]["usual"][0] = ["event", "lifespan.nothing"]
    subject["versions"] = {"starlette": "99"}
    file.write_text(json.dumps(record), encoding="utf-8")
    row = "| starlette 99 |  | usual | event lifespan.startup | event lifespan.nothing |  |"
    assert compared(RECORDS, copy).stdout.splitlines()[2:] == [row]


def test_a_folder_without_records_is_told(tmp_path: Path) -> None:
    found = compared(tmp_path, RECORDS)
    assert (found.returncode, found.stdout) == (2, "")
    assert str(tmp_path) in found.stderr
