"""What an issue for a server's project says, and that its program does what its case does."""

import json
from contextlib import nullcontext
from itertools import takewhile
from typing import Any

import pytest
from published import ROOT

from lifespec.conformance import cases
from lifespec.conformance.cases import Case
from lifespec.testing import clock
from lifespec_docs.records.issue import between, issues, issues_between, program
from lifespec_docs.records.record import Finding, Record, Subject

__all__: list[str] = []

CASES = {case.name: case for case in cases.load() if case.role == "server"}
BETWEEN = {case.name: case for case in cases.load() if case.role == "middleware"}
WRITTEN = [case for case in CASES.values() if program(case, "asyncio")]
ENDS = "raise", "return"


class Waits(Exception):
    """The application waits for an event that never comes."""


def found(case: str, rule: str, verdict: str, actual: str, *, silent: bool = False) -> Finding:
    """Return a finding."""
    return Finding(case, rule, verdict, actual, silent)


def subject(command: str, *findings: Finding) -> Subject:
    """Return a row of a record."""
    return Subject("slow", command, {"slow": "1.0"}, [*findings], "", {})


def test_most_cases_can_be_written() -> None:
    """The others need a task that outlives the call, or a word of the suite."""
    assert len(WRITTEN) > len(CASES) / 2
    assert program(CASES["hangs-at-startup"], "asyncio") == ""


@pytest.mark.parametrize("case", WRITTEN, ids=lambda case: case.name)
def test_a_program_plays_its_case(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    """It sends what the script sends, and ends as it ends."""
    names: dict[str, Any] = {}
    exec(program(case, "asyncio"), names)  # noqa: S102  it was written here
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


def test_an_issue_has_the_program_the_commands_and_the_sentence() -> None:
    """And what was seen; a rule is told once, by the first case that can be written."""
    row = subject(
        "slow {app} --port {port} --workers {workers} --trio",
        found("hangs-at-startup", "wait-for-startup", "fail", "It hung."),
        found("state", "state-untouched", "fail", "It was {}."),
        found("state", "state-shallow-copy", "pass", ""),
        found("very-slow-shutdown", "wait-for-shutdown", "warn", "It ended."),
        found("very-slow-shutdown", "wait-for-shutdown", "warn", "It ended.", silent=True),
        found("state-set-while-serving", "state-untouched", "fail", "Again."),
        found("gone", "wait-for-shutdown", "fail", "It ended."),
    )
    state, slow = issues(row, CASES, "CPython 3.11, Linux")
    assert (state.rules, slow.rules) == (["state-untouched"], ["wait-for-shutdown"])
    for part in (
        "# Lifespan: The server must not do anything with the state except copy it.\n",
        "Thank you for slow. I ran this application, `shop.py`, on CPython 3.11, Linux:\n",
        "state[words[0]] = words[1]\n",
        "slow shop:app --port 8000 --workers 1 --trio &  # slow 1.0\nsleep 3\n",
        "curl http://127.0.0.1:8000/set/colour/red\n",
        "kill -TERM %1\n",
        "That is how I read [“Lifespan State”](https://github.com/django/asgiref/",
        "What I saw: It was {}.",
    ):
        assert part in state.text
    assert "import trio\n" in slow.text
    assert "await trio.sleep(65)\n" in slow.text
    assert "sleep 67\n" in slow.text


def test_a_test_client_is_used_in_the_program() -> None:
    """A server of another protocol than ASGI may need a broker: there is no program for it."""
    row = subject(
        "lifespec check driver asgi-lifespan",
        found("failed-with-message", "startup-failed-shown", "warn", "It is nowhere."),
        found("state", "state-shallow-copy", "fail", "It was {}."),
    )
    (issue,) = issues(row, CASES, "CPython 3.11, Linux")
    assert 'print("The scope:", scope)\n' in issue.text
    assert "    async with LifespanManager(app):\n" in issue.text
    assert "```sh\npython shop.py  # slow 1.0\n```" in issue.text
    broker = subject("run {app} {port}", found("failed-with-message", "startup-sent", "fail", ""))
    assert not [*issues(broker, CASES, "", "amgi 2.0")]


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
        exec(between(BETWEEN[name], "import sys", code), {})  # noqa: S102  it was written here
    assert capsys.readouterr().out.endswith(printed)


def test_each_fault_of_a_middleware_has_an_issue() -> None:
    """So that nobody has to write it."""
    data = json.loads((ROOT / "docs" / "matrix" / "middleware.json").read_text("utf-8"))
    for row in data["subjects"]:
        told = {rule for each in issues_between(row, BETWEEN, "") for rule in each.rules}
        assert told == {each["rule"] for each in row["findings"] if each["verdict"] != "info"}


def test_each_fault_of_the_record_has_an_issue() -> None:
    """So that nobody has to write it."""
    data = json.loads((ROOT / "docs" / "matrix" / "servers.json").read_text("utf-8"))
    for row in Record("servers", data).subjects:
        told = {rule for each in issues(row, CASES, "") for rule in each.rules}
        broken = {each.rule for each in row.findings if each.verdict in ("fail", "warn")}
        assert (
            told == broken - {each.rule for each in row.findings if each.silent} or told == broken
        )
