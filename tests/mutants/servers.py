"""Wrong servers: the reference, each changed at one place so that it breaks one rule.

A mutant is a folder with two files, the guide's small HTTP server and a copy of the server's half
beside it; in one of them one text is replaced.  Where a rule is PAGI's alone, the reference is made
a server of PAGI first, with workers.
"""

from pathlib import Path
from typing import NamedTuple

__all__ = ["BEFORE", "MUTANTS", "Change", "Mutant", "written"]

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

    def written(self, folder: Path) -> Path:
        """Write the files of the mutant; return the program."""
        return written(folder, *BEFORE.get(self.spec, ()), Change(*self[:3]))


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
        '                lifespan.inbox.append({"type": "lifespan.shutdown"})\n'
        "                lifespan.on_phase_change()\n"
        "                await asyncio.sleep(0.2)\n"
        '                lifespan.phase = "ended"\n',
    )


def fatal(condition: str) -> Mutant:
    """Take a decline for a failure, where a condition holds."""
    return Mutant(
        "lifespan.py",
        'if self.outcome in ("failed", "timed_out") or (',
        'if self.outcome in ("failed", "timed_out") or '
        f'(self.outcome == "unsupported" and failure is StartupFailed and {condition}) or (',
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
SCOPE = 'scope = {"type": "lifespan", "asgi": versions, "state": {}}'
UNKNOWN = (
    '            raise ProtocolError(f"The application sent {safe_repr(message)}", "events-known")'
)
PAGI = """\
scope = {
                "type": "lifespan",
                "pagi": {"version": "0.3", "spec_version": "0.3", "is_worker": 0},
                "state": {},
            }
            if number := __import__("os").environ.get("WORKER"):
                scope["pagi"] |= {"is_worker": 1, "worker_num": int(number)}"""
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
    ),
}

MUTANTS: dict[str, Mutant] = {
    "scope-type": Mutant("lifespan.py", SCOPE, SCOPE.replace("lifespan", "lifecycle")),
    "scope-versions": Mutant("lifespan.py", '{"version": "3.0", ', "{"),
    "scope-state": Mutant(
        "lifespan.py",
        SCOPE,
        SCOPE.replace("{}}", '__import__("types").MappingProxyType({})}'),
    ),
    "state-starts-empty": Mutant("lifespan.py", SCOPE, SCOPE.replace("{}}", '{"server": "s"}}')),
    "scope-worker": Mutant(
        "serve.py",
        'os.environ["WORKER"] = str(number)',
        'os.environ["WORKER"] = "1"',
        "pagi 0.3",
    ),
    "scope-lifetime": Mutant(
        "serve.py",
        "        scope = self.lifespan.with_state(exchange.scope)\n",
        "        scope = self.lifespan.with_state(exchange.scope)\n"
        "        self.lifespan.task.cancel()\n"
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
        '        self.inbox.append({"type": event})',
        '        self.inbox += [{"type": event}] * (event != "lifespan.startup")',
    ),
    "startup-before-serving": Mutant("serve.py", WITH, EARLY),
    "wait-for-startup": Mutant("serve.py", WITH, NO_WAIT),
    "startup-failed-never-serves": Mutant(
        "lifespan.py",
        '            self.raise_for_outcome(StartupFailed, StartupTimeout, "unsupported")',
        "            pass",
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
    "unsupported-by-raising": fatal("self.raised and self.inbox"),
    "unsupported-at-startup": fatal("self.raised and not self.inbox"),
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
        '            stage = type_.split(".")[1]',
        "            exit(type_)",
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
        "lifespan.py", '            self.queue_event("lifespan.shutdown")', "            pass"
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
    "send-refuses-unknown": Mutant(
        "lifespan.py",
        UNKNOWN,
        "            return",
    ),
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
        "        self.last_event = event\n",
        "        self.last_event = event\n"
        '        self.state.clear() if event == "lifespan.shutdown" else None\n',
    ),
}
