"""Runs the program of the playground: its `app` on a `Lifespan`, checked by `validator`.

`check` plays the cases of `lifespec check app` to it instead, one after the other in this process.
The server does what the page's form says, see `Conduct`, or what a record says, see `imitation`.
The clock is virtual, so that a timeout takes no time. A program in which no `app` is defined may
run lifespans of its own.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
import io
import linecache
import logging
import platform
import re
import sys
from contextlib import contextmanager, redirect_stderr, suppress
from dataclasses import dataclass, field, fields, replace
from importlib import metadata
from itertools import product
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from lifespec.conformance.words import mark as _
from lifespec.server import Lifespan
from lifespec.testing import clock, trace
from lifespec.validate import SPECS, lifespan_scope, validator
from lifespec_docs.diagrams.event_log import event_log
from lifespec_docs.examples.sandbox import Namespace
from lifespec_docs.live.blocks import MOST_TEXT, told
from lifespec_docs.live.imitation import Imitation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from lifespec.validate import Violation

    Translate = Callable[[str], str]

__all__ = ["FILE", "SAID", "WHEN", "Conduct", "Result", "check", "in_words", "play", "ran"]

FILE = "app.py"  # as tracebacks name the program
MODULE = "app"  # `__name__` of the program: a server imports it
WEBSOCKET, STAYS = "WEBSOCKET", 1.0  # virtual seconds until a client leaves
AFTERWARDS = 10.0  # virtual seconds for what the application has left behind
SHARED = {"asyncio", "builtins", "contextlib", "lifespec", "logging"}  # what programs may replace
MOST_ENTRIES = 60  # of the message sequences
# What the validator says that an application did, and the sentence with the moment in it.
SAID = {
    "sent %s, which %s does not have,": _(
        "The application sent {what} {when}. {spec} does not have this event."
    ),
    "sent %s": _("The application sent {what} {when}."),
    "put the key %s into the state": _("The application put the key {what} into the state {when}."),
    "raised %s": _("The application raised {what} {when}."),
    "returned": _("The application returned {when}."),
}
WHEN = (
    _("before startup was received"),
    _("while starting"),
    _("while running"),
    _("while shutting down"),
    _("after lifespan.startup.failed"),
    _("after shutdown was answered"),
    _("after the end of the call"),
)


@dataclass(frozen=True)
class Conduct:
    """What the server does; times are seconds, and None is no timeout.

    It serves for `serve` seconds after its `requests`, and raises OSError then if it `fails`. Each
    `request` is a method, a path, and perhaps a body; the method of a WebSocket is `WEBSOCKET`, and
    its body is a message. The server is cancelled at each of the moments `cancel`.
    """

    spec: str = "asgi 2.0"
    state: bool = True
    strict: bool = False
    startup_timeout: float | None = None
    shutdown_timeout: float | None = None
    grace: float | None = 5.0
    requests: int = 0
    request: str = "GET /"
    serve: float = 1.0
    cancel: tuple[float, ...] = ()
    fails: bool = False

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Conduct:
        """Return what a page says; what it does not say is as usual."""
        known = {each.name: given[each.name] for each in fields(cls) if each.name in given}
        return cls(**known | {"cancel": tuple(known.get("cancel", ()))})

    def lifespan(self, app: Any) -> Lifespan[Any]:
        """Return the lifespan of an application on this server."""
        return Lifespan(
            app,
            scope=lifespan_scope(self.spec, state=self.state),
            startup_timeout=self.startup_timeout,
            shutdown_timeout=self.shutdown_timeout,
            grace=self.grace,
            strict=self.strict,
        )

    def asked(self) -> tuple[str, str, str]:
        """Return the method, the path and the body of each request."""
        method, _, rest = self.request.strip().partition(" ")
        path, _, body = rest.strip().partition(" ")
        return method.upper(), path or "/", body.strip()

    def call(self) -> dict[str, Any]:
        """Return the scope of a request, or of a message in AMGI."""
        envelope = SPECS[self.spec].envelope
        versions = {envelope: dict(SPECS[self.spec].versions)} if envelope else {}
        if envelope == "amgi":
            about = {"address": "orders", "headers": [], "payload": b"hello"}
            return {"type": "message", **versions, **about}
        method, target, body = self.asked()
        raw, _, query = target.partition("?")
        socket = method == WEBSOCKET
        line = {"path": unquote(raw), "raw_path": raw.encode(), "query_string": query.encode()}
        own: dict[str, Any] = {"subprotocols": []} if socket else {"method": method}
        sized = [(b"content-length", str(len(body.encode())).encode())] if body else []
        headers = [(b"host", b"127.0.0.1:8000"), *([] if socket else sized)]
        more = {"http_version": "1.1", "root_path": "", "headers": headers}
        peers = {"client": ("127.0.0.1", 50000), "server": ("127.0.0.1", 8000)}
        kind, scheme = ("websocket", "ws") if socket else ("http", "http")
        return {"type": kind, **versions, "scheme": scheme, **line, **own, **more, **peers}

    def events(self) -> list[dict[str, Any]]:
        """Return what the application receives in a request; the last is that the client left."""
        method, _, body = self.asked()
        if method == WEBSOCKET:
            said = [{"type": "websocket.receive", "text": body}] if body else []
            left = {"type": "websocket.disconnect", "code": 1000}
            return [{"type": "websocket.connect"}, *said, left]
        whole = {"type": "http.request", "body": body.encode(), "more_body": False}
        return [whole, {"type": "http.disconnect"}]


@dataclass
class Result:
    """What came of a run.

    `served` is None if the program has no `app`. `raised` is what the server raised, as class and
    text, `failure` what the program raised by itself. `waits` are lines of the program that wait
    although nothing can happen any more, and `unanswered` is the rule that asks for the answer
    that is missing then. Of a recorded server, `cases` are those of the suite that the run came to,
    and `logged` are its lines.
    """

    conversations: list[list[trace.Entry]]
    console: list[tuple[str, str]]
    served: bool | None = None
    outcome: str | None = None
    raised: tuple[str, str] | None = None
    waits: tuple[str, ...] | None = None
    unanswered: str | None = None
    failure: str = ""
    violations: tuple[Violation, ...] = ()
    warnings: tuple[Violation, ...] = ()
    cases: list[str] = field(default_factory=list)
    logged: list[str] | None = None


def play(request: dict[str, Any], notify: Callable[[str], object] = str) -> dict[str, Any]:
    """Run `program` on a server of the conduct `server`; return what a page shows of it.

    `words` are those of the page's language.  `notify` is given each text when it comes.
    """
    words = request["words"]

    def translate(word: str) -> str:
        return str(words.get(word, word))

    conduct = Conduct.of(request["server"])
    result = ran(request["program"], conduct, notify, request.get("recorded"))
    spoken = [entries[:MOST_ENTRIES] for entries in result.conversations]
    found = [(result.violations, "violation"), (result.warnings, "warning")]
    return {
        "served": result.served,
        "outcome": result.outcome,
        "raised": result.raised,
        "waits": result.waits,
        "unanswered": result.unanswered,
        "failure": result.failure,
        "line": _line(result.failure),
        "console": result.console,
        "cases": result.cases,
        "logged": result.logged,
        "versions": _versions(),
        "messages": event_log(spoken, translate),
        "shortened": any(len(entries) > MOST_ENTRIES for entries in result.conversations),
        "validator": [
            {"rule": each.rule, "kind": kind, "message": in_words(each, translate)}
            for violations, kind in found
            for each in violations
        ],
    }


def _versions() -> dict[str, str]:
    """Return the versions of what is imported: Python, and packages by name."""
    found = {
        each.name: each.version
        for each in metadata.distributions()
        if each.name.replace("-", "_").lower() in sys.modules
    }
    return {"Python": platform.python_version(), **dict(sorted(found.items()))}


def _line(failure: str) -> int | None:
    """Return the last line of the program that a traceback names."""
    found = re.findall(rf'File "{re.escape(FILE)}", line (\d+)', failure)
    return int(found[-1]) if found else None


def in_words(violation: Violation, translate: Translate) -> str:
    """Return a message of the validator about an application, in the language of a page."""
    for moment, (did, sentence) in product(WHEN, SAID.items()):
        pattern = re.escape(f"The application {did} {moment}").replace("%s", "(.*)")
        if found := re.fullmatch(pattern, violation.message, re.DOTALL):
            named = dict(zip(("what", "spec"), found.groups(), strict=False))
            return translate(sentence).format(**named, when=translate(moment))
    return violation.message


def ran(
    program: str,
    conduct: Conduct,
    notify: Callable[[str], object] = str,
    recorded: Mapping[str, Any] | None = None,
) -> Result:
    """Run a program and serve its application, as `Lifespan` or as a recorded server."""
    console = _Console(notify)
    result = Result([], console.lines)
    with trace.collect() as spoken, _loaded(program, console, result) as names:
        if "app" in names:
            _Server(names["app"], conduct, console, result, recorded).run()
        console.close()
        result.conversations = result.conversations or [list(each.entries) for each in spoken]
    return result


def check(request: dict[str, Any], notify: Callable[[str], object] = str) -> dict[str, Any]:
    """Check the application of `program` by `spec`; return the report, in `language`, as text."""
    from lifespec.conformance import Unchecked, check_app, i18n  # noqa: PLC0415  a run needs none
    from lifespec.conformance.report import terminal  # noqa: PLC0415  nor rich

    console, written = _Console(notify), io.BytesIO()
    result = Result([], console.lines)
    with _loaded(request["program"], console, result) as names:
        if "app" in names:
            try:
                found = check_app(names["app"], request["spec"])
            except Exception as error:  # what cannot be checked, or not on a virtual clock
                result.failure = str(error) if isinstance(error, Unchecked) else told(error, FILE)
            else:
                wording = i18n.wording(request["language"])
                stream = io.TextIOWrapper(written, "utf-8", write_through=True)
                terminal.show(replace(found, subject=FILE), stream, wording=wording)
                stream.detach()  # else it closes what it has written
        console.close()
    return {
        "report": written.getvalue().decode(),
        "failure": result.failure,
        "line": _line(result.failure),
        "console": result.console,
        "versions": _versions(),
    }


@contextmanager
def _loaded(program: str, console: _Console, result: Result) -> Iterator[dict[str, Any]]:
    """Run a program and give its names, none if it raises; what it prints goes to the console."""
    namespace = Namespace(console)
    namespace.main.__name__ = MODULE
    linecache.cache[FILE] = (0, None, program.splitlines(keepends=True), FILE)
    with _put_back(), namespace.staged(), redirect_stderr(console), _logged_to(console):
        names = namespace.names
        try:
            code = compile(program, FILE, "exec", dont_inherit=True)
            exec(code, names)  # noqa: S102  a reader's own program
        except BaseException as error:
            result.failure, names = told(error, FILE), {}
        yield names
        gc.collect()  # a task that was left says so now, and not in the log of the next run


@contextmanager
def _put_back() -> Iterator[None]:
    """Give modules back what a program has replaced in them, so that the next run has it."""
    modules = [each for name, each in sys.modules.items() if name.partition(".")[0] in SHARED]
    before = [(vars(module), dict(vars(module))) for module in modules]
    try:
        yield
    finally:
        for now, names in before:
            now.update(names)


class _Console(io.StringIO):
    """Holds lines of log and output in their order; takes none when it is closed."""

    def __init__(self, notify: Callable[[str], object]) -> None:
        super().__init__()
        self.notify = notify
        self.lines: list[tuple[str, str]] = []
        self._room = MOST_TEXT
        self._is_open = True

    def write(self, text: str, /) -> int:
        """Add what is printed to the last text that was."""
        self.add("print", text)
        return len(text)

    def add(self, kind: str, text: str) -> None:
        """Add a text of that kind: `print`, `request` or the name of a level."""
        if not self._is_open:
            return
        if len(text) > self._room:
            text = f"{text[: self._room]} …\n"
            self.close()
        self._room -= len(text)
        self.notify(text if kind == "print" else f"{kind}: {text}\n")
        if kind == "print" and self.lines and self.lines[-1][0] == "print":
            text = self.lines.pop()[1] + text
        self.lines.append((kind, text))

    def close(self) -> None:
        """Take nothing more; whoever writes goes on."""
        self._is_open = False


class _Handler(logging.Handler):
    """Hands each record to a console."""

    def __init__(self, console: _Console) -> None:
        super().__init__()
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        """Add a record, and the traceback as far as it is in the program."""
        text = record.getMessage()
        if record.exc_info and record.exc_info[1]:
            text = f"{text}\n{told(record.exc_info[1], FILE)}"
        self._console.add(record.levelname, text.rstrip())


@contextmanager
def _logged_to(console: _Console) -> Iterator[None]:
    """Show records from INFO on, and all of the server's; the namespace forgets them afterwards."""
    logging.root.addHandler(_Handler(console))
    logging.root.setLevel(logging.INFO)
    logging.getLogger("lifespec.server").setLevel(logging.DEBUG)
    yield


class _Server:
    """Serves an application on a loop of its own."""

    def __init__(
        self,
        app: Any,
        conduct: Conduct,
        console: _Console,
        result: Result,
        recorded: Mapping[str, Any] | None,
    ) -> None:
        self.app = app
        self.conduct = conduct
        self.console = console
        self.result = result
        self.checked = validator(self._resumed)
        self._called: dict[int, tuple[_Use, Any]] = {}
        self.imitation = Imitation(self._called_by, recorded) if recorded else None
        self.lifespan = self.imitation or conduct.lifespan(self._called_by)

    def run(self) -> None:
        """Serve it, and note what became of it before the loop is closed."""
        runner = asyncio.Runner(loop_factory=clock.VirtualLoop)
        with trace.collect() as spoken:
            try:
                runner.run(self._main())
            except clock.Deadlock:
                self.result.waits = _waiting(runner.get_loop())
                self.result.unanswered = _unanswered(spoken)
            except (SystemExit, KeyboardInterrupt) as error:  # of the application
                self.result.raised = type(error).__name__, str(error)
            except Exception as error:
                self.result.failure = told(error, FILE)
            self.result.outcome = self.lifespan.outcome
            self.result.conversations = [list(each.entries) for each in spoken]
            self.result.violations = tuple(self.checked.violations)
            self.result.warnings = tuple(self.checked.warnings)
            if self.imitation:
                self.result.cases = self.imitation.ended(hangs=self.result.waits is not None)
                self.result.logged = self.imitation.log()
            self.console.close()  # what follows is the end of the loop, not of the server
            with suppress(clock.Deadlock):  # of a task that does not end though it is cancelled
                runner.close()

    async def _main(self) -> None:
        self.result.served = False
        server = asyncio.create_task(self._serve())
        for moment in self.conduct.cancel:
            asyncio.get_running_loop().call_later(moment, server.cancel)
        await asyncio.wait([server])
        raised = _raised_by(server)
        self.result.raised = None if self.imitation else raised  # that would be `Lifespan`'s
        if left := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(left, timeout=AFTERWARDS)

    async def _serve(self) -> None:
        async with self.lifespan:
            self.result.served = True
            await self._work()

    async def _work(self) -> None:
        """Do what the server does between startup and shutdown."""
        for _request in range(self.conduct.requests):
            self.console.add("request", await self._answer())
        await asyncio.sleep(self.conduct.serve)
        if self.conduct.fails:
            raise OSError("the server fails")

    async def _answer(self) -> str:
        """Return what the application answers to a request."""
        scope, sent = self.conduct.call(), list[Any]()
        name = " ".join(self.conduct.asked()[:2]) if scope["type"] != "message" else "message"
        events, left = self.conduct.events(), asyncio.Event()
        asyncio.get_running_loop().call_later(STAYS, left.set)

        async def receive() -> dict[str, Any]:
            if len(events) == 1:
                await left.wait()
                return events[0]
            return events.pop(0)

        async def send(message: Any) -> None:
            sent.append(message)
            about = message if isinstance(message, dict) else {}
            if about.get("type") == "http.response.body" and not about.get("more_body"):
                left.set()

        try:
            await self.lifespan.app(scope, receive, send)
        except Exception as error:
            return f"{name} → {type(error).__name__}: {error}"
        return f"{name} → {', '.join(map(_brief, sent))}"

    def _called_by(self, scope: Any, receive: Any, send: Any) -> Any:
        """Call the application at once, as its server sees it, and let the validator await it."""
        use = _Use(receive, send, self.console.notify)
        call = self.app(scope, use.receive, use.send)
        if not inspect.isawaitable(call):
            return call
        self._called[id(scope)] = use, call
        return self.checked(scope, receive, send)

    async def _resumed(self, scope: Any, receive: Any, send: Any) -> Any:
        use, call = self._called.pop(id(scope))
        use.now = receive, send
        return await call


class _Use:
    """`receive` and `send` of a call, which the validator replaces by its own."""

    def __init__(self, receive: Any, send: Any, notify: Callable[[str], object]) -> None:
        self.now = receive, send
        self.notify = notify

    async def receive(self) -> Any:
        event = await self.now[0]()
        self.notify(f"receive() → {_brief(event)}\n")
        return event

    async def send(self, message: Any) -> Any:
        self.notify(f"send() ← {_brief(message)}\n")
        return await self.now[1](message)


def _waiting(loop: asyncio.AbstractEventLoop) -> tuple[str, ...]:
    """Return the lines of the program in which its tasks wait."""
    found = set()
    for task in asyncio.all_tasks(loop):
        call: Any = task.get_coro()
        line = 0
        while frame := getattr(call, "cr_frame", None):
            if frame.f_code.co_filename == FILE:
                line = frame.f_lineno
            call = call.cr_await
        if line:
            found.add(line)
    return tuple(f"{FILE}:{line}" for line in sorted(found))


def _unanswered(spoken: Sequence[trace.Conversation]) -> str:
    """Return the rule on the answer that did not come."""
    entries = [entry for each in spoken for entry in each.entries]
    received = [entry.type for entry in entries if entry.kind == "received"]
    return "shutdown-answered" if "lifespan.shutdown" in received else "startup-answered"


def _raised_by(server: asyncio.Task[None]) -> tuple[str, str] | None:
    if server.cancelled():
        return "CancelledError", ""
    error = server.exception()
    return (type(error).__name__, str(error)) if error else None


def _brief(message: Any) -> str:
    """Return what counts of a message: status, body, text or type."""
    about = message if isinstance(message, dict) else {}
    for key in ("status", "body", "text", "type"):
        if key in about:
            value = about[key]
            return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    return repr(message)
