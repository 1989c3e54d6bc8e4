"""The suite tries itself: each wrong application is named by its rule, and no right one is."""

import pytest

from applications import CORRECT, MUTANTS, Application
from lifespec.conformance import check_app
from lifespec.conformance.rules import rules
from lifespec.validate import SPECS

__all__: list[str] = []

FAULTS = ("fail", "warn", "info")
PAIRS = [(rule_id, app) for rule_id, apps in MUTANTS.items() for app in apps]
LIMIT = 4.0  # seconds that some of these let pass, on a machine that may be busy


def faults(app: Application, spec: str = "asgi 2.0") -> set[str]:
    """Name the rules that the suite finds broken."""
    found = check_app(app, spec, timeout=LIMIT)
    return {each.rule for each in found.findings if each.verdict in FAULTS}


@pytest.mark.parametrize(
    ("rule_id", "app"), PAIRS, ids=lambda each: getattr(each, "__name__", each)
)
def test_a_mutant_is_named_by_its_rule(rule_id: str, app: Application) -> None:
    """The suite names the rule that it breaks, what that implies, and no other."""
    found = faults(app)
    assert rule_id in found
    assert found <= {rule_id, *rules()[rule_id].implies}


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("app", CORRECT, ids=lambda app: app.__name__)
def test_what_is_right_breaks_nothing(app: Application, spec: str) -> None:
    """An application that keeps the rules conforms, by whatever text; one that declines too."""
    rule_ids = faults(app, spec)
    if spec == "asgi 1.0":  # it has no failures
        rule_ids -= {"events-known"}
    if spec.startswith("amgi ") and app.__name__ == "fails_without_a_message":
        assert rule_ids == {"message-is-text"}  # AMGI requires the key
    else:
        assert rule_ids == set()
