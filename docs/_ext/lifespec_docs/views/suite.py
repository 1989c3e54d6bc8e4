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
    expected = {(wanted.rule, case.role) for case in cases.load() for wanted in case.expect}
    checks: dict[str, list[str]] = {rule_id: [] for rule_id in rules()}
    for rule_id, checked_by in checks.items():
        if f'"{rule_id}"' in validator:
            checked_by.append("validator")
        for role, command in COMMANDS.items():
            if (rule_id, role) in expected:
                checked_by.append(command)
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
    stated, absent = [], []
    for rule in rules().values():
        here = _stated(rule, spec)
        for other in others:
            if _stated(rule, other) != here:
                raise ValueError(f"{spec} and {other} differ in the rule {rule.rule_id!r}.")
        if here == _stated(rule, MAIN):
            continue
        if here is None:
            absent.append(rule.rule_id)
        else:
            stated.append((rule, _level(rule, spec)))
    return {"stated": stated, "absent": absent, "spec": spec}


def _stated(rule: Rule, spec: str) -> tuple[str, str] | None:
    """Return the level of a rule and its sentence, or None where it does not apply."""
    if spec not in rule.specs:
        return None
    sentence = rule.boxes.get((), "")
    for group, of_group in rule.boxes.items():
        if spec in group:
            sentence = of_group
    return _level(rule, spec), sentence


def walkthrough(spec: str) -> Context:
    """Return the specification, and a function that puts the rules of a step by their level."""

    def by_level(*rule_ids: str) -> dict[str, list[str]]:
        of_level: dict[str, list[str]] = {}
        for rule_id in rule_ids:
            rule = rules()[rule_id]
            if spec in rule.specs:
                of_level.setdefault(_level(rule, spec), []).append(rule_id)
        return of_level

    return {"spec": spec, "family": SPECS[spec].envelope or "asgi", "by_level": by_level}


def _level(rule: Rule, spec: str) -> str:
    if spec in rule.unspecified:
        return UNSPECIFIED
    return rule.level(spec)


def of_role(role: str) -> Context:
    """Return all cases that check a role, each with its script and its edge cases."""
    rows = []
    for case in cases.load():
        if case.role == role:
            rows.append((case, _script(case), edges_of(case.name)))
    if not rows:
        raise ValueError(f"There are no cases for the role {role!r}.")
    return {"cases": rows}


def edges_of(case: str) -> list[str]:
    """Return the names of the edge cases that a case of the suite plays to servers."""
    text = (ROOT / "docs" / "edge-cases.md").read_text(encoding="utf-8")
    return [name for name, cases in EDGE.findall(text) if case in cases.split()]


def by_rule() -> Context:
    """Return the names of the cases that expect each rule, by their role."""
    of_rule: dict[str, dict[str, list[str]]] = {rule_id: {} for rule_id in rules()}
    for case in cases.load():
        for rule_id in {wanted.rule for wanted in case.expect}:
            of_rule[rule_id].setdefault(case.role, []).append(case.name)
    return {"rules": {rule_id: roles for rule_id, roles in of_rule.items() if roles}}


def vocabulary(kind: str, role: str = "") -> Context:
    """Return the words of the format: `keys`, or those of a kind for one role."""
    words: Mapping[str, Any] = getattr(cases.vocabulary(), kind)
    if kind == "keys":
        return {"words": words}
    says = {}
    for word, row in words.items():
        if role in row.roles:
            form = getattr(row, "form", "").upper()  # a phrase has none
            says[f"{word} {form}".rstrip()] = row.says
    return {"words": says}


def _script(case: Case) -> list[str]:
    """Return the lines of a script, and the other keys of the case as its file has them."""
    row = tomllib.loads(data("cases.toml")).get(case.name, {})
    others = [f"{key} = {json.dumps(value)}" for key, value in row.items() if key not in DRAWN]
    if others:
        others.insert(0, "")
    return [*case.lines, *others]


TABLES: dict[str, Callable[..., Context]] = {
    "rules": all_rules,
    "differences": differences,
    "walkthrough": walkthrough,
    "cases": of_role,
    "cases-by-rule": by_rule,
    "vocabulary": vocabulary,
}
