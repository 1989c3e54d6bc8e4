"""Renews the Chinese catalogs from the English pages, or checks what there is.

Without an option it says what is new and what is gone, with one what is wrong: file, line, why.
An entry without a translation waits for one; only --release calls that wrong.
Exit status: 0 all is well; 1 something is wrong; 2 the input cannot be read.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import polib
from sphinx.errors import SphinxError

from lifespec_docs.i18n import catalogs, extraction
from lifespec_docs.i18n.catalogs import CatalogError, Fault, Template
from lifespec_docs.i18n.extraction import PACKAGE, Templates
from lifespec_docs.lint import translations

__all__ = ["faults", "main", "pages_of", "renew", "waiting"]

ROOT = Path(__file__).resolve().parents[3]
CATALOGS = "locales/zh_CN/LC_MESSAGES"
DATA = "src/lifespec/conformance/data"
CHROME = "sphinx"  # the theme's own words: kept by hand, so only its duties are checked


def faults(root: Path, pages: Templates) -> list[Fault]:
    """Return everything that is wrong with the catalogs of a project."""
    return sorted({*_page_faults(root, pages), *_other_faults(root, pages)})


def _page_faults(root: Path, pages: Templates) -> Iterator[Fault]:
    for domain, template in pages.by_catalog.items():
        name = _name(domain)
        if not (root / name).exists():
            yield Fault(template.file, 1, f"{name} is missing: run `make translate`.")
            continue
        try:
            catalog = catalogs.read(root / name, name)
        except CatalogError as error:
            yield error.fault
            continue
        found = [*catalogs.duties(catalog, name), *catalogs.differences(catalog, template, name)]
        yield from found or _form_faults(root, name, template, catalog)
        for pair in translations.pairs(catalog, template, name):
            yield from translations.faults(pair, pages.extensions)


def waiting(root: Path) -> list[Fault]:
    """Return the entries that wait for a translation."""
    names = map(_name, _domains(root))
    return [
        fault
        for name in names
        for fault in catalogs.waiting(catalogs.read(root / name, name), name)
    ]


def _form_faults(
    root: Path, name: str, template: Template, catalog: polib.POFile
) -> Iterator[Fault]:
    known = {entry.msgid: entry for entry in catalog}
    if line := catalogs.form((root / name).read_text(encoding="utf-8"), template, known):
        yield Fault(name, line, "this line is not as `make translate` writes it: run it.")


def _other_faults(root: Path, pages: Templates) -> Iterator[Fault]:
    """Yield the faults of the catalogs that belong to no page."""
    for domain in _domains(root):
        name = _name(domain)
        if domain == CHROME:
            try:
                yield from catalogs.duties(catalogs.read(root / name, name), name)
            except CatalogError as error:
                yield error.fault
        elif domain not in pages.by_catalog:
            yield Fault(name, 1, "this catalog has no page: run `make translate`.")


def _domains(root: Path) -> list[str]:
    folder = root / CATALOGS
    pages = (p.relative_to(folder).with_suffix("").as_posix() for p in folder.rglob("*.po"))
    own = (PACKAGE + p.name.removesuffix(".zh.po") for p in (root / DATA).glob("*.zh.po"))
    return sorted([*pages, *own])


def _name(domain: str) -> str:
    if domain.startswith(PACKAGE):
        return f"{DATA}/{domain.removeprefix(PACKAGE)}.zh.po"
    return f"{CATALOGS}/{domain}.po"


def renew(root: Path, pages: Templates) -> list[str]:
    """Write every catalog anew; return what is new and what is gone, a line each.

    A translation is kept where its message is the same, to the letter, in this page or another.
    An entry without one is marked as waiting, and what it replaces stands above it.
    """
    names = [name for name in _domains(root) if name != CHROME]
    old = {name: catalogs.read(root / _name(name), _name(name)) for name in names}
    anywhere = {
        entry.msgid: entry for name in names for entry in old[name] if catalogs.is_kept(entry)
    }
    lines: list[str] = []
    for domain, template in pages.by_catalog.items():
        catalog: list[polib.POEntry] = old.pop(domain, [])
        own = {entry.msgid: entry for entry in catalog if catalogs.is_kept(entry)}
        lines += _changes(_name(domain), template, catalog)
        entries = catalogs.merged(template, catalog, anywhere | own)
        _write(root / _name(domain), catalogs.rendered(template, entries))
    for domain, catalog in old.items():
        (root / _name(domain)).unlink()
        lines.append(f"{_name(domain)}: deleted, {len(catalog)} entries: it has no page")
    return lines


def _changes(name: str, template: Template, catalog: Sequence[polib.POEntry]) -> Iterator[str]:
    before = {entry.msgid: entry.msgstr for entry in catalog}
    after = [message.text for message in template.messages]
    yield from (f"{name}: new: {text}" for text in after if text not in before)
    for text, chinese in before.items():
        if text not in after:
            yield f"{name}: gone: {text}" + (f"\n    {chinese}" if chinese else "")


def _write(path: Path, text: str) -> None:
    """Write a file that changed, whole or not at all."""
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".new")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Renew or check; return the exit status."""
    given = _parser().parse_args(arguments)
    try:
        if given.release:
            return _say(*map(str, waiting(root)), wrong=True)
        pages = pages_of(root)
        count = sum(len(template.messages) for template in pages.by_catalog.values())
        end = f"{len(pages.by_catalog)} catalogs, {count} messages"
        if given.check:
            return _say(*map(str, faults(root, pages)), end=end, wrong=True)
        lines = renew(root, pages)
        return _say(*lines, end=f"{end}, {len(waiting(root))} waiting for a translation")
    except (SphinxError, CatalogError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2


def pages_of(root: Path) -> Templates:
    """Read the pages that have changed since the last time; Sphinx keeps the others."""
    kept = root / "build" / "messages"
    kept.mkdir(parents=True, exist_ok=True)
    return extraction.fresh(root / "docs", kept)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--check", action="store_true", help="write nothing; say what is wrong")
    which.add_argument(
        "--release", action="store_true", help="write nothing; name what waits for a translation"
    )
    return parser


def _say(*lines: str, end: str = "", wrong: bool = False) -> int:
    """Write the lines; return the exit status."""
    for line in filter(None, (*lines, end)):
        sys.stdout.write(f"{line}\n")
    return int(wrong and bool(lines))
