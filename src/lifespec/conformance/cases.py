"""The cases: conversations as text, what is to be seen in them.

`cases.toml` has one table for each case, and its format is told by the tables of `language.py`:
KEYS, VERBS, DOINGS, PHRASES.  A page draws it from them, for authors of runners in other languages.
"""

from __future__ import annotations

import functools
import json
import re
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from lifespec.conformance.data_files import DataError, packaged, tables
from lifespec.conformance.language import (
    DOINGS,
    KEYS,
    PHRASES,
    ROLES,
    SERVER,
    USUAL,
    VERBS,
    Role,
    Verb,
)
from lifespec.conformance.rules import rules
from lifespec.conformance.unchecked import Unchecked
from lifespec.validate import SPECS, lifespan_scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

__all__ = [
    "Action",
    "Case",
    "Expectation",
    "Unchecked",
    "action",
    "load",
    "read",
    "scope_of",
]

_IN_ENVELOPE = ("version", "spec_version", "is_worker", "worker_num")
_NONE: Mapping[str, Any] = MappingProxyType({})


_OWN = {"server": ("middleware", SERVER), "meanwhile": ("server", USUAL)}


@dataclass(frozen=True, slots=True)
class Action:
    """One line of a script.

    Of `send` and `offer`, `type` and `keys` make the event, or `value` where that is no mapping
    with a type.  `text` belongs to `raise`, and is the word of `await`.
    """

    verb: str
    type: str = ""
    keys: Mapping[str, Any] = field(default_factory=lambda: _NONE)
    seconds: float = 0.0
    text: str = ""
    value: Any = None

    @property
    def event(self) -> Any:
        """What is sent or offered, made anew."""
        return {"type": self.type, **self.keys} if self.type else self.value


class Expectation(NamedTuple):
    """What is to be seen if a rule is kept: a phrase of PHRASES, and its argument or ""."""

    rule: str
    phrase: str
    argument: str = ""

    @property
    def says(self) -> str:
        """What is to be seen, in words."""
        return f"{PHRASES[self.phrase].says}{': ' * bool(self.argument)}{self.argument}"


@dataclass(frozen=True, slots=True)
class Case:
    """One conversation: what the suite does, and what is expected of who is checked."""

    name: str
    role: Role
    says: str
    script: tuple[Action, ...]
    expect: tuple[Expectation, ...]
    specs: tuple[str, ...] = tuple(SPECS)
    silent: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: _NONE)
    slow: bool = False
    needs: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    server: tuple[Action, ...] = ()
    meanwhile: tuple[Action, ...] = ()
    workers: int = 1

    def silent_on(self, rule_id: str, spec: str) -> bool:
        """Say whether a specification is silent on a rule in just this case."""
        return spec in self.silent.get(rule_id, ())


@functools.cache
def load() -> tuple[Case, ...]:
    """Return the cases of the package."""
    return read(packaged("cases.toml"), "cases.toml")


def read(text: str, file: str) -> tuple[Case, ...]:
    """Return the cases of a file in its order; raise DataError, which has a line for each fault."""
    faults: list[str] = []
    found = [_Reader(where, name, faults).case(row) for where, name, row in tables(text, file)]
    if faults:
        raise DataError("\n".join(faults))
    return tuple(filter(None, found))


def action(line: str, role: Role, verbs: Mapping[str, Verb] = VERBS) -> Action:
    """Return what one line of a script says; raise ValueError where it says nothing known."""
    verb, _, rest = line.partition(" ")
    row = verbs.get(verb)
    if row is None or role not in row.roles:
        known = ", ".join(verb for verb, row in verbs.items() if role in row.roles)
        raise ValueError(f"{verb!r} is no verb where {role}s are checked; verbs are {known}")
    if bool(rest) != bool(row.form) and row.form not in ("keys", "text"):
        raise ValueError(f"{line!r}: {verb} is followed by {row.form or 'nothing'}")
    return _FORMS[row.form](verb, rest)


def scope_of(spec: str, keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scope of a `call`: that of the text, with these keys, without those of false."""
    scope = lifespan_scope(spec)
    envelope = scope.get(SPECS[spec].envelope, {})
    for key, value in keys.items():
        part = envelope if key in _IN_ENVELOPE else scope
        if value is False:
            part.pop(key, None)
        else:
            part[key] = value
    return scope


def _event(verb: str, rest: str) -> Action:
    if re.match(r"[a-z]+\.", rest):
        type_, _, keys = rest.partition(" ")
        return Action(verb, type_, keys=_keys(keys))
    return Action(verb, value=json.loads(rest))


def _keys(text: str) -> Mapping[str, Any]:
    """Read `key=value key=value`, where values are JSON."""
    found, decoder = {}, json.JSONDecoder()
    while text:
        key, equals, rest = text.partition("=")
        if not equals or not key.isidentifier():
            raise ValueError(f"{text!r} is no list of key=value, with values in JSON")
        found[key], end = decoder.raw_decode(rest)
        text = rest[end:].lstrip(" ")
    return MappingProxyType(found)


_FORMS: Mapping[str, Callable[[str, str], Action]] = {
    "": lambda verb, _: Action(verb),
    "event": _event,
    "keys": lambda verb, rest: Action(verb, keys=_keys(rest)),
    "seconds": lambda verb, rest: Action(verb, seconds=float(rest)),
    "text": lambda verb, rest: Action(verb, text=json.loads(rest) if rest else ""),
    "word": lambda verb, rest: Action(verb, text=rest),
}


class _Reader(NamedTuple):
    """Reads one case, and notes what is not in the format."""

    where: str
    name: str
    faults: list[str]

    def case(self, row: Any) -> Case | None:
        before = len(self.faults)
        if not isinstance(row, dict):
            row = {f"{self.name} = …": row}
        self.known("key", row, KEYS)
        for key in ("role", "says", "script", "expect"):
            if key not in row:
                self.refuse(f"the key {key!r} is missing")
        if "role" in row:
            self.known("role", [row["role"]], ROLES)
        if len(self.faults) > before:  # the rest follows from these
            return None
        role = row["role"]
        specs = row.get("specs", tuple(SPECS))
        self.known("spec", specs, SPECS)
        silent = row.get("silent", {})
        silent = {rule_id: tuple(SPECS if of is True else of) for rule_id, of in silent.items()}
        for rule_id, texts in silent.items():
            self.known("expected rule", [rule_id], row["expect"])
            self.known("spec", texts, SPECS)
        return Case(
            self.name,
            role,
            row["says"],
            tuple(self.actions(row["script"], role)),
            tuple(self.expected(row["expect"], role)),
            tuple(specs),
            silent,
            bool(row.get("slow")),
            tuple(row.get("needs", ())),
            tuple(row["script"]),
            tuple(self.actions(self.own(row, "server"), "application")),
            tuple(self.actions(self.own(row, "meanwhile"), role, DOINGS)),
            row.get("workers", 1),
        )

    def own(self, row: Mapping[str, Any], key: str) -> Sequence[str]:
        """Return the lines of a key that cases of one role have, and what is usual there."""
        role, usual = _OWN[key]
        if row["role"] == role:
            return row.get(key, usual)  # type: ignore[no-any-return]
        if key in row:
            self.refuse(f"the key {key!r} is for the role {role!r}")
        return ()

    def actions(
        self, lines: Sequence[str], role: Role, verbs: Mapping[str, Verb] = VERBS
    ) -> Iterator[Action]:
        for line in lines:
            try:
                yield action(line, role, verbs)
            except ValueError as error:
                self.refuse(str(error))

    def expected(self, rows: Mapping[str, str | list[str]], role: Role) -> Iterator[Expectation]:
        self.known("rule", rows, rules())
        for rule_id, phrases in rows.items():
            for text in [phrases] if isinstance(phrases, str) else phrases:
                yield from self.phrase(rule_id, text, role)

    def phrase(self, rule_id: str, text: str, role: Role) -> Iterator[Expectation]:
        phrases = {name: row for name, row in PHRASES.items() if role in row.roles}
        found = re.fullmatch(r'(?P<name>[a-z -]+?)(?: (?P<argument>".*"))?', text)
        name, argument = (found["name"], found["argument"]) if found else (text, None)
        self.known("phrase", [name], phrases)
        if name not in phrases:
            return
        if (argument is not None) != phrases[name].argument:
            wanted = "a text in quotes" if phrases[name].argument else "nothing"
            self.refuse(f"the phrase {name!r} is followed by {wanted}")
        yield Expectation(rule_id, name, json.loads(argument or '""'))

    def known(self, what: str, given: Any, allowed: Any) -> None:
        for each in given:
            if each not in allowed:
                self.refuse(f"there is no {what} {each!r}; there are {', '.join(allowed)}")

    def refuse(self, sentence: str) -> None:
        self.faults.append(f"{self.where}: {self.name}: {sentence}.")
