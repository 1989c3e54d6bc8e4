"""Each statement of a page is approved: a paragraph, a list item, a table, a title, a docstring.

What is approved is the statement, its Chinese and its evidence.  The evidence is the check below
the statement, or below the list that it stands in; what stands between it and the next statement:
a program with its output, a drawn table, a file that is shown; or else the one above it; the
rules that it links to, what was measured of others that it draws, and the help of the commands
that it names.  The text of a case of `edge-cases` shares the program below the case, and the items
of a list what stands below the list, or else above it.  Definitions in a row are one list, and
share its check and its links.  Beside a title the evidence of its first statement is shown.  A
statement without evidence is held by those who read it, and `make unproved` lists it.

`docs/proofs.json` has a hash of all three for each statement, and of a title in both languages, in
the order of the page, so that two steps cannot change places, and no statement its section.  Words
of a catalog that stand in no statement, such as a figure's, have a hash of both languages.  If
something changes, somebody has to look at all of it: `make approve` shows it as it was and as it
is, and asks.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cache, lru_cache
from itertools import takewhile
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import polib

from lifespec.conformance.rules import Rule
from lifespec_docs.facts import approval
from lifespec_docs.facts.blocks import CHECK, DEFINITION, MARKDOWN, Block, blocks
from lifespec_docs.facts.entries import entries
from lifespec_docs.facts.known import ROOT, canonical, facts, parsers

__all__ = [
    "PROOFS",
    "Proof",
    "Waiting",
    "approve",
    "bare",
    "can_be_seen",
    "catalog_of",
    "faults",
    "page_of",
    "proofs",
    "read",
    "waiting",
    "words",
]

PROOFS = "docs/proofs.json"
README = "README.md"
API = "docs/api.rst"  # the page of docstrings
STATES = {"text", "table", "title"}
CASE = ":::{decision}"  # all of its text is shown by the program below it
SECTIONS = (CASE, "{framework}", "{host}")  # begin anew: what is above is not shown by them
FIGURE = "{picture}"  # an ornament for what stands below it
SILENT = {"code", "box"}  # beside a statement, but no evidence for it
CATALOGS = "locales/zh_CN/LC_MESSAGES"
REPORT = "src/lifespec/conformance/data/report.zh.po"
LONGEST = 60  # characters of a statement, as its label
NAMED = re.compile(r"\{rule\}`(?:[^`<]*<)?([\w-]+)>?`")
MEASURED = re.compile(r"\{fact\}`((?:seen|version) [^`]*)`")
MARKS = re.compile(r"^(?:\{\.[^}]*\}|\([\w-]+\)=)\s+")  # classes and label of a paragraph
COMMAND = re.compile(r"`(make \w+|lifespec (?:check \w+|\w+))(?![\w-])")
ANNOUNCED = re.compile(r"\bcommands?\b|:\Z")
HELP = re.compile(r"^([a-z]+):.*?## (.*)$", re.MULTILINE)
ROLE = re.compile(r"\{\w+\}`[^`]*`")
FILE = re.compile(r"\{(?:shown|literalinclude)\} (\S+)")
WORDS = re.compile(r"[A-Za-z]{2,}(?:\W+[A-Za-z]+){3}")  # a list of links states nothing


class Proof(NamedTuple):
    """A statement with its Chinese and its evidence.

    The evidence of a check begins with its fence, with the libraries; of what is drawn it is the
    directive, with the digest of a file that it shows; of a rule it is the ID and the sentences; of
    what was measured, the words of its role and those that it draws; of a command it is its help.
    `held` is whether something of that can show that the statement is false.
    `kind` is that of the block, or "word" for an entry of a catalog that stands in no statement.
    `lost` are the messages of the statement that the catalog does not have; `waits` is whether one
    that it has is not translated.
    """

    file: str
    line: int
    kind: str
    label: str
    statement: str
    chinese: str
    evidence: str = ""
    held: bool = False
    lost: tuple[str, ...] = ()
    waits: bool = False

    @property
    def runs(self) -> bool:
        """Whether there is a check."""
        return self.evidence.startswith(CHECK)

    @property
    def hash(self) -> str:
        """What is approved."""
        evidence = "" if self.kind == "title" else self.evidence
        whole = json.dumps([self.kind, self.statement, self.chinese, evidence])
        return hashlib.sha256(whole.encode()).hexdigest()[:12]


class Waiting(NamedTuple):
    """A proof that is not approved as it stands, there: what was approved, and what there is."""

    file: str
    old: str | None
    proof: Proof | None


def read(
    file: str, text: str, catalog: str, rules: Mapping[str, Rule], root: Path = ROOT
) -> Iterator[Proof]:
    """Yield the statements of a page, and the words of its catalog that stand in none of them.

    A check below no statement has an empty one.
    """
    chinese = _chinese(catalog)
    said, stated = set[str](), list[Proof]()
    found = list(entries(text)) if file == API else blocks(text)
    for place, checks in _stated(found):
        block = found[place] if place >= 0 else Block("text", checks[0].line, "")
        beside = [*checks, *_beside(found, place, checked=bool(checks))]
        drawn = _named(_with_list(found, block), rules) + _measured(block.text)
        drawn += _run(block.text, *(each.text for each in beside if each.about == "sh"))
        messages = _messages(block.text)
        said |= {*messages}
        proof = Proof(
            file,
            block.line,
            block.kind,
            (file == API and block.about) or _label(block.text),
            block.text,
            "\n".join(chinese[each][1] if each in chinese else "" for each in messages),
            "-----\n".join(_shown(each, root) for each in beside) + drawn,
            bool(drawn) or any(each.kind not in SILENT for each in beside),
            tuple(each for each in messages if chinese and each not in chinese),
            any(each in chinese and not chinese[each][1] for each in messages),
        )
        stated.append(proof)
    for place, proof in enumerate(stated):
        yield _titled(stated, place) if proof.kind == "title" else proof
    yield from words(catalog_of(file), catalog, said)


def _titled(stated: Sequence[Proof], place: int) -> Proof:
    """Return a title with the evidence of the first statement of its section that has one."""
    section = takewhile(lambda each: each.kind != "title", stated[place + 1 :])
    first = next((each for each in section if each.held), stated[place])
    return stated[place]._replace(evidence=first.evidence, held=first.held)


def words(file: str, catalog: str, said: Collection[str] = ()) -> list[Proof]:
    """Return the entries of a catalog that no statement has, in an order of their own."""
    found = [
        Proof(file, line, "word", _label(english), english, chinese)
        for english, (line, chinese) in _chinese(catalog).items()
        if chinese and english not in said
    ]
    return sorted(found, key=attrgetter("hash"))


@cache
def _chinese(catalog: str) -> Mapping[str, tuple[int, str]]:
    """Return line and Chinese of each entry, but those of rules, which have their own approval."""
    return {
        " ".join(entry.msgid.split()): (entry.linenum or 1, entry.msgstr)
        for entry in polib.pofile(catalog)
        if not (entry.obsolete or entry.comment.startswith("rule "))
    }


def _stated(found: Sequence[Block]) -> Iterator[tuple[int, Sequence[Block]]]:
    """Yield the place of each statement with its checks, and before them -1 with those of none."""
    checks: dict[int, list[Block]] = {}
    for place, block in enumerate(found):
        if block.kind == "check":
            for each in _above(found, place):
                checks.setdefault(each, []).append(block)
    for place in (-1, *range(len(found))):
        if place in checks or (place >= 0 and found[place].kind in STATES):
            yield place, checks.get(place, ())


def _beside(found: Sequence[Block], place: int, *, checked: bool) -> Sequence[Block]:
    """Return what stands between a statement and the next, or else what is shown above it."""
    if found[place].kind == "title":
        return []
    first = place
    if place and found[place - 1].about.startswith(CASE):  # what happens, then what comes of it
        place += len([*takewhile(lambda each: each.kind == "text", found[place + 1 :])])
    shown = _below(found, place)
    if shown or checked:
        return shown
    if items := found[place].items:
        while place + 1 < len(found) and found[place + 1].items == items:
            place += 1
        while first and found[first - 1].items == items:
            first -= 1
        if shown := _below(found, place):
            return shown
    outputs = [*takewhile(lambda each: each.kind == "output", reversed(found[:first]))]
    above = found[:first][-len(outputs) - 1 :]
    seen = above and above[0].kind in {"example", "drawn"}
    return above if seen and not above[0].about.startswith(FIGURE) else []


def _below(found: Sequence[Block], place: int) -> Sequence[Block]:
    """Return what stands between a statement and the next, or the next section, but its checks."""
    below = takewhile(
        lambda each: each.kind not in STATES and not each.about.startswith(SECTIONS),
        found[place + 1 :],
    )
    return [each for each in below if each.kind != "check"]


def _shown(block: Block, root: Path) -> str:
    """Return a block as evidence: what is drawn has its arguments, and the digest of its file."""
    if block.kind == "check":
        return f"{CHECK} {block.about.removeprefix(CHECK)}".rstrip() + f"\n{block.text}"
    if block.kind in {"example", "output", "code"}:
        return block.text
    file = FILE.match(block.about)
    path = root / "docs" / file[1] if file else root
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12] if path.is_file() else ""
    return f"{block.about} {digest}".rstrip() + f"\n{block.text}"


def _with_list(found: Sequence[Block], own: Block) -> str:
    """Return a statement with the others of its list of definitions, whose links it shares."""
    if not DEFINITION.search(own.text):
        return own.text
    return "\n".join(each.text for each in found if each.items == own.items)


def _above(found: Sequence[Block], place: int) -> list[int]:
    """Return the places of what a check proves: what is directly above it, or the list above it.

    A sentence with a colon that introduces the list, or a table, is a part of it.
    """
    above = place - 1
    while above >= 0 and found[above].kind == "check":
        above -= 1
    if above < 0 or found[above].kind not in {"text", "table"}:
        return [-1]
    items, proved = found[above].items, [above]
    if items and items != found[place].items:
        of_list = (each for each, block in enumerate(found) if block.items == items)
        proved = [each for each in of_list if found[each].kind in STATES]
    first = found[proved[0] - 1] if proved[0] else found[above]
    listed = len(proved) > 1 or found[above].kind == "table"
    introduced = listed and first.kind == "text" and first.text.endswith(":")
    return [proved[0] - 1] * introduced + proved


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


def _run(statement: str, *below: str) -> str:
    """Return what the commands that a statement names, or announces, say of themselves."""
    lines = "\n".join(below).splitlines() if ANNOUNCED.search(statement) else []
    named = dict.fromkeys(COMMAND.findall("\n".join([statement, *(f"`{each}`" for each in lines)])))
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
    tokens = MARKDOWN.parse(MARKS.sub("", statement))
    texts = (token.content for token in tokens if token.type == "inline")
    parts = (" ".join(part.split()) for text in texts for part in DEFINITION.split(text))
    return [part for part in parts if part]  # a cell may be empty


def page_of(file: str) -> str:
    """Return the name of a page, by its file or its catalog."""
    return file.rpartition("/")[2].partition(".")[0]


def catalog_of(file: str) -> str:
    """Return the catalog of a page."""
    return f"{CATALOGS}/{page_of(file)}.po"


def proofs(root: Path) -> list[Proof]:
    """Return the statements of all pages, and the words of all catalogs."""
    found: list[Proof] = []
    rules = approval.rules(root)
    for file in _files(root):
        text = (root / file).read_text(encoding="utf-8")
        catalog = root / catalog_of(file)
        if file.endswith(".po"):
            found += words(file, text)
        else:
            said = catalog.read_text(encoding="utf-8") if catalog.exists() else ""
            found += read(file, text, said, rules, root)
    return found


def _files(root: Path) -> list[str]:
    """Return the pages, and the catalogs that are of none."""
    docs = root / "docs"
    pages = [*docs.glob("*.md"), root / API, root / README]
    names = {path.stem for path in pages}
    others = [path for path in (root / CATALOGS).glob("*.po") if path.stem not in names]
    every = (path for path in [*pages, *others, root / REPORT] if path.exists())
    return sorted(path.relative_to(root).as_posix() for path in every)


def bare(root: Path) -> list[Proof]:
    """Return the statements of the pages that have no evidence."""
    return [each for each in proofs(root) if each.kind in {"text", "table"} and not each.held]


def waiting(root: Path) -> list[Waiting]:
    """Return what has to be looked at."""
    return [each for each, waits in _compared(root) if waits]


def _compared(root: Path) -> Iterator[tuple[Waiting, bool]]:
    """Yield what is approved beside what there is, in the order of the pages, and if it waits."""
    now: dict[str, list[Proof]] = {}
    for each in proofs(root):
        now.setdefault(each.file, []).append(each)
    approved = _approved(root)
    for file in sorted({*now, *approved}):
        compare = _words_compared if file.endswith(".po") else _page_compared
        yield from compare(file, approved.get(file, []), now.get(file, []))


def _words_compared(
    file: str, before: Collection[str], now: Sequence[Proof]
) -> Iterator[tuple[Waiting, bool]]:
    """Compare the words of a catalog: they have no order, and those that are gone say nothing."""
    known = {*before}
    for each in now:
        new = each.hash not in known
        yield Waiting(file, None if new else each.hash, each), new


def _page_compared(
    file: str, before: Sequence[str], now: Sequence[Proof]
) -> Iterator[tuple[Waiting, bool]]:
    """Compare a page, where what stands elsewhere now waits once."""
    after = [each.hash for each in now]
    parts = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    gone = Counter(each for kind, i, j, _, _ in parts if kind != "equal" for each in before[i:j])
    come = Counter(each for kind, _, _, i, j in parts if kind != "equal" for each in after[i:j])
    left, moved = gone & come, gone & come
    for kind, i, j, k, end in parts:
        if kind == "equal":
            yield from ((Waiting(file, each.hash, each), False) for each in now[k:end])
            continue
        olds = [each for each in before[i:j] if not _take(left, each)]
        for proof in now[k:end]:
            old = proof.hash if _take(moved, proof.hash) else olds.pop(0) if olds else None
            yield Waiting(file, old, proof), True
        yield from ((Waiting(file, each, None), True) for each in olds)


def _take(counted: Counter[str], key: str) -> bool:
    """Take one of a key, if there is one."""
    counted[key] -= 1
    return counted[key] >= 0


def can_be_seen(waiting: Waiting) -> bool:
    """Whether there is a statement in both languages, or none any more."""
    proof = waiting.proof
    return proof is None or bool(proof.statement and not proof.lost)


def faults(root: Path) -> Iterator[str]:
    """Yield a line for each of them."""
    for each in waiting(root):
        place = f"{each.file}:{each.proof.line}" if each.proof else each.file
        if each.proof and not each.proof.statement:
            yield f"{place}: this check has no paragraph and no table directly above it."
        elif each.proof and each.proof.lost:
            lost = _label(each.proof.lost[0])
            yield (
                f"{place}: {lost!r} has no entry in its catalog: run `make translate`; if that adds"
                " none, let it be a paragraph of its own."
            )
        else:
            command = f"make approve PAGE={page_of(each.file)}"
            lacks = each.proof and each.proof.waits
            chinese = f", and its Chinese is missing in {catalog_of(each.file)}" if lacks else ""
            yield f"{place}: {_what(each)}{chinese}: `{command}` shows it, and asks."


def _what(waiting: Waiting) -> str:
    """Say what happened to a statement."""
    _, old, proof = waiting
    if not proof:
        return "a statement that was approved is gone"
    if proof.kind == "word":
        return f"{proof.label!r} is new, or its Chinese changed"
    if not old:
        return f"the {proof.kind} {proof.label!r} is new"
    if old == proof.hash:
        return f"the {proof.kind} {proof.label!r} stands elsewhere now"
    return f"the {proof.kind} {proof.label!r} changed, or its Chinese, or the evidence beside it"


def approve(root: Path, seen: Collection[Waiting]) -> None:
    """Write down that these are approved as they are."""
    rows: dict[str, list[str]] = {}
    for each, waits in _compared(root):
        now = each.proof.hash if each.proof else ""
        if waits and each not in seen:
            now = each.old if each.old and each.old != now else ""
        if now:
            rows.setdefault(each.file, []).append(now)
    (root / PROOFS).write_text(f"{json.dumps(rows, indent=0)}\n", encoding="utf-8")


def _approved(root: Path) -> dict[str, list[str]]:
    path = root / PROOFS
    found: dict[str, list[str]] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return found
