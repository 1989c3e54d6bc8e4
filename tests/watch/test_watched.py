"""What a watched process waits for is judged from the lines of its agent."""

import errno
import os
import time
from pathlib import Path
from typing import Any

import pytest

from lifespec.diagnosis.fact import Fact
from lifespec.watch import seen, waiting
from lifespec.watch.seen import At, Blocked, CallState, Look, Request, Thread, WrittenError
from lifespec.watch.waiting import causes, events
from lifespec.watch.watched import WatchedProcess
from lifespec.words import Words

HERE = Path(__file__).name
AFTER = 3.0  # seconds from which on something is a cause
OWN = At(__file__, 1, "clean_up", own=True)
LIBRARY = At("/x/site-packages/uvicorn/server.py", 9, "serve", own=False)
LINES = [At(__file__, 2, "lifespan", own=True), OWN]  # the innermost counts
ERROR = WrittenError("KeyError", "'pool'", LINES)
CLASSES = (["asyncio.exceptions.CancelledError"], "", None)
KEY_ERROR = (["builtins.KeyError"], "", None)
CANCELLED = WrittenError("CancelledError", "", LINES, outside=True, chain=[CLASSES, KEY_ERROR])
UNANSWERED = (["builtins.OSError"], "", errno.ECONNREFUSED)
REFUSED = WrittenError("ConnectionRefusedError", "", [OWN], chain=[UNANSWERED])
CALL = CallState(over=False, runs=False, asks=False, lines=LINES)
ASKS = CALL._replace(asks=True, lines=[LIBRARY])
NOTHING = Look(  # to be told: its loop runs
    time=1.0,
    loops=1,
    blocked=[],
    known=[],
    others=[],
    handlers={},
    requests=[],
    open=0,
    all=True,
    importing="",
    main=[],
    still=0,
    threads=None,
    children=[],
)


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parent)


def look(**values: Any) -> Look:
    return NOTHING._replace(**values)


def process(tmp_path: Path, *lines: Any) -> WatchedProcess:
    """Return a process that has written these lines."""
    path = tmp_path / "7.seen"
    path.touch()
    watched = WatchedProcess(path)
    for line in lines:
        watched.take(seen.parsed(seen.written(line)))
    return watched


def lasted(moment: float) -> float:
    """Return how long it is since a moment, at the second 6."""
    return max(6.0 - moment, 0.0)  # files have the time of the machine, as if written just now


def sentences(watched: WatchedProcess) -> list[str]:
    """Return what is said of a process."""
    words = Words()
    return [words.say(cause.fact) for cause in causes(watched, lasted, AFTER)]


def sent(type_: str, text: str = "", error: WrittenError | None = None) -> seen.Sent:
    return seen.Sent(1.0, f"lifespan.{type_}", text, error)


# what an agent writes, each line at the second 1
CALLED, RECEIVED = seen.Called(1.0, "uvicorn"), seen.Received(1.0)
STOP, SHUTDOWN = seen.Stop(1.0, "uvicorn"), seen.Shutdown(1.0, "uvicorn")
RAISED, CUT = seen.Raised(1.0, ERROR), seen.Raised(1.0, CANCELLED)
EXIT = (["builtins.SystemExit"], "0", None)
ENDS_LOOP = seen.Raised(1.0, CANCELLED._replace(chain=[CLASSES, EXIT]))
STARTING = [CALLED, RECEIVED]
SERVING = [*STARTING, sent("startup.complete")]
STOPPING, CLEANING = [*SERVING, STOP], [*SERVING, SHUTDOWN]
HOSTED, STOPS = seen.Hosted(1.0, "gunicorn"), [*SERVING, seen.Stop(1.0, "gunicorn")]
UNBOUND = SHUTDOWN._replace(error=WrittenError("OSError", "port is taken", []))
ENDED = [*CLEANING, sent("shutdown.complete")]
# what a look shows
LIFE, IDLE = look(known=[CALL]), look(known=[ASKS])
RUNS, OVER = look(known=[CALL._replace(runs=True)]), look(known=[CALL._replace(over=True)])
BLOCKS = look(known=[CALL], blocked=[Blocked(3, LINES)])
JOINS = Blocked(3, LINES, "blocked-thread")
GET, MAIL = Request("GET", "/", 3, LINES), Request("GET", "/mail", 3, LINES, background=True)
MANY = [Request("GET", "/", None, [LIBRARY]), Request("GET", "/a", None, [])]
STAYS = look(threads=[], main=[LIBRARY], loops=0)
PUMP = STAYS._replace(threads=[Thread("pump", LINES)], children=["x (1)"])
STILL = look(loops=0, main=LINES, still=4)
IMPORT = STILL._replace(importing="shop")
# parts of sentences
AT = f"`clean_up`, {HERE}:1"
LASTED, SENDS = "startup has lasted 5 s; it", "has not sent lifespan.shutdown."
CLEANS, WHILE = "clean-up has lasted 5 s; it", "while it was running, and no shutdown follows:"
ANOTHER = "instead of answering it waits for another event"
KEPT = "Uvicorn has ended, and its process stays:"
THREAD = f"{KEPT} a thread that is not a daemon"


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ([*STARTING, LIFE], f"{LASTED} waits in {AT}"),
        ([CALLED, LIFE], f"{LASTED} waits in {AT}"),
        ([*STARTING, BLOCKS], f"{LASTED} blocks the event loop in {AT}"),
        (
            [*STARTING, look(known=[CALL], blocked=[Blocked(3, [LIBRARY])])],
            f"{LASTED} waits in {AT}",
        ),
        ([*STARTING, IDLE], f"startup has lasted 5 s; {ANOTHER}"),
        ([*STARTING, RUNS], None),
        ([*STARTING, OVER], None),
        (
            [*STARTING, STILL],
            f"startup has lasted 5 s; the main thread does nothing else: it is in {AT}",
        ),
        (
            [*STARTING, look(known=[CALL._replace(awaits="due")])],
            f"but the event loop sleeps, and does not go on in {AT}",
        ),
        ([*CLEANING, LIFE], f"{CLEANS} waits in {AT}"),
        ([*CLEANING, BLOCKS], f"{CLEANS} blocks the event loop in {AT}"),
        ([*CLEANING, IDLE], f"clean-up has lasted 5 s; {ANOTHER} in"),
        ([*CLEANING, RUNS], None),
        ([*STOPPING, BLOCKS], f"shutdown has lasted 5 s; it blocks the event loop in {AT}"),
        ([*STOPPING, look(requests=[GET], open=1)], f"{SENDS} Requests that are open: 1"),
        ([*STOPPING, look(requests=[MAIL], open=1)], f"{SENDS} Background tasks of responses"),
        ([*STOPPING, look(requests=[GET, MAIL], open=2)], f"{SENDS} Requests and background tasks"),
        ([*STOPPING, look(requests=MANY, open=9, all=False)], "are open: 9 or more"),
        ([*STOPPING, NOTHING], None),
        ([*ENDED, PUMP], f"{THREAD}: pump, in {AT}"),
        ([*ENDED, PUMP._replace(threads=[Thread("pump", [])])], f"{THREAD}: pump."),
        (
            [*ENDED, STAYS._replace(children=["x (1)"])],
            f"{KEPT} the child process x (1).",
        ),
        ([*ENDED, STAYS._replace(main=[OWN])], f"{KEPT} it waits in {AT}"),
        ([*SERVING, STAYS._replace(main=[OWN], still=4)], f"{KEPT} it waits in {AT}"),
        ([*ENDED, NOTHING, seen.Ending(1.0)], "the interpreter of Uvicorn has been ending for 5 s"),
        ([NOTHING, seen.Ending(1.0)], None),  # of a process that served nothing
        ([IMPORT], f"startup has not begun: the import of `shop` has lasted 4 s, in {AT}"),
        ([IMPORT._replace(main=[OWN, LIBRARY])], None),
        ([IMPORT._replace(main=[LIBRARY], unserved=True)], "the import of `shop` has lasted 4 s"),
        (
            [STILL._replace(unserved=True)],
            f"no server has begun to serve: the command has been at the same line for 4 s, in {AT}",
        ),
        ([STILL], None),  # it may be no server
        ([STILL._replace(unserved=True, still=2)], None),
        ([*STARTING, sent("startup.failed", error=ERROR)], "startup failed: KeyError: 'pool', in"),
        ([CALLED, sent("startup.failed", "no disk")], "startup failed: no disk"),
        ([*STARTING, sent("startup.failed", "T\nno pool")], "startup failed: no pool"),
        ([*STARTING, sent("startup.failed")], "startup failed: it sent no message"),
        ([*STARTING, RAISED], "the application raised KeyError: 'pool', in"),
        ([CALLED, RAISED], "without lifespan: the application raised"),
        ([*STARTING, CUT], f"Uvicorn has cancelled startup, in {AT}"),
        ([CALLED, CUT], f"Uvicorn has cancelled startup, in {AT}"),
        ([*STARTING, LIFE, seen.Raised(1.0, CANCELLED._replace(lines=[]))], f"startup, in {AT}"),
        ([*STARTING, seen.Left(1.0, 3, LINES)], f"ended the process at startup: status 3, in {AT}"),
        ([CALLED, seen.Left(1.0, 3, LINES)], f"ended the process at startup: status 3, in {AT}"),
        ([*SERVING, seen.Left(1.0, 3, LINES)], f"running, without clean-up: status 3, in {AT}"),
        ([*STOPPING, seen.Left(1.0, 3, LINES)], f"running, without clean-up: status 3, in {AT}"),
        ([*STOPPING, RAISED], f"{WHILE} KeyError: 'pool', in"),
        ([*STOPPING, CUT], None),  # the server's doing, as it stops
        ([*STOPPING, SHUTDOWN, LIFE], f"{CLEANS} waits in {AT}"),
        ([*CLEANING, CUT, seen.Left(1.0, 3, LINES)], f"the process at shutdown: status 3, in {AT}"),
        ([*SERVING, RAISED], f"{WHILE} KeyError: 'pool', in"),
        ([*SERVING, CUT], f"{WHILE} CancelledError, in"),
        ([*SERVING, ENDS_LOOP], f"running, without lifespan.shutdown: SystemExit: 0, in {AT}"),
        ([*SERVING, seen.Raised(1.0, CANCELLED._replace(loop_ends=True))], None),
        ([*SERVING, sent("shutdown.failed", "no disk")], "failed while it was running: no disk"),
        ([*SERVING, UNBOUND], "Uvicorn stops because of an error: OSError: port is taken"),
        ([*CLEANING, RAISED], "the application raised at shutdown: KeyError: 'pool', in"),
        ([*CLEANING, sent("shutdown.failed", "no disk")], "clean-up failed: no disk"),
        ([*CLEANING, seen.Left(1.0, 0, LINES)], f"the process at shutdown: status 0, in {AT}"),
        ([seen.NoLifespan(1.0, "daphne")], "Daphne calls the application with no lifespan scope"),
        (
            [seen.Died(1.0, "pump", WrittenError("KeyError", "", []))],
            "the task `pump` has failed: KeyError. Until shutdown nothing awaits it.",
        ),
        # noted soon after the stop, it may have failed before
        ([*CLEANING, seen.Died(2.0, "pump", None)], "Until shutdown nothing awaits it."),
        ([*CLEANING, seen.Died(9.0, "pump", None)], "while stopping, the task `pump` has failed: "),
        (
            [seen.Failed(1.0, ("KeyError", "x", __file__, 1, "f"))],
            "lifespec itself failed here, please",
        ),
    ],
)
def test_a_cause(lines: list[Any], sentence: str | None, tmp_path: Path) -> None:
    if not any(isinstance(line, Look) for line in lines):
        lines = [*lines, NOTHING]  # without a look nothing is a cause
    told = sentences(process(tmp_path, *lines))
    if sentence is None:
        assert told == []
    else:
        [only] = told
        assert sentence in only


def test_the_authors_last_lines_are_shown_with_what_stands_there(tmp_path: Path) -> None:
    source = Path(__file__).read_text("utf-8").splitlines()
    own = [At(__file__, number, "f", own=True) for number in (1, 3, 4, 5, 6)]
    watched = process(tmp_path, *STARTING, look(known=[CALL._replace(lines=[LIBRARY, *own])]))
    (cause,) = causes(watched, lasted, AFTER)
    shown = [(row.parts["file"], row.parts["line"], row.parts["source"]) for row in cause.rows]
    assert shown == [(HERE, number, source[number - 1]) for number in (3, 4, 5, 6)]


@pytest.mark.parametrize(
    ("lines", "told_to_end", "advice"),
    [
        ([*STARTING, sent("startup.failed", error=REFUSED)], None, "advise-service"),
        ([*STARTING, look(blocked=[JOINS])], None, "advise-join"),
        ([*SERVING, RAISED], None, "advise-crash"),  # of an exception that says no more
        ([*STOPPING, look(requests=[GET])], 1.0, "advise-limit-uvicorn"),
        ([*STOPPING, look(requests=[GET._replace(thread=True)])], 1.0, "advise-thread-limit"),
        ([HOSTED, *STOPPING, look(requests=[GET])], 1.0, "advise-limit-gunicorn"),
        # one worker alone, and whose it is
        ([HOSTED, *STOPPING, look(requests=[GET])], None, "advise-limit-gunicorn-timeout"),
        ([HOSTED, *STOPS, look(requests=[GET])], None, "advise-limit-gunicorn-worker"),
    ],
)
def test_what_to_change_depends_on_what_was_raised_and_on_the_server(
    lines: list[Any], told_to_end: float | None, advice: str, tmp_path: Path
) -> None:
    watched = process(tmp_path, NOTHING, *lines)
    watched.told_to_end = told_to_end
    (cause,) = causes(watched, lasted, AFTER)
    assert cause.advice == Fact(advice)


@pytest.mark.parametrize("field", ["known", "requests", "blocked"])
def test_a_cause_at_another_line_is_another_one(field: str, tmp_path: Path) -> None:
    identities = []
    for lines in LINES, LINES, LINES[:1]:
        parts = {"known": CALL, "requests": GET, "blocked": Blocked(3, lines)}
        part = parts[field]._replace(lines=lines)  # type: ignore[attr-defined]
        phase = STARTING if field == "known" else STOPPING
        watched = process(tmp_path, *phase, look(**{field: [part]}, open=1))
        (cause,) = causes(watched, lasted, AFTER)
        identities.append(cause.identity)
    assert identities[0] == identities[1] != identities[2]


def test_a_signal_counts_where_the_server_says_nothing(tmp_path: Path) -> None:
    watched = process(tmp_path, *SERVING, look(requests=[GET], open=1))
    for told_to_end, count in ((None, 0), (1.0, 1), (5.0, 0)):
        watched.told_to_end = told_to_end
        assert len(sentences(watched)) == count


def test_an_agent_that_does_not_look_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = process(tmp_path, *STARTING, LIFE)
    for is_stopped, kind in ((False, "silent"), (True, "suspended")):
        monkeypatch.setattr(waiting, "is_stopped", lambda _, now=is_stopped: now)
        assert [cause.kind for cause in causes(watched, lambda _: 9.0, AFTER)] == [kind]
    other = WatchedProcess(tmp_path / "1.seen")
    other.path.touch()
    # an agent that has become another user cannot write
    if os.geteuid() == 0:
        os.chown(other.path, 1, 1)
    os.utime(other.path, (0, 0))
    assert time.time() - other.looked_at() < 60
    watched.path.unlink()  # as what cleans folders may do
    assert time.time() - watched.looked_at() < 60


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ([*CLEANING, LIFE], f"clean-up was cut off: it was in {AT}"),
        ([*CLEANING, CUT], f"clean-up was cut off: it was in {AT}"),
        ([*CLEANING, sent("shutdown.failed", error=CANCELLED)], f"cut off: it was in {AT}"),
        ([*CLEANING, CUT, RAISED], f"clean-up was cut off: it was in {AT}"),
        # where it was before clean-up, or in `receive`, is no place of the clean-up
        ([*SERVING, LIFE, SHUTDOWN], "clean-up was cut off: its process ended before"),
        ([*STARTING, sent("startup.complete", error=ERROR), SHUTDOWN], "its process ended before"),
        ([*CLEANING, IDLE], "clean-up was cut off: its process ended before"),
        ([*CLEANING, look(known=[CALL._replace(lines=[LIBRARY])])], "its process ended before"),
        ([*SERVING[1:], SHUTDOWN], ""),  # a process that ran already
        ([*CLEANING, RAISED], ""),
        (ENDED, ""),
        ([*CLEANING, sent("shutdown.failed", error=ERROR)], ""),
        ([*CLEANING, sent("shutdown.failed", error=CANCELLED._replace(outside=False))], ""),
        (SERVING, "Uvicorn has ended without lifespan.shutdown"),
        (STOPPING, "Uvicorn has ended without lifespan.shutdown"),
        ([CALLED], ""),
    ],
)
def test_a_process_that_has_ended(lines: list[Any], sentence: str, tmp_path: Path) -> None:
    watched = process(tmp_path, *lines)
    before = list(events(watched))
    watched.ends()
    told = [Words().say(cause.fact) for cause in list(events(watched))[len(before) :]]
    if not sentence:
        assert told == []
    else:
        [only] = told
        assert sentence in only


def test_what_an_unknown_server_does_is_told_from_its_call(tmp_path: Path) -> None:
    watched = process(tmp_path)
    for calls, told_to_end, told in (
        ([], None, []),
        ([CALL], None, [f"startup has lasted 5 s; it waits in {AT}"]),
        ([ASKS], None, []),
        ([CALL], None, []),  # once it serves
        ([CALL], 1.0, [f"clean-up has lasted 5 s; it waits in {AT}"]),
        ([], 1.0, []),
    ):
        watched.told_to_end = told_to_end
        for _look in range(2):  # the second shows nothing new
            watched.take(look(others=calls))
        assert sentences(watched) == sentences(watched) == told
    assert watched.state == "over"
    endings = list(watched.endings)
    watched.ends()
    assert watched.endings == endings


def test_each_look_counts_not_only_the_last(tmp_path: Path) -> None:
    watched = process(tmp_path, look(others=[CALL]), look(time=2.0, others=[ASKS]), look(time=3.0))
    assert (watched.state, watched.times["lifespan.startup.complete"]) == ("running", 2.0)


def test_lines_are_read_once_they_are_whole(tmp_path: Path) -> None:
    watched = process(tmp_path)
    called, complete = seen.written(CALLED), seen.written(sent("startup.complete"))
    with watched.path.open("a") as file:
        file.write(called + complete[:20])
        file.flush()
        watched.read()
        assert watched.state == "called"
        file.write(complete[20:])
        file.flush()
    watched.read()
    assert watched.state == "running"
    assert not [*events(watched)]


def test_what_has_not_lasted_is_not_sentences(tmp_path: Path) -> None:
    assert sentences(process(tmp_path, seen.Called(5.0, "uvicorn"), LIFE)) == []
    assert sentences(process(tmp_path, *ENDED, NOTHING, seen.Ending(5.0))) == []


def test_a_cancellation_that_may_be_the_servers_is_told_at_the_end_alone(tmp_path: Path) -> None:
    called = seen.Called(1.0, "gunicorn")
    assert sentences(process(tmp_path, called, *SERVING[1:], CUT, NOTHING)) == []
