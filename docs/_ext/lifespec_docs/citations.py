"""The sources of a rule, in Markdown: which specifications state it, and in which section."""

from __future__ import annotations

import functools
import tomllib
from typing import TYPE_CHECKING

from lifespec.conformance.rules import MAIN, Rule, Source, names
from lifespec.conformance.words import data
from lifespec.validate import SPECS
from lifespec_docs.words import mark as _

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Translate = Callable[[str], str]

__all__ = ["address", "link", "source_lines", "unspecified"]


def link(text: str, url: str) -> str:
    """Return a link, or the text alone if there is no address."""
    return f"[{text}]({url})" if url else text


def source_lines(rule: Rule, translate: Translate) -> Iterator[str]:
    """Yield a line for each level with its sections, and one for the specifications without it."""
    pair, levels = translate(_("%s: %s")), dict.fromkeys(source.level for source in rule.sources)
    for level in levels:
        line = _by_section([each for each in rule.sources if each.level == level], translate)
        if len(levels) > 1:
            yield pair % (translate(level), line)
        elif {*rule.specs} - {*rule.unspecified} == {*SPECS}:
            yield translate(_("In all specifications: %s")) % line
        else:
            yield translate(_("Source: %s")) % line
    if absent := [spec for spec in SPECS if spec not in rule.specs]:
        yield translate(_("Not in %s")) % names(absent, translate)


def unspecified(rule: Rule, translate: Translate) -> str:
    """Name the specifications that do not state a rule."""
    if {*rule.unspecified} == {*SPECS}:
        return translate(_("Not specified by any specification"))
    return translate(_("Not specified by %s")) % names(rule.unspecified, translate)


def _by_section(sources: Sequence[Source], translate: Translate) -> str:
    """Name specifications, and the sections of each.

    A section is a link; if its name stands for several texts, each of their versions is one.
    """
    found: dict[str, list[str]] = {}
    for source in sources:
        links = {spec: address(spec, source.text, source.section) for spec in source.specs}
        url = ""
        if len({*links.values()}) == 1:
            links, url = {}, next(iter(links.values()))
        owner = _owner(source, links, translate)
        found.setdefault(owner, []).append(f"“{link(source.section, url)}”")
    pair, comma = translate(_("%s, %s")), translate(_(", "))
    return translate(_("; ")).join(
        pair % (owner, comma.join(each)) for owner, each in found.items()
    )


def _owner(source: Source, links: Mapping[str, str], translate: Translate) -> str:
    """Name the text in which a source stands."""
    if source.text == "core":
        families = {spec.partition(" ")[0].upper(): links.get(spec, "") for spec in source.specs}
        every = translate(_(" and ")).join(link(family, url) for family, url in families.items())
        return translate(_("the main specification of %s")) % every
    texts = names(source.specs, translate, lambda spec, text: link(text, links.get(spec, "")))
    if source.text:
        return translate(_("%s, which follow %s")) % (texts, names([MAIN], translate))
    return texts


def address(spec: str, text: str, section: str) -> str:
    """Return where a section of a specification can be read, or ""."""
    key = (MAIN, "") if text == "asgi" else (spec, text)
    return _addresses().get((*key, section), "")


@functools.cache
def _addresses() -> Mapping[tuple[str, str, str], str]:
    return {
        (spec, file["text"], section): f"{file['url']}#L{line}"
        for file in tomllib.loads(data("sections.toml"))["file"]
        for spec in file["specs"]
        for section, line in file["lines"].items()
    }
