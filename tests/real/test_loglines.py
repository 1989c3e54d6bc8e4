"""What uvicorn and hypercorn log is what the record says; if not, `make loglines` renews it."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

__all__: list[str] = []

ROOT = Path(__file__).parents[2]
TRIED = "answers", "raises", "fails", "fails-to-stop"


@pytest.fixture
def loglines(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Import the command."""
    monkeypatch.syspath_prepend(str(ROOT / "tests" / "measure"))
    spec = importlib.util.find_spec("loglines")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("server", ["uvicorn", "hypercorn"])
def test_a_server_logs_what_was_recorded(loglines: ModuleType, server: str) -> None:
    """The programs that end soon, with the servers of this environment."""
    record = json.loads((ROOT / "docs/matrix/loglines.json").read_text("utf-8"))
    (expected,) = [each for each in record["subjects"] if each["name"] == server]
    programs = {name: loglines.PROGRAMS[name] for name in TRIED}
    found = loglines.recorded(Path(sys.executable).parent, server, programs)
    assert {name: expected["runs"][name] for name in TRIED} == found["runs"]
    assert record["programs"] == loglines.PROGRAMS
