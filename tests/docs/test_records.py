"""Records: what is kept when a row is measured, and that answers follow from what was observed."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from samples import ROOT

import framework_answers
import host_answers
import matrix
import middleware
import records
from environments import Needs, Python


def test_a_row_measured_alone_leaves_the_dates_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pythons = [Python("3.11", "python3.11"), Python("3.14", "python3.14")]
    monkeypatch.setattr(records, "pythons", lambda: pythons)
    monkeypatch.setattr(records, "in_foreground", lambda: None)
    monkeypatch.setattr(records, "environment", lambda _, python, **__: Path(python.version))

    def measure(day: str, *names: str) -> int:
        about = {"date": day, "system": "Linux"}
        monkeypatch.setattr(records, "now", lambda path: {**about, "python": f"CPython {path}.0"})
        return records.measure(
            [str(file), *names],
            dict.fromkeys("ab", Needs("group", [])),
            lambda _, name: {"name": name},
            on_newest=lambda name: name == "b",
        )

    file = tmp_path / "a.json"
    assert measure("Monday") == measure("Tuesday", "b") == 0
    record = json.loads(file.read_text("utf-8"))
    assert record["date"] == "Monday"
    assert [(each["name"], each["date"], each["python"]) for each in record["subjects"]] == [
        ("a", "Monday", "CPython 3.11.0"),
        ("b", "Tuesday", "CPython 3.11.0"),
        ("b", "Tuesday", "CPython 3.14.0"),
    ]
    pythons[1] = Python("3.15", "python3.15")  # the next one takes the place of the newest
    assert measure("Wednesday", "b") == 0
    record = json.loads(file.read_text("utf-8"))
    assert [records.minor(each) for each in record["subjects"]] == ["3.11", "3.11", "3.15"]


def test_branches_that_each_add_a_row_merge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def git(*words: str, status: int = 0) -> None:
        who = "-c", "user.name=a", "-c", "user.email=a@example.org"
        assert subprocess.run(["git", *who, *words], timeout=60).returncode == status

    def commit(branch: str, *rows: str) -> None:
        about = {"date": "2026-11-01", "python": "CPython 3.11.7", "system": "Linux"}
        names = [{"name": row, **about, "why": "x" * 90} for row in rows]
        record.write_text(records.written({**about, "subjects": names}))
        table.write_text("[rows]\n" + "".join(f'"{row}" = {{ kind = "a" }}\n' for row in rows))
        git("add", ".")
        git("commit", "-q", "-m", branch)

    monkeypatch.chdir(tmp_path)
    record, table = Path("hosts.json"), Path("docs/_measure/hosts.toml")
    table.parent.mkdir(parents=True)
    git("init", "-q", "-b", "main")
    Path(".gitattributes").write_text((ROOT / ".gitattributes").read_text())
    commit("main", "one")
    git("switch", "-q", "-c", "other")
    commit("other", "one", "two")
    git("switch", "-q", "main")
    commit("main", "one", "three")
    git("merge", "-q", "other", status=1)
    records.merged("hosts.json")
    git("add", ".")
    records.merged("hosts.json")
    assert "hosts.json: nothing to merge" in capsys.readouterr().out
    assert [row["name"] for row in json.loads(record.read_text())["subjects"]] == [
        *("one", "three", "two")
    ]
    assert {*tomllib.loads(table.read_text())["rows"]} == {"one", "two", "three"}


def record(name: str) -> Any:
    return json.loads((ROOT / "docs" / "matrix" / f"{name}.json").read_text("utf-8"))


def test_nothing_is_quicker_than_the_floor_and_lifespec_is_ahead_of_every_peer() -> None:
    bench = record("bench")
    for measured in bench, *bench["pythons"]:
        seconds = {row["name"]: row["seconds"] for row in measured["lifespan"]}
        floor, lifespec, *peers = seconds.values()
        assert [*seconds][:2] == ["floor", "lifespec"]
        assert floor < lifespec < min(peers), measured["python"]


def test_the_sums_of_a_record_are_those_of_its_parts() -> None:
    for name, row in record("mutants")["rows"].items():
        assert 0 < row["page"] + (row["test"] or 0) <= row["changes"], name
    exhaustive = record("exhaustive")
    for size, counts in exhaustive["server"].items():
        assert counts["runs"] == sum(exhaustive["runs by length"][: int(size)])


ANSWERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "servers": lambda row: matrix.answers(row["findings"]),
    "drivers": lambda row: matrix.answers(row["findings"]),
    "frameworks": lambda row: framework_answers.answers(row["happened"]),
    "hosts": lambda row: host_answers.answers(row["happened"]),
    "middleware": lambda row: middleware.answers(row["happened"], row["answers"]["check"]),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_the_answers_of_a_record_follow_from_what_it_observed(name: str) -> None:
    text = (ROOT / "docs" / "matrix" / f"{name}.json").read_text("utf-8")
    assert records.written(json.loads(text)) == text
    for row in json.loads(text)["subjects"]:
        found = ANSWERS[name](row)
        assert {key: row.get("answers", row)[key] for key in found} == found, row["name"]


USED = tomllib.loads((ROOT / "docs/_measure/used.toml").read_text("utf-8"))
LISTED = [
    pytest.param(package, about, id=f"{kind}-{package}")
    for kind, packages in USED.items()
    if isinstance(packages, dict)
    for package, about in packages.items()
]


def measured(record: str) -> set[str]:
    """Return the packages of a record, in lower case."""
    rows = json.loads((ROOT / f"docs/matrix/{record}.json").read_text("utf-8"))["subjects"]
    return {package.lower() for row in rows for package in row["versions"]}


@pytest.mark.parametrize(("package", "about"), LISTED)
def test_what_is_widely_used_is_measured_or_has_a_reason(
    package: str, about: dict[str, Any]
) -> None:
    assert ("record" in about) != ("why" in about)
    assert "record" not in about or package in measured(about["record"])


def test_what_is_measured_is_in_the_list_of_what_is_used() -> None:
    for record in "servers", "drivers", "hosts":
        listed = {package for kind in USED.values() if isinstance(kind, dict) for package in kind}
        assert measured(record) - listed <= {"trio", "uvloop", "aiohttp"}  # parts of others


MEASUREMENT = """
import sys
from pathlib import Path
from serving import Program, in_foreground

in_foreground()
command = "import subprocess, sys; subprocess.Popen(['sleep', '60'], start_new_session=True)"
with Program([sys.executable, "-c", f"{command}; print('started', flush=True); input()"], Path()):
    with Program(["sleep", "60"], Path()) as program:
        print("started", flush=True)
        program.process.wait()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_measurement_that_is_ended_leaves_no_server(number: signal.Signals) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", MEASUREMENT],
        env={**os.environ, "PYTHONPATH": str(ROOT / "docs/_measure")},
        stdout=subprocess.PIPE,
    )
    with process:
        assert process.stdout
        process.stdout.readline()
        sign = f"LIFESPEC_STARTED_BY={process.pid}".encode()
        process.send_signal(number)
        assert process.wait(20) == 128 + number
    left = []
    for place in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            left += [place] if sign in place.read_bytes().split(b"\0") else []
    assert not left
