"""What `make frameworks` observes: an application of Starlette, and one of our own."""

import json
import runpy
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

MAIN = str(Path(__file__).with_name("frameworks.py"))
PLAIN = """
from resources import connect, disconnect

async def app(scope, receive, send):
    assert scope["type"] == "lifespan"
    assert (await receive())["type"] == "lifespan.startup"
    await connect("database")
    try:
        await connect("cache")
    except OSError as error:
        await send({"type": "lifespan.startup.failed", "message": str(error)})
        return
    scope["state"]["database"] = "open"
    await send({"type": "lifespan.startup.complete"})
    assert (await receive())["type"] == "lifespan.shutdown"
    await disconnect("cache")
    await disconnect("database")
    await send({"type": "lifespan.shutdown.complete"})
"""
STARTED = [["event", "lifespan.startup"], ["connect", "database"], ["connect", "cache"]]
SAID: dict[str, Any] = {
    "happened": {"usual": [["returned"]], "twice": []},
    "variants": {"mounted": {"program": "shop", "happened": []}},
}
END = [["tasks left", 0], ["loop closes"]]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Load the command; each test has its own."""
    monkeypatch.syspath_prepend(str(Path(MAIN).parent))
    return runpy.run_path(MAIN)


@pytest.fixture
def plain(command: dict[str, Any], tmp_path: Path) -> Path:
    """Write an application that is written for ASGI alone."""
    shutil.copy(command["PROGRAMS"] / "resources.py", tmp_path)
    program = tmp_path / "plain.py"
    program.write_text(PLAIN)
    return program


def test_a_plain_application_is_observed_in_the_order_of_time(
    command: dict[str, Any], plain: Path
) -> None:
    """What it is sent, does and sends, and how its call ends."""
    asked = ["usual", "startup raises", "startup is cancelled", "shutdown is cancelled"]
    asked += ["other scope", "twice", "no state"]
    found = command["observed"](sys.executable, plain, *asked)
    hooks = [["tasks left", 0], ["tasks of hooks", 1], ["context kept", True], ["loop closes"]]
    served = [["sent", "lifespan.startup.complete"], ["state", "database"]]
    stopping = [["event", "lifespan.shutdown"], ["disconnect", "cache"]]
    closed = [["disconnect", "database"], ["sent", "lifespan.shutdown.complete"], ["returned"]]
    refused = [["request raised", "AssertionError", ""]]
    assert found["usual"] == [*STARTED, *served, *refused, *stopping, *closed, *hooks]
    failed = ["sent", "lifespan.startup.failed", "no cache"]
    assert found["startup raises"] == [*STARTED, failed, ["returned"], *END]
    cancelled = [["cancelled"], ["stopped waiting"], ["ends cancelled"]]
    assert found["startup is cancelled"] == [*STARTED, *cancelled, *END]
    assert found["shutdown is cancelled"] == [
        *STARTED, served[0], *stopping, *cancelled, *hooks
    ]  # fmt: skip
    assert found["other scope"] == [["raised", "AssertionError", ""], *END]
    assert found["twice"].count(["returned"]) == 2
    assert ["raised", "KeyError", "'state'"] in found["no state"]


def test_an_application_that_ignores_its_end_is_told(command: dict[str, Any], plain: Path) -> None:
    """What does not answer, does not end when it is cancelled, and leaves a task."""
    plain.write_text("""
import asyncio, contextlib

tasks = []

async def app(scope, receive, send):
    tasks.append(asyncio.ensure_future(asyncio.sleep(60)))
    while len(tasks) < 9:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(5)
        tasks.append(None)
        await asyncio.sleep(0.5)
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(5)
        return
""")
    found = command["observed"](sys.executable, plain, "serving is cancelled")
    said = [["cancelled"], ["ignores cancellation"], ["tasks left", 2], ["loop closes"]]
    assert found == {"serving is cancelled": [["event", "lifespan.startup"], *said]}


def test_a_program_that_cannot_be_imported_is_named(command: dict[str, Any], plain: Path) -> None:
    plain.write_text("raise OSError('no framework')")
    with pytest.raises(RuntimeError, match=r"(?s)plain\.py: Traceback.*no framework"):
        command["observed"](sys.executable, plain, "usual")


def test_what_uvicorn_shows_is_told_without_times_and_frames(
    command: dict[str, Any], plain: Path
) -> None:
    """What was printed, the request, the signal, and the exit status."""
    shown = command["served"]
    shown.__globals__["PROGRAMS"] = plain.parent
    ways = shown.__globals__["UNDER"]
    well, failed = (shown(sys.executable, "plain", failing) for failing in ways.values())
    server, *began = well[: well.index(["request", 500])]
    assert server[0] == "server"
    assert began[2:5] == [*STARTED[1:], ["logs", "INFO:     Application startup complete."]]
    ended = [["disconnect", "cache"], ["disconnect", "database"]]
    assert [each for each in well if each[0] == "disconnect"] == ended
    assert well.index(["SIGTERM"]) < well.index(ended[0])
    assert failed[-2:] == [
        ["logs", "ERROR:    Application startup failed. Exiting."],
        ["exit status", 3],
    ]
    assert command["logged"]("2026-01-01 10:00:00,1 /a/b.py:1 0x1f\n  x\n") == [
        ["logs", "… …b.py:1 …"]
    ]


def test_the_record_is_written_after_each_subject(
    command: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that is named is observed anew, and the others keep their rows."""
    path = tmp_path / "frameworks.json"
    rows = [{"name": name, **SAID} for name in ("Django", "Quart")]
    before = {"date": "2026-01-01", "made_with": {"a": "b"}, "subjects": rows}
    path.write_text(command["keep"].__globals__["written"](before))
    assert json.loads(path.read_text()) == before
    new = {"name": "Quart, before_serving", "happened": {"usual": [["waits"]]}, "variants": {}}
    command["main"].__globals__["row"] = lambda _python, _name: new
    assert command["main"]([sys.executable, str(path), "Quart, before_serving"]) == 0
    found = json.loads(path.read_text())
    assert found["subjects"] == [new, rows[0]]
    assert found["made_with"] == {"a": "b"}
    assert capsys.readouterr().out == "Quart, before_serving: 0 s\n"
