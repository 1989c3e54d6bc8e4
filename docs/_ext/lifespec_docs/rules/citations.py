"""What is said of a rule's sources: which texts have it, at which level, in which section."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape

from lifespec.conformance.rules import MAIN, Rule, Source, address, names
from lifespec.validate import SPECS

Translate = Callable[[str], str]

__all__ = ["as_html", "as_text", "linked", "source_lines", "unspecified"]

LINK = re.compile("\x01(.*?)\x02(.*?)\x03")


def linked(text: str, url: str) -> str:
    """Mark a text as a link, for `as_html`."""
    return f"\x01{url}\x02{text}\x03" if url else text


def as_html(line: str) -> str:
    """Return a line with its links as HTML."""
    return LINK.sub(r'<a class="reference external" href="\1">\2</a>', escape(line))


def as_text(line: str) -> str:
    """Return a line without its links."""
    return LINK.sub(r"\2", line)


def source_lines(rule: Rule, translate: Translate) -> Iterator[str]:
    """Say level by level which sections say so; then which specifications lack the subject."""
    agreed, pair = len({source.level for source in rule.sources}) == 1, translate("%s: %s")
    told = rule.sources
    for level in dict.fromkeys(source.level for source in told):
        line = _sections([source for source in told if source.level == level], translate)
        if not agreed:
            yield pair % (translate(level), line)
        elif set(rule.specs) - set(rule.unspecified) != set(SPECS):
            yield translate("Source: %s") % line
        else:
            yield translate("In all specifications: %s") % line
    absent = [spec for spec in SPECS if spec not in rule.specs]
    if absent:
        yield translate("Not in %s") % names(absent, translate)


def unspecified(rule: Rule, translate: Translate) -> str:
    """Say which specifications do not state a rule."""
    if set(rule.unspecified) == set(SPECS):
        return translate("Not specified by any specification")
    return translate("Not specified by %s") % names(rule.unspecified, translate)


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
    texts = names(source.specs, translate, lambda spec, text: linked(text, links.get(spec, "")))
    if source.text:
        return translate("%s, which follow %s") % (texts, names([MAIN], translate))
    return texts
