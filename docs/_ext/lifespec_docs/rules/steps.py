"""The steps of a server, from start to exit, as steps.toml has them."""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

__all__ = ["Step", "steps"]


class Step(NamedTuple):
    """A step, or what follows one of the answers that the step before it waits for."""

    texts: Mapping[str, str]
    rules: tuple[str, ...]
    answer: bool

    def says(self, spec: str) -> str:
        """Return the text for a specification, "" if it lacks the step."""
        nearest = (spec, spec.partition(" ")[0], "all")
        return next(self.texts[key] for key in nearest if key in self.texts)


@cache
def steps() -> tuple[Step, ...]:
    """Read them, in their order."""
    rows = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["step"]
    return tuple(
        Step(row["says"], tuple(row.get("rules", ())), row.get("answer", False)) for row in rows
    )
