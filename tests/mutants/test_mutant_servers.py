"""The suite tries itself: each wrong server is named by its rule, and the reference by none.

Here each mutant plays the cases that check its rule; `python tests/mutants/play.py` plays all.
"""

import pytest

from lifespec.conformance.server import check as server_check
from lifespec.conformance.server.check import ServerCheck
from play import NOT_SPECIFIED, REFERENCE, faults, job, named
from servers import FAULTS, MUTANTS, PAGI

__all__: list[str] = []


@pytest.mark.slow
@pytest.mark.parametrize("rule_id", MUTANTS)
def test_a_mutant_is_named_by_its_rule(rule_id: str) -> None:
    """The suite names the rule that it breaks, what that implies, and no other."""
    expecting = [
        case for case in server_check.chosen() if rule_id in {each.rule for each in case.expect}
    ]
    found = faults(rule_id, expecting)
    assert rule_id in found
    assert found <= named(rule_id)


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_told_once_and_by_its_weight(name: str) -> None:
    """At its cause: what follows from it is left out, with that reason."""
    fault = FAULTS[name]
    report = server_check.check(job(name, *fault.options), server_check.chosen(fault.cases))
    found = {(each.rule, each.verdict.value) for each in report.findings}
    assert {each for each in found if each[1] not in ("pass", "skip")} == fault.found
    assert report.status() == fault.status


@pytest.mark.slow
def test_the_reference_passes_everywhere() -> None:
    """Each case that can be played with one process, by what is specified and by what is not."""
    found = server_check.check(ServerCheck(REFERENCE), server_check.chosen())
    others = {(each.case, each.verdict) for each in found.findings if each.verdict != "pass"}
    workers = {case.name for case in server_check.chosen() if case.workers > 1}
    # it listens before it calls the application, and takes no WebSockets
    skipped = {*workers, "port-in-use", "state-on-a-websocket"}
    assert others == {(NOT_SPECIFIED, "info"), *((name, "skip") for name in skipped)}
    assert found.status(strict=True) == 0


@pytest.mark.slow
def test_the_reference_as_a_server_of_pagi() -> None:
    """With workers, by that specification, it conforms everywhere: what breaks is the mutant."""
    found = server_check.check(job(PAGI), server_check.chosen())
    wrong = {each.case for each in found.findings if each.verdict not in ("pass", "skip")}
    assert wrong <= {NOT_SPECIFIED}
    assert {each.rule for each in found.findings if each.case == "two-workers"} >= {"scope-worker"}
