"""Tables of the rules: all of them, those of a specification, their levels, what a server does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lifespec import validate
from lifespec.conformance import cases
from lifespec.conformance.rules import STAGES, Rule, level_lines, names, rules
from lifespec.validate import SPECS
from lifespec_docs.citations import sections_of
from lifespec_docs.views.specs import groups
from lifespec_docs.words import mark as _

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["TABLES"]

Context = dict[str, Any]
UNSPECIFIED = _("not specified")
COMMANDS = {
    "server": "lifespec check server",
    "application": "lifespec check app",
    "middleware": "lifespec check middleware",
}


def all_rules() -> Context:
    """Return all rules, each with what checks it."""
    validator = Path(validate.__file__).read_text(encoding="utf-8")
    roles: dict[str, set[str]] = {}
    for case in cases.load():
        for expected in case.expect:
            roles.setdefault(expected.rule, set()).add(case.role)
    checks = {
        rule_id: [
            *(["validator"] if f'"{rule_id}"' in validator else []),
            *(command for role, command in COMMANDS.items() if role in roles.get(rule_id, ())),
        ]
        for rule_id in rules()
    }
    return {"rules": rules().values(), "checks": checks, "level_lines": level_lines}


def holds(role: str, spec: str, *others: str) -> Context:
    """Return the rules of a specification for one role, by the stages of a lifespan."""
    held = [rule for rule in rules().values() if rule.role == role and rule.level(spec)]
    for rule, other in ((rule, other) for rule in held for other in others):
        if rule.says(other) != rule.says(spec):
            raise ValueError(f"{spec} and {other} differ in the rule {rule.rule_id!r}.")
    stages = {
        title: [rule for rule in held if rule.stage == stage] for stage, title in STAGES.items()
    }
    return {"stages": stages, "spec": spec, "sections": sections_of}


def levels() -> Context:
    """Return the rules whose level is not the same in all specifications."""
    cells = {
        rule_id: {spec: _level(rule, spec) for spec in SPECS} for rule_id, rule in rules().items()
    }
    columns = groups({spec: [row[spec] for row in cells.values()] for spec in SPECS})
    differing = {rule_id: row for rule_id, row in cells.items() if len({*row.values()}) > 1}
    return {"columns": columns, "names": names, "rows": differing}


def walkthrough(spec: str) -> Context:
    """Return the specification, and a function that puts the rules of a step by their level."""

    def by_level(*rule_ids: str) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for rule in (rules()[rule_id] for rule_id in rule_ids):
            if spec in rule.specs:
                found.setdefault(_level(rule, spec), []).append(rule.rule_id)
        return found

    return {"spec": spec, "family": SPECS[spec].envelope or "asgi", "by_level": by_level}


def _level(rule: Rule, spec: str) -> str:
    return rule.level(spec) or (UNSPECIFIED if spec in rule.unspecified else "")


TABLES: dict[str, Callable[..., Context]] = {
    "rules": all_rules,
    "holds": holds,
    "levels": levels,
    "walkthrough": walkthrough,
}
