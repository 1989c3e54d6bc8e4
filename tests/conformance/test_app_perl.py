"""The bridge's end in Python, against a process that says what a bridge may say, or may not.

The bridge itself, in Perl, is tried in tests/real/test_bridge.py.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from lifespec.conformance.app import perl
from lifespec.conformance.app.perl import Perl, PerlError, PerlMissing

__all__: list[str] = []

FAKE = """\
import json, os, signal, sys, time

def say(**what):
    print(json.dumps(what), flush=True)

def hear():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)

def call():
    say(did="ready", loop=loop)
    return hear()

loop = "blocking" if "--blocking" in sys.argv else "IO::Async"
exec(open(sys.argv[-1]).read())
"""
LIFESPAN = {"type": "lifespan"}


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    perl.lacking.cache_clear()
    monkeypatch.setattr(perl, "GRACE", 0.2)
    yield
    perl.lacking.cache_clear()


def real(main: Coroutine[Any, Any, object], limit: float = 20.0) -> None:
    """Run on a loop of real time: a process knows no other."""

    async def limited() -> None:
        async with asyncio.timeout(limit):
            await main

    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        runner.run(limited())


@pytest.fixture
def fake(tmp_path: Path) -> Callable[..., Perl]:
    """Return an application whose process runs this program of Python."""
    (tmp_path / "fake.py").write_text(FAKE)

    def made(program: str, **options: Any) -> Perl:
        (tmp_path / "app.pl").write_text(program)
        command = (sys.executable, str(tmp_path / "fake.py"))
        return Perl(tmp_path / "app.pl", perl=command, **options)

    return made


async def never() -> object:
    """Receive nothing."""
    return await asyncio.get_running_loop().create_future()


async def take(_event: object) -> None:
    """Take everything."""


async def called(app: Perl, receive: Any = never, send: Any = take, scope: Any = LIFESPAN) -> None:
    """Call an application once, in a process of its own."""
    async with app:
        await app(scope, receive, send)


def refusing(error: Exception) -> Callable[[Any], Awaitable[None]]:
    """Return a `send` that takes nothing."""

    async def send(_event: object) -> None:
        raise error

    return send


def test_events_travel_both_ways(fake: Callable[..., Perl]) -> None:
    """What Perl sends is handed to `send`, and what `receive` returns to Perl."""
    app = fake(
        "told = call()\n"
        "say(did='receive', id=told['id'])\n"
        "event = hear()['event']\n"
        "say(did='send', id=told['id'], seq=7, event={'scope': told['scope'], 'event': event})\n"
        "ack = hear()\n"
        "say(did='send', id=told['id'], seq=8, event=ack)\n"
        "hear()\n"
        "say(did='returned', id=told['id'])\n"
    )
    sent: list[Any] = []

    async def receive() -> object:
        return {"type": "lifespan.startup", "octets": b"\xe9"}

    async def send(event: object) -> None:
        sent.append(event)

    real(called(app, receive, send))
    assert sent == [
        {"scope": LIFESPAN, "event": {"type": "lifespan.startup", "octets": "é"}},
        {"do": "ack", "id": 1, "seq": 7},
    ]
    assert app.loop == "IO::Async"


def test_state_is_a_name(fake: Callable[..., Perl]) -> None:
    """A lifespan's state is named; the name travels with the server's copies."""
    app = fake(
        "say(did='ready', loop=loop)\n"
        "for _ in range(4):\n"
        "    told = hear()\n"
        "    say(did='send', id=told['id'], seq=1, event=told['state'])\n"
        "    hear()\n"
        "    say(did='returned', id=told['id'])\n"
        "    hear()\n"
    )
    sent: list[Any] = []

    async def send(event: object) -> None:
        sent.append(event)

    async def main() -> None:
        state: dict[str, Any] = {}
        async with app:
            for scope in (
                {"type": "lifespan", "state": state},
                {"type": "http", "state": state.copy()},
                {"type": "http", "state": {"of": "somebody else"}},
                {"type": "http"},
            ):
                if scope["type"] == "http" and scope.get("state") == {}:
                    scope["state"] = state.copy()
                await app(scope, never, send)

    real(main())
    assert sent == ["state 1", "state 1", "", None]


def test_what_perl_raises_is_raised(fake: Callable[..., Perl]) -> None:
    """Its text is all that is known of it."""
    app = fake("call(); say(did='raised', id=1, error='no lifespan here'); hear()")
    with pytest.raises(PerlError, match=r"^no lifespan here$") as caught:
        real(called(app))
    assert caught.value.__cause__ is None


def test_a_cancelled_future_is_no_return(fake: Callable[..., Perl]) -> None:
    """An application that cancels its own future has not returned."""
    app = fake("call(); say(did='cancelled', id=1); hear()")
    with pytest.raises(PerlError, match="the application's future was cancelled"):
        real(called(app))


@pytest.mark.parametrize(
    ("error", "text"), [(ValueError("not\nnow"), "not now"), (KeyError(), "KeyError()")]
)
def test_a_refused_event_is_told(fake: Callable[..., Perl], error: Exception, text: str) -> None:
    """Perl gets the server's sentence; where it dies of it, the cause is the server's exception."""
    app = fake(
        "call()\n"
        "say(did='send', id=1, seq=1, event={})\n"
        "say(did='raised', id=1, error=hear()['error'])\n"
        "hear()\n"
    )
    with pytest.raises(PerlError) as caught:
        real(called(app, send=refusing(error)))
    assert (str(caught.value), caught.value.__cause__) == (text, error)


def test_a_receive_that_raises_is_told(fake: Callable[..., Perl]) -> None:
    """As in AMGI, where a request's `receive` raises."""
    app = fake("call(); say(did='receive', id=1); say(did='raised', id=1, error=hear()['error'])")

    async def receive() -> object:
        raise RuntimeError("not here")

    with pytest.raises(PerlError, match=r"^not here$"):
        real(called(app, receive))


def test_an_event_that_cannot_travel_is_told(fake: Callable[..., Perl]) -> None:
    """A server's own object is nothing that Perl could have."""
    app = fake("call(); say(did='receive', id=1); say(did='raised', id=1, error=hear()['error'])")

    async def receive() -> object:
        return {"type": object()}

    with pytest.raises(PerlError, match="cannot travel to Perl"):
        real(called(app, receive))


def test_receive_runs_in_the_task_of_the_call(fake: Callable[..., Perl]) -> None:
    """A server may look which task waits for what comes next."""
    tasks: list[Any] = []

    async def receive() -> object:
        tasks.append(asyncio.current_task())
        return {}

    async def main() -> None:
        tasks.append(asyncio.current_task())
        app = fake("call(); say(did='receive', id=1); hear(); say(did='returned', id=1); hear()")
        await called(app, receive)

    real(main())
    assert tasks[0] is tasks[1]


def test_an_application_sends_while_it_receives(fake: Callable[..., Perl]) -> None:
    """`receive` may last; and an application that ends meanwhile has ended."""
    app = fake(
        "call()\n"
        "say(did='receive', id=1)\n"
        "say(did='receive', id=1)\n"
        "say(did='send', id=1, seq=1, event='a')\n"
        "hear()\n"
        "say(did='returned', id=1)\n"
        "hear()\n"
    )
    sent: list[Any] = []

    async def send(event: object) -> None:
        sent.append(event)

    real(called(app, never, send))
    assert sent == ["a"]


def test_what_is_sent_after_the_end_does_nothing(fake: Callable[..., Perl]) -> None:
    """It is acknowledged all the same, so that nobody waits; all else is dropped."""
    app = fake(
        "call()\n"
        "say(did='returned', id=1)\n"
        "said = [hear()['do'], hear()['do']]\n"
        "say(did='receive', id=1)\n"
        "say(did='send', id=1, seq=5, event={})\n"
        "said.append(hear())\n"
        "say(did='ready', loop='too late')\n"
        "say(did='send', id=2, seq=6, event=said)\n"
        "hear()\n"
        "say(did='returned', id=2)\n"
    )
    sent: list[Any] = []

    async def send(event: object) -> None:
        sent.append(event)

    async def main() -> None:
        async with app:
            await app(LIFESPAN, never, send)
            await app(LIFESPAN, never, send)

    real(main())
    assert sent == [["cancel", "call", {"do": "ack", "id": 1, "seq": 5}]]


def test_a_cancelled_call_is_cancelled_there(
    fake: Callable[..., Perl], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Perl is told, and nobody waits for its answer; the process goes on for other calls."""
    monkeypatch.setattr(perl, "GRACE", 20)
    place = tmp_path / "told"
    app = fake(f"call(); say(did='receive', id=1); open({str(place)!r}, 'w').write(hear()['do'])")
    waits = asyncio.Event()

    async def receive() -> object:
        waits.set()
        return await never()

    async def main() -> None:
        async with app:
            call = asyncio.create_task(app(LIFESPAN, receive, take))
            await waits.wait()
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call

    real(main())
    assert place.read_text() == "cancel"


def test_a_process_that_goes_on_is_killed(fake: Callable[..., Perl], tmp_path: Path) -> None:
    """Its input has ended; after the grace it is ended by its process id."""
    place = tmp_path / "pid"
    app = fake(f"open({str(place)!r}, 'w').write(str(os.getpid()))\ncall()\ntime.sleep(100)\n")

    async def main() -> None:
        async with app:
            call = asyncio.create_task(app(LIFESPAN, never, take))
            await asyncio.sleep(0)
            call.cancel()

    began = time.monotonic()
    real(main())
    assert time.monotonic() - began < 10
    with pytest.raises(ProcessLookupError):
        os.kill(int(place.read_text()), 0)


def test_who_is_cancelled_inside_does_not_wait(
    fake: Callable[..., Perl], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A body that was cancelled, or that a limit ended, leaves no process, and at once."""
    monkeypatch.setattr(perl, "GRACE", 100)
    place = tmp_path / "pid"
    app = fake(f"open({str(place)!r}, 'w').write(str(os.getpid()))\ncall()\ntime.sleep(100)\n")

    async def cancelled() -> None:
        async with asyncio.timeout(0.5), app:
            await app(LIFESPAN, never, take)

    with pytest.raises(TimeoutError):
        real(cancelled())
    with pytest.raises(ProcessLookupError):
        os.kill(int(place.read_text()), 0)


def test_a_cancellation_does_not_keep_the_process(
    fake: Callable[..., Perl], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who is cancelled while it waits for the grace kills at once."""
    monkeypatch.setattr(perl, "GRACE", 100)
    place = tmp_path / "pid"
    app = fake(f"open({str(place)!r}, 'w').write(str(os.getpid()))\ncall()\ntime.sleep(100)\n")
    inside = asyncio.Event()

    async def body() -> None:
        async with app:
            inside.set()

    async def main() -> None:
        task = asyncio.create_task(body())
        await inside.wait()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    real(main())
    with pytest.raises(ProcessLookupError):
        os.kill(int(place.read_text()), 0)


@pytest.mark.parametrize("receives", ["", "say(did='receive', id=1); "])
def test_a_process_that_ends_is_told(fake: Callable[..., Perl], receives: str) -> None:
    """Every call that runs gets a sentence, also one that receives, and so does a later one."""
    app = fake(f"call(); {receives}sys.exit(3)")

    async def main() -> None:
        async with app:
            with pytest.raises(PerlError, match=r"^the process of perl ended with status 3$"):
                await app(LIFESPAN, never, take)
            with pytest.raises(PerlError, match=r"^no process of perl runs"):
                await app(LIFESPAN, never, take)

    real(main())


def test_a_call_needs_a_process(fake: Callable[..., Perl]) -> None:
    """It lives in `async with`, and to leave that twice is no fault."""

    async def main() -> None:
        app = fake("call()")
        with pytest.raises(PerlError, match=r"^no process of perl runs: calls belong into"):
            await app(LIFESPAN, never, take)
        await app.__aexit__(None)

    real(main())


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ({}, ""),
        (
            {"blocking": True},
            ("; it runs without IO::Async (on Debian libio-async-perl), and no timer rings there"),
        ),
    ],
)
def test_silence_is_limited(fake: Callable[..., Perl], options: Any, hint: str) -> None:
    """Where everybody waits for Perl, it has so many seconds."""
    began = time.monotonic()
    with pytest.raises(PerlError) as caught:
        real(called(fake("call(); time.sleep(100)", limit=0.2, **options)))
    assert str(caught.value) == f"perl was silent for 0.2 s{hint}"
    assert time.monotonic() - began < 10


def test_a_server_that_takes_its_time_is_no_silence(fake: Callable[..., Perl]) -> None:
    """The limit is for Perl: the server's `send` may last longer, and so may its `receive`."""
    app = fake(
        "call()\n"
        "say(did='send', id=1, seq=1, event={})\n"
        "hear()\n"
        "say(did='receive', id=1)\n"
        "hear()\n"
        "say(did='returned', id=1)\n"
        "hear()\n",
        limit=1.0,
    )

    async def receive() -> object:
        await asyncio.sleep(1.2)
        return {}

    async def send(_event: object) -> None:
        await asyncio.sleep(2.5)

    real(called(app, receive, send))


def test_what_cannot_travel_is_refused_at_once(fake: Callable[..., Perl]) -> None:
    """A scope holds what JSON can say, and octets."""
    app = fake("call()")
    with pytest.raises(TypeError, match="cannot travel to Perl"):
        real(called(app, scope={"type": "http", "loop": object()}))


@pytest.mark.parametrize(
    ("program", "kind", "sentence"),
    [
        (
            "say(did='lacking', what='Future::AsyncAwait')",
            PerlMissing,
            (
                "Future::AsyncAwait is not installed; on Debian: "
                "apt-get install libfuture-asyncawait-perl"
            ),
        ),
        (
            "say(did='lacking', what='JSON::PP')",
            PerlMissing,
            "JSON::PP is not installed; on Debian: apt-get install perl",
        ),
        ("say(did='broken', error='no sub app')", PerlError, "no sub app"),
        ("sys.exit(2)", PerlError, "the process of perl ended with status 2"),
    ],
)
def test_what_keeps_it_from_starting(
    fake: Callable[..., Perl], program: str, kind: type[PerlError], sentence: str
) -> None:
    """Each is a sentence, and nothing is left running."""
    with pytest.raises(kind) as caught:
        real(called(fake(program)))
    assert str(caught.value) == sentence


def test_a_start_is_limited(fake: Callable[..., Perl], monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that says nothing at all is ended."""
    monkeypatch.setattr(perl, "START", 0.2)
    with pytest.raises(TimeoutError):
        real(called(fake("time.sleep(100)")))


def test_without_perl_it_says_what_to_install(tmp_path: Path) -> None:
    """A command that is not there is Perl that is missing; a folder that is not there is not."""
    with pytest.raises(
        PerlMissing, match=r"^perl is not installed; on Debian: apt-get install perl"
    ):
        real(called(Perl(tmp_path / "app.pl", perl=["no-such-perl"])))
    with pytest.raises(PerlError, match=r"^there is no folder"):
        real(called(Perl(tmp_path / "nowhere" / "app.pl")))


@pytest.mark.parametrize(
    ("program", "what"),
    [
        ({"did": "ready", "loop": "IO::Async"}, ""),
        ({"did": "lacking", "what": "Future::AsyncAwait"}, "Future::AsyncAwait"),
        (None, "perl"),
    ],
)
def test_what_is_lacking(tmp_path: Path, program: Any, what: str) -> None:
    """The bridge is asked; a perl that cannot run it is none."""
    line = f"print({json.dumps(program)!r})" if program else "raise SystemExit(2)"
    (tmp_path / "fake.py").write_text(line)
    assert perl.lacking(sys.executable, str(tmp_path / "fake.py")) == what


def test_where_there_is_no_perl_it_is_lacking(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is looked for by its name."""
    monkeypatch.setenv("PATH", "")
    assert perl.lacking() == "perl"
