"""The rules as a terminal shows them, in the reader's language."""

from collections.abc import Iterator, Mapping

from lifespec.catalog import WIDTH, Translate, _, columns, translator, wrapped
from lifespec.conformance.rules import BEHAVIOUR, MAIN, Rule, rules
from lifespec.validate import SPECS
from lifespec.words import base, names, site

NONE = "–"
LIST_INDENT = "      "


def rule_lines(rule: Rule, language: str) -> Iterator[str]:
    """Yield what a terminal shows of a rule."""
    translate = translator(language)
    title = [rule.rule_id]
    if rule.levels:  # else no specification states it, and it is nobody's duty
        title.append(translate(rule.role))
    for number, group in enumerate(rule.boxes):
        of_box = heading(rule, group, translate)
        if number == 0:
            title.append(of_box)
            yield from wrapped(" · ".join(title), WIDTH)
            yield ""
        else:
            yield from wrapped(of_box, WIDTH)
        yield from wrapped(rule.sentence(group, translate), WIDTH)
        yield ""
    yield from _table(rule, translate)
    for _role, head, hint in rule.hints:
        yield ""
        yield from wrapped(translate(head), WIDTH)
        yield from wrapped(translate(hint), WIDTH)
    if base():  # a copy that was built without the address of its site knows none
        yield ""
        yield from wrapped(f"{site(language)}{rule.address}", WIDTH)


def index(problems: Mapping[str, str], language: str) -> Iterator[str]:
    """Yield the names that can be explained: problems with their titles, rules with sentences."""
    translate = translator(language)
    sentences = {}
    for name, rule in rules().items():
        # a rule that no specification states has no main box: its first one will do
        sentences[name] = rule.sentence(next(iter(rule.boxes)), translate)
    for head, group in ((_("Problems"), problems), (_("Rules"), sentences)):
        yield translate(head)
        for name, text in group.items():
            yield f"  {name}"
            for line in wrapped(text, WIDTH - len(LIST_INDENT)):
                yield f"{LIST_INDENT}{line}"
        if group is problems:
            yield ""


def _table(rule: Rule, translate: Translate) -> Iterator[str]:
    """Yield a line for each specification: its name, the level and the sections."""
    titles = {spec: names([spec], translate) for spec in SPECS}
    levels = {spec: translate(rule.level(spec)) for spec in SPECS}
    room_of_title = max(map(columns, titles.values())) + 2
    room_of_level = max(map(columns, levels.values())) + 2
    for spec in SPECS:
        title = _padded(titles[spec], room_of_title)
        level = _padded(levels[spec] or NONE, room_of_level)
        start = title + level
        yield from wrapped(start + sources(rule, spec, translate), WIDTH, " " * columns(start))


def _padded(text: str, room: int) -> str:
    """Fill a cell: str.ljust counts characters, and a Chinese one takes two columns."""
    return text + " " * (room - columns(text))


def heading(rule: Rule, group: tuple[str, ...], translate: Translate) -> str:
    """Return the heading of a box: its level, or that it is lifespec's behaviour."""
    if not group:
        return " · ".join(map(translate, rule.levels))
    level = rule.level(group[0])
    if not level:
        return translate(BEHAVIOUR)
    return f"{translate(level)} · {names(group, translate)}"


def sources(rule: Rule, spec: str, translate: Translate) -> str:
    """Name the sections of a specification that state a rule, and those of others that do."""
    if spec in rule.unspecified:
        return translate(_("not specified"))
    sections = dict[tuple[str, str], list[str]]()
    for source in rule.sources:
        if spec in source.specs:
            sections.setdefault((source.level, source.text), []).append(f"“{source.section}”")
    # a section may be another document's, which is named then: AMGI takes over much of ASGI
    titles = {"core": translate(_("main specification")), "asgi": names([MAIN], translate)}
    parts = []
    for (level, text), quoted in sections.items():
        part = translate(_(", ")).join(quoted)
        if text:
            part = translate(_("%s, %s")) % (titles[text], part)
        if level != rule.level(spec):  # else the table has it in a column of its own
            part = translate(_("%s: %s")) % (translate(level), part)
        parts.append(part)
    return translate(_("; ")).join(parts)
