"""The suite tries itself: each wrong server is named by its rule, and the reference by none.

Here each mutant plays the cases that judge its rule; `python tests/mutants/run.py` plays all.
"""

import sys
from pathlib import Path

import pytest

from lifespec.conformance import servers
from lifespec.conformance.cases import rules
from lifespec.conformance.servers import Job
from run import REFERENCE, faults, named
from servers import MUTANTS

__all__: list[str] = []

# A worker's number belongs to servers of PAGI; a rule that only allows something is kept by all.
LEFT_OUT = {"scope-worker", "crash-may-continue"}


def test_each_rule_that_can_be_seen_has_a_mutant() -> None:
    """No rule of servers is left out, but two."""
    seen = {slug for slug, rule in rules().items() if rule.observable != "no"}
    assert {slug for slug in seen if rules()[slug].party == "server"} == set(MUTANTS) | LEFT_OUT


@pytest.mark.parametrize("slug", MUTANTS)
def test_a_mutant_is_named_by_its_rule(slug: str, tmp_path: Path) -> None:
    """The suite names the rule that it breaks, what that implies, and no other."""
    judging = [case for case in servers.chosen() if slug in {each.slug for each in case.expect}]
    program = MUTANTS[slug].written(tmp_path)
    found = faults(program, judging)
    assert slug in found
    assert found <= named(slug)


def test_the_reference_conforms_everywhere() -> None:
    """Each case that can be played with one process is kept, by what a text says and by ours."""
    found = servers.check(
        Job((sys.executable, str(REFERENCE), "{app}", "--port", "{port}")), servers.chosen()
    )
    wrong = [each for each in found.findings if each.verdict not in ("conforms", "not applicable")]
    assert {(each.case, each.verdict) for each in wrong} == {("two-workers", "not run")}
    assert found.status(strict=True) == 0
