"""What is said of a rule's sources: which texts have it, at which level, in which section."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from lifespec.validate import SPECS
from lifespec_docs.rules.rulebook import MAIN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lifespec_docs.rules.rulebook import Rule, Source

    Translate = Callable[[str], str]

__all__ = [
    "OURS",
    "address",
    "box_line",
    "by_text",
    "level_line",
    "level_lines",
    "links",
    "names",
    "source_lines",
]

OURS = "lifespec's behaviour"
SECTIONS = Path(__file__).with_name("sections.toml")


def address(spec: str, text: str, section: str) -> str:
    """Return where a section of a specification can be read, "" if sections.toml lacks it."""
    if text == "asgi":
        spec, text = MAIN, ""
    return _addresses().get((spec, text, section), "")


@cache
def _addresses() -> dict[tuple[str, str, str], str]:
    files = tomllib.loads(SECTIONS.read_text(encoding="utf-8"))["file"]
    return {
        (spec, file["text"], section): f"{file['url']}#L{line}"
        for file in files
        for spec in file["specs"]
        for section, line in file["lines"].items()
    }


def links(rule: Rule) -> dict[str, str]:
    """Return the address of each section that a rule cites: that of lifespan 2.0 (ASGI), if any."""
    found: dict[str, str] = {}
    for source in rule.sources:
        spec = MAIN if MAIN in source.specs else source.specs[0]
        if url := address(spec, source.text, source.section):
            found.setdefault(source.section, url)
    return found


def names(specs: Sequence[str], translate: Translate) -> str:
    """Name specifications such as "asgi 2.0" as the pages do: a family once, with its versions."""
    if set(specs) == set(SPECS):
        return translate("all five specifications")
    families: dict[str, list[str]] = {}
    for family, _, version in (spec.partition(" ") for spec in specs):
        families.setdefault(family, []).append(version)
    and_ = translate(" and ")
    return translate(", ").join(
        translate("lifespan %s (ASGI)") % and_.join(versions)
        if family == "asgi"
        else f"{family.upper()} {and_.join(versions)}"
        for family, versions in families.items()
    )


def level_line(rule: Rule, translate: Translate) -> str:
    """Say the level, or the levels if the specifications differ; without one, whose it is."""
    levels = [translate(level) for level in rule.levels] or [translate(OURS)]
    return " · ".join(levels)


def level_lines(rule: Rule, translate: Translate) -> Iterator[str]:
    """Say which specifications have the rule at which level; which have none is the last line."""
    pair = translate("%s: %s")
    for level in rule.levels:
        having = [spec for spec in rule.specs if rule.level(spec) == level]
        yield pair % (translate(level), names(having, translate))
    if rule.silent:
        yield pair % (translate(OURS), names(rule.silent, translate))


def box_line(rule: Rule, group: tuple[str, ...], translate: Translate) -> str:
    """Say the level of a box: that of its group, or of them all."""
    if not group:
        return level_line(rule, translate)
    level = rule.level(group[0])
    return f"{translate(level)} · {names(group, translate)}" if level else translate(OURS)


def source_lines(rule: Rule, translate: Translate) -> Iterator[str]:
    """Say level by level which sections say so; then which specifications have no such rule."""
    agreed, pair = len({source.level for source in rule.sources}) == 1, translate("%s: %s")
    told = rule.sources
    for level in dict.fromkeys(source.level for source in told):
        line = _sections([source for source in told if source.level == level], translate)
        if not agreed:
            yield pair % (translate(level), line)
        elif set(rule.specs) - set(rule.silent) != set(SPECS):
            yield translate("Source: %s") % line
        else:
            yield translate("In all five specifications: %s") % line
    if rule.silent:
        yield translate("Not specified by %s") % names(rule.silent, translate)
    absent = [spec for spec in SPECS if spec not in rule.specs]
    if absent:
        yield translate("Not in %s") % names(absent, translate)


def _sections(sources: Sequence[Source], translate: Translate) -> str:
    """Name texts, and the sections of each."""
    texts: dict[str, list[str]] = {}
    for source in sources:
        texts.setdefault(_text(source, translate), []).append(f"“{source.section}”")
    pair, comma = translate("%s, %s"), translate(", ")
    return translate("; ").join(pair % (text, comma.join(parts)) for text, parts in texts.items())


def _text(source: Source, translate: Translate) -> str:
    if source.text == "core":
        families = dict.fromkeys(each.partition(" ")[0].upper() for each in source.specs)
        return translate("the main specification of %s") % translate(" and ").join(families)
    texts = names(source.specs, translate)
    if source.text:
        return translate("%s, which follow %s") % (texts, names([MAIN], translate))
    return texts


def by_text(rule: Rule, translate: Translate) -> Iterator[tuple[str, str, str]]:
    """Yield for each text its name, its level and its sections; "" where it has no such rule."""
    for spec in SPECS:
        level = rule.level(spec)
        told = [source for source in rule.sources if spec in source.specs]
        parts = _parts(told, level, translate)
        parts = translate("not specified") if spec in rule.silent else parts
        yield names([spec], translate), translate(level) if level else "", parts


def _parts(told: Sequence[Source], level: str, translate: Translate) -> str:
    """Name the sections of one text, and those of others that speak for it."""
    comma, parts = translate(", "), dict[tuple[str, str], list[str]]()
    for source in told:
        parts.setdefault((source.level, source.text), []).append(f"“{source.section}”")
    others = {"core": translate("main specification"), "asgi": names([MAIN], translate)}
    found = []
    for (each, text), sections in parts.items():
        line = comma.join(sections)
        line = translate("%s, %s") % (others[text], line) if text else line
        found.append(translate("%s: %s") % (translate(each), line) if each != level else line)
    return translate("; ").join(found)
