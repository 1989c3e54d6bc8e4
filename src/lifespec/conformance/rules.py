"""The rules: what each specification requires, of which role, and at which level.

`data/rules.toml` has a table for each rule, and `data/rules.zh.po` its sentences in Chinese.  A
sentence contains its level as `{must}`, which is filled by the level of the specification, so a
sentence is written once.
"""

import functools
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from lifespec.catalog import Translate, _, data
from lifespec.validate import SPECS

MAIN = "asgi 2.0"  # the specification whose words the sentences use
NEWEST = {each.partition(" ")[0]: each for each in SPECS}  # of each family
BEHAVIOUR = _("lifespec's behaviour")  # the heading of a box without a level
LEVELS = (_("must"), _("must not"), _("should"), _("should not"), _("may"))  # strongest first
STAGES = {  # the stages of a lifespan in their order, with their titles
    "loop": _("Process and event loop"),
    "scope": _("The call and its scope"),
    "startup": _("Startup"),
    "failed": _("Startup failed"),
    "unsupported": _("Lifespan is not supported"),
    "state": _("Requests and state"),
    "ended": _("The application ends early"),
    "shutdown": _("Shutdown"),
    "events": _("Events in general"),
    "middleware": _("Middleware"),
}


TABLES = ("says", "source", "wording", "ours")  # keys of a rule that become sources and boxes


class Source(NamedTuple):
    """A section that states a rule: the specifications, the level, the section.

    `text` is "core" for a section of the main specification, "asgi" for one of lifespan 2.0
    (ASGI), whose semantics AMGI takes over, and "" for one of the specification itself.
    """

    specs: tuple[str, ...]
    level: str
    section: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """A table of rules.toml; `line` is where it begins.

    `boxes` maps groups of specifications to their sentence: () is the main one, `unspecified` are
    the specifications that do not state the rule, and their sentence says what lifespec does.
    `page` has the boxes.  `hint` names the most frequent cause if the rule is broken, and the fix;
    `hint_middleware` does so for middleware that breaks a rule of others.
    """

    rule_id: str
    role: str
    observable: str
    stage: str
    page: str
    sources: tuple[Source, ...]
    boxes: Mapping[tuple[str, ...], str]
    unspecified: tuple[str, ...] = ()
    line: int = 1
    implies: Sequence[str] = ()
    unseen: str = ""
    hint: str = ""
    hint_middleware: str = ""

    def level(self, spec: str) -> str:
        """Return the strongest level that the rule has in a specification, or ""."""
        found = {source.level for source in self.sources if spec in source.specs}
        return next((level for level in LEVELS if level in found), "")

    def sentence(self, group: tuple[str, ...], translate: Translate = str) -> str:
        """Return the sentence of a box, with its level."""
        level = self.level(group[0]) if group else self.levels[0]
        return _filled(self.boxes[group], level, translate)

    def says(self, spec: str, translate: Translate = str) -> str:
        """Return the sentence for a specification, with the level that the rule has there."""
        group = next((group for group in self.boxes if spec in group), ())
        return _filled(self.boxes[group], self.level(spec), translate)

    @property
    def levels(self) -> tuple[str, ...]:
        """Each level once: that of the main specification first, then the strongest."""
        found = {self.level(spec) for spec in self.specs} - {""}
        first = self.level(MAIN)
        return tuple(sorted(found, key=lambda level: (level != first, LEVELS.index(level))))

    @property
    def specs(self) -> tuple[str, ...]:
        """The specifications that state the rule or for which lifespec has a behaviour."""
        named = {spec for source in self.sources for spec in source.specs} | {*self.unspecified}
        return tuple(spec for spec in SPECS if spec in named)

    @property
    def hints(self) -> Iterator[tuple[str, str, str]]:
        """The hints: a role or "", a heading, and the text."""
        if self.hint:
            yield "", _("Usual cause and fix"), self.hint
        if self.hint_middleware:
            yield "middleware", _("Usual cause and fix in middleware"), self.hint_middleware

    @property
    def address(self) -> str:
        """Where its box is, a path on the site."""
        return f"{self.page}.html#{self.rule_id}"

    def hint_for(self, role: str) -> str:
        """Return the hint for the author of that role, or ""."""
        return (role == "middleware" and self.hint_middleware) or self.hint


def _filled(sentence: str, level: str, translate: Translate) -> str:
    """Translate a sentence, and replace its placeholder by a level."""
    text = translate(sentence)
    word = translate(f"{{{level}}}").strip("{}")
    for each in LEVELS:
        text = text.replace(f"{{{each}}}", word)
    return text


@functools.cache
def rules() -> Mapping[str, Rule]:
    """Return the rules of the package by ID, in the order of the file."""
    return read(data("rules.toml"))


def read(text: str) -> Mapping[str, Rule]:
    """Return the rules of a file by ID."""
    lines = {line: number for number, line in enumerate(text.split("\n"), 1)}
    rows = tomllib.loads(text).items()
    return {rule_id: _rule(rule_id, row, lines[f"[{rule_id}]"]) for rule_id, row in rows}


def _rule(rule_id: str, row: Mapping[str, Any], line: int) -> Rule:
    sources_ = tuple(
        Source(specs_of(each["specs"]), each["level"], each["section"], each.get("text", ""))
        for each in row.get("source", ())
    )
    boxes: dict[tuple[str, ...], str] = {(): row["says"]} if sources_ else {}
    boxes |= {specs_of(each["specs"]): each["says"] for each in row.get("wording", ())}
    unspecified = specs_of(row["ours"]["specs"]) if "ours" in row else ()
    if unspecified:
        boxes[unspecified] = row["ours"]["says"]
    others = {key.replace("-", "_"): row[key] for key in row if key not in TABLES}
    own: dict[str, Any] = {"sources": sources_, "boxes": boxes, "unspecified": unspecified}
    return Rule(rule_id, line=line, **own, **others)


def specs_of(value: str) -> tuple[str, ...]:
    """Return the specifications that a value names: keys, families, "all", or "all but" some."""
    named = value.removeprefix("all but ").split(", ")
    found = [spec for spec in SPECS if {"all", spec, spec.partition(" ")[0]} & {*named}]
    if value.startswith("all but "):
        return tuple(spec for spec in SPECS if spec not in found)
    return tuple(found)
