"""What a watched process waits for is judged from the lines of its agent."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from lifespec.diagnosis.waiting import causes, cut_off, events
from lifespec.diagnosis.watched import Process
from lifespec.words import Words

HERE = Path(__file__).name
OWN = [__file__, 1, "clean_up", True]
ERROR = {"type": "KeyError", "text": "'pool'", "lines": [OWN]}
CANCELLED = {"type": "CancelledError", "text": "", "lines": [OWN]}
CALL = {"over": False, "runs": False, "asks": False, "lines": [OWN]}


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parent)


def process(tmp_path: Path, *lines: dict[str, Any], look: dict[str, Any] | None = None) -> Process:
    """Return a process of uvicorn that has written these lines, at the second 1, and a look."""
    path = tmp_path / "7.seen"
    path.touch()
    found = Process(path)
    for each in lines:
        found.take({"time": 1.0, "server": "uvicorn", **each})
    if look is not None:
        found.take({"what": "look", **look})
    return found


def said(found: Process, stopped: float | None = None) -> list[str]:
    """Return what is said of it at the second 6; its agent has looked just now."""
    words = Words()
    found.told_to_end = stopped
    lasted = causes(found, lambda at: 0.0 if at > 6 else 6.0 - at, 3.0)
    return [words.say(each.fact) for each in lasted]


def sent(type_: str, **more: Any) -> dict[str, Any]:
    return {"what": "sent", "type": f"lifespan.{type_}", "text": "", "error": None, **more}


CALLED, STARTED, STOPPED = {"what": "called"}, sent("startup.complete"), sent("shutdown.complete")
SHUTDOWN = {"what": "shutdown"}
RAISED = {"what": "raised", "error": ERROR, "received": True}
AT = f"`clean_up`, {HERE}:1"
BLOCKED = [[3, [OWN]]]
LIBRARY = ["/x/site-packages/uvicorn/server.py", 9, "serve", False]


@pytest.mark.parametrize(
    ("lines", "look", "sentence"),
    [
        ([CALLED], {"lifespans": [CALL]}, f"startup has lasted 5 s; it waits in {AT}"),
        (
            [CALLED],
            {"lifespans": [CALL], "blocked": BLOCKED},
            f"startup has lasted 5 s; it blocks the event loop in {AT}",
        ),
        (
            [CALLED],
            {"lifespans": [CALL | {"asks": True}]},
            "startup has lasted 5 s; instead of answering it waits for another event",
        ),
        ([CALLED], {"lifespans": [CALL | {"runs": True}]}, None),
        ([CALLED], {"lifespans": [CALL | {"over": True}]}, None),
        (
            [CALLED],
            {"lifespans": [CALL], "blocked": [[3, [LIBRARY]]]},
            "startup has lasted 5 s; it",
        ),
        (
            [CALLED, STARTED, SHUTDOWN],
            {"lifespans": [CALL], "loops": 1},
            f"clean-up has lasted 5 s; it waits in {AT}",
        ),
        (
            [CALLED, STARTED, SHUTDOWN],
            {"lifespans": [CALL], "loops": 1, "blocked": BLOCKED},
            f"clean-up has lasted 5 s; it blocks the event loop in {AT}",
        ),
        (
            [CALLED, STARTED, SHUTDOWN],
            {"lifespans": [CALL | {"asks": True}], "loops": 1},
            f"clean-up has lasted 5 s; instead of answering it waits for another event in {AT}",
        ),
        ([CALLED, STARTED, SHUTDOWN], {"lifespans": [CALL | {"runs": True}], "loops": 1}, None),
        (
            [CALLED, STARTED, {"what": "stop"}],
            {"loops": 1, "blocked": BLOCKED},
            f"shutdown has lasted 5 s; it blocks the event loop in {AT}",
        ),
        (
            [CALLED, STARTED, {"what": "stop"}],
            {"loops": 1, "open": 1, "all": True, "requests": [["GET", "/", 3, [OWN]]]},
            "shutdown has lasted 5 s; Uvicorn has not sent lifespan.shutdown. Requests",
        ),
        (
            [CALLED, STARTED, {"what": "stop", "server": "other"}],
            {
                "loops": 1,
                "open": 9,
                "all": False,
                "requests": [["GET", "/", None, [LIBRARY]], ["GET", "/a", None, []]],
            },
            "shutdown has lasted 5 s; Other has not sent lifespan.shutdown. Requests",
        ),
        ([CALLED, STARTED, {"what": "stop"}], {"loops": 1}, None),
        (
            [CALLED, STARTED, SHUTDOWN, STOPPED],
            {"threads": [["pump", [OWN]]], "children": ["x (1)"], "main": [LIBRARY]},
            f"Uvicorn has ended, and its process stays: the thread `pump` is no daemon, in {AT}",
        ),
        (
            [CALLED, STARTED, SHUTDOWN, STOPPED],
            {"threads": [["pump", []]], "children": [], "main": []},
            "Uvicorn has ended, and its process stays: the thread `pump` is no daemon",
        ),
        (
            [CALLED, STARTED, SHUTDOWN, STOPPED],
            {"threads": [], "children": ["x (1)"], "main": [LIBRARY]},
            "Uvicorn has ended, and its process stays: the child process x (1) still runs",
        ),
        (
            [CALLED, STARTED, SHUTDOWN, STOPPED],
            {"threads": [], "children": [], "main": [OWN]},
            f"Uvicorn has ended, and its process stays: it waits in {AT}",
        ),
        (
            [{"what": "began", "server": ""}],
            {"importing": "shop", "for": 4, "main": [OWN]},
            f"startup has not begun: the import of `shop` has lasted 4 s, in {AT}",
        ),
        (
            [{"what": "began", "server": ""}],
            {"importing": "shop", "for": 4, "main": [LIBRARY]},
            None,
        ),
        ([CALLED, sent("startup.failed", error=ERROR)], {}, "startup failed: KeyError: 'pool', in"),
        ([CALLED, sent("startup.failed", text="T\nno pool")], {}, "startup failed: no pool"),
        ([CALLED, sent("startup.failed")], {}, "startup failed: it sent no message"),
        ([CALLED, RAISED], {}, "startup raised KeyError: 'pool', in"),
        ([CALLED, RAISED | {"received": False}], {}, "the application has no lifespan: it raised"),
        (
            [CALLED, RAISED | {"error": CANCELLED}],
            {},
            f"Uvicorn has cancelled startup, in {AT}",
        ),
        (
            [CALLED, STARTED, RAISED],
            {},
            "the application has ended while it was running: it raised KeyError: 'pool', in",
        ),
        (
            [CALLED, STARTED, RAISED | {"error": CANCELLED}],
            {},
            "the application has ended while it was running: it raised CancelledError, in",
        ),
        ([CALLED, STARTED, SHUTDOWN, RAISED], {}, "clean-up failed: KeyError: 'pool', in"),
        (
            [CALLED, STARTED, SHUTDOWN, sent("shutdown.failed", text="no disk")],
            {},
            "clean-up failed: no disk",
        ),
        ([{"what": "no-lifespan"}], {}, "Uvicorn calls the application with no lifespan scope"),
        (
            [{"what": "died", "task": "pump", "error": ERROR | {"text": "", "lines": []}}],
            {},
            "the task `pump` has failed: KeyError. Nothing awaits it.",
        ),
    ],
)
def test_a_cause(
    lines: list[dict[str, Any]], look: dict[str, Any], sentence: str | None, tmp_path: Path
) -> None:
    found = said(process(tmp_path, *lines, look=look))
    assert [each[: len(sentence or "")] for each in found] == ([sentence] if sentence else [])


def test_a_signal_counts_where_the_server_says_nothing(tmp_path: Path) -> None:
    look = {"loops": 1, "open": 1, "all": True, "requests": [["GET", "/", 3, [OWN]]]}
    found = process(tmp_path, CALLED, STARTED, look=look)
    assert said(found) == []
    assert len(said(found, stopped=1.0)) == 1
    assert said(found, stopped=5.0) == []


def test_an_agent_that_does_not_look_is_told(tmp_path: Path) -> None:
    found = process(tmp_path, CALLED, look={"lifespans": [CALL]})
    silent = [each.kind for each in causes(found, lambda _: 9.0, 3.0)]
    assert silent == ["silent"]
    other = Process(tmp_path / "1.seen")  # an agent that has become another user, and cannot write
    other.path.touch()
    if os.geteuid() == 0:
        os.chown(other.path, 1, 1)
    os.utime(other.path, (0, 0))
    assert time.time() - other.seen() < 1
    found.path.unlink()  # as what cleans folders may do
    assert time.time() - found.seen() < 1


@pytest.mark.parametrize(
    ("lines", "kinds"),
    [
        ([CALLED, STARTED, SHUTDOWN], ["cut off"]),
        ([STARTED, SHUTDOWN], []),  # a process that ran already
        ([CALLED, STARTED, SHUTDOWN, RAISED | {"error": CANCELLED}], ["cut off"]),
        ([CALLED, STARTED, SHUTDOWN, RAISED], []),
        ([CALLED, STARTED, RAISED | {"error": CANCELLED, "time": 0.5}, SHUTDOWN], []),
        ([CALLED, STARTED, SHUTDOWN, STOPPED], []),
        ([CALLED, STARTED, SHUTDOWN, sent("shutdown.failed", error=CANCELLED)], ["cut off"]),
        ([CALLED, STARTED, SHUTDOWN, sent("shutdown.failed", error=ERROR)], []),
        (
            [
                CALLED,
                STARTED,
                SHUTDOWN,
                sent("shutdown.failed", error=CANCELLED | {"outside": False}),
            ],
            [],
        ),
        ([CALLED, STARTED], ["left out"]),
        ([CALLED], []),
    ],
)
def test_a_process_that_has_ended(
    lines: list[dict[str, Any]], kinds: list[str], tmp_path: Path
) -> None:
    found = process(tmp_path, *lines, look={"lifespans": [CALL]})
    assert [each.kind for each in cut_off(found)] == kinds
    found.kept = []
    lost = [each.kind for each in cut_off(found)]
    assert lost == [
        each
        for each in kinds
        if each == "left out" or CANCELLED in [line.get("error") for line in lines]
    ]


def test_what_an_unknown_server_does_is_told_from_its_call(tmp_path: Path) -> None:
    found = process(tmp_path)
    found.path.touch()
    waits, gone = CALL | {"asks": True}, []
    for calls, stopped, sentence in (
        ([], None, ""),
        ([CALL], None, f"startup has lasted 5 s; it waits in {AT}"),
        ([waits], None, ""),
        ([CALL], None, ""),  # once it serves
        ([CALL], 1.0, f"clean-up has lasted 5 s; it waits in {AT}"),
        (gone, 1.0, ""),
    ):
        found.take({"what": "look", "time": 1.0, "loops": 1, "others": calls})
        assert said(found, stopped) == said(found, stopped) == [sentence][: len(sentence)]
    assert found.is_over
    assert [*cut_off(found)] == []


def test_lines_are_read_once_they_are_whole(tmp_path: Path) -> None:
    found = process(tmp_path)
    with found.path.open("a") as file:
        file.write('{"what": "called", "time": 1, "server": "uvicorn"}\n{"what": "se')
        file.flush()
        found.read()
        assert [each["what"] for each in found.events] == ["called"]
        file.write('nt", "time": 2, "type": "lifespan.startup.complete"}\n')
        file.flush()
    found.read()
    assert found.has_started
    assert not [*events(found)]


def test_what_has_not_lasted_is_not_said(tmp_path: Path) -> None:
    found = process(tmp_path, CALLED | {"time": 5.0}, look={"lifespans": [CALL]})
    assert said(found) == []


def test_a_cancellation_that_may_be_the_servers_is_told_at_the_end_alone(tmp_path: Path) -> None:
    raised = RAISED | {"error": CANCELLED, "server": "gunicorn"}
    found = process(tmp_path, STARTED, raised, look={})
    assert said(found) == []
