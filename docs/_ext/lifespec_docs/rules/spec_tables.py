"""What the pages of the dialects draw from our tables: the scope's keys, and the events.

    {keys} pagi 0.3         the keys of its scope, as `lifespec.lifespan_scope` makes them
    {events} pagi 0.3       its events, and their keys
    {compared}              what is in the scope, and which events there are, in each text

Where several dialects are named, with commas, their texts say the same.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

from docutils import nodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from lifespec import validate
from lifespec.validate import DIALECTS, EVENTS
from lifespec_docs.i18n.messages import words
from lifespec_docs.rules.citations import names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment
    from sphinx.util.typing import ExtensionMetadata

    from lifespec.validate import Dialect

    Translate = Callable[[str], str]
    Cell = list[nodes.Node]
    Drawn = tuple[str, str, str]  # by which directive, for which dialect and party

__all__ = ["NONE", "OfDialects", "code", "groups", "said", "setup", "table"]

logger = logging.getLogger(__name__)
NONE = "\N{EN DASH}"
# The rows of the comparison; what has a space is a word of ours, what has none a key.
HEADS = (
    "type", "versions under", "version", "spec_version", "is_worker", "worker_num", "state",
    "*.failed",
)  # fmt: skip


class OfDialects(SphinxDirective):
    """A directive whose argument names dialects."""

    required_arguments = 1
    final_argument_whitespace = True

    def dialects(self) -> tuple[str, ...]:
        """Return the keys of DIALECTS; what is none, docutils tells with file and line."""
        found = tuple(each.strip() for each in self.arguments[0].split(","))
        for each in found:
            if each not in DIALECTS:
                raise self.error(f"There is no dialect {each!r}, only {', '.join(DIALECTS)}.")
        if len(set(found)) < len(found):
            raise self.error(f"A dialect is named twice: {', '.join(found)}.")
        for each in found:
            self._once(each)
        return found

    def _once(self, dialect: str) -> None:
        """Warn of what is drawn twice: one of them is that of another text or party."""
        what = (self.name, dialect, self.options.get("party", ""))
        before = drawn(self.env).setdefault(what, self.env.docname)
        here = cast("set[Drawn]", self.env.temp_data.setdefault("lifespec_drawn", set()))
        if before != self.env.docname or what in here:
            text = "{%s} of %s stands on page %r already."
            place = self.get_location()
            logger.warning(text, self.name, " ".join(what[1:]).rstrip(), before, location=place)
        here.add(what)


def drawn(env: BuildEnvironment) -> dict[Drawn, str]:
    """Return what was drawn, by directive, dialect and party: on which page."""
    if not hasattr(env, "lifespec_drawn"):
        env.lifespec_drawn = {}  # type: ignore[attr-defined]
    return env.lifespec_drawn  # type: ignore[attr-defined, no-any-return]


def forget(_app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    """Drop what a page drew that is read anew or gone."""
    for what in [what for what, home in drawn(env).items() if home == docname]:
        del drawn(env)[what]


class Keys(OfDialects):
    """The keys of a scope."""

    def run(self) -> list[nodes.Node]:
        """Return a table with a row for each key."""
        translate = words(self.env)
        dialects = self.dialects()
        rows = (
            [
                code(_subscript(path)),
                _listed(values, translate),
                said(translate(_presence(path[-1], dialects[0]))),
            ]
            for path, values in _keys(dialects).items()
        )
        return [table([translate(title) for title in ("Key", "Value", "In the scope")], rows)]


class Events(OfDialects):
    """The events of a dialect."""

    def run(self) -> list[nodes.Node]:
        """Return a table with a row for each event."""
        translate = words(self.env)
        rows_of = [DIALECTS[dialect] for dialect in self.dialects()]
        failures = all(row.failures for row in rows_of)
        needed = any(row.needs_message for row in rows_of)
        rows = (
            [
                code(type_),
                said(translate(event.sender)),
                _defaults(event.defaults, translate, needed=needed),
            ]
            for type_, event in EVENTS.items()
            if failures or not type_.endswith(".failed")
        )
        titles = ("Event", "Sent by", "Keys beside the type")
        return [table([translate(title) for title in titles], rows)]


class Compared(SphinxDirective):
    """What is in the scope, and whether there are failures, in each text."""

    def run(self) -> list[nodes.Node]:
        """Return a table with a column for each text, or for those that say the same."""
        translate = words(self.env)
        columns = groups({key: _shape(dialect) for key, dialect in DIALECTS.items()})
        facts = [dict(_facts(column, translate)) for column in columns]
        heads = sorted({head for found in facts for head in found}, key=HEADS.index)
        rows = (
            [_head(head, translate), *(found.get(head, said(NONE)) for found in facts)]
            for head in heads
        )
        titles = ["", *(names(column, translate) for column in columns)]
        return [table(titles, rows, "compared")]


def groups(shown: Mapping[str, object]) -> list[tuple[str, ...]]:
    """Put dialects that show the same into one group, in the order of the table."""
    found: list[list[str]] = []
    for dialect, what in shown.items():
        for group in (group for group in found if shown[group[0]] == what):
            group.append(dialect)
            break
        else:
            found.append([dialect])
    return [tuple(group) for group in found]


def table(titles: Iterable[str], rows: Iterable[Iterable[Cell]], *classes: str) -> nodes.table:
    """Return a table of no message: its words are translated already."""
    head = _row(said(title) for title in titles)
    group = nodes.tgroup(cols=len(head))
    group += [nodes.colspec(colwidth=100 // len(head)) for _ in head]
    group += [nodes.thead("", head), nodes.tbody("", *map(_row, rows))]
    return nodes.table("", group, classes=["drawn", *classes])


def _row(cells: Iterable[Cell]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", "", *cell)) for cell in cells))


def code(text: str) -> Cell:
    """Return a cell that is code."""
    return [nodes.literal("", text)]


def said(text: str) -> Cell:
    """Return a cell that is words."""
    return [nodes.Text(text)]


def _listed(values: Iterable[str], translate: Translate) -> Cell:
    parts = [[*said(translate(", ")), *code(value)] for value in values]
    return [node for part in parts for node in part][1:]


def _defaults(defaults: Mapping[str, str], translate: Translate, *, needed: bool) -> Cell:
    """Say which keys there are, each with its default unless it is needed."""
    cell: Cell = []
    for key, default in defaults.items():
        if needed:
            cell += [*code(key), *said(translate("; ") + translate("always"))]
            continue
        before, between, after = translate("%s, by default %s").split("%s")
        cell += [*said(before), *code(key), *said(between), *code(json.dumps(default))]
        cell += said(after)
    return cell or said(NONE)


def _keys(dialects: Iterable[str]) -> dict[tuple[str, ...], list[str]]:
    """Return the keys of the scopes of these dialects, with all values that they have there."""
    found: dict[tuple[str, ...], dict[str, None]] = {}
    for key in dialects:
        family, _, version = key.partition(" ")
        for worker in (1, 2, None) if DIALECTS[key].workers else (None,):
            scope = validate.lifespan_scope(f"{family} {version}", worker=worker)
            for path, value in _flat(scope, DIALECTS[key].envelope):
                found.setdefault(path, {})[json.dumps(value)] = None
    return {path: list(values) for path, values in found.items()}


def _flat(scope: Mapping[str, object], envelope: str) -> Iterator[tuple[tuple[str, ...], object]]:
    for key, value in scope.items():
        if key == envelope and isinstance(value, dict):
            yield from (((key, inner), of) for inner, of in value.items())
        else:
            yield (key,), value


def _subscript(path: Iterable[str]) -> str:
    return "scope" + "".join(f"[{json.dumps(key)}]" for key in path)


def _presence(key: str, dialect: str) -> str:
    row = DIALECTS[dialect]
    needed = key == "type" or (key in row.versions and key not in row.optional)
    return "always" if needed else "optional"


def _shape(dialect: Dialect) -> Dialect:
    """Leave out what versions of one family may differ in."""
    return dialect._replace(title="", versions=dict.fromkeys(dialect.versions, ""))


def _facts(column: tuple[str, ...], translate: Translate) -> Iterator[tuple[str, Cell]]:
    """Yield what a column of the comparison says in each of its rows."""
    row = DIALECTS[column[0]]
    if row.envelope:
        yield "versions under", code(row.envelope)
    for path, values in _keys(column).items():
        cell = _listed(values, translate)
        presence = _presence(path[-1], column[0])
        yield path[-1], [*cell, *said(translate("; ") + translate(presence))]
    if row.failures:
        defaults = EVENTS["lifespan.startup.failed"].defaults
        yield "*.failed", _defaults(defaults, translate, needed=row.needs_message)


def _head(head: str, translate: Translate) -> Cell:
    return said(translate(head)) if " " in head else code(head)


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the directives."""
    app.add_directive("keys", Keys)
    app.add_directive("events", Events)
    app.add_directive("compared", Compared)
    app.connect("env-purge-doc", forget)
    return {"version": "1", "parallel_read_safe": False}
