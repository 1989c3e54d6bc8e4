"""Tables of the specifications: keys of the scope, events, rules at their levels, what a server does.

The arguments of most tables are specifications, such as "pagi 0.3", that say the same.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lifespec import validate
from lifespec.conformance import cases
from lifespec.conformance.rules import STAGES, Rule, level_lines, names, rules
from lifespec.validate import EVENTS, SPECS
from lifespec_docs.citations import sections_of
from lifespec_docs.words import mark as _

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

__all__ = ["TABLES", "groups"]

Context = dict[str, Any]
ALWAYS, OPTIONAL, UNSPECIFIED = _("always"), _("optional"), _("not specified")
# The rows of the comparison; what has a space is a word of ours, and what has none is a key.
HEADS = (
    "type", _("versions under"), "version", "spec_version", "is_worker", "worker_num", "state",
    "*.failed",
)  # fmt: skip
COMMANDS = {
    "server": "lifespec check server",
    "application": "lifespec check app",
    "middleware": "lifespec check middleware",
}


def keys(*specs: str) -> Context:
    """Return the keys of a scope, each with its values and whether it is always there."""
    rows = [
        ("scope" + "".join(f"[{json.dumps(key)}]" for key in path), values, _presence(path, spec))
        for spec in specs[:1]
        for path, values in _keys(specs).items()
    ]
    return {"rows": rows}


def events(*specs: str) -> Context:
    """Return the events, each with its sender and the other keys."""
    rows = [SPECS[spec] for spec in specs]
    failures, needed = all(row.failures for row in rows), any(row.needs_message for row in rows)
    shown = {name: event for name, event in EVENTS.items() if failures or ".failed" not in name}
    return {"events": shown, "defaults": _defaults, "needed": needed}


def compared() -> Context:
    """Return what each group of specifications has in its scope and as failures."""
    alike = {
        key: spec._replace(title="", versions=dict.fromkeys(spec.versions, ""))
        for key, spec in SPECS.items()
    }
    columns = groups(alike)
    found = [_properties(column) for column in columns]
    heads = [head for head in HEADS if any(head in each for each in found)]
    return {"columns": columns, "names": names, "heads": heads, "found": found}


def levels() -> Context:
    """Return the rules whose level is not the same in all specifications."""
    cells = {
        rule_id: {spec: _level(rule, spec) for spec in SPECS} for rule_id, rule in rules().items()
    }
    columns = groups({spec: [row[spec] for row in cells.values()] for spec in SPECS})
    differing = {rule_id: row for rule_id, row in cells.items() if len({*row.values()}) > 1}
    return {"columns": columns, "names": names, "rows": differing}


def holds(role: str, spec: str, *others: str) -> Context:
    """Return the rules of a specification for one role, by the stages of a lifespan."""
    held = [rule for rule in rules().values() if rule.role == role and rule.level(spec)]
    for rule in held:
        for other in others:
            if (rule.level(other), rule.box(other)) != (rule.level(spec), rule.box(spec)):
                raise ValueError(f"{spec} and {other} differ in the rule {rule.rule_id!r}.")
    stages = {
        title: [rule for rule in held if rule.stage == stage] for stage, title in STAGES.items()
    }
    return {"stages": stages, "spec": spec, "sections": sections_of}


def walkthrough(spec: str) -> Context:
    """Return the specification, and a function that groups the rules of a step by their level."""

    def by_level(*rule_ids: str) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for rule in (rules()[rule_id] for rule_id in rule_ids):
            if spec in rule.specs:
                found.setdefault(rule.level(spec) or UNSPECIFIED, []).append(rule.rule_id)
        return found

    return {"amgi": spec.startswith("amgi"), "old": spec == "asgi 1.0", "by_level": by_level}


def all_rules() -> Context:
    """Return all rules with the commands that check them."""
    roles: dict[str, set[str]] = {}
    for case in cases.load():
        for expected in case.expect:
            roles.setdefault(expected.rule, set()).add(case.role)
    commands = {
        rule_id: [command for role, command in COMMANDS.items() if role in roles.get(rule_id, ())]
        for rule_id in rules()
    }
    return {"rules": rules().values(), "commands": commands, "level_lines": level_lines}


def groups(shown: Mapping[str, object]) -> list[tuple[str, ...]]:
    """Put specifications that show the same into one group, in the order of SPECS."""
    found: list[list[str]] = []
    for spec, what in shown.items():
        group = next((group for group in found if shown[group[0]] == what), None)
        if group is None:
            found.append([spec])
        else:
            group.append(spec)
    return [tuple(group) for group in found]


def _keys(specs: Iterable[str]) -> dict[tuple[str, ...], list[str]]:
    """Return the keys of the scopes of these specifications, with all their values."""
    found: dict[tuple[str, ...], dict[str, None]] = {}
    for spec in specs:
        for worker in (1, 2, None) if SPECS[spec].workers else (None,):
            scope = validate.lifespan_scope(spec, worker=worker)
            for path, value in _flat(scope, SPECS[spec].envelope):
                found.setdefault(path, {})[json.dumps(value)] = None
    return {path: list(values) for path, values in found.items()}


def _flat(scope: Mapping[str, object], envelope: str) -> Iterator[tuple[tuple[str, ...], object]]:
    for key, value in scope.items():
        if key == envelope and isinstance(value, dict):
            yield from (((key, inner), each) for inner, each in value.items())
        else:
            yield (key,), value


def _presence(path: Sequence[str], spec: str) -> str:
    key, row = path[-1], SPECS[spec]
    needed = key == "type" or (key in row.versions and key not in row.optional)
    return ALWAYS if needed else OPTIONAL


def _defaults(event: validate.Event) -> dict[str, str]:
    return {key: json.dumps(default) for key, default in event.defaults.items()}


def _properties(column: tuple[str, ...]) -> dict[str, tuple[list[str], str]]:
    """Return literals, and how a key is present, for each property of a column."""
    row, found = SPECS[column[0]], dict[str, tuple[list[str], str]]()
    if row.envelope:
        found[_("versions under")] = [row.envelope], ""
    for path, values in _keys(column).items():
        found[path[-1]] = values, _presence(path, column[0])
    if row.failures:
        (default,) = EVENTS["lifespan.startup.failed"].defaults.items()
        found["*.failed"] = [default[0], json.dumps(default[1])], "message"
        if row.needs_message:
            found["*.failed"] = [default[0]], ALWAYS
    return found


def _level(rule: Rule, spec: str) -> str:
    return rule.level(spec) or (UNSPECIFIED if spec in rule.unspecified else "")


TABLES: dict[str, Callable[..., Context]] = {
    "keys": keys,
    "events": events,
    "compared": compared,
    "levels": levels,
    "holds": holds,
    "walkthrough": walkthrough,
    "rules": all_rules,
}
