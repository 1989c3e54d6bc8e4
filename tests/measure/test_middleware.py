"""What `make middleware` measures: middleware that answers in the application's place."""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

SWALLOW = """
async def swallow(scope, receive, send):
    open_own()
    for phase in ("startup", "shutdown"):
        await receive()
        await send({"type": f"lifespan.{phase}.complete"})
    close_own()
"""


@pytest.fixture
def middleware(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import the program that measures."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    return importlib.import_module("middleware")


def test_what_cannot_be_measured_is_named_and_the_others_are_measured(
    middleware: Any, tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    subjects = {
        "swallow": {"packages": "starlette", "needs": SWALLOW, "code": "swallow"},
        "broken": {"packages": "starlette", "needs": "import no_such_module", "code": "app"},
    }
    monkeypatch.setattr(middleware, "SUBJECTS", subjects)
    path = tmp_path / "middleware.json"
    assert middleware.main([sys.executable, str(path)]) == 1
    assert "broken: Traceback" in capsys.readouterr().err
    (row,) = json.loads(path.read_text())["subjects"]
    assert row["answers"] == {
        "scope": ["not passed on"], "state": ["lost"], "events": ["lost"], "failures": ["lost"],
        "exceptions": ["lost"], "own": ["instead of it"], "check": ["fail"],
    }  # fmt: skip
    assert [each["rule"] for each in row["findings"] if each["verdict"] == "fail"] == [
        "startup-sent"
    ]
