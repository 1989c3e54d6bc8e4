"""The suite tries itself: what breaks a rule is named by that rule, and what is right by none.

A rule that can be seen has a case that expects it, and a mutant for each role whose cases do.
A rule that only allows something is kept by all, and has no mutant.
"""

import json
from dataclasses import replace
from typing import Any

import pytest
from samples import ROOT

import applications
import middlewares
import servers
from apart import checked
from applications import CORRECT
from lifespec.conformance import Finding, Report, cases, check_app, check_middleware
from lifespec.conformance.rules import MAIN, rules
from lifespec.conformance.server.check import Target, check, chosen
from lifespec.validate import SPECS
from sights import SERVER

IMPLIES = "the case breaks these, too: drop what it expects of them, or name them in `implies`"
NOT_MISSED = "others expect these rules: add what this case alone shows to ONLY_IN of its role"
FILE = "src/lifespec/conformance/data/rules.toml"
NOT_SPECIFIED = "system-exit-on-the-scope"  # the reference ends with it, and so may all
FAULTS = ("fail", "warn", "info")
HANG = ("never_answers_", "waits_for_ever")  # names of those that let the time pass
ROLES: dict[str, Any] = {"application": applications, "middleware": middlewares, "server": servers}
MUTANTS = {role: module.MUTANTS for role, module in ROLES.items()}
UNTRIED = {  # cases in which the server that the mutants change cannot be played
    "state-on-a-websocket": "it takes no WebSockets",
    "two-workers": "it has one process",
}
EXPECTED = {
    role: {each.rule for case in cases.load() if case.role == role for each in case.expect}
    for role in MUTANTS
}
ALLOWING = {rule_id for rule_id, rule in rules().items() if {*rule.levels} == {"may"}}


def limit(name: str) -> float:
    """Return the seconds for an answer: many for one that comes, on a machine that may be busy."""
    return 1.0 if name.startswith(HANG) else 60.0


def wrong(report: Report) -> list[Finding]:
    """Return what is not as it is expected."""
    return [each for each in report.findings if each.verdict in FAULTS]


def faults(report: Report) -> set[str]:
    """Return the rules that the suite finds broken."""
    return {each.rule for each in wrong(report) if each.case != NOT_SPECIFIED}


def others(found: set[str], rule_id: str) -> set[str]:
    """Return the rules that were found broken beside one that does not imply them."""
    return found - {rule_id, *rules()[rule_id].implies}


def shown(name: str) -> set[str]:
    """Return the cases that some servers of a record do not pass."""
    record = json.loads((ROOT / "docs" / "matrix" / f"{name}.json").read_text("utf-8"))
    findings = [each for row in record["subjects"] for each in row["findings"]]
    return {each["case"] for each in findings if each["verdict"] in FAULTS}


def missing(rule_ids: set[str], what: str) -> list[str]:
    """Return a sentence for each rule that lacks something, with its place."""
    return [f"{FILE}:{rules()[each].line}: no {what} {each!r}" for each in rule_ids]


def test_each_rule_that_can_be_seen_is_expected_by_a_case() -> None:
    """And no case expects a rule that nobody can observe."""
    seen = {rule_id for rule_id, rule in rules().items() if rule.observable != "no"}
    expected = set.union(*EXPECTED.values())
    assert missing(seen - expected, "case of cases.toml expects") == []
    assert expected == seen


def test_each_case_would_be_missed() -> None:
    """It alone expects a rule, a mutant shows in it alone, or a recorded server breaks it."""
    missed = set.union(*map(shown, ("servers", "drivers", "amgi", "pagi")), {*UNTRIED})
    for role, module in ROLES.items():
        of_rules: dict[str, set[str]] = {}
        for case in cases.load():
            for each in case.expect if case.role == role else ():
                of_rules.setdefault(each.rule, set()).add(case.name)
        missed |= {*module.ONLY_IN}.union(*(each for each in of_rules.values() if len(each) == 1))
    assert {case.name for case in cases.load()} - missed == set(), NOT_MISSED


@pytest.mark.parametrize("role", MUTANTS)
def test_each_rule_that_can_be_seen_has_a_mutant(role: str) -> None:
    """One for each role whose duty it is, and no mutant is of a rule that nobody can observe."""
    theirs = {rule_id for rule_id, rule in rules().items() if role in (rule.role, "middleware")}
    wanted = (EXPECTED[role] & theirs) - ALLOWING
    assert missing(wanted - {*MUTANTS[role]}, f"{role} breaks") == []
    assert {*MUTANTS[role]} == wanted


@pytest.mark.parametrize(
    ("rule_id", "name"),
    [(rule_id, name) for rule_id, apps in applications.MUTANTS.items() for name in apps],
)
def test_a_wrong_application_is_named_by_its_rule(rule_id: str, name: str) -> None:
    """The suite names the rule that it breaks, what that implies, and no other."""
    report = checked(check_app, "applications", "MUTANTS", rule_id, name, timeout=limit(name))
    assert rule_id in faults(report)
    assert not others(faults(report), rule_id), IMPLIES


EACH_SPEC = {"live", "fails_to_start", "fails_without_a_message"}  # they send all that one can


@pytest.mark.parametrize(
    ("name", "spec"),
    [(name, spec) for name in CORRECT for spec in (SPECS if name in EACH_SPEC else [MAIN])],
)
def test_what_is_right_breaks_nothing(name: str, spec: str) -> None:
    """An application that keeps the rules conforms, by whatever text; one that declines too."""
    found = faults(checked(check_app, "applications", "CORRECT", name, spec=spec))
    if spec == "asgi 1.0":  # it has no failures
        found -= {"events-known"}
    if spec.startswith("amgi ") and name == "fails_without_a_message":
        assert found == {"message-is-text"}  # AMGI requires the key
    else:
        assert found == set()


@pytest.mark.parametrize(
    ("rule_id", "name"),
    [(rule_id, name) for rule_id, each in middlewares.MUTANTS.items() for name in each],
)
def test_wrong_middleware_is_named_by_its_rule_and_by_no_other(rule_id: str, name: str) -> None:
    found = checked(check_middleware, "middlewares", "MUTANTS", rule_id, name)
    assert faults(found) == {rule_id}


@pytest.mark.parametrize(
    ("check", "module", "case"),
    [
        (check, module.__name__, case)
        for check, module in ((check_app, applications), (check_middleware, middlewares))
        for case in module.ONLY_IN
    ],
)
def test_a_case_shows_what_no_other_does(check: Any, module: str, case: str) -> None:
    report = checked(check, module, "ONLY_IN", case)
    assert {each.case for each in wrong(report)} == {case}, str(report)


@pytest.mark.parametrize("spec", SPECS)
def test_middleware_is_held_to_the_rules_of_each_specification(spec: str) -> None:
    """One that breaks all of them breaks those that a text has, at the level that it gives."""
    report = checked(check_middleware, "middlewares", "breaks_all", spec=spec)
    assert faults(report) == {each for each in middlewares.MUTANTS if spec in rules()[each].specs}
    for each in report.findings:
        if each.verdict in ("fail", "warn"):
            level = rules()[each.rule].level(spec)
            assert each.verdict == ("fail" if "must" in level else "warn"), each


@pytest.mark.slow
@pytest.mark.parametrize("rule_id", servers.MUTANTS)
def test_a_wrong_server_is_named_by_its_rule(rule_id: str) -> None:
    """In the cases that expect it; the suite names what it implies, and no other."""
    expecting = [case for case in chosen() if rule_id in {each.rule for each in case.expect}]
    target = Target(servers.command(rule_id), timeout=5.0)  # seconds that these may do nothing
    found = faults(check(target, expecting))
    assert rule_id in found
    assert not others(found, rule_id), IMPLIES


@pytest.mark.slow
@pytest.mark.parametrize("name", servers.ONLY_IN)
def test_a_case_of_servers_shows_what_no_other_does(name: str) -> None:
    """Among those that expect the same rules."""
    rules = {each.rule for case in chosen([name]) for each in case.expect}
    others = [case for case in chosen() if rules & {each.rule for each in case.expect}]
    report = check(Target(servers.command(name), timeout=5.0), others)
    assert {each.case for each in wrong(report)} == {name}, str(report)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "case", "found"),
    [
        ("startup-twice", "well-behaved", {"startup-sent": "info"}),
        ("shutdown-twice", "receives-a-third-time", {"shutdown-sent": "info"}),
        ("failure-exit-status", "failed-with-message", {"failure-exit-status": "info"}),
        (
            "dies-silently",
            "crashes-while-serving",
            {"crash-logged": "info", "crash-may-continue": "info"},
        ),
        ("waits-for-nobody", "limit-expires", {"shutdown-after-serving": "fail"}),
        ("cuts-the-return", "works-after-shutdown", {"wait-for-shutdown": "info"}),
    ],
)
def test_what_a_server_does_that_harms_is_in_the_report(
    name: str, case: str, found: dict[str, str]
) -> None:
    """By a line at least, and nothing else is."""
    target = Target(servers.command(name), limit="--drain 1", timeout=5.0)
    report = check(target, chosen([case]))
    wrong = {rule: str(each) for rule, each in report.verdicts().items() if each in FAULTS}
    assert wrong == found
    assert report.status == {"startup-twice": 2, "waits-for-nobody": 1}.get(name, 0)
    assert replace(report, strict=True).ok is False or name in NOT_OWN
    for rule, verdict in found.items():
        assert verdict == "fail" or f"{rule}: " in str(report)


NOT_OWN = ("shutdown-twice", "cuts-the-return")  # no box of lifespec's says it


@pytest.mark.slow
def test_the_reference_passes_everywhere() -> None:
    """Each case that can be played with one process, by what is specified and by what is not."""
    found = check(Target(SERVER, limit="--drain 1"), chosen())
    others = {(each.case, each.verdict) for each in found.findings if each.verdict != "pass"}
    workers = {case.name for case in chosen() if case.workers > 1}
    # it listens before it calls the application, and takes no WebSockets
    skipped = {*workers, "port-in-use", "state-on-a-websocket"}
    assert others == {(NOT_SPECIFIED, "info"), *((name, "skip") for name in skipped)}
    assert replace(found, strict=True).status == 0
