"""Documents to code: every single change to a normative token of what the site is built from."""

import hashlib
import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import polib
import tokens
from journal import ROOT
from tokens import Edit

__all__ = ["GONE", "Change", "changed", "changes", "of_catalog", "of_page", "of_rules"]

RULES = "src/lifespec/conformance/rules.toml"
CASES = "src/lifespec/conformance/cases.toml"
CATALOGS = "locales/zh_CN/LC_MESSAGES"
EXPLAINED = ("explain.en.json", "explain.zh.json")
WORDS = "lifespec"
DRAWN = ("pictures.py", "timeline.py")
FENCE = re.compile(r"^(`{3,}|:{3,})\{?([a-z]*)\}?[ ]*(.*)$")
CASE = {"decision", "conversation"}
RUNS = {"python", "pycon", "perl"}
LEVELS = ("must", "must not", "should", "should not", "may")
Edits = Callable[[str], Iterator[Edit]]


class Change(NamedTuple):
    """One change of a file: what kind of place and of token it is, and the lines before, after."""

    language: str
    place: str
    token: str
    file: str
    line: int
    old: str
    new: str

    @property
    def key(self) -> str:
        """Name the change, so that it is tried once."""
        return hashlib.sha256("\0".join(map(str, self)).encode()).hexdigest()[:16]


def changed(text: str, change: Change, *, strict: bool = True) -> str:
    """Return the text with the change; lines may be gone.  If strict, it has to be there."""
    lines = text.split("\n")
    old = change.old.split("\n")
    at = change.line - 1
    if lines[at : at + len(old)] != old and not strict:
        return text
    if lines[at : at + len(old)] != old:
        raise ValueError(f"{change.file}:{change.line}: this is not {change.old!r}")
    lines[at : at + len(old)] = change.new.split("\n") if change.new != GONE else []
    return "\n".join(lines)


GONE = "\0"
PARTIES = ("server", "application", "middleware")


def _edited(line: str, edits: Edits) -> Iterator[tuple[str, str]]:
    """Yield each change of a line, with the class of its token."""
    seen = {line}
    for edit in edits(line):
        new = line[: edit.start] + edit.new + line[edit.end :]
        if new not in seen:
            seen.add(new)
            yield edit.token, new


class Place(NamedTuple):
    """A line of a page, and what kind of place it is."""

    kind: str
    line: int
    text: str


def places(text: str) -> Iterator[Place]:
    """Yield the lines of a page that can be normative."""
    kind, end = "", ""
    for number, line in enumerate(text.split("\n"), 1):
        if end:
            if line == end:
                kind = end = ""
            elif kind == "case" and re.match(r":(rules|ours|party):", line):
                yield Place("option", number, line)
            elif line.strip() and kind:
                yield Place(kind, number, line)
        elif (found := FENCE.match(line)) and (line.startswith(":::{") or found[1][0] == "`"):
            end = found[1]
            kind = _kind(line, found[2])
            if line.lstrip("`:").startswith("{") and found[3]:
                yield Place("option", number, line)
        elif line.startswith("|") and not re.fullmatch(r"[|: -]+", line):
            yield Place("table", number, line)


def _kind(line: str, name: str) -> str:
    if "{" in line:
        known = {"rule": "rule", "output": "output"}
        return "case" if name in CASE else known.get(name, "option")
    return "example" if name in RUNS else ""


OF: dict[str, Edits] = {
    "rule": tokens.english,
    "case": tokens.english,
    "table": tokens.english,
    "example": tokens.code,
    "output": tokens.printed,
}


def of_page(file: str, text: str, slugs: list[str]) -> Iterator[Change]:
    """Yield the changes of an English page."""
    found = list(places(text))
    for kind, number, line in found:
        edits = _options(line, slugs) if kind == "option" else _edited(line, OF[kind])
        for token, new in edits:
            yield Change("en", kind, token, file, number, line, new)
    for one, two in itertools.pairwise(found):
        if one.kind == two.kind and one.kind in {"table", "output"} and two.line == one.line + 1:
            yield from _rows(one, two, file)


def _rows(one: Place, two: Place, file: str) -> Iterator[Change]:
    """Drop a row, and exchange it with the one before."""
    yield Change("en", one.kind, "row dropped", file, two.line, two.text, GONE)
    if one.text != two.text:
        both, swapped = f"{one.text}\n{two.text}", f"{two.text}\n{one.text}"
        yield Change("en", one.kind, "rows exchanged", file, one.line, both, swapped)


def _options(line: str, slugs: list[str]) -> Iterator[tuple[str, str]]:
    """Name another rule, one rule less, another dialect or party; say what is ours, or not."""
    for slug in re.findall(r"[a-z]+(?:-[a-z]+)+", line):
        if slug in slugs:
            other = slugs[(slugs.index(slug) + 1) % len(slugs)]
            yield "slug", re.sub(rf"(?<![\w-]){slug}(?![\w-])", other, line)
            if line.startswith(":rules:") and line.count(" ") > 1:
                yield "row dropped", re.sub(rf" {slug}(?![\w-])", "", line)
    if line.startswith(":ours:"):
        yield "level", GONE
        yield "level", ":ours:" if line.endswith("too") else ":ours: too"
    yield from _edited(line, tokens.code)
    if line.startswith(":party:"):
        yield from _edited(line, tokens.printed)


def of_rules(text: str) -> Iterator[Change]:
    """Yield the changes of the rules' file."""
    lines = text.split("\n")
    sections = list(dict.fromkeys(re.findall(r'section = "([^"]+)"', text)))
    headers = [n for n, line in enumerate(lines) if re.fullmatch(r"\[[a-z-]+\]", line)]
    for number, line in enumerate(lines, 1):
        for token, new in _of_rule_line(line, sections):
            yield Change("both", "rules.toml", token, RULES, number, line, new)
    for one, two in zip(headers, [*headers[1:], len(lines) - 1], strict=True):
        rule = "\n".join(lines[one:two])
        yield Change("both", "rules.toml", "row dropped", RULES, one + 1, rule, GONE)
    for one, two in itertools.pairwise(headers):
        rule = lines[one : two + 1]
        swapped = "\n".join([rule[-1], *rule[1:-1], rule[0]])
        yield Change(
            "both", "rules.toml", "rows exchanged", RULES, one + 1, "\n".join(rule), swapped
        )


def _of_rule_line(line: str, sections: list[str]) -> Iterator[tuple[str, str]]:
    """Change a line of a rule: its party, or one of its sources."""
    if found := re.match(r'(party|observable) = "(\w+)"', line):
        others = {"party": ("server", "application")}
        for other in others.get(found[1], ("server", "application", "no")):
            if other != found[2]:
                yield found[1], line.replace(found[2], other)
    if "dialects = [" in line:
        yield "row dropped", GONE
        yield from _of_source(line, sections)


def _of_source(line: str, sections: list[str]) -> Iterator[tuple[str, str]]:
    if found := re.search(r'level = "([^"]+)"', line):
        for step in (1, 2):  # of the five
            other = LEVELS[(LEVELS.index(found[1]) + step) % len(LEVELS)]
            yield "level", line.replace(found[0], f'level = "{other}"')
    if found := re.search(r'section = "([^"]+)"', line):
        other = sections[(sections.index(found[1]) + 1) % len(sections)]
        yield "section", line.replace(found[0], f'section = "{other}"')
    for dialect in re.findall(r'"((?:asgi|amgi|pagi) [\d.]+)"', line):
        rest = re.sub(rf'"{re.escape(dialect)}"(?:, )?', "", line, count=1).replace(", ]", "]")
        yield "dialect", rest
    if 'text = "' in line:
        yield "text", re.sub(r' text = "\w+",', "", line)


def of_cases(text: str, slugs: list[str], phrases: list[str]) -> Iterator[Change]:
    """Yield the changes of the suite's cases."""
    lines, found, table = text.split("\n"), [], ""
    for number, line in enumerate(lines, 1):
        table = line.strip("[]").rpartition(".")[2] if line.startswith("[") else table
        for token, new in _of_case_line(line, table, slugs, phrases):
            found.append(Change("both", "cases.toml", token, CASES, number, line, new))
    for number, (one, two) in enumerate(itertools.pairwise(lines), 1):
        if one.startswith("  ") and two.startswith("  ") and one != two:
            rows = f"{one}\n{two}", f"{two}\n{one}"
            found.append(Change("both", "cases.toml", "rows exchanged", CASES, number, *rows))
    yield from found


def _of_case_line(
    line: str, table: str, slugs: list[str], phrases: list[str]
) -> Iterator[tuple[str, str]]:
    if line.startswith("  "):
        yield "row dropped", GONE
    if line.startswith(("  ", "party", "script")):
        yield from _edited(line, tokens.printed)
    elif line.startswith("dialects"):
        yield from (("dialect", new) for _, new in _edited(line, tokens.code))
    elif table in {"expect", "silent"} and (found := re.match("([a-z-]+) = (.*)", line)):
        yield "row dropped", GONE
        slug, rest = found.groups()
        if slug in slugs:
            other = slugs[(slugs.index(slug) + 1) % len(slugs)]
            yield "slug", f"{other} = {rest}"
        phrase = rest.strip('"')
        if phrase in phrases:
            other = phrases[(phrases.index(phrase) + 1) % len(phrases)]
            yield "phrase", f'{slug} = "{other}"'


def of_catalog(file: str, path: Path, kinds: dict[str, str]) -> Iterator[Change]:
    """Yield the changes of a Chinese catalog: its lines of one translation each."""
    lines = path.read_text("utf-8").split("\n")
    rows: list[tuple[int, str]] = []
    for number, line in enumerate(lines, 1):
        if not (line.startswith('msgstr "') and line != 'msgstr ""'):
            continue
        english = polib.unescape(lines[number - 2][len('msgid "') : -1])
        kind = kinds.get(english, "text")
        place = "rule" if kind.startswith("rule ") else kind
        edits = _comment if kind == "comment" else tokens.chinese
        for token, new in _edited(line[8:-1], edits):
            yield Change("zh", place, token, file, number, line, f'msgstr "{new}"')
        yield Change("zh", place, "row dropped", file, number, line, 'msgstr ""')
        rows.append((number, line))
    for (one, text), (two, other) in itertools.pairwise(rows):
        if two - one <= GAP:
            both = lines[one - 1 : two]
            swapped = "\n".join([other, *both[1:-1], text])
            yield Change("zh", "text", "rows exchanged", file, one, "\n".join(both), swapped)


GAP = 4  # lines between two translations that stand together


def _comment(text: str) -> Iterator[Edit]:
    """Make code of a comment, or a comment that a tool would obey; change its numbers."""
    yield Edit("comment", 0, len(text), text.lstrip("# ") or "x")
    yield Edit("comment", 0, len(text), f"# type: {text.lstrip('# ')}")
    yield Edit("comment", 0, len(text), text + "\\nraise SystemExit")
    yield from tokens.common(text)


def of_messages(file: str, messages: Iterable[tuple[str, str]]) -> Iterator[Change]:
    """Yield the changes of the rest of a page's prose: of its messages, with their kinds."""
    for number, (text, kind) in enumerate(messages, 1):
        if kind in {"text", "title", "comment"}:
            for token, new in _edited(text, tokens.english):
                yield Change("en", kind, token, file, number, text, new)


def of_json(file: str, text: str) -> Iterator[Change]:
    """Yield the changes of the package's copy of the rules."""
    language = "zh" if ".zh." in file else "en"
    edits = tokens.chinese if language == "zh" else tokens.english
    for number, line in enumerate(text.split("\n"), 1):
        for token, new in _edited(line, edits):
            yield Change(language, "explain", token, file, number, line, new)


def of_drawing(file: str, text: str) -> Iterator[Change]:
    """Yield the changes of what a picture says of the protocol."""
    for number, line in enumerate(text.split("\n"), 1):
        for token, new in _edited(line, _drawn):
            yield Change("both", "diagram", token, file, number, line, new)


def _drawn(line: str) -> Iterator[Edit]:
    for found in re.finditer(r'"[^"]*"', line):
        edits = (
            tokens.each("event", tokens.EVENT, found[0], tokens.other_event),
            tokens.each("party", tokens.PARTIES, found[0], tokens.other_party),
        )
        for edit in itertools.chain.from_iterable(edits):
            yield edit._replace(start=edit.start + found.start(), end=edit.end + found.start())


def changes(kinds: dict[str, dict[str, str]], slugs: list[str]) -> list[Change]:
    """Return all changes; `kinds` are those of the messages, by catalog."""
    found: list[Change] = []
    for path in sorted((ROOT / "docs").glob("*.md")):
        found += of_page(f"docs/{path.name}", path.read_text("utf-8"), slugs)
    found += of_rules((ROOT / RULES).read_text("utf-8"))
    if (ROOT / CASES).exists():
        text = (ROOT / CASES).read_text("utf-8")
        phrases = sorted(set(re.findall(r'^[a-z-]+ = "([a-z ]+)"$', text, re.MULTILINE)))
        found += of_cases(text, slugs, [each for each in phrases if each not in PARTIES])
    for path in sorted((ROOT / CATALOGS).glob("*.po")):
        if path.stem in kinds:
            if path.stem != WORDS:
                found += of_messages(f"docs/{path.stem}", kinds[path.stem].items())
            found += of_catalog(f"{CATALOGS}/{path.name}", path, kinds[path.stem])
    for name in EXPLAINED:
        file = f"src/lifespec/conformance/{name}"
        found += of_json(file, (ROOT / file).read_text("utf-8"))
    for name in DRAWN:
        found += of_drawing(f"docs/_ext/{name}", (ROOT / "docs/_ext" / name).read_text("utf-8"))
    return list(dict.fromkeys(found))
