"""A process whose application is given messages: what was answered is read in the probe's log."""

import sys
import threading

from lifespec.conformance.processes import until
from lifespec.conformance.server.messages import Delivered

__all__: list[str] = []

LIMIT = 30.0  # seconds; nothing here takes one
HOST = [
    sys.executable,
    "-m",
    "lifespec.conformance.server.client_host",
    "amgi-common",
    "{app}",
    "{port}",
]


def test_messages_are_answered_in_the_log() -> None:
    """Each by its own number, and with the state that it was given; a path may hold it up."""
    script = [
        ["receive", None],
        ["state", {"colour": "green"}],
        ["pause", None],
        ["converse", None],
    ]
    script[3:3] = [["send", {"type": "lifespan.startup.complete"}]]
    with Delivered(HOST, script) as subject:
        assert until(lambda: subject.lines()[1:], LIMIT)
        assert subject.ask("/", 0.1).body is None  # nobody has answered startup
        subject.go()
        assert until(lambda: subject.ask("/look", 1.0).body, LIMIT)
        first, second = subject.ask("/look", LIMIT), subject.ask("/set/taste/sweet", LIMIT)
        assert (first.path, second.path) == ("/look", "/set/taste/sweet")
        assert first.asked < first.answered < second.answered
        assert first.body
        assert first.body["state"] == {"colour": "green"}
        held = threading.Thread(target=subject.ask, args=("/hold", LIMIT))
        held.start()
        assert until(lambda: any(line["kind"] == "holds" for line in subject.lines()), LIMIT)
        assert subject.ask("/hold", 0.1).body is None
        subject.release()
        held.join(LIMIT)
        assert until(lambda: len({line["call"] for line in subject.lines()}) >= 5, LIMIT)


def test_nobody_answers_where_there_is_no_way() -> None:
    """It is not waited for."""
    with Delivered(HOST, [["hang", None]]) as subject:
        subject.deliver = lambda *_: False  # type: ignore[method-assign]
        assert subject.ask("/", LIMIT).body is None


def test_nobody_answers_where_the_process_is_gone() -> None:
    """Nor is that waited for."""
    with Delivered([sys.executable, "-c", "pass"], []) as subject:
        assert until(lambda: subject.status is not None, LIMIT)
        assert subject.ask("/", LIMIT).body is None
