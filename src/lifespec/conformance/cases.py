"""The cases: message sequences as scripts, and what is expected of the role under test.

`data/cases.toml` has a table for each case, and `data/vocabulary.toml` the words of its scripts and
expectations.  A page is drawn from them, for authors of runners in other languages, and
tests/conformance/test_cases.py holds the cases to the format.
"""

import functools
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    tables = tomllib.loads(data("vocabulary.toml"))
    verbs = {word: Verb(**row) for word, row in tables["verbs"].items()}
    meanwhile = {word: Verb(**row) for word, row in tables["meanwhile"].items()}
    phrases = {word: Phrase(**row) for word, row in tables["phrases"].items()}
    return Vocabulary(tables["keys"], verbs, meanwhile, phrases)


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
        if self.type:  # a dict of its own: an application may change what it has received
            return {"type": self.type, **self.keys}
        return self.value


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
    known = {case.name: case for case in load()}
    first, *others = names.split("+")
    case = known[first]
    for other in others:
        script = []
        # they differ in keys only: a script of another length is none that could be varied
        for action, varied in zip(case.script, known[other].script, strict=True):
            script.append(replace(action, keys={**action.keys, **varied.keys}))
        case = replace(case, script=tuple(script))
    return case


def expected(case: Case, spec: str) -> Iterator[Expectation]:
    """Yield what a case expects by a specification, which has these rules."""
    if spec not in case.specs:
        return
    # a case is for several specifications, and not each of them has every rule
    for wanted in case.expect:
        if spec in rules()[wanted.rule].specs:
            yield wanted


def _case(name: str, row: Mapping[str, Any]) -> Case:
    role: Role = row["role"]
    # what the suite does beside the role under test, which has the script
    of_server: Sequence[str] = ()
    of_client: Sequence[str] = ()
    if role == "middleware":
        of_server = row.get("server", SERVER)
    if role == "server":
        of_client = row.get("meanwhile", MEANWHILE)
    unspecified = {}
    for rule_id, specs in row.get("unspecified", {}).items():
        # `true` in the file: no specification has a word about this sequence
        unspecified[rule_id] = tuple(SPECS if specs is True else specs)
    verbs, meanwhile = vocabulary().verbs, vocabulary().meanwhile
    return Case(
        name=name,
        role=role,
        says=row["says"],
        lines=tuple(row["script"]),
        script=_script(row["script"], verbs),
        expect=tuple(_expectations(row["expect"])),
        specs=tuple(row.get("specs", SPECS)),
        unspecified=unspecified,
        slow=row.get("slow", False),
        server=_script(of_server, verbs),
        meanwhile=_script(of_client, meanwhile),
        workers=row.get("workers", 1),
        limit=row.get("limit", False),
    )


def _script(lines: Sequence[str], verbs: Mapping[str, Verb]) -> tuple[Action, ...]:
    return tuple(action(line, verbs) for line in lines)


def _expectations(rows: Mapping[str, str | list[str]]) -> Iterator[Expectation]:
    for rule_id, phrases in rows.items():
        if isinstance(phrases, str):
            phrases = [phrases]  # noqa: PLW2901  one may stand alone
        for text in phrases:
            phrase, _space, rest = text.partition(' "')
            # a text is JSON, whose first quote went with the partition
            argument = json.loads(f'"{rest}') if rest else ""
            yield Expectation(rule_id, phrase, argument)


def action(line: str, verbs: Mapping[str, Verb]) -> Action:
    """Return the action of a script's line; raise ValueError if it is not in the format."""
    verb, _space, rest = line.partition(" ")
    if verb not in verbs:
        raise ValueError(f"{verb!r} is no verb; the verbs are {', '.join(verbs)}")
    form = verbs[verb].form
    # here, since an argument that is missing would fail in the middle of a check otherwise
    if bool(rest) != bool(form) and form not in ("keys", "text"):
        raise ValueError(f"{line!r}: {verb} is followed by {form or 'nothing'}")
    match form:
        case "event":
            return _event_action(verb, rest)
        case "keys":
            return Action(verb, keys=_keys(rest))
        case "seconds":
            return Action(verb, seconds=float(rest))
        case "text":
            return Action(verb, text=json.loads(rest) if rest else "")
        case _:  # a word, or nothing
            return Action(verb, text=rest)


def _event_action(verb: str, rest: str) -> Action:
    # a type has a dot; what begins otherwise is a value that is no event at all
    if re.match(r"[a-z]+\.", rest):
        type_, _space, keys = rest.partition(" ")
        return Action(verb, type_, keys=_keys(keys))
    return Action(verb, value=json.loads(rest))


def _keys(text: str) -> Mapping[str, Any]:
    """Return the mapping of `key=value key=value`, with values in JSON."""
    keys = {}
    decoder = json.JSONDecoder()
    while text:
        key, equals, rest = text.partition("=")
        if not equals or not key.isidentifier():
            raise ValueError(f"{text!r} is no list of key=value, with values in JSON")
        # a value may have spaces in it, so that only the decoder knows where it ends
        keys[key], end = decoder.raw_decode(rest)
        text = rest[end:].lstrip(" ")
    return MappingProxyType(keys)  # the cases are cached: nobody may change what others read


def scope_of(spec: str, keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scope of `call`: that of `spec` with these keys; the value false removes one."""
    scope = lifespan_scope(spec)
    # a specification without an envelope has no versions: what a case says of them is dropped
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
    match action.verb:
        case "send" | "try" | "later" | "give":
            return action.event
        case "state":
            return dict(action.keys)
        case "wait":
            return action.seconds
        case "raise" | "throw":
            return action.text
        case _:
            return None
