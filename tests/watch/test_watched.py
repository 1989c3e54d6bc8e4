"""What a watched process waits for is judged from the lines of its agent."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from lifespec.watch.waiting import causes, cut_off, events
from lifespec.watch.watched import Process
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
        found.take({"what": "look", "loops": 1, **look})
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
STOP, SHUTDOWN = {"what": "stop"}, {"what": "shutdown"}
RAISED = {"what": "raised", "error": ERROR, "received": True}
SERVING, CLEANING = [CALLED, STARTED], [CALLED, STARTED, SHUTDOWN]
ENDED, IMPORTS = [*CLEANING, STOPPED], [{"what": "began", "server": ""}]
AT = f"`clean_up`, {HERE}:1"
LIBRARY = ["/x/site-packages/uvicorn/server.py", 9, "serve", False]
LIFE, BLOCKS = {"lifespans": [CALL]}, {"blocked": [[3, [OWN]]]}
ASKS, RUNS = {"lifespans": [CALL | {"asks": True}]}, {"lifespans": [CALL | {"runs": True}]}
OPEN = {"open": 1, "all": True, "requests": [["GET", "/", 3, [OWN]]]}
MANY = [["GET", "/", None, [LIBRARY]], ["GET", "/a", None, []]]
STAYS = {"threads": [], "children": [], "main": [LIBRARY], "loops": 0}
PUMP = {**STAYS, "threads": [["pump", [OWN]]], "children": ["x (1)"]}
IMPORT = {"importing": "shop", "for": 4, "main": [OWN]}
LASTED, SENDS = "startup has lasted 5 s; it", "has not sent lifespan.shutdown. Requests"
CLEANS, WHILE = "clean-up has lasted 5 s; it", "the application has ended while it was running:"
ANOTHER = "instead of answering it waits for another event"
KEPT = "Uvicorn has ended, and its process stays:"


@pytest.mark.parametrize(
    ("lines", "look", "sentence"),
    [
        ([CALLED], LIFE, f"{LASTED} waits in {AT}"),
        ([CALLED], LIFE | BLOCKS, f"{LASTED} blocks the event loop in {AT}"),
        ([CALLED], LIFE | {"blocked": [[3, [LIBRARY]]]}, LASTED),
        ([CALLED], ASKS, f"startup has lasted 5 s; {ANOTHER}"),
        ([CALLED], RUNS, None),
        ([CALLED], {"lifespans": [CALL | {"over": True}]}, None),
        (CLEANING, LIFE, f"{CLEANS} waits in {AT}"),
        (CLEANING, LIFE | BLOCKS, f"{CLEANS} blocks the event loop in {AT}"),
        (CLEANING, ASKS, f"clean-up has lasted 5 s; {ANOTHER} in {AT}"),
        (CLEANING, RUNS, None),
        ([*SERVING, STOP], BLOCKS, f"shutdown has lasted 5 s; it blocks the event loop in {AT}"),
        ([*SERVING, STOP], OPEN, f"shutdown has lasted 5 s; Uvicorn {SENDS}"),
        (
            [*SERVING, STOP | {"server": "other"}],
            {"open": 9, "all": False, "requests": MANY},
            f"shutdown has lasted 5 s; Other {SENDS}",
        ),
        ([*SERVING, STOP], {}, None),
        (ENDED, PUMP, f"{KEPT} the thread `pump` is no daemon, in {AT}"),
        (ENDED, {**PUMP, "threads": [["pump", []]]}, f"{KEPT} the thread `pump` is no daemon"),
        (ENDED, {**STAYS, "children": ["x (1)"]}, f"{KEPT} the child process x (1) still runs"),
        (ENDED, {**STAYS, "main": [OWN]}, f"{KEPT} it waits in {AT}"),
        (IMPORTS, IMPORT, f"startup has not begun: the import of `shop` has lasted 4 s, in {AT}"),
        (IMPORTS, IMPORT | {"main": [LIBRARY]}, None),
        ([CALLED, sent("startup.failed", error=ERROR)], {}, "startup failed: KeyError: 'pool', in"),
        ([CALLED, sent("startup.failed", text="T\nno pool")], {}, "startup failed: no pool"),
        ([CALLED, sent("startup.failed")], {}, "startup failed: it sent no message"),
        ([CALLED, RAISED], {}, "startup raised KeyError: 'pool', in"),
        ([CALLED, RAISED | {"received": False}], {}, "the application has no lifespan: it raised"),
        ([CALLED, RAISED | {"error": CANCELLED}], {}, f"Uvicorn has cancelled startup, in {AT}"),
        ([*SERVING, RAISED], {}, f"{WHILE} it raised KeyError: 'pool', in"),
        ([*SERVING, RAISED | {"error": CANCELLED}], {}, f"{WHILE} it raised CancelledError, in"),
        ([*CLEANING, RAISED], {}, "clean-up failed: KeyError: 'pool', in"),
        ([*CLEANING, sent("shutdown.failed", text="no disk")], {}, "clean-up failed: no disk"),
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
    found = process(tmp_path, CALLED, STARTED, look=OPEN)
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
        (CLEANING, ["cut off"]),
        (CLEANING[1:], []),  # a process that ran already
        ([*CLEANING, RAISED | {"error": CANCELLED}], ["cut off"]),
        ([*CLEANING, RAISED], []),
        ([*SERVING, RAISED | {"error": CANCELLED, "time": 0.5}, SHUTDOWN], []),
        (ENDED, []),
        ([*CLEANING, sent("shutdown.failed", error=CANCELLED)], ["cut off"]),
        ([*CLEANING, sent("shutdown.failed", error=ERROR)], []),
        ([*CLEANING, sent("shutdown.failed", error=CANCELLED | {"outside": False})], []),
        (SERVING, ["left out"]),
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
        assert [*found.events] == ["called"]
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
