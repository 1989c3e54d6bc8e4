"""The messages of the validator, as the rule index shows them."""

import ast
from pathlib import Path

import pytest

import lifespec.validate
from lifespec.conformance.rules import rules
from lifespec_docs.rules.validator_messages import SEQUENCES, message_of


def named_by_the_validator() -> set[str]:
    """Return the rules that the validator names in its source."""
    tree = ast.parse(Path(lifespec.validate.__file__).read_text(encoding="utf-8"))
    found = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return {value for value in found if isinstance(value, str) and value in rules()}


def test_each_rule_that_the_validator_reports_has_a_sequence() -> None:
    assert set(SEQUENCES) == named_by_the_validator()


@pytest.mark.parametrize("rule_id", SEQUENCES)
def test_a_sequence_breaks_its_rule(rule_id: str) -> None:
    assert message_of(rule_id)
