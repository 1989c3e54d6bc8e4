"""The table [tool.lifespec] of pyproject.toml: for the command and for the pytest plugin."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any

from lifespec.conformance import explain
from lifespec.conformance.rules import known_rule, known_spec
from lifespec.conformance.unchecked import Unchecked, near

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

__all__ = ["KEYS", "find", "read", "seconds"]

SHORTEST, LONGEST = 0.001, 1e6  # seconds of a timeout, which timers of every system can have
# a line that begins with the name of the table, in a file that cannot be parsed
NAMED = re.compile(rb"""^[\s\[]*(tool[\s.'"]+)?lifespec\b""", re.MULTILINE)


def seconds(text: str | float) -> float:
    """Return a timeout; raise Unchecked for what is none."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not SHORTEST <= number <= LONGEST:
        raise Unchecked(
            f"a timeout is a number of seconds, not {text!r}: give one from {SHORTEST:g} to"
            f" {LONGEST:.0f}"
        )
    return number


def _language(name: str) -> str:
    if name not in explain.FOLDERS:
        known = " or ".join(sorted(explain.FOLDERS))
        raise Unchecked(f"there is no language {name!r}: give {known}")
    return name


# Each key with the types that it may have, what to give, and what becomes of a value.
KEYS: Mapping[str, tuple[tuple[type, ...], str, Callable[[Any], Any]]] = {
    "app": (
        (str, list),
        "a string such as 'shop.main:app', or several in a list",
        lambda value: [value] if isinstance(value, str) else value,
    ),
    "spec": ((str,), "a string such as 'asgi 2.0'", known_spec),
    "strict": ((bool,), "true or false", bool),
    "factory": ((bool,), "true or false", bool),
    "ignore": ((list,), "a list of rule IDs", lambda value: [*map(known_rule, value)]),
    "timeout": ((int, float), "a number of seconds", seconds),
    "language": ((str,), "'en' or 'zh'", _language),
}


def find(folder: Path) -> dict[str, Any]:
    """Return the table of the nearest pyproject.toml that has it, from a folder upwards."""
    for place in (folder, *folder.parents):
        if table := read(place / "pyproject.toml"):
            return table
    return {}


def read(file: Path) -> dict[str, Any]:
    """Return the table of a file, {} if it has none; raise Unchecked for what it may not have.

    A file that cannot be parsed is left to others, unless it has the table.
    """
    try:
        content = file.read_bytes()
    except OSError:
        return {}
    try:
        tool = tomllib.loads(content.decode()).get("tool")
    except (ValueError, RecursionError) as error:
        if NAMED.search(content):
            raise Unchecked(f"{file} is not TOML: {error}") from None
        return {}
    table = tool.get("lifespec", {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        raise Unchecked(
            f"{file}: tool.lifespec is not a table: begin it with [tool.lifespec], once"
        )
    return {key: _setting(file, key, value) for key, value in table.items()}


def _setting(file: Path, key: str, value: Any) -> Any:
    if key not in KEYS:
        meant = near(key, KEYS)
        wanted = f"did you mean {meant[0]}?" if meant else f"its keys are {', '.join(KEYS)}"
        raise Unchecked(f"{file}: [tool.lifespec] has no key {key!r}: {wanted}")
    types, wanted, become = KEYS[key]
    items = value if isinstance(value, list) else ()
    wrong = isinstance(value, bool) and bool not in types
    if wrong or not isinstance(value, types) or not all(isinstance(each, str) for each in items):
        raise Unchecked(f"{file}: [tool.lifespec] {key} = {value!r}: give {wanted}")
    return become(value)
