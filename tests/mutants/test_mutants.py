"""What rules.toml says can be observed is observed: by cases, and each time something breaks it.

A rule that can be seen has a case that expects it, and a mutant for each role whose cases do.
A rule that only allows something is kept by all, and has no mutant.
"""

import applications
import middlewares
import servers
from lifespec.conformance import cases
from lifespec.conformance.rules import rules

__all__: list[str] = []

FILE = "src/lifespec/conformance/data/rules.toml"
MUTANTS = {
    "application": applications.MUTANTS,
    "middleware": middlewares.MUTANTS,
    "server": servers.MUTANTS,
}
EXPECTED = {
    role: {each.rule for case in cases.load() if case.role == role for each in case.expect}
    for role in MUTANTS
}
ALLOWING = {rule_id for rule_id, rule in rules().items() if {*rule.levels} == {"may"}}


def test_each_rule_that_can_be_seen_is_expected_by_a_case() -> None:
    """And no case expects a rule that nobody can observe."""
    seen = {rule_id for rule_id, rule in rules().items() if rule.observable != "no"}
    expected = set.union(*EXPECTED.values())
    without = [
        f"{FILE}:{rules()[rule_id].line}: no case of cases.toml expects {rule_id!r}"
        for rule_id in seen - expected
    ]
    assert not without, "\n".join(without)
    assert expected == seen


def test_each_rule_that_can_be_seen_has_a_mutant() -> None:
    """One for each role whose duty it is, and no mutant is of a rule that nobody can observe."""
    for role, mutants in MUTANTS.items():
        theirs = {rule_id for rule_id, rule in rules().items() if role in (rule.role, "middleware")}
        wanted = (EXPECTED[role] & theirs) - ALLOWING
        without = [
            f"{FILE}:{rules()[rule_id].line}: no {role} breaks {rule_id!r}"
            for rule_id in wanted - {*mutants}
        ]
        assert not without, "\n".join(without)
        assert {*mutants} == wanted, role
