"""Issues for the projects of frameworks and hosts, from what happened when they were asked.

A row of `OF_HOSTS` or `OF_FRAMEWORKS` says which answer to which question breaks a rule.  Test
clients may let an exception surface, as their record of rules has it; signals are sent to servers.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lifespec.conformance.report.programs import SHOP, Program
from lifespec.conformance.rules import MAIN
from lifespec_docs.records.issue import issue
from lifespec_docs.records.record import Issue

__all__ = ["Broken", "issues_of_framework", "issues_of_host"]

PORT = "8000"
COMPLETE, FAILED = ("sends", "lifespan.startup.complete"), ("sends", "lifespan.startup.failed")
STOPPED, STOP_FAILED = ("event", "lifespan.shutdown"), ("sends", "lifespan.shutdown.failed")
FAULTS = "no pool", "pool lost"
SERVERS = "uvicorn", "gunicorn", "hypercorn"  # whose rules the suite checks
DRIVEN = "Mangum", "asgiref"  # the suite checks the one, and the test itself drives the other
ADAPTERS, ALL = ("adapter", "platform"), ("adapter", "platform", "client", "server")
ALONE = ("adapter", "client")  # what a program of their own uses


class Broken(NamedTuple):
    """A rule, the question whose answer breaks it, what was seen, and of which kinds of hosts."""

    rule: str
    question: str
    seen: str
    breaks: Callable[[Any], bool]
    kinds: Sequence[str] = ALL


def _early(run: Any) -> bool:
    requests, complete = run.where("request"), run.where(*COMPLETE)
    return bool(requests) and (not complete or requests[0] < complete[0])


def _after_failed(run: Any) -> bool:
    failed, requests = run.where(*FAILED), run.where("request")
    return bool(failed and requests) and requests[-1] > failed[0]


def _untold(event: Sequence[str]) -> Callable[[Any], bool]:
    def breaks(run: Any) -> bool:
        told = [each for each in run.all if each[0] in ("prints", "raises", "request raises")]
        return bool(run.where(*event)) and not any(
            fault in str(each[-1]) for each in told for fault in FAULTS
        )

    return breaks


def _state(fault: str) -> Callable[[Any], bool]:
    """Tell whether a request has this dict, or this instead of the pool."""
    return lambda run: bool(run.first("lifespan")[1:]) and fault in run.first("request")


def _twice(run: Any) -> bool:
    return len(run.where("lifespan")) > 1 and not run.where("one request at a time")


OF_HOSTS = (
    Broken(
        "wait-for-startup",
        "startup is slow",
        "A request reached the application before it had completed its startup.",
        _early,
    ),
    Broken(
        "startup-failed-never-serves",
        "startup fails",
        "A request reached the application after it had sent `lifespan.startup.failed`.",
        _after_failed,
    ),
    Broken(
        "startup-failed-shown",
        "startup fails",
        "The message of `lifespan.startup.failed` appeared neither in the output nor in an "
        "exception.",
        _untold(FAILED),
    ),
    Broken(
        "startup-failed-exits",
        "startup fails",
        "The server still ran after `lifespan.startup.failed`, until I sent SIGTERM.",
        lambda run: bool(run.where(*FAILED) and run.where("SIGTERM")),
    ),
    Broken(
        "unsupported-by-raising",
        "raises on the scope",
        "No request reached the application.",
        lambda run: not run.where("request"),
        ADAPTERS,
    ),
    Broken(
        "unsupported-at-startup",
        "startup raises",
        "No request reached the application.",
        lambda run: not run.where("request"),
        ADAPTERS,
    ),
    Broken(
        "shutdown-sent",
        "usual",
        "After SIGTERM the application received no `lifespan.shutdown`.",
        lambda run: not run.where(*STOPPED),
        ("server",),
    ),
    Broken(
        "shutdown-failed-shown",
        "shutdown fails",
        "The message of `lifespan.shutdown.failed` appeared neither in the output nor in an "
        "exception.",
        _untold(STOP_FAILED),
    ),
    Broken(
        "state-shallow-copy",
        "usual",
        "A request had the dict of the lifespan itself.",
        _state("the same dict"),
    ),
    Broken(
        "state-shallow-copy",
        "usual",
        "No request had what the application wrote into the state at startup.",
        _state("no pool"),
    ),
    Broken(
        "once-per-loop",
        "startup is slow",
        "Two first requests at once started the application twice.",
        _twice,
        ("adapter",),
    ),
)


def _silent(run: Any) -> bool:
    return not run.first("raised")


def _before_hooks(run: Any) -> bool:
    complete = ["sent", "lifespan.startup.complete"]
    opened = ["connect", "cache"]
    return opened in run.all and run.all.index(complete) < run.all.index(opened)


def _succeeds(run: Any) -> bool:
    """Tell whether startup completes although the second function fails, if there is one."""
    return bool(run.first("connect")) and bool(run.first("sent", "lifespan.startup.complete"))


def _unanswered(run: Any) -> bool:
    hooks, stops = run.first("connect"), run.first("event", "lifespan.shutdown")
    return bool(hooks and stops) and not run.first("sent", "lifespan.shutdown.failed")


OF_FRAMEWORKS = (
    Broken(
        "startup-answered-when-done",
        "usual",
        "The application sent `lifespan.startup.complete` before its functions had run.",
        _before_hooks,
    ),
    Broken(
        "startup-answered",
        "startup raises",
        "The application sent `lifespan.startup.complete` although a function had raised.",
        _succeeds,
    ),
    Broken(
        "shutdown-answered",
        "shutdown raises",
        "A function had raised, and the application did not send `lifespan.shutdown.failed`.",
        _unanswered,
    ),
    Broken(
        "unknown-scope-rejected", "other scope", "The application raised no exception.", _silent
    ),
)

APPLICATION = """\
class Shop:
    async def __call__(self, scope, receive, send):
        if scope["type"] == "lifespan":
            await lifespan(scope, receive, send)
        else:
            print("A request, the state:", scope.get("state"), flush=True)
            scope.get("state", {{}})["note"] = "written by a request"
            await send({{"type": "http.response.start", "status": 200, "headers": []}})
            await send({{"type": "http.response.body", "body": b"apples"}})


async def lifespan(scope, receive, send):
    print("A lifespan", flush=True)
{lines}


app = Shop()
"""
SENDS = 'await send({"type": "lifespan.%s"})'
SENDS_MESSAGE = 'await send({"type": "lifespan.%s", "message": "%s"})'
OPENS = ("await receive()", 'scope.get("state", {})["pool"] = "open"')
STOPS = ("await receive()", 'print("At shutdown, the state:", scope.get("state"))')
STARTED = SENDS % "startup.complete"
LINES: Mapping[str, Sequence[str]] = {  # of the application, by question
    "usual": (*OPENS, STARTED, *STOPS, SENDS % "shutdown.complete"),
    "startup is slow": (
        *(*OPENS, "await asyncio.sleep(6)", 'print("Startup is complete")', STARTED),
        *(*STOPS, SENDS % "shutdown.complete"),
    ),
    "startup fails": ("await receive()", SENDS_MESSAGE % ("startup.failed", "no pool")),
    "startup raises": ("await receive()", 'raise OSError("no pool")'),
    "raises on the scope": ('raise NotImplementedError("no lifespan here")',),
    "shutdown fails": (
        *(*OPENS, STARTED, *STOPS),
        SENDS_MESSAGE % ("shutdown.failed", "pool lost"),
    ),
}
VISITS = """\
with host() as get:
    for _ in range(2):
        try:
            print("The answer:", get())
        except Exception as error:
            print("The request raises", repr(error))
"""
AWAITS = """\
async def main():
    async with host() as get:
        print(await asyncio.gather(get(), get(), return_exceptions=True))


asyncio.run(main())
"""
SERVER = """\
async def main():
    events = {events}

    async def receive():
        await asyncio.sleep(0.5)
        return {{"type": events.pop(0)}} if events else await asyncio.Event().wait()

    async def send(event):
        print("It sends", event)

    scope = {{"type": "{type}", "asgi": {{"version": "3.0", "spec_version": "2.0"}}, "state": {{}}}}
    await asyncio.wait_for(app(scope, receive, send), 5)
    print("The call returned")


asyncio.run(main())
"""
FAULTY = {  # the line of resources.py after which a function fails
    "startup raises": '    """Open a resource; return it."""\n',
    "shutdown raises": '    """Close a resource."""\n',
}
FAULT = '    if name == "cache":\n        raise OSError("no cache")\n'
USUAL = ("lifespan", "lifespan.startup", "lifespan.shutdown")
SHOWN = {"other scope": ("other",)}
UNNEEDED = ("from shop ", "from api_gateway ", "from resources ", "ONE_AT_A_TIME ", "__all__ ")


def issues_of_host(
    subject: Mapping[str, Any], run: Callable[[Any], Any], python: str, programs: Path
) -> Iterator[Issue]:
    """Yield an issue for each rule that a host was seen to break; `programs` has theirs."""
    asked = {question: run(each) for question, each in subject["happened"].items()}
    if not asked["usual"].first("lifespan") or subject["host"] in (*SERVERS, *DRIVEN):
        return  # one that sends none is a result
    for each in OF_HOSTS:
        if subject["kind"] in each.kinds and each.breaks(asked[each.question]):
            yield _issue(subject, each, _of_host(subject, each.question, programs), python)


def issues_of_framework(
    subject: Mapping[str, Any], run: Callable[[Any], Any], python: str, programs: Path
) -> Iterator[Issue]:
    """Yield an issue for each rule that an application of a framework was seen to break."""
    for each in OF_FRAMEWORKS:
        if each.breaks(run(subject["happened"][each.question])):
            yield _issue(subject, each, _of_framework(subject, each.question, programs), python)


def _issue(subject: Mapping[str, Any], broken: Broken, shown: Program, python: str) -> Issue:
    return issue(next(iter(subject["versions"])), shown, {broken.rule: broken.seen}, python, MAIN)


def _of_host(subject: Mapping[str, Any], question: str, programs: Path) -> Program:
    """Return the application, with what an adapter needs, or with the command of a server."""
    command = str(subject["command"]).format(port=PORT)
    own = "" if "shop:app" in command else _text(programs, subject["program"])
    event = _text(programs, "api_gateway") if "import EVENT" in own else ""
    lines = "\n".join(f"    {line}" for line in LINES[question])
    parts = [event, APPLICATION.format(lines=lines), own]
    if subject["kind"] in ALONE:
        parts.append(AWAITS if "asynccontextmanager" in own else VISITS)
        run = [f"python {SHOP}"]
    else:
        get = f"curl http://127.0.0.1:{PORT}/"
        command = command.replace(f"{subject['program']}.py", SHOP)
        begins = 20 if subject["kind"] == "platform" else 3  # seconds
        run = [f"{command} &", f"sleep {begins}", get, get, "kill -TERM %1"]
    return _program(subject, run, *parts)


def _of_framework(subject: Mapping[str, Any], question: str, programs: Path) -> Program:
    """Return the application with its resources and a server of a few lines."""
    own = _text(programs, subject["program"])
    resources = _used(own, _text(programs, "resources"))
    if faulty := FAULTY.get(question):
        resources = resources.replace(faulty, faulty + FAULT)
    kind, *events = SHOWN.get(question, USUAL)
    server = SERVER.format(type=kind, events=json.dumps(events))
    return _program(subject, [f"python {SHOP}"], resources, own, server)


def _used(program: str, resources: str) -> str:
    """Return those of the functions that a program imports, with those that they call."""
    (names,) = re.findall(r"^from resources import (.*)$", program, re.MULTILINE) or ("",)
    wanted = {*names.split(", ")}
    wanted |= {"connect", "disconnect"} if "connection" in wanted else set()
    parts = resources.split("\n\n\n")
    found = [each for each in parts if {*re.findall(r"def (\w+)", each)} & wanted]
    return "\n\n\n".join([parts[0], *found])


def _text(folder: Path, program: str) -> str:
    """Return a program without its docstring."""
    return (folder / f"{program}.py").read_text("utf-8").partition('"""\n\n')[2]


def _program(subject: Mapping[str, Any], run: Sequence[str], *parts: str) -> Program:
    """Return a program of these parts in one file, the imports first."""
    versions = ", ".join(map(" ".join, subject["versions"].items()))
    lines = [each for each in "\n\n\n".join(parts).splitlines() if not each.startswith(UNNEEDED)]
    needs = {each for each in lines if each.startswith(("import ", "from "))}
    text = "\n".join(each for each in lines if each not in needs).strip()
    imports = {*needs, "import asyncio"}
    used = [each for each in imports if f"{each.split()[-1]}." in text or each.startswith("from ")]
    whole = re.sub(r"\n{4,}", "\n\n\n", "\n".join([*sorted(used), "\n", text, ""]))
    return Program(SHOP, whole, [f"{run[0]}  # {versions}", *run[1:]])
