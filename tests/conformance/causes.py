"""Small programs, each with one fault that its author wants to know of, and their neighbours.

A heading says what a program is like, and the exit status of its check unless that is 0.  Below it
stand what the report says, after `>`, the names of the problems that fail with --strict, after `=`,
and the lines of the module.  Where these do not say it, `life` is a context manager, and `app` is
Starlette's with `life`.
"""

from typing import NamedTuple

PRELUDE = """\
import anyio, asyncio, logging, os, signal, socket, subprocess, sys, threading, time
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from scripted import NOT_STARTED, SHUTDOWN, STARTED, STARTUP, STOPPED, says
from starlette.applications import Starlette
from starlette.routing import Mount

@asynccontextmanager
async def pool(*_):
    yield {"pool": object()}

"""
MANAGER = "@asynccontextmanager"


class Program(NamedTuple):
    """The exit status of a check of a module's `app`, what the report says, and the lines.

    `problems` are the names of what was found beside the rules.
    """

    status: int
    sentences: list[str]
    problems: list[str]
    source: str


def programs(text: str) -> dict[str, Program]:
    """Read programs by name."""
    found = {}
    for each in text.split("## ")[1:]:
        head, *lines = each.rstrip().split("\n")
        name, _, status = head.partition(", exit ")
        said = [each[2:] for each in lines if each.startswith("> ")]
        lines = lines[len(said) :]
        problems = lines.pop(0)[2:].split(", ") if lines[0].startswith("= ") else []
        source = "\n".join(["", *lines, ""])
        if MANAGER not in source:
            source = source.replace("\nasync def life(", f"\n{MANAGER}\nasync def life(")
        if "app = " not in source and "def app(" not in source:
            source += "app = Starlette(lifespan=life)\n"
        found[name] = Program(int(status or 0), said, problems, source)
    return found


# `lifespec check app`, the fixture and `lifespec watch` say the same of these.
FAULTS = programs("""
## it keeps every rule
> keeps lifespan 2.0 (ASGI) starts yes stops yes
> 12 kept
app = says(STARTUP, STARTED, SHUTDOWN, STOPPED)

## it blocks at shutdown, exit 1
> does not stop
> it blocks the event loop in `life`
> thread.join()
async def life(app):
    thread = threading.Thread(target=time.sleep, args=(100,), daemon=True)
    thread.start()
    yield
    thread.join()

## it blocks while it serves, exit 1
> does not stop
> after startup, for 2 s (--timeout) it blocks
> in `later`
async def later():
    await asyncio.sleep(0.05)
    time.sleep(100)
async def life(app):
    task = asyncio.create_task(later())
    yield
    task.cancel()

## it blocks after its last answer
> stops yes
> in <lambda>
> It does not return after it has answered lifespan.shutdown
= does-not-return
app = says("receive", STARTED, "receive", STOPPED, lambda _: time.sleep(100))

## it fails with a group of exceptions, exit 1
> does not stop
> RuntimeError: cannot flush, in `life`
async def life(app):
    yield
    raise ExceptionGroup("clean-up", [RuntimeError("cannot flush")])

## it leaves copies of itself, exit 1
>  of multiprocessing (
> the child process os.fork (
= process-left
import multiprocessing
async def life(app):
    multiprocessing.get_context("fork").Process(target=time.sleep, args=(100,)).start()
    if not os.fork():
        time.sleep(100)
    yield

## a process that it has forked returns
> keeps lifespan 2.0
= process-left
app = says("receive", lambda _: os.fork(), STARTED, "receive", STOPPED)

## it logs errors
> and an error was logged
> while starting: ERROR rows: no cache
> while stopping: ERROR rows: the last batch was lost (RuntimeError: Plugin not yet
= logged-error
async def life(app):
    logging.getLogger("rows").error("no cache")
    yield
    try:
        raise RuntimeError("Plugin not yet initialized")
    except RuntimeError:
        logging.getLogger("rows").exception("the last batch was lost")

## logging is configured from a file
> `configure`, shop.py:
> disables the loggers that exist already
= loggers-disabled
from configparser import ConfigParser
from logging.config import fileConfig
FILE = {"loggers": {"keys": "root"}, "logger_root": {"handlers": ""}}
def configure():
    parser = ConfigParser()
    parser.read_dict({**FILE, "handlers": {"keys": ""}, "formatters": {"keys": ""}})
    fileConfig(parser)
async def life(app):
    configure()
    configure()
    yield

## it awaits nothing
> while starting: WARNING RuntimeWarning: coroutine 'sleep' was never awaited: the
> coroutine was made in `life`, shop.py:14
= logged-error
async def life(app):
    asyncio.sleep(1)
    yield

## it raises on the scope
> does not support lifespan
> the application raised AssertionError
> called with every scope
app = says(AssertionError())

## one that it calls raises on the scope, exit 1
> is served without its startup
> in `metrics`
> called with every scope
> is wrapped
async def metrics(scope, receive, send):
    if scope["type"] != "http":
        raise AssertionError(scope["type"])
async def app(scope, receive, send):
    await receive()
    async with asyncio.TaskGroup() as group:
        group.create_task(metrics(scope, receive, send))

## it returns at shutdown, exit 1
> the application returned without an answer to lifespan.shutdown
app = says("receive", STARTED, "receive")

## it raises at shutdown, exit 1
> the application raised at shutdown: OSError: no disk
app = says("receive", STARTED, "receive", OSError("no disk"))

## it exits, exit 2
> does not start
> the application ended the process at startup: status 4, in `<lambda>`, shop.py:12
app = says("receive", lambda _: os._exit(4))

## it exits at shutdown, exit 1
> the application ended the process at shutdown: status 4, in `<lambda>`, shop.py:12
app = says("receive", STARTED, "receive", lambda _: os._exit(4))

## it raises SystemExit, exit 2
> the application ended the process at startup: SystemExit: 4
app = says("receive", SystemExit(4))

## it kills itself, exit 1
> the application ended the process at shutdown: SIGKILL
app = says("receive", STARTED, "receive", lambda _: os.kill(os.getpid(), 9))

## it answers with shutdown, exit 2
> the suite refused what it sent: it sent lifespan.shutdown.complete while starting
app = says("receive", STOPPED)

## it says that it failed, exit 2
> does not start
> no: no database
app = says("receive", NOT_STARTED | {"message": "no database"})

## it fails without a message, exit 2
> it sent no message
app = says("receive", NOT_STARTED)

## it needs trio
> on trio, which it needs
async def app(scope, receive, send):
    import trio
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep, 0)
        if scope["type"] not in ("lifespan", "http"):
            raise ValueError(scope["type"])
        await says("receive", STARTED, "receive", STOPPED)(scope, receive, send)

## it hangs on trio, exit 1
> does not stop
> it sleeps in `app`
async def app(scope, receive, send):
    import trio
    await trio.lowlevel.checkpoint()
    await says("receive", STARTED, "receive")(scope, receive, send)
    await trio.sleep(100)

## it returns no coroutine, exit 2
> could not be checked
> returned 1, which cannot be awaited
def app(scope, receive, send):
    return 1
""")
# What the check sees alone.  Of one without a sentence nothing is told: it has no fault.
PROGRAMS = programs("""
## one of two applications that a factory makes is not started
> was given to second, and nothing ran it
= never-ran
def make(routes=()):
    @asynccontextmanager
    async def life(app):
        yield
    return Starlette(lifespan=life, routes=routes)
second = make()
app = make([Mount("/second", second)])

## one of two handlers that a factory makes is not run
> was given to second, and nothing ran it
= never-ran
from fastapi import FastAPI
def make(name):
    def start():
        print(name)
    return FastAPI(on_startup=[start])
app = make("first")
second = make("second")
app.mount("/second", second)

## two handlers alike that a factory makes are not run
> never ran `start`, shop.py:14: it was given to FastAPI, and nothing ran it change Another
= never-ran
from fastapi import FastAPI
def make(name):
    def start():
        print(name)
    return FastAPI(on_startup=[start])
app = Starlette()
for name in ("first", "second"):
    app.mount(f"/{name}", make(name))

## one of two objects of a class is not entered
> was given to second, and nothing ran it
= never-ran
class Life:
    def __call__(self, app):
        return self
    async def __aenter__(self):
        pass
    async def __aexit__(self, *_):
        pass
second = Starlette(lifespan=Life())
app = Starlette(lifespan=Life(), routes=[Mount("/second", second)])

## both lifespans that a factory makes are entered
def make(name):
    @asynccontextmanager
    async def one(app):
        yield {name: object()}
    return one
first, second = make("first"), make("second")
async def life(app):
    async with first(app) as kept, second(app) as other:
        yield {**kept, **other}

## its state has another name
inner = Starlette(lifespan=pool)
async def life(app):
    async with pool(inner) as state:
        inner.state.kept = state["pool"]
        async with pool(app) as own:
            yield {"other": own["pool"]}
app = Starlette(lifespan=life, routes=[Mount("/inner", inner)])

## it is given plain routes while it starts
from fastapi import APIRouter, FastAPI
from starlette.staticfiles import StaticFiles
orders, admin = APIRouter(), FastAPI(lifespan=pool)
files = StaticFiles(directory=".")
@orders.get("/orders")
async def orders_of_today(): ...
async def life(app):
    app.mount("/static", files)
    app.include_router(orders)
    app.mount("/admin", admin)
    async with admin.router.lifespan_context(admin) as state:
        yield state
app = FastAPI(lifespan=life)

## its lifespan is replaced while it starts
> pool was registered after startup had begun, and nothing ran it (`pool`, shop.py:7)
> close was registered after startup had begun
= never-ran
from fastapi import FastAPI
def close():
    print("closed")
async def life(app):
    app.router.lifespan_context = pool
    app.router.on_shutdown.append(close)
    yield
app = FastAPI(lifespan=life)

## two have the same
inner = Starlette(lifespan=pool)
async def life(app):
    async with pool(app) as state, pool(inner):
        yield state
app = Starlette(lifespan=life, routes=[Mount("/inner", inner)])
app2 = Starlette(lifespan=pool)

## it is entered
from functools import wraps
def runs(function):
    @wraps(function)
    def run():
        return [*function()]
    return run
@runs
def rows():
    yield 1
async def life(app):
    rows()
    app.state.spare = pool()  # for later
    async with AsyncExitStack() as stack:
        yield await stack.enter_async_context(pool())

## the clean-up of its task is cancelled
> clean-up was cancelled in `work`, shop.py:16, at `await anyio.sleep(0.01)`
= cut-off
async def work():
    try:
        await anyio.sleep_forever()
    finally:
        await anyio.sleep(0.01)
async def life(app):
    async with anyio.create_task_group() as group:
        group.start_soon(work)
        yield
        group.cancel_scope.cancel()

## what it cancels is what it has to cancel
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
    with anyio.CancelScope() as scope:
        try:
            scope.cancel()
            await anyio.sleep_forever()
        except asyncio.CancelledError:
            print("it was cancelled")

## a CancelledError skips the rest
> `await close()` did not run, in `life`, shop.py:24: the CancelledError of `await task
> `await close()` did not run, in `life`, shop.py:27: the CancelledError of `await othe
async def close():
    await asyncio.sleep(0)
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

## a CancelledError that another function catches skips the rest
> `await close()` did not run, in `stop`, shop.py:23: the exception left the function before.
= left-out
async def close():
    await asyncio.sleep(0)
async def work():
    await asyncio.sleep(100)
    await close()
async def stop(task):
    task.cancel()
    for _ in "once":
        if task:
            await task
            print("stopped")
            await close()
        print("over")
async def life(app):
    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    yield
    with suppress(asyncio.CancelledError):
        await stop(task)

## a limit without a shield saves no clean-up
> clean-up was cancelled in `life`, shop.py:24, at `await close()`
= cut-off
@asynccontextmanager
async def session(**options):
    yield
async def close():
    await anyio.sleep(0)
@asynccontextmanager
async def life(app):
    async with anyio.create_task_group() as group:
        yield
        group.cancel_scope.cancel()
        with anyio.move_on_after(5):
            async with session(timeout=5):
                await close()

## its clean-up has a limit
async def life(app):
    yield
    try:
        print("stops")
    finally:
        with anyio.move_on_after(0.01):
            await anyio.sleep_forever()

## one that it calls fails after it has received, exit 1
> after it had received lifespan.startup
> send lifespan.startup.failed
telescopes = {}
async def inner(scope, receive, send):
    await receive()
    telescopes["main"]
async def app(scope, receive, send):
    if scope["type"] not in ("lifespan", "http"):
        raise ValueError(scope["type"])
    await inner(scope, receive, send)

## a CancelledError skips nothing
async def close():
    await asyncio.sleep(0)
async def poll():
    with suppress(asyncio.CancelledError):
        while True:
            await asyncio.sleep(1)
            await close()
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

## an error of its clean-up is lost
> clean-up ended in `life`, shop.py:15 with OSError: no disk
= cut-off
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

## its clean-up leaves something out, exit 1
> `await pool.close()` did not run, in `life`, shop.py:23: the exception left
= left-out
class Pool:
    async def close(self): ...
def flush():
    raise OSError("no disk")
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

## its clean-up leaves nothing out
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

## it raises after its answer
app = says("receive", STARTED, "receive", STOPPED, OSError("too late"))

## a second start fails
> in the same process, in a new event loop, as tests do: no: Runtime
> Create it in the lifespan, not at import
= second-start
ready = None
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

## a second stop fails
> as tests do: no: the application raised at shutdown: OSError: closed before, in `close`
= second-start
calls = []
def close(_):
    calls.append(1)
    if len(calls) == 2:
        raise OSError("closed before")
app = says("receive", STARTED, "receive", close, STOPPED)

## its work ends, its lock serves every loop
lock = asyncio.Lock()
def compute():
    end = time.thread_time() + 0.02
    while time.thread_time() < end:
        pass
async def life(app):
    async with lock:
        thread = threading.Thread(target=compute)
        thread.start()
    yield
    thread.join()

## the server's loggers are configured, too, or none is disabled
from logging.config import dictConfig
async def life(app):
    dictConfig({"version": 1, "loggers": {"uvicorn": {"level": "INFO"}}})
    dictConfig({"version": 1, "disable_existing_loggers": False})
    yield

## a daemon thread ends, and a library has its own
def poll(over):
    over.wait()
async def life(app):
    over = threading.Event()
    threading.Thread(target=poll, args=(over,), daemon=True).start()
    threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
    yield
    over.set()

## its startup blocks
> s; most of it blocks the event loop, in `life`, shop.py:14
> stops yes, in
> s; most of it waits in `life`, shop.py:16
async def life(app):
    time.sleep(1.2)
    yield
    await asyncio.sleep(1.2)

## its loop is woken later
> What it waits for was there, and the event loop slept on: `life`, shop.py:17.
= set-from-thread
async def life(app):
    ready = asyncio.Event()
    threading.Timer(0.05, ready.set).start()
    asyncio.get_running_loop().call_later(0.6, print)
    await ready.wait()
    yield

## it closes nothing
> Client of anyio. Close it in the clean-up. Session of anyio, made in `life`, shop.py:37.
> while starting: WARNING bus: the consumer was not closed
> while stopping: WARNING ResourceWarning: unclosed <socket.socket
= logged-error, left-open
class Pool:
    closed = True
    def __init__(self):
        self.closed = False
    def __del__(self): ...
class Session(Pool):
    def __init__(self):
        super().__init__()
        self.pool = Pool()  # is its own
class Client:
    is_closed = False
    def aclose(self): ...
class Broken(Client):
    @property
    def is_closed(self):
        raise OSError
for each in Pool, Session, Client, Broken:
    each.__module__ = "anyio"  # as a library has it
exec('''
class Consumer:
    def __del__(self):
        logging.getLogger("bus").warning("the consumer was not closed")
''')  # as a library has it
async def life(app):
    app.state.session, app.state.clients = Session(), [Client(), Broken()]
    sys.modules["anyio"].cache = Client()  # of the library
    Consumer()
    yield
    logging.getLogger("shop").warning("the shop was not closed")
    socket.socket()

## it closes what it opens
class Session:
    closed = True
    def __del__(self): ...
Session.__module__ = "anyio"
exec('def warns(): logging.getLogger("bus").warning("the consumer was not closed")')
async def life(app):
    logging.getLogger("shop").warning("the shop is not closed")
    warns()
    app.state.session = Session()
    with socket.socket():
        yield

## it begins generators and lets none go on
> `backend`, begun in `life`, shop.py:29: nothing asks it to go on after its `yield`.
> AsyncExitStack. `left`, begun in `life`, shop.py:28: nothing
> AsyncExitStack. `pair`, begun in `life`, shop.py:30: nothing
= left-open
async def backend():
    yield
    print("closed")
@asynccontextmanager
async def left():
    async with pair():  # goes on with it
        yield
@asynccontextmanager
async def pair():
    try:
        yield
    finally:
        print("closed")
stack = AsyncExitStack()
@asynccontextmanager
async def life(app):
    await stack.enter_async_context(left())
    await backend().__anext__()
    await pair().__aenter__()
    yield

## its generators go on, or have nothing more to do
async def numbers():
    while True:
        yield 1
        print("next")
async def rows():
    yield 1
    yield 2
async def last():
    yield 3
async def begin(generator):
    await anext(generator)
exec('async def begins(generator): return await anext(generator)')  # as a library has it
async def life(app):
    app.state.held = [numbers(), last(), rows()]
    for generator in app.state.held[:2]:
        await anext(generator)
    await begins(app.state.held[2])
    async for row in rows():
        break
    task = asyncio.create_task(begin(rows()))
    closed = rows()
    await anext(closed)
    await closed.aclose()
    app.state.held.append(closed)
    manager = pool()
    await manager.__aenter__()
    yield
    await manager.__aexit__(None, None, None)
    await task

## the failed startup of one that it calls is lost
> notes `life`, shop.py:12 ended before its `yield`, and startup was answered as complete all the
> lifespec explain startup-raised
@asynccontextmanager
async def life(app):
    await asyncio.sleep(0)
    raise OSError("refused")
    yield
shop = Starlette(lifespan=life)
class Outer:
    async def __call__(self, scope, receive, send):
        if scope["type"] != "lifespan":
            return await shop(scope, receive, send)
        await receive()
        with suppress(OSError):
            async with shop.router.lifespan_context(shop):
                raise AssertionError
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
app = Outer()

## what it calls starts when it is tried again
tries = []
@asynccontextmanager
async def other(app):
    tries.append(1)
    await asyncio.sleep(0)
    if len(tries) == 1:
        raise OSError("refused")
    yield
shop = Starlette(lifespan=other)
@asynccontextmanager
async def life(app):
    with suppress(OSError):
        async with shop.router.lifespan_context(shop):
            print("starts")
    async with shop.router.lifespan_context(shop):
        yield
app = Starlette(lifespan=life, routes=[Mount("/shop", shop)])

## its loop takes a signal
> `loop.add_signal_handler` takes SIGINT from the server
= signal-taken
async def life(app):
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, print)
    yield

## it stops only after a request, exit 1
> starts, and does not always stop
> stops no, if it is stopped at once after its start: AssertionError: not started
> in `life`, shop.py:22 yes, after a request
started = []
async def work():
    await asyncio.sleep(0.05)
    started.append(1)
async def life(app):
    task = asyncio.create_task(work())
    yield
    task.cancel()
    if not started:
        raise AssertionError("not started")

## it stops only at once, exit 1
> starts, and does not always stop
> stops no, after a request: OSError: no disk, in `life`, shop.py:21 yes, if it is stopped at
from starlette.responses import PlainTextResponse
requests = []
async def home(request):
    requests.append(1)
    return PlainTextResponse("12 apples")
async def life(app):
    yield
    if requests:
        raise OSError("no disk")
app = Starlette(lifespan=life)
app.add_route("/", home)

## its thread ends with a request, exit 1
> starts and stops, but its process does not always end
> (wait), started in `life`, shop.py:19. The process does not end before it. Only if it is
> End it, or close what started it
= thread-stays
from starlette.responses import PlainTextResponse
asked = threading.Event()
async def home(request):
    asked.set()
    return PlainTextResponse("12 apples")
async def life(app):
    threading.Thread(target=asked.wait).start()
    yield
app = Starlette(lifespan=life)
app.add_route("/", home)

## it stays closed
> again in the same process, in a new event loop, as tests do: a request was
> answered with status 200 the first time, and was answered with status 503 the second time
= second-start
from starlette.responses import PlainTextResponse
stopping = []
async def home(request):
    return PlainTextResponse("", 503 if stopping else 200)
async def life(app):
    yield
    stopping.append(1)
app = Starlette(lifespan=life)
app.add_route("/", home)

## its second start does not begin its task
> A second start in the same process, as tests do it, does not begin the task `pump`, made in
> `life`, shop.py:
import asyncio
begun = []
async def pump():
    await asyncio.sleep(60)
async def life(app):
    if not begun:
        begun.append(asyncio.create_task(pump()))
    yield
    begun[0].cancel()

## its second start begins its task at another line
import asyncio
begun = []
async def pump():
    await asyncio.sleep(60)
async def life(app):
    if begun:
        task = asyncio.create_task(pump())
    else:
        task = asyncio.create_task(pump())
    begun.append(task)
    yield
    task.cancel()

## its second start would begin its task later
import asyncio
tasks = []
async def pump():
    await asyncio.sleep(60)
async def later():
    await asyncio.sleep(0.2)
    tasks.append(asyncio.create_task(pump()))
async def life(app):
    first = asyncio.create_task(later())
    while not tasks:
        await asyncio.sleep(0.01)
    yield
    for task in (first, *tasks):
        task.cancel()

## its first start prepares something in a task
import asyncio
ready = []
async def prepare():
    ready.append(1)
async def life(app):
    if not ready:
        await asyncio.create_task(prepare())
    yield

## its first request begins a task
import asyncio
from starlette.responses import PlainTextResponse
begun = []
async def home(request):
    if not begun:
        begun.append(asyncio.create_task(asyncio.sleep(60)))
    return PlainTextResponse("12 apples")
async def life(app):
    yield
    for task in begun:
        task.cancel()
app = Starlette(lifespan=life)
app.add_route("/", home)

## each start includes a router
> each start adds a route `/api/shop`; the one of the first start answers
= second-start
from fastapi import APIRouter, FastAPI
async def life(app):
    router = APIRouter()
    @router.get("/shop")
    async def stock(): ...
    app.include_router(router, prefix="/api")
    yield
app = FastAPI(lifespan=life, openapi_url=None)

## each start adds its routes
> status 200 the first time, and raised RuntimeError: client closed, in `home`, shop.py:18
> each start adds a route `/`; the one of the first start answers
= second-start
from starlette.responses import PlainTextResponse
async def life(app):
    closed = []
    async def home(request):
        if closed:
            raise RuntimeError("client closed")
        return PlainTextResponse("12 apples")
    app.add_route("/", home)
    yield
    closed.append(1)

## it sets a variable of a library
from sniffio import current_async_library_cvar
async def life(app):
    current_async_library_cvar.set("asyncio")
    yield

## its answers differ for good reasons
from starlette.responses import PlainTextResponse
before = []
async def home(request):
    before.append(1)
    return PlainTextResponse(f"request {len(before)}", (302, 429)[len(before) - 1])
async def life(app):
    app.router.routes[:] = []
    app.add_route("/", home)
    yield
app = Starlette(lifespan=life)

## it says in its output why, exit 2
> printed line 2 line 3 line 4 line 5 line 6 line 7 line 8 line 9 line 10 See the settings.
async def life(app):
    for number in range(11):
        print("line", number)
    print("See the settings.", file=sys.stderr)
    raise OSError("refused")
    yield

## another answers in its place
> nothing ran it startup was answered in `Wrap.__call__`, shop.py:20
= never-ran
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

## middleware of Starlette drops the scope
> does not support lifespan starts without lifespan
> `pool`, shop.py:7: it was given to Starlette, and nothing ran it change
> `Web.__call__`, shop.py:15 got the lifespan scope last: it has to pass the scope on
> 1 missed: unknown-scope-rejected; 1 kept
> lifespec explain never-ran lifespec explain unsupported
= never-ran
class Web:
    def __init__(self, app):
        self.app = app
    async def __call__(self, *three):
        if three[0]["type"] == "http":
            await self.app(*three)
app = Starlette(lifespan=pool)
app.add_middleware(Web)

## installed middleware raises for the scope
> does not support lifespan starts without lifespan
> nothing ran it change `Opa.__call__`, asks.py:4 got the
> 1 kept
= never-ran
from starlette.requests import Request
lines = '''class Opa:
    def __init__(self, app):
        self.app = app
    async def __call__(self, SCOPE): await self.app(SCOPE, Request(SCOPE).method)'''
asks = {"__name__": "asks", "Request": Request}
lines = lines.replace("SCOPE", "scope, receive, send")
exec(compile(lines, "/env/site-packages/asks.py", "exec"), asks)
app = Starlette(lifespan=pool)
app.add_middleware(asks["Opa"])

## installed middleware with any arguments raises
> does not support lifespan starts without lifespan
> nothing ran it change If it should
> 1 kept
= never-ran
from starlette.requests import Request
lines = '''class Opa:
    def __init__(self, app):
        self.app = app
    async def __call__(self, SCOPE): await self.app(SCOPE, Request(SCOPE).method)'''
asks = {"__name__": "asks", "Request": Request}
lines = lines.replace("SCOPE", "*three")
exec(compile(lines, "/env/site-packages/asks.py", "exec"), asks)
app = Starlette(lifespan=pool)
app.add_middleware(asks["Opa"])

## a function of a library that is there twice drops the scope
> does not support lifespan starts without lifespan
> nothing ran it change If it should
= never-ran
lines = '''def around(app, types):
    async def call(*three):
        if three[0]["type"] in types:
            await app(*three)
    return call'''
wraps = {"__name__": "wraps"}
exec(compile(lines, "/env/site-packages/wraps.py", "exec"), wraps)
class Passes:
    def __init__(self, app):
        self.app = app
    async def __call__(self, scope, receive, send):
        await self.app(scope, receive, send)
inner = Starlette(lifespan=pool)
app = wraps["around"](Passes(wraps["around"](inner, ["http"])), ["http", "lifespan"])

## middleware of FastAPI drops the scope
> does not support lifespan starts without lifespan
> `pool`, shop.py:7: it was given to FastAPI, and nothing ran it change
> `Only.__call__`, shop.py:16 got the lifespan scope last: it has to pass the scope on
> 1 missed: unknown-scope-rejected; 1 kept
> lifespec explain never-ran lifespec explain unsupported
= never-ran
from fastapi import FastAPI
class Only:
    def __init__(self, app, kinds):
        self.app, self.kinds = app, kinds
    async def __call__(self, scope, receive, send):
        if scope["type"] in self.kinds:
            await self.app(scope, receive, send)
app = FastAPI(lifespan=pool)
app.add_middleware(Only, ["http"])
app.add_middleware(Only, ["http", "lifespan", "lifespec.unheard"])

## middleware of FastAPI passes the scope on
from fastapi import FastAPI
class Timed:
    def __init__(self, app):
        self.app = app
    async def __call__(self, scope, receive, send):
        await self.app(scope, receive, send)
app = FastAPI(lifespan=pool)
app.add_middleware(Timed)
""")
# The causes of public reports that docs/matrix/reports.json has under the same names.
REPORTED = programs("""
## AntaresSimulatorTeam/AntaREST#3111, exit 2
> AttributeError: 'State' object has no attribute 'maintenance', in `life`, shop.py
async def life(app):
    app.state.maintenance.start()
    yield

## aymene69/stremio-jackett#159
> in `LogFilter.__call__`, shop.py:17, when it was called with the scope
from starlette.requests import Request
class LogFilter:
    def __init__(self, app):
        self.app = app
    async def __call__(self, scope, receive, send):
        print(Request(scope, receive).url.path)
        await self.app(scope, receive, send)
app = Starlette()
app.add_middleware(LogFilter)

## JasperHG90/memex#33
> the task `sleep` (stats), made in `life`, shop.py
= task-left
tasks = set()
async def life(app):
    tasks.add(asyncio.create_task(asyncio.sleep(600), name="stats"))
    yield

## juspay/clairvoyance#339
> the task `monitor`, made in `life`, shop.py
> `handle_sigterm`, shop.py:12 takes SIGTERM from the server
= signal-taken, task-left
def handle_sigterm(number, frame):
    pass
async def monitor():
    await asyncio.sleep(600)
async def life(app):
    signal.signal(signal.SIGTERM, handle_sigterm)
    app.state.monitor = asyncio.create_task(monitor())
    yield

## lm-sys/FastChat#3089, exit 1
> (beat), started in `Controller.__init__`, shop.py:14
= thread-stays
class Controller:
    def __init__(self):
        threading.Thread(target=self.beat).start()
    def beat(self):
        time.sleep(100)
async def life(app):
    app.state.controller = Controller()
    yield

## miguelgrinberg/python-socketio#1064
class Framework:
    handle = None
    async def __call__(self, scope, receive, send):
        if scope["type"] == "lifespan":
            self.handle = says("receive", STARTED, "receive", STOPPED)
        await self.handle(scope, receive, send)
class Sockets:
    def __init__(self, app):
        self.app = app
    async def __call__(self, scope, receive, send):
        answers = says("receive", STARTED, "receive", STOPPED)
        await (answers if scope["type"] == "lifespan" else self.app)(scope, receive, send)
app = Sockets(Framework())

## NovaCode37/Prism-platform#363
> the daemon thread watchlist, started in `life`, shop.py
= daemon-left
def poll():
    while True:
        time.sleep(60)
async def life(app):
    threading.Thread(target=poll, name="watchlist", daemon=True).start()
    yield

## redis/redis-py#3351
> a request was answered with status 200 the first time, and raised RuntimeError: Event loop is
> closed, in `Pool.get`, shop.py
= second-start
from starlette.responses import PlainTextResponse
from starlette.routing import Route
class Pool:
    loop = None
    async def get(self):
        self.loop = self.loop or asyncio.get_running_loop()
        self.loop.call_soon(print)
pool = Pool()
async def home(request):
    await pool.get()
    return PlainTextResponse("")
app = Starlette(routes=[Route("/", home)])
""")
# By an advice, or a fact whose sentence has its own: a program with the fault, in whose place
# `-` the advice puts `+`, and the exit status while it has the fault.
TRIED = programs("""
## advise-decorator, exit 2
> 'coroutine' object does not support the asynchronous context manager protocol
= never-ran, logged-error
+@asynccontextmanager
async def life(app):
    print("starts")
+    yield

## advise-one-argument, exit 2
> takes 0 positional arguments but 1 was given
= never-ran
@asynccontextmanager
-async def life():
+async def life(app):
    yield

## given-module, exit 2
> life, which Starlette was given as its lifespan, is a module: import the function
-life = sys.modules[__name__]
+life = pool

## advise-no-lifespan
> Django can only handle ASGI/HTTP connections
from django.conf import settings
from django.core.asgi import get_asgi_application
settings.configured or settings.configure(ROOT_URLCONF="shop", SECRET_KEY="x")
urlpatterns = []
app = get_asgi_application()
+from lifespec import with_lifespan
+app = with_lifespan(app, pool)

## advise-mapping, exit 2
> 'list' object is not a mapping
from fastapi import APIRouter, FastAPI
async def life(app):
-    yield ["pool"]
+    yield {"pool": "a pool"}
app = FastAPI(lifespan=life)
app.include_router(APIRouter())

## advise-await, exit 2
> cannot be called from a running event loop
= logged-error
async def connect():
    await asyncio.sleep(0)
async def life(app):
-    asyncio.run(connect())
+    await connect()
    yield

## advise-any-scope
> ValueError: lifespan
= never-ran
inner = Starlette(lifespan=pool)
async def app(scope, receive, send):
+    if scope["type"] == "lifespan":
+        return await inner(scope, receive, send)
    if scope["type"] != "http":
        raise ValueError(scope["type"])
    await inner(scope, receive, send)


## advise-answer, exit 1
> the application returned without an answer
-app = says("receive")
+app = says("receive", STARTED, "receive", STOPPED)

## advise-startup, exit 2
> does not start
> it waits in `life`, shop.py:19
> --timeout
exec('''
async def connect(ready):  # as a library has it
    await ready.wait()
''')
async def life(app):
    ready = asyncio.Event()
+    asyncio.get_running_loop().call_later(0.01, ready.set)
    await connect(ready)
    yield

## advise-room, exit 2
> it waits for room in a queue in `life`
async def consume(queue):
    while True:
        print(await queue.get())
async def life(app):
    queue = asyncio.Queue(1)
+    task = asyncio.create_task(consume(queue))
    for number in range(3):
        await queue.put(number)
    yield
+    task.cancel()

## advise-join, exit 1
> it blocks the event loop in `life`
> Tell the thread to end
def pump(over):
    over.wait()
async def life(app):
    over = threading.Event()
    thread = threading.Thread(target=pump, args=(over,), daemon=True)
    thread.start()
    yield
-    thread.join()
+    over.set()
+    await asyncio.to_thread(thread.join)

## advise-result, exit 2
> it blocks the event loop in `life`
> Await it: `await asyncio.wrap_future(future)`
async def connect():
    await asyncio.sleep(0)
async def life(app):
    loop = asyncio.get_running_loop()
-    asyncio.run_coroutine_threadsafe(connect(), loop).result()
+    await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(connect(), loop))
    yield

## advise-queue, exit 1
> it waits until a queue is done in `life`
async def consume(queue):
    while True:
        print(await queue.get())
+        queue.task_done()
async def life(app):
    queue = asyncio.Queue()
    task = asyncio.create_task(consume(queue))
    await queue.put(1)
    yield
    await queue.join()
    task.cancel()

## advise-sleep, exit 2
> it sleeps in `life`, shop.py:14
async def life(app):
-    await asyncio.sleep(100)
+    await asyncio.sleep(0.01)
    yield

## advise-forever, exit 2
> it sleeps for ever in `life`, shop.py:14
async def life(app):
-    await anyio.sleep_forever()
+    task = asyncio.create_task(anyio.sleep_forever())
    yield
+    task.cancel()

## advise-future, exit 2
> it waits for a future in `life`
async def life(app):
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
+    threading.Timer(0.01, loop.call_soon_threadsafe, [ready.set_result, 1]).start()
    await ready
    yield

## advise-register-sooner
> pool was registered after startup had begun, and nothing ran it (`life`, shop.py:15)
= never-ran
inner = Starlette(lifespan=pool)
async def life(app):
-    app.mount("/inner", inner)
-    yield
+    async with inner.router.lifespan_context(inner) as state:
+        yield state
app = Starlette(lifespan=life)
+app.mount("/inner", inner)

## state-unseen
> Requests do not get `pool`, which `pool`, shop.py:7 yields: something gives
= state-dropped
inner = Starlette(lifespan=pool)
async def app(scope, receive, send):
-    await inner({**scope, "state": {}}, receive, send)
+    await inner(scope, receive, send)

## skipped
> `await close()` did not run, in `life`, shop.py:21: the CancelledError of `await task
async def close():
    await asyncio.sleep(0)
async def life(app):
    task = asyncio.create_task(asyncio.sleep(100))
    yield
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
-        await close()
+    await close()

""")
