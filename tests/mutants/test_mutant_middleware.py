"""The suite tries itself: each wrong middleware is named by its rule, and by no other."""

from collections.abc import Callable
from typing import Any

import pytest

from lifespec.conformance import check_middleware
from lifespec.conformance.rules import rules
from lifespec.validate import SPECS
from middlewares import MUTANTS

__all__: list[str] = []

FAULTS = ("fail", "warn", "info")
MUTANT = [
    pytest.param(rule_id, mutant, id=f"{rule_id}-{name}")
    for rule_id, mutants in MUTANTS.items()
    for name, mutant in mutants.items()
]


def faults(mutant: Callable[..., Any], spec: str) -> set[str]:
    """Name the rules that the suite finds broken."""
    findings = check_middleware(mutant, spec).findings
    return {each.rule for each in findings if each.verdict in FAULTS}


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize(("rule_id", "mutant"), MUTANT)
def test_a_mutant_is_named_by_its_rule(rule_id: str, mutant: Callable[..., Any], spec: str) -> None:
    """By every text that has the rule, and no other rule is named, by whatever text."""
    known = {rule_id} if spec in rules()[rule_id].specs else set()
    assert faults(mutant, spec) == known
