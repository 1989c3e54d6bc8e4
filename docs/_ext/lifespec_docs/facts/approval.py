"""The rules are approved: a changed one, in either language, is a fault until then.

An approval is the hash of a rule's row in rules.toml, of its sentences in Chinese, and of the
sentences of the specifications that became the rule.  `docs/approved.json` has one for each rule.
`make review RULE=…` shows all of it with the cases and the example, and `make approve RULE=…` asks
after that.
"""

import hashlib
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import polib

from lifespec.conformance import cases
from lifespec.conformance import rules as rulebook
from lifespec.conformance.data_files import DataError
from lifespec.conformance.explain import wrapped
from lifespec.conformance.rules import Rule
from lifespec_docs.facts.blocks import blocks

__all__ = ["APPROVED", "approve", "faults", "indented", "rules", "told", "unreadable", "waiting"]

APPROVED = "docs/approved.json"
DATA = "src/lifespec/conformance/data"
SENTENCES = "tests/sentences/sentences.toml"
CHINESE = "rules.zh.po"
# What a row says that is approved: all but where it is drawn, and what the suite does with it.
STATED = "role", "says", "source", "wording", "ours", "hint", "hint-middleware"
WIDTH = 80


def _chinese(root: Path) -> dict[str, str]:
    path = root / DATA / CHINESE
    if not path.exists():
        return {}
    return {entry.msgid: entry.msgstr for entry in polib.pofile(str(path))}


def _sentences_of(rule: Rule) -> list[str]:
    return [*rule.boxes.values(), *(hint for _role, _head, hint in rule.hints)]


def _example(root: Path, rule: Rule) -> str:
    """Return the first example of its page, with output, whose paragraphs above link to a rule."""
    path = root / "docs" / f"{rule.page}.md"
    found = blocks(path.read_text(encoding="utf-8")) if path.exists() else []
    linked = False
    for place, block in enumerate(found):
        if block.kind == "example" and linked:
            below = [each.text for each in found[place + 1 : place + 2] if each.kind == "output"]
            return "-----\n".join([block.text, *below])
        named = f"{{rule}}`{rule.rule_id}`" in block.text
        linked = linked if block.kind == "check" else block.kind == "text" and (linked or named)
    return ""


def _toml(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def rules(root: Path) -> Mapping[str, Rule]:
    """Return the rules of rules.toml, or none if there is no such file."""
    path = root / DATA / "rules.toml"
    return rulebook.read(path.read_text("utf-8"), path.name) if path.exists() else {}


def unreadable() -> list[str]:
    """Return the faults of the package's rules and cases, which all else reads, a line each."""
    try:
        rulebook.rules()
        cases.load()
    except DataError as error:
        return [f"{DATA}/{line}" for line in str(error).splitlines()]
    return []


def _now(root: Path) -> dict[str, str]:
    """Return the hash of each rule as it is."""
    chinese, known = _chinese(root), rules(root)
    rows = _toml(root / DATA / "rules.toml") if known else {}
    cited: dict[str, list[str]] = {}
    for _, row in _cited(root):
        for rule_id in row["rule_ids"]:
            cited.setdefault(rule_id, []).append(row["hash"])
    return {
        rule_id: _hash(
            {key: rows[rule_id][key] for key in STATED if key in rows[rule_id]},
            [chinese.get(sentence, "") for sentence in _sentences_of(rule)],
            cited.get(rule_id, []),
        )
        for rule_id, rule in known.items()
    }


def _hash(*parts: object) -> str:
    text = json.dumps(parts, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _approved(root: Path) -> dict[str, str]:
    path = root / APPROVED
    found: dict[str, str] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return found


def waiting(root: Path) -> list[str]:
    """Return the rules that are not those that were approved."""
    approved = _approved(root)
    return [rule for rule, hash_ in _now(root).items() if approved.get(rule) != hash_]


def faults(root: Path) -> Iterator[str]:
    """Yield a line for each rule that waits for an approval."""
    known = rules(root)
    for rule_id in waiting(root):
        yield (
            f"{DATA}/rules.toml:{known[rule_id].line}: the rule {rule_id!r} is not approved as it "
            f"stands here and in {CHINESE}: `make approve RULE={rule_id}` shows it, and asks."
        )


def approve(root: Path, rules: Iterable[str]) -> None:
    """Write down that these rules are approved as they are; forget rules that are gone."""
    now, approved = _now(root), _approved(root)
    rows = {rule: now[rule] if rule in rules else approved.get(rule) for rule in now}
    kept = {rule: hash_ for rule, hash_ in rows.items() if hash_}
    (root / APPROVED).write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def told(root: Path, rule_id: str, sources: Path | None = None) -> Iterator[str]:
    """Yield the lines that show a rule: sources, both languages, cases and example.

    `sources` is a folder that has the specifications: their sentences are shown, too.
    """
    rule, chinese = rules(root)[rule_id], _chinese(root)
    yield f"=== {rule_id} ({rule.role}) ".ljust(WIDTH, "=")
    for source in rule.sources:
        core = f", text {source.text}" if source.text else ""
        yield f"{', '.join(source.specs)}: {source.level}, “{source.section}”{core}"
    cited = [(text, each) for text, each in _cited(root) if rule_id in each["rule_ids"]]
    for text, each in cited:
        place = f"{text['file']}, {each['section']}, sentence {each['ordinal']}"
        yield from indented(f"{place}: {_words(sources, text, each)}" if sources else place)
    if cited and not sources:
        yield "    (no specifications at hand: SOURCES=FOLDER shows these sentences)"
    for group, sentence in rule.boxes.items():
        yield f"--- {', '.join(group) or 'sentence'}"
        yield from indented(sentence)
        yield from indented(chinese.get(sentence) or "(not translated)")
    for role, _head, hint in rule.hints:
        yield f"--- hint {role}".rstrip()
        yield from indented(hint)
        yield from indented(chinese.get(hint) or "(not translated)")
    yield "--- cases"
    for line in _cases(root, rule_id) or [rule.unseen or "none"]:
        yield from indented(line)
    yield "--- example"
    example = _example(root, rule) or f"none: link to {{rule}}`{rule_id}` in the paragraph above it"
    yield from (f"    {line}".rstrip()[:WIDTH] for line in example.splitlines())


def indented(text: str, sign: str = "    ") -> Iterator[str]:
    """Yield a text in lines, in either language, each after four columns; the first has a sign."""
    lines = [line for part in text.split("\n") for line in wrapped(part, WIDTH - 4)]
    yield from (f"{'    ' if place else sign}{line}" for place, line in enumerate(lines))


def _cases(root: Path, rule: str) -> list[str]:
    rows = _toml(root / DATA / "cases.toml").items()
    return [f"{name}: {row['says']}" for name, row in rows if rule in row.get("expect", {})]


def _cited(root: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield each sentence that became a rule, behind the specification that has it."""
    path = root / SENTENCES
    for text in _toml(path)["text"] if path.exists() else ():
        yield from ((text, row) for row in text["sentences"] if "rule_ids" in row)


def _words(folder: Path, text: dict[str, Any], row: dict[str, Any]) -> str:
    if not (folder / text["file"]).exists():
        return f"{folder} has no such file"
    found = _sentences(folder / text["file"], json.dumps(text["sections"]))
    return found.get(f"{row['section']} {row['ordinal']}", "there is no such sentence")


@lru_cache(maxsize=16)
def _sentences(path: Path, sections: str) -> dict[str, str]:
    of_tests = import_module("sentences")  # of tests/sentences, which docs/review.py puts there
    found = of_tests.sentences(path.read_text(encoding="utf-8"), json.loads(sections))
    return {f"{each.section} {each.ordinal}": each.words for each in found}
