"""The cases: message sequences as scripts, and what is expected of the role under test.

`data/cases.toml` has a table for each case, and `data/vocabulary.toml` the words of its scripts and
expectations.  A page is drawn from them, for authors of runners in other languages, and
tests/conformance/test_cases.py holds the cases to the format.
"""

import functools
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, get_args

from lifespec.catalog import data
from lifespec.conformance.rules import rules
from lifespec.validate import SPECS, lifespan_scope

Role = Literal["server", "application", "middleware"]
ROLES: tuple[Role, ...] = get_args(Role)
SERVER = (  # what the suite does as the server of middleware, unless a case says otherwise
    'call hello="world"',
    'offer lifespan.startup hello="world"',
    "await startup",
    "request",
    'offer lifespan.shutdown hello="world"',
    "await shutdown",
    "await end",
)
MEANWHILE = ("request /", "stop")  # what it does as client and operator of a server
COURSE = ("start-and-stop", "request-while-running")  # the first lines of a report are about these
ALIKE = ("without-state", "without-spec-version", "extra-keys")  # each varies what is sent
TWICE = "two-loops"  # the case that starts an application a second time
FIRST = {"application": COURSE[0], "middleware": "through-start-and-stop"}  # played alone


class Verb(NamedTuple):
    """A word of the scripts: what it does, what follows it, the roles under test that use it."""

    says: str
    form: str = ""
    roles: tuple[Role, ...] = ("server",)


class Phrase(NamedTuple):
    """An expectation in words, the roles under test, and whether a text in quotes follows."""

    says: str
    roles: tuple[Role, ...]
    argument: bool = False


class Vocabulary(NamedTuple):
    """The words of the cases: their keys, the verbs of both kinds of script, the phrases."""

    keys: Mapping[str, str]
    verbs: Mapping[str, Verb]
    meanwhile: Mapping[str, Verb]
    phrases: Mapping[str, Phrase]


@functools.cache
def vocabulary() -> Vocabulary:
    """Return the words of the cases."""
    rows = tomllib.loads(data("vocabulary.toml"))
    verbs, meanwhile = (
        {word: Verb(**row) for word, row in rows[kind].items()} for kind in ("verbs", "meanwhile")
    )
    phrases = {word: Phrase(**row) for word, row in rows["phrases"].items()}
    return Vocabulary(rows["keys"], verbs, meanwhile, phrases)


@dataclass(frozen=True, slots=True)
class Action:
    """A line of a script: a verb and what follows it.

    `type` and `keys` make the event of `send` or `offer`; `value` stands for one that is no
    mapping with a type.  `text` is the text of `raise`, or the word of `await`.
    """

    verb: str
    type: str = ""
    keys: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    text: str = ""
    value: Any = None

    @property
    def event(self) -> Any:
        """The event or value to send, a new one each time."""
        return {"type": self.type, **self.keys} if self.type else self.value


class Expectation(NamedTuple):
    """What is expected if a rule is kept: a phrase of the vocabulary, and its argument or ""."""

    rule: str
    phrase: str
    argument: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """One message sequence: what the suite does, and what is expected of the role under test.

    `lines` is the script as it is written.  `unspecified` maps rules to the specifications that do
    not specify this case.
    """

    name: str
    role: Role
    says: str
    lines: tuple[str, ...]
    script: tuple[Action, ...]
    expect: tuple[Expectation, ...]
    specs: tuple[str, ...]
    unspecified: Mapping[str, tuple[str, ...]]
    slow: bool
    server: tuple[Action, ...]
    meanwhile: tuple[Action, ...]
    workers: int
    limit: bool

    def leaves_open(self, rule_id: str, spec: str) -> bool:
        """Return whether a specification does not specify a rule in this case."""
        return spec in self.unspecified.get(rule_id, ())


@functools.cache
def load() -> tuple[Case, ...]:
    """Return the cases of the package."""
    return read(data("cases.toml"))


def read(text: str) -> tuple[Case, ...]:
    """Return the cases of a file in its order; raise ValueError for a line of no known verb."""
    return tuple(_case(name, row) for name, row in tomllib.loads(text).items())


def named(names: str) -> Case:
    """Return a case by its name, or one life that varies what each of several varies: "a+b"."""
    first, *others = [case for name in names.split("+") for case in load() if case.name == name]
    for other in others:
        pairs = zip(first.script, other.script, strict=True)
        script = tuple(replace(one, keys={**one.keys, **two.keys}) for one, two in pairs)
        first = replace(first, script=script)
    return first


def expected(case: Case, spec: str) -> Iterator[Expectation]:
    """Yield what a case expects by a specification, which has these rules."""
    if spec in case.specs:
        yield from (each for each in case.expect if spec in rules()[each.rule].specs)


def _case(name: str, row: Mapping[str, Any]) -> Case:
    role: Role = row["role"]
    verbs, meanwhile = vocabulary().verbs, vocabulary().meanwhile
    of_server = row.get("server", SERVER) if role == "middleware" else ()
    of_client = row.get("meanwhile", MEANWHILE) if role == "server" else ()
    unspecified = {
        rule_id: tuple(SPECS if specs is True else specs)
        for rule_id, specs in row.get("unspecified", {}).items()
    }
    return Case(
        name,
        role,
        row["says"],
        tuple(row["script"]),
        tuple(action(line, verbs) for line in row["script"]),
        tuple(_expectations(row["expect"])),
        tuple(row.get("specs", SPECS)),
        unspecified,
        row.get("slow", False),
        tuple(action(line, verbs) for line in of_server),
        tuple(action(line, meanwhile) for line in of_client),
        row.get("workers", 1),
        row.get("limit", False),
    )


def _expectations(rows: Mapping[str, str | list[str]]) -> Iterator[Expectation]:
    for rule_id, phrases in rows.items():
        for text in [phrases] if isinstance(phrases, str) else phrases:
            phrase, _space, argument = text.partition(' "')
            yield Expectation(rule_id, phrase, json.loads(f'"{argument}') if argument else "")


def action(line: str, verbs: Mapping[str, Verb]) -> Action:
    """Return the action of a script's line; raise ValueError if it is not in the format."""
    verb, _space, rest = line.partition(" ")
    if verb not in verbs:
        raise ValueError(f"{verb!r} is no verb; the verbs are {', '.join(verbs)}")
    form = verbs[verb].form
    if bool(rest) != bool(form) and form not in ("keys", "text"):
        raise ValueError(f"{line!r}: {verb} is followed by {form or 'nothing'}")
    return _FORMS[form](verb, rest)


def _event(verb: str, rest: str) -> Action:
    if re.match(r"[a-z]+\.", rest):
        type_, _space, keys = rest.partition(" ")
        return Action(verb, type_, keys=_keys(keys))
    return Action(verb, value=json.loads(rest))


def _keys(text: str) -> Mapping[str, Any]:
    """Return the mapping of `key=value key=value`, with values in JSON."""
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


def scope_of(spec: str, keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scope of `call`: that of `spec` with these keys; the value false removes one."""
    scope = lifespan_scope(spec)
    versions = scope.get(SPECS[spec].envelope, {})
    for key, value in keys.items():
        part = versions if key in ("version", "spec_version") else scope
        if value is False:
            part.pop(key, None)
        else:
            part[key] = value
    return scope


def steps(script: Iterable[Action]) -> list[Any]:
    """Return a script as the probe plays it: verbs with their arguments."""
    return [[action.verb, _argument(action)] for action in script]


def _argument(action: Action) -> Any:
    of = dict.fromkeys(("send", "try", "later", "give"), action.event) | {"raise": action.text}
    of |= {"state": dict(action.keys), "wait": action.seconds, "throw": action.text}
    return of.get(action.verb)
