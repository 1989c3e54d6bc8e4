"""Makes statements of the pages false, by kind, and counts those that the build notices.

    python tests/drift/statements.py [--show]

Each sentence of a page or of the README is made false in the ways of KINDS, a title in any of them,
and two steps of a numbered list change places; of each kind as many as AT_MOST are taken, by a
fixed seed.
A statement is changed in Chinese alone, or both languages say the same false thing, so that nothing
differs between them.  English alone is not measured: `make translate` takes the old Chinese from
under it, so that both pages say the same.  No page is built: the build's own functions are called.

How a false statement is refused is kept apart, because it is not worth the same:

known    the build says what is wrong: a name, a typed fact, a link, the other language
turned   it is not what was approved, and `make approve` says which word one language alone changed
shown    it is not what was approved, and `make approve` shows a check or other evidence beside it
read     it is not what was approved, and nothing is shown beside it
unseen   it is not refused

The result goes to docs/matrix/statements.json; --show prints what was not noticed.
"""

import itertools
import json
import random
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import polib

ROOT = Path(__file__).resolve().parents[2]
for name in ("src", "docs/_ext"):
    if str(ROOT / name) not in sys.path:
        sys.path.insert(0, str(ROOT / name))

from lifespec.conformance.rules import rules
from lifespec_docs.facts.blocks import Block, blocks, sentences
from lifespec_docs.facts.known import facts
from lifespec_docs.facts.names import names, words
from lifespec_docs.facts.proofs import Proof, page_of, proofs
from lifespec_docs.facts.recorded import made_with
from lifespec_docs.facts.turned import Texts, turned
from lifespec_docs.facts.typed import typed
from lifespec_docs.lint import translations as lint

__all__ = ["KINDS", "Statement", "drawn", "main", "measured", "noticed"]

LANGUAGES = "chinese", "both"  # in which of them a statement is changed
RESULT = ROOT / "docs" / "matrix" / "statements.json"
SEED, AT_MOST = 15, 60  # of each kind
ROLES = "rule|fact|doc|ref|term|class|func|meth|exc|attr|mod|data"
ROLE = re.compile(rf"\{{(?:{ROLES})\}}`[^`]*`")
LITERAL = re.compile(r"(?<!\})`([^`]+)`")
CODE = re.compile(r"\{[\w:-]+\}`[^`]*`|`[^`]*`|\[[^\]]*\]\([^)]*\)|<[^>]*>")
OUTCOMES = ("complete", "failed", "unsupported", "crashed", "returned", "timed_out", "cancelled")
COUNTS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
SUBJECTS = "lifespec", "others", "rules"
HOW = "known", "turned", "shown", "read", "unseen"  # a false statement is refused
Change = Callable[[str], Iterator[str]]


class Statement(NamedTuple):
    """A false statement: its kind, its page and line, and the text before and afterwards."""

    kind: str
    file: str
    line: int
    block: str
    old: str
    new: str


def swapped(pairs: dict[str, str], *, code: bool = False) -> Change:
    """Return what puts one word in the place of another: in prose, or where `code` in literals."""
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, pairs))})\b")

    def change(text: str) -> Iterator[str]:
        kept = [match.span() for match in CODE.finditer(text)]
        for match in pattern.finditer(text):
            inside = any(first <= match.start() < last for first, last in kept)
            if inside == code:
                yield text[: match.start()] + pairs[match[0]] + text[match.end() :]

    return change


def both(*changes: Change) -> Change:
    """Return what makes each of several changes."""

    def change(text: str) -> Iterator[str]:
        for each in changes:
            yield from each(text)

    return change


def replaced(pattern: str, new: Callable[[re.Match[str]], str], *, prose: bool = False) -> Change:
    """Return what replaces each place that a pattern finds, outside of code where `prose`."""

    def change(text: str) -> Iterator[str]:
        kept = [match.span() for match in CODE.finditer(text)] if prose else []
        for match in re.finditer(pattern, text):
            if any(first <= match.start() < last for first, last in kept):
                continue
            yield text[: match.start()] + new(match) + text[match.end() :]

    return change


def two_ways(*pairs: tuple[str, str]) -> dict[str, str]:
    """Return pairs in both directions."""
    return {a: b for pair in pairs for a, b in (pair, pair[::-1])}


def more(match: re.Match[str]) -> str:
    """Return another number."""
    return str(int(match[0]) + 1)


def other(word: str, *words: str) -> str:
    """Return the first of some words that is another one."""
    return next(each for each in words if each != word)


def outdated(match: re.Match[str]) -> str:
    """Return a fact with another last number, typed."""
    words_ = facts()[match[1]].words[0] if match[1] in facts() else "1"
    return re.sub(r"\d+$", more, words_)


STEP = re.compile(r"\s*\d+\. ")  # items of other lists have no order
NUMBER = r"(?<![\w.#`/:-])\d+(?![\w.:/-]*[\w`]|\.\d)"
KINDS: dict[str, Change] = {
    "default": both(
        replaced(
            r"(?<!` )\{fact\}`(?:default|option|seconds) [^`]*`",
            lambda match: "`False`" if "strict" in match[0] else "7 seconds",
        ),
        replaced(r"(?<=default )\d+(?= s)|\d+(?= s(?:econds)? by default)", more),
    ),
    "order": swapped(two_ways(("before", "after"), ("first", "last"), ("Before", "After"))),
    "negation": both(
        swapped({"is": "is not", "are": "are not", "never": "always", "cannot": "can"}),
        replaced(r"\b(is|are|does|do|must|should|may) not\b", lambda match: match[1]),
    ),
    "name": both(
        swapped(two_ways(("startup", "shutdown"), ("complete", "failed")), code=True),
        swapped(
            two_ways(
                ("startup_timeout", "shutdown_timeout"),
                ("StartupFailed", "ShutdownFailed"),
                ("StartupTimeout", "ShutdownTimeout"),
                ("combine_lifespans", "with_lifespan"),
                ("KeyError", "TypeError"),
            ),
            code=True,
        ),
        replaced(r"(?<=`lifespec )\w+", lambda match: other(match[0], "check", "copy")),
        replaced(r"(?<=`make )\w+", lambda match: other(match[0], "docs", "test")),
    ),
    "invented name": both(
        replaced(r"(?<=`lifespec )\w+", lambda _: "try"),
        replaced(r"(?<=`--)\w+", lambda match: match[0] + "s"),
        replaced(r"(?<=`make )\w+", lambda match: match[0] + "s"),
    ),
    "number": both(
        replaced(NUMBER, more, prose=True),
        swapped(dict(zip(COUNTS, (*COUNTS[1:], "eleven"), strict=True))),
        replaced(r"\{fact\}`((?:count|version|date|python) [^`]*)`", outdated),
    ),
    "level": both(
        swapped(two_ways(("must", "should"), ("error", "warning"), ("errors", "warnings"))),
        swapped({"may": "must", "requires": "recommends"}),
        swapped(two_ways(("ERROR", "WARNING"), ("error", "info")), code=True),
    ),
    "role": swapped(
        two_ways(("server", "application"), ("servers", "applications"), ("Server", "Application"))
    ),
    "word": swapped(
        two_ways(
            ("sends", "receives"),
            ("raises", "returns"),
            ("same", "other"),
            ("new", "old"),
            ("with", "without"),
            ("keeps", "loses"),
            ("accepts", "refuses"),
            ("longer", "shorter"),
            ("reads", "writes"),
            ("works", "fails"),
            ("waits", "goes on"),
            ("open", "closed"),
        )
    ),
    "outcome": replaced(
        rf"(?<=`)(?:{'|'.join(OUTCOMES)})(?=`)",
        lambda match: OUTCOMES[(OUTCOMES.index(match[0]) + 1) % len(OUTCOMES)],
    ),
    "status": replaced(r"(?<=status )\d+(?=\b)", more),
}
ANTONYMS = two_ways(
    ("发送", "接收"),
    ("抛出", "返回"),
    ("相同", "另一"),
    ("保留", "删除"),
    ("读取", "写入"),
    ("允许", "拒绝"),
    ("等待", "跳过"),
    ("创建", "使用"),
    ("记录", "忽略"),
)
CHINESE: dict[str, Change] = {
    "order": replaced("之前|之后", lambda match: {"之前": "之后", "之后": "之前"}[match[0]]),
    "negation": replaced(
        "不会|没有|不", lambda match: {"不会": "会", "没有": "有"}.get(match[0], "")
    ),
    "name": KINDS["name"],
    "invented name": KINDS["invented name"],
    "number": replaced(NUMBER.replace(r"\w", r"A-Za-z0-9_"), more),
    "level": replaced("必须|不得|可以", lambda match: "应" if match[0] == "必须" else "必须"),
    "word": replaced("|".join(ANTONYMS), lambda match: ANTONYMS[match[0]]),
    "role": replaced("服务器|应用程序", lambda m: {"服务器": "应用程序"}.get(m[0], "服务器")),
    "outcome": KINDS["outcome"],
}


def drawn() -> list[Statement]:
    """Return the false statements of the English pages and the README: of each kind a sample."""
    found: dict[str, list[Statement]] = {kind: [] for kind in (*KINDS, "title", "items")}
    for page in (*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"):
        lines = page.read_text("utf-8").splitlines()
        stated = [
            each
            for each in blocks(page.read_text("utf-8"))
            if each.kind in {"text", "table", "title"}
        ]
        for block in stated:
            for kind, change in KINDS.items():
                of = "title" if block.kind == "title" else kind
                found[of] += _of_block(of, change, page.name, block)
        for one, two in itertools.pairwise(stated):
            if STEP.match(lines[one.line - 1]) and one.items == two.items:
                found["items"] += [Statement("items", page.name, one.line, "", one.text, two.text)]
    return _sample(found)


def _of_block(kind: str, change: Change, file: str, block: Block) -> Iterator[Statement]:
    """Yield the changes of a block: of each of its sentences, or rows, the first."""
    parts = block.text.splitlines() if block.kind == "table" else [*sentences(block.text)]
    whole = block.text if block.kind == "table" else " ".join(block.text.split())
    for part in parts:
        for new in list(change(part))[:1]:
            text = whole.replace(part, new, 1)
            yield Statement(kind, file, block.line, block.kind, whole, text)


def _sample(found: dict[str, list[Statement]]) -> list[Statement]:
    chosen = random.Random(SEED)  # noqa: S311  a sample, and no secret
    return [
        each
        for kind in found
        for each in sorted(chosen.sample(found[kind], min(AT_MOST, len(found[kind]))))
    ]


def chinese() -> list[tuple[Statement, str]]:
    """Return the Chinese statements that were changed alone, each with its English."""
    found: dict[str, list[Statement]] = {kind: [] for kind in CHINESE}
    english: dict[Statement, str] = {}
    for path in sorted((ROOT / "locales/zh_CN/LC_MESSAGES").glob("*.po")):
        if not (ROOT / "docs" / f"{path.stem}.md").exists():
            continue
        for entry in polib.pofile(str(path)):
            for kind, change in CHINESE.items():
                for new in list(change(entry.msgstr))[:1]:
                    each = Statement(kind, path.name, entry.linenum or 1, "text", entry.msgstr, new)
                    found[kind].append(each)
                    english[each] = entry.msgid
    return [(each, english[each]) for each in _sample(found)]


def noticed(statement: Statement, own: set[str]) -> str:
    """Return how a statement that both languages make is refused, one of HOW."""
    parts = _rows if statement.block == "table" else _whole
    before, after = (
        {each for part in parts(text) for each in _told(part, own)}
        for text in (statement.old, statement.new)
    )
    if statement.kind == "items":  # what both say is true: only a check of both can know the order
        one, two = (_approved()[0].get((statement.file, each)) for each in statement[-2:])
        same = one and two and one.held and one.evidence == two.evidence
        return "shown" if same else "read" if one and two else "unseen"
    return "known" if after - before else _changed(0, statement)


def _changed(language: int, statement: Statement) -> str:
    """Return how a statement is refused that is not the one that was approved."""
    proof = _approved()[language].get((statement.file, statement.old))
    return "unseen" if not proof else "shown" if proof.held else "read"


def _whole(text: str) -> list[str]:
    return [text]


def _rows(table: str) -> list[str]:
    """Return the rows of a table as the build reads them."""
    head, *rows = table.splitlines()
    default = "default " * ("default" in head.lower())
    return [head, *(default + row.replace("|", " ") for row in rows)]


def _told(text: str, own: set[str]) -> Iterator[str]:
    for match in ROLE.finditer(text):
        role, _, target = match[0][1:-1].partition("}`")
        if target not in _targets().get(role, [target]):
            yield f"links {match[0]}"
    bare = ROLE.sub("…", text)
    for match in LITERAL.finditer(bare):
        for name in names().faults(match[1], own, bare[: match.start()]):
            yield f"names {name}"
    for fact in typed(bare):
        yield f"facts {fact}"


@cache
def _approved() -> tuple[dict[tuple[str, str], Proof], dict[tuple[str, str], Proof]]:
    """Return what is approved by page and text, in English and in Chinese."""
    found = proofs(ROOT)
    english = {
        (f"{page_of(each.file)}.md", text): each for each in found for text in _ways(each.statement)
    }
    return english, {
        (f"{page_of(each.file)}.po", line): each
        for each in found
        for line in each.chinese.split("\n")
    }


def _ways(text: str) -> tuple[str, str]:
    """Return a text as a table stands in a `Statement`, and as a paragraph does."""
    return text, " ".join(text.split())


@lru_cache(maxsize=1)
def _targets() -> dict[str, set[str]]:
    """Return what the roles can name, for which the build fails where there is no such thing."""
    pages = {page.stem for page in (ROOT / "docs").glob("*.md")} | {"api"}
    return {"rule": set(rules()), "fact": set(facts()), "doc": pages}


def in_chinese(english: str, statement: Statement) -> str:
    """Return how a statement is refused that is false in Chinese alone, one of HOW."""
    pair = lint.Pair("", 1, english, statement.new)
    if [*lint.sentences(pair, frozenset({"attrs_inline"}))]:
        return "known"
    alone = [*turned(Texts(english, statement.old), Texts(english, statement.new))]
    return "turned" if alone else _changed(1, statement)


def measured() -> dict[str, Any]:
    """Measure what is noticed of statements that are false in Chinese, or in both languages."""
    own = {
        page.name: {
            word
            for block in blocks(page.read_text("utf-8"))
            if block.kind in {"example", "output", "code", "drawn"}
            for word in words(block.text)
        }
        for page in (*(ROOT / "docs").glob("*.md"), ROOT / "README.md")
    }
    rows: dict[str, list[tuple[Statement, str]]] = {name: [] for name in LANGUAGES}
    rows["both"] = [(each, noticed(each, own[each.file])) for each in drawn()]
    rows["chinese"] = [(each, in_chinese(english, each)) for each, english in chinese()]
    missed = [
        [by, each.kind, f"{each.file}:{each.line}", each.new]
        for each, by in rows["both"]
        if by in {"read", "unseen"}
    ]
    return {name: _counted(found) for name, found in rows.items()} | {"missed": missed}


def _counted(rows: Sequence[tuple[Statement, str]]) -> dict[str, Any]:
    """Count by kind, and by what a statement is about, how they were refused."""
    found: dict[str, dict[str, int]] = {}
    for each, by in rows:
        for key in ("all", each.kind, _subject(each.old)):
            row = found.setdefault(key, dict.fromkeys(("tried", *HOW), 0))
            row["tried"] += 1
            row[by] += 1
    keys = ["all", *SUBJECTS, *KINDS, "title", "items"]
    return {key: found[key] for key in keys if key in found}


def _subject(text: str) -> str:
    """Return which of SUBJECTS a statement is about."""
    if "{rule}`" in text:
        return "rules"
    return "others" if _others().search(text) else "lifespec"


@lru_cache(maxsize=1)
def _others() -> re.Pattern[str]:
    """Return what finds the software that the records measure, or which is named most beside it."""
    names_ = {"docker", "kubernetes", "pytest", "redis", "trio"}
    for record in ("servers", "drivers", "frameworks", "middleware", "hosts"):
        found = json.loads((ROOT / f"docs/matrix/{record}.json").read_text("utf-8"))
        names_ |= {row["name"].partition(",")[0] for row in found["subjects"]}
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, sorted(names_)))})\b", re.IGNORECASE)


def main(arguments: Sequence[str]) -> int:
    """Measure, and write the record."""
    record: dict[str, Any] = {
        "date": time.strftime("%Y-%m-%d"),
        "made_with": made_with("statements"),
    }
    found = measured()
    missed = found.pop("missed")
    record |= found
    RESULT.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", "utf-8")
    for name in LANGUAGES:
        counts = found[name]
        for kind, row in counts.items():
            print(f"drift: {name}, {kind}: {row}")
    if "--show" in arguments:
        for row in missed:
            print(*row)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
