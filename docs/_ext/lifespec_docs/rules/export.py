"""The rules as the pages of one language word them: what `lifespec explain` shows.

They are read from the doctrees of a build, translations in place, and stand as JSON in the package.
"""

from __future__ import annotations

import json
import pickle
from typing import TYPE_CHECKING

from docutils import nodes

from lifespec_docs.rules.domain import rule_node, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    Explanation = dict[str, object]

__all__ = ["as_json", "explained"]


def explained(
    doctrees: Path, order: list[str], hints: Mapping[str, list[tuple[str, str, str]]]
) -> dict[str, Explanation]:
    """Return the rules of the pages by ID, in this order, with their hints."""
    found = dict(_rules(doctrees))
    return {
        rule_id: found[rule_id] | {"hints": [list(hint) for hint in hints.get(rule_id, ())]}
        for rule_id in order
        if rule_id in found
    }


def as_json(found: Mapping[str, Explanation | str]) -> str:
    """Return a file of what was found, which a reader can compare with the one before."""
    return json.dumps(found, ensure_ascii=False, indent=1) + "\n"


def _rules(doctrees: Path) -> Iterator[tuple[str, Explanation]]:
    for path in doctrees.rglob("*.doctree"):
        page = pickle.loads(path.read_bytes())  # noqa: S301 - our own build's
        title = " ".join(text_of(node) for node in list(page.findall(nodes.title))[:1])
        file = path.relative_to(doctrees).with_suffix(".html").as_posix()
        boxes = list(page.findall(rule_node))
        for rule in (box for box in boxes if box["rule_id"] in box["ids"]):
            role, level = rule["head"]
            more = [box for box in boxes if box["rule_id"] == rule["rule_id"] and box is not rule]
            yield (
                rule["rule_id"],
                {
                    "role": role,
                    "level": level,
                    "text": _body(rule),
                    "more": [[box["head"][1], list(box["group"]), _body(box)] for box in more],
                    "texts": [list(text) for text in rule["texts"]],
                    "page": title,
                    "address": f"{file}#{rule['rule_id']}",
                },
            )


def _body(box: rule_node) -> str:
    return "\n".join(text_of(node) for node in box.findall(nodes.paragraph))
