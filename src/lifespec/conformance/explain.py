"""The rules as a terminal shows them, in the reader's language."""

from collections.abc import Iterator

from lifespec.catalog import WIDTH, Translate, _, columns, translator, wrapped
from lifespec.conformance.rules import BEHAVIOUR, MAIN, Rule
from lifespec.validate import SPECS
from lifespec.words import base, names, site

NONE = "–"


def lines(rule: Rule, language: str, width: int = WIDTH) -> Iterator[str]:
    """Yield what a terminal of so many columns shows of a rule."""
    translate = translator(language)
    first, *more = rule.boxes
    role = [translate(rule.role)] if rule.levels else []
    yield from wrapped(" · ".join([rule.rule_id, *role, heading(rule, first, translate)]), width)
    yield ""
    for group in (first, *more):
        if group != first:
            yield from wrapped(heading(rule, group, translate), width)
        yield from wrapped(rule.sentence(group, translate), width)
        yield ""
    yield from _table(rule, translate, width)
    for _role, head, hint in rule.hints:
        yield ""
        yield from wrapped(translate(head), width)
        yield from wrapped(translate(hint), width)
    if base():
        yield ""
        yield from wrapped(f"{site(language)}{rule.address}", width)


def _table(rule: Rule, translate: Translate, width: int) -> Iterator[str]:
    """Yield a line for each specification: its name, the level and the sections."""
    rows = [
        (names([spec], translate), translate(rule.level(spec)), sources(rule, spec, translate))
        for spec in SPECS
    ]
    widest = [max(columns(row[column]) for row in rows) for column in (0, 1)]
    for name, level, source in rows:
        cells = (name, widest[0]), (level or NONE, widest[1])
        start = "".join(cell + " " * (room - columns(cell) + 2) for cell, room in cells)
        yield from wrapped(start + source, width, " " * columns(start))


def heading(rule: Rule, group: tuple[str, ...], translate: Translate) -> str:
    """Return the heading of a box: its level, or that it is lifespec's behaviour."""
    if not group:
        return " · ".join(map(translate, rule.levels))
    level = rule.level(group[0])
    return f"{translate(level)} · {names(group, translate)}" if level else translate(BEHAVIOUR)


def sources(rule: Rule, spec: str, translate: Translate) -> str:
    """Name the sections of a specification that state a rule, and those of others that do."""
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
