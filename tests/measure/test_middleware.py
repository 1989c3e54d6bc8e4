"""What `make middleware` observes: middlewares that are installed here, and some of our own."""

import json
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from lifespec_docs.records.middleware import COLUMNS

MAIN = str(Path(__file__).with_name("middleware.py"))
SWALLOW = """
async def swallow(scope, receive, send):
    open_own()
    for phase in ("startup", "shutdown"):
        await receive()
        await send({"type": f"lifespan.{phase}.complete"})
    close_own()
"""


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Load the command; each test has its own."""
    monkeypatch.syspath_prepend(str(Path(MAIN).parent))
    return runpy.run_path(MAIN)


def test_what_answers_in_the_applications_place_is_told(command: dict[str, Any]) -> None:
    subject = command["Subject"]("starlette", SWALLOW, "swallow")
    command["SUBJECTS"]["swallow"] = subject
    found = command["row"](sys.executable, "swallow")
    said = {title: says(found["passed"]) for title, says in COLUMNS.items()}
    assert said["Scope"] == ("Not passed on",)
    assert said["State"] == said["Events"] == said["Failures"] == said["Exceptions"] == ("Lost",)
    assert said["Own work"] == ("Instead of it",)
    assert [each["rule"] for each in found["findings"] if each["verdict"] == "fail"] == [
        "startup-sent"
    ]


def test_the_record_keeps_the_rows_of_those_that_were_not_asked_for(
    command: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And one that cannot be observed is told, and keeps its row."""
    path = tmp_path / "middleware.json"
    rows = [
        {"name": name, "seconds": 1, "passed": {"usual": [["returned"]]}, "findings": []}
        for name in ("Starlette GZipMiddleware", "ddtrace")
    ]
    before = {"made_with": {"a": "b"}, "subjects": rows}
    path.write_text(command["written"](before))
    assert json.loads(path.read_text()) == before
    broken = command["Subject"]("starlette", "import no_such_module", "app")
    command["SUBJECTS"]["ddtrace"] = broken
    assert command["main"]([sys.executable, str(path), "ddtrace"]) == 1
    found = json.loads(path.read_text())
    assert (found["subjects"], found["made_with"]) == (rows, {"a": "b"})
    assert "ddtrace: Traceback" in capsys.readouterr().err
    new = {**rows[0], "seconds": 2}
    command["main"].__globals__["row"] = lambda _python, _name: new
    assert command["main"]([sys.executable, str(path), rows[0]["name"]]) == 0
    assert json.loads(path.read_text())["subjects"] == [new, rows[1]]
    assert capsys.readouterr().out == "Starlette GZipMiddleware: 2 s\n"
