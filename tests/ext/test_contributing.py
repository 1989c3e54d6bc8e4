"""What contributing describes is done, on a copy of the project, and what is forgotten is named."""

import runpy
from pathlib import Path

import pytest
from published import ROOT

MATRIX = ROOT / "tests" / "measure" / "run.py"


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1, text
    file.write_text(text.replace(old, new))


def test_a_server_is_added(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Its packages must be locked; what is not is named before anything is measured."""
    run = runpy.run_path(str(MATRIX))
    locked = run["LOCKED"].read_text()
    assert list(run["lacking"](run["RECORDS"]["servers"], locked)) == []
    copy = tmp_path / "tests" / "measure" / "run.py"
    copy.parent.mkdir(parents=True)
    copy.write_text(MATRIX.read_text())
    change(copy, "SERVERS = {", 'SERVERS = {\n    "spider": (["spider"], "spider {app}"),\n   ')
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".ci" / "matrix.txt").write_text(locked)
    line = copy.read_text().split("\n").index('    "spider": (["spider"], "spider {app}"),') + 1
    assert runpy.run_path(str(copy))["main"](["none", str(tmp_path / "servers.json")]) == 2
    assert capsys.readouterr().err == (
        f"tests/measure/run.py:{line}: .ci/matrix.txt does not have the package 'spider' of "
        "'spider': add it to the group matrix of pyproject.toml, then run `make lock`.\n"
    )
    (tmp_path / ".ci" / "matrix.txt").write_text(f"{locked}spider==1.0\n")
    added = runpy.run_path(str(copy))
    assert list(added["lacking"](added["RECORDS"]["servers"], added["LOCKED"].read_text())) == []
