"""The names that a check can use, in addition to those of the programs of its page.

They are the same on asyncio and on trio, with a virtual clock:

    Lifespan, StartupFailed, …              the public names of lifespec
    application(startup=…, shutdown=…)      an application; a step is "complete", "hang", "return",
                                            failed("text"), an exception to raise, or seconds
    await start(app, **options)             its Lifespan, started; it is stopped after the check
    await outcome_of(app, **options)        its outcome after start and stop, whatever they raise
    await log_of(app, **options)            the log records of that: "ERROR The application …"
    await events_of(app, **options)         the events of that: "lifespan.startup", …
    with expect(StartupFailed, "text"):     the body raises that, with these words in its message
    await sleep(seconds), seconds()         wait; the time since the check began
    aside(function, *arguments)             its result, from a thread where no event loop runs
    library, Cancelled                      "asyncio" or "trio", and what its cancellation raises
    asynccontextmanager, suppress           those of contextlib
    command("lifespec …", shop=module())    the exit status and the output of a command, run beside
                                            the file shop.py; in a block `{check} asyncio`
    module(startup="…", shutdown="…")       a module with an application `app` that runs these lines
    docs                                    the folder of the pages: docs / "programs/serve.py"
    logged("fails", "SIGINT")               by server, what docs/matrix/loglines.json has of a run
    signalled("stops", "uvicorn", "SIGINT") what signals.json has of a server under conditions
    measured("case", "rule")                the verdicts of all servers that have lifespan
    record("frameworks")                    a record of docs/matrix
"""

import ast
import builtins
import inspect
import json
import logging
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from functools import lru_cache
from importlib import import_module
from itertools import takewhile
from logging.handlers import BufferingHandler
from pathlib import Path
from types import CodeType, FunctionType, SimpleNamespace
from typing import Any, NamedTuple

import lifespec
from lifespec.testing import clock, trace
from lifespec_pages.sandbox import run_process

SERVERS = {"asyncio": "lifespec.server", "trio": "lifespec.server_trio"}
CANCELLED = {"asyncio": "CancelledError", "trio": "Cancelled"}
MANY = 1_000_000  # log records: the handler never flushes them
LONG = 1e6  # seconds, of an application that hangs
DOCS = Path(__file__).resolve().parents[2]


class CheckFailed(Exception):
    """A check does not hold on one of the libraries; its cause is what the check raised."""


class Failed(NamedTuple):
    """A step that an application answers with `failed`."""

    message: str


class _Prelude:
    """The names of a check on one library."""

    def __init__(self, library: str) -> None:
        self.library, self.module = library, import_module(library)
        self.server = import_module(SERVERS[library]).Lifespan
        self.stopping = AsyncExitStack()
        self.began = self._now()

    def names(self) -> dict[str, Any]:
        """Return all of them."""
        public = {name: getattr(lifespec, name) for name in lifespec.__all__}
        own = (self.application, self.start, self.outcome_of, self.log_of, self.events_of)
        shared = aside, asynccontextmanager, command, expect, logged, measured, module, signalled
        return public | {
            **{each.__name__: each for each in (*own, *shared, suppress)},
            "Cancelled": getattr(self.module, CANCELLED[self.library]),
            "Lifespan": self.server,
            "docs": DOCS,
            "failed": Failed,
            "library": self.library,
            "record": record,
            "seconds": lambda: round(self._now() - self.began, 6),
            "sleep": self.module.sleep,
        }

    def _now(self) -> float:
        if self.library == "trio":
            return float(import_module("trio").current_time())
        return float(import_module("asyncio").get_running_loop().time())

    def application(self, startup: object = "complete", shutdown: object = "complete") -> Any:
        async def app(_scope: Any, receive: Any, send: Any) -> None:
            for name, step in (("startup", startup), ("shutdown", shutdown)):
                await receive()
                if isinstance(step, BaseException):
                    raise step
                if step == "return":
                    return
                if step == "hang" or isinstance(step, int | float):
                    await self.module.sleep(LONG if step == "hang" else step)
                if isinstance(step, Failed):
                    await send({"type": f"lifespan.{name}.failed", "message": step.message})
                    return
                await send({"type": f"lifespan.{name}.complete"})

        return app

    async def start(self, app: Any, **options: Any) -> Any:
        lifespan = self.server(app, **options)
        self.stopping.push_async_callback(_stop, lifespan)
        await lifespan.startup()
        return lifespan

    async def outcome_of(self, app: Any, **options: Any) -> Any:
        lifespan = self.server(app, **options)
        with suppress(lifespec.StartupFailed):
            await lifespan.startup()
            await _stop(lifespan)
        return lifespan.outcome

    async def log_of(self, app: Any, **options: Any) -> list[str]:
        log, kept = logging.getLogger("lifespec.server"), BufferingHandler(MANY)
        level = log.level
        log.setLevel(logging.INFO)
        log.addHandler(kept)
        try:
            await self.outcome_of(app, **options)
        finally:
            log.removeHandler(kept)
            log.setLevel(level)
        return [f"{each.levelname} {each.getMessage()}" for each in kept.buffer]

    async def events_of(self, app: Any, **options: Any) -> list[str]:
        recorder = trace.record(app)
        await self.outcome_of(recorder, **options)
        entries = (entry for each in recorder.conversations for entry in each.entries)
        return [entry.type for entry in entries if entry.kind in {"received", "sent"}]


async def _stop(lifespan: Any) -> None:
    with suppress(lifespec.ShutdownFailed):
        await lifespan.shutdown()


PATIENCE = 120.0  # seconds, for a command; a busy machine needs many
MODULE = """\
import asyncio
from contextlib import asynccontextmanager
from lifespec import with_lifespan

async def requests(scope, receive, send):
    if scope["type"] != "http":
        raise ValueError(scope["type"])

@asynccontextmanager
async def lifespan(app):
    {startup}
    yield
    {shutdown}

app = with_lifespan(requests, lifespan)
"""


def module(startup: str = "pass", shutdown: str = "pass") -> str:
    """Return the text of a module whose application runs these lines."""
    return MODULE.format(startup=startup, shutdown=shutdown)


def command(line: str, **files: str) -> tuple[int | None, str]:
    """Run a module of Python beside these files; return exit status and output.

    Variables of the environment stand before its name, as in a shell: LANG=C lifespec …
    """
    words = shlex.split(line)
    variables = dict(word.split("=") for word in takewhile(lambda word: "=" in word, words))
    named = [(f"{name}.py", text) for name, text in files.items()]
    done = run_process(words[len(variables) :], PATIENCE, named, **variables)
    return done.status, done.output + done.errors


@lru_cache
def record(name: str) -> Any:
    """Return a record of docs/matrix, which no check changes."""
    return json.loads((DOCS / "matrix" / f"{name}.json").read_text("utf-8"))


def logged(program: str, run: str = "SIGTERM") -> dict[str, dict[str, Any]]:
    """Return by server what was recorded of a program: lines, statuses, whether it served.

    Raise AssertionError if it did something else on another Python: a statement would need that
    condition.  The lines are those of the oldest one, the statuses those of all.
    """
    by_server: dict[str, dict[str, Any]] = {}
    for subject in record("loglines")["subjects"]:
        seen = subject["runs"][program].get(run)
        if seen is None:
            continue
        first = by_server.setdefault(subject["name"], dict(seen))
        first["statuses"] = sorted({*first["statuses"], *seen["statuses"]})
        for fact in "served", "alone", "shutdown", "ended":
            if first[fact] != seen[fact]:
                raise AssertionError(f"{subject['name']}, {subject['python']}: {fact} differs")
    return by_server


def signalled(part: str, server: str, *conditions: str) -> list[dict[str, Any]]:
    """Return what was observed of a server when it was ended, under each set of conditions.

    A part is "stops", "waits" or "given up" of docs/matrix/signals.json.  A condition is a word
    that the record has: "SIGTERM", "to the group", "two workers", "Python 3.11", "uvloop",
    "streams", "limited", "startup", "Ctrl-C".  Without one of a kind it is all of that kind.
    """
    observed = []
    for subject in record("signals")["subjects"]:
        version = subject["python"].partition(" ")[2].rpartition(".")[0]
        about = {f"Python {version}", subject["conditions"]["loop"]}
        if subject["name"].removesuffix(", uvloop") == server:
            runs = _OBSERVED[part](subject[part])
            observed += [facts for labels, facts in runs if set(conditions) <= {*labels, *about}]
    if not observed:
        raise AssertionError(f"nothing was recorded: {part}, {server}, {', '.join(conditions)}")
    return observed


def _stops(runs: Mapping[str, Any]) -> Iterator[tuple[list[str], Any]]:
    for way, facts in runs.items():
        yield way.split(", "), facts


def _waits(runs: Sequence[Any]) -> Iterator[tuple[list[str], Any]]:
    for facts in runs:
        limit = "limited" if facts["option"] else "default"
        yield [facts["program"], limit, *facts["way"].split(", ")], facts


def _given_up(runs: Mapping[str, Any]) -> Iterator[tuple[list[str], Any]]:
    for waits, by_workers in runs.items():
        for workers, by_keys in by_workers.items():
            for keys, facts in by_keys.items():
                yield [waits, workers, keys], facts


_OBSERVED: dict[str, Any] = {"stops": _stops, "waits": _waits, "given up": _given_up}


def measured(case: str, rule: str) -> set[str]:
    """Return the verdicts on a rule in a case, of every way to run every server that has lifespan.

    A server without lifespan skips the rule, and so does one that did not come so far.
    """
    verdicts = set()
    for subject in record("servers")["subjects"]:
        for finding in subject["findings"]:
            if (finding["case"], finding["rule"]) == (case, rule):
                verdicts.add(finding["verdict"])
    return verdicts - {"skip"}


def aside(function: Callable[..., Any], *arguments: object, **options: object) -> Any:
    """Call a function in a thread of its own, where no event loop runs."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(function, *arguments, **options).result(PATIENCE)


@contextmanager
def expect(kind: type[BaseException], text: str = "") -> Iterator[SimpleNamespace]:
    """Fail unless the body raises this; then `error` of the yielded object is the exception."""
    caught = SimpleNamespace(error=None)
    try:
        yield caught
    except kind as error:
        caught.error = error
    if caught.error is None:
        raise AssertionError(f"{kind.__name__} is not raised")
    words = rf"(?<!\w){re.escape(text)}(?!\w)" if text else ""
    if not re.search(words, str(caught.error)):
        raise AssertionError(f"{text!r} is not in {str(caught.error)!r}")


def traced(tree: ast.Module) -> dict[int, str]:
    """Let each `assert` and each `with expect` of a check note that it ran; return them by line."""
    lines: dict[int, str] = {}
    for node in list(ast.walk(tree)):
        for _, body in ast.iter_fields(node):
            if not isinstance(body, list):
                continue
            for statement in list(body):  # a copy: notes are put into it
                if _asserts(statement):
                    line = statement.lineno
                    lines[line] = ast.unparse(statement).splitlines()[0]
                    note = ast.copy_location(ast.parse(f"_ran.add({line})").body[0], statement)
                    body.insert(body.index(statement), ast.fix_missing_locations(note))
    return lines


def _asserts(node: Any) -> bool:
    """Tell whether a node is an `assert` or a `with expect`."""
    if isinstance(node, ast.With):
        return any("expect(" in ast.unparse(item) for item in node.items)
    return isinstance(node, ast.Assert)


def prove(
    code: CodeType, names: Mapping[str, Any], libraries: Sequence[str], asserts: Mapping[int, str]
) -> None:
    """Run a check on each of these libraries, on a virtual clock, in a copy of the names.

    Raise CheckFailed from what the check raised, or if an assertion ran on none of them.
    """
    ran = set[int]()
    for library in libraries:
        try:
            _RUN[library](_proven, code, {**names, "_ran": ran}, library)
        except Exception as error:
            raise CheckFailed(f"on {library}: {_sentence(error)}") from error
    never = sorted(asserts.keys() - ran)
    if never:
        raise CheckFailed(f"this never ran: {asserts[never[0]]}")


async def _proven(code: CodeType, names: Mapping[str, Any], library: str) -> None:
    prelude = _Prelude(library)
    async with prelude.stopping:
        value = FunctionType(code, {**names, **prelude.names(), "__builtins__": builtins})()
        if inspect.isawaitable(value):
            await value


def _on_trio(main: Any, *arguments: Any) -> None:
    import_module("trio").run(
        main, *arguments, clock=import_module("trio.testing").MockClock(autojump_threshold=0)
    )


_RUN = {"asyncio": lambda main, *arguments: clock.run(main(*arguments)), "trio": _on_trio}


def _sentence(error: Exception) -> str:
    """Return what is wrong; a group of one is that one."""
    while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
        (error,) = error.exceptions
    return str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
