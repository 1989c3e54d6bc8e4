"""Tables of the rules and cases of the conformance suite.

Of the rules: all, those that differ in a specification, and those of each step of a server. Of the
cases: those of each role and rule, and the words of their format.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from lifespec import validate
from lifespec.catalog import data
from lifespec.conformance import cases
from lifespec.conformance.cases import Case
from lifespec.conformance.rules import BEHAVIOUR, MAIN, Rule, rules
from lifespec.validate import SPECS
from lifespec.words import names
from lifespec_docs.words import ROOT
from lifespec_docs.words import mark as _

Context = dict[str, Any]
UNSPECIFIED = _("not specified")
EDGE = re.compile(r"^:::\{decision\} (\S+)\n:cases: (.+)$", re.MULTILINE)
DRAWN = "role", "says", "script", "expect"  # keys of a case that the template draws by itself
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


def level_lines(rule: Rule, translate: Callable[[str], str]) -> Iterator[str]:
    """Say which specifications have the rule at which level; those without it come last."""
    pair = translate(_("%s: %s"))
    for level in rule.levels:
        having = [spec for spec in rule.specs if rule.level(spec) == level]
        yield pair % (translate(level), names(having, translate))
    if rule.unspecified:
        yield pair % (translate(BEHAVIOUR), names(rule.unspecified, translate))


def differences(spec: str, *others: str) -> Context:
    """Return the rules that are not as in lifespan 2.0 (ASGI), and those that do not apply."""
    differing = [rule for rule in rules().values() if _stated(rule, spec) != _stated(rule, MAIN)]
    for rule, other in ((rule, other) for rule in rules().values() for other in others):
        if _stated(rule, other) != _stated(rule, spec):
            raise ValueError(f"{spec} and {other} differ in the rule {rule.rule_id!r}.")
    return {
        "stated": [(rule, _level(rule, spec)) for rule in differing if spec in rule.specs],
        "absent": [rule.rule_id for rule in differing if spec not in rule.specs],
        "spec": spec,
    }


def _stated(rule: Rule, spec: str) -> tuple[str, str] | None:
    """Return the level of a rule and its sentence, or None where it does not apply."""
    if spec not in rule.specs:
        return None
    group = next((group for group in rule.boxes if spec in group), ())
    return _level(rule, spec), rule.boxes[group]


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


def of_role(role: str) -> Context:
    """Return all cases that check a role, each with its script and its edge cases."""
    found = [case for case in cases.load() if case.role == role]
    if not found:
        raise ValueError(f"There are no cases for the role {role!r}.")
    return {"cases": [(case, _script(case), edges_of(case.name)) for case in found]}


def edges_of(case: str) -> list[str]:
    """Return the names of the edge cases that a case of the suite plays to servers."""
    text = (ROOT / "docs" / "edge-cases.md").read_text(encoding="utf-8")
    return [name for name, cases in EDGE.findall(text) if case in cases.split()]


def by_rule() -> Context:
    """Return the names of the cases that expect each rule, by their role."""
    found: dict[str, dict[str, list[str]]] = {rule_id: {} for rule_id in rules()}
    for case in cases.load():
        for rule_id in dict.fromkeys(expected.rule for expected in case.expect):
            found[rule_id].setdefault(case.role, []).append(case.name)
    return {"rules": {rule_id: roles for rule_id, roles in found.items() if roles}}


def vocabulary(kind: str, role: str = "") -> Context:
    """Return the words of the format: `keys`, or those of a kind for one role."""
    words: Mapping[str, Any] = getattr(cases.vocabulary(), kind)
    if kind == "keys":
        return {"words": words}
    return {
        "words": {
            f"{word} {getattr(row, 'form', '').upper()}".rstrip(): row.says
            for word, row in words.items()
            if role in row.roles
        }
    }


def _script(case: Case) -> list[str]:
    """Return the lines of a script, and the other keys of the case as its file has them."""
    row = tomllib.loads(data("cases.toml")).get(case.name, {})
    others = [f"{key} = {json.dumps(value)}" for key, value in row.items() if key not in DRAWN]
    return [*case.lines, *([""] if others else []), *others]


TABLES: dict[str, Callable[..., Context]] = {
    "rules": all_rules,
    "differences": differences,
    "walkthrough": walkthrough,
    "cases": of_role,
    "cases-by-rule": by_rule,
    "vocabulary": vocabulary,
}
