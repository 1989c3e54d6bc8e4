"""What the phrases of cases mean: which sequences hold them, break them, or show nothing."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from lifespec.conformance.app.compare import MiddlewareJudge
from lifespec.conformance.app.judge import ApplicationJudge
from lifespec.conformance.cases import Expectation, Role, vocabulary
from lifespec.conformance.judge import Judge, NotJudged
from lifespec.conformance.server.judge import ServerJudge
from lifespec.conformance.server.observed import without_tracebacks
from lifespec.conformance.server.play import ServerObservation
from lifespec.diagnosis.fact import Fact, fact
from lifespec.words import Words
from sights import answered, in_words, line, saw

FIRST = Expectation("startup-sent", "startup first")
HOW = {"held": True, "broken": False, "unspecified": "unspecified"}
Row = tuple[str, ServerObservation, str]


def judged(phrase: str, seen: ServerObservation) -> tuple[object, Fact]:
    """Return whether a phrase holds, "unspecified", or "skip"; and what was observed."""
    name, _, argument = phrase.partition(": ")
    judge = ServerJudge(seen)
    judge.wanted = Expectation("", name, argument)
    try:
        outcome = judge.phrase(name)
    except NotJudged as reason:
        return "skip", reason.fact
    return HOW[outcome.how], outcome.observed


def held(phrase: str, seen: ServerObservation) -> object:
    """Return whether a phrase holds, "unspecified", or "skip"."""
    return judged(phrase, seen)[0]


def says(phrase: str, seen: ServerObservation) -> str:
    """Return the sentence about what was observed."""
    return Words().say(judged(phrase, seen)[1])


PHRASES = """
[well-behaved]
startup first  holds startup-first  called, startup
startup first  broken no-events  called
startup first  broken events events=lifespan.shutdown,lifespan.startup  called, shutdown, startup
startup first  open events events=lifespan.startup,lifespan.startup  called, startup, startup
startup first  broken no-events  called, startup, called pid=2
startup first  skip no-lifespan-call  request
startup first  holds startup-first  called, startup, called call=2
startup first  holds startup-first  called, startup side=child, complete, request, shutdown
startup before requests  holds requests-before-startup count=0  called, startup, request
startup before requests  broken requests-before-startup count=1  request, called, startup
startup before requests  skip progress  called, request
startup before requests  holds requests-before-startup  called, startup side=child, request
no request before  holds requests-before-answer count=0  started, request
no request before  broken requests-before-answer count=1  called, startup, request, complete
no request before  broken requests-before-answer count=1  called, startup, request
no request before  holds requests-before-answer count=0  called, startup, request pid=2
no request before  holds requests-before-answer count=0  request, started
no request before  holds requests-before-answer count=0  started, request, cancelled
no request before  skip progress  called, request
no request before  holds requests-before-answer  called, startup side=child, complete, request
no request after  holds no-request-at-shutdown  started, request, returned http, shutdown
no request after  holds no-request-at-shutdown  started, request, cancelled http, shutdown
no request after  holds no-request-at-shutdown  started, request, raised http, shutdown
no request after  broken request-after-shutdown  started, shutdown, request
no request after  broken request-during-shutdown path=/  started, request, shutdown, returned http
no request after  holds no-request-at-shutdown  started, shutdown, request pid=2
no request after  skip progress  started
waits  holds waited end=remained  started, shutdown, answer
waits  broken clean-up-cut seconds=1 way=ended-with-status  started, shutdown, cancelled
waits  broken clean-up-cut seconds=1  started, shutdown, answer, shutdown pid=2, cancelled pid=2
waits  skip progress  started
waits  holds waited-still seconds=6  started, shutdown | last_action=11
finishes  holds end end=remained  started, answered, returned
finishes  broken not-returned end=remained  started, answered, cancelled
finishes  skip progress  started
one call  holds calls count=1  called, request
one call  broken calls-and-processes count=2 serving=1  called, lifecycle call=2, request
one call  holds calls count=2  called, called loop=2, request loop=3
one call  broken calls-and-processes count=2 serving=0  called, called
one call  broken calls-and-processes count=2 serving=0  called, startup, called call=2
one call  broken calls-and-processes count=1 serving=1  called, request pid=2
one call  broken calls-and-processes count=0 serving=1  request
lifespan scope  holds lifespan-scopes count=1  called, request
lifespan scope  broken scope-type type='lifecycle'  lifecycle
lifespan scope  skip no-lifespan-call  request
# before the signal a call lasts; afterwards a server can give it up
lasts  broken cancelled-early  called, request, cancelled
lasts  broken cancelled-early  called, request, cancelled | stopped=9
lasts  holds not-cancelled  called, request, cancelled | stopped=2.5
lasts  holds not-cancelled  called | stopped=2.5
# a loop has one call, unless it serves again
lasts  broken calls-in-a-loop count=2  called, called call=2 | stopped=9
lasts  open calls-in-a-loop count=2  called, returned, called call=2
lasts  holds not-cancelled  called, called loop=2 | stopped=9
# to each application that has started, once the server was told to stop
shutdown once  holds shutdown-once end=remained  started, shutdown | stopped=4.5
shutdown once  broken shutdown-times count=0 end=remained  started | stopped=4.5
shutdown once  open shutdown-times count=2 end=remained  started, shutdown, shutdown | stopped=4.5
shutdown once  holds shutdown-once end=remained  started, called pid=2, shutdown | stopped=4.5
shutdown once  skip not-stopped end=remained  started
shutdown once  skip progress  called, startup | stopped=4.5
shutdown once  skip no-lifespan-call  imported | stopped=4.5
shutdown once  skip cancelled-before-stop  started, cancelled | stopped=9
shutdown once  broken shutdown-times count=0 end=remained  started, cancelled | stopped=4.5

[port-in-use]
# there the server ends without a signal
shutdown once  skip port-in-use  imported
shutdown once  holds shutdown-once end=remained  started, shutdown
shutdown once  broken shutdown-times count=0  started, cancelled

[two-workers]
# in the loop of one of the lifespans
same loop  holds same-loop  called, called pid=2, request pid=2
same loop  skip no-request  called, called pid=2
one call  broken calls-and-processes count=1 serving=0  called

[raises-on-the-scope]
# a request that was not answered, or not even made, was not served
served  holds served  called, plays raise, raised | answers=/
served  broken not-served-waits end=remained  called, plays raise, raised | answers=/?
served  broken not-served-waits end=remained  called, plays raise, raised
served  skip not-reached number=1  called
served  broken not-served end=ended-with-status  called, plays raise, raised | ended=9
# a word about the lifespan, as the exception has it, other than in a path or a traceback
tells  holds output  called, plays raise | output=INFO: Lifespan is unsupported
tells  holds output  called, plays raise | output=Failure: no lifespan here
tells  broken not-in-output  called, plays raise | output=started
tells  broken not-in-output  called, plays raise | output=File "/lib/asgi_lifespan/wait.py"
tells  holds output  called, plays raise | output=File "/lib/asgi/lifespan.py"
tells  broken not-in-output  called, plays raise | output=  File "a.py", line 9, in lifespan
# an event that a task of the application receives after the end
quiet  holds no-late-event  called, plays raise, raised
quiet  open late-event event=lifespan.shutdown  called, plays raise, raised, shutdown side=child
quiet  holds no-late-event  called, shutdown side=child, returned
quiet  skip progress  called, shutdown side=child

[raises-after-startup]
# what an application does before it answers is no answer
served  skip not-reached number=3  called, plays receive, startup, plays listen step=1
served  holds served  called, plays listen step=1, plays raise step=2 | answers=/

[returns-on-the-scope]
# a server that ended did not serve, and another rule says so
not blocked  holds served  called, plays return, returned | answers=/
not blocked  holds served  called, plays return, returned | answers=/ ended=9
not blocked  skip not-served end=ended-with-status  called, plays return, returned | ended=9
not blocked  broken not-served-waits  called, plays return, returned | stopped=8 ended=9
not blocked  broken not-served-waits end=remained  called, plays return, returned
tells  holds output  called, plays return | output=the lifespan has ended
tells  broken not-in-output  called, plays return | output=started
tells  skip not-reached number=1  called, plays receive step=9 | output=the lifespan has ended
tells  skip app-not-served end=ended-with-status  called, plays return | ended=4 output=lifespan

[failed-with-message]
# requests that came before a failure are no fault
not served  holds requests-after-failed count=0 end=remained  called, request, failed
not served  broken requests-after-failed count=1 end=remained  called, failed, request
not served  skip progress  called, request
# one that was told to end did not end by itself
exits  holds end end=ended-with-status  called, failed | ended=5 status=3
exits  broken end end=ended-after  called, failed | ended=5 status=3 stopped=4
exits  broken end end=remained  called, failed
exits  skip progress  called | ended=5 status=3
# a status of 0, or of the signal that was sent, does not show a failure
exit status  holds noticed way=ended-with-status  called, plays send step=1 | ended=6 status=3
exit status  broken end end=ended-with-status  called, plays send step=1 | ended=6 status=0
exit status  broken end  called, plays send step=1 | ended=6 status=-15 stopped=4.5
exit status  skip end end=remained  called, plays send step=1
exit status  skip not-reached number=2  called | ended=6 status=3
# a text in the output, once it was sent
shows: no database at db-1  holds output  called, plays send step=1 | output=no database at db-1
shows: no database at db-1  broken not-in-output  called, plays send step=1 | output=start
shows: no database at db-1  skip not-reached number=2  called | output=no database at db-1

[crashes-while-serving]
shows: the pool has burst  holds output  called, plays raise step=4 | output=the pool has burst

[returns-a-value]
hides: lost  holds end end=ended-after  called, plays give step=4 | stopped=1 ended=6 status=0
hides: lost  broken output  called, plays give step=4 | stopped=1 ended=6 output=three are lost

[stopped-after-a-failed-start]
gone  holds end end=ended-with-status  called, plays receive step=2 | ended=6
gone  broken end end=remained  called, plays receive step=2 | stopped=4
gone  skip not-reached number=3 line=receive  called, plays try step=1 | ended=6

[sends-after-its-end]
does nothing  holds send-returned  called, answered side=child
does nothing  broken send-raised error=ValueError text=  called, refused x side=child
does nothing  skip progress  called

[failed-without-message]
# a KeyError, from send or in the output, shows that a message is looked for
as empty  holds no-message-needed end=remained  called, plays send step=1
as empty  broken key-error  called, plays send step=1, refused x error=KeyError
as empty  broken key-error  called, plays send step=1 | output=KeyError: 'message'
as empty  holds no-message-needed  called, plays send step=1 | output=no KeyError: 'message' here
as empty  holds no-message-needed  called, plays send step=1 | output=KeyError: 'colour'
as empty  skip not-reached number=2  called

[raises-at-shutdown]
# it was told to stop, and the application has come to its last step
process ends  holds end end=ended-after  started, plays raise step=3 | stopped=4.5 status=0 ended=6
process ends  broken end end=remained  started, plays raise step=3 | stopped=4.5 status=0
process ends  skip not-reached number=4  started | stopped=4.5 status=0 ended=6
process ends  skip not-stopped end=ended-with-status  started, plays raise step=3 | ended=6

[sends-an-unknown-type]
# a refusal is no answer; what was sent in another step is no attempt
taken  holds send-returned  called, plays try step=1, sent x step=1
taken  broken send-raised error=ValueError text=  called, plays try step=1, refused x step=1
taken  skip progress  called, plays try step=1
taken  skip progress  called, plays try step=1, sent x step=2
taken  skip not-reached number=2  called, sent x step=1
refused  broken send-returned  called, plays try step=1, sent x step=1
refused  holds send-raised error=ValueError text=  called, plays try step=1, refused x step=1
survives  skip send-returned  called, plays try step=1, sent x step=1 | answers=/
survives  holds served  called, plays try step=1, refused x step=1 | answers=/

[limit-expires]
# a connection that was closed in time may leave a call that goes on
connections closed  holds connections-closed  started, request, returned http, shutdown | closed=4.5
connections closed  holds connections-closed  started, request, cancelled http, shutdown | closed=9
connections closed  broken connection-at  started, request, shutdown, returned http | closed=9
connections closed  open request-during  started, request, shutdown, returned http | closed=5.5
connections closed  open request-during-shutdown path=/  started, request, shutdown | closed=6.2
connections closed  skip no-request  started, request, shutdown
connections closed  skip progress  started, request | closed=9

[slow-shutdown]
no connection after  holds refused-after-shutdown  started, shutdown | knocks=refused
no connection after  broken answered-after-shutdown  started, shutdown | knocks=answered
no connection after  open connected-after-shutdown  started, shutdown | knocks=unanswered
no connection after  skip progress  started, shutdown
no connection after  skip progress  started | knocks=answered
"""
RIGHT = {True: "holds", False: "broken", "unspecified": "open", "skip": "skip"}


def phrases() -> Iterator[Row]:
    """Yield the rows of PHRASES: below a case phrases, what they say first, of what was seen."""
    case = ""
    for row in PHRASES.strip().splitlines():
        if row.startswith("["):
            case = row[1:-1]
        elif row and not row.startswith("#"):
            phrase, right, seen = re.split(" {2,}", row, maxsplit=2)
            sequence, _, facts = seen.partition(" | ")
            yield phrase, saw(case, sequence, **of_process(facts)), right


def of_process(text: str) -> dict[str, Any]:
    """Return what else was observed: of `key=value`, the last perhaps an output."""
    words, is_there, output = text.partition("output=")
    facts: dict[str, Any] = {"output": output} if is_there else {}
    for key, _, value in (word.partition("=") for word in words.split()):
        of = {"answers": answered, "knocks": lambda each: [each], "status": int}
        of["closed"] = lambda each: [float(each)]
        facts[key] = of.get(key, float)(value)
    return facts


LIVE = {"state": {"colour": "green", "visitors": []}, "state_id": 7}
KEPT = line("kept", **LIVE, ids={"colour": 1, "visitors": 2})
BODY = {**LIVE, "state_id": 8, "ids": {"colour": 1, "visitors": 2}, "offered": [7]}
BEGUN = [line("called lifespan", event={"state": {}}), KEPT, "complete"]
ENDING = KEPT._replace(kind="received", type="lifespan.shutdown")
ITSELF = BODY | {"state_id": 7}
BY_ADA = {**BODY, "state": {"colour": "green", "visitors": ["Ada"]}}
APPENDED = answered("/append/visitors/Ada", **BODY)
LATE = ["state-set-while-serving", *BEGUN, KEPT._replace(state={"late": "yes"})]
STATE: list[Row] = [
    # what one request appends, the next one sees
    ("copies", saw("state", *BEGUN, answers=APPENDED + answered("/", **BY_ADA)), "holds copies"),
    (
        "copies",
        saw("state", *BEGUN, answers=APPENDED + answered("/", **BODY)),
        "broken change-lost",
    ),
    ("copies", saw("state", *BEGUN, answers=answered("/", "/append?", **BODY)), "holds copies"),
    # without state there is no copy; before startup, or without an answer, nothing is said
    (
        "copies",
        saw("state", *BEGUN, answers=answered("/", offered=[7])),
        "broken request-without-state",
    ),
    (
        "copies",
        saw("state", *BEGUN, answers=answered("/", sent=1.0, **ITSELF)),
        "skip no-request-answered",
    ),
    ("copies", saw("state", *BEGUN, answers=answered("/?")), "skip no-request-answered"),
    ("late key", saw(*LATE, answers=answered("/late", state={"late": "yes"})), "holds late-key"),
    ("late key", saw(*LATE, answers=answered("/late", state={})), "broken no-late-key"),
    ("late key", saw(*LATE, answers=answered("/", state={})), "skip no-request-answered"),
    ("late key", saw("state", *BEGUN, answers=answered("/late", state={})), "skip progress"),
    ("late key", saw(*LATE[:-1]), "skip progress"),
    # at shutdown it is the same object with the same values
    ("untouched", saw("state", *BEGUN, ENDING), f"holds state-at-shutdown state={LIVE['state']}"),
    (
        "untouched",
        saw("state", *BEGUN, ENDING._replace(ids={}, state={"pool": 1}), ENDING),
        "broken state-at-shutdown state={'pool': 1}",
    ),
    ("untouched", saw("state", *BEGUN, ENDING._replace(state_id=8)), "broken state-at-shutdown"),
    ("untouched", saw("state", *BEGUN), "skip no-shutdown"),
    # where a request had the state itself, what changed it is not known
    (
        "untouched",
        saw("state", *BEGUN, ENDING._replace(ids={}), answers=answered("/", "/?", **ITSELF)),
        "skip changed-by-requests",
    ),
]


@pytest.mark.parametrize(("phrase", "seen", "right"), [*phrases(), *STATE])
def test_a_phrase_holds_or_breaks_or_neither(
    phrase: str, seen: ServerObservation, right: str
) -> None:
    how, observed = judged(phrase, seen)
    words = [RIGHT[how], *in_words(observed)]
    assert " ".join(words).startswith(right)


def offers(scope: dict[str, Any], **also: Any) -> ServerObservation:
    """Return what was seen of a server that offers a scope."""
    return saw("well-behaved", line("called lifespan", event=scope, **also))


@pytest.mark.parametrize(
    ("scope", "spec", "right"),
    [
        ({"asgi": {"version": "3.0", "spec_version": "2.0"}}, "asgi 2.0", True),
        ({"asgi": {"version": "3.0"}}, "asgi 2.0", True),
        ({"asgi": {"spec_version": "2.0"}}, "asgi 2.0", False),
        ({"asgi": {"version": 3}}, "asgi 2.0", False),
        ({"asgi": {"!": "Versions", "version": "3.0"}}, "asgi 2.0", False),
        ({}, "asgi 2.0", False),
        ({"amgi": {"version": "2.0"}}, "amgi 2.0", False),
    ],
)
def test_the_versions_are_strings(scope: dict[str, Any], spec: str, right: bool) -> None:
    seen = offers(scope)
    seen.spec = spec
    key = spec.split(maxsplit=1)[0]
    assert judged("versions", seen) == (right, fact("versions", key=key, value=str(scope.get(key))))


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
    observed = fact("state", state=str(state))
    assert judged("namespace", seen) == (namespace, observed)
    assert judged("empty state", seen) == (empty, observed)


@pytest.mark.parametrize("phrase", ["namespace", "empty state", "copies", "untouched", "late key"])
def test_without_state_its_phrases_are_not_judged(phrase: str) -> None:
    assert (held(phrase, offers({})), says(phrase, offers({}))) == (
        "skip",
        "The server provides no state.",
    )


@pytest.mark.parametrize(
    ("sequence", "sentence"),
    [
        ("called, request pid=2", "A request came in another process."),
        ("called, request thread=2", "A request came in another thread."),
        ("called, request loop=2", "A request came in another event loop."),
        ("called loop=0, request", "The lifespan ran in no event loop."),
    ],
)
def test_a_request_in_another_process_thread_or_loop_is_named(sequence: str, sentence: str) -> None:
    seen = saw("well-behaved", sequence)
    assert (held("same loop", seen), says("same loop", seen)) == (False, sentence)


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


@pytest.mark.parametrize(
    ("sequence", "kind"),
    [
        ("called", None),
        ("called, startup, shutdown", None),
        ("called, shutdown", "misled"),
        ("called, startup, startup", "startup-twice"),
        ("called, startup side=child, complete, request, shutdown", None),
        ("called, startup side=child, startup", "startup-twice"),
        ("called, startup, called call=2, shutdown call=2", "misled"),
    ],
)
def test_events_in_another_order_mislead_the_script(sequence: str, kind: str | None) -> None:
    assert ServerJudge(saw("well-behaved", sequence)).misled() == (kind and Fact(kind))


def test_a_limit_of_startup_is_a_fault_only_if_the_server_then_serves() -> None:
    early = saw("very-slow-start", "called, startup, cancelled, request")
    assert held("no request before", early) is False
    assert says("no request before", early) == (
        "Requests before startup was answered: 1. The server ended startup after 1 s."
    )
    gone = saw("very-slow-start", "called, startup", ended=62.0, status=0)
    assert held("no request before", gone) == "unspecified"
    assert "ended startup after 60 s; the process ended with st" in says("no request before", gone)
    stopped = saw("hangs-at-startup", "called, startup", stopped=5.0, ended=62.0, status=0)
    assert held("no request before", stopped) is True


@pytest.mark.parametrize(
    ("role", "judge"),
    [("application", ApplicationJudge), ("middleware", MiddlewareJudge), ("server", ServerJudge)],
)
def test_each_phrase_is_judged(role: Role, judge: type[Judge]) -> None:
    phrases = [name for name, row in vocabulary().phrases.items() if role in row.roles]
    assert phrases
    assert [each for each in phrases if not hasattr(judge, each.replace(" ", "_"))] == []


def test_a_phrase_holds_only_if_the_script_came_to_its_end() -> None:
    seen = saw("well-behaved", "called, startup, plays receive")
    assert held("startup first", seen) is True
    found = ServerJudge(seen).outcome(FIRST)
    assert (found.how, found.observed.kind) == ("skip", "not-reached")
    assert Words().say(found.observed) == (
        'Step 4, "send lifespan.shutdown.complete", was not reached. The application has not come'
        ' so far: the last of it is "plays receive".'
    )
    assert ServerJudge(saw("well-behaved", "called")).outcome(FIRST).how == "broken"


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
        (-42, None, 5.0, "The process ended with status 170 (signal 42)."),
    ],
)
def test_how_the_process_ended(
    status: int | None, stopped: float | None, ended: float | None, sentence: str
) -> None:
    facts = {"status": status, "stopped": stopped, "ended": ended, "last_action": 2.0}
    seen = saw("stopped-after-a-failed-start", "called, plays receive step=2", **facts)
    assert says("gone", seen) == sentence


def test_what_is_said() -> None:
    assert says("lasts", saw("well-behaved", "request")).endswith("called with a lifespan scope.")
    assert says("lifespan scope", saw("well-behaved", "lifecycle")).endswith("'lifecycle'.")
    burst = saw("crashes-while-serving", "called, plays raise step=4", output=" the pool has burst")
    assert says("shows: the pool has burst", burst) == "The output says: the pool has burst"


def test_a_connection_that_cannot_be_used_says_nothing_about_state() -> None:
    closed = saw("state-on-one-connection", "called", unusable=fact("connection-closed"))
    assert judged("copies", closed) == ("skip", fact("connection-closed"))


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
    seen = saw("sends-an-unknown-type", "called, plays try step=1", became)
    assert says("refused", seen) == f"send has raised ValueError: {short}"
