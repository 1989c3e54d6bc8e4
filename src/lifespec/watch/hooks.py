"""When servers call an application, and when it answers: hooks in the classes of known servers.

They are set once the module of a class is imported, and call an agent, which writes it down.
Self-contained, for Python 3.9 and newer.
"""

from __future__ import annotations

import functools
import sys
import weakref
from _thread import get_ident

from ..diagnosis import guard, stacks
from . import seen

TYPE_CHECKING = False
if TYPE_CHECKING:  # each process pays for what is imported here
    from collections.abc import Callable, Collection
    from typing import Any

COROUTINE = 0x80  # the flag of its code


def _methods(*methods: str) -> dict[str, str]:
    """Return the methods of a class that carries out a lifespan, by what their calls say.

    That which calls the application, the two that it is given, and that which begins shutdown.
    """
    return dict(zip(("called", "received", "sent", "shutdown"), methods))


_UVICORN = _methods("main", "receive", "send", "shutdown")
_GRANIAN = _methods("handle", "receive", "send", "shutdown")
_HYPERCORN = _methods("handle_lifespan", "asgi_receive", "asgi_send", "wait_for_shutdown")
_GUNICORN = _methods("_run_lifespan", "_receive", "_send", "shutdown")
# lifespec's own, and each copy of it: one method makes the transitions of its table
_LIFESPEC = {"transition": "_on"}
# by module: the server, a class, and its methods by what their calls say
SERVERS = {
    "uvicorn.lifespan.on": ("uvicorn", "LifespanOn", _UVICORN),
    "hypercorn.asyncio.lifespan": ("hypercorn", "Lifespan", _HYPERCORN),
    "hypercorn.trio.lifespan": ("hypercorn", "Lifespan", _HYPERCORN),
    "granian.asgi": ("granian", "LifespanProtocol", _GRANIAN),
    "gunicorn.asgi.lifespan": ("gunicorn", "LifespanManager", _GUNICORN),
    "lifespec.server": ("", "Lifespan", _LIFESPEC),
    # how each learns that it has to stop, whoever tells it: a signal, a reload, a limit
    "uvicorn.server": ("uvicorn", "Server", {"stop": "shutdown", "signalled": "handle_exit"}),
    "hypercorn.utils": ("hypercorn", "ShutdownError", {"stop": "__init__"}),
    "granian._signals": ("granian", "", {"stop": "set_loop_signals"}),
    "gunicorn.workers.gasgi": ("gunicorn", "ASGIWorker", {"stop": "_shutdown"}),
    # whose workers other servers are, too
    "gunicorn.workers.base": ("gunicorn", "Worker", {"hosted": "init_process"}),
    # those that call with no lifespan scope
    "uvicorn.lifespan.off": ("uvicorn", "LifespanOff", {"uncalled": "startup"}),
    "daphne.server": ("daphne", "Server", {"uncalled": "run"}),
}


class FollowedCall:
    """A call of an application with the lifespan scope, by a known server."""

    def __init__(self) -> None:
        self.coroutine: Any = lambda: None  # weak references, to the call and to one of receive
        self.receive: Any = lambda: None
        self.own: Any = lambda: None  # the object of lifespec's own class
        self.thread = get_ident()  # in which its event loop runs
        self.looks: Any = None  # an agent's, at this call
        self.has_received = self.is_answered = False  # of startup

    def is_in_receive(self) -> bool:
        """Tell whether the application waits for an event."""
        own = self.own()
        if own is not None:
            return bool(own._receiving)  # noqa: SLF001
        return getattr(self.receive(), "cr_frame", None) is not None


class Notes:
    """What the calls of a server's methods say: each method here notes one, for an agent.

    It gets the object of the server, the result of the call if it is there, and the arguments.
    """

    def __init__(self, agent: Any, server: str) -> None:
        self.agent, self.server = agent, server
        self.calls: Any = weakref.WeakKeyDictionary()

    def called(self, this: Any, coroutine: Any, *_: Any) -> None:
        """Note a call of the application."""
        call = self.calls[this] = FollowedCall()
        call.coroutine = weakref.ref(coroutine)
        self.agent.lifespans.append(call)
        self.agent.note("Called", self.server)

    def received(self, this: Any, coroutine: Any, *_: Any) -> None:
        """Note that it waits for an event."""
        call = self.calls[this]
        call.receive = weakref.ref(coroutine)
        if not call.has_received:
            call.has_received = True
            self.agent.note("Received")
        self.agent.loops[current_loop()] = get_ident()

    def sent(self, this: Any, _: Any, message: Any, *__: Any) -> None:
        """Note what it has sent."""
        if this in self.calls:  # and was not called before it was watched
            self.calls[this].is_answered = True
        text, error = str(message.get("message", "")), self.agent.error(sys.exc_info()[1])
        self.agent.note_failed()
        self.agent.note("Sent", str(message["type"]), text, error)

    def raised(self, this: Any, error: Any) -> None:
        """Note what it has raised."""
        self.calls[this].is_answered = True
        self.agent.note_failed()
        self.agent.note("Raised", self.agent.error(error))

    def transition(self, this: Any, is_made: Any, trigger: str, *rest: Any) -> None:
        """Note a transition of lifespec's own class."""
        if not is_made:
            return
        if trigger == "startup":
            self.begin(this)
            self.agent.note("Called", self.server)
        elif trigger == "shutdown":
            self.shutdown()
        elif this in self.calls:
            self.note_received(this)
            self.calls[this].is_answered = True
            if trigger.startswith("lifespan."):
                error = self.agent.error(sys.exc_info()[1])
                self.agent.note_failed()
                self.agent.note("Sent", trigger, str(this._message), error)  # noqa: SLF001
            elif trigger == "raised":
                self.raised(this, rest[1])
            elif trigger in ("cancelled", "expired"):
                chain = [([stacks.CANCELLED], "", None)]
                error = seen.WrittenError("CancelledError", "", [], True, chain)
                self.agent.note("Raised", error)

    def begin(self, this: Any) -> FollowedCall:
        """Follow the call that an object of lifespec's own class has begun."""
        call = self.calls[this] = FollowedCall()
        call.coroutine = weakref.ref(stacks.coroutine_of(this._task))  # noqa: SLF001
        call.own = weakref.ref(this)
        self.agent.lifespans.append(call)
        self.agent.loops[this._loop] = call.thread  # noqa: SLF001
        return call

    def note_received(self, this: Any) -> None:
        """Note that the application has received startup, once it has."""
        call = self.calls[this]
        if not call.has_received and not this._inbox:  # noqa: SLF001
            call.has_received = True
            self.agent.note("Received")

    def shutdown(self, *_: Any) -> None:
        """Note that the server sends lifespan.shutdown."""
        self.agent.is_stopping = True
        caller = sys._getframe(2)  # behind the hook  # noqa: SLF001
        self.agent.note("Shutdown", self.server, self.agent.error(handled_by(caller)))
        self.agent.keep_failed()

    def stop(self, *_: Any) -> None:
        """Note that the server begins to stop."""
        self.agent.is_stopping = True
        self.agent.note("Stop", self.server)

    def signalled(self, _this: Any, _: Any, number: Any, *__: Any) -> None:
        """Note a signal that a handler of the server gets."""
        self.agent.note("Signalled", self.server, int(number))

    def hosted(self, *_: Any) -> None:
        """Note that this process is a worker of the server."""
        self.agent.note("Hosted", self.server)

    def uncalled(self, *_: Any) -> None:
        """Note that the server serves without a call."""
        self.agent.note("NoLifespan", self.server)


# these are noted after the call of the method and with its result, the others before it
AFTER_CALL = ("called", "received", "sent", "transition")


class Finder:
    """Acts on modules with these names once they are imported."""

    def __init__(self, modules: Collection[str], act: Callable[[Any], None]) -> None:
        self.modules, self.act = modules, act

    def install(self) -> None:
        """Act on those that are imported now, and later on the others."""
        sys.meta_path.insert(0, self)
        for name in set(self.modules).intersection(sys.modules):
            with guard.keeping():
                self.act(sys.modules[name])

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return the spec of such a module, as the other finders have it."""
        if name not in self.modules:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            if find is None or finder is self:  # a finder from before Python 3.4 has no such method
                continue
            spec = find(name, path, target)
            if spec is not None and spec.loader is not None:
                execute = spec.loader.exec_module

                def executes(module: Any, execute: Callable[[Any], None] = execute) -> None:
                    execute(module)
                    with guard.keeping():
                        self.act(module)

                spec.loader.exec_module = executes
                return spec
        return None


def hook(module: Any, agent: Any) -> None:
    """Let the methods of a server's class tell when they are called."""
    server, owner, methods = SERVERS[module.__name__]
    if owner:
        hook_class(getattr(module, owner), server, methods, agent)
    else:
        name = methods["stop"]
        setattr(module, name, _noting_signals(getattr(module, name), Notes(agent, server)))


def hook_class(kind: Any, server: str, methods: dict[str, str], agent: Any) -> Notes:
    """Let the methods of a class tell when they are called."""
    notes = Notes(agent, server)
    for says, method in methods.items():
        on_call(kind, method, getattr(notes, says), first=says not in AFTER_CALL)
    if "called" in methods:
        _note_what_is_caught(kind, notes)
    return notes


def _note_what_is_caught(kind: Any, notes: Notes) -> None:
    """Note what the application has raised.

    No method of these classes is called with it.  Each catches it, and sets an attribute while it
    is being handled.
    """
    set_before = kind.__setattr__

    def set_now(this: Any, name: str, value: Any) -> None:
        set_before(this, name, value)
        error = sys.exc_info()[1]
        if error is not None and this in notes.calls:
            with guard.keeping():
                notes.raised(this, error)

    kind.__setattr__ = set_now


def _noting_signals(original: Any, notes: Notes) -> Any:
    """Return granian's function that sets a loop's handlers of signals, with a note in each.

    What these handlers set is no object of Python's, and says nothing.
    """

    class Noting:
        """A loop that is only asked to set handlers of signals."""

        def __init__(self, loop: Any) -> None:
            self.loop = loop

        def add_signal_handler(self, number: Any, handler: Any, *arguments: Any) -> None:
            def handle(*given: Any) -> None:
                with guard.keeping():
                    notes.signalled(None, None, number)
                    notes.stop()
                handler(*given)

            self.loop.add_signal_handler(number, handle, *arguments)

    @functools.wraps(original)
    def set_signals(loop: Any) -> Any:
        return original(Noting(loop))

    return set_signals


def on_call(kind: Any, method: str, note: Callable[..., Any], *, first: bool = False) -> None:
    """Replace a method by itself, and a note of each call: object, result, arguments.

    With `first` the note comes before the call, and without its result.
    """
    original = getattr(kind, method)

    @functools.wraps(original)
    def noted_first(this: Any, *arguments: Any, **options: Any) -> Any:
        with guard.keeping():
            note(this, None, *arguments)
        return original(this, *arguments, **options)

    @functools.wraps(original)
    def noted_after(this: Any, *arguments: Any, **options: Any) -> Any:
        result = original(this, *arguments, **options)
        with guard.keeping():
            note(this, result, *arguments)
        return result

    noted: Any = noted_after
    if first:
        noted = noted_first

    flags = getattr(getattr(original, "__code__", None), "co_flags", 0)
    mark = getattr(sys.modules.get("inspect"), "markcoroutinefunction", None)  # Python 3.12
    if mark and flags & COROUTINE:  # who asks has to take it for what it was
        noted = mark(noted)
    setattr(kind, method, noted)


def follow(notes: Notes, this: Any, thread: int) -> None:
    """Note how far a call has come that a copy of lifespec's class has made before."""
    agent = notes.agent
    call = notes.begin(this)
    call.thread = agent.loops[this._loop] = thread  # noqa: SLF001
    agent.note("Called", "")
    notes.note_received(this)
    if this.phase != "waiting":
        call.is_answered = True
        agent.note("Sent", "lifespan.startup.complete", "", None)
    if this.phase not in ("waiting", "running"):
        notes.shutdown()


def hook_copies(module: Any, agent: Any) -> None:
    """Let a copy of lifespec's class in a module tell what it does, whatever it is called."""
    names = vars(module)
    if _has_table(names) and names.get("__name__") not in SERVERS:
        for kind in list(names.values()):
            if not issubclass(type(kind), type):  # `isinstance` would ask an object of others
                continue
            if "_call_app" in vars(kind) and kind not in agent.copies:
                agent.copies[kind] = hook_class(kind, "", _LIFESPEC, agent)


def _has_table(names: dict[str, Any]) -> bool:
    table = names.get("TABLE")
    if type(table) is not dict:
        return False
    return "lifespan.startup.complete" in table.get("waiting", ())


def recognised(frames: list[Any]) -> Any:
    """Return the class among frames that is a copy of lifespec's `Lifespan`, and its object.

    Whoever copies the file may give it, and the class, another name: its table tells it.
    """
    for frame in frames:
        if not _has_table(frame.f_globals):
            continue
        this = frame.f_locals.get("self")
        for kind in type(this).__mro__:
            if "_call_app" in vars(kind) and "phase" in vars(this):
                return kind, this
    return None


def is_cancelled() -> bool:
    """Tell whether this task was cancelled: a CancelledError may come from one that it awaits."""
    try:
        return bool(sys.modules["asyncio"].current_task().cancelling())  # Python 3.11
    except Exception:
        return True


def loop_ends() -> bool:
    """Tell whether all tasks were cancelled: so `asyncio.run` ends when its main task has ended."""
    try:
        return all(task.cancelling() for task in sys.modules["asyncio"].all_tasks())  # Python 3.11
    except Exception:
        return False


def handled_by(frame: Any) -> Any:
    """Return the error of the system that a frame handles just now, None if it handles none.

    Its traceback begins in that frame: a server may run where its caller handles another one.
    """
    error: Any = sys.exc_info()[1]
    if not issubclass(type(error), OSError) or error.errno is None:
        return None
    if stacks.trace_of(error).tb_frame is not frame:
        return None
    return error


def since_interrupt(errors: list[Any], *, is_stopping: bool) -> list[Any]:
    """Return the exceptions whose line is told, of those that one came from.

    `asyncio.run` cancels what still runs once KeyboardInterrupt or SystemExit has left the loop:
    before a shutdown, the line of that one is told, and not where its victim was.
    """
    if is_stopping or not stacks.is_cancellation(errors[0]):
        return errors
    for error in errors:
        if issubclass(type(error), (KeyboardInterrupt, SystemExit)):
            return [error]
    return errors


def current_loop() -> Any:
    """Return the event loop of asyncio that runs here, or the token of that of trio."""
    try:
        return sys.modules["asyncio"].get_running_loop()
    except (KeyError, RuntimeError):
        return sys.modules["trio"].lowlevel.current_trio_token()


def install(agent: Any) -> None:
    """Set the hooks in the classes of known servers."""
    Finder(SERVERS, functools.partial(hook, agent=agent)).install()
