"""An application in Perl as an example: what is printed, logged and said."""

import logging
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lifespec.conformance.app.pipe import PipeError
from lifespec.limits import LimitPassed
from lifespec.testing.trace import Entry
from lifespec_docs.examples import perl_apps

FAKE = """
import json, sys, time
say = lambda **what: print(json.dumps(what), flush=True)
write = lambda text: print(text, file=sys.stderr, flush=True)
def hear():
    return json.loads(sys.stdin.readline() or sys.exit(0))
def sent(type_, **keys):
    say(did="send", id=1, seq=1, event={"type": type_, **keys})
    hear()
def received():
    say(did="receive", id=1)
    return hear()["event"]["type"]
say(did="ready", loop="IO::Async")
hear()
exec(open(sys.argv[-1], encoding="utf-8").read())
"""
SERVES = """
write(received())
sent("lifespan.startup.complete")
%s
say(did="receive", id=1)
%s
write(hear()["event"]["type"])
sent("lifespan.shutdown.complete")
say(did="returned", id=1)
hear()
"""
Serve = Callable[..., tuple[str, list[list[Entry]]]]


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Serve:
    """Run a program of Python, which says what a bridge says, as if it were Perl."""
    (tmp_path / "fake.py").write_text(FAKE)
    monkeypatch.setattr(perl_apps, "COMMAND", [sys.executable, str(tmp_path / "fake.py")])

    def of(source: str, requests: int = 0, seconds: float = 30.0) -> Any:
        return perl_apps.served(source, requests, seconds)

    return of


def test_what_is_printed_and_what_is_said(served: Serve) -> None:
    """The conversation is recorded, and nothing is said of the time that it took."""
    printed, said = served(SERVES % ("write('serving ü')", ""))
    assert printed == "lifespan.startup\nserving ü\nlifespan.shutdown\n"
    assert said == [
        [
            Entry(0, "called", "lifespan"),
            Entry(0, "received", "lifespan.startup"),
            Entry(0, "sent", "lifespan.startup.complete"),
            Entry(0, "received", "lifespan.shutdown"),
            Entry(0, "sent", "lifespan.shutdown.complete"),
            Entry(0, "returned"),
        ]
    ]


REQUEST = """
request = hear()
write(request["scope"]["path"] + " " + str(request["state"]))
for _ in "receive", "again":
    say(did="receive", id=request["id"])
    write(hear()["event"]["type"])
say(did="send", id=request["id"], seq=9, event={"type": "http.response.start"})
hear()
say(did="returned", id=request["id"])
"""


def test_requests_come_between(served: Serve) -> None:
    """One after the other, each with the state; what they answer goes nowhere."""
    printed, said = served(SERVES % ("", REQUEST * 2), 2)
    assert printed.splitlines() == [
        "lifespan.startup",
        "/1 state 1",
        "http.request",
        "http.request",
        "/2 state 1",
        "http.request",
        "http.request",
        "lifespan.shutdown",
    ]
    assert len(said) == 1


def test_the_log_stands_where_it_belongs(served: Serve, caplog: pytest.LogCaptureFixture) -> None:
    """Behind what was printed before it, with its level, and not in the log of the build."""
    log = logging.getLogger("lifespec.server")
    before = (log.level, log.propagate, log.disabled, log.handlers[:])
    printed, _ = served(
        """
        received()
        write("before")
        sent("lifespan.startup.failed", message="no database")
        say(did="raised", id=1, error="no database")
        hear()
        """.replace("        ", "")
    )
    assert printed == "before\nERROR: The application failed to start: no database\n"
    assert not caplog.records
    assert (log.level, log.propagate, log.disabled, log.handlers[:]) == before


def test_what_cannot_be_served_is_raised(served: Serve) -> None:
    """A process that ends at once has no application; what one raises in a request is a fault."""
    with pytest.raises(PipeError, match=r"^the program ended with status 3$"):
        served(SERVES % ("", "hear()\nsys.exit(3)"), 1)
    with pytest.raises(PipeError, match="wrote 'hello', which is no line of the protocol"):
        served("print('hello', flush=True)\nhear()")
    with pytest.raises(PipeError, match="no such request"):
        served(SERVES % ("", "hear()\nsay(did='raised', id=2, error='no such request')"), 1)


def test_it_is_limited(served: Serve, tmp_path: Path) -> None:
    """Whatever it does, and then no process is left."""
    place = tmp_path / "pid"
    began = time.monotonic()
    with pytest.raises(LimitPassed):
        served(
            f"import os\nopen({str(place)!r}, 'w').write(str(os.getpid()))\ntime.sleep(100)", 0, 1
        )
    assert time.monotonic() - began < 10
    with pytest.raises(ProcessLookupError):
        os.kill(int(place.read_text()), 0)


@pytest.mark.parametrize(
    ("program", "what"),
    [
        ("""echo '{"did":"ready"}'""", ""),
        ("""echo '{"did":"lacking","what":"Future::AsyncAwait"}'""", "Future::AsyncAwait"),
        ("exit 2", "perl"),
    ],
)
def test_what_is_lacking(
    program: str, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program is looked for; a perl is asked, too, and one that cannot run the bridge is none."""
    assert perl_apps.lacking("sh") == ""
    assert perl_apps.lacking("no-such-program") == "no-such-program"
    (tmp_path / "perl").write_text(f"#!/bin/sh\n{program}\n")
    (tmp_path / "perl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    perl_apps._lacking_of_perl.cache_clear()
    assert perl_apps.lacking("perl") == what
    perl_apps._lacking_of_perl.cache_clear()
