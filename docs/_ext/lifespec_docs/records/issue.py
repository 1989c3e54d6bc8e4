"""The text of an issue for a server's project: what it breaks, with a program that shows it.

The program is the application of a case, written from the case's script.  It needs nothing of
lifespec, so whoever gets the issue can run it.  There is none for a subject without a command that
listens on a port, such as a test client, nor for a case that cannot be written so.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from lifespec.conformance.report.model import Verdict
from lifespec.conformance.rules import rules
from lifespec_docs.rules.citations import address

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lifespec.conformance.cases import Action, Case
    from lifespec_docs.records.record import Finding, Subject

__all__ = ["SPEC", "Issue", "issues", "program"]

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


class Issue(NamedTuple):
    """An issue about the rules that a server breaks in a case: their IDs, and Markdown."""

    rules: list[str]
    text: str


def issues(subject: Subject, cases: Mapping[str, Case], python: str) -> Iterator[Issue]:
    """Yield an issue for each case that breaks rules which none before it breaks."""
    if "{port}" not in subject.command:
        return
    told: set[str] = set()
    for name in dict.fromkeys(each.case for each in subject.findings):
        broken = [each for each in subject.findings if each.case == name and _counts(each)]
        new = [each for each in broken if each.rule not in told]
        if new and name in cases and program(cases[name], subject.command):
            told |= {each.rule for each in new}
            lines = _lines(subject, cases[name], new, python)
            yield Issue([each.rule for each in new], "\n".join(lines))


def _counts(finding: Finding) -> bool:
    return finding.verdict in BROKEN and not finding.silent


def program(case: Case, command: str) -> str:
    """Return the application of a case as a module, "" if a verb of it cannot be written."""
    library = "trio" if "trio" in command else "asyncio"
    lines: list[str] = []
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


def _lines(subject: Subject, case: Case, found: Sequence[Finding], python: str) -> Iterator[str]:
    package = next(iter(subject.versions))
    yield f"# Lifespan: {rules()[found[0].rule].says(SPEC)}"
    yield ""
    yield f"Thank you for {package}. I ran this application, `shop.py`, on {python}:"
    yield ""
    yield "```python"
    yield program(case, subject.command).rstrip("\n")
    yield "```"
    yield ""
    yield "```sh"
    command = subject.command.format(app="shop:app", port=PORT, workers=case.workers)
    yield f"{command} &  # {subject.packages}"
    yield "sleep 3"
    yield from _doings(case)
    yield "```"
    for each in found:
        rule = rules()[each.rule]
        source = next(each for each in rule.sources if SPEC in each.specs)
        where = address(SPEC, source.text, source.section)
        yield ""
        yield f"> {rule.says(SPEC)}"
        yield ""
        section = f"[“{source.section}”]({where})"
        yield f"That is how I read {section} of the specification ({rule.level(SPEC)})."
        yield f"What I saw: {each.actual}"


def _doings(case: Case) -> Iterator[str]:
    """Yield the commands of client and operator."""
    for each in case.meanwhile:
        if each.verb == "request":
            yield f"curl http://127.0.0.1:{PORT}{each.text}"
        elif each.verb == "wait":
            yield f"sleep {each.seconds:g}"
        elif each.verb == "stop":
            yield "kill -TERM %1"
