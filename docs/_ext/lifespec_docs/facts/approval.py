"""The boxes of the rules are approved: a changed one, in either language, is a fault until then.

An approval is the hash of the boxes of a rule in both languages and of its row in rules.toml.
`docs/approved.json` has one for each rule.  `make approve RULE=…` shows what is approved and
writes it there: the sections of the specifications, both languages, the cases and the example.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import polib

from lifespec.conformance.explain import wrapped
from lifespec_docs.facts.blocks import blocks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from lifespec_docs.facts.blocks import Block

__all__ = ["APPROVED", "Box", "approve", "boxes", "faults", "indented", "rules", "told"]

APPROVED = "docs/approved.json"
DATA = "src/lifespec/conformance/data"
SENTENCES = "tests/sentences/sentences.toml"
CATALOGS = "locales/zh_CN/LC_MESSAGES"
STATED = "role", "says", "source", "wording", "ours"  # what a row says of the boxes
OPTION = re.compile(r"^:\w+:.*$", re.MULTILINE)
WIDTH = 80


class Box(NamedTuple):
    """A box of a rule: its page and line, both languages, and the example that shows it."""

    rule: str
    file: str
    line: int
    option: str
    english: str
    chinese: str
    example: str


def boxes(root: Path) -> dict[str, list[Box]]:
    """Return the boxes of each rule, as the pages and their catalogs have them."""
    found: dict[str, list[Box]] = {}
    for page in sorted((root / "docs").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if "{rule}" in text or "{behaviour}" in text:
            for box in _boxes(page.relative_to(root).as_posix(), text, _chinese(root, page.stem)):
                found.setdefault(box.rule, []).append(box)
    return found


def _chinese(root: Path, page: str) -> dict[str, str]:
    path = root / CATALOGS / f"{page}.po"
    if not path.exists():
        return {}
    return {entry.msgid: entry.msgstr for entry in polib.pofile(str(path))}


def _boxes(file: str, text: str, known: dict[str, str]) -> Iterator[Box]:
    all_ = blocks(text)
    for block in all_:
        if block.kind != "rule":
            continue
        option = "".join(OPTION.findall(block.text))
        body = OPTION.sub("", block.text)
        paragraphs = [" ".join(each.split()) for each in re.split(r"\n\s*\n", body) if each.strip()]
        chinese = "\n".join(known.get(each, "") for each in paragraphs)
        english = "\n".join(paragraphs)
        example = _example(all_, block.about)
        yield Box(block.about, file, block.line, option, english, chinese, example)


def _example(found: list[Block], rule: str) -> str:
    """Return the first example with its output whose paragraphs above it link to the rule."""
    linked = False
    for place, block in enumerate(found):
        if block.kind == "example" and linked:
            below = [each.text for each in found[place + 1 : place + 2] if each.kind == "output"]
            return "-----\n".join([block.text, *below])
        named = f"{{rule}}`{rule}`" in block.text
        linked = block.kind == "text" and (linked or named)
    return ""


def _toml(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def rules(root: Path) -> dict[str, Any]:
    """Return rules.toml, or nothing where there is none."""
    path = root / DATA / "rules.toml"
    return _toml(path) if path.exists() else {}


def _hash(row: dict[str, Any], found: Iterable[Box]) -> str:
    said = sorted([box.option, box.english, box.chinese] for box in found)
    stated = {key: row[key] for key in STATED if key in row}
    text = json.dumps([stated, said], ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _now(root: Path, found: dict[str, list[Box]]) -> dict[str, str]:
    """Return the hash of each rule as it is."""
    return {rule: _hash(row, found.get(rule, ())) for rule, row in rules(root).items()}


def _approved(root: Path) -> dict[str, str]:
    path = root / APPROVED
    found: dict[str, str] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return found


def faults(root: Path) -> Iterator[str]:
    """Yield a line for each rule whose boxes are not those that were approved."""
    try:
        approved, found = _approved(root), boxes(root)
        now = _now(root, found)
    except tomllib.TOMLDecodeError:  # the build of the pages says where
        return
    for rule, hash_ in now.items():
        if approved.get(rule) != hash_:
            box = next(iter(found.get(rule, ())), None)
            place = f"{box.file}:{box.line}" if box else f"{DATA}/rules.toml:1"
            yield (
                f"{place}: the rule {rule!r} is not approved as it stands here, in rules.toml and "
                f"in Chinese: read it against its source with `make approve RULE={rule}`."
            )


def approve(root: Path, rules: Iterable[str]) -> None:
    """Write down that these rules are approved as they are; forget rules that are gone."""
    now = _now(root, boxes(root))
    kept = {rule: hash_ for rule, hash_ in _approved(root).items() if rule in now}
    kept |= {rule: now[rule] for rule in rules}
    rows = {rule: kept[rule] for rule in now if rule in kept}
    (root / APPROVED).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def told(root: Path, rule: str, sources: Path | None = None) -> Iterator[str]:
    """Yield the lines that show a rule: sources, both languages, cases and example.

    `sources` is a folder that has the specifications: their sentences are shown, too.
    """
    row = rules(root)[rule]
    found = boxes(root).get(rule, [])
    yield f"=== {rule} ({row['role']}) ".ljust(WIDTH, "=")
    for source in row.get("source", ()):
        core = f", text {source['text']}" if "text" in source else ""
        yield f"{', '.join(source['specs'])}: {source['level']}, “{source['section']}”{core}"
    for line in _cited(root, rule, sources):
        yield from indented(line)
    for box in found:
        yield f"--- {box.file}:{box.line} {box.option}".rstrip()
        yield from indented(box.english)
        yield from indented(box.chinese or "(not translated)")
    yield "--- cases"
    for line in _cases(root, rule) or [row.get("unseen", "none")]:
        yield from indented(line)
    yield "--- example"
    example = found[-1].example if found else ""
    yield from (f"    {line}".rstrip()[:WIDTH] for line in example.splitlines())


def indented(text: str, sign: str = "    ") -> Iterator[str]:
    """Yield a text in lines, in either language, each after four columns; the first has a sign."""
    lines = [line for part in text.split("\n") for line in wrapped(part, WIDTH - 4)]
    yield from (f"{'    ' if place else sign}{line}" for place, line in enumerate(lines))


def _cases(root: Path, rule: str) -> list[str]:
    rows = _toml(root / DATA / "cases.toml").items()
    return [f"{name}: {row['says']}" for name, row in rows if rule in row.get("expect", {})]


def _cited(root: Path, rule: str, sources: Path | None) -> Iterator[str]:
    """Yield the places of the sentences that became a rule, and their words from a folder."""
    for text in _toml(root / SENTENCES)["text"]:
        for row in text["sentences"]:
            if rule in row.get("rule_ids", ()):
                place = f"{text['file']}, {row['section']}, sentence {row['ordinal']}"
                words = _words(sources / text["file"], text, row) if sources else ""
                yield f"{place}: {words}" if words else place


def _words(path: Path, text: dict[str, Any], row: dict[str, Any]) -> str:
    if not path.exists():
        return ""
    found = _sentences(path, json.dumps(text["sections"]))
    return found.get(f"{row['section']} {row['ordinal']}", "")


@lru_cache(maxsize=16)
def _sentences(path: Path, sections: str) -> dict[str, str]:
    of_tests = import_module("sentences")  # of tests/sentences, which docs/review.py puts there
    found = of_tests.sentences(path.read_text(encoding="utf-8"), json.loads(sections))
    return {f"{each.section} {each.ordinal}": each.words for each in found}
