"""The agent writes down what a process does; here it looks at the process of the tests."""

import ast
import asyncio
import contextlib
import errno
import fcntl
import functools
import gc
import importlib
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import trio
import uvloop
from starlette.background import BackgroundTask

from lifespec import server
from lifespec.diagnosis import alive, guard, stacks, waits, work
from lifespec.watch import agent as module
from lifespec.watch import hooks, looks, seen
from lifespec.watch.agent import Agent
from lifespec.watch.watched import WatchedProcess

HERE = Path(__file__).name
SOURCE = """
import asyncio

class Lifespan:
    failed = False

    def __init__(self, app):
        self.app, self.events = app, asyncio.Queue()

    async def call(self):
        try:
            await self.app({"type": "lifespan"}, self.receive, self.send)
        except Exception:
            self.failed = True

    async def receive(self):
        return await self.events.get()

    async def send(self, message):
        self.last = message["type"]

    async def stop(self):
        await self.events.put({"type": "lifespan.shutdown"})

    def off(self):
        return "off"
"""
METHODS = {"called": "call", "received": "receive", "sent": "send", "shutdown": "stop"}


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(str(tmp_path))


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: Agent) -> Iterator[Any]:
    """Import a server that the agent knows."""
    (tmp_path / "toyserver.py").write_text(SOURCE, "utf-8")
    known = ("toy", "Lifespan", {**METHODS, "uncalled": "off"})
    monkeypatch.setitem(hooks.SERVERS, "toyserver", known)
    monkeypatch.syspath_prepend(tmp_path)
    finder = hooks.Finder(hooks.SERVERS, functools.partial(hooks.hook, agent=agent))
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    yield importlib.import_module("toyserver")
    sys.modules.pop("toyserver")


def lines(agent: Agent, kind: Any) -> list[Any]:
    """Return the lines of a kind that it has written."""
    text = Path(agent.path).read_text("utf-8").splitlines()
    return [line for line in map(seen.parsed, text) if isinstance(line, kind)]


def test_a_module_that_comes_while_modules_are_looked_at_is_no_failure(agent: Agent) -> None:
    """Python 3.11 may collect garbage between two of them, and other code runs then."""
    late: list[str] = []

    def imports(*_: object) -> None:
        if len(late) < 300:
            late.append(f"late{len(late)}")
            sys.modules[late[-1]] = ModuleType(late[-1])

    before = gc.get_threshold()
    gc.callbacks.append(imports)
    gc.set_threshold(1, 1_000_000, 1_000_000)
    try:
        agent.find_copies()
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(imports)
        for name in late:
            del sys.modules[name]


@contextlib.contextmanager
def running(main: Callable[[], Any], run: Callable[[Any], Any] = asyncio.run) -> Iterator[None]:
    """Run a coroutine function in a thread until it is left, once it has begun to wait."""
    over, ready = threading.Event(), threading.Event()

    async def runs() -> None:
        task = asyncio.create_task(main())
        for _ in range(20):  # turns of the loop: a busy machine may make none in a time
            await asyncio.sleep(0)
        ready.set()
        while not over.is_set():
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.wait([task])

    thread = threading.Thread(target=run, args=(runs(),))
    thread.start()
    ready.wait()
    try:
        yield
    finally:
        over.set()
        thread.join()


async def for_ever() -> None:
    await asyncio.Event().wait()


async def board(scope: Any, receive: Any, send: Any) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(for_ever())


async def mails(scope: Any, receive: Any, send: Any) -> None:
    await BackgroundTask(for_ever)()


async def serve(app: Any, *types: str) -> None:
    """Call an application with scopes, as a server does that nobody knows."""
    scopes = ({"type": each, "method": "GET", "path": "/board"} for each in types)
    await asyncio.gather(*(app(each, print, print) for each in scopes))


@pytest.mark.parametrize(("app", "follows"), [(board, False), (mails, True)])
def test_open_requests_and_lifespans_are_seen_with_their_lines(
    app: Any, follows: bool, agent: Agent
) -> None:
    gc.collect()  # calls that other tests have left: a stopping process is searched for all
    with running(lambda: serve(app, "http", "lifespan")):
        agent.is_stopping = True
        agent.look(time.monotonic())
        agent.look(time.monotonic())  # nothing else than before
    (look,) = lines(agent, seen.Look)
    assert [call.asks for call in look.others] == [False]
    ((method, path, age, where, background, thread),) = look.requests
    assert (look.loops, look.open, method, path, age) == (1, 1, "GET", "/board", 0)
    assert (background, thread) == (follows, False)
    file, _line, function, own = where[-1]
    assert (Path(file).name, function, own) == (HERE, "for_ever", True)


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop, None])
def test_a_blocked_loop_is_seen_with_its_line(agent: Agent, loop: Any) -> None:
    over, begun = threading.Event(), threading.Event()

    async def blocks() -> None:
        agent.loops[hooks.current_loop()] = threading.get_ident()
        begun.set()
        over.wait()

    def runs() -> None:
        if loop is None:
            trio.run(blocks)
        else:
            with asyncio.Runner(loop_factory=loop) as runner:
                runner.run(blocks())

    thread = threading.Thread(target=runs)
    thread.start()
    begun.wait()
    younger = threading.Thread(target=over.wait)  # seen before that of the loop
    younger.start()
    for seconds in 0, 2:
        agent.look(time.monotonic() + seconds)
    assert bool(agent.busy.posted) is (loop is not asyncio.new_event_loop)  # which says it itself
    over.set()
    thread.join()
    younger.join()
    first, second = lines(agent, seen.Look)
    assert [blocked.seconds for blocked in first.blocked] == [0]
    ((seconds, where, kind),) = second.blocked
    assert (seconds, where[-1].function, kind) == (2, "blocks", "blocked")


def test_an_installed_application_that_blocks_its_loop_at_once_is_its_authors(
    agent: Agent, toy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    over, begun = threading.Event(), threading.Event()
    parcel: Any = ModuleType("parcel")
    parcel.__file__ = "/usr/lib/python3/site-packages/parcel.py"
    source = "async def app(scope, receive, send):\n    begun.set()\n    over.wait()\n"
    parcel.begun, parcel.over = begun, over
    exec(compile(source, parcel.__file__, "exec"), vars(parcel))  # noqa: S102
    monkeypatch.setitem(sys.modules, "parcel", parcel)
    monkeypatch.setattr(stacks, "own_paths", [])

    async def waits(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.Event().wait()

    async def serves() -> None:
        async with asyncio.TaskGroup() as group:
            mounted = group.create_task(toy.Lifespan(waits).call())
            await asyncio.sleep(0)
            await toy.Lifespan(parcel.app).call()
            mounted.cancel()

    thread = threading.Thread(target=lambda: asyncio.run(serves()))
    thread.start()
    begun.wait()
    for seconds in 0, 2, 3:
        agent.look(time.monotonic() + seconds)
    over.set()
    thread.join()
    ((_seconds, where, _kind),) = lines(agent, seen.Look)[-1].blocked
    assert (where[-1].function, where[-1].line, where[-1].own) == ("app", 3, True)


def test_a_loop_that_is_closed_before_it_is_asked_is_not_blocked() -> None:
    loop = uvloop.new_event_loop()
    loop.close()
    over: list[object] = []

    def runs() -> None:
        while not over:
            pass

    busy, thread = looks.Busy(), threading.Thread(target=runs)
    thread.start()
    assert busy.seconds(loop, thread.ident or 0, 0.0) == 0.0
    over.append(loop)
    thread.join()
    assert busy.posted == {}
    assert busy.seconds(loop, 0, 0.0) is None  # nor is one whose thread has ended


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_who_looks_wakes_no_loop(agent: Agent, loop: Any) -> None:
    """What another thread has set stays unseen, as it would without a look, and is told."""
    made: list[Any] = []

    async def waits(scope: Any, receive: Any, send: Any) -> None:
        await made[0].wait()

    async def main() -> None:
        made.append(asyncio.Event())
        made.append(asyncio.get_running_loop())
        task = asyncio.create_task(waits({"type": "lifespan"}, print, print))
        await task

    runner = asyncio.Runner(loop_factory=loop)
    thread = threading.Thread(target=runner.run, args=(main(),))
    thread.start()
    while len(made) < 2 or not made[0]._waiters:
        time.sleep(0.01)
    agent.look(time.monotonic())
    made[0].set()  # from this thread
    for _ in range(5):
        agent.look(time.monotonic())
    assert thread.is_alive()
    assert made[0]._waiters
    made[1].call_soon_threadsafe(str)
    thread.join()
    runner.close()
    first, *_, last = lines(agent, seen.Look)
    assert [call.awaits for look in (first, last) for call in look.others] == ["event", "due"]


def test_a_known_server_tells_each_step(toy: Any, agent: Agent) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        raise ConnectionError("link detached")

    async def main() -> None:
        server = toy.Lifespan(app)
        await server.events.put({"type": "lifespan.startup"})
        call = asyncio.create_task(server.call())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert agent.where(agent.lifespans[0]).asks
        await server.stop()
        await call
        assert server.failed
        assert agent.where(agent.lifespans[0]).over
        frames = {threading.get_ident(): sys._getframe()}
        assert len(agent.running_loops(frames)) == 1

    asyncio.run(main())
    assert agent.running_loops({}) == {}
    assert toy.Lifespan(app).off() == "off"
    assert [line.type for line in lines(agent, seen.Sent)] == ["lifespan.startup.complete"]
    (raised,) = lines(agent, seen.Raised)
    assert raised.error[:2] == ("ConnectionError", "link detached")
    assert len(lines(agent, seen.Received)) == 1  # the first event
    for kind in seen.Called, seen.Shutdown, seen.NoLifespan:
        assert [line.server for line in lines(agent, kind)] == ["toy"]


def test_other_modules_are_found_by_others(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    finder = hooks.Finder(hooks.SERVERS, str)
    assert finder.find_spec("json") is None
    monkeypatch.setattr(sys, "meta_path", [])
    assert finder.find_spec("uvicorn.server") is None


@pytest.mark.parametrize("event", ["looks", "answer", "answer, awaited"])
def test_a_task_that_nobody_awaits_has_died(agent: Agent, event: str) -> None:
    async def dies() -> None:
        await asyncio.sleep(0.02)
        raise ConnectionError("link detached")

    kept: list[Any] = []

    async def main() -> None:
        kept.append(asyncio.create_task(dies()))
        loops: Any = {asyncio.get_running_loop(): sys._getframe()}
        agent.look_at_tasks(loops, {}, 0.0)
        await asyncio.wait(kept)
        agent.keep_failed()
        if event == "answer, awaited":
            kept[0].exception()
        for _ in "12":
            if event == "looks":
                agent.look_at_tasks(loops, {}, 2.0)
            else:
                agent.note_failed()
        kept[0].exception()

    asyncio.run(main())
    # the process is that of all tests: a task of another test may have failed, too
    died = [line for line in lines(agent, seen.Died) if line.task == "dies"]
    assert [line.error.type for line in died] == ["ConnectionError"] * ("awaited" not in event)


def test_an_exception_group_is_its_first_exception(agent: Agent) -> None:
    assert agent.error(None) is None
    assert agent.error(KeyError("pool")).lines == []  # it was not raised
    found = agent.error(ExceptionGroup("two", [raised(KeyError("pool")), raised(OSError())]))
    (line,) = found.lines
    assert (found.type, found.text, line.function) == ("KeyError", "'pool'", "raised")


def raised(error: Exception) -> Exception:
    try:
        raise error  # noqa: TRY301
    except Exception as found:
        return found


def test_who_has_ended_a_loop_is_told_in_place_of_its_victims(agent: Agent) -> None:
    found: list[Any] = []

    async def victim() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError as error:
            found.append(agent.error(error))

    async def leaves() -> None:
        others = [asyncio.create_task(victim()) for _ in "12"]
        await asyncio.sleep(0)
        others[0].cancel()  # who cancels one of several ends no loop
        await asyncio.sleep(0)
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        asyncio.run(leaves())
    assert [error.loop_ends for error in found] == [False, True]
    assert [error.lines[0].function.rpartition(".")[2] for error in found] == ["victim", "leaves"]
    agent.is_stopping = True  # the clean-up was cut off, where it was
    with pytest.raises(SystemExit):
        asyncio.run(leaves())
    assert found[-1].lines[0].function.endswith("victim")


def test_an_error_is_told_that_the_server_itself_handles_when_it_sends_shutdown(
    agent: Agent,
) -> None:
    class Server:
        def shutdown(self) -> None:
            pass

        def stop(self) -> None:
            self.shutdown()

    def stops(error: Exception, *, inside: bool) -> None:
        try:
            raise error
        except (OSError, KeyError):
            if inside:
                Server().stop()  # which runs where its caller handles an error
            else:
                Server().shutdown()

    hooks.on_call(Server, "shutdown", hooks.Notes(agent, "uvicorn").shutdown, first=True)
    taken = OSError(errno.EADDRINUSE, "taken")
    stops(taken, inside=False)
    stops(taken, inside=True)
    stops(TimeoutError(), inside=False)
    stops(KeyError("port"), inside=False)
    Server().shutdown()
    told = [line.error and line.error.type for line in lines(agent, seen.Shutdown)]
    assert told == ["OSError", None, None, None, None]


def test_the_authors_handlers_of_signals_are_seen() -> None:
    handlers = {signal.SIGINT: SimpleNamespace(_callback=for_ever)}
    loop = SimpleNamespace(_signal_handlers=handlers)
    other = SimpleNamespace(
        _signal_handlers={signal.SIGINT: SimpleNamespace(_callback=asyncio.run)}
    )
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        loops: Any = [loop, other]  # that of a library is not its author's
        found = looks.handlers_of_author(loops)
    finally:
        signal.signal(signal.SIGTERM, before)
    line = for_ever.__code__.co_firstlineno
    assert found["SIGINT"] == (__file__, line, "for_ever")
    assert found["SIGTERM"][2].rpartition(".")[2] == "<lambda>"


def test_a_handler_that_uvloop_has_is_seen() -> None:
    loop: Any = uvloop.new_event_loop()
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    assert looks.handlers_of_author({loop: None}) == {}
    try:
        loop.add_signal_handler(signal.SIGTERM, lambda: None)
        found = looks.handlers_of_author({loop: None})
    finally:
        loop.remove_signal_handler(signal.SIGTERM)  # closed, it would keep the signal
        loop.close()
        signal.signal(signal.SIGTERM, before)
    assert [each[2].rpartition(".")[2] for each in found.values()] == ["<lambda>"]


def test_it_writes_where_blocking_calls_are_forbidden(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("open", "write", "close"):
        monkeypatch.setattr(os, name, None)  # as blockbuster does it in an event loop
    agent.note("Shutdown", "uvicorn")
    assert len(lines(agent, seen.Shutdown)) == 1


def test_a_full_disk_stops_no_server(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: object) -> None:
        raise OSError

    monkeypatch.setattr(agent, "write", full)
    agent.note("Shutdown", "uvicorn")


def test_an_import_is_that_of_the_authors_line() -> None:
    def loads(name: str) -> Any:
        code = SimpleNamespace(co_name="_find_and_load", co_filename="<frozen importlib>")
        return SimpleNamespace(f_code=code, f_locals={"name": name})

    own: Any = sys._getframe()
    installed: Any = SimpleNamespace(f_code=contextlib.suppress.__exit__.__code__, f_locals={})
    assert looks.importing([own, loads("gradio"), installed, loads("fastapi")]) == "gradio"
    assert looks.importing([installed, loads("shop"), own, loads("gradio")]) == "gradio"
    assert looks.importing([installed, loads("shop"), own]) == "shop"
    assert looks.importing([own]) == ""


@pytest.mark.parametrize(
    "there", ["nothing", "no server", "a socket", "a child", "a call", "a command", "no author"]
)
def test_a_process_has_not_begun_to_serve(
    agent: Agent, there: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    imported = "shop_that_nobody_imports" if there == "no server" else "asyncio"
    monkeypatch.setattr(hooks, "SERVERS", {imported: None})
    monkeypatch.setattr(agent, "began", 0.0)  # long ago
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        if there == "a socket":
            listener.listen()
        elif there == "a child":
            child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
            stack.enter_context(child)
        elif there == "a call":
            agent.had_other = True
        elif there in ("a command", "no author"):
            command = [sys._getframe()] * (there == "a command")
            monkeypatch.setattr(stacks, "is_own", lambda _: False)
            monkeypatch.setattr(looks, "of_command", lambda *_: command)
        looking = threading.Thread(target=agent.look, args=(time.monotonic(),))
        looking.start()
        looking.join()
    looked = {"nothing": [True], "a command": [True], "no author": [False]}
    found = lines(agent, seen.Look)
    assert [look.unserved for look in found] == looked.get(there, [])
    if there == "a command":
        assert found[0].main[-1].file == __file__


def in_a_loop_of_its_own(main: Any) -> None:
    loop = asyncio.new_event_loop()
    loop.run_until_complete(main)
    loop.close()


@pytest.mark.parametrize("run", [asyncio.run, in_a_loop_of_its_own, uvloop.run])
def test_a_loop_that_waits_is_where_its_task_is(run: Any) -> None:
    before = set(threading.enumerate())
    with running(for_ever, run):
        (thread,) = set(threading.enumerate()) - before
        frames = stacks.of_thread(stacks.top_frames()[thread.ident or 0])
        while not stacks.is_idle(frames):  # it wakes up again and again
            frames = stacks.of_thread(stacks.top_frames()[thread.ident or 0])
        names = [frame.f_code.co_name for frame in looks.with_awaited(frames)]
    assert names[-2:] == ["runs", "sleep"]
    here = [sys._getframe()]
    assert looks.with_awaited(here) is here
    token = importlib.import_module("trio.lowlevel").__spec__  # a file of a library, not asyncio's
    idle: Any = SimpleNamespace(f_code=compile("", str(token.origin), "exec"))
    assert looks.with_awaited([idle]) == [idle]


def test_a_script_runs_the_command_of_the_package_that_it_imports(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def frame(module: str, package: str = "", names: str = "", file: str = "x.py") -> Any:
        code = SimpleNamespace(co_names=tuple(names.split()), co_filename=file)
        return SimpleNamespace(f_code=code, f_globals={"__name__": module, "__package__": package})

    monkeypatch.setitem(sys.modules, "hub.cli", ModuleType("hub.cli"))
    app, driver = frame("hub.app"), frame("driver")  # it waits in what the command has called
    inner = [frame("clack.core"), app, driver, frame("asyncio.base_events", file=os.__file__)]
    for outer, is_of_command in (
        (frame("__main__", names="sys hub.cli cli"), True),
        (frame("__main__", "hub"), True),
        (frame("__main__", names="sys clack"), False),  # it is not imported
        (frame("runpy"), False),
    ):
        assert looks.of_command([outer, *inner], {"uvicorn"}) == [app] * is_of_command
        assert looks.of_command([outer, *inner], {"hub"}) == []
    server = [frame("__main__", "uvicorn"), frame("uvicorn.server")]
    assert looks.of_command(server, module.SERVERS) == []


@pytest.mark.parametrize("was_seen", [True, False])
def test_once_its_loop_has_ended_a_process_is_seen_with_its_threads(
    agent: Agent, *, was_seen: bool
) -> None:
    over = threading.Event()
    thread = threading.Thread(target=over.wait, name="pump")
    thread.start()
    agent.had_loop = was_seen
    if not was_seen:  # but a server has told of it
        loop = asyncio.new_event_loop()
        loop.close()
        agent.loops[loop] = threading.get_ident()
    looks = threading.Thread(target=agent.look, args=(time.monotonic(),))
    looks.start()
    looks.join()
    over.set()
    thread.join()
    (look,) = lines(agent, seen.Look)
    assert "pump" in [thread.name for thread in look.threads]
    assert "test_once_its_loop_has_ended" in str(look.main)


def test_a_loop_that_only_waits_for_its_threads_does_not_run(agent: Agent) -> None:
    over = threading.Event()

    def closes() -> Any:
        loop = asyncio.get_running_loop()
        loop.run_in_executor(None, over.wait)
        return loop.shutdown_default_executor()

    with running(for_ever):
        before = len(agent.running_loops(stacks.top_frames()))
        with running(closes):
            found = len(agent.running_loops(stacks.top_frames()))
            over.set()
    assert (before, found) == (1, 1)


def test_a_served_package_is_the_authors_even_if_it_is_installed(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stacks, "own_paths", [])
    for name in "", "asyncio", "queue":
        agent.own = name
        agent.find_served()
        own = [stacks.is_own(each.__file__) for each in (asyncio.tasks, queue, module)]
        assert own == [name == "asyncio", name == "queue", False]


def test_calls_of_granian_have_no_task(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    async def waits(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(0)

    async def future_watcher() -> None:
        await waits({"type": "http", "method": "GET", "path": "/"}, print, print)

    call = future_watcher()
    call.send(None)
    agent.is_stopping = True
    for name, count in (("other", 0), ("granian.asgi", 1)):
        monkeypatch.setitem(sys.modules, name, SimpleNamespace())
        agent.look_at_calls({}, {}, 0.0)
        assert [request[:3] for request in agent.requests] == [("GET", "/", None)] * count
    call.close()


def test_tasks_are_found_beside_one_that_has_no_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        def fails(_: object) -> None:
            raise RuntimeError

        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        with monkeypatch.context() as patch:
            patch.setattr(asyncio.tasks, "all_tasks", fails)
            known = weakref.WeakSet([task])
            patch.setattr(asyncio.tasks, "_scheduled_tasks", known, raising=False)
            assert alive.tasks(loop, None) == [task]

    asyncio.run(main())


def test_trio_is_looked_at_by_its_token(agent: Agent) -> None:
    token, begun, over = [], threading.Event(), threading.Event()

    async def waits(scope: Any, receive: Any, send: Any) -> None:
        while not over.is_set():
            begun.set()
            await trio.sleep(0.01)

    async def main() -> None:
        token.append(hooks.current_loop())
        async with trio.open_nursery() as nursery:
            nursery.start_soon(waits, {"type": "websocket", "path": "/chat"}, print, print)

    thread = threading.Thread(target=trio.run, args=(main,))
    thread.start()
    begun.wait()
    agent.loops, agent.is_stopping = {token[0]: thread.ident or 0}, True
    agent.look(time.monotonic())
    over.set()
    thread.join()
    (look,) = lines(agent, seen.Look)
    assert [request[:2] for request in look.requests] == [("websocket", "/chat")]
    assert not alive.is_running(token[0], sys._getframe())
    assert alive.tasks(token[0], sys._getframe()) == []


def test_it_looks_until_nobody_reads(
    agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[float] = []

    def look(now: float) -> None:
        looks.append(now)
        agent.is_stopping, agent.began = False, 0.0  # from now on it rests
        if len(looks) == 1:
            raise ValueError("a fault of lifespec")
        if len(looks) > 1:
            os.close(lock)

    monkeypatch.setattr(agent, "look", look)
    monkeypatch.setattr(module, "LIVELY", 0.0)
    monkeypatch.setattr(module, "REST", 0.0)
    lock = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    agent.run()
    assert len(looks) == 2
    assert not tmp_path.exists()
    assert not agent.is_watched()


def test_it_begins_in_forks_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, toy: Any) -> None:
    started: list[Any] = []
    left: list[int] = []
    ends: list[Any] = []
    forks: dict[str, Callable[[], None]] = {}
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    monkeypatch.setattr(module, "start_new_thread", lambda run, _: started.append(run))
    monkeypatch.setattr(os, "register_at_fork", forks.update)
    monkeypatch.setattr(os, "_exit", left.append)
    monkeypatch.setattr("atexit.register", lambda *call: ends.append(call))
    agent = module.begin(str(tmp_path))
    os._exit(0)  # of no application
    agent.had_other = True
    os._exit(3)
    installed: dict[str, Any] = {}
    source = "import os\ndef app(scope, receive, send):\n    os._exit(4)\n"
    exec(compile(source, "/usr/lib/python3/site-packages/shop/main.py", "exec"), installed)  # noqa: S102
    installed["app"]({"type": "lifespan"}, print, print)
    server = threading.Thread(target=os._exit, args=(5,))  # no frame of the application
    server.start()
    server.join()
    assert left == [0, 3, 4, 5]
    own, other = lines(agent, seen.Left)
    assert (own.status, own.lines[-1].function) == (3, "test_it_begins_in_forks_too")
    assert other.status == 4
    toy.Lifespan(None).off()  # of a module that was imported before
    (tmp_path / "stop").touch()
    agent.look(time.monotonic())
    assert agent.is_stopping
    forks["after_in_child"]()
    assert not agent.is_stopping
    assert len(started) == 2
    assert len(lines(agent, seen.NoLifespan)) == 2  # one for each agent


def test_what_travels_into_servers_runs_on_python_3_9_and_imports_little() -> None:
    """Each process pays for it at its start: 10 ms with what it imports, and 25 with these."""
    for each in module, alive, guard, hooks, looks, seen, stacks, waits, work:
        tree = ast.parse(Path(each.__file__).read_text("utf-8"), feature_version=(3, 9))
        imports = " ".join(ast.unparse(x) for x in tree.body if isinstance(x, ast.Import))
        assert not {"json", "re", "signal", "threading", "typing"} & {*imports.split()}


def test_while_it_serves_little_is_looked_at(agent: Agent) -> None:
    now = time.monotonic()
    agent.began, agent.counted, agent.has_listened = now - 100, now, True
    agent.look(now)
    assert lines(agent, seen.Look) == []
    agent.look_at_tasks({}, {}, now)
    assert agent.requests == []
    frames = {threading.main_thread().ident or 0: sys._getframe()}
    found = [agent.what_it_does(frames, {}, now + seconds) for seconds in (0, 3)]
    assert [look.still for look in found] == [0, 3]


def test_what_is_no_coroutine_function_is_not_marked_as_one(
    toy: Any, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    marked: list[Any] = []
    mark = lambda each: marked.append(each) or each  # noqa: E731
    monkeypatch.setattr("inspect.markcoroutinefunction", mark, raising=False)
    known = ("toy", "Lifespan", {"stop": "stop", "uncalled": "off"})
    monkeypatch.setitem(hooks.SERVERS, "toyserver", known)
    importlib.reload(toy)
    assert [each.__name__ for each in marked] == ["stop"]


def test_an_answer_to_a_call_before_it_was_watched_is_seen_too(toy: Any, agent: Agent) -> None:
    asyncio.run(toy.Lifespan(None).send({"type": "lifespan.shutdown.complete"}))
    assert [line.type for line in lines(agent, seen.Sent)] == ["lifespan.shutdown.complete"]


def test_a_process_without_asyncio_has_no_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "asyncio.events", SimpleNamespace())
    assert alive.loops(stacks.top_frames()) == {}


def test_what_asyncio_wait_waits_for_is_followed() -> None:
    async def for_all(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.wait([asyncio.ensure_future(for_ever())])

    async def main() -> None:
        task = asyncio.create_task(for_all("http", None, None))
        for _ in range(5):
            await asyncio.sleep(0)
        frames = waits.of(task).frames
        assert [each.f_code.co_name for each in frames].count("for_ever") == 1
        assert stacks.arguments(frames) == {}  # what is called so is no scope
        task.cancel()

    asyncio.run(main())


def test_what_awaits_itself_has_an_end() -> None:
    class Awaits:
        def get_coro(self) -> Any:
            return self

    assert stacks.awaited(Awaits()) == []


async def answers(scope: Any, receive: Any, send: Any) -> None:
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})


@pytest.fixture
def copy(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a copy of lifespec's class, in a module that nobody knows."""
    text = Path(server.__file__).read_text("utf-8").replace("class Lifespan:", "class Life:")
    found = ModuleType("life")
    monkeypatch.setitem(sys.modules, "life", found)
    exec(compile(text, "life.py", "exec"), vars(found))  # noqa: S102
    return found.Life  # type: ignore[attr-defined]


def test_a_copy_of_lifespecs_class_is_known_by_its_table(agent: Agent, copy: Any) -> None:
    async def fails(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        raise KeyError("pool")

    async def main() -> None:
        async with copy(answers) as lifespan:
            agent.look(time.monotonic())
            assert agent.where(agent.lifespans[0]).asks
        await lifespan.shutdown()  # which has ended
        await copy(fails).startup()
        slow = copy(serve_lifespan)
        task = asyncio.create_task(slow.startup())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])

    sys.modules["life"].__spec__ = SimpleNamespace(_initializing=True)  # type: ignore[assignment]
    agent.find_copies()
    assert copy not in agent.copies  # before it is imported
    sys.modules["life"].__spec__ = None
    agent.find_copies()
    agent.find_copies()
    asyncio.run(main())
    kinds = [type(line).__name__ for line in lines(agent, object)]
    happened = [kind for kind in kinds if kind not in ("Began", "Look")]
    assert happened[:5] == ["Called", "Received", "Sent", "Shutdown", "Sent"]
    assert happened[5:8] == ["Called", "Received", "Raised"]
    assert happened[8:10] == ["Called", "Raised"]
    watched = WatchedProcess(Path(agent.path))
    watched.read()
    assert [ended.kind for ended in watched.endings] == ["raised-late", "startup-cut-off"]


async def serve_lifespan(scope: Any, receive: Any, send: Any) -> None:
    await asyncio.Event().wait()


def test_a_copy_that_has_begun_before_it_is_found_is_followed(agent: Agent, copy: Any) -> None:
    async def main() -> None:
        early = copy(answers)
        await early.startup()
        others = asyncio.all_tasks()
        async with copy(answers):
            (call,) = asyncio.all_tasks() - others
            frames = stacks.awaited(call)
            assert agent.recognise(frames, threading.get_ident())
            assert agent.recognise(frames, threading.get_ident())
            assert agent.where(agent.lifespans[0]).asks
        agent.lifespans.clear()
        late = copy(answers)
        await late.startup()
        late.phase = "stopping"
        hooks.follow(agent.copies[copy], late, 0)
        late.phase = "running"
        await late.shutdown()
        await early.shutdown()  # no look has found its call

    asyncio.run(main())
    assert len(lines(agent, seen.Shutdown)) == 4
    assert guard.take() == []
    assert not agent.recognise([sys._getframe()], 0)


def test_a_copy_is_followed_from_within_its_startup(agent: Agent, copy: Any) -> None:
    class Heir(copy):  # type: ignore[misc]
        pass

    class Value:
        def __repr__(self) -> str:
            frames.append(sys._getframe(1))
            return "value"

    async def looks(scope: Any, receive: Any, send: Any) -> None:
        agent.look_at_calls({}, {threading.get_ident(): sys._getframe()}, 0.0)
        await answers(scope, receive, send)

    async def main() -> None:
        async with Heir(looks):
            pass

    frames: list[Any] = []
    vars(sys.modules["life"])["safe_repr"](Value())
    assert not agent.recognise(frames, 0)  # a function is no call
    asyncio.run(main())
    assert (agent.others, len(agent.lifespans)) == ([], 1)
    kinds = [type(line).__name__ for line in lines(agent, object)]
    assert kinds == ["Began", "Called", "Received", "Sent", "Shutdown", "Sent"]


def test_servers_tell_that_they_stop(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    def set_signals(loop: Any) -> None:
        loop.add_signal_handler(15, handled.append, 15)

    handled: list[int] = []
    toy = ModuleType("toysignals")
    vars(toy)["set_signals"] = set_signals
    monkeypatch.setitem(hooks.SERVERS, "toysignals", ("toy", "", {"stop": "set_signals"}))
    hooks.hook(toy, agent)
    loop = SimpleNamespace(add_signal_handler=lambda _, handler, *given: handler(*given))
    vars(toy)["set_signals"](loop)
    assert handled == [15]
    notes = hooks.Notes(agent, "toy")
    notes.stop()
    notes.signalled(None, None, 15)
    notes.hosted()
    assert len(lines(agent, seen.Stop)) == 2
    assert lines(agent, seen.Hosted)[0].by == "toy"
    assert lines(agent, seen.Signalled)[0].signal == 15


def test_a_lifespan_that_runs_just_now_is_seen(agent: Agent) -> None:
    def look_inside(scope: Any, receive: Any, send: Any) -> None:
        agent.look_at_calls({}, {0: sys._getframe()}, 0.0)

    look_inside({"type": "lifespan"}, print, print)
    assert [call.runs for call in agent.others] == [True]
    agent.began = 0.0
    assert agent.is_lively()
    call = hooks.FollowedCall()
    running = SimpleNamespace(cr_frame=1, cr_running=True)
    call.coroutine = lambda: running
    assert agent.where(call).runs
    agent.others, agent.lifespans = [], [call]
    assert agent.is_lively()
    call.is_answered = True
    assert not agent.is_lively()
    agent.others = [seen.CallState(over=False, runs=False, asks=True, lines=[])]  # it serves
    assert not agent.is_lively()
