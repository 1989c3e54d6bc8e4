"""What the pages of the specifications draw from our tables: the scope's keys, and the events.

    {keys} pagi 0.3         the keys of its scope, as `lifespec.lifespan_scope` makes them
    {events} pagi 0.3       its events, and their keys
    {compared}              what is in the scope, and which events there are, in each text

Where several specifications are named, with commas, their texts say the same.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import cast

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from lifespec import validate
from lifespec.conformance.rules import names
from lifespec.conformance.words import mark as _
from lifespec.validate import EVENTS, SPECS, Spec
from lifespec_docs.i18n.messages import words
from lifespec_docs.rules.domain import inlines

Translate = Callable[[str], str]
Cell = list[nodes.Node]
Drawn = tuple[str, str, str]

__all__ = ["NONE", "OfSpecs", "code", "grid", "groups", "said", "setup", "table"]

logger = logging.getLogger(__name__)
NONE = "\N{EN DASH}"
# The rows of the comparison; what has a space is a word of ours, what has none a key.
HEADS = (
    "type", _("versions under"), "version", "spec_version", "is_worker", "worker_num", "state",
    "*.failed",
)  # fmt: skip


class OfSpecs(SphinxDirective):
    """A directive whose argument names specifications."""

    required_arguments = 1
    final_argument_whitespace = True
    once = True

    def specs(self) -> tuple[str, ...]:
        """Return the keys of SPECS; what is none, docutils tells with file and line."""
        found = tuple(each.strip() for each in self.arguments[0].split(","))
        for each in found:
            if each not in SPECS:
                raise self.error(f"There is no specification {each!r}, only {', '.join(SPECS)}.")
        if len(set(found)) < len(found):
            raise self.error(f"A specification is named twice: {', '.join(found)}.")
        for each in found if self.once else ():
            self._once(each)
        return found

    def _once(self, spec: str) -> None:
        """Warn of what is drawn twice: one of them is that of another text or role."""
        what = (self.name, spec, self.options.get("role", ""))
        before = drawn(self.env).setdefault(what, self.env.docname)
        here = cast("set[Drawn]", self.env.temp_data.setdefault("lifespec_drawn", set()))
        if before != self.env.docname or what in here:
            text = "{%s} of %s stands on page %r already."
            place = self.get_location()
            logger.warning(text, self.name, " ".join(what[1:]).rstrip(), before, location=place)
        here.add(what)


def drawn(env: BuildEnvironment) -> dict[Drawn, str]:
    """Return what was drawn, by directive, specification and role: on which page."""
    if not hasattr(env, "lifespec_drawn"):
        env.lifespec_drawn = {}  # type: ignore[attr-defined]
    return env.lifespec_drawn  # type: ignore[attr-defined, no-any-return]


def forget(_app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    """Drop what a page drew that is read anew or gone."""
    for what in [what for what, home in drawn(env).items() if home == docname]:
        del drawn(env)[what]


class Keys(OfSpecs):
    """The keys of a scope."""

    def run(self) -> list[nodes.Node]:
        """Return a table with a row for each key."""
        translate = words(self.env)
        specs = self.specs()
        rows = (
            [
                code(_subscript(path)),
                _listed(values, translate),
                said(translate(_presence(path[-1], specs[0]))),
            ]
            for path, values in _keys(specs).items()
        )
        return [
            table([translate(title) for title in (_("Key"), _("Value"), _("In the scope"))], rows)
        ]


class Events(OfSpecs):
    """The events of a specification."""

    def run(self) -> list[nodes.Node]:
        """Return a table with a row for each event."""
        translate = words(self.env)
        rows_of = [SPECS[spec] for spec in self.specs()]
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
        titles = (_("Event"), _("Sent by"), _("Other keys"))
        return [table([translate(title) for title in titles], rows)]


class Compared(SphinxDirective):
    """What is in the scope, and whether there are failures, in each text."""

    def run(self) -> list[nodes.Node]:
        """Return a table with a column for each text, or for those that say the same."""
        translate = words(self.env)
        columns = groups({key: _shape(spec) for key, spec in SPECS.items()})
        facts = [dict(_facts(column, translate)) for column in columns]
        heads = sorted({head for found in facts for head in found}, key=HEADS.index)
        rows = (
            [_head(head, translate), *(found.get(head, said(NONE)) for found in facts)]
            for head in heads
        )
        titles = [translate("Property"), *(names(column, translate) for column in columns)]
        return [table(titles, rows, "compared")]


def groups(shown: Mapping[str, object]) -> list[tuple[str, ...]]:
    """Put specifications that show the same into one group, in the order of the table."""
    found: list[list[str]] = []
    for spec, what in shown.items():
        for group in (group for group in found if shown[group[0]] == what):
            group.append(spec)
            break
        else:
            found.append([spec])
    return [tuple(group) for group in found]


def table(titles: Iterable[str], rows: Iterable[Iterable[Cell]], *classes: str) -> nodes.table:
    """Return a table of no message: its words are translated already."""
    head = _row([*inlines(title)] for title in titles)
    return grid(head, map(_row, rows), [100 // len(head)] * len(head), "drawn", *classes)


def grid(
    head: nodes.row, rows: Iterable[nodes.row], widths: Sequence[int], *classes: str
) -> nodes.table:
    """Return a table of these rows, whose columns are so wide."""
    group = nodes.tgroup(cols=len(widths))
    group += [nodes.colspec(colwidth=width) for width in widths]
    group += [nodes.thead("", head), nodes.tbody("", *rows)]
    return nodes.table("", group, classes=[*classes])


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


def _keys(specs: Iterable[str]) -> dict[tuple[str, ...], list[str]]:
    """Return the keys of the scopes of these specifications, with all their values."""
    found: dict[tuple[str, ...], dict[str, None]] = {}
    for key in specs:
        family, _, version = key.partition(" ")
        for worker in (1, 2, None) if SPECS[key].workers else (None,):
            scope = validate.lifespan_scope(f"{family} {version}", worker=worker)
            for path, value in _flat(scope, SPECS[key].envelope):
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


def _presence(key: str, spec: str) -> str:
    row = SPECS[spec]
    needed = key == "type" or (key in row.versions and key not in row.optional)
    return _("always") if needed else _("optional")


def _shape(spec: Spec) -> Spec:
    """Leave out what versions of one family may differ in."""
    return spec._replace(title="", versions=dict.fromkeys(spec.versions, ""))


def _facts(column: tuple[str, ...], translate: Translate) -> Iterator[tuple[str, Cell]]:
    """Yield what a column of the comparison says in each of its rows."""
    row = SPECS[column[0]]
    if row.envelope:
        yield _("versions under"), code(row.envelope)
    for path, values in _keys(column).items():
        cell = _listed(values, translate)
        presence = _presence(path[-1], column[0])
        yield path[-1], [*cell, *said(translate("; ") + translate(presence))]
    if row.failures:
        defaults = EVENTS["lifespan.startup.failed"].defaults
        yield "*.failed", _defaults(defaults, translate, needed=row.needs_message)


def _head(head: str, translate: Translate) -> Cell:
    return said(translate(head)) if " " in head else code(head)


def setup(app: Sphinx) -> None:
    """Register the directives."""
    app.add_directive("keys", Keys)
    app.add_directive("events", Events)
    app.add_directive("compared", Compared)
    app.connect("env-purge-doc", forget)
