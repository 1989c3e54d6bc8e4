"""Each statement with evidence beside it is approved with it, in both languages.

The evidence is the check below the statement, or below the list that it stands in; or else the
program directly below or above it, with its output; and the rules that it links to, what was
measured of others that it draws, and the help of the commands that it names.  Definitions in a row
are one list, and share its check and its links.  A docstring is a statement of api.rst.  A table
that has no evidence is approved as a whole, so that no row takes the words of another unseen.

`docs/proofs.json` has the hash of a statement, of its Chinese and of its evidence, by page and by
how the statement begins.  If one of them changes, somebody has to look at all: `make approve` shows
each one as it was and as it is, and asks.
"""

from __future__ import annotations

import hashlib
import json
import re
from functools import cache, lru_cache
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

import polib
from markdown_it import MarkdownIt

from lifespec.conformance.rules import RuleError
from lifespec_docs.facts import approval
from lifespec_docs.facts.blocks import CHECK, DEFINITION, blocks
from lifespec_docs.facts.entries import entries
from lifespec_docs.facts.known import ROOT, canonical, facts, parsers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from lifespec.conformance.rules import Rule
    from lifespec_docs.facts.blocks import Block

__all__ = [
    "PROOFS",
    "ROWS",
    "Proof",
    "Waiting",
    "approve",
    "bare",
    "can_be_seen",
    "faults",
    "place_of",
    "proofs",
    "read",
    "waiting",
]

PROOFS = "docs/proofs.json"
API = "api"  # the page of docstrings
STATES = {"text", "table"}
ROWS = "its rows\n"  # what stands for the evidence of a table that has none
CATALOGS = "locales/zh_CN/LC_MESSAGES"
LONGEST = 60  # characters of a statement, as its label
LITERAL = re.compile(r"`[^`]+`")
NAMED = re.compile(r"\{rule\}`(?:[^`<]*<)?([\w-]+)>?`")
MEASURED = re.compile(r"\{fact\}`((?:seen|version) [^`]*)`")
MARKS = re.compile(r"^(?:\{\.[^}]*\}|\([\w-]+\)=)\s+")  # classes and label of a paragraph
COMMAND = re.compile(r"`(make \w+|lifespec (?:check \w+|\w+))(?![\w-])")
HELP = re.compile(r"^([a-z]+):.*?## (.*)$", re.MULTILINE)
ROLE = re.compile(r"\{\w+\}`[^`]*`")
LINK = re.compile(r"\{(doc|ref|term|rule)\}`[^`]*`")  # names no code
WORDS = re.compile(r"[A-Za-z]{2,}(?:\W+[A-Za-z]+){3}")  # a list of links states nothing


class Proof(NamedTuple):
    """A statement with its Chinese and its evidence; `line` is that of the check, if there is one.

    The evidence of a check begins with its fence, with the libraries; of a rule it is the ID and
    the sentences; of what was measured, the words of its role and those that it draws; of
    a command it is its help.  `lost` are
    the messages of the statement that the catalog does not have.
    """

    page: str
    line: int
    label: str
    statement: str
    chinese: str
    evidence: str
    lost: tuple[str, ...] = ()

    @property
    def runs(self) -> bool:
        """Whether there is a check."""
        return self.evidence.startswith(CHECK)

    @property
    def messages(self) -> Sequence[str]:
        """What the statement is in a catalog."""
        return _messages(self.statement)

    @property
    def hash(self) -> str:
        """What is approved."""
        whole = json.dumps([self.statement, self.chinese, self.evidence])
        return hashlib.sha256(whole.encode()).hexdigest()[:16]


class Waiting(NamedTuple):
    """A proof that is not approved as it stands, or whose statement or check is gone."""

    page: str
    label: str
    proof: Proof | None


def read(page: str, text: str, catalog: str, rules: Mapping[str, Rule]) -> Iterator[Proof]:
    """Yield the proofs of a page; a check below no statement has an empty one."""
    chinese = {entry.msgid: entry.msgstr for entry in polib.pofile(catalog)} if catalog else {}
    chinese = {" ".join(english.split()): said for english, said in chinese.items()}
    labels: dict[str, int] = {}
    for place, line, evidence, found in _evidence(text, page):
        statement = found[place].text if place >= 0 else ""
        whole = (
            evidence
            + _named(_with_list(found, place), rules)
            + _measured(statement)
            + _run(statement)
        )
        if not whole and place >= 0 and found[place].kind == "table":
            whole = ROWS
        if whole:
            label = (page == API and found[place].about) or _label(statement)
            labels[label] = labels.get(label, 0) + 1
            label += f" ({labels[label]})" * (labels[label] > 1)
            messages = _messages(statement)
            said = "\n".join(chinese.get(each, "") for each in messages)
            lost = tuple(each for each in messages if chinese and each not in chinese)
            yield Proof(page, line, label, statement, said, whole, lost)


def _evidence(text: str, page: str) -> Iterator[tuple[int, int, str, Sequence[Block]]]:
    """Yield the place of each statement or -1, the line of its evidence, that, and all blocks."""
    found = _blocks(page, text)
    checks: dict[int, list[Block]] = {}
    for place, block in enumerate(found):
        if block.kind == "check":
            for each in _above(found, place):
                checks.setdefault(each, []).append(block)
    for place in (-1, *range(len(found))):
        for check in checks.get(place, ()):
            evidence = f"{CHECK} {check.about.removeprefix(CHECK)}".rstrip() + f"\n{check.text}"
            yield place, check.line, evidence, found
        if place >= 0 and place not in checks and found[place].kind in STATES:
            yield place, found[place].line, _program(found, place), found


def _with_list(found: Sequence[Block], place: int) -> str:
    """Return a statement with the others of its list of definitions, whose links it shares."""
    own = found[place] if place >= 0 else None
    if not own or not DEFINITION.search(own.text):
        return own.text if own else ""
    return "\n".join(each.text for each in found if each.items == own.items)


def _above(found: Sequence[Block], place: int) -> list[int]:
    """Return the places of what a check proves: what is directly above it, or the list above it."""
    above = place - 1
    while above >= 0 and found[above].kind == "check":
        above -= 1
    if above < 0 or found[above].kind not in STATES:
        return [-1]
    items = found[above].items
    if not items or items == found[place].items:
        return [above]
    return [
        each for each, block in enumerate(found) if block.items == items and block.kind in STATES
    ]


def _blocks(page: str, text: str) -> Sequence[Block]:
    return list(entries(text)) if page == API else blocks(text)


def _program(found: Sequence[Block], place: int) -> str:
    """Return the program directly below a statement, or else the one above, with its output."""
    below, above = found[place + 1 :], found[:place]
    if below and below[0].kind == "example":
        shown: Sequence[Block] = [below[0], *takewhile(_output, below[1:])]
    else:
        outputs = len([*takewhile(_output, reversed(above))])
        shown = above[-outputs - 1 :]
        shown = shown if shown and shown[0].kind == "example" else []
    return "-----\n".join(block.text for block in shown)


def _output(block: Block) -> bool:
    return block.kind == "output"


def _named(statement: str, rules: Mapping[str, Rule]) -> str:
    """Return the rules that a statement links to, each with its sentences."""
    if not WORDS.search(ROLE.sub("", statement)):
        return ""
    named = (rules[each] for each in NAMED.findall(statement) if each in rules)
    return "".join(f"{each.rule_id}: {' '.join(each.boxes.values())}\n" for each in named)


def _measured(statement: str) -> str:
    """Return what a statement draws from the records of other software."""
    drawn = (canonical(each) for each in MEASURED.findall(statement))
    return "".join(
        f"{each}: {', '.join(facts()[each].words)}\n" for each in drawn if each in facts()
    )


def _run(statement: str) -> str:
    """Return what the commands that a statement names say of themselves."""
    named = dict.fromkeys(COMMAND.findall(statement))
    return "".join(f"{each}: {_helps()[each]}\n" for each in named if each in _helps())


@lru_cache(maxsize=1)
def _helps() -> dict[str, str]:
    """Return the help of each command: those of make, and of lifespec."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    found = {f"make {name}": text for name, text in HELP.findall(makefile)}
    return found | {f"lifespec {name}": parser.description or "" for name, parser in parsers()}


def _label(statement: str) -> str:
    """Return how a statement begins, in whole words."""
    first = " ".join(statement.split())
    return first if len(first) <= LONGEST else first[:LONGEST].rpartition(" ")[0] + " …"


@cache
def _messages(statement: str) -> Sequence[str]:
    """Return the messages that a paragraph, a definition or a table is in a catalog."""
    tokens = MarkdownIt("commonmark").enable("table").parse(MARKS.sub("", statement))
    texts = (token.content for token in tokens if token.type == "inline")
    parts = (" ".join(part.split()) for text in texts for part in DEFINITION.split(text))
    return [part for part in parts if part]  # a cell may be empty


def proofs(root: Path) -> list[Proof]:
    """Return the proofs of all pages."""
    found: list[Proof] = []
    rules = approval.rules(root)
    for path in _pages(root):
        catalog = root / CATALOGS / f"{path.stem}.po"
        named = str(catalog) if catalog.exists() else ""
        found += read(path.stem, path.read_text(encoding="utf-8"), named, rules)
    return found


def _pages(root: Path) -> list[Path]:
    docs = root / "docs"
    return sorted([*docs.glob("*.md"), *docs.glob(f"{API}.rst")])


def place_of(page: str) -> str:
    """Return the file of a page."""
    return f"docs/{page}.{'rst' if page == API else 'md'}"


def bare(root: Path) -> Iterator[tuple[str, int, str]]:
    """Yield file, line and beginning of each statement that names code and has no evidence."""
    held = {(proof.page, proof.statement) for proof in proofs(root) if proof.evidence != ROWS}
    for path in _pages(root):
        for block in _blocks(path.stem, path.read_text(encoding="utf-8")):
            names = path.stem == API or LITERAL.search(LINK.sub("", block.text))
            if block.kind in STATES and names and (path.stem, block.text) not in held:
                yield place_of(path.stem), block.line, _label(block.text)


def waiting(root: Path) -> list[Waiting]:
    """Return what has to be looked at."""
    found, approved = proofs(root), _approved(root)
    new = [
        Waiting(proof.page, proof.label, proof)
        for proof in found
        if approved.get(proof.page, {}).get(proof.label) != proof.hash
    ]
    now = {(proof.page, proof.label) for proof in found}
    rows = [(page, label) for page, labels in approved.items() for label in labels]
    return new + [Waiting(*row, None) for row in rows if row not in now]


def can_be_seen(waiting: Waiting) -> bool:
    """Whether there is a statement in both languages, or none any more."""
    proof = waiting.proof
    return proof is None or bool(proof.statement and not proof.lost)


def faults(root: Path) -> Iterator[str]:
    """Yield a line for each of them."""
    try:
        found = waiting(root)
    except RuleError:  # the build of the pages says where
        return
    for page, label, proof in found:
        place = f"{place_of(page)}:{proof.line}" if proof else PROOFS
        if proof and not proof.statement:
            yield f"{place}: this check has no paragraph and no table directly above it."
            continue
        if proof and proof.lost:
            lost = _label(proof.lost[0])
            yield (
                f"{place}: {lost!r} has no entry in its catalog: run `make translate`; if that adds"
                " none, let it be a paragraph of its own."
            )
            continue
        yield f"{place}: the statement {label!r} {_what(root, page, label, proof)}"


def _what(root: Path, page: str, label: str, proof: Proof | None) -> str:
    """Say what happened to a statement, and what to do."""
    what = "is gone, or begins with other words, or the evidence beside it is gone"
    if proof:
        new = label not in _approved(root).get(page, {})
        what = "is new" if new else "changed, or its Chinese, or the evidence beside it"
    return f"{what}: `make approve` shows it, and asks."


def approve(root: Path, seen: Iterable[Waiting]) -> None:
    """Write down that these are approved as they are."""
    approved = _approved(root)
    for page, label, proof in seen:
        labels = approved.setdefault(page, {})
        labels.pop(label, None)
        if proof:
            labels[label] = proof.hash
    order = {(proof.page, proof.label): place for place, proof in enumerate(proofs(root))}
    sorted_ = {
        page: dict(sorted(labels.items(), key=lambda row: order.get((page, row[0]), 0)))
        for page, labels in sorted(approved.items())
        if labels
    }
    text = json.dumps(sorted_, indent=1, ensure_ascii=False)
    (root / PROOFS).write_text(f"{text}\n", encoding="utf-8")


def _approved(root: Path) -> dict[str, dict[str, str]]:
    path = root / PROOFS
    found: dict[str, dict[str, str]] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return found
