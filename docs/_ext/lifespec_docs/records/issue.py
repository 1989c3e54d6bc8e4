"""The text of an issue for a server's or middleware's project: what it breaks, and a program.

The program is the application of a case, written from the case's script.  It needs nothing of
lifespec, so whoever gets the issue can run it.  There is none for servers that need a broker or
Perl, nor for a case that cannot be written so.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from lifespec.conformance.report.model import Verdict
from lifespec.conformance.rules import rules
from lifespec_docs.records.record import Issue
from lifespec_docs.rules.citations import address

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from lifespec.conformance.cases import Action, Case
    from lifespec_docs.records.record import Subject

__all__ = ["SPEC", "between", "issues", "issues_between", "program"]

BROKEN = Verdict.FAIL, Verdict.WARN
SPEC = "asgi 2.0"
PORT = "8000"
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


def issues(
    subject: Subject, cases: Mapping[str, Case], python: str, spec: str = SPEC
) -> Iterator[Issue]:
    """Yield an issue for each case that breaks rules which none before it breaks."""
    client = CLIENTS.get(subject.command.removeprefix("lifespec check driver "))
    if not client and ("{port}" not in subject.command or spec != SPEC):
        return
    library = "trio" if "trio" in subject.command else "asyncio"
    writable = {name: case for name, case in cases.items() if program(case, library)}
    findings = [
        each
        for each in subject.findings
        # a request shows what happens to the state, and a client's program makes none
        if not each.silent and not (client and each.rule.startswith("state-"))
    ]
    for case, broken in _by_case(writable, ((each[0], each[1:4]) for each in findings)):
        if client:
            shop = f"{program(case, library, SHOWN)}\n\n{client}"
            run = [f"python shop.py  # {subject.packages}"]
        else:
            shop = program(case, library)
            command = subject.command.format(app="shop:app", port=PORT, workers=case.workers)
            run = [f"{command} &  # {subject.packages}", "sleep 3", *_doings(case)]
        title = rules()[next(iter(broken))].says(spec)
        yield _issue(title, next(iter(subject.versions)), shop, run, broken, python, spec)


def issues_between(
    subject: Mapping[str, Any], cases: Mapping[str, Case], python: str
) -> Iterator[Issue]:
    """Yield an issue for each case in which a middleware breaks rules which it does not before."""
    packages = ", ".join(map(" ".join, subject["versions"].items()))
    findings = (
        (each["case"], (each["rule"], each["verdict"], each["actual"]))
        for each in subject["findings"]
    )
    for case, broken in _by_case(cases, findings):
        shop = between(case, subject["needs"], subject["code"])
        title = f"{subject['name']}: {next(iter(broken.values()))}"
        run = [f"python shop.py  # {packages}"]
        yield _issue(title, next(iter(subject["versions"])), shop, run, broken, python, SPEC)


def _by_case(
    cases: Mapping[str, Case], findings: Iterable[tuple[str, tuple[str, str, str]]]
) -> Iterator[tuple[Case, dict[str, str]]]:
    """Yield the cases that break rules which none before it breaks, with what was seen of each."""
    found: dict[str, dict[str, str]] = {}
    told: set[str] = set()
    for name, (rule, verdict, actual) in findings:
        if (
            name in cases
            and verdict in BROKEN
            and (rule not in told or rule in found.get(name, ()))
        ):
            told.add(rule)
            found.setdefault(name, {}).setdefault(rule, actual)
    yield from ((cases[name], broken) for name, broken in found.items())


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


def program(case: Case, library: str, first: str = "") -> str:
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


def _issue(
    title: str,
    package: str,
    shop: str,
    run: Sequence[str],
    broken: Mapping[str, str],
    python: str,
    spec: str,
) -> Issue:
    lines = [
        f"# Lifespan: {title}",
        "",
        f"Thank you for {package}. I ran this application, `shop.py`, on {python}:",
        "",
        "```python",
        shop.rstrip("\n"),
        "```",
        "",
        "```sh",
        *run,
        "```",
    ]
    for name, seen in broken.items():
        rule = rules()[name]
        source = next(each for each in rule.sources if spec in each.specs)
        where = address(spec, source.text, source.section)
        section = f"[“{source.section}”]({where})"
        lines += [
            "",
            f"> {rule.says(spec)}",
            "",
            f"That is how I read {section} of the specification ({rule.level(spec)}).",
            f"What I saw: {seen}",
        ]
    return Issue([*broken], "\n".join(lines))


def _doings(case: Case) -> Iterator[str]:
    """Yield the commands of client and operator."""
    for each in case.meanwhile:
        if each.verb == "request":
            yield f"curl http://127.0.0.1:{PORT}{each.text}"
        elif each.verb == "wait":
            yield f"sleep {each.seconds:g}"
        elif each.verb == "stop":
            yield "kill -TERM %1"
