"""What an issue for a server's project says."""

import json

from published import ROOT

from lifespec.conformance import cases
from lifespec_docs.records.issue import DOCUMENTED, QUOTED, UNQUOTED, issues, issues_between
from lifespec_docs.records.record import Finding, Record, Subject

__all__: list[str] = []

CASES = {case.name: case for case in cases.load() if case.role == "server"}
BETWEEN = {case.name: case for case in cases.load() if case.role == "middleware"}


def found(case: str, rule: str, verdict: str, actual: str, *, silent: bool = False) -> Finding:
    """Return a finding."""
    return Finding(case, rule, verdict, actual, silent)


def subject(command: str, *findings: Finding) -> Subject:
    """Return a row of a record."""
    return Subject("slow", command, {"slow": "1.0"}, [*findings], "", {})


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


def test_each_fault_of_a_middleware_has_an_issue() -> None:
    """So that nobody has to write it, unless its documentation says so, or servers are meant."""
    data = json.loads((ROOT / "docs" / "matrix" / "middleware.json").read_text("utf-8"))
    for row in data["subjects"]:
        told = {rule for each in issues_between(row, BETWEEN, "") for rule in each.rules}
        found = {each["rule"] for each in row["findings"] if each["verdict"] != "info"}
        fits = {QUOTED.get(each, each) for each in found - {*UNQUOTED}}
        assert told == (set() if row["name"] in DOCUMENTED else fits)
        assert "failed-to-prevent-start" not in told


def test_each_fault_of_the_record_has_an_issue() -> None:
    """So that nobody has to write it."""
    data = json.loads((ROOT / "docs" / "matrix" / "servers.json").read_text("utf-8"))
    for row in Record("servers", data).subjects:
        told = {rule for each in issues(row, CASES, "") for rule in each.rules}
        broken = {each.rule for each in row.findings if each.verdict in ("fail", "warn")}
        assert (
            told == broken - {each.rule for each in row.findings if each.silent} or told == broken
        )
