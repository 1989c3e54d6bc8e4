"""What is said of what was seen, where no small application shows it."""

import asyncio
from typing import Any

import pytest

from lifespec.conformance.app.answers import Answers, SendRefused
from lifespec.conformance.app.judge import ApplicationJudge
from lifespec.conformance.app.observation import Broken, Observation
from lifespec.conformance.app.summary import Summary, second_start
from lifespec.conformance.app.target import Job
from lifespec.conformance.cases import Expectation
from lifespec.conformance.log import Log, LogLine
from lifespec.diagnosis import advice
from lifespec.diagnosis.author import described
from lifespec.diagnosis.fact import Error, Fact, Place, fact
from lifespec.diagnosis.logged import Logged
from lifespec.words import Words
from sights import in_words

JOB = Job("application", "shop:app", "asgi 2.0", 30.0)
RECEIVED = LogLine(0.0, "received", "lifespan.startup")
REFUSED = LogLine(1.0, "refused", "1", why=fact("no-event", value="1"))
CALLED = LogLine(0, "called")
REQUEST = LogLine(2.0, "called", "http", call=1)
STOPS = LogLine(2.0, "offered", "lifespan.shutdown")
KEY_ERROR = described(KeyError("pool"))
TASK = fact("task", name="`work`", place="shop.py:1")
LEFT = [fact("task-left", name=name) for name in ("`poll`", "`poll`", "`send`", TASK)]
UNRUN = [fact("never-ran", receiver="App", place=str(number)) for number in range(5)]
RECORDS = [
    Logged("ERROR", "shop", "no cache", 1.0),
    Logged("ERROR", "shop", "failed", 1.0, KEY_ERROR),
    Logged("ERROR", "shop", "startup: 'pool'", 1.0),
    Logged("ERROR", "shop", "no mail", 1.0, described(OSError("refused"))),
    Logged("ERROR", "shop", "no page", 3.0),
]
MODULE = fact("given-module", name="x", type="module", receiver="App", place="y")
RETURNED = (
    "no: the application returned without an answer after it had received lifespan.startup. A"
    " server that logs nothing else takes this for an application without lifespan support, and"
    " serves it all the same."
)


def raised_here() -> Error:
    """Return an exception that a line of this file has raised."""
    with pytest.raises(LookupError) as caught:
        raise LookupError
    return described(caught.value)


NOT_CALLABLE = described(TypeError("'module' object is not callable"))


def saw(startup: str = "", shutdown: str = "", *lines: LogLine, **more: Any) -> Observation:
    """Return what was observed: an answer is how, and when if that is not the usual moment."""
    seen = Observation(log=Log(lines), **more)
    seen.course.happens("called")
    for phase, text in ("startup", startup), ("shutdown", shutdown):
        how, _, when = text.partition(" ")
        if when != "scope":
            seen.course.happens("received")
        if phase == "shutdown" and when != "serving":
            seen.course.happens("shutdown")
        if how in ("complete", "failed"):
            seen.answers(phase, how)
        elif how:
            seen.settle(how)
    return seen


def sent(message: str) -> LogLine:
    return LogLine(1.0, "sent", "lifespan.startup.failed", message)


def stopped(*lines: LogLine, **more: Any) -> Observation:
    return saw("complete", "complete", RECEIVED, *lines, ended="returned", **more)


def row_says(seen: Observation, label: str, serving: Observation | None = None) -> list[str]:
    found = Summary(seen, serving, None, 30.0).rows()
    return [Words().say(row.fact) for row in found if row.label == label]


@pytest.mark.parametrize(
    ("seen", "label", "sentences"),
    [
        (stopped(CALLED, LogLine(1.26, "sent", "lifespan.startup.complete")),
         "starts", ["yes, in 1.3 s"]),
        (saw("failed", "", sent("'pool'"), caught=KEY_ERROR, framework="Quart"), "starts",
         ["no: KeyError: 'pool'", "(Quart sends only \"'pool'\"; this is what it had caught)"]),
        (saw("failed", "", sent("no database"), caught=KEY_ERROR), "starts",
         ["no: no database (KeyError: 'pool')"]),
        (stopped(facts=UNRUN), "never ran",
         [*(f"{number}: it was given to App, and nothing ran it" for number in range(3)),
          "and 2 more"]),
        (stopped(facts=LEFT), "still running",
         ["the task `work`, made in shop.py:1. Cancel it in the clean-up.",
          "tasks of libraries: `poll`, `send`"]),
        # neither the cause, nor what a request logged
        (saw("failed", "", CALLED, REQUEST, error=KEY_ERROR, logged=RECORDS), "logged",
         ["while starting: ERROR shop: no cache",
          "while starting: ERROR shop: no mail (OSError: refused)"]),
        (saw("complete", "returned serving", framework="Flama"), "notes",
         ["This is the doing of Flama, not of your code."]),
        (saw("complete", "returned serving", framework="Flama"), "change", []),
        (saw("returned scope", framework="Flama", refuses=True), "change",
         [Words().say(Fact("advise-any-scope"))]),
        # it raised in a line of its author, whatever framework has called that
        (saw("raised scope", framework="Flama", error=raised_here()), "change",
         [Words().say(Fact("advise-any-scope"))]),
        (saw("cancelled"), "starts", ["no: It ended when it was cancelled."]),
        (saw("returned scope"), "starts",
         ["without lifespan: the application returned when it was called with the scope"]),
        (saw("failed scope", "", sent("no disk")), "starts", ["no: no disk"]),
        (saw("returned"), "starts", [RETURNED]),
        (saw("complete", "returned serving"), "stops",
         ["without clean-up: the application returned before it received lifespan.shutdown"]),
        (saw("complete", "hung", STOPS, awaited="shutdown", activity="late"), "stops",
         ["no: not within 30 s (--timeout); its answer came later"]),
        # the innermost lines, the outermost of them first
        (saw("hung", awaited="startup", stack=tuple(Place("f", "shop.py", n) for n in range(6))),
         "where", [f"shop.py:{number}  in f  " for number in (3, 4, 5)]),
        (saw("complete", "raised", REFUSED,
              error=described(SendRefused(Fact("x")))), "stops",
         ["no: the suite refused what it sent: 1 is no event"]),
        (saw("failed", caught=NOT_CALLABLE, facts=[MODULE]), "change",
         ["x, which App was given as its lifespan, is a module: import the function from it. (y)"]),
        # and not to catch it in a task
        (saw("complete", "raised serving", error=described(ModuleNotFoundError("x"))), "change",
         ["Install the package, or add it to the requirements."]),
    ],
)  # fmt: skip
def test_a_row_says_what_was_seen(seen: Observation, label: str, sentences: list[str]) -> None:
    assert row_says(seen, label) == sentences


class Request:
    """As of a framework: its constructor has the arguments of an application."""

    def __init__(self, scope: Any, receive: Any, send: Any) -> None:
        raise ValueError(scope, receive, send) from LookupError()


def test_who_made_a_request_of_the_scope_is_named_and_not_the_constructor() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        Request(scope, receive, send)

    seen = Observation(log=Log(()))
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        asyncio.run(app({"type": "lifespan"}, print, print))
    Answers("asgi 2.0", seen).raised(caught.value)
    assert seen.reached is not None
    assert seen.reached.function.endswith("app")
    assert seen.refuses


def test_the_innermost_application_is_the_one_that_acts() -> None:
    seen = Observation(log=Log(()))
    answers = Answers("asgi 2.0", seen)

    async def receive() -> None:
        answers.acts(receives=True)

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        await receive()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await inner(scope, receive, send)

    asyncio.run(app({"type": "lifespan"}, receive, print))
    assert seen.answerer is not None
    assert (seen.answerer.parts["function"], seen.actor) == ("inner", __name__)
    assert [code.co_name for _, code in answers.receivers] == ["inner"]


def test_what_only_one_case_shows_has_its_condition() -> None:
    """What both have left behind is said once, and the condition of a whole sentence is its own."""
    thread = fact("thread-left", name="`poll`")
    lingers, ends = stopped(facts=[thread], process_stays=True), stopped(facts=[thread])
    left = row_says(lingers, "still running", ends)
    assert len(left) == 2, left
    assert left[1].endswith("Only if it is stopped at once after its start.")
    refuses = saw("raised scope", error=KEY_ERROR)
    raised, first = row_says(stopped(), "starts", refuses)
    assert raised.startswith("without lifespan: the application raised KeyError: 'pool', when")
    assert first == "yes, the first time"


@pytest.mark.parametrize(("event", "count"), [("message.nack", 1), ("message.ack", 0)])
def test_a_message_that_is_refused_the_second_time_is_told(event: str, count: int) -> None:
    before = stopped(reply=fact("replied-event", event="message.ack"))
    again = stopped(reply=fact("replied-event", event=event), before=before)
    assert len([*second_start(again, 30.0)]) == count
    assert [*second_start(saw(before=before), 30.0)] == []  # it was not started again


def test_a_lifespan_that_ran_while_it_served_or_had_no_time_to_run_is_not_named() -> None:
    assert row_says(stopped(facts=UNRUN), "never ran", stopped()) == []
    assert row_says(saw("complete", "hung", facts=UNRUN), "never ran") == []


def test_a_lifespan_that_a_framework_could_not_use_is_named() -> None:
    error = described(TypeError("takes 0 positional arguments but 1 was given"))
    seen = saw("failed", caught=error, facts=UNRUN[:1])
    assert row_says(seen, "never ran") == ["0: it was given to App, and nothing ran it"]
    assert "takes one argument" in " ".join(row_says(seen, "change"))
    own = error._replace(place=Place("f", "shop.py", 1))  # another function is meant
    assert advice.on_error(own) is None


def test_an_exception_without_advice_and_a_group_that_was_cancelled_have_none() -> None:
    error = described(BaseExceptionGroup("two", [KeyError("x"), asyncio.CancelledError()]))
    assert advice.on_error(error) is None
    assert row_says(saw("failed", caught=error), "change") == []


COMPLETE = saw("complete", "complete", sent(""))
HUNG = saw("hung", awaited="startup", activity="late")
NO_EVENT = fact("no-event", value="1")
FORBIDDEN, OPEN, SHOULD = (
    saw("complete", "complete", sent(""), broken=[Broken(rule, NO_EVENT, is_open)])
    for rule, is_open in (
        ("events-known", False),
        ("events-known", True),
        ("startup-answered-once", True),
    )
)
BOTH = saw("complete", "complete", broken=[*OPEN.broken, *SHOULD.broken, *FORBIDDEN.broken])
OVER = LogLine(2.0, "over", "with state")
KEY = fact("key-at-end", key="1")
TWICE = LogLine(1.0, "refused", "lifespan.startup.complete", why=NO_EVENT)


@pytest.mark.parametrize(
    ("rule", "phrase", "seen", "judged"),
    [
        ("startup-answered", "answered", saw("complete"), "held course"),
        ("startup-answered", "answered", saw("failed"), "held course-start"),
        ("startup-answered", "answered", saw("silent"), "broken course-start"),
        ("startup-answered", "answered", HUNG, "unspecified course-start"),
        ("startup-answered", "answered", saw("raised"), "skip course-start"),
        (
            "startup-answered",
            "answered",
            saw("raised", "", REFUSED),
            "skip had-refused why=no-event",
        ),
        ("startup-answered", "answered", saw("hung", "", REFUSED), "unspecified course-start"),
        ("shutdown-answered", "answered", COMPLETE, "held course"),
        ("shutdown-answered", "answered", saw("complete", "failed"), "held course"),
        ("shutdown-answered", "answered", saw("complete", "silent"), "broken course"),
        ("shutdown-answered", "answered", saw("complete", "hung"), "broken course"),
        ("shutdown-answered", "answered", saw("complete", "returned"), "broken course"),
        ("shutdown-answered", "answered", saw("complete", "raised"), "unspecified course"),
        ("shutdown-answered", "answered", saw("complete", "exited"), "skip course"),
        ("shutdown-answered", "answered", saw("complete", "returned serving"), "skip course"),
        ("shutdown-answered", "answered", HUNG, "skip does-not-start"),
        ("shutdown-answered", "answered", saw("failed"), "skip does-not-start"),
        # another rule names an event that was refused, unless it should have answered shutdown
        ("shutdown-answered", "answered", saw("complete", "raised", REFUSED), "skip had-refused"),
        ("shutdown-answered", "answered", saw("complete", "hung", REFUSED), "broken course"),
        (
            "shutdown-answered",
            "answered",
            saw("complete", "raised serving", TWICE),
            "skip course",
        ),
        (
            "shutdown-answered",
            "answered",
            saw("complete", "raised", TWICE),
            "broken shutdown-answered-with event=lifespan.startup.complete",
        ),
        # what is forbidden counts before what is open, and what misses a SHOULD is a fault
        ("events-known", "kept", FORBIDDEN, "broken no-event"),
        ("events-known", "kept", OPEN, "unspecified no-event"),
        ("events-known", "kept", BOTH, "broken no-event"),
        ("startup-answered-once", "kept", SHOULD, "broken no-event"),
        # without an occasion to break a rule it is not kept
        ("events-known", "kept", saw(), "skip sent-nothing"),
        ("events-known", "kept", saw("complete", "", sent("")), "held course"),
        ("events-known", "kept", saw("complete", "", sent(""), facts=[KEY]), "held course"),
        ("message-is-text", "kept", COMPLETE, "skip no-failure"),
        ("message-is-text", "kept", saw("failed", "", sent("")), "held course-start"),
        ("message-is-text", "kept", saw("complete", "failed", sent("")), "held course"),
        (
            "shutdown-answered-once",
            "kept",
            saw("complete", "", sent("")),
            "skip shutdown-unanswered",
        ),
        (
            "shutdown-answered-once",
            "kept",
            saw("complete", "failed serving", sent("")),
            "skip shutdown-unanswered",
        ),
        ("shutdown-answered-once", "kept", COMPLETE, "held course"),
        ("state-keys-text", "kept", saw("complete", "", sent("")), "skip state-empty"),
        ("state-keys-text", "kept", saw("complete", "", sent(""), OVER), "held course"),
        (
            "state-keys-text",
            "kept",
            saw("complete", "", OVER, facts=[KEY]),
            "broken key-at-end key=1",
        ),
        ("startup-answered", "answers too", COMPLETE, "held course"),
        ("startup-answered", "answers too", HUNG, "broken course-start"),
        ("startup-answered", "as usual", COMPLETE, "held course"),
        ("startup-answered", "as usual", saw("failed"), "broken course-start"),
        ("receive-refuses-unknown", "raises", saw(), "skip course-start"),
        ("receive-refuses-unknown", "raises", saw(reaction="raised"), "skip course-start"),
        (
            "receive-refuses-unknown",
            "raises",
            saw("", "", RECEIVED, reaction="raised", ended="raised"),
            "held it-raised error=no-error",
        ),
        (
            "unknown-scope-refused",
            "raises",
            saw(reaction="raised", ended="raised"),
            "held it-raised error=no-error",
        ),
        (
            "unknown-scope-refused",
            "raises",
            saw("", "", sent(""), reaction="sent"),
            "broken it-sent event=lifespan.startup.failed",
        ),
        (
            "unknown-scope-refused",
            "raises",
            saw(reaction="silent"),
            "broken did-nothing limit=30.0",
        ),
        ("unknown-scope-refused", "raises", saw(reaction="received"), "broken it-called-receive"),
        (
            "unknown-scope-refused",
            "raises",
            saw(reaction="returned", ended="returned"),
            "broken it-returned",
        ),
        ("cancellation-ends", "ends", saw(ended="cancelled"), "held it-was-cancelled"),
        ("cancellation-ends", "ends", saw(ended_when_cancelled=False), "broken it-did-not-end"),
        ("no-exit", "no exit", COMPLETE, "held course"),
        ("no-exit", "no exit", saw("exited"), "broken course-start"),
        ("no-raise", "no raise", COMPLETE, "held course"),
        ("no-raise", "no raise", HUNG, "skip course-start"),
        ("no-raise", "no raise", saw("raised", "", RECEIVED), "missed course-start"),
        ("no-raise", "no raise", saw("raised"), "skip course-start"),
        ("no-raise", "no raise", saw("raised", "", RECEIVED, REFUSED), "skip course-start"),
    ],
)
def test_a_phrase_is_judged(rule: str, phrase: str, seen: Observation, judged: str) -> None:
    outcome = ApplicationJudge(JOB, seen, COMPLETE).outcome(Expectation(rule, phrase))
    words = [outcome.how, *in_words(outcome.observed)]
    assert " ".join(words).startswith(judged)


def test_what_does_not_start_cannot_start_otherwise() -> None:
    outcome = ApplicationJudge(JOB, COMPLETE, HUNG).outcome(Expectation("", "answers too"))
    assert (outcome.how, outcome.observed) == ("skip", Fact("does-not-start"))


def test_an_end_after_its_time_does_not_change_the_answer() -> None:
    seen = saw("hung")
    seen.settle("raised")
    assert seen.startup.how == "hung"
