"""Recorded servers in the playground: what a program meets there."""

from typing import Any

import pytest

from lifespec_docs.facts import recorded
from lifespec_docs.live import servers
from lifespec_docs.live.play import play

ROWS = servers.rows(recorded.ROOT, str)
STARTED = "    await send({'type': 'lifespan.startup.complete'})\n"
STOPPED = "    await send({'type': 'lifespan.shutdown.complete'})\n"
FAILED = "await send({'type': 'lifespan.startup.failed', 'message': 'db-1 is away'})\n"
LOST = "    await send({'type': 'lifespan.shutdown.failed', 'message': '3 are lost'})\n"
RECEIVED = "    await receive()\n"
SLEPT = "    await asyncio.sleep(%d)\n"
RAISED = "    raise ValueError('mine')\n"
HANGS = "    await asyncio.Event().wait()\n"
TRIED = "    try:\n        await %s\n    except Exception as error:\n        print(repr(error))\n"


def played(server: str, *steps: str, **conduct: Any) -> dict[str, Any]:
    """Run an application that does these steps on a recorded server."""
    head = "import asyncio\nasync def app(scope, receive, send):\n"
    program = head + "    if scope['type'] != 'lifespan':\n        return\n" + "".join(steps)
    request = {"program": program, "server": conduct, "words": {}, "recorded": ROWS[server]}
    return play(request)


def sent(event: str) -> str:
    """Return the step that sends an event and prints what `send` raises."""
    return TRIED % f"send({event})"


RUNS = {
    "well-behaved": (RECEIVED, STARTED, RECEIVED, STOPPED),
    "raises-on-the-scope": (RAISED,),
    "raises-after-startup": (RECEIVED, RAISED),
    "returns-on-the-scope": ("    return\n",),
    "returns-after-startup": (RECEIVED,),
    "cancelled-error-on-the-scope": ("    raise asyncio.CancelledError\n",),
    "failed-with-message": (RECEIVED, f"    {FAILED}"),
    "failed-without-message": (RECEIVED, "    await send({'type': 'lifespan.startup.failed'})\n"),
    "failed-then-raises": (RECEIVED, TRIED % FAILED.removeprefix("await ").rstrip(), RAISED),
    "failed-then-receives": (RECEIVED, TRIED % FAILED.removeprefix("await ").rstrip(), RECEIVED),
    "crashes-while-serving": (RECEIVED, STARTED, RAISED),
    "returns-while-serving": (RECEIVED, STARTED),
    "fails-while-serving": (RECEIVED, STARTED, LOST),
    "raises-at-shutdown": (RECEIVED, STARTED, RECEIVED, RAISED),
    "returns-at-shutdown": (RECEIVED, STARTED, RECEIVED),
    "shutdown-failed-with-message": (RECEIVED, STARTED, RECEIVED, LOST),
    "shutdown-failed-without-message": (
        *(RECEIVED, STARTED, RECEIVED),
        "    await send({'type': 'lifespan.shutdown.failed'})\n",
    ),
    "hangs-at-startup": (RECEIVED, HANGS),
    "hangs-at-shutdown": (RECEIVED, STARTED, RECEIVED, HANGS),
}


@pytest.mark.parametrize("server", ROWS)
@pytest.mark.parametrize("case", RUNS)
def test_a_program_meets_what_the_record_says(server: str, case: str) -> None:
    """It comes to its case, and is served as the record says."""
    row, found = ROWS[server], played(server, *RUNS[case])
    assert found["failure"] == ""
    assert found["raised"] is None
    assert not [kind for kind, _text in found["console"] if kind.isupper()]
    if row["scope"] is None:
        assert (found["cases"], found["served"]) == (["well-behaved"], True)
        assert not found["messages"]
        return
    timed_out = {"hangs-at-startup": "very-slow-start", "hangs-at-shutdown": "very-slow-shutdown"}
    limit = row["limits"]["shutdown" in case]
    expected = timed_out[case] if case in timed_out and limit else case
    assert found["cases"][-1] == expected
    assert (found["waits"] is not None) == (case in timed_out and not limit)
    if expected in row["serves"] and "shutdown" not in expected:
        assert found["served"] is row["serves"][expected]


def test_a_failure_that_is_caught_is_served_where_the_record_says_so() -> None:
    """There `send` raises, with the application's own words."""
    steps = RECEIVED, TRIED % FAILED.removeprefix("await ").rstrip()
    found = played("hypercorn-asyncio", *steps)
    assert (found["served"], found["cases"]) == (True, ["failed-whatever-send-raises"])
    raised = "LifespanFailureError(\"Lifespan failure in startup. 'db-1 is away'\")\n"
    assert found["console"] == [("print", raised)]
    assert found["logged"] is None
    found = played("uvicorn", *steps)
    assert (found["served"], found["cases"]) == (False, ["failed-with-message"])
    assert found["console"] == []


def test_the_log_is_the_recorded_one_with_the_words_of_the_program() -> None:
    """A message, or an exception."""
    found = played("uvicorn", RECEIVED, f"    {FAILED}")
    lines = ["ERROR:    db-1 is away", "ERROR:    Application startup failed. Exiting."]
    assert found["logged"] == lines
    found = played("hypercorn-asyncio", RECEIVED, STARTED, RAISED)
    assert found["logged"][-1] == "ValueError: mine"
    found = played("hypercorn-asyncio", RECEIVED, SLEPT % 3600)
    assert found["cases"] == ["very-slow-start"]
    assert "LifespanTimeoutError" in found["logged"][0]


@pytest.mark.parametrize(
    ("event", "case", "uvicorn", "gunicorn"),
    [
        ("{'type': 'lifespan.startup.complete'}", "completes-twice", "AssertionError('Got", ""),
        ("{'type': 'lifespan.ready'}", "sends-an-unknown-type", "AssertionError('')", ""),
        ("28", "sends-no-mapping", "TypeError", "TypeError"),
        ("{}", "sends-no-type", "KeyError('type')", "KeyError('type')"),
        ("{'type': 'lifespan.shutdown.complete'}", "answers-both-at-once", "", ""),
    ],
)
def test_send_raises_as_recorded(event: str, case: str, uvicorn: str, gunicorn: str) -> None:
    """Or returns, where the recorded one has returned."""
    for server, raised in (("uvicorn", uvicorn), ("gunicorn-asgi", gunicorn)):
        found = played(server, RECEIVED, STARTED, sent(event), RECEIVED, STOPPED)
        assert found["cases"][0] == case
        printed = "".join(text for _kind, text in found["console"])
        assert printed.startswith(raised)
        assert bool(printed) == bool(raised)


def test_an_early_answer_to_shutdown_ends_a_lifespan_that_the_record_ends() -> None:
    """It was not sent by uvicorn then, and was by granian."""
    early = sent("{'type': 'lifespan.shutdown.complete'}")
    steps = RECEIVED, STARTED, early, RECEIVED, "    print('received')\n"
    assert ROWS["uvicorn"]["silent"] == ["answers-both-at-once"]
    assert played("uvicorn", *steps)["console"] == []
    assert played("granian", *steps)["console"] == [("print", "received\n")]


def test_shutdown_is_refused_while_starting_as_recorded() -> None:
    """And what no record has is refused as `Lifespan` does."""
    early = sent("{'type': 'lifespan.shutdown.complete'}")
    found = played("granian", RECEIVED, early, STARTED, RECEIVED, STOPPED)
    assert found["cases"] == ["answers-shutdown-early", "well-behaved"]
    assert "Invalid lifespan state transition" in found["console"][0][1]
    found = played("uvicorn", RECEIVED, STARTED, RECEIVED, STOPPED, early)
    assert found["cases"] == ["well-behaved"]
    assert "ProtocolError" in found["console"][0][1]


def test_what_is_sent_after_the_end_is_refused_as_recorded() -> None:
    """From a task that the application has left behind."""
    later = (
        "    async def later():\n        await asyncio.sleep(0.5)\n        try:\n"
        "            await send({'type': 'lifespan.shutdown.complete'})\n"
        "        except Exception as error:\n            print(type(error).__name__)\n"
        "    scope['task'] = asyncio.create_task(later())\n"
    )
    found = played("uvicorn", RECEIVED, STARTED, later)
    assert found["cases"] == ["sends-after-its-end", "returns-while-serving"]
    assert found["console"] == [("print", "AssertionError\n")]
    assert played("hypercorn-asyncio", RECEIVED, STARTED, later)["console"] == []


@pytest.mark.parametrize("error", ["SystemExit(3)", "asyncio.CancelledError()"])
def test_what_no_record_has_comes_to_no_case(error: str) -> None:
    """After startup was received, an exit or a cancellation."""
    found = played("uvicorn", RECEIVED, f"    raise {error}\n")
    assert found["cases"] == []
    assert found["logged"] is None


def test_requests_are_served_with_the_state_of_the_record() -> None:
    """There is no lifespan under daphne; Litestar's client has one without state."""
    program = (
        "async def app(scope, receive, send):\n"
        "    print(scope['type'], 'state' in scope)\n"
        "    await receive()\n"
        "    await send({'type': 'lifespan.startup.complete'})\n"
    )
    told = {}
    for server in ("daphne", "litestar", "uvicorn"):
        request = {"program": program, "server": {"requests": 1}, "words": {}}
        found = play(request | {"recorded": ROWS[server]})
        told[server] = found["console"][0][1].splitlines()
    assert told == {
        "daphne": ["http False"],
        "litestar": ["lifespan False", "http False"],
        "uvicorn": ["lifespan True", "http True"],
    }


def test_gunicorn_serves_before_startup_is_answered() -> None:
    """Its timeout ends startup, and requests come nevertheless."""
    found = played("gunicorn-asgi", RECEIVED, SLEPT % 3600, requests=1)
    assert (found["served"], found["cases"]) == (True, ["very-slow-start"])
