"""Renew the Chinese catalogs, and name each message that waits for a translation.

A message that has changed keeps its Chinese as fuzzy; one that has moved takes its Chinese along;
one that is new has none.
With --check nothing is written; the status is 1 if a message waits or is no longer used.
"""

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

PAGES, PACKAGE = Path("locales/zh_CN/LC_MESSAGES"), Path("src/lifespec/conformance/data")
BY_HAND = PAGES / "sphinx.po"  # written by hand: words of the theme that Sphinx does not translate
KEYS = {"says", "keys", "hint", "hint-middleware", "labels", "sentences"}  # of data that have words
LEVEL = re.compile(r"\{(?:must|should|may)(?: not)?\}")  # a message of its own
# Without the dates that Babel writes, which would conflict whenever two people translate.
HEADER = r"""msgid ""
msgstr ""
"Language: zh_CN\n"
"Plural-Forms: nplurals=1; plural=0;\n"
"MIME-Version: 1.0\n"
"Content-Type: text/plain; charset=UTF-8\n"
"Content-Transfer-Encoding: 8bit\n"

"""


def in_data(
    file: BinaryIO, *_: object, **_options: object
) -> Iterator[tuple[int, None, str, list[str]]]:
    """Extract the words of a TOML file, as a method of Babel."""
    texts = list(_texts(tomllib.load(file), within=False))
    levels = LEVEL.findall(" ".join(texts))
    yield from ((1, None, text, []) for text in dict.fromkeys([*levels, *texts]))


def _texts(data: Any, *, within: bool) -> Iterator[str]:
    pairs = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in pairs:
        has_words = within or key in KEYS
        if isinstance(value, dict | list):
            yield from _texts(value, within=has_words)
        elif value and has_words:
            yield str(value)


# A catalog, and what it translates: a folder, files, how they are read, and what marks a message.
JINJA = "jinja2.ext:babel_extract"
WORDS, LABELS = {"_": None, "ngettext": (1, 2)}, {"word": None}
SOURCES: Any = (
    (PACKAGE / "rules.zh.po", PACKAGE, "rules.toml", in_data, WORDS),
    (PACKAGE / "report.zh.po", PACKAGE, "cases.toml", in_data, WORDS),
    (PACKAGE / "report.zh.po", PACKAGE, "vocabulary.toml", in_data, WORDS),
    (PACKAGE / "report.zh.po", PACKAGE, "sentences.toml", in_data, WORDS),
    (PACKAGE / "report.zh.po", "src/lifespec", "**.py", "python", WORDS),
    (PAGES / "lifespec.po", "docs/_ext", "**.py", "python", WORDS),
    (PAGES / "lifespec.po", "docs/_templates", "**.md", JINJA, WORDS),
    (PAGES / "lifespec.po", "docs/_templates", "**.html", JINJA, LABELS),
)


def read(path: Path) -> Catalog:
    """Read a catalog or a template."""
    with path.open("rb") as file:
        return read_po(file, locale="zh_CN")


def templates() -> dict[Path, Catalog]:
    """Return the messages of each catalog: of the pages, then the words that no other has."""
    of_catalog = {}
    for page in sorted(Path("build/gettext").glob("*.pot")):
        if page.stem != BY_HAND.stem:
            of_catalog[PAGES / f"{page.stem}.po"] = read(page)
    seen: set[object] = set()
    for path, folder, pattern, method, marks in SOURCES:
        words: set[Any] = set()
        for _file, _line, word, *_ in extract_from_dir(folder, [(pattern, method)], keywords=marks):
            words.add(word)
        for word in sorted(words - seen, key=str):
            of_catalog.setdefault(path, Catalog()).add(word)
        seen |= words
    return of_catalog


def _placed(path: Path, messages: Iterable[Any], what: str) -> list[str]:
    """Return what is to be done with messages of a catalog, each with its line if it has one."""
    lines: dict[object, str] = {}
    if path.exists():
        lines = {message.id: f":{message.lineno}" for message in read(path)}
    return [f"{path}{lines.get(message, '')}: {what}: {message}" for message in messages]


def _waiting(catalog: Catalog) -> Iterator[Any]:
    """Yield the messages that wait for a translation."""
    for message in catalog:
        is_empty = not "".join(message.string or "")
        if message.id and (message.fuzzy or is_empty):  # the header has no ID
            yield message.id


def main() -> int:
    """Renew the catalogs, or check them; return the exit status."""
    check = "--check" in sys.argv
    files = [*PAGES.glob("*.po"), *PACKAGE.glob("*.zh.po")]
    old = {path: read(path) for path in files}
    known = {message.id: message for catalog in old.values() for message in catalog}
    faults = []
    for path, template in templates().items():
        catalog = old.pop(path, Catalog("zh_CN"))
        for message in template:
            if message.id in known and message.id not in catalog:
                catalog[message.id] = known[message.id].clone()
        catalog.update(template)
        for message in catalog:
            message.flags &= {"fuzzy"}
            if message.fuzzy and any(previous in template for previous in message.previous_id):
                message.string = ""  # new, and only similar to another one
                message.flags = set()
            message.previous_id = []
        if not check:
            with path.open("wb") as file:
                file.write(HEADER.encode())
                write_po(file, catalog, width=0, omit_header=True, ignore_obsolete=True)
        faults += _placed(path, _waiting(catalog), "translate")
        faults += _placed(path, catalog.obsolete, "is not needed")
    for path in old.keys() - {BY_HAND}:
        faults.append(f"{path}: has no page any more")
        if not check:
            path.unlink()
    sys.stdout.writelines(f"{fault}\n" for fault in faults)
    if check and faults:
        sys.stdout.write("Run make translate, then write what is missing into these files.\n")
    return int(check and bool(faults))


if __name__ == "__main__":
    sys.exit(main())
