"""The facts are those of code and data: what changes there changes in the role."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lifespec_docs.facts import known
from lifespec_docs.facts.known import Value, canonical, facts, nearest

READ = (
    *known.SOURCES,
    known.LOCK,
    *(f"docs/matrix/{name}.json" for name in known.RECORDS),
    *(f"src/lifespec/conformance/data/{name}.toml" for name in ("rules", "cases")),
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in READ:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(known.ROOT / name, tmp_path / name)
    return tmp_path


def test_what_was_measured_follows_its_record(root: Path) -> None:
    """The first record that names a package has precedence; its file is noted."""
    path = root / "docs/matrix/servers.json"
    record = json.loads(path.read_text("utf-8"))
    record["subjects"][0]["versions"] = {"Uvicorn": "9.9"}
    record["date"] = "2030-01-01"
    path.write_text(json.dumps(record))
    found = known.known(root)
    assert found["version uvicorn"] == Value(("9.9",), file="docs/matrix/servers.json")
    assert found["date servers"].words == ("2030-01-01",)
    assert found["version mutmut"].file == "docs/matrix/mutation.json"
    assert found["count servers"].words == (str(len(record["subjects"])),)


def test_names_are_compared_without_their_spaces() -> None:
    """What is quoted is one word."""
    assert canonical(' option  "check app"\n --timeout ') == 'option "check app" --timeout'
    assert nearest("default Lifespan.graze", facts())[0] == "default Lifespan.grace"
    assert not nearest("nothing like it", {"a": 1})


def test_the_command_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    """With what they are; those alone that have the words."""
    assert known.main(["default", "grace"]) == 0
    assert capsys.readouterr().out == "{fact}`default Lifespan.grace`  5 seconds\n"
    assert known.main(["no such fact"]) == 1
    command = [sys.executable, str(known.ROOT / "docs/facts.py"), "version", "uvicorn`"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 1
