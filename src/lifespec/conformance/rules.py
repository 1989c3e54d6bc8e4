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
NEWEST = {spec.partition(" ")[0]: spec for spec in SPECS}  # of each family: the last of SPECS
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
TOLD_APART = ("says", "source", "wording", "ours")  # keys of a rule that become sources and boxes


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
        # a specification may state a rule twice, in one section as an advice only
        levels = {source.level for source in self.sources if spec in source.specs}
        for level in LEVELS:
            if level in levels:
                return level
        return ""

    def sentence(self, group: tuple[str, ...], translate: Translate = str) -> str:
        """Return the sentence of a box, with its level."""
        level = self.level(group[0]) if group else self.levels[0]
        return _filled(self.boxes[group], level, translate)

    def says(self, spec: str, translate: Translate = str) -> str:
        """Return the sentence for a specification, with the level that the rule has there."""
        of_spec: tuple[str, ...] = ()
        for group in self.boxes:
            if spec in group:
                of_spec = group
        return _filled(self.boxes[of_spec], self.level(spec), translate)

    @property
    def levels(self) -> tuple[str, ...]:
        """Each level once: that of the main specification first, then the strongest."""
        levels = {self.level(spec) for spec in self.specs}
        first = self.level(MAIN)
        in_order = [first]
        in_order += [level for level in LEVELS if level != first]
        return tuple(level for level in in_order if level and level in levels)

    @property
    def specs(self) -> tuple[str, ...]:
        """The specifications that state the rule or for which lifespec has a behaviour."""
        named = set(self.unspecified)
        for source in self.sources:
            named.update(source.specs)
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
        if role == "middleware" and self.hint_middleware:
            return self.hint_middleware
        return self.hint


def _filled(sentence: str, level: str, translate: Translate) -> str:
    """Translate a sentence, and replace its placeholder by a level."""
    text = translate(sentence)
    word = translate(f"{{{level}}}").strip("{}")
    for written in LEVELS:  # a translation may have the placeholder in another of its forms
        text = text.replace(f"{{{written}}}", word)
    return text


@functools.cache
def rules() -> Mapping[str, Rule]:
    """Return the rules of the package by ID, in the order of the file."""
    return read_rules(data("rules.toml"))


def read_rules(text: str) -> Mapping[str, Rule]:
    """Return the rules of a file by ID."""
    lines = text.split("\n")
    read_rules = {}
    for rule_id, row in tomllib.loads(text).items():
        # tomllib gives no positions, and a link to the file needs the line of a rule
        line = lines.index(f"[{rule_id}]") + 1
        read_rules[rule_id] = _rule(rule_id, row, line)
    return read_rules


def _rule(rule_id: str, row: Mapping[str, Any], line: int) -> Rule:
    sources = []
    for table in row.get("source", ()):
        specs = specs_of(table["specs"])
        sources.append(Source(specs, table["level"], table["section"], table.get("text", "")))
    # the order of the boxes is that of the page
    boxes: dict[tuple[str, ...], str] = {}
    if sources:
        boxes[()] = row["says"]
    for table in row.get("wording", ()):
        boxes[specs_of(table["specs"])] = table["says"]
    unspecified: tuple[str, ...] = ()
    if "ours" in row:
        unspecified = specs_of(row["ours"]["specs"])
        boxes[unspecified] = row["ours"]["says"]
    # the other keys are fields by the same name, so that a misspelt one fails here
    others = {key.replace("-", "_"): row[key] for key in row if key not in TOLD_APART}
    return Rule(
        rule_id,
        line=line,
        sources=tuple(sources),
        boxes=boxes,
        unspecified=unspecified,
        **others,
    )


def specs_of(value: str) -> tuple[str, ...]:
    """Return the specifications that a value names: keys, families, "all", or "all but" some."""
    but = value.startswith("all but ")
    named = value.removeprefix("all but ").split(", ")
    # in the order of SPECS, however the file names them: equal groups are equal keys of `boxes`
    specs = []
    for spec in SPECS:
        family = spec.partition(" ")[0]
        is_named = any(name in named for name in ("all", spec, family))
        if is_named != but:
            specs.append(spec)
    return tuple(specs)
