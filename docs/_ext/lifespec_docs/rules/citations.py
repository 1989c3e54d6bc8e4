"""What is said of a rule's sources: which texts have it, at which level, in which section."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from html import escape
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from lifespec.validate import SPECS
from lifespec_docs.rules.rulebook import MAIN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from lifespec_docs.rules.rulebook import Rule, Source

    Translate = Callable[[str], str]

__all__ = [
    "OURS",
    "address",
    "as_html",
    "as_text",
    "box_line",
    "by_text",
    "level_line",
    "level_lines",
    "linked",
    "names",
    "source_lines",
    "unspecified",
]

OURS = "lifespec's behaviour"
LINK = re.compile("\x01(.*?)\x02(.*?)\x03")
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


def names(
    specs: Sequence[str], translate: Translate, links: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Name specifications such as "asgi 2.0" as the pages do: a family once, with its versions.

    A version whose specification is in `links` is a link there.
    """
    if set(specs) == set(SPECS):
        return translate("all five specifications")
    families: dict[str, list[str]] = {}
    for spec in specs:
        family, _, version = spec.partition(" ")
        families.setdefault(family, []).append(linked(version, links.get(spec, "")))
    and_ = translate(" and ")
    return translate(", ").join(
        translate("lifespan %s (ASGI)") % and_.join(versions)
        if family == "asgi"
        else f"{family.upper()} {and_.join(versions)}"
        for family, versions in families.items()
    )


def linked(text: str, url: str) -> str:
    """Mark a text as a link, for `as_html`."""
    return f"\x01{url}\x02{text}\x03" if url else text


def as_html(line: str) -> str:
    """Return a line with its links as HTML."""
    return LINK.sub(r'<a class="reference external" href="\1">\2</a>', escape(line))


def as_text(line: str) -> str:
    """Return a line without its links."""
    return LINK.sub(r"\2", line)


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
    """Say level by level which sections say so; then which specifications lack the subject."""
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
    absent = [spec for spec in SPECS if spec not in rule.specs]
    if absent:
        yield translate("Not in %s") % names(absent, translate)


def unspecified(rule: Rule, translate: Translate) -> str:
    """Say which specifications do not state a rule."""
    if set(rule.silent) == set(SPECS):
        return translate("Not specified by any of the five specifications")
    return translate("Not specified by %s") % names(rule.silent, translate)


def _sections(sources: Sequence[Source], translate: Translate) -> str:
    """Name specifications, and the sections of each.

    A section is a link; if several specifications have one of this name, each of their versions is.
    """
    texts: dict[str, list[str]] = {}
    for source in sources:
        links = {spec: address(spec, source.text, source.section) for spec in source.specs}
        url = ""
        if len({*links.values()}) == 1:
            links, url = {}, next(iter(links.values()))
        section = f"“{linked(source.section, url)}”"
        texts.setdefault(_text(source, links, translate), []).append(section)
    pair, comma = translate("%s, %s"), translate(", ")
    return translate("; ").join(pair % (text, comma.join(parts)) for text, parts in texts.items())


def _text(source: Source, links: Mapping[str, str], translate: Translate) -> str:
    if source.text == "core":
        families = {spec.partition(" ")[0].upper(): links.get(spec, "") for spec in source.specs}
        all_ = translate(" and ").join(linked(family, url) for family, url in families.items())
        return translate("the main specification of %s") % all_
    texts = names(source.specs, translate, links)
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
