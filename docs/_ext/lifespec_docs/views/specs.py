"""Tables of the specifications: the keys of the scope, the events, and a comparison.

The arguments are specifications with equal tables, such as "amgi 1.0" and "amgi 2.0".
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from lifespec import validate
from lifespec.validate import EVENTS, SPECS
from lifespec.words import names
from lifespec_docs.words import mark as _

Context = dict[str, Any]
ALWAYS, OPTIONAL = _("always"), _("optional")
# The rows of the comparison: keys, and words to translate, which have a space.
HEADS = (
    "type", _("versions under"), "version", "spec_version", "is_worker", "worker_num", "state",
    "*.failed",
)  # fmt: skip


class Property(NamedTuple):
    """What specifications say of a property: literals, whether it is there, and a default."""

    values: Sequence[str]
    presence: str = ""
    default: str = ""


def keys(*specs: str) -> Context:
    """Return the keys of a scope, each with its values and whether it is always there."""
    rows = {
        "scope" + "".join(f"[{json.dumps(key)}]" for key in path): Property(
            values, _presence(path, specs[0])
        )
        for path, values in _keys(specs).items()
    }
    return {"rows": rows}


def events(*specs: str) -> Context:
    """Return the events, each with its other keys and their defaults, if any."""
    rows = [SPECS[spec] for spec in specs]
    failures, needed = all(row.failures for row in rows), any(row.needs_message for row in rows)
    return {
        "events": [
            (event, {key: "" if needed else default for key, default in _defaults(event)})
            for event in EVENTS.values()
            if failures or not event.type.endswith(".failed")
        ]
    }


def compared() -> Context:
    """Return what each group of specifications has in its scope and as failures."""
    shapes = {
        key: spec._replace(title="", versions=dict.fromkeys(spec.versions, ""))
        for key, spec in SPECS.items()
    }
    columns = {column: _properties(column) for column in groups(shapes)}
    heads = [head for head in HEADS if any(head in found for found in columns.values())]
    return {"columns": columns, "names": names, "heads": heads}


def groups(properties: Mapping[str, object]) -> list[tuple[str, ...]]:
    """Put specifications with equal properties into one group, in the order of SPECS."""
    equal = (
        tuple(spec for spec in properties if properties[spec] == own) for own in properties.values()
    )
    return [*dict.fromkeys(equal)]


def _keys(specs: Iterable[str]) -> dict[tuple[str, ...], list[str]]:
    """Return the keys of the scopes of these specifications, with all their values."""
    found: dict[tuple[str, ...], dict[str, None]] = {}
    for spec in specs:
        for worker in (1, 2, None) if SPECS[spec].workers else (None,):
            scope = validate.lifespan_scope(spec, worker=worker)
            for path, value in _flat(scope, SPECS[spec].envelope):
                found.setdefault(path, {})[json.dumps(value)] = None
    return {path: list(values) for path, values in found.items()}


def _flat(scope: Mapping[str, object], envelope: str) -> Iterator[tuple[tuple[str, ...], object]]:
    for key, value in scope.items():
        if key == envelope and isinstance(value, dict):
            yield from (((key, inner), each) for inner, each in value.items())
        else:
            yield (key,), value


def _presence(path: Sequence[str], spec: str) -> str:
    key, row = path[-1], SPECS[spec]
    needed = key == "type" or (key in row.versions and key not in row.optional)
    return ALWAYS if needed else OPTIONAL


def _defaults(event: validate.Event) -> Iterator[tuple[str, str]]:
    return ((key, json.dumps(default)) for key, default in event.defaults.items())


def _properties(column: tuple[str, ...]) -> dict[str, Property]:
    """Return what a column says of each property that its specifications have."""
    row, found = SPECS[column[0]], dict[str, Property]()
    if row.envelope:
        found[_("versions under")] = Property([row.envelope])
    for path, values in _keys(column).items():
        found[path[-1]] = Property(values, _presence(path, column[0]))
    if row.failures:
        ((key, default),) = _defaults(EVENTS["lifespan.startup.failed"])
        needed = row.needs_message
        found["*.failed"] = Property([key], ALWAYS) if needed else Property([key], "", default)
    return found


TABLES: dict[str, Callable[..., Context]] = {"keys": keys, "events": events, "compared": compared}
