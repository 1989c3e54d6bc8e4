"""Renew the Chinese catalogs, and name each message that waits for a translation.

A message that has changed keeps its Chinese as fuzzy; one that has moved takes its Chinese along.
With --check nothing is written; the status is 1 if a message waits, or is of no use any more.
"""

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

PAGES, PACKAGE = Path("locales/zh_CN/LC_MESSAGES"), Path("src/lifespec/conformance/data")
PYTHON, JINJA = "python", "jinja2.ext:babel_extract"
KEYWORDS = {"_": None, "word": None, "translate": None, "ngettext": (1, 2)}
KEYS = {"says", "title", "hint", "hint-middleware"}  # of data that have words


def in_data(
    file: BinaryIO, *_: object, **_options: object
) -> Iterator[tuple[int, None, str, list[str]]]:
    """Extract the words of a TOML file, as a method of Babel."""
    yield from ((1, None, text, []) for text in _texts(tomllib.load(file), within=False))


def _texts(data: Any, *, within: bool) -> Iterator[str]:
    for key, value in data.items() if isinstance(data, dict) else enumerate(data):
        if isinstance(value, dict | list):
            yield from _texts(value, within=within or key in KEYS)
        elif value and (within or key in KEYS):
            yield str(value)


SOURCES = (  # a catalog, the folder of what it translates, the files there, and how they are read
    (PACKAGE / "rules.zh.po", PACKAGE, [("rules.toml", in_data)]),
    (PACKAGE / "report.zh.po", PACKAGE.parent, [("**.py", PYTHON), ("data/cases.toml", in_data)]),
    (PAGES / "lifespec.po", "docs/_ext", [("**.py", PYTHON), ("**.toml", in_data)]),
    (PAGES / "lifespec.po", "docs/_templates", [("**.md", JINJA), ("**.html", JINJA)]),
)


def templates() -> dict[Path, Catalog]:
    """Return the messages of each catalog: of the pages, then the words that no other has."""
    pages = (path for path in Path("build/gettext").glob("*.pot") if path.stem != "sphinx")
    found = {PAGES / f"{path.stem}.po": read_po(path.open("rb")) for path in sorted(pages)}
    seen: set[object] = set()
    for path, folder, methods in SOURCES:
        catalog = found.setdefault(path, Catalog())
        words = [each[2] for each in extract_from_dir(folder, methods, keywords=KEYWORDS)]
        for word in filter(lambda word: word not in seen, words):
            catalog.add(word)
        seen.update(words)
    return found


def renewed(catalog: Catalog, template: Catalog, known: dict[object, Message]) -> Catalog:
    """Return a catalog with the messages of its template, in their order."""
    before = {message.id: message.previous_id for message in catalog}
    for message in template:
        if message.id and message.id not in catalog and message.id in known:
            catalog[message.id] = known[message.id].clone()
    catalog.update(template, update_creation_date=False)
    for message in catalog:
        message.flags &= {"fuzzy"}
        message.previous_id = message.previous_id or before.get(message.id, [])
    return catalog


def main() -> int:
    """Renew the catalogs, or check them; return the exit status."""
    check = "--check" in sys.argv
    files = [*PAGES.glob("*.po"), *PACKAGE.glob("*.zh.po")]
    old = {path: read_po(path.open("rb"), locale="zh_CN") for path in files}
    known = {each.id: each for catalog in old.values() for each in catalog if each.string}
    waits = 0
    for path, template in templates().items():
        catalog = renewed(old.pop(path, Catalog("zh_CN")), template, known)
        waiting = [each.id for each in catalog if each.id and (each.fuzzy or not each.string)]
        for message in [*waiting, *(f"(gone) {each}" for each in catalog.obsolete)]:
            sys.stdout.write(f"{path}: {message}\n")
        waits += len(waiting) + len(catalog.obsolete)
        if not check:
            with path.open("wb") as file:
                write_po(
                    file, catalog, 0, omit_header=False, ignore_obsolete=True, include_previous=True
                )
    return int(check and waits > 0)


if __name__ == "__main__":
    sys.exit(main())
