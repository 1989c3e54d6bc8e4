"""Small applications, each with one fault that its author wants to know of."""

import asyncio
import logging
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar
from typing import Any

from scripted import STARTED, STOPPED, says

Application = Callable[[Any, Any, Any], Awaitable[None]]
Life = Callable[[Any], AbstractAsyncContextManager[None]]


LIMIT = 1.0  # seconds for an answer that does not come
CAUSES: dict[Application, tuple[int, tuple[str, ...]]] = {}


def reported(status: int, *sentences: str) -> Callable[[Application], Application]:
    """Enter an application with its exit status, and with what the report of it says."""

    def entered(app: Application) -> Application:
        CAUSES[app] = status, sentences
        return app

    return entered


def one_line(report: object) -> str:
    """Return a report on one line, without what wraps it."""
    return " ".join(str(report).split())


class UnheardError(Exception):
    """An event that the application does not know."""


def sends(life: Life) -> Application:
    """Make an application of a lifespan that sends, as some frameworks do, an exception's text."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            return
        if scope["type"] != "lifespan":
            raise ValueError(scope["type"])
        phase = "startup"
        if (await receive())["type"] != "lifespan.startup":
            raise ValueError
        try:
            async with life(scope):
                await send({"type": "lifespan.startup.complete"})
                phase = "shutdown"
                if (await receive())["type"] != "lifespan.shutdown":
                    raise UnheardError  # noqa: TRY301
        except UnheardError:
            raise
        except Exception as error:
            await send({"type": f"lifespan.{phase}.failed", "message": str(error)})
        else:
            await send({"type": "lifespan.shutdown.complete"})

    return app


def application(life: Callable[[Any], AsyncIterator[None]]) -> Application:
    app = sends(asynccontextmanager(life))
    app.__qualname__ = life.__name__
    return app


@reported(0, "faultless keeps lifespan 2.0 (ASGI) starts yes stops yes", "12 kept")
@application
async def faultless(_: Any) -> AsyncIterator[None]:
    yield


@reported(
    2,
    "does not start",
    f"within {LIMIT:g} s (--timeout); it blocks the event loop in",
    "time.sleep(100)",
)
@application
async def blocks_at_startup(_: Any) -> AsyncIterator[None]:
    time.sleep(100)  # noqa: ASYNC251  the fault
    yield


@reported(1, "does not stop", "it blocks the event loop in `joins_at_shutdown`", "thread.join()")
@application
async def joins_at_shutdown(_: Any) -> AsyncIterator[None]:
    thread = threading.Thread(target=time.sleep, args=(100,), daemon=True)
    thread.start()
    yield
    thread.join()


@reported(2, "does not start", "it waits in `wait_for_kafka`", "--timeout")
@application
async def waits_at_startup(_: Any) -> AsyncIterator[None]:
    await wait_for_kafka()
    yield


async def wait_for_kafka() -> None:
    await asyncio.Event().wait()


@reported(1, "does not stop", "it waits in `wait_for_kafka`")
@application
async def waits_at_shutdown(_: Any) -> AsyncIterator[None]:
    yield
    await wait_for_kafka()


@reported(1, "does not stop", f"after startup, for {LIMIT:g} s (--timeout) it blocks", "in `later`")
@application
async def blocks_while_serving(_: Any) -> AsyncIterator[None]:
    async def later() -> None:
        await asyncio.sleep(0.05)
        time.sleep(100)  # noqa: ASYNC251  the fault

    task = asyncio.create_task(later())
    yield
    task.cancel()


@reported(2, "does not start", "no: KeyError: 'DATABASE_URL_OF_SHOP', in `needs_a_setting`")
@application
async def needs_a_setting(_: Any) -> AsyncIterator[None]:
    os.environ["DATABASE_URL_OF_SHOP"]
    yield


@reported(1, "does not stop", "RuntimeError: cannot flush, in `cannot_flush`")
@application
async def cannot_flush(_: Any) -> AsyncIterator[None]:
    yield
    raise ExceptionGroup("clean-up", [RuntimeError("cannot flush")])


@reported(
    1,
    "starts and stops, but its process does not end",
    "a thread that is not a daemon: connection, started in `leaves_a_thread`",
    "Close what started it",
)
@application
async def leaves_a_thread(_: Any) -> AsyncIterator[None]:
    threading.Thread(target=time.sleep, args=(100,), name="connection").start()
    yield


@reported(
    0,
    "leaves_a_task keeps lifespan 2.0 (ASGI) starts",  # what is left is no error
    "a task that still runs: `wait_for_kafka` (poller), made in `leaves_a_task`",
    "a task that still runs: `sleep`, made in `leaves_a_task`",
)
@application
async def leaves_a_task(_: Any) -> AsyncIterator[None]:
    asyncio.create_task(wait_for_kafka(), name="poller")  # noqa: RUF006  the fault
    asyncio.create_task(asyncio.sleep(100))  # noqa: RUF006  the same
    yield


@reported(
    0,
    "a child process that still runs:",
    "import time",
    "started in `leaves_a_process`, tests/conformance/causes.py:",
)
@application
async def leaves_a_process(_: Any) -> AsyncIterator[None]:
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"])  # noqa: ASYNC220
    yield


@reported(
    0,
    "and an error occurred",
    "while starting: ERROR rows: no cache",
    "while stopping: ERROR rows: the last batch was lost (RuntimeError: Plugin not yet",
)
@application
async def logs_errors(_: Any) -> AsyncIterator[None]:
    logging.getLogger("rows").error("no cache")
    yield
    try:
        raise RuntimeError("Plugin not yet initialized")  # noqa: TRY301
    except RuntimeError:
        logging.getLogger("rows").exception("the last batch was lost")


@reported(
    0,
    "while serving, the task `has_a_task_that_dies.dies`, made in `has_a_task_that_dies`",
    "while stopping, the task",
    "ConnectionError: link detached",
)
@application
async def has_a_task_that_dies(scope: Any) -> AsyncIterator[None]:
    async def dies() -> None:
        await asyncio.sleep(0.05)
        raise ConnectionError("link detached")

    scope["state"]["first"] = asyncio.create_task(dies())
    yield
    scope["state"]["second"] = asyncio.create_task(dies())
    await asyncio.sleep(0.1)


@reported(0, "a task that was cancelled and still runs: `cancels_and_goes.tidy`", "Await it after")
@application
async def cancels_and_goes(_: Any) -> AsyncIterator[None]:
    async def tidy() -> None:
        try:
            await asyncio.sleep(100)
        finally:
            await asyncio.sleep(1)

    task = asyncio.create_task(tidy())
    yield
    task.cancel()


USER: ContextVar[str] = ContextVar("user")


def stop(*_: object) -> None:
    """Be a handler of a signal."""


@reported(
    0,
    "`stop`, tests/conformance/causes.py:",
    "takes SIGINT from the server",
    "`loop.add_signal_handler` takes SIGTERM from the server",
    "gives to the context variable `USER`: put it into the state",
)
@application
async def takes_signals(_: Any) -> AsyncIterator[None]:
    USER.set("Ada")
    signal.signal(signal.SIGINT, stop)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop)
    yield


@reported(0, "while starting: WARNING RuntimeWarning: coroutine 'wait_for_kafka' was never awaited")
@application
async def awaits_nothing(_: Any) -> AsyncIterator[None]:
    wait_for_kafka()
    yield


@reported(1, " of multiprocessing (", "a child process that still runs: os.fork (")
@application
async def leaves_copies(_: Any) -> AsyncIterator[None]:
    multiprocessing.get_context("fork").Process(target=time.sleep, args=(100,)).start()
    if not os.fork():
        time.sleep(100)  # noqa: ASYNC251  the fault
    yield


@reported(1, "fails while it runs", "running: OSError: no orders, in `work`")
@application
async def fails_while_serving(_: Any) -> AsyncIterator[None]:
    async def work() -> None:
        await asyncio.sleep(0.05)
        raise OSError("no orders")

    async with asyncio.TaskGroup() as group:
        group.create_task(work())
        yield


def fail(error: BaseException) -> Callable[[Any], None]:
    """Return a step that raises this, in a function with a name."""

    def raises(_: Any) -> None:
        raise error

    return raises


raises_late = reported(
    1,
    "is served without its startup",
    "it raised OSError: no database, in `raises`",
    "after it had received lifespan.startup",
    "send lifespan.startup.failed",
)(says("receive", fail(OSError("no database"))))
raises_on_the_scope = reported(
    0, "does not support lifespan", "it raised AssertionError", "called with every scope"
)(says(fail(AssertionError())))


async def metrics(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] != "http":
        raise AssertionError(scope["type"])


@reported(
    1, "is served without its startup", "in `metrics`", "called with every scope", "is wrapped"
)
async def dispatches(scope: Any, receive: Any, send: Any) -> None:
    await receive()
    async with asyncio.TaskGroup() as group:
        group.create_task(metrics(scope, receive, send))


returns_at_shutdown = reported(1, "it returned without an answer to lifespan.shutdown")(
    says("receive", STARTED, "receive")
)
raises_at_shutdown = reported(1, "it raised at shutdown: OSError: no disk")(
    says("receive", STARTED, "receive", fail(OSError("no disk")))
)
exits = reported(2, "does not start", "it ended the process at startup: status 4")(
    says("receive", lambda _: os._exit(4))
)
exits_at_shutdown = reported(1, "it ended the process at shutdown: status 4")(
    says("receive", STARTED, "receive", lambda _: os._exit(4))
)
raises_exit = reported(2, "it ended the process at startup: SystemExit: 4")(
    says("receive", fail(SystemExit(4)))
)
kills_itself = reported(1, "it ended the process at shutdown: SIGKILL")(
    says("receive", STARTED, "receive", lambda _: os.kill(os.getpid(), 9))
)
answers_with_shutdown = reported(
    2, "the suite refused what it sent: it sent lifespan.shutdown.complete while starting"
)(says("receive", STOPPED))
says_failed = reported(2, "does not start", "no: no database")(
    says("receive", {"type": "lifespan.startup.failed", "message": "no database"})
)
says_nothing = reported(2, "it sent no message")(
    says("receive", {"type": "lifespan.startup.failed"})
)
blocks_at_last = reported(0, "stops yes", "in <lambda>", "It does not return after it has answ")(
    says("receive", STARTED, "receive", STOPPED, lambda _: time.sleep(100))
)
forks = reported(0, "keeps lifespan 2.0")(
    says("receive", lambda _: os.fork(), STARTED, "receive", STOPPED)
)


@reported(0, 'It put another object into scope["state"]')
async def rebinds(scope: Any, receive: Any, send: Any) -> None:
    """Put another object into the scope's state."""
    scope["state"] = {"pool": 1}
    await says("receive", STARTED, "receive", STOPPED)(scope, receive, send)


@reported(0, "It does not return after it has answered lifespan.shutdown")
async def lingers(scope: Any, receive: Any, send: Any) -> None:
    """Do more after the last answer."""
    await says("receive", STARTED, "receive", STOPPED)(scope, receive, send)
    await asyncio.sleep(100)


@reported(0, "on trio, which it needs")
async def on_trio(scope: Any, receive: Any, send: Any) -> None:
    """Need trio, and serve requests by it."""
    import trio  # noqa: PLC0415  as some do

    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep, 0)
        if scope["type"] not in ("lifespan", "http"):
            raise ValueError(scope["type"])
        await says("receive", STARTED, "receive", STOPPED)(scope, receive, send)


@reported(1, "does not stop", "it waits in `hangs_on_trio`")
async def hangs_on_trio(scope: Any, receive: Any, send: Any) -> None:
    """Never answer shutdown."""
    import trio  # noqa: PLC0415

    await trio.lowlevel.checkpoint()
    await says("receive", STARTED, "receive")(scope, receive, send)
    await trio.sleep(100)


@reported(2, "could not be checked", "returned 1, which cannot be awaited")
def no_coroutine(scope: Any, receive: Any, send: Any) -> int:
    """Return what cannot be awaited."""
    return 1


# ---- programs of a module of their own, as a framework runs them ------------------------------

PRELUDE = """\
import asyncio, threading
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
import anyio
from starlette.applications import Starlette
from starlette.routing import Mount

@asynccontextmanager
async def pool(*_):
    yield {"pool": object()}

"""
PROGRAMS: dict[str, tuple[str, tuple[str, ...]]] = {  # with what is told of them: of a few nothing
    "its state has another name": (
        """
inner = Starlette(lifespan=pool)
@asynccontextmanager
async def life(app):
    async with pool(inner) as state:
        inner.state.kept = state["pool"]
        async with pool(app) as own:
            yield {"other": own["pool"]}
app = Starlette(lifespan=life, routes=[Mount("/inner", inner)])
""",
        (),
    ),
    "two have the same": (
        """
inner = Starlette(lifespan=pool)
@asynccontextmanager
async def life(app):
    async with pool(app) as state, pool(inner):
        yield state
app = Starlette(lifespan=life, routes=[Mount("/inner", inner)])
app2 = Starlette(lifespan=pool)
""",
        (),
    ),
    "it is entered": (
        """
from functools import wraps
def runs(function):
    @wraps(function)
    def run():
        return [*function()]
    return run
@runs
def rows():
    yield 1
@asynccontextmanager
async def life(app):
    rows()
    async with AsyncExitStack() as stack:
        yield await stack.enter_async_context(pool())
app = Starlette(lifespan=life)
""",
        (),
    ),
    "the clean-up of its task is cancelled": (
        """
async def work():
    try:
        await anyio.sleep_forever()
    finally:
        await anyio.sleep(0.01)
@asynccontextmanager
async def life(app):
    async with anyio.create_task_group() as group:
        group.start_soon(work)
        yield
        group.cancel_scope.cancel()
app = Starlette(lifespan=life)
""",
        ("clean-up was cancelled in `work`, shop.py:16, at `await anyio.sleep(0.01)`",),
    ),
    "what it cancels is what it has to cancel": (
        """
async def work():
    try:
        await anyio.sleep_forever()
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.sleep(0.01)
async def waits():
    try:
        await anyio.sleep_forever()
    finally:
        with suppress(BaseException):
            await anyio.sleep(0.01)
@asynccontextmanager
async def life(app):
    async with anyio.create_task_group() as group:
        group.start_soon(work)
        group.start_soon(waits)
        yield
        group.cancel_scope.cancel()
    with anyio.move_on_after(0.01) as scope:
        await anyio.sleep_forever()
        scope.cancel()
    with anyio.CancelScope() as scope:
        asyncio.get_running_loop().call_soon(scope.cancel)
        await anyio.sleep_forever()
app = Starlette(lifespan=life)
""",
        (),
    ),
    "a CancelledError skips the rest": (
        """
async def close():
    await asyncio.sleep(0)
@asynccontextmanager
async def life(app):
    task = asyncio.create_task(asyncio.sleep(100))
    other = asyncio.create_task(asyncio.sleep(100))
    yield
    task.cancel()
    other.cancel()
    with suppress(asyncio.CancelledError):
        if app:
            await task
            await close()
    try:
        await other
        await close()
    except asyncio.CancelledError:
        pass
app = Starlette(lifespan=life)
""",
        (
            "`await close()` did not run, in `life`, shop.py:24: the CancelledError of `await task",
            "`await close()` did not run, in `life`, shop.py:27: the CancelledError of `await othe",
        ),
    ),
    "a CancelledError skips nothing": (
        """
async def close():
    await asyncio.sleep(0)
async def poll():
    with suppress(asyncio.CancelledError):
        while True:
            await asyncio.sleep(1)
            await close()
@asynccontextmanager
async def life(app):
    tasks = [asyncio.create_task(asyncio.sleep(100)), asyncio.create_task(poll())]
    yield
    for task in tasks:
        task.cancel()
        try:
            await task
            print("it was done")
        except asyncio.CancelledError:
            print("it was cancelled")
    try:
        for task in tasks:
            await asyncio.shield(task)
            await close()
    except asyncio.CancelledError:
        pass
    quiet = suppress(asyncio.CancelledError)
    with quiet:
        await tasks[0]
    await close()
app = Starlette(lifespan=life)
""",
        (),
    ),
    "an error of its clean-up is lost": (
        """
@asynccontextmanager
async def life(app):
    yield
    raise OSError("no disk")
def rates():
    return {}["rates"]
exec('''
async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        await receive()
        with suppress(OSError):
            async with life(scope):
                await send({"type": "lifespan.startup.complete"})
                await receive()
        with suppress(KeyError):
            rates()
        await send({"type": "lifespan.shutdown.complete"})
''')  # as a library has it
""",
        ("clean-up ended in `life`, shop.py:15 with OSError: no disk",),
    ),
    "its clean-up leaves something out": (
        """
class Pool:
    async def close(self): ...
def flush():
    raise OSError("no disk")
@asynccontextmanager
async def life(app):
    pool = Pool()
    yield
    try:
        flush()
        app.x
        await pool.close()
    finally:
        await pool.close()
    await pool.close()
app = Starlette(lifespan=life)
""",
        ("`await pool.close()` did not run, in `life`, shop.py:23: the exception left",),
    ),
    "its clean-up leaves nothing out": (
        """
@asynccontextmanager
async def life(app):
    try:
        yield
    finally:
        try:
            raise OSError("no disk")
        except OSError:
            print("logged")
        with suppress(KeyError):
            {}["key"]
        async for _ in rows():
            await asyncio.sleep(0)
async def rows():
    yield 1
app = Starlette(lifespan=life)
""",
        (),
    ),
    "it raises after its answer": (
        """
async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
        raise OSError("too late")
""",
        (),
    ),
    "a second start fails": (
        """
ready = None
@asynccontextmanager
async def life(app):
    global ready
    loop = asyncio.get_running_loop()
    ready = ready or loop.create_future()
    loop.call_later(0.01, lambda: ready.done() or ready.set_result(1))
    await asyncio.wait_for(ready, 1) if not ready.done() else check(loop)
    yield
def check(loop):
    if ready.get_loop() is not loop:
        raise RuntimeError("attached to a different loop")
app = Starlette(lifespan=life)
""",
        (
            "started once more in the same process, in a new event loop, as tests do: no: Runtime",
            "Create it in the lifespan, not at import",
        ),
    ),
    "a second stop fails": (
        """
tasks = []
async def app(scope, receive, send):
    if scope["type"] != "lifespan":
        return
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    tasks.append(1)
    if len(tasks) == 2:
        raise OSError("closed before")
    await send({"type": "lifespan.shutdown.complete"})
""",
        ("as tests do: no: it raised at shutdown: OSError: closed before, in `app`",),
    ),
    "its work ends, its lock serves every loop": (
        """
import time
lock = asyncio.Lock()
def compute():
    end = time.thread_time() + 0.02
    while time.thread_time() < end:
        pass
@asynccontextmanager
async def life(app):
    async with lock:
        thread = threading.Thread(target=compute)
        thread.start()
    yield
    thread.join()
app = Starlette(lifespan=life)
""",
        (),
    ),
    "a daemon thread goes on": (
        """
def poll(over):
    over.wait()
@asynccontextmanager
async def life(app):
    over = threading.Event()
    threading.Thread(target=poll, args=(over,), name="poller", daemon=True).start()
    yield
app = Starlette(lifespan=life)
""",
        ("a daemon thread that still runs: poller, started in `life`, shop.py:17. It goes on",),
    ),
    "a daemon thread ends, and a library has its own": (
        """
import time
def poll(over):
    over.wait()
@asynccontextmanager
async def life(app):
    over = threading.Event()
    threading.Thread(target=poll, args=(over,), daemon=True).start()
    threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
    yield
    over.set()
app = Starlette(lifespan=life)
""",
        (),
    ),
    "its startup blocks": (
        """
import time
@asynccontextmanager
async def life(app):
    time.sleep(1.2)
    yield
    await asyncio.sleep(1.2)
app = Starlette(lifespan=life)
""",
        (
            "s; most of it blocks the event loop, in `life`, shop.py:15",
            "stops yes, in 1.2 s; most of it waits in `life`, shop.py:17",
        ),
    ),
    "it closes nothing": (
        """
import logging, socket
class Session:
    closed = False
    def __del__(self): ...
class Client:
    is_closed = False
    def aclose(self): ...
class Broken(Client):
    @property
    def is_closed(self):
        raise OSError
for each in Session, Client, Broken:
    each.__module__ = "anyio"  # as a library has it
exec('def warns(): logging.getLogger("bus").warning("the consumer was not closed")')
@asynccontextmanager
async def life(app):
    app.state.session, app.state.clients = Session(), [Client(), Broken()]
    warns()
    yield
    logging.getLogger("shop").warning("the shop was not closed")
    socket.socket()
app = Starlette(lifespan=life)
""",
        (
            "a Client of anyio that is not closed.",
            "a Session of anyio that is not closed. Close it in the clean-up.",
            "while starting: WARNING bus: the consumer was not closed",
            "while stopping: WARNING ResourceWarning: unclosed <socket.socket",
        ),
    ),
    "it closes what it opens": (
        """
import logging, socket
class Session:
    closed = True
    def __del__(self): ...
Session.__module__ = "anyio"
@asynccontextmanager
async def life(app):
    logging.getLogger("shop").warning("the shop is not closed")
    app.state.session = Session()
    with socket.socket():
        yield
app = Starlette(lifespan=life)
""",
        (),
    ),
    "another answers in its place": (
        """
inner = Starlette(lifespan=pool)
class Wrap:
    def __init__(self, app):
        self.app = app
    async def __call__(self, scope, receive, send):
        if scope["type"] != "lifespan":
            return await self.app(scope, receive, send)
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
app = Wrap(inner)
""",
        ("nothing ran it startup was answered in `Wrap.__call__`, shop.py:20",),
    ),
}
# By an advice, or a fact whose sentence has its own: a program with the fault, in whose place
# `-` the advice puts `+`, and the cause in the words of the report.
TRIED: dict[str, tuple[str, str]] = {
    "advise-no-call": (
        """
@asynccontextmanager
async def life(app=None):
    yield
-app = Starlette(lifespan=life())
+app = Starlette(lifespan=life)
""",
        "'function' object does not support the asynchronous context manager protocol",
    ),
    "advise-decorator": (
        """
+@asynccontextmanager
async def life(app):
    print("starts")
+    yield
app = Starlette(lifespan=life)
""",
        "'coroutine' object does not support the asynchronous context manager protocol",
    ),
    "advise-one-argument": (
        """
@asynccontextmanager
-async def life():
+async def life(app):
    yield
app = Starlette(lifespan=life)
""",
        "takes 0 positional arguments but 1 was given",
    ),
    "given-module": (
        """
import sys
-life = sys.modules[__name__]
+life = pool
app = Starlette(lifespan=life)
""",
        "life, which Starlette was given as its lifespan, is a module: import the function",
    ),
    "advise-no-lifespan": (
        """
from django.conf import settings
from django.core.asgi import get_asgi_application
settings.configured or settings.configure(ROOT_URLCONF="shop", SECRET_KEY="x")
urlpatterns = []
app = get_asgi_application()
+from lifespec import with_lifespan
+app = with_lifespan(app, pool)
""",
        "Django can only handle ASGI/HTTP connections",
    ),
    "advise-mapping": (
        """
@asynccontextmanager
async def life(app):
-    yield ["ab", "c"]
+    yield {"first": 1}
app = Starlette(lifespan=life)
""",
        "dictionary update sequence",
    ),
    "advise-cancel-scope": (
        """
@asynccontextmanager
async def life(app):
-    group = anyio.create_task_group()
-    await asyncio.create_task(group.__aenter__())
-    yield
-    await group.__aexit__(None, None, None)
+    async with anyio.create_task_group():
+        yield
app = Starlette(lifespan=life)
""",
        "exit cancel scope in a different task",
    ),
    "advise-other-loop": (
        """
-ready = asyncio.new_event_loop().create_future()
@asynccontextmanager
async def life(app):
    loop = asyncio.get_running_loop()
+    ready = loop.create_future()
    loop.call_later(0.01, ready.set_result, 1)
    await asyncio.ensure_future(ready)
    yield
app = Starlette(lifespan=life)
""",
        "attached to a different loop",
    ),
    "advise-no-loop": (
        """
-loop = asyncio.get_running_loop()
@asynccontextmanager
async def life(app):
+    loop = asyncio.get_running_loop()
    loop.call_soon(print)
    yield
app = Starlette(lifespan=life)
""",
        "no running event loop",
    ),
    "advise-await": (
        """
async def connect():
    await asyncio.sleep(0)
@asynccontextmanager
async def life(app):
-    asyncio.run(connect())
+    await connect()
    yield
app = Starlette(lifespan=life)
""",
        "cannot be called from a running event loop",
    ),
    "advise-middleware-late": (
        """
def wraps(app):
    return app
@asynccontextmanager
async def life(app):
-    app.add_middleware(wraps)
    yield
app = Starlette(lifespan=life)
+app.add_middleware(wraps)
""",
        "Cannot add middleware after an application has started",
    ),
    "advise-yield-once": (
        """
def connect():
    raise OSError("no database")
@asynccontextmanager
async def life(app):
-    try:
-        connect()
-        yield
-    except OSError:
-        print("no database")
+    yield
app = Starlette(lifespan=life)
""",
        "generator didn't yield",
    ),
    "advise-port": (
        """
import socket
other = socket.create_server(("127.0.0.1", 0))
-PORT = other.getsockname()[1]
+PORT = 0
@asynccontextmanager
async def life(app):
    with socket.create_server(("127.0.0.1", PORT)):
        yield
app = Starlette(lifespan=life)
""",
        "Address already in use",
    ),
    "advise-service": (
        """
import socket
service = socket.create_server(("127.0.0.1", 0))
-PORT = 1
+PORT = service.getsockname()[1]
@asynccontextmanager
async def life(app):
    with socket.create_connection(("127.0.0.1", PORT)):
        yield
app = Starlette(lifespan=life)
""",
        "Connection refused",
    ),
    "advise-cancelled": (
        """
@asynccontextmanager
async def life(app):
    task = asyncio.create_task(asyncio.sleep(100))
    yield
    task.cancel()
-    await task
+    with suppress(asyncio.CancelledError):
+        await task
app = Starlette(lifespan=life)
""",
        "CancelledError",
    ),
    "advise-hooks-gone": (
        """
def start():
    print("started")
+@asynccontextmanager
+async def life(app):
+    start()
+    yield
-app = Starlette(on_startup=[start])
+app = Starlette(lifespan=life)
""",
        "unexpected keyword argument 'on_startup'",
    ),
    "advise-depends": (
        """
from fastapi import Depends, FastAPI
def settings():
    return {"pool": 1}
@asynccontextmanager
-async def life(app, found=Depends(settings)):
+async def life(app):
+    found = settings()
    print(found["pool"])
    yield
app = FastAPI(lifespan=life)
""",
        "'Depends' object is not subscriptable",
    ),
    "advise-scope": (
        """
inner = Starlette(lifespan=pool)
async def app(scope, receive, send):
+    if scope["type"] == "lifespan":
+        return await inner(scope, receive, send)
    print(scope["path"])
    await inner(scope, receive, send)
""",
        "KeyError: 'path'",
    ),
    "advise-any-scope": (
        """
inner = Starlette(lifespan=pool)
async def app(scope, receive, send):
+    if scope["type"] == "lifespan":
+        return await inner(scope, receive, send)
    if scope["type"] != "http":
        raise ValueError(scope["type"])
    await inner(scope, receive, send)
""",
        "ValueError: lifespan",
    ),
    "advise-find-lifespan": (
        """
inner = Starlette(lifespan=pool)
async def app(scope, receive, send):
-    if scope["type"] == "http":
+    if scope["type"] in ("http", "lifespan"):
        await inner(scope, receive, send)
""",
        "it returned when it was called with the scope",
    ),
    "advise-send-failed": (
        """
def connect():
    raise OSError("no database")
async def app(scope, receive, send):
    await receive()
-    connect()
+    try:
+        connect()
+    except OSError as error:
+        await send({"type": "lifespan.startup.failed", "message": str(error)})
""",
        "it raised OSError: no database, in `connect`",
    ),
    "advise-answer": (
        """
async def app(scope, receive, send):
    await receive()
+    await send({"type": "lifespan.startup.complete"})
+    await receive()
+    await send({"type": "lifespan.shutdown.complete"})
""",
        "it returned without an answer",
    ),
    "advise-wait": (
        """
async def app(scope, receive, send):
    await receive()
    await send({"type": "lifespan.startup.complete"})
+    await receive()
+    await send({"type": "lifespan.shutdown.complete"})
""",
        "it returned before it received lifespan.shutdown",
    ),
    "advise-crash": (
        """
def fetch():
    raise ValueError("no orders")
async def work():
-    fetch()
+    try:
+        fetch()
+    except ValueError:
+        print("no orders")
@asynccontextmanager
async def life(app):
    async with anyio.create_task_group() as group:
        group.start_soon(work)
        yield
app = Starlette(lifespan=life)
""",
        "it failed while it was running: ValueError: no orders, in `fetch`",
    ),
    "advise-blocked": (
        """
@asynccontextmanager
async def life(app):
    done = threading.Event()
    asyncio.get_running_loop().call_later(0.01, done.set)
-    done.wait()
+    await asyncio.to_thread(done.wait)
    yield
app = Starlette(lifespan=life)
""",
        "it blocks the event loop in `life`",
    ),
    "advise-silent": (
        """
async def app(scope, receive, send):
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
-    await receive()
    await send({"type": "lifespan.shutdown.complete"})
""",
        "instead of answering it waits for another event",
    ),
    "advise-startup": (
        """
@asynccontextmanager
async def life(app):
    ready = asyncio.Event()
+    asyncio.get_running_loop().call_later(0.01, ready.set)
    await ready.wait()
    yield
app = Starlette(lifespan=life)
""",
        "it waits in `life`",
    ),
    "advise-clean-up": (
        """
@asynccontextmanager
async def life(app):
    task = asyncio.create_task(anyio.sleep_forever())
    yield
+    task.cancel()
    await asyncio.wait([task])
app = Starlette(lifespan=life)
""",
        "it waits in `life`",
    ),
    "advise-close": (
        """
@asynccontextmanager
async def life(app):
    done = threading.Event()
    threading.Thread(target=done.wait, name="connection").start()
    yield
+    done.set()
app = Starlette(lifespan=life)
""",
        "a thread that is not a daemon",
    ),
    "advise-died": (
        """
async def work():
+    with suppress(ValueError):
-    if True:
        raise ValueError("no orders")
@asynccontextmanager
async def life(app):
    app.state.task = asyncio.create_task(work())
    yield
app = Starlette(lifespan=life)
""",
        "while serving, the task `work`",
    ),
    "advise-handler-ignored": (
        """
from fastapi import FastAPI
@asynccontextmanager
async def life(app):
+    start()
    yield
app = FastAPI(lifespan=life)
-@app.on_event("startup")
def start():
    print("started")
""",
        "an application that has a lifespan runs no handlers",
    ),
    "advise-never-ran": (
        """
inner = Starlette(lifespan=pool)
@asynccontextmanager
async def life(app):
+    async with inner.router.lifespan_context(inner) as state:
+        yield state
-    yield
app = Starlette(lifespan=life, routes=[Mount("/inner", inner)])
""",
        "`pool`, shop.py:7: it was given to Starlette, and nothing ran it",
    ),
    "state-dropped": (
        """
def around(inner):
    @asynccontextmanager
    async def life(app):
-        async with inner(app):
-            yield
+        async with inner(app) as state:
+            yield state
    return life
app = Starlette(lifespan=pool)
app.router.lifespan_context = around(app.router.lifespan_context)
""",
        "Requests do not get `pool`, which `pool`, shop.py:7 yields: it is entered in `life`,",
    ),
    "state-unseen": (
        """
inner = Starlette(lifespan=pool)
async def app(scope, receive, send):
-    await inner({**scope, "state": {}}, receive, send)
+    await inner(scope, receive, send)
""",
        "Requests do not get `pool`, which `pool`, shop.py:7 yields: something gives",
    ),
    "state-rebound": (
        """
async def app(scope, receive, send):
-    scope["state"] = {"pool": 1}
+    scope["state"]["pool"] = 1
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})
""",
        'It put another object into scope["state"]',
    ),
    "context-variable": (
        """
from contextvars import ContextVar
USER = ContextVar("USER")
@asynccontextmanager
async def life(app):
-    USER.set("Ada")
-    yield
+    yield {"user": "Ada"}
app = Starlette(lifespan=life)
""",
        "gives to the context variable `USER`",
    ),
    "entered-twice": (
        """
from starlette.routing import Router
router = Router(lifespan=pool)
@asynccontextmanager
async def life(app):
-    async with pool(app), router.lifespan_context(app) as state:
+    async with router.lifespan_context(app) as state:
        yield state
app = Starlette(lifespan=life)
""",
        "`pool`, shop.py:7 is entered twice in one startup",
    ),
    "made-only": (
        """
@asynccontextmanager
async def life(app):
-    pool()
-    yield
+    async with pool():
+        yield
app = Starlette(lifespan=life)
""",
        "`pool()`, shop.py:14 makes a context manager or a generator, and nothing enters it",
    ),
    "cut-off": (
        """
@asynccontextmanager
async def life(app):
    async with anyio.create_task_group() as group:
        group.start_soon(anyio.sleep_forever)
        yield
        group.cancel_scope.cancel()
-        await close()
+    await close()
async def close():
    await anyio.sleep(0.01)
app = Starlette(lifespan=life)
""",
        "clean-up was cancelled in `life`, shop.py:18, at `await close()`",
    ),
    "cut-off-block": (
        """
async def close():
    await asyncio.sleep(0)
@asynccontextmanager
async def life(app):
    task = asyncio.create_task(asyncio.sleep(100))
    yield
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
-        await close()
+    await close()
app = Starlette(lifespan=life)
""",
        "`await close()` did not run, in `life`, shop.py:21: the CancelledError of `await task",
    ),
    "left-out": (
        """
def flush():
    raise OSError("no disk")
async def close(): ...
@asynccontextmanager
async def life(app):
    yield
-    flush()
-    await close()
+    try:
+        flush()
+    finally:
+        await close()
app = Starlette(lifespan=life)
""",
        "`await close()` did not run, in `life`, shop.py:19: the exception left",
    ),
    "task-left": (
        """
@asynccontextmanager
async def life(app):
    task = asyncio.create_task(asyncio.sleep(100))
    yield
+    task.cancel()
app = Starlette(lifespan=life)
""",
        "a task that still runs: `sleep`, made in `life`",
    ),
    "task-unawaited": (
        """
async def work():
    try:
        await asyncio.sleep(100)
    finally:
        await asyncio.sleep(0.2)
@asynccontextmanager
async def life(app):
    task = asyncio.create_task(work())
    yield
    task.cancel()
+    await asyncio.wait([task])
app = Starlette(lifespan=life)
""",
        "a task that was cancelled and still runs: `work`",
    ),
    "unclosed": (
        """
class Client:
    is_closed = False
    def aclose(self):
        self.is_closed = True
Client.__module__ = "anyio"  # as a library has it
@asynccontextmanager
async def life(app):
    app.state.client = Client()
    yield
+    app.state.client.aclose()
app = Starlette(lifespan=life)
""",
        "a Client of anyio that is not closed.",
    ),
    "signal-taken": (
        """
import signal
before = signal.getsignal(signal.SIGTERM)
def stop(*_):
    print("stops")
@asynccontextmanager
async def life(app):
-    signal.signal(signal.SIGTERM, stop)
    yield
+    stop()
app = Starlette(lifespan=life)
""",
        "takes SIGTERM from the server",
    ),
    "busy": (
        """
async def poll():
    while True:
-        await asyncio.sleep(0)
+        await asyncio.sleep(1)
@asynccontextmanager
async def life(app):
    async with anyio.create_task_group() as group:
        group.start_soon(poll)
        yield
        group.cancel_scope.cancel()
app = Starlette(lifespan=life)
""",
        "`poll`, shop.py:14 uses ",
    ),
}
