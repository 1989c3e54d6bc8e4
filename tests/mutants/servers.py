"""Wrong servers: the reference, each changed at one place so that it breaks one rule.

A mutant is a folder with two files, the guide's small HTTP server and a copy of the server's half
beside it; in one of them one text is replaced.  Where a rule is PAGI's alone, the reference is made
a server of PAGI first, with workers.
"""

from pathlib import Path
from typing import NamedTuple

__all__ = ["BEFORE", "FAULTS", "MUTANTS", "Change", "Fault", "Mutant", "written"]

ROOT = Path(__file__).parents[2]
FILES = {
    "serve.py": ROOT / "docs" / "programs" / "serve.py",
    "lifespan.py": ROOT / "src" / "lifespec" / "server.py",
}


class Change(NamedTuple):
    """What is replaced in a file, and what by."""

    file: str
    old: str
    new: str


class Mutant(NamedTuple):
    """What is replaced in a file, and what by; before that, what makes it a server of the text."""

    file: str
    old: str
    new: str
    spec: str = "asgi 2.0"

    @property
    def change(self) -> Change:
        """What is replaced."""
        return Change(*self[:3])

    def written(self, folder: Path) -> Path:
        """Write the files of the mutant; return the program."""
        return written(folder, *BEFORE.get(self.spec, ()), self.change)


def written(folder: Path, *changes: Change) -> Path:
    """Write the files of the reference, changed; return the program."""
    for name, source in FILES.items():
        text = source.read_text().replace("from lifespec import", "from lifespan import")
        for file, old, new in changes:
            if name == file:
                if text.count(old) != 1:
                    raise ValueError(f"{name} has this {text.count(old)} times: {old}")
                text = text.replace(old, new)
        (folder / name).write_text(text)
    return folder / "serve.py"


def offered_afterwards(condition: str) -> Mutant:
    """Offer shutdown to an application that is gone, where a condition holds."""
    return Mutant(
        "serve.py",
        "            server.close()\n",
        "            server.close()\n"
        f"            if {condition}:\n"
        '                lifespan.phase = "running"\n'
        '                lifespan._inbox.append({"type": "lifespan.shutdown"})\n'
        "                lifespan._on_phase_change()\n"
        "                await asyncio.sleep(0.2)\n"
        '                lifespan.phase = "ended"\n',
    )


def fatal(condition: str) -> Mutant:
    """Take a decline for a failure, where a condition holds."""
    return Mutant(
        "lifespan.py",
        "if self._strict else ERRORS",
        f'if self._strict or (self.outcome == "unsupported" and {condition}) else ERRORS',
    )


OTHER_LOOP = """\
            here = asyncio.get_running_loop()

            def there(function):
                async def call(*words):
                    future = asyncio.run_coroutine_threadsafe(function(*words), here)
                    return await asyncio.wrap_future(future)

                return call

            receive, send = there(exchange.receive), there(exchange.send)
            await asyncio.to_thread(lambda: asyncio.run(self.app(scope, receive, send)))
"""
EARLY = """\
    class Nobody:
        def with_state(self, scope):
            return scope

    early = Connections(app, Nobody())
    server = await asyncio.start_server(early.accept, sock=sock.dup())
    await asyncio.sleep(1)
    server.close()
    await early.close(1)
    async with Lifespan(app, **timeouts) as lifespan:
"""
NO_WAIT = """\
    class Starting(Lifespan):
        async def startup(self):
            self.started = asyncio.create_task(super().startup())
            await asyncio.sleep(0)
            return self

        __aenter__ = startup

        async def shutdown(self):
            if not self.started.done():
                self.started.cancel()
                await asyncio.wait([self.started])
            else:
                await super().shutdown()

    async with Starting(app, **timeouts) as lifespan:
        task = asyncio.current_task()

        def failed(started):
            if not started.cancelled() and started.exception():
                os._exit(3)

        lifespan.started.add_done_callback(failed)
"""
TWICE = """\
    async with Lifespan(app, **timeouts), Lifespan(app, **timeouts) as lifespan:
"""
WORKERS = """\
        number, children = 0, []
        while options.workers > 1 and number < options.workers:
            number += 1
            if not (child := os.fork()):
                os.environ["WORKER"] = str(number)
                break
            children.append(child)
        else:
            for signal_ in (signal.SIGINT, signal.SIGTERM) if children else ():
                signal.signal(signal_, lambda what, _: [os.kill(pid, what) for pid in children])
            if children:
                return max(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children)
"""
WITH = "    async with Lifespan(app, **timeouts) as lifespan:\n"
SCOPE = 'return {"type": "lifespan", "asgi": versions, "state": {}}'
UNKNOWN = (
    '            raise ProtocolError(f"The application sent {safe_repr(message)}", "events-known")'
)
PAGI = """\
pagi = {"version": "0.3", "spec_version": "0.3", "is_worker": 0}
    if number := __import__("os").environ.get("WORKER"):
        pagi |= {"is_worker": 1, "worker_num": int(number)}
    return {"type": "lifespan", "pagi": pagi, "state": {}}"""
RUN = "        return asyncio.run(until_signal(app, sock, options))\n"
PORT = '    parser.add_argument("--port", type=int, default=8000)\n'
COUNT = PORT.replace("port", "workers").replace("8000", "1")
BEFORE = {  # what makes the reference a server of a text that is not its own
    "pagi 0.3": (
        Change("lifespan.py", SCOPE, PAGI),
        Change("serve.py", RUN, WORKERS + RUN),
        Change(
            "serve.py", PORT, f'{PORT}    parser.add_argument("--workers", type=int, default=1)\n'
        ),
    )
}

MUTANTS: dict[str, Mutant] = {
    "scope-type": Mutant("lifespan.py", SCOPE, SCOPE.replace("lifespan", "lifecycle")),
    "scope-versions": Mutant("lifespan.py", '{"version": "3.0", ', "{"),
    "scope-state": Mutant(
        "lifespan.py", SCOPE, SCOPE.replace("{}}", '__import__("types").MappingProxyType({})}')
    ),
    "state-starts-empty": Mutant("lifespan.py", SCOPE, SCOPE.replace("{}}", '{"server": "s"}}')),
    "scope-worker": Mutant(
        "serve.py", 'os.environ["WORKER"] = str(number)', 'os.environ["WORKER"] = "1"', "pagi 0.3"
    ),
    "scope-lifetime": Mutant(
        "serve.py",
        "        scope = self.lifespan.with_state(exchange.scope)\n",
        "        scope = self.lifespan.with_state(exchange.scope)\n"
        "        self.lifespan._task.cancel()\n"
        "        await asyncio.sleep(0)\n",
    ),
    "once-per-loop": Mutant("serve.py", WITH, TWICE),
    "same-loop": Mutant(
        "serve.py",
        "            call = self.app(scope, exchange.receive, exchange.send)\n"
        "            await asyncio.ensure_future(call)  # in a copy of the context\n",
        OTHER_LOOP,
    ),
    "startup-sent": Mutant(
        "lifespan.py",
        '        self._inbox.append({"type": f"lifespan.{stage}"})',
        '        self._inbox += [{"type": f"lifespan.{stage}"}] * (stage != "startup")',
    ),
    "startup-before-serving": Mutant("serve.py", WITH, EARLY),
    "wait-for-startup": Mutant("serve.py", WITH, NO_WAIT),
    "startup-failed-never-serves": Mutant(
        "lifespan.py", '        self._raise_for_outcome("startup")', "        pass"
    ),
    "startup-failed-shown": Mutant(
        "lifespan.py",
        '"lifespan.startup.failed": ("answered", "failed", ERROR,',
        '"lifespan.startup.failed": ("answered", "failed", DEBUG,',
    ),
    "startup-failed-exits": Mutant(
        "serve.py", "        status = 3\n", "        await asyncio.Event().wait()\n"
    ),
    "failed-message-default": Mutant("lifespan.py", 'event.get("message", "")', 'event["message"]'),
    "unsupported-by-raising": fatal("self._raised and self._inbox"),
    "unsupported-at-startup": fatal("self._raised and not self._inbox"),
    "unsupported-by-returning": Mutant(
        "lifespan.py",
        '"returned": ("ended", "unsupported", INFO,',
        '"returned": ("waiting", "unsupported", INFO,',
    ),
    "unsupported-never-blocks": Mutant(
        "lifespan.py",
        '"raised": ("ended", "crashed", ERROR, "crashed before',
        '"raised": ("stopping", "crashed", ERROR, "crashed before',
    ),
    "unsupported-gets-no-events": offered_afterwards(
        'lifespan.outcome == "unsupported" and lifespan.error'
    ),
    "returned-gets-no-events": offered_afterwards(
        'lifespan.outcome == "unsupported" and not lifespan.error'
    ),
    "crashed-gets-no-events": offered_afterwards('lifespan.outcome in ("crashed", "returned")'),
    "unsupported-logged": Mutant(
        "lifespan.py",
        '"returned": ("ended", "unsupported", INFO,',
        '"returned": ("ended", "unsupported", 0,',
    ),
    "only-failed-stops": Mutant(
        "lifespan.py",
        '            rule = f"{stage}-answered-once"',
        '            rule = exit(type_) or f"{stage}-answered-once"',
    ),
    "crash-logged": Mutant(
        "lifespan.py",
        '"raised": ("ended", "crashed", ERROR, "crashed while',
        '"raised": ("ended", "crashed", 0, "crashed while',
    ),
    "return-value-ignored": Mutant(
        "lifespan.py",
        "            await self._call_app()\n",
        "            value = await self._call_app()\n"
        "            log.error(value) if value else None\n",
    ),
    "shutdown-sent": Mutant(
        "lifespan.py", '            self._queue_event("shutdown")', "            pass"
    ),
    "shutdown-after-serving": Mutant(
        "serve.py",
        "            server.close()\n            await connections.close(options.drain)\n",
        "            pass\n",
    ),
    "wait-for-shutdown": Mutant(
        "lifespan.py",
        '        while self.phase in {"stopping", "answered", "cancelling"}:',
        "        await asyncio.sleep(0.1)\n        while False:",
    ),
    "shutdown-failed-shown": Mutant(
        "lifespan.py",
        '"lifespan.shutdown.failed": ("answered", "failed", ERROR,',
        '"lifespan.shutdown.failed": ("answered", "failed", DEBUG,',
    ),
    "shutdown-failed-ends": Mutant(
        "serve.py", "        status = 1\n", "        await asyncio.Event().wait()\n"
    ),
    "send-refuses-unknown": Mutant("lifespan.py", UNKNOWN, "            return"),
    "refusal-survived": Mutant(
        "lifespan.py",
        UNKNOWN,
        '            asyncio.get_running_loop().call_soon(__import__("os")._exit, 1)\n' + UNKNOWN,
    ),
    "extra-keys-ignored": Mutant(
        "lifespan.py",
        "        if failed is None:",
        '        if failed is None or {*event} - {"type", "message"}:',
    ),
    "send-after-end-does-nothing": Mutant(
        "lifespan.py",
        "            return  # [send-after-end-does-nothing]",
        '            raise RuntimeError("It is over")',
    ),
    "state-shallow-copy": Mutant("lifespan.py", "state=state.copy()", "state=state"),
    "state-untouched": Mutant(
        "lifespan.py",
        "        self._stage = stage\n",
        "        self._stage = stage\n"
        '        self.state.clear() if stage == "shutdown" else None\n',
    ),
}


class Fault(NamedTuple):
    """A change of the reference, the cases that are played, and what alone is found by verdict."""

    changes: tuple[Change, ...]
    cases: tuple[str, ...]
    found: frozenset[tuple[str, str]]
    options: tuple[str, ...] = ()
    status: int = 1


QUEUED = '        self._inbox.append({"type": f"lifespan.{stage}"})'
AGAIN = QUEUED.replace(".append(", " += [").removesuffix(")") + '] * (stage == "{}")'
EARLY_END = '        self._inbox += [{"type": "lifespan.shutdown"}] * (stage == "startup")\n'
STATE = "        scope = self.lifespan.with_state(exchange.scope)\n"
FAULTS: dict[str, Fault] = {  # each is told once, at its cause, and by its weight
    "shutdown twice": Fault(
        (Change("lifespan.py", QUEUED, f"{QUEUED}\n{AGAIN.replace('{}', 'shutdown')}"),),
        ("well-behaved", "receives-a-third-time"),
        frozenset({("shutdown-sent", "fail")}),
    ),
    "startup twice": Fault(
        (Change("lifespan.py", QUEUED, f"{QUEUED}\n{AGAIN.replace('{}', 'startup')}"),),
        ("well-behaved", "sends-extra-keys", "slow-shutdown"),
        frozenset({("startup-sent", "fail")}),
    ),
    "shutdown first": Fault(
        (Change("lifespan.py", QUEUED, EARLY_END + QUEUED),),
        ("well-behaved", "state", "slow-shutdown"),
        frozenset({("startup-sent", "fail")}),
    ),
    "serves nothing": Fault(
        (
            Change(
                "serve.py",
                "            await server.start_serving()\n",
                "            await asyncio.Event().wait()\n",
            ),
        ),
        ("well-behaved", "sends-extra-keys", "sends-no-type"),
        frozenset(),
        status=2,
    ),
    "state of a connection": Fault(
        (
            Change(
                "serve.py",
                STATE,
                '        if not hasattr(exchange.writer, "state"):\n'
                '            exchange.writer.state = self.lifespan.with_state({})["state"]\n'
                '        scope = exchange.scope | {"state": exchange.writer.state}\n',
            ),
        ),
        ("state", "state-on-one-connection"),
        frozenset({("state-shallow-copy", "fail")}),
    ),
    "an end for who returns": Fault(
        (fatal("not self.raised").change,),
        ("returns-on-the-scope",),
        frozenset({("unsupported-by-returning", "info")}),
        status=0,
    ),
    "status 0 after a failure": Fault(
        (Change("serve.py", "        status = 3\n", "        status = 0\n"),),
        ("failed-with-message",),
        frozenset({("startup-failed-exits", "info")}),
        status=0,
    ),
    "a demand of its user": Fault(
        (
            Change("serve.py", PORT, f'{PORT}    parser.add_argument("--lifespan")\n'),
            Change(
                "serve.py", WITH, WITH.replace("**timeouts", "strict=options.lifespan, **timeouts")
            ),
        ),
        ("well-behaved", "raises-on-the-scope", "raises-after-startup", "failed-with-message"),
        frozenset({("unsupported-by-raising", "info"), ("unsupported-at-startup", "info")}),
        options=("--lifespan", "on"),
        status=0,
    ),
}
