"""Tables of the cases of the conformance suite, and the words of their format."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING, Any

from lifespec.conformance import cases
from lifespec.conformance.rules import rules
from lifespec.conformance.words import data

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lifespec.conformance.cases import Case

__all__ = ["TABLES"]

Context = dict[str, Any]
DRAWN = "role", "says", "script", "expect"  # the keys that the template shows in a way of their own


def of_role(role: str) -> Context:
    """Return all cases that check a role: what happens, the script, what is expected."""
    phrases = {word: phrase.says for word, phrase in cases.vocabulary().phrases.items()}
    found = [case for case in cases.load() if case.role == role]
    if not found:
        raise ValueError(f"There are no cases for the role {role!r}.")
    return {"cases": [(case, _script(case)) for case in found], "phrases": phrases}


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
    "cases": of_role,
    "cases-by-rule": by_rule,
    "vocabulary": vocabulary,
}
