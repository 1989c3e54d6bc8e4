"""A Chinese text that changes while its English does not waits until somebody has looked at both.

`docs/translated.json` has the hash of each Chinese text of a catalog, by that of its English, so a
new English text is free: `make translate` adds its translation.  `make approve` shows one that
changed alone, and asks.  Rules and statements with evidence are approved as a whole, see `approval`
and `proofs`, and are left out here.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, NamedTuple

import polib

from lifespec.conformance.rules import RuleError
from lifespec_docs.facts import proofs
from lifespec_docs.i18n import catalogs

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

__all__ = ["TRANSLATED", "Text", "approve", "faults", "place_of", "renew", "texts", "waiting"]

TRANSLATED = "docs/translated.json"
Known = dict[str, dict[str, str]]


class Text(NamedTuple):
    """An entry of the catalog of a page."""

    page: str
    line: int
    english: str
    chinese: str


def place_of(text: Text) -> str:
    """Return file and line of the entry."""
    return f"{proofs.CATALOGS}/{text.page}.po:{text.line}"


def texts(root: Path) -> Iterator[Text]:
    """Yield the translations that nothing else approves."""
    held = {(each.page, message) for each in proofs.proofs(root) for message in each.messages}
    for path in sorted((root / proofs.CATALOGS).glob("*.po")):
        for entry in polib.pofile(str(path)):
            same = " ".join(entry.msgid.split())
            rule = entry.comment.startswith("rule ")
            if catalogs.is_kept(entry) and not rule and (path.stem, same) not in held:
                yield Text(path.stem, entry.linenum or 1, entry.msgid, entry.msgstr)


def _read(root: Path) -> Known:
    path = root / TRANSLATED
    found: Known = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return found


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _is_known(text: Text, known: Known) -> bool:
    return known.get(text.page, {}).get(_hash(text.english)) == _hash(text.chinese)


def _is_new(text: Text, known: Known) -> bool:
    return _hash(text.english) not in known.get(text.page, {})


def waiting(root: Path) -> list[Text]:
    """Return what changed in Chinese alone."""
    known = _read(root)
    return [each for each in texts(root) if not (_is_known(each, known) or _is_new(each, known))]


def faults(root: Path) -> Iterator[str]:
    """Yield a line for each of them, and for each page that has a translation without a hash."""
    known, new = _read(root), set[str]()
    try:
        found = list(texts(root)) if known else []
    except RuleError:  # the build of the pages says where
        return
    for each in found:
        if _is_new(each, known):
            new.add(each.page)
        elif not _is_known(each, known):
            yield f"{place_of(each)}: the Chinese changed alone: `make approve` shows it, and asks."
    for page in sorted(new):
        file = f"{proofs.CATALOGS}/{page}.po"
        yield f"{file}: a translation is not in {TRANSLATED} yet: run `make translate`."


def renew(root: Path) -> None:
    """Add each translation of a new English text, and forget those that are gone."""
    _write(root, set(waiting(root)))


def approve(root: Path, seen: Collection[Text]) -> None:
    """Write down that these are approved as they are."""
    _write(root, set(waiting(root)).difference(seen))


def _write(root: Path, kept: Collection[Text]) -> None:
    """Write the hashes of what there is, but those that were there of what is kept waiting."""
    known, rows = _read(root), Known()
    for each in texts(root):
        english = _hash(each.english)
        before = known[each.page][english] if each in kept else _hash(each.chinese)
        rows.setdefault(each.page, {})[english] = before
    text = json.dumps(rows, indent=0)
    (root / TRANSLATED).write_text(f"{text}\n", encoding="utf-8")
