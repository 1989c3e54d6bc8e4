"""What `make frameworks` measures: an application of our own, and what follows from a run."""

import importlib
import shutil
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

PLAIN = """
from resources import connect, disconnect

async def app(scope, receive, send):
    assert scope["type"] == "lifespan"
    await receive()
    await connect("database")
    try:
        await connect("cache")
    except OSError as error:
        await send({"type": "lifespan.startup.failed", "message": str(error)})
        return
    await connect("queue")
    scope["state"]["database"] = "open"
    await send({"type": "lifespan.startup.complete"})
    await receive()
    for name in ("queue", "cache", "database"):
        await disconnect(name)
    await send({"type": "lifespan.shutdown.complete"})
"""
OPENED = [["connect", "database"], ["connect", "cache"], ["connect", "queue"]]
CLOSED = [["disconnect", "queue"], ["disconnect", "cache"], ["disconnect", "database"]]
STARTED = [["event", "lifespan.startup"], *OPENED, ["sent", "lifespan.startup.complete"]]
FAULT = "OSError: no cache"
END = [["tasks left", 0], ["loop closes"]]


@pytest.fixture
def frameworks(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Import the program that measures."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    return importlib.import_module("frameworks")


@pytest.fixture
def plain(frameworks: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write an application that is written for ASGI alone."""
    shutil.copy(frameworks.PROGRAMS / "resources.py", tmp_path)
    monkeypatch.setattr(frameworks, "PROGRAMS", tmp_path)
    program = tmp_path / "plain.py"
    program.write_text(PLAIN)
    return program


def test_an_application_is_observed_in_the_order_of_time(
    frameworks: ModuleType, plain: Path
) -> None:
    questions = "usual", "startup raises", "shutdown is cancelled", "startup twice", "no state"
    found = frameworks.observed(sys.executable, plain, *questions)
    hooks = [["tasks left", 0], ["tasks of hooks", 1], ["context kept", True], ["loop closes"]]
    served = [["state", "database"], ["request raised", "AssertionError", ""]]
    stopped = [["sent", "lifespan.shutdown.complete"], ["returned"]]
    event = ["event", "lifespan.shutdown"]
    assert found["usual"] == [*STARTED, *served, event, *CLOSED, *stopped, *hooks]
    failed = [["sent", "lifespan.startup.failed", "no cache"], ["returned"]]
    assert found["startup raises"] == [*STARTED[:3], *failed, *END]
    cancelled = [["cancelled"], ["stopped waiting"], ["ends cancelled"]]
    assert found["shutdown is cancelled"] == [*STARTED, event, *CLOSED[:2], *cancelled, *hooks]
    assert found["startup twice"] == [*STARTED, STARTED[0], *CLOSED, *stopped, *hooks]
    assert ["raised", "KeyError", "'state'"] in found["no state"]


def test_the_answers_follow_from_what_happened(frameworks: ModuleType, plain: Path) -> None:
    happened = frameworks.observed(sys.executable, plain)
    found = frameworks.answers(happened)
    assert found["failures"] == {
        "startup": ["failed, text"], "call": ["returns"], "closed": ["no"],
        "shutdown": ["raises", "OSError"], "others": ["only", "queue"], "left": ["number", "0"],
    }  # fmt: skip
    assert (found["hooks"]["order"], found["hooks"]["sets"]) == (["reversed"], ["yes"])
    assert found["unusual"]["twice"] == ["cleans up"]
    assert "mounted" not in found


@pytest.mark.parametrize(
    ("group", "column", "happened", "answer"),
    [
        ("failures", "closed", [CLOSED[2], CLOSED[1]], ["yes, all"]),
        ("failures", "closed", [["loop closes"], CLOSED[2]], ["loop"]),
        ("failures", "others", [CLOSED[0], CLOSED[2]], ["yes"]),
        ("failures", "startup", [["sent", "lifespan.startup.failed", ""]],
         ["failed, empty message"]),
        ("hooks", "order", CLOSED[::-1], ["as opened"]),
        ("unusual", "shutdown",
         [["event", "lifespan.shutdown"], ["sent", "lifespan.startup.complete"], OPENED[0]],
         ["starts"]),
        ("cancelled", "sends",
         [STARTED[-1], ["cancelled"], ["sent", "lifespan.shutdown.failed"]],
         ["failed, no message"]),
        ("uvicorn", "closed",
         [["logs", "ERROR:    Application startup failed. Exiting."], CLOSED[2]], ["loop"]),
    ],
)  # fmt: skip
def test_an_answer_follows_from_a_run(
    frameworks: ModuleType, group: str, column: str, happened: Any, answer: Any
) -> None:
    module = sys.modules[frameworks.answers.__module__]
    _question, says = module.GROUPS[group][column]
    assert says(module.Happened(happened)) == answer


def test_a_log_keeps_the_exception_of_a_group(frameworks: ModuleType) -> None:
    """Its traceback is indented, as frames are, so the log of Litestar seemed to have none."""
    with pytest.raises(ExceptionGroup) as caught:
        raise ExceptionGroup("hooks", [OSError("no cache")])
    text = "".join(traceback.format_exception(caught.value))
    found = frameworks.logged(f"ERROR:    {text}")
    assert found == [["logs", "ExceptionGroup: hooks (1 sub-exception)"], ["logs", FAULT]]


def test_what_uvicorn_shows_ends_with_the_exit_status(frameworks: ModuleType, plain: Path) -> None:
    well, failed = (
        frameworks.served(sys.executable, "plain", text) for text in frameworks.UNDER.values()
    )
    assert [each for each in well if each[0] in ("connect", "disconnect")] == [*OPENED, *CLOSED]
    assert well.index(["request", 500]) < well.index(["SIGTERM"]) < well.index(CLOSED[0])
    assert failed[-1] == ["exit status", 3]
