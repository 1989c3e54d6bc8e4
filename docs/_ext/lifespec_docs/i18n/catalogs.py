"""Reads, renews and compares catalogs: one entry for each message, as the page has them.

A catalog is written in one form only: no dates, no line numbers, no wrapping, nothing fuzzy and
nothing obsolete, so that a change of a page is as small a change of its catalog.

An entry without a translation is marked as waiting.  If it replaces an older one, that one stands
above it in comments; mark and comments go when the catalog of a filled entry is renewed.
"""

import difflib
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import polib

__all__ = [
    "WAITING",
    "CatalogError",
    "Fault",
    "Message",
    "Template",
    "differences",
    "duties",
    "form",
    "is_kept",
    "is_waiting",
    "merged",
    "read",
    "rendered",
    "waiting",
]

WAITING = "waiting"  # the mark of an entry that `make translate` left without a translation
BEFORE = "English before: ", "Chinese before: "  # what begins the comments of the older entry
ALIKE = 0.5  # how much of a message an older one must share, to be taken for the same sentence

NO_CATALOG = "this is no catalog:"
# polib reads what is not closed, and loses its last letter.
LINE = re.compile(r'(?:#.*|(?:(?:msgctxt|msgid|msgstr)\s*)?"(?:[^"\\]|\\.)*"|)\s*')


class Fault(NamedTuple):
    """What is wrong in a line of a file, in one sentence."""

    file: str
    line: int
    sentence: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.sentence}"


class Message(NamedTuple):
    """A text to translate: its first line in the page, and what it is there.

    `kind` is "text", "title", "cell" (of a table), "comment" (of a code block), "word" (of an
    extension), or the ID of the rule whose body holds it, behind "rule ".  `file` is where it
    stands, if the template is of several files.
    """

    text: str
    line: int
    kind: str = "text"
    file: str = ""


class Template(NamedTuple):
    """The messages of one file in its order, each once."""

    file: str
    messages: tuple[Message, ...]


class CatalogError(ValueError):
    """A file is no catalog; `fault` says where and why."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(str(fault))
        self.fault = fault


def read(path: Path, name: str) -> polib.POFile:
    """Read a catalog; `name` is how a sentence calls the file."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
        wrong = next((n for n, line in enumerate(lines, 1) if not LINE.fullmatch(line)), 0)
        if wrong:
            raise CatalogError(Fault(name, wrong, f"{NO_CATALOG} this line is not of one."))
        return polib.pofile(str(path), wrapwidth=0, encoding="utf-8")
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise CatalogError(Fault(name, line, f"{NO_CATALOG} it is not UTF-8.")) from error
    except OSError as error:
        found = re.search(r"\(line (\d+)\)", str(error))
        why = "this line does not follow from those before" if found else str(error)
        fault = Fault(name, int(found[1]) if found else 1, f"{NO_CATALOG} {why}.")
        raise CatalogError(fault) from error


def rendered(template: Template, known: Mapping[str, polib.POEntry]) -> str:
    """Return the catalog of these messages, with the translations that are known."""
    catalog = polib.POFile(wrapwidth=0)
    catalog.header = f"{template.file} in simplified Chinese. `make translate` renews this file."
    catalog.metadata = {
        "Language": "zh_CN",
        "MIME-Version": "1.0",
        "Content-Type": "text/plain; charset=UTF-8",
        "Content-Transfer-Encoding": "8bit",
    }
    for message in template.messages:
        entry = polib.POEntry(msgid=message.text)
        if message.kind.startswith("rule "):
            entry.comment = message.kind
        if old := known.get(message.text):
            entry.msgstr, entry.tcomment = old.msgstr, old.tcomment
        if entry.msgstr:
            entry.tcomment = "\n".join(_notes(entry))
        else:
            entry.flags.append(WAITING)
        catalog.append(entry)
    return str(catalog)


def is_kept(entry: polib.POEntry) -> bool:
    """Whether somebody stands by the translation of an entry."""
    return bool(entry.msgstr and not entry.fuzzy and not entry.obsolete)


def is_waiting(entry: polib.POEntry) -> bool:
    """Whether an entry is marked as waiting, and nobody has translated it since."""
    return WAITING in entry.flags and not entry.msgstr.strip() and not entry.obsolete


def waiting(catalog: Iterable[polib.POEntry], name: str) -> Iterator[Fault]:
    """Yield each entry that waits: a release may have none."""
    for entry in filter(is_waiting, catalog):
        yield Fault(
            name, entry.linenum or 1, f"{_short(entry.msgid)} is waiting for a translation."
        )


def merged(
    template: Template, catalog: Iterable[polib.POEntry], known: Mapping[str, polib.POEntry]
) -> dict[str, polib.POEntry]:
    """Return the entries to render: those known, and for each other message what it replaces."""
    old = list({entry.msgid: entry for entry in catalog}.values())
    found: dict[str, polib.POEntry] = {}
    for text, before in _replaced([message.text for message in template.messages], old).items():
        entry = polib.POEntry(msgid=text, tcomment="\n".join(_notes(before)))
        for line in _before(before):
            entry.tcomment = f"{entry.tcomment}\n{line}".lstrip()
        found[text] = entry
    return found | dict(known)


def _replaced(texts: list[str], old: list[polib.POEntry]) -> dict[str, polib.POEntry]:
    """Return the old entry of each text that had one, or stands where another has gone."""
    had = {entry.msgid: entry for entry in old}
    found = {text: had[text] for text in texts if text in had}
    gone = [entry.msgid for entry in old if entry.msgid not in texts]
    blocks = difflib.SequenceMatcher(None, [entry.msgid for entry in old], texts, autojunk=False)
    for kind, first, last, start, end in blocks.get_opcodes():
        in_place = kind == "replace" and last - first == end - start
        for place, text in enumerate(texts[start:end], first):
            like = difflib.get_close_matches(text, gone, 1, ALIKE)
            if in_place and not like and old[place].msgid in gone:
                like = [old[place].msgid]
            if text not in had and like:
                found[text] = had[like[0]]
    return found


def _before(entry: polib.POEntry) -> list[str]:
    """Return the comments that keep an entry: its translation, or what it keeps itself."""
    if entry.msgstr:
        texts = zip(BEFORE, (entry.msgid, entry.msgstr), strict=True)
        return [name + " ".join(text.splitlines()) for name, text in texts]
    return [line for line in entry.tcomment.splitlines() if line.startswith(BEFORE)]


def _notes(entry: polib.POEntry) -> list[str]:
    """Return the comments that a translator wrote."""
    return [line for line in entry.tcomment.splitlines() if not line.startswith(BEFORE)]


def duties(catalog: Iterable[polib.POEntry], name: str) -> Iterator[Fault]:
    """Yield what a catalog may not have: entries that are untranslated, fuzzy or obsolete."""
    for entry in catalog:
        text = _short(entry.msgid)
        if entry.obsolete:
            yield Fault(name, entry.linenum or 1, f"{text} is obsolete: delete it.")
        elif entry.fuzzy:
            yield Fault(
                name, entry.linenum or 1, f"{text} is fuzzy: translate it, delete the mark."
            )
        elif not entry.msgstr.strip() and not is_waiting(entry):
            yield Fault(name, entry.linenum or 1, f"{text} is not translated.")
        elif WAITING in entry.flags and entry.msgstr.strip():
            sentence = f"{text} is translated: `make translate` takes the mark “{WAITING}” off."
            yield Fault(name, entry.linenum or 1, sentence)


def differences(catalog: polib.POFile, template: Template, name: str) -> Iterator[Fault]:
    """Yield where a catalog is not the one `make translate` would write."""
    wanted = {message.text: message for message in template.messages}
    found: dict[str, polib.POEntry] = {}
    for entry in (entry for entry in catalog if not entry.obsolete):
        text = _short(entry.msgid)
        if entry.msgid not in wanted:
            sentence = f"{text} does not stand in {template.file} (any more): run `make translate`."
            yield Fault(name, entry.linenum or 1, sentence)
        elif found.setdefault(entry.msgid, entry) is not entry:
            yield Fault(name, entry.linenum or 1, f"{text} stands twice: keep one.")
    for text, message in wanted.items():
        if text not in found:
            sentence = f"{_short(text)} is missing in {name}: run `make translate`, fill it in."
            yield Fault(message.file or template.file, message.line, sentence)


def form(text: str, template: Template, known: Mapping[str, polib.POEntry]) -> int | None:
    """Return the first line in which a file is not what `rendered` writes; None where all are."""
    ours, wanted = text.split("\n"), rendered(template, known).split("\n")
    pairs = itertools.zip_longest(ours, wanted)
    return next((n for n, (is_, should) in enumerate(pairs, 1) if is_ != should), None)


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:59]}…")  # noqa: PLR2004 - fits a line
