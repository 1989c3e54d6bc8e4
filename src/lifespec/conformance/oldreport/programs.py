"""Programs that show what a case has found.  They need nothing of lifespec.

For a server it is the application of the case, for an application what calls it as the server of
the case does, and for middleware both.  There is none for a case that cannot be written so, nor for
servers that need a broker or Perl.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

from lifespec.conformance.cases import scope_of
from lifespec.validate import SPECS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lifespec.conformance.cases import Action, Case

__all__ = ["Program", "between", "of_application", "of_middleware", "of_server"]

PORT = "8000"
SHOP, BESIDE = "shop.py", "program.py"  # what is run itself, and what imports what is checked
TARGET = re.compile(r"([\w.]+):([\w.]+)")
APPLICATION = """\
{imports}async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        await lifespan(scope, receive, send)
    elif scope["type"] == "http":
        state = scope.get("state")
{request}        await send({{"type": "http.response.start", "status": 200, "headers": []}})
        await send({{"type": "http.response.body", "body": f"{{state}}\\n".encode()}})


async def lifespan(scope, receive, send):
{lifespan}"""
BETWEEN = """\
import asyncio
{needs}


{own}async def app(scope, receive, send):
    print("The application is called with the scope", scope["type"])
{script}

async def main():
    events = ["lifespan.startup", "lifespan.shutdown"]

    async def receive():
        return {{"type": events.pop(0)}} if events else await asyncio.Event().wait()

    async def send(event):
{refuses}        print("The server receives", event)

    middleware = {code}
    scope = {{"type": "{type}", "asgi": {{"version": "3.0", "spec_version": "2.0"}}, "state": {{}}}}
    await asyncio.wait_for(middleware(scope, receive, send), 5)
    print("The call returned")


asyncio.run(main())
"""
REFUSES = """\
        if not event["type"].endswith((".complete", ".failed")):
            raise ValueError(event["type"])
"""
SERVER = """\
import asyncio

from {module} import {name}

{own}
async def main():
    events, answers = asyncio.Queue(), asyncio.Queue()

    async def send(event):
        print("It sends", event)
        answers.put_nowait(event)

    async def answer():
        waits = asyncio.create_task(answers.get())
        await asyncio.wait([call, waits], timeout=30, return_when="FIRST_COMPLETED")

    scope = {scope}
    call = asyncio.ensure_future(app(scope, events.get, send))
{script}    await asyncio.wait_for(call, 30)
    print("The call returned")


"""
REQUEST = """\
request = {"type": "http", "http_version": "1.1", "method": "GET", "path": "/"}
request |= {"asgi": {"version": "3.0"}, "query_string": b"", "headers": []}
request |= {"state": {**scope.get("state", {})}}
body = {"type": "http.request", "body": b"", "more_body": False}
await app(request, lambda: asyncio.sleep(0, body), send)
print("The state:", scope.get("state"))
"""
SHOWN = 'print("The scope:", scope)'
WITHIN = """\
async def main():
    async with {}:
        print("The test runs")


asyncio.run(main())
"""
CLIENTS = {  # how a test or a function uses them, by the name of the driver
    "asgi-lifespan": "import asyncio\n\nfrom asgi_lifespan import LifespanManager\n\n\n"
    + WITHIN.format("LifespanManager(app)"),
    "quart": 'import asyncio\n\nfrom quart import Quart\n\nouter = Quart("shop")\n'
    "outer.asgi_app = app\n\n\n" + WITHIN.format("outer.test_app()"),
    "amgi-common": "import asyncio\n\nfrom amgi_common import Lifespan\n\n\n"
    + WITHIN.format("Lifespan(app)"),
    "starlette": """\
from starlette.testclient import TestClient

with TestClient(app):
    print("The test runs")
""",
    "litestar": """\
from litestar import Litestar
from litestar.testing import TestClient


class Outer(Litestar):
    async def __call__(self, scope, receive, send):
        await app(scope, receive, send)


with TestClient(Outer()):
    print("The test runs")
""",
    "mangum": """\
from mangum import Mangum

http = {"method": "GET", "path": "/", "sourceIp": "127.0.0.1", "protocol": "HTTP/1.1"}
event = {"version": "2.0", "rawPath": "/", "rawQueryString": "", "headers": {}}
event |= {"requestContext": {"http": http}, "isBase64Encoded": False}
handler = Mangum(app)
print(handler(event, None))
print(handler(event, None))
""",
}
OWN = {
    "own": "@contextlib.asynccontextmanager\nasync def own(*_):\n    yield\n\n\n",
    "open_own": "def open_own():\n    pass\n\n\ndef close_own():\n    pass\n\n\n",
}
TRIED = (
    '    print("send returned")',
    "except Exception as error:",
    '    print("send raised", repr(error))',
)
CHANGES = """\
        _, verb, *words = scope["path"].split("/")
        if verb == "set":
            state[words[0]] = words[1]
        elif verb == "append":
            state[words[0]].append(words[1])
        elif verb == "rebind":
            scope["state"] = {}
"""


class Program(NamedTuple):
    """A file: its name and text, and the commands that run it."""

    name: str
    text: str
    run: list[str]


def of_server(command: str, case: Case, rule: str, spec: str, note: str = "") -> Program | None:
    """Return a program for a rule that a server or a test client breaks in a case.

    `note` says what the command is about.
    """
    library = "trio" if "trio" in command else "asyncio"
    if client := CLIENTS.get(command.removeprefix("lifespec check driver ")):
        text = _application(case, library, SHOWN)
        if not text or rule.startswith("state-"):
            return None  # a request shows what happens to the state, and no client makes one
        return Program(SHOP, f"{text}\n\n{client}", [f"python {SHOP}{note}"])
    text = _application(case, library)
    if not text or not _is_served(spec) or not all(each in command for each in _places(case)):
        return None
    for place, word in {"app": "shop:app", "port": PORT, "workers": str(case.workers)}.items():
        command = command.replace(f"{{{place}}}", word)
    return Program(SHOP, text, [f"{command} &{note}", "sleep 3", *_doings(case)])


def _is_served(spec: str) -> bool:
    """Tell whether the programs speak this specification: their scope has the envelope of ASGI."""
    return SPECS[spec].envelope == "asgi"


def _places(case: Case) -> Iterator[str]:
    yield from ("{app}", "{port}")
    yield from ["{workers}"] * (case.workers > 1)


def of_middleware(target: str, case: Case, spec: str) -> Program | None:
    """Return a program for a case of middleware that can be imported."""
    found = TARGET.fullmatch(target)
    if not found or not _is_served(spec):
        return None
    name, *_more = found[2].split(".")
    text = between(case, f"\nfrom {found[1]} import {name}", f"{found[2]}(app)")
    return Program(BESIDE, text, [f"python {BESIDE}"])


def of_application(target: str, case: Case, spec: str, *, factory: bool) -> Program | None:
    """Return a program for a case of an application that can be imported."""
    found = TARGET.fullmatch(target)
    if not found or not _is_served(spec):
        return None
    call = next(each for each in case.script if each.verb == "call")
    name, *_more = found[2].split(".")
    app = f"{found[2]}{'()' * factory}"
    text = SERVER.format(
        module=found[1],
        name=name,
        own=f"app = {app}\n\n" * (app != "app"),
        scope=json.dumps(scope_of(spec, call.keys)),
        script="".join(f"    {line}\n" for line in _server(case.script)),
    )
    times = 1 + sum(each.verb == "loop" for each in case.script)
    return Program(BESIDE, text + "asyncio.run(main())\n" * times, [f"python {BESIDE}"])


def _server(script: Sequence[Action]) -> Iterator[str]:
    """Yield what the server of a case does after the call, up to the end of the first lifespan."""
    verbs = [each.verb for each in script]
    for each in script[: verbs.index("loop") if "loop" in verbs else None]:
        if each.verb == "offer":
            yield f"events.put_nowait({json.dumps(each.event)})"
        elif each.verb == "await" and each.text in ("startup", "shutdown"):
            yield "await answer()"
        elif each.verb == "wait":
            yield f"await asyncio.sleep({each.seconds:g})"
        elif each.verb == "request":
            yield from REQUEST.splitlines()
        elif each.verb == "cancel":
            yield "call.cancel()"


def between(case: Case, needs: str, code: str) -> str:
    """Return a program that calls a middleware around the application of a case, as a server."""
    script = [line for action in case.script for line in _statement(action, "asyncio")]
    words = set(re.findall(r"\w+", code))
    (call,) = (action for action in case.server if action.verb == "call")
    refuses = any(each.phrase == "same refusal" for each in case.expect)
    return BETWEEN.format(
        needs=f"{'import contextlib' * ('own' in words)}\n{needs}".strip(),
        own="".join(text for name, text in OWN.items() if name in words),
        script="".join(f"    {line}\n" for line in script),
        refuses=REFUSES if refuses else "",
        code=code,
        type=call.keys.get("type", "lifespan"),
    )


def _application(case: Case, library: str, first: str = "") -> str:
    """Return the application of a case as a module, "" if a verb of it cannot be written."""
    lines = [first] * bool(first)
    for action in case.script:
        written = _statement(action, library)
        if not written:
            return ""
        lines += written
    if any(action.verb == "state" for action in case.script):
        lines.insert(-1, 'print("at shutdown:", scope["state"])')
    changes = any(each.text.count("/") > 1 for each in case.meanwhile if each.verb == "request")
    lifespan = "".join(f"    {line}\n" for line in lines)
    imports = f"import {library}\n\n\n" if f"{library}." in lifespan else ""
    request = CHANGES if changes else ""
    return APPLICATION.format(imports=imports, request=request, lifespan=lifespan)


def _statement(action: Action, library: str) -> list[str]:
    """Return the lines of an action, none if it cannot be written."""
    sent = f"await send({json.dumps(action.event)})"
    written = {
        "receive": ["await receive()"],
        "send": [sent],
        "try": ["try:", f"    {sent}", *TRIED],
        "state": [f'scope["state"].update({json.dumps({**action.keys})})'],
        "raise": [f"raise RuntimeError({json.dumps(action.text)})"],
        "return": ["return"],
        "wait": [f"await {library}.sleep({action.seconds:g})"],
    }
    return written.get(action.verb, [])


def _doings(case: Case) -> Iterator[str]:
    """Yield the commands of client and operator."""
    for each in case.meanwhile:
        if each.verb == "request":
            yield f"curl http://127.0.0.1:{PORT}{each.text}"
        elif each.verb == "wait":
            yield f"sleep {each.seconds:g}"
        elif each.verb == "stop":
            yield "kill -TERM %1"
