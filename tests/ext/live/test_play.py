"""The playground's runs, as a page asks for them."""

import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from lifespec.validate import SPECS, Violation
from lifespec_docs.live import playground
from lifespec_docs.live.play import (
    FILE,
    MOST_ENTRIES,
    MOST_TEXT,
    SAID,
    WHEN,
    Conduct,
    check,
    in_words,
    play,
)

APP = """\
import asyncio

async def app(scope, receive, send):
    if scope["type"] != "lifespan":
        return await answer(scope, receive, send)
    print("state" in scope, sorted(scope))
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})

async def answer(scope, receive, send):
    if scope["type"] == "message":
        await send({"type": "message.ack"})
        await send("what is no event")
    else:
        assert (await receive())["type"] == "http.request"
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"hello"})
"""


def played(program: str, words: dict[str, str] | None = None, **server: Any) -> dict[str, Any]:
    return play({"program": program, "server": server, "words": words or {}})


def messages(found: dict[str, Any]) -> list[str]:
    return [f"{each['kind']} {each['rule']}: {each['message']}" for each in found["validator"]]


def test_an_application_is_started_and_stopped() -> None:
    """The outcome, the message sequence, what was printed and what the validator says."""
    found = played(f"import starlette\n{APP}")
    assert (found["served"], found["outcome"], found["raised"]) == (True, "complete", None)
    assert next(iter(found["versions"])) == "Python"
    for name in ("lifespec", "starlette"):
        assert found["versions"][name] == version(name)
    assert (found["waits"], found["failure"], found["line"]) == (None, "", None)
    assert "lifespan.shutdown.complete" in found["messages"]
    assert found["console"] == [("print", "True ['asgi', 'state', 'type']\n")]
    assert found["validator"] == []
    assert not found["shortened"]


def checked(program: str, language: str = "en") -> dict[str, Any]:
    return check({"program": program, "spec": "asgi 2.0", "language": language})


def test_an_application_is_checked() -> None:
    """The report is the command's, in the page's language; what the program prints is beside it."""
    found = checked(APP)
    assert found["report"].startswith("app.py, checked against lifespan 2.0 (ASGI)\nstarts     yes")
    assert "\nWARN: receive-refuses-unknown" in found["report"]
    assert found["console"][0][1].startswith("True ['asgi', 'state', 'type']\n")
    assert (found["failure"], found["line"]) == ("", None)
    assert found["versions"]["rich"] == version("rich")
    assert "检查依据：生命周期 2.0（ASGI）" in checked(APP, "zh")["report"]


@pytest.mark.parametrize(
    ("program", "failure", "line"),
    [
        ("x = 1\n1 / 0", "ZeroDivisionError: division by zero", 2),
        ("x = 1", "", None),
        ("app = 3", "this cannot be called with scope, receive and send", None),
    ],
)
def test_what_cannot_be_checked_is_told(program: str, failure: str, line: int | None) -> None:
    """A program that raises, one without `app`, and one whose `app` is none."""
    found = checked(program)
    assert (found["report"], found["line"]) == ("", line)
    assert failure in found["failure"]
    assert bool(failure) == bool(found["failure"])


def test_the_words_are_those_of_the_page() -> None:
    """In the message sequence and in what the validator says."""
    words = {
        "application": "应用程序",
        "while running": "在运行期间",
        SAID["sent %s"]: "{when}，应用程序发送了 {what}。",
    }
    program = APP.replace(
        '    await send({"type": "lifespan.startup.complete"})\n',
        '    await send({"type": "lifespan.startup.complete"})\n    await send({"type": "x"})\n',
    )
    found = played(program, words)
    assert "应用程序" in found["messages"]
    assert messages(found)[0] == (
        "violation events-known: 在运行期间，应用程序发送了 {'type': 'x'}。"
    )


@pytest.mark.parametrize("spec", SPECS)
def test_a_server_follows_any_specification(spec: str) -> None:
    """The scopes are those of the specification, and an application conforms to each."""
    found = played(APP, spec=spec, requests=2)
    http = not spec.startswith("amgi")
    answer = "GET / → 200, hello" if http else "message → message.ack, 'what is no event'"
    assert found["console"][1:] == [("request", answer)] * 2
    assert found["validator"] == []
    envelope = SPECS[spec].envelope
    assert (envelope or "type") in found["console"][0][1]


def test_a_request_that_fails_is_told() -> None:
    """The server goes on."""
    program = APP.replace("async def answer(scope, receive, send):", "async def answer(*_):")
    found = played(program, requests=1)
    assert found["console"][1] == ("request", "GET / → NameError: name 'scope' is not defined")
    assert found["outcome"] == "complete"


ECHO = """\
async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        raise ValueError
    print(scope.get("method"), scope["path"], scope["query_string"], dict(scope["headers"]))
    while (event := await receive())["type"][-10:] != "disconnect":
        print(event)
        if event["type"] == "http.request":
            await send({"type": "http.response.start", "status": 201, "headers": []})
            await send({"type": "http.response.body", "body": b"o", "more_body": True})
            await send({"type": "http.response.body", "body": b"k"})
        elif event["type"] == "websocket.connect":
            await send({"type": "websocket.accept"})
        else:
            await send({"type": "websocket.send", "text": event["text"].upper()})
    print(event)
"""


HTTP = """\
POST /a b b'c=1' {b'host': b'127.0.0.1:8000', b'content-length': b'8'}
{'type': 'http.request', 'body': b'{"d": 2}', 'more_body': False}
{'type': 'http.disconnect'}
"""
WEBSOCKET = """\
None /chat b'' {b'host': b'127.0.0.1:8000'}
{'type': 'websocket.connect'}
{'type': 'websocket.receive', 'text': 'hello'}
{'type': 'websocket.disconnect', 'code': 1000}
"""
SILENT = WEBSOCKET.replace("/chat", "/").replace(WEBSOCKET.splitlines(keepends=True)[2], "")


@pytest.mark.parametrize(
    ("request_", "answer", "received"),
    [
        ('post /a%20b?c=1  {"d": 2}', "POST /a%20b?c=1 → 201, o, k", HTTP),
        ("WEBSOCKET /chat hello", "WEBSOCKET /chat → websocket.accept, HELLO", WEBSOCKET),
        ("WEBSOCKET", "WEBSOCKET / → websocket.accept", SILENT),
    ],
)
def test_a_request_has_a_method_a_path_and_a_body(
    request_: str, answer: str, received: str
) -> None:
    """A client leaves when the response is complete, or after a second."""
    found = played(ECHO, requests=1, request=request_)
    assert ("request", answer) in found["console"]
    assert ("print", received) in found["console"]


def test_a_server_that_would_wait_without_end_is_told_with_the_lines_that_wait() -> None:
    """Nothing that follows is shown: the application's cancellation is not the server's."""
    program = """\
import asyncio
async def wait():
    try:
        await asyncio.Event().wait()
    finally:
        print("cancelled")
        await asyncio.Event().wait()
async def app(scope, receive, send):
    asyncio.create_task(asyncio.Event().wait())
    await wait()
"""
    found = played(program)
    assert found["waits"] == ("app.py:4",)
    assert found["console"] == []
    assert "cancelled" not in found["messages"]
    assert found["outcome"] is None


def test_what_an_application_leaves_behind_goes_on_for_a_while() -> None:
    """Its end may be logged after the server has ended."""
    program = """\
import asyncio
async def app(scope, receive, send):
    async def late():
        await asyncio.sleep(5)
        print("late")
    app.task = asyncio.create_task(late())
    app.other = asyncio.create_task(asyncio.sleep(3600))
"""
    assert played(program)["console"][-1] == ("print", "late\n")


def test_a_program_that_does_not_parse_is_shown_with_its_line() -> None:
    """Nothing was served."""
    found = played("x = 1\ny = (\n")
    assert "SyntaxError: '(' was never closed" in found["failure"]
    assert found["line"] == 2
    assert found["served"] is None


def test_a_traceback_names_the_program_alone() -> None:
    """Causes and groups too; in the log as well."""
    program = """\
def fail():
    try:
        raise ValueError("first")
    except ValueError as error:
        raise ExceptionGroup("both", [error]) from error
async def app(scope, receive, send):
    await receive()
    fail()
"""
    ((_, declined), (level, text)) = played(program)["console"]
    assert "does not support lifespan" in declined
    assert level == "ERROR"
    names = {line.split('"')[1] for line in text.splitlines() if "File " in line}
    assert names == {FILE}
    assert 'raise ValueError("first")' in text
    failed = played(program + "fail()\n")
    assert failed["line"] == 3
    assert "<module>" in failed["failure"]


def test_an_exit_ends_the_run() -> None:
    """As it ends a server."""
    found = played("async def app(scope, receive, send):\n    raise SystemExit(3)\n")
    assert found["raised"] == ("SystemExit", "3")
    assert (found["served"], found["outcome"], found["failure"]) == (False, "crashed", "")


def test_what_the_virtual_clock_does_not_have_is_told() -> None:
    """A program that starts a thread and waits for it cannot run here."""
    program = APP.replace("    print(", "    asyncio.get_running_loop().stop()\n    print(")
    assert "RuntimeError: Event loop stopped" in played(program)["failure"]


def test_a_call_that_fails_is_the_servers_to_see() -> None:
    """The validator does not come between: the note on the exception is there."""
    found = played("def app(scope):\n    pass\n")
    assert "double_to_single_callable" in found["console"][1][1]
    found = played("def app(scope, receive, send):\n    return 'hello'\n")
    assert found["raised"] is not None
    assert found["raised"][0] == "TypeError"
    found = played("app = 1\n")
    assert found["raised"] is not None or found["console"]


@pytest.mark.parametrize("name", ["context-manager", "starlette", "middleware", "mounted"])
def test_a_program_to_begin_with_serves_a_request(name: str) -> None:
    """FastAPI, which is not installed here, is run in a browser: tests/docs/test_playground.py."""
    start = tomllib.loads(Path(playground.__file__).with_name("starts.toml").read_text())[name]
    found = played(start["program"], **start["server"])
    assert (found["outcome"], found["validator"]) == ("complete", [])
    (request,) = (text for kind, text in found["console"] if kind == "request")
    assert "→ 200, " in request


def test_a_program_may_run_lifespans_of_its_own() -> None:
    """Without an `app`; one that has neither is told so by the page."""
    program = APP.replace("def app(", "def mine(").replace("import asyncio", "import asyncio\n")
    program += """
from lifespec import Lifespan
async def main():
    async with Lifespan(mine):
        await asyncio.sleep(3600)
asyncio.run(main())
"""
    found = played(program)
    assert found["served"] is None
    assert "lifespan.shutdown.complete" in found["messages"]
    assert played("x = 1")["messages"] == ""


def test_a_program_is_imported_as_by_a_server() -> None:
    """It is not the main program, and its log and errors are shown."""
    program = (
        APP
        + """
import logging, sys
if __name__ == "__main__":
    print("main")
logging.getLogger("shop").info("ready")
logging.getLogger("shop").debug("not shown")
print("to stderr", file=sys.stderr)
"""
    )
    assert played(program)["console"] == [
        ("INFO", "ready"),
        ("print", "to stderr\nTrue ['asgi', 'state', 'type']\n"),
    ]


def test_a_run_leaves_nothing_to_the_next() -> None:
    """Logging is as it was, and names are gone."""
    played("import logging\nlogging.disable()\nleft = 1\n")
    found = played(APP + "print('left' in globals())\nimport logging\nlogging.error('shown')\n")
    assert found["console"][:2] == [("print", "False\n"), ("ERROR", "shown")]


def test_what_a_program_replaces_is_put_back() -> None:
    """Runs share one interpreter."""
    program = "import asyncio, builtins\nasyncio.sleep = builtins.print = None\n1 / 0"
    assert "ZeroDivisionError" in played(program)["failure"]
    assert played(APP)["outcome"] == "complete"


def test_long_output_and_long_sequences_are_cut() -> None:
    """A page shows the first part of them."""
    found = played("print('x' * 100_000)\nprint('more')")
    ((_, text),) = found["console"]
    assert text == f"{'x' * MOST_TEXT} …\n"
    program = """\
async def app(scope, receive, send):
    await receive()
    for _ in range(100):
        try:
            await send("x")
        except Exception:
            pass
"""
    found = played(program)
    assert found["shortened"]
    assert found["messages"].count("<li>") == MOST_ENTRIES


@pytest.mark.parametrize(
    ("did", "spec", "message"),
    [
        ("send({'type': 'lifespan.startup.complete'})", "asgi 2.0", WHEN[0]),
        ("receive(), await send({'type': 'x'})", "asgi 2.0", WHEN[1]),
        (
            "receive(), await send({'type': 'lifespan.startup.failed', 'message': ''})",
            "asgi 1.0",
            "does not have this event",
        ),
        ("receive(), scope['state'].update({1: 2}), await send(START)", "asgi 2.0", "the key 1"),
        ("receive(), await send(START), await receive(), 1 / 0", "pagi 0.3", "ZeroDivisionError"),
        ("receive(), await send(START), await receive()", "asgi 2.0", "returned while shutting"),
    ],
)
def test_each_message_about_an_application_has_words(did: str, spec: str, message: str) -> None:
    """None is left in the English of the validator: those have no full stop."""
    program = f"""\
START = {{"type": "lifespan.startup.complete"}}
async def app(scope, receive, send):
    await {did}
"""
    if "update" in did:
        program = program.replace("await receive()", "x = (await receive()", 1)
        program = program.replace("await send(START)", "await send(START))")
    found = messages(played(program, spec=spec))
    assert any(message in each for each in found), found
    assert all(each.endswith(".") for each in found)


def test_another_message_is_shown_as_it_is() -> None:
    """Our server breaks no rule, so there is no sentence for one that does."""
    violation = Violation("startup-sent", "server", "The server sent 1 while running")
    assert in_words(violation, str) == "The server sent 1 while running"
    other = Violation("x", "application", "The application did it while running")
    assert in_words(other, str) == "The application did it while running"


def test_what_a_page_does_not_know_is_as_usual() -> None:
    """A link may be older or newer than the page."""
    assert Conduct.of({"grace": None, "unknown": 1}) == Conduct(grace=None)
