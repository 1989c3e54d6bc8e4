"""What the phrases of cases mean: which conversations hold them, break them, or say nothing."""

from typing import Any

import pytest

from lifespec.conformance.server.assertions import PHRASES, misled
from lifespec.conformance.server.observation import RAISED as TO_CALLER
from lifespec.conformance.server.observation import Beside, ServerObservation, Unspecified
from sights import answered, saw

__all__: list[str] = []

CALLED, HTTP = "called lifespan", "called http"
STARTUP, SHUTDOWN = "received lifespan.startup", "received lifespan.shutdown"
COMPLETE, FAILED = "sends lifespan.startup.complete", "sends lifespan.startup.failed"
STARTED = [CALLED, STARTUP, COMPLETE, "sent lifespan.startup.complete"]
STOPPED = "sends lifespan.shutdown.complete"
OTHER = "called lifespan  pid=2"


def held(phrase: str, seen: ServerObservation, argument: str = "") -> bool | str:
    """Say whether a phrase holds, or why nothing is said."""
    try:
        return PHRASES[phrase](seen, argument).held
    except Beside:
        return "skip"


def actual(phrase: str, seen: ServerObservation, argument: str = "") -> str:
    """Say what was seen."""
    return PHRASES[phrase](seen, argument).actual


@pytest.mark.parametrize(
    ("phrase", "lines", "right"),
    [
        ("startup first", [CALLED, STARTUP], True),
        ("startup first", [CALLED, STARTUP, SHUTDOWN], True),
        ("startup first", [CALLED], False),
        ("startup first", [CALLED, SHUTDOWN, STARTUP], False),
        ("startup first", [CALLED, STARTUP, STARTUP], False),
        ("startup first", [CALLED, STARTUP, OTHER], False),
        ("startup first", [HTTP], "skip"),
        ("startup before requests", [CALLED, STARTUP, HTTP], True),
        ("startup before requests", [HTTP, CALLED, STARTUP], False),
        ("startup before requests", [CALLED, HTTP], "skip"),
        ("no request before", [*STARTED, HTTP], True),
        ("no request before", [CALLED, STARTUP, HTTP, COMPLETE], False),
        ("no request before", [CALLED, STARTUP, HTTP], False),
        ("no request before", [CALLED, STARTUP, "called http  pid=2"], True),
        ("no request before", [HTTP, *STARTED], True),
        ("no request before", [CALLED, HTTP], "skip"),
        ("no request after", [*STARTED, HTTP, "returned http  call=9", SHUTDOWN], True),
        ("no request after", [*STARTED, HTTP, "cancelled http  call=9", SHUTDOWN], True),
        ("no request after", [*STARTED, SHUTDOWN, HTTP], False),
        ("no request after", [*STARTED, HTTP, SHUTDOWN, "returned http  call=9"], False),
        ("no request after", [*STARTED, SHUTDOWN, "called http  pid=2"], True),
        ("no request after", STARTED, "skip"),
        ("waits", [*STARTED, SHUTDOWN, STOPPED], True),
        ("waits", [*STARTED, SHUTDOWN, "cancelled lifespan"], False),
        (
            "waits",
            [
                *STARTED,
                SHUTDOWN,
                STOPPED,
                "received lifespan.shutdown  pid=2",
                "cancelled lifespan  pid=2",
            ],
            False,
        ),
        ("waits", STARTED, "skip"),
        ("waits", [*STARTED, SHUTDOWN], True),
        ("finishes", [*STARTED, "sent lifespan.shutdown.complete", "returned lifespan"], True),
        ("finishes", [*STARTED, "sent lifespan.shutdown.complete", "cancelled lifespan"], False),
        ("finishes", STARTED, "skip"),
    ],
)
def test_the_course_of_a_lifespan(phrase: str, lines: list[str], right: object) -> None:
    """What came when, between the call and its end."""
    assert held(phrase, saw("well-behaved", *lines)) == right


RAISED = [CALLED, "plays raise", "raised lifespan"]
RETURNED = [CALLED, "plays return", "returned lifespan"]
RAISES, RETURNS, FAILS = "raises-on-the-scope", "returns-on-the-scope", "failed-with-message"
LATER = "raises-after-startup", CALLED, "plays receive", STARTUP, "plays listen  step=1"
GONE = "stopped-after-a-failed-start", CALLED, "plays receive  step=2"
CHILD = "lifespan.shutdown.complete  by=child"
EMPTY = "failed-without-message", CALLED, "plays send  step=1"
ENDS = "raises-at-shutdown", *STARTED, "plays raise  step=3"
OVER: dict[str, Any] = {"ended": 5.0, "status": 3}
TOLD: dict[str, Any] = {"stopped": 4.5, "status": 0}


@pytest.mark.parametrize(
    ("phrase", "seen", "right"),
    [
        # a request that was not answered, or not even made, was not served
        ("served", saw(RAISES, *RAISED, answers=answered("/")), True),
        ("served", saw(RAISES, *RAISED, answers=answered("/?")), False),
        ("served", saw(RAISES, *RAISED), False),
        ("served", saw(RAISES, CALLED), "skip"),
        # what an application does before it answers is no answer
        ("served", saw(*LATER), "skip"),
        ("served", saw(*LATER, "plays raise  step=2", answers=answered("/")), True),
        # a server that ended did not serve, and another rule says so
        ("not blocked", saw(RETURNS, *RETURNED, answers=answered("/")), True),
        ("not blocked", saw(RETURNS, *RETURNED, ended=9.0), "skip"),
        ("not blocked", saw(RETURNS, *RETURNED, stopped=8.0, ended=9.0), False),
        ("not blocked", saw(RETURNS, *RETURNED), False),
        # requests that came before a failure are no fault
        ("not served", saw(FAILS, CALLED, HTTP, FAILED), True),
        ("not served", saw(FAILS, CALLED, FAILED, HTTP), False),
        ("not served", saw(FAILS, CALLED, HTTP), "skip"),
        # one that was told to end did not end by itself
        ("exits", saw(FAILS, CALLED, FAILED, **OVER), True),
        ("exits", saw(FAILS, CALLED, FAILED, stopped=4.0, **OVER), False),
        ("exits", saw(FAILS, CALLED, FAILED), False),
        ("exits", saw(FAILS, CALLED, **OVER), "skip"),
        ("gone", saw(*GONE, ended=6.0), True),
        ("gone", saw(*GONE, stopped=4.0), False),
        ("gone", saw(GONE[0], CALLED, "plays try  step=1", ended=6.0), "skip"),
        ("does nothing", saw("sends-after-its-end", CALLED, f"sent {CHILD}"), True),
        ("does nothing", saw("sends-after-its-end", CALLED, f"refused {CHILD}"), False),
        ("does nothing", saw("sends-after-its-end", CALLED), "skip"),
        # a KeyError, from send or in the output, shows that a message is looked for
        ("as empty", saw(*EMPTY), True),
        ("as empty", saw(*EMPTY, "refused lifespan.startup.failed  error=KeyError"), False),
        ("as empty", saw(*EMPTY, output="KeyError: 'message'"), False),
        ("as empty", saw(*EMPTY, output="DEBUG: no KeyError: 'message' here"), True),
        ("as empty", saw(*EMPTY, output="KeyError: 'colour'"), True),
        ("as empty", saw(EMPTY[0], CALLED), "skip"),
        # it was told to stop, and the application has come to its last step
        ("process ends", saw(*ENDS, ended=6.0, **TOLD), True),
        ("process ends", saw(*ENDS, **TOLD), False),
        ("process ends", saw(ENDS[0], *STARTED, ended=6.0, **TOLD), "skip"),
        ("process ends", saw(*ENDS, ended=6.0), "skip"),
        # there the server ends without a signal
        ("shutdown once", saw("port-in-use"), "skip"),
        ("shutdown once", saw("port-in-use", *STARTED, SHUTDOWN), True),
    ],
)
def test_what_holds(phrase: str, seen: ServerObservation, right: object) -> None:
    """Or is broken, or says nothing."""
    assert held(phrase, seen) == right


def test_an_option_that_demands_lifespan_support_is_no_fault() -> None:
    """A server that refuses as it was told to is stricter than the specification."""
    demand = "--lifespan on"
    seen = saw("raises-on-the-scope", *RAISED, ended=9.0, status=3, demand=demand)
    with pytest.raises(Unspecified, match=f"with status 3. It was started with {demand}, which"):
        held("served", seen)
    hangs = saw("raises-on-the-scope", *RAISED, demand=demand)
    assert held("served", hangs) is False
    crashed = saw("completes-twice", *STARTED, "plays send  step=1", ended=9.0, demand=demand)
    assert held("served", crashed) is False


@pytest.mark.parametrize(
    ("types", "wrong"),
    [
        ([], False),
        ([STARTUP, SHUTDOWN], False),
        ([SHUTDOWN], True),
        ([STARTUP, STARTUP], True),
        ([STARTUP, "called lifespan  call=2", "received lifespan.shutdown  call=2"], True),
    ],
)
def test_a_server_misleads_the_script(types: list[str], wrong: object) -> None:
    """By events in another order: what comes of that is no fault of its own."""
    assert misled(saw("well-behaved", CALLED, *types)) is wrong


def test_the_limit_of_a_startup_is_told() -> None:
    """Where the server then serves it is a fault, where it exits it is not specified."""
    early = saw("very-slow-start", CALLED, STARTUP, "cancelled lifespan", HTTP)
    assert actual("no request before", early) == (
        "1 request came before startup was answered. The server ended startup after 1 s."
    )
    gone = saw("very-slow-start", CALLED, STARTUP, ended=62.0, status=0)
    with pytest.raises(Unspecified, match="ended startup after 60 s; the process ended with st"):
        held("no request before", gone)
    stopped = saw("hangs-at-startup", CALLED, STARTUP, stopped=5.0, ended=62.0, status=0)
    assert held("no request before", stopped) is True


@pytest.mark.parametrize(
    ("facts", "right"),
    [
        ({"status": 3}, True),
        ({"status": 0}, "The process ended with status 0."),
        ({"status": -15, "stopped": 4.5}, "The process ended by signal 15."),
        ({"status": 0, "client": True}, "skip"),
        ({"ended": None}, "skip"),
    ],
)
def test_a_supervisor_sees_the_status(facts: dict[str, Any], right: object) -> None:
    """A status of 0, or the signal that it was sent, does not tell that something failed."""
    seen = saw("failed-with-message", CALLED, "plays send  step=1", **{"ended": 6.0, **facts})
    if isinstance(right, str) and right != "skip":
        with pytest.raises(Unspecified, match=right):
            held("exit status", seen)
    else:
        assert held("exit status", seen) == right


@pytest.mark.parametrize(
    ("became", "taken", "refused", "survives"),
    [
        (["sent lifespan.startup.done  step=1"], True, False, "skip"),
        (["refused lifespan.startup.done  step=1"], False, True, True),
        ([], "skip", "skip", "skip"),
        (["sent lifespan.startup.complete  step=2"], "skip", "skip", "skip"),
    ],
)
def test_what_becomes_of_a_try(
    became: list[str], taken: object, refused: object, survives: object
) -> None:
    """It is taken or refused, and the server goes on."""
    seen = saw("sends-an-unknown-type", CALLED, "plays try  step=1", *became, answers=answered("/"))
    assert [held(phrase, seen) for phrase in ("taken", "refused", "survives")] == [
        taken,
        refused,
        survives,
    ]


def test_what_a_client_raises_to_its_caller() -> None:
    """It is a refusal, though not out of send; no specification speaks of it."""
    lines = [CALLED, "plays try  step=1", "sent lifespan.startup.done  step=1"]
    facts: dict[str, Any] = {"client": True, "status": TO_CALLER, "output": "KeyError: 'type'\n"}
    seen = saw("sends-an-unknown-type", *lines, **facts)
    sentence = "send has returned. It raised to the caller: KeyError: 'type'"
    with pytest.raises(Unspecified, match=sentence):
        held("refused", seen)
    assert held("survives", seen) == "skip"
    with pytest.raises(Beside, match=sentence):
        actual("survives", seen)
    with pytest.raises(Unspecified, match="It raised to the caller: KeyError"):
        held("served", seen)


def test_a_connection_after_shutdown() -> None:
    """It is refused, or served, or only the socket listens, or nobody has tried."""
    lines = [*STARTED, SHUTDOWN]
    for knocks, wanted in ((["refused"], True), (["answered"], False), ([], "skip")):
        assert held("no connection after", saw("slow-shutdown", *lines, knocks=knocks)) == wanted
    with pytest.raises(Unspecified, match="the socket still listened"):
        held("no connection after", saw("slow-shutdown", *lines, knocks=["unanswered"]))
    assert (
        held("no connection after", saw("slow-shutdown", *STARTED, knocks=["answered"])) == "skip"
    )


def test_a_text_is_shown() -> None:
    """In the output, wherever; before it was said it cannot be."""
    text, case = "no database at db-1", "failed-with-message"
    played = [CALLED, "plays send  step=1"]
    shown = saw(case, *played, output=f"start\n  ERROR {text}\n")
    assert held("shows", shown, text) is True
    assert actual("shows", shown, text) == f"The output says: ERROR {text}"
    assert held("shows", saw(case, *played, output="start"), text) is False
    assert held("shows", saw(case, CALLED, output=text), text) == "skip"
    crash = saw("crashes-while-serving", CALLED, "plays raise  step=4", output="the pool has burst")
    assert held("shows", crash, "the pool has burst") is True


@pytest.mark.parametrize(
    ("case", "step", "output", "right"),
    [
        ("raises-on-the-scope", "plays raise", "INFO: Lifespan is unsupported", True),
        ("raises-on-the-scope", "plays raise", "Failure: no lifespan here", True),
        ("raises-on-the-scope", "plays raise", "started", False),
        ("raises-on-the-scope", "plays raise", 'File "/lib/asgi_lifespan/wait.py"', False),
        ("raises-on-the-scope", "plays raise", 'File "/lib/asgi/lifespan.py"', True),
        ("returns-on-the-scope", "plays return", "the lifespan has ended", True),
        ("raises-on-the-scope", "plays raise", '  File "a.py", line 9, in lifespan', False),
        ("returns-on-the-scope", "plays receive  step=9", "the lifespan has ended", "skip"),
    ],
)
def test_a_decline_is_told(case: str, step: str, output: str, right: object) -> None:
    """By a word about the lifespan, or by the text of the exception."""
    assert held("tells", saw(case, CALLED, step, output=output)) == right
    died = saw(case, CALLED, step, output=output, ended=4.0, status=1)
    assert held("tells", died) == "skip"


def test_after_the_end_all_is_quiet() -> None:
    """What a child receives before the call is over is no fault."""
    case = "raises-after-startup"
    child = "received lifespan.shutdown  by=child"
    assert held("quiet", saw(case, *RAISED)) is True
    with pytest.raises(Unspecified, match="Only a task that the application had left behind"):
        held("quiet", saw(case, *RAISED, child))
    assert held("quiet", saw(case, CALLED, child, "returned lifespan")) is True
    assert held("quiet", saw(case, CALLED)) == "skip"


@pytest.mark.parametrize(
    ("lines", "facts", "right"),
    [
        ([*STARTED, SHUTDOWN], {"stopped": 4.5}, True),
        (STARTED, {"stopped": 4.5}, False),
        ([*STARTED, SHUTDOWN, SHUTDOWN], {"stopped": 4.5}, False),
        ([*STARTED, OTHER, SHUTDOWN], {"stopped": 4.5}, True),
        (STARTED, {}, "skip"),
        ([CALLED, STARTUP], {"stopped": 4.5}, "skip"),
        ([*STARTED, "cancelled lifespan"], {"stopped": 9.0}, "skip"),
        ([*STARTED, "cancelled lifespan"], {"stopped": 4.5}, False),
    ],
)
def test_shutdown_comes_once(lines: list[str], facts: dict[str, Any], right: object) -> None:
    """To each application that has started, where the server was told to stop."""
    assert held("shutdown once", saw("well-behaved", *lines, **facts)) == right


def test_a_text_is_hidden() -> None:
    """The process ends, and nothing of the text is in its output."""
    text = "three orders are lost"
    seen = saw("returns-a-value", CALLED, "plays give  step=4", stopped=1.0, ended=6.0, status=0)
    assert held("hides", seen, text) is True
    seen.output = f"ERROR {text}"
    assert held("hides", seen, text) is False
    assert actual("hides", seen, text) == f"The output says: ERROR {text}"
