"""What is found about an application that is started for a test."""

import asyncio
import logging
import os
import subprocess
import sys
import threading
import traceback
import warnings
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
import trio
import uvloop

from lifespec import Lifespan, ShutdownFailed, StartupFailed, StartupTimeout, server_trio
from lifespec.diagnosis.exits import ProcessEnded, noting_exits
from lifespec.diagnosis.fact import short_path
from lifespec.testing import running
from lifespec.testing.running import LifespanWarning, Running, ViolationsFound
from scripted import NOT_STOPPED, STARTED, STOPPED, says

REQUEST = {"type": "http", "path": "/"}


async def connects(scope: Any) -> None:
    """Put what was opened into the state."""
    scope["state"]["pool"] = ["connection"]


async def puts_wrong_key(scope: Any) -> None:
    """Put a key into the state that is no string: no server would refuse that."""
    scope["state"][1] = "one"


def starts(*steps: Any, stops: Any = STOPPED) -> Any:
    """Make an application that takes steps at startup, and answers a request with the state."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await says("receive", *steps, STARTED, "receive", stops)(scope, receive, send)
        else:
            await send(scope["state"])

    return app


shop, wrong_key = starts(connects), starts(puts_wrong_key)


async def get(app: Callable[..., Awaitable[object]]) -> Any:
    """Send a request, return what comes back."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    await app(REQUEST, None, send)
    return sent[0]


def text_of(error: BaseException) -> str:
    """Return what a reader sees of an exception, with its notes and its cause."""
    return "".join(traceback.format_exception(error))


def test_on_trio() -> None:
    async def main() -> None:
        async with Running(shop) as app:
            assert type(app.lifespan) is server_trio.Lifespan
            assert await get(app.app) == app.state == {"pool": ["connection"]}

    trio.run(main)


async def test_a_broken_rule_is_shown_with_the_message_sequence() -> None:
    with pytest.raises(ViolationsFound) as caught:
        async with Running(wrong_key):
            pass
    assert [each.rule for each in caught.value.violations] == ["state-keys-text"]
    rule, empty, head, *diagram = str(caught.value).splitlines()
    assert rule == (
        "[state-keys-text] The application put the key 1 into the state while starting."
    )
    assert (empty, head.split()) == ("", ["server", "application"])
    assert [line.strip(" |<->") for line in diagram] == [
        "lifespan",
        "lifespan.startup",
        "lifespan.startup.complete",
        "lifespan.shutdown",
        "lifespan.shutdown.complete",
        "returned X",
    ]


async def test_a_broken_rule_says_in_chinese_what_it_requires(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    with pytest.raises(ViolationsFound, match=r"应用程序必须以字符串作为状态的键。 [(]The app"):
        async with Running(wrong_key):
            pass


@pytest.mark.parametrize(("app", "notes"), [(shop, 0), (wrong_key, 1)])
async def test_broken_rules_are_a_note_on_an_exception_of_the_body(app: Any, notes: int) -> None:
    with pytest.raises(KeyError) as caught:
        async with Running(app):
            raise KeyError("body")
    found = getattr(caught.value, "__notes__", [])
    assert [each[:18] for each in found] == ["[state-keys-text] "] * notes


def connect() -> None:
    """Find no database."""
    raise ConnectionError("no database")


async def refuses(scope: Any, receive: Any, send: Any) -> None:
    """Fail as Starlette does: with the traceback as the message."""
    await receive()
    try:
        connect()
    except ConnectionError:
        text = traceback.format_exc()
        await send({"type": "lifespan.startup.failed", "message": text})
        raise


async def test_what_failed_at_startup_comes_first() -> None:
    with pytest.raises(StartupFailed, match="no database") as caught:
        async with Running(refuses):
            pass
    assert str(caught.value) == "The application failed to start: ConnectionError: no database"
    assert caught.value.message.startswith("Traceback")
    first, rest = text_of(caught.value).split("The above exception was the direct cause")
    frames = [line for line in first.splitlines() if line.startswith("  File")]
    assert len(frames) == 2  # none of lifespec's
    assert "in refuses" in frames[0]
    assert "lifespan.startup.failed --|" in rest
    assert "server.py" not in rest


async def test_each_start_has_its_own_cause_and_a_hang_the_line_that_waits() -> None:
    calls: list[object] = []

    async def waits() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            calls.append("cancelled")

    async def app(scope: Any, receive: Any, send: Any) -> None:
        calls.append("called")
        if len(calls) == 1:
            await shop(scope, receive, send)
        elif len(calls) == 2:
            with suppress(ConnectionError):
                await refuses(scope, receive, send)
        else:
            await waits()

    shop_of_test = Running(app, startup_timeout=1)
    async with shop_of_test:
        pass
    with pytest.raises(StartupFailed) as failed:
        await shop_of_test.__aenter__()
    assert "ConnectionError: no database, in `connect`" in text_of(failed.value)
    with pytest.raises(StartupFailed) as failed:
        await shop_of_test.__aenter__()
    line = waits.__code__.co_firstlineno + 2
    assert f"in `waits`, {short_path(Path(__file__))}:{line}" in text_of(failed.value)


async def test_what_is_sent_after_a_timeout_stands_below_the_cancellation() -> None:
    """Starlette answers its own cancellation so; the answer is not the cause."""

    async def answers(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        try:
            await asyncio.Event().wait()
        except BaseException:
            await send({"type": "lifespan.startup.failed", "message": "CancelledError"})
            raise

    with pytest.raises(StartupTimeout) as caught:
        async with Running(answers, startup_timeout=30):
            pass
    assert text_of(caught.value).splitlines()[-4:] == [
        f" 30.000 s  |-- cancelled {'-' * 42}>|",
        " 30.000 s  |<---------------------------- lifespan.startup.failed --|",
        "           |  CancelledError",
        " 30.000 s  |                                  raised CancelledError X",
    ]


@pytest.mark.parametrize(
    ("locale", "text"),
    [
        ("C", r"startup.complete while running\. \[startup-"),
        ("zh_CN.UTF-8", r"`Lifespan` 拒绝.* [(]The application .* while running\.[)] \[startup-"),
    ],
)
async def test_a_remark_is_a_warning(
    locale: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", locale)

    async def twice(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send(STARTED)
        with pytest.raises(Exception, match="startup-answered-once"):
            await send(STARTED)
        await receive()
        await send(STOPPED)

    with pytest.warns(LifespanWarning, match=text):
        async with Running(twice):
            pass


async def worker() -> None:
    """Run until cancelled; the loop holds its timer, so that it is not collected before."""
    await asyncio.sleep(1e6)


async def starts_workers(_: Any = None) -> None:
    """Leave a task behind, and cancel another in the last moment."""
    cancelled = asyncio.create_task(worker())
    asyncio.create_task(worker(), name="worker")  # noqa: RUF006
    await asyncio.sleep(0)
    cancelled.cancel()


async def starts_workers_in_a_request(scope: Any, receive: Any, send: Any) -> None:
    """Start tasks with a request."""
    if scope["type"] != "lifespan":
        await starts_workers()
    await shop(scope, receive, send)


LEFT = (
    "The application left behind the task `worker` (worker), made in"
    f" `starts_workers`, {short_path(Path(__file__))}:{starts_workers.__code__.co_firstlineno + 3}."
    " Cancel it in the clean-up. (lifespec explain task-left)"
)


async def test_a_task_that_a_request_left_behind_is_named() -> None:
    own = asyncio.create_task(worker(), name="own")  # a task of the test is none of the application
    with pytest.warns(LifespanWarning) as caught:
        async with Running(starts_workers_in_a_request) as started:
            await get(started.app)
    assert not own.done()
    own.cancel()
    assert [str(each.message) for each in caught] == [LEFT]
    assert caught[0].filename == __file__


async def test_a_task_left_behind_is_named_with_a_failure() -> None:
    with pytest.raises(ShutdownFailed) as caught:
        async with Running(starts(starts_workers, stops=NOT_STOPPED)):
            pass
    assert LEFT in caught.value.__notes__[0]


def test_without_trio_nothing_of_it_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "trio")
    assert running.lifespan_class() is Lifespan


def test_a_task_of_the_host_gets_asyncio_and_one_of_the_guest_trio() -> None:
    found: dict[str, type[Lifespan]] = {}

    async def guest() -> None:
        found["guest"] = running.lifespan_class()
        await trio.lowlevel.checkpoint()

    async def host() -> None:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[object] = loop.create_future()
        trio.lowlevel.start_guest_run(
            guest, run_sync_soon_threadsafe=loop.call_soon_threadsafe, done_callback=done.set_result
        )
        found["host"] = running.lifespan_class()
        await done

    asyncio.run(host())
    assert found == {"guest": server_trio.Lifespan, "host": Lifespan}


def test_it_is_named_after_the_application() -> None:
    assert repr(Running(shop)) == f"<Running {shop!r}>"


async def test_a_task_factory_of_somebody_else_stays() -> None:
    def makes(loop: Any, coroutine: Any, **options: Any) -> Any:
        return asyncio.Task(coroutine, loop=loop, **options)

    loop = asyncio.get_running_loop()
    loop.set_task_factory(makes)
    async with Running(shop):
        assert loop.get_task_factory() is makes
    assert loop.get_task_factory() is makes
    loop.set_task_factory(None)


async def test_a_process_of_the_test_is_none_of_the_application() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", LifespanWarning)
        async with Running(shop):
            own = subprocess.Popen(  # noqa: ASYNC220  as tests do
                [sys.executable, "-c", "input()"], stdin=subprocess.PIPE
            )
    assert own.poll() is None
    own.communicate(b"\n")


# ---- what would end the tests ------------------------------------------------------------------


async def exits(_: Any) -> None:
    os._exit(4)


async def exits_unseen(_: Any) -> None:
    with suppress(BaseException):
        os._exit(4)


async def exits_in_a_thread(_: Any) -> None:
    thread = threading.Thread(target=lambda: asyncio.run(exits_unseen(0)))
    thread.start()
    thread.join()


async def raises_exit(_: Any) -> None:
    sys.exit(4)


def line_of(function: Callable[..., Any], lines: int) -> str:
    """Return where a line of a function is, as a sentence has it."""
    code = function.__code__
    return f"`{code.co_name}`, {short_path(Path(__file__))}:{code.co_firstlineno + lines}"


@pytest.mark.parametrize(
    ("step", "lines", "kind"),
    [
        (exits, 1, StartupFailed),
        (exits_unseen, 2, AssertionError),
        (exits_in_a_thread, 0, AssertionError),
        (raises_exit, 1, StartupFailed),
    ],
)
def test_what_would_end_the_process_is_a_failure_with_its_line(
    step: Any, lines: int, kind: type[Exception]
) -> None:
    async def main() -> None:
        async with Running(starts(step)):
            pass

    before = os._exit
    with pytest.raises(kind) as caught:
        asyncio.run(main())
    said = text_of(caught.value)
    assert "would have ended this process, and all tests with it" in said
    if lines:
        assert line_of(step, lines) in said
    assert os._exit is before


async def test_a_test_that_is_cancelled_while_it_starts_leaves_no_trace() -> None:
    before = os._exit, threading.Thread.start
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05), Running(starts(lambda _: worker())):
            pass
    assert (os._exit, threading.Thread.start) == before
    assert asyncio.get_running_loop().get_task_factory() is None


def test_several_observe_exits_and_stop_in_any_order() -> None:
    def raises(_at: object, status: int) -> None:
        raise ProcessEnded(str(status))

    before = os._exit
    with ExitStack() as first, ExitStack() as second:
        first.enter_context(noting_exits(lambda _at, _status: None))
        second.enter_context(noting_exits(raises))
        first.close()
        with pytest.raises(ProcessEnded):
            os._exit(4)
    assert os._exit is before


async def test_a_fork_of_the_application_may_exit() -> None:
    async def forks(_: Any) -> None:
        child = os.fork()
        if not child:
            os._exit(7)
        _pid, status = os.waitpid(child, 0)  # noqa: ASYNC222
        statuses.append(os.waitstatus_to_exitcode(status))

    statuses: list[int] = []
    async with Running(starts(forks)):
        pass
    assert statuses == [7]


# ---- a loop that nobody wakes ------------------------------------------------------------------


async def is_set_from_a_thread(_: Any) -> None:
    ready = asyncio.Event()
    threading.Timer(0.05, ready.set).start()
    await ready.wait()


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_what_goes_on_only_since_the_limit_woke_its_loop_is_told(loop: Any) -> None:
    async def main() -> None:
        async with Running(starts(is_set_from_a_thread), startup_timeout=3):
            pass

    with warnings.catch_warnings(record=True) as caught, asyncio.Runner(loop_factory=loop) as run:
        warnings.simplefilter("always")
        try:
            run.run(main())
            said = str(caught[0].message)
        except StartupTimeout as failure:  # on uvloop the timer comes first
            said = text_of(failure)
    assert line_of(is_set_from_a_thread, 3) in said
    assert "loop.call_soon_threadsafe(event.set)" in said


# ---- each kind of what is warned about ---------------------------------------------------------

released = threading.Event()
begun: list[Any] = []  # keeps what was begun until its test has ended it


async def starts_a_thread(_: Any) -> None:
    begun.append(threading.Thread(target=released.wait))
    begun[0].start()


async def starts_a_process(_: Any) -> None:
    begun.append(subprocess.Popen(["cat"], stdin=subprocess.PIPE))  # noqa: ASYNC220


async def fails() -> None:
    raise OSError("no disk")


async def lets_a_task_fail(_: Any) -> None:
    begun.append(asyncio.create_task(fails()))
    await asyncio.wait(begun)


async def logs_an_error(_: Any) -> None:
    logging.getLogger("shop").error("no cache")


@pytest.mark.parametrize(
    ("steps", "text", "at"),
    [
        ((starts_a_thread, STARTED, "receive"), "a thread", line_of(starts_a_thread, 2)),
        ((starts_a_process, STARTED, "receive"), "child process cat", line_of(starts_a_process, 1)),
        ((lets_a_task_fail, STARTED, "receive"), "Until shutdown nothing", line_of(fails, 1)),
        ((STARTED, "receive", lets_a_task_fail), "while stopping, the task", line_of(fails, 1)),
        ((logs_an_error, STARTED, "receive"), "ERROR shop: no cache", ""),
    ],
)
async def test_each_kind_of_what_it_leaves_is_a_warning_with_its_line(
    steps: Any, text: str, at: str
) -> None:
    begun.clear()
    released.clear()
    try:
        with pytest.warns(LifespanWarning) as caught:
            async with Running(says("receive", *steps, STOPPED)):
                pass
    finally:
        released.set()
        for left in begun:
            if isinstance(left, subprocess.Popen):
                left.communicate()
            elif isinstance(left, threading.Thread):
                left.join()
    assert any(text in str(each.message) and at in str(each.message) for each in caught), [
        str(each.message) for each in caught
    ]


def test_wrong_arguments_raise_before_anything_starts() -> None:
    with pytest.raises(ValueError, match="at least 0 seconds"):
        Running(shop, startup_timeout=-1)
