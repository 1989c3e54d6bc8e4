"""The rules: whose they are, what each specification says of them, and how they are worded.

`rules.toml` has one table for each rule, in English; `rules.zh.po` has the same sentences in
Chinese.  Pages, checklists, reports and `lifespec explain` are drawn from these two files.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from lifespec.conformance.data_files import DataError, packaged, tables
from lifespec.conformance.unchecked import Unchecked, unknown
from lifespec.conformance.words import mark as _
from lifespec.validate import SPECS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    Translate = Callable[[str], str]

__all__ = [
    "BEHAVIOUR",
    "LEVELS",
    "MAIN",
    "NEWEST",
    "STAGES",
    "Rule",
    "Source",
    "heading",
    "known_rule",
    "known_spec",
    "level_lines",
    "levelled",
    "messages",
    "names",
    "read",
    "rules",
    "sources",
]

MAIN = "asgi 2.0"  # the specification in whose words a rule is written
NEWEST = {each.partition(" ")[0]: each for each in SPECS}  # of each family
BEHAVIOUR = _("lifespec's behaviour")  # what a box without a level is
LEVELS = {  # the strongest first, with the word that a Chinese sentence has
    _("must"): "必须",
    _("must not"): "不得",
    _("should"): "应",
    _("should not"): "不应",
    _("may"): "可以",
}
ROLES = (_("server"), _("application"), _("middleware"))
# The stages of a lifespan in working order, as the file names them, and their titles.
STAGES = {
    "": "",
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
# Literals, and words that have 应 in them and are no level, come first.
_LEVEL = re.compile(
    r"`[^`]*`|应[用答变急付邀声]|[响对相反适供效回感顺呼照]应|不得[不已]"
    r"|(?P<level>\b(?:must not|must|should not|should|may)\b|必须|不得|不应|应|可以)"
)


class Source(NamedTuple):
    """What some specifications say: their keys, the level, and the section.

    `text` is "core" if the section is one of their main specification, "asgi" if it is one of
    lifespan 2.0 (ASGI), whose semantics they take over, and "" if it is their own.
    """

    specs: tuple[str, ...]
    level: str
    section: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """A row of rules.toml, and the line where it begins.

    `boxes` has the sentences by the specifications that they are for: () is the main one, and
    `unspecified`, the specifications that do not say it, has what lifespec does there.  `page` is
    where the boxes are.  `hint` says what the usual cause is if the rule is broken, and what to do;
    `hint_middleware` says it of middleware that breaks a rule of others.
    """

    rule_id: str
    role: str
    observable: str
    stage: str
    page: str
    sources: tuple[Source, ...]
    boxes: Mapping[tuple[str, ...], str]
    unspecified: tuple[str, ...] = ()
    implies: tuple[str, ...] = ()
    unseen: str = ""
    hint: str = ""
    hint_middleware: str = ""
    line: int = 1

    def box(self, spec: str) -> tuple[str, ...]:
        """Return the group whose box says the rule for a specification."""
        return next((group for group in self.boxes if spec in group), ())

    def level(self, spec: str) -> str:
        """Return the strongest level that the rule has in a specification, "" if it has none."""
        found = {source.level for source in self.sources if spec in source.specs}
        return next((level for level in LEVELS if level in found), "")

    def says(self, spec: str, translate: Translate = _) -> str:
        """Return the sentence for a specification, with the level that the rule has there."""
        group = self.box(spec)
        sentence = translate(self.boxes[group])
        return sentence if group else levelled(sentence, self.level(spec))

    @property
    def levels(self) -> tuple[str, ...]:
        """Each level once: that of the main specification first, then the strongest."""
        found = {self.level(each) for each in self.specs} - {""}
        others = sorted(found, key=[*LEVELS].index)
        return tuple(dict.fromkeys(filter(None, [self.level(MAIN), *others])))

    @property
    def specs(self) -> tuple[str, ...]:
        """The specifications that have the rule, or a behaviour in its place, as SPECS has them."""
        named = {spec for source in self.sources for spec in source.specs} | {*self.unspecified}
        return tuple(each for each in SPECS if each in named)

    @property
    def hints(self) -> Iterator[tuple[str, str, str]]:
        """The hints: a role or "", a heading, and what to do."""
        if self.hint:
            yield "", _("Usual cause and fix"), self.hint
        if self.hint_middleware:
            yield "middleware", _("Usual cause and fix in middleware"), self.hint_middleware

    def hint_for(self, role: str) -> str:
        """Return what the author of that role can do if the rule is broken, or ""."""
        return (role == "middleware" and self.hint_middleware) or self.hint


@functools.cache
def rules() -> Mapping[str, Rule]:
    """Return the rules of the package by ID, in the order of the file.

    Raises DataError as `read` does, and for a specification without rules, as reports would say
    that everything keeps them.
    """
    found = read(packaged("rules.toml"), "rules.toml")
    ruled = {spec for rule in found.values() for spec in rule.specs if rule.level(spec)}
    if found and (bare := [spec for spec in SPECS if spec not in ruled]):
        raise DataError(f"rules.toml:1: no rule has a source in {' or '.join(bare)}: add some.")
    return found


def known_rule(rule_id: str) -> str:
    """Return a rule ID; raise Unchecked if there is none like this."""
    if rule_id not in rules():
        raise unknown("rule", rule_id, rules(), "lifespec cases")
    return rule_id


def known_spec(name: str) -> str:
    """Return the key of SPECS that a name means: itself, or the newest of a family."""
    if name not in {*SPECS, *NEWEST}:
        raise Unchecked(f"there is no specification {name!r}: name {', '.join([*SPECS, *NEWEST])}")
    return NEWEST.get(name, name)


def read(text: str, file: str) -> Mapping[str, Rule]:
    """Return the rules of a file by ID; raise DataError, which has a line for each fault."""
    found: dict[str, Rule] = {}
    faults: list[str] = []
    for where, rule_id, row in tables(text, file):
        try:
            rule = found[rule_id] = _rule(rule_id, row, int(where.rpartition(":")[2]))
            faults += (f"{where}: {rule_id} {fault}." for fault in _faults(rule))
        except (AttributeError, KeyError, TypeError) as error:
            faults.append(f"{where}: {rule_id} lacks {error}.")
        except ValueError as error:
            faults.append(f"{where}: {rule_id} {error}.")
    if faults:
        raise DataError("\n".join(faults))
    return MappingProxyType(found)


def _rule(rule_id: str, row: Mapping[str, Any], line: int) -> Rule:
    sources_ = tuple(
        Source(_specs(each["specs"]), each["level"], each["section"], each.get("text", ""))
        for each in row.get("source", ())
    )
    boxes: dict[tuple[str, ...], str] = {(): row["says"]} if sources_ else {}
    boxes |= {_specs(each["specs"]): each["says"] for each in row.get("wording", ())}
    unspecified: tuple[str, ...] = ()
    if "ours" in row:
        unspecified = _specs(row["ours"]["specs"])
        boxes[unspecified] = row["ours"]["says"]
    return Rule(
        rule_id,
        row["role"],
        row["observable"],
        row["stage"],
        row["page"],
        sources_,
        MappingProxyType(boxes),
        unspecified,
        tuple(row.get("implies", ())),
        row.get("unseen", ""),
        row.get("hint", ""),
        row.get("hint-middleware", ""),
        line,
    )


def _faults(rule: Rule) -> Iterator[str]:
    """Yield what is wrong with a rule that has all of its keys."""
    if rule.stage not in STAGES:
        yield f"has a stage other than {', '.join(filter(None, STAGES))}"
    if rule.role not in ROLES:
        yield f"has a role other than {', '.join(ROLES)}"
    if {source.level for source in rule.sources} - {*LEVELS}:
        yield f"has a level other than {', '.join(LEVELS)}"
        return
    for group, sentence in rule.boxes.items():
        level = rule.level(group[0]) if group else rule.levels[0]
        found = stated_levels(sentence)
        if (level not in found) if level else found:
            wanted = f"the word “{level}”" if level else "no word of a level"
            yield f"needs {wanted} in the sentence “{sentence}”"


def _specs(value: str) -> tuple[str, ...]:
    """Return the keys that a value names: keys and families, "all", or "all but" some."""
    whole, _but, named = value.rpartition("all but ") if value != "all" else ("", "all but ", "")
    found: set[str] = set()
    for name in filter(None, named.split(", ")):
        keys = {spec for spec in SPECS if name in (spec, spec.partition(" ")[0])}
        if whole or not keys:
            raise ValueError(f"names the specification {value!r}, where there is none")
        found |= keys
    return tuple(spec for spec in SPECS if (spec in found) is not bool(_but))


def levelled(sentence: str, level: str) -> str:
    """Put the word of this level in the place of another: a sentence is worded once."""
    stated = stated_levels(sentence)
    if not level or not stated:
        return sentence
    word = level if stated[0] in LEVELS else LEVELS[level]
    if word in stated:
        return sentence
    return _LEVEL.sub(lambda match: word if match["level"] == stated[0] else match[0], sentence)


def stated_levels(sentence: str) -> list[str]:
    """Return the words of levels that a sentence has, in their order."""
    return [match["level"] for match in _LEVEL.finditer(sentence) if match["level"]]


def messages() -> Iterator[tuple[str, int, str]]:
    """Yield what rules.zh.po translates: a sentence, the line of its rule, and whose it is."""
    for rule_id, rule in rules().items():
        yield from ((sentence, rule.line, f"rule {rule_id}") for sentence in rule.boxes.values())
        yield from ((hint, rule.line, "text") for _, _, hint in rule.hints)


def names(
    specs: Sequence[str],
    translate: Translate,
    link: Callable[[str, str], str] = lambda _spec, version: version,
) -> str:
    """Name specifications such as "asgi 2.0" as pages do: a family once, with its versions.

    `link` gets a key and its version, and returns what is shown of it.
    """
    if {*specs} == {*SPECS}:
        return translate(_("all specifications"))
    families: dict[str, list[str]] = {}
    for spec in specs:
        family, _space, version = spec.partition(" ")
        families.setdefault(family, []).append(link(spec, version))
    and_ = translate(_(" and "))
    return translate(_(", ")).join(
        translate(_("lifespan %s (ASGI)")) % and_.join(versions)
        if family == "asgi"
        else f"{family.upper()} {and_.join(versions)}"
        for family, versions in families.items()
    )


def level_lines(rule: Rule, translate: Translate) -> Iterator[str]:
    """Say which specifications have the rule at which level; which have none is the last line."""
    pair = translate(_("%s: %s"))
    for level in rule.levels:
        having = [spec for spec in rule.specs if rule.level(spec) == level]
        yield pair % (translate(level), names(having, translate))
    if rule.unspecified:
        yield pair % (translate(BEHAVIOUR), names(rule.unspecified, translate))


def heading(rule: Rule, group: tuple[str, ...], translate: Translate) -> str:
    """Say the level of a box, or the levels of the main one; without any, whose behaviour it is."""
    if not group:
        return " · ".join(map(translate, rule.levels))
    level = rule.level(group[0])
    return f"{translate(level)} · {names(group, translate)}" if level else translate(BEHAVIOUR)


def sources(rule: Rule, spec: str, translate: Translate) -> str:
    """Name the sections of a specification that say a rule, and those of others that do."""
    if spec in rule.unspecified:
        return translate(_("not specified"))
    parts = dict[tuple[str, str], list[str]]()
    for source in (each for each in rule.sources if spec in each.specs):
        parts.setdefault((source.level, source.text), []).append(f"“{source.section}”")
    others = {"core": translate(_("main specification")), "asgi": names([MAIN], translate)}
    found = []
    for (level, text), sections in parts.items():
        line = translate(_(", ")).join(sections)
        line = translate(_("%s, %s")) % (others[text], line) if text else line
        if level != rule.level(spec):
            line = translate(_("%s: %s")) % (translate(level), line)
        found.append(line)
    return translate(_("; ")).join(found)
