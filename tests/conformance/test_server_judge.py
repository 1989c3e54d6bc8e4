"""What the phrases of cases mean: which sequences hold them, break them, or show nothing."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from lifespec.conformance.app.compare import OfMiddleware
from lifespec.conformance.app.judge import OfApplication
from lifespec.conformance.cases import Expectation, vocabulary
from lifespec.conformance.judge import Judge, NotJudged
from lifespec.conformance.server.judge import OfServer
from lifespec.conformance.server.observed import without_tracebacks
from lifespec.conformance.server.play import Observation
from lifespec.diagnosis.fact import Fact, fact
from lifespec.words import Words
from sights import answered, line, saw

CALLED, HTTP = "called lifespan", "called http"
STARTUP, SHUTDOWN = "received lifespan.startup", "received lifespan.shutdown"
COMPLETE, FAILED = "sends lifespan.startup.complete", "sends lifespan.startup.failed"
STARTED = [CALLED, STARTUP, COMPLETE, "sent lifespan.startup.complete"]
STOPPED = "sends lifespan.shutdown.complete"
OTHER = "called lifespan  pid=2"
FIRST = Expectation("startup-sent", "startup first")
HOW = {"held": True, "broken": False, "unspecified": "unspecified"}
Row = tuple[str, Observation, object]


def judged(phrase: str, seen: Observation) -> tuple[object, Fact]:
    """Return whether a phrase holds, "unspecified", or "skip"; and what was observed."""
    name, _, argument = phrase.partition(": ")
    judge = OfServer(seen)
    judge.wanted = Expectation("", name, argument)
    try:
        outcome = judge.phrase(name)
    except NotJudged as reason:
        return "skip", reason.fact
    return HOW[outcome.how], outcome.observed


def held(phrase: str, seen: Observation) -> object:
    """Return whether a phrase holds, "unspecified", or "skip"."""
    return judged(phrase, seen)[0]


def says(phrase: str, seen: Observation) -> str:
    """Return the sentence about what was observed."""
    return Words().say(judged(phrase, seen)[1])


COURSE = """
startup first             holds   called, startup
startup first             holds   called, startup, shutdown
startup first             broken  called
startup first             broken  called, shutdown, startup
startup first             open    called, startup, startup
startup first             broken  called, startup, called pid=2
startup first             skip    request
startup first             holds   called, startup, called call=2
startup first             holds   called, startup side=child, complete, request, shutdown
startup before requests   holds   called, startup, request
startup before requests   broken  request, called, startup
startup before requests   skip    called, request
startup before requests   holds   called, startup side=child, complete, request, shutdown
no request before         holds   started, request
no request before         broken  called, startup, request, complete
no request before         broken  called, startup, request
no request before         holds   called, startup, request pid=2
no request before         holds   request, started
no request before         skip    called, request
no request before         holds   called, startup side=child, complete, request, shutdown
no request after          holds   started, request, response call=9, shutdown
no request after          holds   started, request, no-response call=9, shutdown
no request after          broken  started, shutdown, request
no request after          broken  started, request, shutdown, response call=9
no request after          holds   started, shutdown, request pid=2
no request after          skip    started
waits                     holds   started, shutdown, answer
waits                     broken  started, shutdown, cancelled
waits                     broken  started, shutdown, answer, shutdown pid=2, cancelled pid=2
waits                     skip    started
waits                     holds   started, shutdown
finishes                  holds   started, answered, return
finishes                  broken  started, answered, cancelled
finishes                  skip    started
one call                  holds   called, request
one call                  broken  called, lifecycle call=2, request
one call                  holds   called, called loop=2, request loop=3
one call                  broken  called, called
one call                  broken  called, startup, called call=2
one call                  broken  called, request pid=2
one call                  broken  request
lifespan scope            holds   called, request
lifespan scope            broken  lifecycle
lifespan scope            skip    request
"""
LINES = {  # the words of COURSE
    "started": STARTED,
    "called": [CALLED],
    "startup": [STARTUP],
    "complete": [COMPLETE],
    "shutdown": [SHUTDOWN],
    "answer": [STOPPED],
    "answered": ["sent lifespan.shutdown.complete"],
    "return": ["returned lifespan"],
    "cancelled": ["cancelled lifespan"],
    "request": [HTTP],
    "response": ["returned http"],
    "no-response": ["cancelled http"],
    "lifecycle": ["called lifecycle"],
}


def course() -> Iterator[Row]:
    """Yield the rows of COURSE, of the case `well-behaved`."""
    for row in COURSE.strip().splitlines():
        phrase, right, *words = re.split(" {2,}|, ", row)
        lines = [
            "  ".join([line, *facts])
            for word, *facts in map(str.split, words)
            for line in LINES[word]
        ]
        yield (
            phrase,
            saw("well-behaved", *lines),
            {"holds": True, "broken": False, "open": "unspecified"}.get(right, right),
        )


RAISED = [CALLED, "plays raise", "raised lifespan"]
RETURNED = [CALLED, "plays return", "returned lifespan"]
RAISES, RETURNS, FAILS = "raises-on-the-scope", "returns-on-the-scope", "failed-with-message"
LATER = "raises-after-startup", CALLED, "plays receive", STARTUP, "plays listen  step=1"
GONE = "stopped-after-a-failed-start", CALLED, "plays receive  step=2"
CHILD = "lifespan.shutdown.complete  side=child"
EMPTY = "failed-without-message", CALLED, "plays send  step=1"
ENDS = "raises-at-shutdown", *STARTED, "plays raise  step=3"
OVER: dict[str, Any] = {"ended": 5.0, "status": 3}
TOLD: dict[str, Any] = {"stopped": 4.5, "status": 0}
TRIES: list[tuple[Any, ...]] = [  # what became of it; whether it was taken, refused, survived
    (["sent lifespan.startup.done  step=1"], True, False, "skip"),
    (["refused lifespan.startup.done  step=1"], False, True, True),
    ([], "skip", "skip", "skip"),
    (["sent lifespan.startup.complete  step=2"], "skip", "skip", "skip"),
]
TRIED = "sends-an-unknown-type", CALLED, "plays try  step=1"
ONCE = "well-behaved", *STARTED
POOL = "the pool has burst"
BURST = "crashes-while-serving", CALLED, "plays raise  step=4"
ENDED_LIFESPAN = "the lifespan has ended"
SLOW = "slow-shutdown", *STARTED, SHUTDOWN
SENT = "failed-with-message", CALLED, "plays send  step=1"
VALUE = "returns-a-value", CALLED, "plays give  step=4"
OVER_0: dict[str, Any] = {"stopped": 1.0, "ended": 6.0, "status": 0}
CHILD_HEARS = "received lifespan.shutdown  side=child"
TOLD_OF = [  # an output, and whether it tells of missing support
    ("INFO: Lifespan is unsupported", True),
    ("Failure: no lifespan here", True),
    ("started", False),
    ('File "/lib/asgi_lifespan/wait.py"', False),
    ('File "/lib/asgi/lifespan.py"', True),
    ('  File "a.py", line 9, in lifespan', False),
]
SERVING: list[Row] = [
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
    # a refusal is no answer, and a text that is sent is one
    *(
        (phrase, saw(*TRIED, *became, answers=answered("/")), right)
        for became, *rights in TRIES
        for phrase, right in zip(("taken", "refused", "survives"), rights, strict=True)
    ),
    # connections after shutdown
    ("no connection after", saw(*SLOW, knocks=["refused"]), True),
    ("no connection after", saw(*SLOW, knocks=["answered"]), False),
    ("no connection after", saw(*SLOW, knocks=["unanswered"]), "unspecified"),
    ("no connection after", saw(*SLOW), "skip"),
    ("no connection after", saw(*SLOW[:-1], knocks=["answered"]), "skip"),
    # a text in the output, once it was sent
    ("shows: no database at db-1", saw(*SENT, output="start\n  ERROR no database at db-1\n"), True),
    ("shows: no database at db-1", saw(*SENT, output="start"), False),
    ("shows: no database at db-1", saw(*SENT[:-1], output="no database at db-1"), "skip"),
    (f"shows: {POOL}", saw(*BURST, output=POOL), True),
    ("hides: lost", saw(*VALUE, **OVER_0), True),
    ("hides: lost", saw(*VALUE, **OVER_0, output="ERROR three orders are lost"), False),
    # a word about the lifespan, or the text of the exception
    *(
        ("tells", saw(RAISES, CALLED, "plays raise", output=output), right)
        for output, right in TOLD_OF
    ),
    ("tells", saw(RETURNS, CALLED, "plays return", output=ENDED_LIFESPAN), True),
    ("tells", saw(RETURNS, CALLED, "plays receive  step=9", output=ENDED_LIFESPAN), "skip"),
    ("tells", saw(RETURNS, CALLED, "plays return", output="lifespan", ended=4.0), "skip"),
    # an event that a task of the application receives after the end
    ("quiet", saw(RAISES, *RAISED), True),
    ("quiet", saw(RAISES, *RAISED, CHILD_HEARS), "unspecified"),
    ("quiet", saw(RAISES, CALLED, CHILD_HEARS, "returned lifespan"), True),
    ("quiet", saw(RAISES, CALLED), "skip"),
    # a status of 0, or of the signal that was sent, does not show a failure
    ("exit status", saw(*SENT, ended=6.0, status=3), True),
    ("exit status", saw(*SENT, ended=6.0, status=0), "unspecified"),
    ("exit status", saw(*SENT, ended=6.0, status=-15, stopped=4.5), "unspecified"),
    ("exit status", saw(*SENT), "skip"),
    # to each application that has started, once the server was told to stop
    ("shutdown once", saw(*ONCE, SHUTDOWN, stopped=4.5), True),
    ("shutdown once", saw(*ONCE, stopped=4.5), False),
    ("shutdown once", saw(*ONCE, SHUTDOWN, SHUTDOWN, stopped=4.5), "unspecified"),
    ("shutdown once", saw(*ONCE, OTHER, SHUTDOWN, stopped=4.5), True),
    ("shutdown once", saw(*ONCE), "skip"),
    ("shutdown once", saw("well-behaved", CALLED, STARTUP, stopped=4.5), "skip"),
    ("shutdown once", saw(*ONCE, "cancelled lifespan", stopped=9.0), "skip"),
    ("shutdown once", saw(*ONCE, "cancelled lifespan", stopped=4.5), False),
]
LIVE = {"state": {"colour": "green", "visitors": []}, "state_id": 7}
KEPT = line("kept", 0, **LIVE, ids={"colour": 1, "visitors": 2})
BODY = {**LIVE, "state_id": 8, "ids": {"colour": 1, "visitors": 2}, "offered": [7]}
BEGUN = [line(CALLED, 1, event={"state": {}}), KEPT, "sends lifespan.startup.complete"]
ENDING = KEPT._replace(kind="received", type="lifespan.shutdown")
ITSELF = BODY | {"state_id": 7}
BY_ADA = {**BODY, "state": {"colour": "green", "visitors": ["Ada"]}}
APPENDED = answered("/append/visitors/Ada", **BODY)
LATE = ["state-set-while-serving", *BEGUN, KEPT._replace(state={"late": "yes"})]
STATE: list[Row] = [
    # in the loop of one of the lifespans
    ("same loop", saw("two-workers", CALLED, f"{CALLED}  pid=2", f"{HTTP}  pid=2"), True),
    ("same loop", saw("two-workers", CALLED, f"{CALLED}  pid=2"), "skip"),
    # before the signal a call lasts; afterwards a server can give it up
    ("lasts", saw("well-behaved", CALLED, HTTP, "cancelled lifespan"), False),
    ("lasts", saw("well-behaved", CALLED, HTTP, "cancelled lifespan", stopped=9.0), False),
    ("lasts", saw("well-behaved", CALLED, HTTP, "cancelled lifespan", stopped=2.5), True),
    ("lasts", saw("well-behaved", CALLED, stopped=2.5), True),
    # a loop has one call, unless it serves again
    ("lasts", saw("well-behaved", CALLED, f"{CALLED}  call=2", stopped=9.0), False),
    ("lasts", saw("well-behaved", CALLED, "returned lifespan", f"{CALLED}  call=2"), "unspecified"),
    ("lasts", saw("well-behaved", CALLED, f"{CALLED}  loop=2", stopped=9.0), True),
    # what one request appends, the next one sees
    ("copies", saw("state", *BEGUN, answers=APPENDED + answered("/", **BY_ADA)), True),
    ("copies", saw("state", *BEGUN, answers=APPENDED + answered("/", **BODY)), False),
    # without state there is no copy; before startup, or without an answer, nothing is said
    ("copies", saw("state", *BEGUN, answers=answered("/", offered=[7])), False),
    ("copies", saw("state", *BEGUN, answers=answered("/", sent=1.0, **ITSELF)), "skip"),
    ("copies", saw("state", *BEGUN, answers=answered("/?")), "skip"),
    ("late key", saw(*LATE, answers=answered("/late", state={"late": "yes"})), True),
    ("late key", saw(*LATE, answers=answered("/late", state={})), False),
    ("late key", saw(*LATE, answers=answered("/", state={})), "skip"),
    ("late key", saw(*LATE[:-1]), "skip"),
    # at shutdown it is the same object with the same values
    ("untouched", saw("state", *BEGUN, ENDING), True),
    ("untouched", saw("state", *BEGUN, ENDING._replace(ids={})), False),
    ("untouched", saw("state", *BEGUN, ENDING._replace(state_id=8)), False),
    ("untouched", saw("state", *BEGUN), "skip"),
    # where a request had the state itself, what changed it is not known
    (
        "untouched",
        saw("state", *BEGUN, ENDING._replace(ids={}), answers=answered("/", "/?", **ITSELF)),
        "skip",
    ),
]


@pytest.mark.parametrize(("phrase", "seen", "right"), [*course(), *SERVING, *STATE])
def test_a_phrase_holds_or_breaks_or_neither(phrase: str, seen: Observation, right: object) -> None:
    assert held(phrase, seen) == right


def offers(scope: dict[str, Any], **also: Any) -> Observation:
    """Return what was seen of a server that offers a scope."""
    return saw("well-behaved", line(CALLED, 1, event=scope, **also))


@pytest.mark.parametrize(
    ("scope", "spec", "right"),
    [
        ({"asgi": {"version": "3.0", "spec_version": "2.0"}}, "asgi 2.0", True),
        ({"asgi": {"version": "3.0"}}, "asgi 2.0", True),
        ({"asgi": {"spec_version": "2.0"}}, "asgi 2.0", False),
        ({"asgi": {"version": 3}}, "asgi 2.0", False),
        ({"asgi": {"!": "Versions", "repr": "x"}}, "asgi 2.0", False),
        ({}, "asgi 2.0", False),
        ({"amgi": {"version": "2.0"}}, "amgi 2.0", False),
    ],
)
def test_the_versions_are_strings(scope: dict[str, Any], spec: str, right: bool) -> None:
    seen = offers(scope)
    seen.spec = spec
    assert held("versions", seen) is right


@pytest.mark.parametrize(
    ("state", "namespace", "empty"),
    [
        ({}, True, True),
        ({"server": "s"}, True, False),
        ({"!": "Namespace", "holds": {}, "mutable": True}, True, True),
        ({"!": "mappingproxy", "holds": {"a": 1}, "mutable": False}, False, False),
        ({"!": "list", "repr": "[]"}, False, False),
        (28, False, "skip"),
    ],
)
def test_the_state_is_an_empty_mapping(state: object, namespace: object, empty: object) -> None:
    seen = offers({"state": state})
    assert (held("namespace", seen), held("empty state", seen)) == (namespace, empty)


@pytest.mark.parametrize("phrase", ["namespace", "empty state", "copies", "untouched", "late key"])
def test_without_state_its_phrases_are_not_judged(phrase: str) -> None:
    assert (held(phrase, offers({})), says(phrase, offers({}))) == (
        "skip",
        "The server provides no state.",
    )


@pytest.mark.parametrize(
    ("request_", "where"), [("pid=2", "process"), ("thread=2", "thread"), ("loop=2", "event loop")]
)
def test_a_request_in_another_process_thread_or_loop_is_named(request_: str, where: str) -> None:
    seen = saw("well-behaved", CALLED, f"{HTTP}  {request_}")
    assert held("same loop", seen) is False
    assert says("same loop", seen) == f"A request came in another {where}."


def test_a_lifespan_without_a_loop_is_named() -> None:
    seen = saw("well-behaved", f"{CALLED}  loop=0", HTTP)
    assert held("same loop", seen) is False
    assert says("same loop", seen) == "The lifespan ran in no event loop."


@pytest.mark.parametrize(
    ("change", "actual"),
    [
        ({}, "Each request had a shallow copy."),
        ({"state_id": 7}, "A request had the state itself, not a copy."),
        ({"ids": {"colour": 1}}, "The values of a request are not those of a lifespan."),
        (
            {"ids": {"colour": 1, "visitors": 3}},
            "The values of a request are not those of a lifespan.",
        ),
        ({"state": {"colour": "red"}}, "A key that one request set came with another."),
        ({"state": {"taste": "sweet"}}, "A key that one request set came with another."),
    ],
)
def test_a_request_has_a_shallow_copy(change: dict[str, Any], actual: str) -> None:
    seen = saw("state", *BEGUN, answers=answered("/", **BODY | change))
    assert (held("copies", seen), says("copies", seen)) == (actual.startswith("Each"), actual)


def test_an_option_that_demands_lifespan_support_is_no_fault() -> None:
    demand = "--lifespan on"
    seen = saw("raises-on-the-scope", *RAISED, ended=9.0, status=3, demand=demand)
    assert held("served", seen) == "unspecified"
    assert f"with status 3. It was started with {demand}, which" in says("served", seen)
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
        ([f"{STARTUP}  side=child", COMPLETE, HTTP, SHUTDOWN], False),
        ([f"{STARTUP}  side=child", STARTUP], True),
        ([STARTUP, "called lifespan  call=2", "received lifespan.shutdown  call=2"], True),
    ],
)
def test_events_in_another_order_mislead_the_script(types: list[str], wrong: object) -> None:
    assert OfServer(saw("well-behaved", CALLED, *types)).misled() is wrong


def test_a_limit_of_startup_is_a_fault_only_if_the_server_then_serves() -> None:
    early = saw("very-slow-start", CALLED, STARTUP, "cancelled lifespan", HTTP)
    assert held("no request before", early) is False
    assert says("no request before", early) == (
        "Requests before startup was answered: 1. The server ended startup after 1 s."
    )
    gone = saw("very-slow-start", CALLED, STARTUP, ended=62.0, status=0)
    assert held("no request before", gone) == "unspecified"
    assert "ended startup after 60 s; the process ended with st" in says("no request before", gone)
    stopped = saw("hangs-at-startup", CALLED, STARTUP, stopped=5.0, ended=62.0, status=0)
    assert held("no request before", stopped) is True


@pytest.mark.parametrize("judge", [OfApplication, OfMiddleware, OfServer])
def test_each_phrase_is_judged(judge: type[Judge]) -> None:
    role = judge.__name__.removeprefix("Of").lower()
    phrases = [name for name, row in vocabulary().phrases.items() if role in row.roles]
    assert [each for each in phrases if not hasattr(judge, each.replace(" ", "_"))] == []


def test_a_phrase_holds_only_if_the_script_came_to_its_end() -> None:
    seen = saw("well-behaved", CALLED, STARTUP, "plays receive")
    assert held("startup first", seen) is True
    found = OfServer(seen).outcome(FIRST)
    assert (found.how, found.observed.kind) == ("skip", "not-reached")
    assert Words().say(found.observed) == (
        'Step 4, "send lifespan.shutdown.complete", was not reached. The application has not come'
        ' so far: the last of it is "plays receive".'
    )
    assert OfServer(saw("well-behaved", CALLED)).outcome(FIRST).how == "broken"


def test_the_first_line_of_a_kind_is_so_by_the_clock() -> None:
    late = line("sends lifespan.startup.complete", 9)
    early = line("sends lifespan.startup.complete", 3)
    body = {**BODY, "state_id": 7}
    seen = saw("state", *BEGUN[:2], late, early, answers=answered("/", sent=5.0, **body))
    assert held("copies", seen) is False


@pytest.mark.parametrize(
    ("status", "stopped", "ended", "sentence"),
    [
        (None, 1.0, None, "The process was still there 10 s later."),
        (3, None, 5.0, "The process ended with status 3."),
        (0, 1.0, 5.25, "The process ended with status 0 after 3.2 s."),
        (-15, 1.0, 1.9, "The process ended with status 143 (SIGTERM) after 0 s."),
        (-42, None, 5.0, "The process ended with status 170 (42)."),
    ],
)
def test_how_the_process_ended(
    status: int | None, stopped: float | None, ended: float | None, sentence: str
) -> None:
    seen = saw(*GONE, status=status, stopped=stopped, ended=ended, last_action=2.0)
    assert says("gone", seen) == sentence


SAYS: list[tuple[str, Observation, str]] = [
    ("lasts", saw("well-behaved", HTTP), "The application was not called with a lifespan scope."),
    (
        "lifespan scope",
        saw("well-behaved", "called lifecycle"),
        "A scope had the type 'lifecycle'.",
    ),
    (f"shows: {POOL}", saw(*BURST, output=f" {POOL}"), f"The output says: {POOL}"),
    ("hides: lost", saw(*VALUE, **OVER_0, output="ERROR lost"), "The output says: ERROR lost"),
    ("exit status", saw(*SENT, ended=6.0, status=0), "The process ended with status 0."),
    (
        "copies",
        saw("state-on-one-connection", CALLED, unusable=fact("connection-closed")),
        "The server closed the connection after a request.",
    ),
]


@pytest.mark.parametrize(("phrase", "seen", "sentence"), SAYS)
def test_what_is_said(phrase: str, seen: Observation, sentence: str) -> None:
    assert says(phrase, seen) == sentence


GROUP = """\
INFO: starting
  + Exception Group Traceback (most recent call last):
  |   File "/a/hypercorn/run.py", line 9, in serve
  |     async with trio.open_nursery() as lifespan_nursery:
  |                ^^^^^^^^^^^^^^^^^^^^
  | ExceptionGroup: a group (1 sub-exception)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/a/hosts.py", line 87, in _asgi_lifespan
    |     await lifespan()
    | KeyError: 'message'
    +------------------------------------
Traceback (most recent call last):
  File "/a/b.py", line 2, in lifespan
    raise Failure("lifespan")
b.Failure: burst
goodbye
"""


def test_of_a_traceback_only_the_exception_counts() -> None:
    assert [word.strip(" |") for word in without_tracebacks(GROUP)] == [
        "INFO: starting",
        "ExceptionGroup: a group (1 sub-exception)",
        "+-+---------------- 1 ----------------",
        "KeyError: 'message'",
        "b.Failure: burst",
        "goodbye",
    ]


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ('File "/usr/lib/asyncio/tasks.py", line 9', 'File "…/tasks.py", line 9'),
        ("see http://127.0.0.1/a and /a", "see http://127.0.0.1/a and /a"),
        ("x" * 200, "x" * 160 + " …"),
        ("word " * 32 + "more", "word " * 32 + "…"),
        ("word " * 31 + "word.", "word " * 31 + "word."),
    ],
)
def test_a_text_is_shown_without_folders_and_cut_at_a_word(text: str, short: str) -> None:
    became = line("refused lifespan.startup.done", 3, step=1, text=text)
    seen = saw("sends-an-unknown-type", CALLED, "plays try  step=1", became)
    assert says("refused", seen) == f"send has raised ValueError: {short}"
