"""The suite tries itself: each wrong server is named by its rule, and the reference by none.

Here each mutant plays the cases that check its rule; `python tests/mutants/play.py` plays all.
"""

from dataclasses import replace

import pytest

from lifespec.conformance.server.check import Target, check, chosen
from play import NOT_SPECIFIED, REFERENCE, faults, named, target
from servers import FAULTS, MUTANTS

__all__: list[str] = []


@pytest.mark.slow
@pytest.mark.parametrize("rule_id", MUTANTS)
def test_a_mutant_is_named_by_its_rule(rule_id: str) -> None:
    """The suite names the rule that it breaks, what that implies, and no other."""
    expecting = [case for case in chosen() if rule_id in {each.rule for each in case.expect}]
    found = faults(rule_id, expecting)
    assert rule_id in found
    assert found <= named(rule_id)


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_told_once_and_by_its_weight(name: str) -> None:
    """At its cause: what follows from it is left out, with that reason."""
    fault = FAULTS[name]
    report = check(target(name, *fault.options), chosen(fault.cases))
    found = {(each.rule, each.verdict.value) for each in report.findings}
    assert {each for each in found if each[1] not in ("pass", "skip")} == fault.found
    assert report.status == fault.status


@pytest.mark.slow
def test_the_reference_passes_everywhere() -> None:
    """Each case that can be played with one process, by what is specified and by what is not."""
    found = check(Target(REFERENCE), chosen())
    others = {(each.case, each.verdict) for each in found.findings if each.verdict != "pass"}
    workers = {case.name for case in chosen() if case.workers > 1}
    # it listens before it calls the application, and takes no WebSockets
    skipped = {*workers, "port-in-use", "state-on-a-websocket"}
    assert others == {(NOT_SPECIFIED, "info"), *((name, "skip") for name in skipped)}
    assert replace(found, strict=True).status == 0
