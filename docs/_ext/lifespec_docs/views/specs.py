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
    rows = {}
    for path, values in _keys(specs).items():
        written = "scope" + "".join(f"[{json.dumps(key)}]" for key in path)
        rows[written] = Property(values, _presence(path, specs[0]))
    return {"rows": rows}


def events(*specs: str) -> Context:
    """Return the events, each with its other keys and their defaults, if any."""
    has_failures = all(SPECS[spec].failures for spec in specs)
    needs_message = any(SPECS[spec].needs_message for spec in specs)
    rows = []
    for event in EVENTS.values():
        if event.type.endswith(".failed") and not has_failures:
            continue
        defaults = {key: json.dumps(default) for key, default in event.defaults.items()}
        if needs_message:
            defaults = dict.fromkeys(defaults, "")
        rows.append((event, defaults))
    return {"events": rows}


def compared() -> Context:
    """Return what each group of specifications has in its scope and as failures."""
    shapes = {}  # titles and versions differ always
    for key, spec in SPECS.items():
        shapes[key] = spec._replace(title="", versions=dict.fromkeys(spec.versions, ""))
    columns = {column: _properties(column) for column in groups(shapes)}
    heads = [head for head in HEADS if any(head in column for column in columns.values())]
    return {"columns": columns, "names": names, "heads": heads}


def groups(properties: Mapping[str, object]) -> list[tuple[str, ...]]:
    """Put specifications with equal properties into one group, in the order of SPECS."""
    equal = []
    for own in properties.values():
        group = tuple(spec for spec in properties if properties[spec] == own)
        if group not in equal:
            equal.append(group)
    return equal


def _keys(specs: Iterable[str]) -> dict[tuple[str, ...], list[str]]:
    """Return the keys of the scopes of these specifications, with all their values."""
    values: dict[tuple[str, ...], list[str]] = {}
    for spec in specs:
        for worker in (1, 2, None) if SPECS[spec].workers else (None,):
            scope = validate.lifespan_scope(spec, worker=worker)
            for path, value in _flat(scope, SPECS[spec].envelope):
                of_path = values.setdefault(path, [])
                if json.dumps(value) not in of_path:
                    of_path.append(json.dumps(value))
    return values


def _flat(scope: Mapping[str, object], envelope: str) -> Iterator[tuple[tuple[str, ...], object]]:
    for key, value in scope.items():
        if key == envelope and isinstance(value, dict):
            for inner, version in value.items():
                yield (key, inner), version
        else:
            yield (key,), value


def _presence(path: Sequence[str], spec: str) -> str:
    key, row = path[-1], SPECS[spec]
    if key == "type":
        return ALWAYS
    return ALWAYS if key in row.versions and key not in row.optional else OPTIONAL


def _properties(column: tuple[str, ...]) -> dict[str, Property]:
    """Return what a column says of each property that its specifications have."""
    row = SPECS[column[0]]
    properties: dict[str, Property] = {}
    if row.envelope:
        properties[_("versions under")] = Property([row.envelope])
    for path, values in _keys(column).items():
        properties[path[-1]] = Property(values, _presence(path, column[0]))
    if row.failures:
        ((key, default),) = EVENTS["lifespan.startup.failed"].defaults.items()
        if row.needs_message:
            properties["*.failed"] = Property([key], ALWAYS)
        else:
            properties["*.failed"] = Property([key], "", json.dumps(default))
    return properties


TABLES: dict[str, Callable[..., Context]] = {"keys": keys, "events": events, "compared": compared}
