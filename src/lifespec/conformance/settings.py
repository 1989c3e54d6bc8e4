"""The table [tool.lifespec] of pyproject.toml: for the command and for the pytest plugin."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

from lifespec.conformance.texts import Unchecked, near

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["KEYS", "find", "read"]

# Each key with the types that it may have, and what to give.
KEYS: Mapping[str, tuple[tuple[type, ...], str]] = {
    "app": ((str, list), "a string such as 'shop.main:app', or several in a list"),
    "spec": ((str,), "a string such as 'asgi 2.0'"),
    "strict": ((bool,), "true or false"),
    "factory": ((bool,), "true or false"),
    "ignore": ((list,), "a list of rule IDs"),
    "timeout": ((int, float), "a number of seconds"),
    "language": ((str,), "'en' or 'zh'"),
}


def find(folder: Path) -> dict[str, Any]:
    """Return the table of the nearest pyproject.toml that has it, from a folder upwards."""
    for place in (folder, *folder.parents):
        if table := read(place / "pyproject.toml"):
            return table
    return {}


def read(file: Path) -> dict[str, Any]:
    """Return the table of a file, {} if it has none; raise Unchecked for what it may not have.

    `app` is a list in it.
    """
    try:
        text = file.read_text("utf-8")
    except OSError:
        return {}
    if "tool.lifespec" not in text:
        return {}
    try:
        table: dict[str, Any] = tomllib.loads(text).get("tool", {}).get("lifespec", {})
    except tomllib.TOMLDecodeError as error:
        raise Unchecked(f"{file} is not TOML: {error}") from None
    for key, value in table.items():
        _check(file, key, value)
    if isinstance(table.get("app"), str):
        table["app"] = [table["app"]]
    return table


def _check(file: Path, key: str, value: Any) -> None:
    if key not in KEYS:
        meant = near(key, KEYS)
        wanted = f"did you mean {meant[0]}?" if meant else f"its keys are {', '.join(KEYS)}"
        raise Unchecked(f"{file}: [tool.lifespec] has no key {key!r}: {wanted}")
    types, wanted = KEYS[key]
    items = value if isinstance(value, list) else ()
    wrong = isinstance(value, bool) and bool not in types
    if wrong or not isinstance(value, types) or not all(isinstance(each, str) for each in items):
        raise Unchecked(f"{file}: [tool.lifespec] {key} = {value!r}: give {wanted}")
