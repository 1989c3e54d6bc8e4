"""What a server offers: its scope, the event loop of its calls, and state."""

from typing import Any

import pytest

from lifespec.conformance.server.observation import Beside, ServerObservation
from lifespec.conformance.server.scope_assertions import OFFERED
from sights import answered, line, saw

__all__: list[str] = []

CALLED, HTTP = "called lifespan", "called http"


def offers(scope: dict[str, Any], **also: Any) -> ServerObservation:
    """Return what was seen of a server that offers a scope."""
    return saw("well-behaved", line(CALLED, 1, scope=scope, **also))


def held(phrase: str, seen: ServerObservation) -> tuple[bool | str, str]:
    """Say whether a phrase holds, and what was seen."""
    try:
        return OFFERED[phrase](seen, "")
    except Beside as beside:
        return "skip", str(beside)


def test_the_type_of_the_scope() -> None:
    """Any type beside those of lifespans and requests is wrong."""
    assert held("lifespan scope", saw("well-behaved", CALLED, HTTP)) == (True, "1 lifespan.")
    assert held("lifespan scope", saw("well-behaved", CALLED, "called message"))[0] is True
    assert held("lifespan scope", saw("well-behaved", "called lifecycle")) == (
        False,
        "A scope had the type 'lifecycle'.",
    )
    assert held("lifespan scope", saw("well-behaved", HTTP))[0] == "skip"


def worker(number: object, is_worker: object = 1) -> dict[str, object]:
    """Return what a worker is told."""
    return {"is_worker": is_worker, "worker_num": number}


@pytest.mark.parametrize(
    ("case", "boxes", "right"),
    [
        ("well-behaved", [{"is_worker": 0}], True),
        ("well-behaved", [{}], True),
        ("well-behaved", [worker(1)], True),
        ("well-behaved", [worker(0)], False),
        ("well-behaved", [worker("1")], False),
        ("well-behaved", [worker(1, 0)], False),
        ("well-behaved", [None], "skip"),
        ("two-workers", [worker(1), worker(2)], True),
        ("two-workers", [{"is_worker": 1}, {"is_worker": 1}], True),
        ("two-workers", [{}, {}], True),
        ("two-workers", [worker(1), worker(1)], False),
        ("two-workers", [{"is_worker": 0}, {"is_worker": 0}], False),
    ],
)
def test_the_numbers_of_workers(case: str, boxes: list[Any], right: object) -> None:
    """Alone, none; among several, each its own, or nobody is told."""
    lines = [line(CALLED, 1, scope={"pagi": box}) for box in boxes]
    assert held("worker numbers", saw(case, *lines))[0] == right


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
def test_the_state_of_the_scope(state: object, namespace: object, empty: object) -> None:
    """It is a namespace that can be changed, and it is empty."""
    seen = offers({"state": state})
    assert (held("namespace", seen)[0], held("empty state", seen)[0]) == (namespace, empty)


@pytest.mark.parametrize("phrase", ["namespace", "empty state", "copies", "untouched", "late key"])
def test_without_state_nothing_is_said_of_it(phrase: str) -> None:
    """A server need not offer it."""
    assert held(phrase, offers({})) == ("skip", "The server offers no state.")


@pytest.mark.parametrize(
    ("lines", "right"),
    [
        ([CALLED, HTTP], True),
        ([CALLED, "called lifecycle  call=2", HTTP], False),
        ([CALLED, "called lifespan  loop=2", "called http  loop=3"], True),
        ([CALLED, CALLED], False),
        ([CALLED, "called http  pid=2"], False),
        ([HTTP], False),
    ],
)
def test_each_process_that_serves_has_a_lifespan(lines: list[str], right: bool) -> None:
    """No process serves without one, and no loop has two."""
    assert held("one call", saw("well-behaved", *lines))[0] is right


@pytest.mark.parametrize(
    ("request_", "where"), [("pid=2", "process"), ("thread=2", "thread"), ("loop=2", "event loop")]
)
def test_a_request_elsewhere_is_named(request_: str, where: str) -> None:
    """It is told what is another: process, thread or loop."""
    seen = saw("well-behaved", CALLED, f"{HTTP}  {request_}")
    assert held("same loop", seen) == (False, f"A request came in another {where}.")


LIVE = {"state": {"colour": "green", "visitors": []}, "state_id": 7}
KEPT = {"kind": "kept", **LIVE, "ids": {"colour": 1, "visitors": 2}}
BODY = {**LIVE, "state_id": 8, "ids": {"colour": 1, "visitors": 2}, "offered": [7]}
BEGUN = [line(CALLED, 1, scope={"state": {}}), KEPT, "sends lifespan.startup.complete"]


@pytest.mark.parametrize(
    ("change", "actual"),
    [
        ({}, "Each request had a shallow copy."),
        ({"state_id": 7}, "A request had the state itself, not a copy."),
        ({"ids": {"colour": 1}}, "The values of a request are not those of a lifespan."),
        (
            {"ids": {**KEPT["ids"], "visitors": 3}},
            "The values of a request are not those of a lifespan.",
        ),
        ({"state": {"colour": "red"}}, "A key that one request set came with another."),
        ({"state": {"taste": "sweet"}}, "A key that one request set came with another."),
    ],
)
def test_a_request_has_a_shallow_copy(change: dict[str, Any], actual: str) -> None:
    """Another namespace, the same values, and no key of another request."""
    seen = saw("state", *BEGUN, answers=answered("/", **BODY | change))
    assert held("copies", seen) == (actual.startswith("Each"), actual)


ENDING = {**KEPT, "kind": "received", "type": "lifespan.shutdown"}
ITSELF = BODY | {"state_id": 7}
BY_ADA = {**BODY, "state": {"colour": "green", "visitors": ["Ada"]}}
APPENDED = answered("/append/visitors/Ada", **BODY)
LATE = ["state-set-while-serving", *BEGUN, {**KEPT, "state": {"late": "yes"}}]


@pytest.mark.parametrize(
    ("phrase", "seen", "right"),
    [
        # in the loop of one of the lifespans
        ("same loop", saw("two-workers", CALLED, f"{CALLED}  pid=2", f"{HTTP}  pid=2"), True),
        ("same loop", saw("two-workers", CALLED, f"{CALLED}  pid=2"), "skip"),
        # before the signal a call lasts; afterwards a server can give it up
        ("lasts", saw("well-behaved", CALLED, HTTP, "cancelled lifespan"), False),
        ("lasts", saw("well-behaved", CALLED, HTTP, "cancelled lifespan", stopped=9.0), False),
        ("lasts", saw("well-behaved", CALLED, HTTP, "cancelled lifespan", stopped=2.5), True),
        ("lasts", saw("well-behaved", CALLED, stopped=2.5), True),
        # what one request appends, the next one sees
        ("copies", saw("state", *BEGUN, answers=APPENDED + answered("/", **BY_ADA)), True),
        ("copies", saw("state", *BEGUN, answers=APPENDED + answered("/", **BODY)), False),
        # without state there is no copy; before startup, or without an answer, nothing is said
        ("copies", saw("state", *BEGUN, answers=answered("/", offered=[7])), False),
        ("copies", saw("state", *BEGUN, answers=answered("/", asked=1.0, **ITSELF)), "skip"),
        ("copies", saw("state", *BEGUN, answers=answered("/?")), "skip"),
        ("late key", saw(*LATE, answers=answered("/late", state={"late": "yes"})), True),
        ("late key", saw(*LATE, answers=answered("/late", state={})), False),
        ("late key", saw(*LATE, answers=answered("/", state={})), "skip"),
        ("late key", saw(*LATE[:-1]), "skip"),
        # at shutdown it is the same object with the same values
        ("untouched", saw("state", *BEGUN, ENDING), True),
        ("untouched", saw("state", *BEGUN, ENDING | {"ids": {}}), False),
        ("untouched", saw("state", *BEGUN, ENDING | {"state_id": 8}), False),
        ("untouched", saw("state", *BEGUN), "skip"),
        # where a request had the state itself, what changed it is not known
        (
            "untouched",
            saw("state", *BEGUN, ENDING | {"ids": {}}, answers=answered("/", "/?", **ITSELF)),
            "skip",
        ),
    ],
)
def test_what_holds(phrase: str, seen: ServerObservation, right: object) -> None:
    """Or is broken, or says nothing."""
    assert held(phrase, seen)[0] == right


def test_a_connection_that_is_not_as_the_case_wants_it_says_nothing_of_the_state() -> None:
    """The reason is that of the connection."""
    sentence = "The server closed the connection after a request."
    seen = saw("state-on-one-connection", "called lifespan", hindrance=sentence)
    with pytest.raises(Beside, match=sentence):
        OFFERED["copies"](seen, "")
