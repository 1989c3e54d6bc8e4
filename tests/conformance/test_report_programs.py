"""That the program of a finding does what its case does."""

import asyncio
import sys
from contextlib import nullcontext
from itertools import takewhile
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from lifespec.conformance import cases
from lifespec.conformance.cases import Case
from lifespec.conformance.oldreport.programs import between, of_application, of_middleware, of_server
from lifespec.testing import clock

__all__: list[str] = []

CASES = {case.name: case for case in cases.load()}
SERVERS = [case for case in CASES.values() if case.role == "server"]
APPLICATIONS = [case for case in CASES.values() if case.role == "application"]
COMMAND = "slow {app} --port {port} --workers {workers}"
ENDS = "raise", "return"


class Waits(Exception):
    """The application waits for an event that never comes."""


def program(case: Case) -> str:
    """Return the application of a case, "" if it cannot be written."""
    found = of_server(COMMAND, case, "", "asgi 2.0")
    return found.text if found else ""


WRITTEN = [case for case in SERVERS if program(case)]


@pytest.mark.parametrize("case", WRITTEN, ids=lambda case: case.name)
def test_a_program_plays_its_case(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    """It sends what the script sends, and ends as it ends."""
    names: dict[str, Any] = {}
    exec(program(case), names)  # noqa: S102  it was written here
    received, sent = ["lifespan.shutdown", "lifespan.startup"], list[object]()

    async def receive() -> dict[str, str]:
        if not received:
            raise Waits
        return {"type": received.pop()}

    async def send(event: object) -> None:
        sent.append(event)

    async def main() -> BaseException | None:
        try:
            await names["app"]({"type": "lifespan", "state": {}}, receive, send)
        except Exception as error:
            return error
        return None

    error = clock.run(main())
    script = [*takewhile(lambda action: action.verb not in ENDS, case.script)]
    assert sent == [action.event for action in script if action.verb in ("send", "try")]
    last = case.script[len(script)] if len(script) < len(case.script) else None
    waits = sum(action.verb == "receive" for action in script) > 2
    expected = Waits if waits else RuntimeError if last and last.verb == "raise" else type(None)
    assert isinstance(error, expected)
    assert ("at shutdown:" in capsys.readouterr().out) == any(
        action.verb == "state" for action in script
    )


@pytest.mark.parametrize(
    ("name", "code", "printed", "error"),
    [
        ("through-start-and-stop", "app", "shutdown.complete'}\nThe call returned\n", None),
        ("through-a-refused-event", "app", "the scope lifespan\n", ValueError),
        ("through-an-unknown-scope", "app", "the scope lifespec.unheard\n", RuntimeError),
        ("through-returning", "own(app) and app", "The call returned\n", None),
        ("through-returning", "open_own() or app", "The call returned\n", None),
    ],
)
def test_a_program_calls_a_middleware_as_a_server_does(
    name: str,
    code: str,
    printed: str,
    error: type[Exception] | None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It prints what the server receives; here the middleware is the application itself."""
    with pytest.raises(error) if error else nullcontext():
        exec(between(CASES[name], "import sys", code), {})  # noqa: S102  it was written here
    assert capsys.readouterr().out.endswith(printed)


@pytest.mark.parametrize("command", ["slow {app} --port 1", "slow {app} {port}", "asgi-lifespan"])
def test_no_program_where_it_would_not_show_the_fault(command: str) -> None:
    """A command without a place for what the case needs, and a client, which makes no request."""
    assert not of_server(command, CASES["two-workers"], "state-shallow-copy", "asgi 2.0")


def shop(**names: Any) -> ModuleType:
    """Return a module whose names a program imports."""
    found = ModuleType("shop")
    vars(found).update(names)
    return found


def printed(
    text: str,
    module: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> str:
    """Run a program on the virtual clock; return what it prints, with the error that ends it."""
    monkeypatch.setitem(sys.modules, "shop", module)
    monkeypatch.setattr(asyncio, "run", clock.run)
    try:
        exec(text, {})  # noqa: S102  it was written here
    except (Exception, asyncio.CancelledError) as error:
        print(type(error).__name__)
    return capsys.readouterr().out


@pytest.mark.parametrize("case", APPLICATIONS, ids=lambda case: case.name)
def test_a_program_calls_an_application_as_its_case_does(
    case: Case, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Here the application answers what it is sent, and refuses what it does not know."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            return
        if scope["type"] != "lifespan":
            raise NotImplementedError
        while True:
            event = await receive()
            if event["type"] not in ("lifespan.startup", "lifespan.shutdown"):
                raise ValueError(event)
            scope.get("state", {})["pool"] = "open"
            await send({"type": f"{event['type']}.complete"})
            if event["type"] == "lifespan.shutdown":
                return

    found = of_application("shop:make", case, "asgi 2.0", factory=True)
    assert found
    told = printed(found.text, shop(make=lambda: app), monkeypatch, capsys)
    words = [(each.verb, each.text) for each in case.script]
    assert told.count("lifespan.startup.complete") == words.count(("await", "startup"))
    assert told.count("lifespan.shutdown.complete") == words.count(("await", "shutdown"))
    assert ("{'pool': 'open'}" in told) == (("request", "") in words)
    assert told.count("The call returned") == words.count(("await", "shutdown"))
    if ("cancel", "") in words:
        assert "CancelledError" in told
    elif ("await", "reaction") in words:
        assert told.endswith("Error\n")


def test_a_program_shows_that_an_application_hangs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def app(_scope: Any, receive: Any, _send: Any) -> None:
        await receive()
        await asyncio.sleep(1000)

    found = of_application("shop:app", CASES["start-and-stop"], "asgi 2.0", factory=False)
    assert found
    assert "app = " not in found.text
    assert printed(found.text, shop(app=app), monkeypatch, capsys) == "TimeoutError\n"


def test_a_program_wraps_its_application_in_the_middleware(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = of_middleware("shop:inner.wrap", CASES["through-returning"], "asgi 2.0")
    assert found
    module = shop(inner=SimpleNamespace(wrap=lambda app: app))
    assert printed(found.text, module, monkeypatch, capsys).endswith("The call returned\n")


def test_what_cannot_be_imported_has_no_program() -> None:
    """It is a command in another language, or the events are of another protocol."""
    case = CASES["start-and-stop"]
    assert not of_application("perl app.pl", case, "asgi 2.0", factory=False)
    assert not of_application("shop:app", case, "amgi 2.0", factory=False)
    assert not of_middleware("shop:app", CASES["through-returning"], "pagi 0.3")
