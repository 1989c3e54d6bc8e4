"""The suite tries itself: each wrong middleware is named by its rule, and by no other."""

from collections.abc import Callable
from typing import Any

import pytest

from lifespec.conformance.app import middleware
from lifespec.conformance.cases import rules
from lifespec.validate import DIALECTS
from middlewares import MUTANTS

__all__: list[str] = []

FAULTS = ("fail", "warn", "info")
PAIRS = [(slug, each) for slug, mutants in MUTANTS.items() for each in mutants]


def faults(mutant: Callable[..., Any], dialect: str) -> set[str]:
    """Name the rules that the suite finds broken."""
    findings = middleware.check(mutant, dialect).findings
    return {each.slug for each in findings if each.verdict in FAULTS}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("slug", "mutant"), PAIRS, ids=lambda each: getattr(each, "__name__", each)
)
def test_a_mutant_is_named_by_its_rule(slug: str, mutant: Callable[..., Any], dialect: str) -> None:
    """By every text that has the rule, and no other rule is named, by whatever text."""
    known = {slug} if dialect in rules()[slug].levels else set()
    assert faults(mutant, dialect) == known
