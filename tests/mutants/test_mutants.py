"""What rules.toml says can be observed is observed: by cases, and each time something breaks it.

A rule that can be seen has a case that expects it, and a mutant for each party whose cases do.
A rule that only allows something is kept by all, and has no mutant.
"""

import applications
import middlewares
import servers
from lifespec.conformance import cases
from lifespec.conformance.cases import rules
from sentences import place

__all__: list[str] = []

MUTANTS = {
    "application": applications.MUTANTS,
    "middleware": middlewares.MUTANTS,
    "server": servers.MUTANTS,
}
EXPECTED = {
    party: {each.slug for case in cases.load() if case.party == party for each in case.expect}
    for party in MUTANTS
}
ALLOWING = {slug for slug, rule in rules().items() if {*rule.levels.values()} - {""} == {"may"}}


def test_each_rule_that_can_be_seen_is_expected_by_a_case() -> None:
    """And no case expects a rule that nobody can observe."""
    seen = {slug for slug, rule in rules().items() if rule.observable != "no"}
    expected = set.union(*EXPECTED.values())
    without = [f"{place(slug)}: no case of cases.toml expects {slug!r}" for slug in seen - expected]
    assert not without, "\n".join(without)
    assert expected == seen


def test_each_rule_that_can_be_seen_has_a_mutant() -> None:
    """One for each party whose duty it is, and no mutant is of a rule that nobody can observe."""
    for party, mutants in MUTANTS.items():
        theirs = {slug for slug, rule in rules().items() if party in (rule.party, "middleware")}
        wanted = (EXPECTED[party] & theirs) - ALLOWING
        without = [f"{place(slug)}: no {party} breaks {slug!r}" for slug in wanted - {*mutants}]
        assert not without, "\n".join(without)
        assert {*mutants} == wanted, party
