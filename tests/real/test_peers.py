"""uvicorn's and hypercorn's own tests of the lifespan, with the classes of docs/programs."""

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

__all__: list[str] = []

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "suites"
RECORD = json.loads((ROOT / "docs" / "matrix" / "peers.json").read_text("utf-8"))


@pytest.mark.timeout(900)
@pytest.mark.parametrize("row", RECORD["suites"], ids=[row["server"] for row in RECORD["suites"]])
def test_what_fails_was_recorded(row: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """If not, the class is wrong, or `make peers` renews the record."""
    if not (FOLDER / "complete").exists():
        pytest.skip("the source packages are not here: make build/suites/complete")
    monkeypatch.syspath_prepend(str(ROOT / "tests" / "measure"))
    peers = runpy.run_path(str(ROOT / "tests" / "measure" / "peers.py"))
    server = row["server"]
    assert peers["version"](FOLDER, server) == row["version"]
    lifespan = peers["SUITES"][server].lifespan
    run = peers["ran"](FOLDER, server, adapted=True, tests=lifespan)
    assert run.passed > 20
    expected = {test for test, where in row["failed"].items() if "adapted" in where}
    assert {*run.failed} == {test for test in expected if test.startswith(tuple(lifespan))}
