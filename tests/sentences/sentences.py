"""Which rule each sentence of the texts became: holds sentences.toml against the texts themselves.

    python tests/sentences/sentences.py FOLDER [FOLDER...]

The texts are not ours to copy, so the list knows a sentence by its section, its place there and
the beginning of its sha256.  A folder holds them under the names that the list gives.

Exit status 0: every sentence is as it is listed, and every one that lays a duty on somebody is
listed; 1: not so, each fault a line with file and line; 2: no text is there.
"""

import hashlib
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["DUTIES", "LIST", "Sentence", "faults", "listed", "main", "place", "sentences"]

LIST = Path(__file__).with_name("sentences.toml")
# The words by which a text lays a duty on somebody, or lets somebody off.
DUTIES = re.compile(
    r"\b(must|shall|should|may|will|ensures?|optional|defaults?|sent|exactly|never|cannot"
    r"|required?|expected|free|encouraged|guarantees|permitted|allowed|assume|omit)\b"
    "|必须|应该?(?!用)|将|可选|默认|如果缺少|发送|确保|不会|可以",
    re.IGNORECASE,
)
RULER = re.compile(r"[=\-~'*.]+|=\w+.*|#+|[*•-]")
BULLET = re.compile(r"[*•-]\s+|\d+\.\s+")
END = re.compile(r"(?<=[。！？])|(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)[\"”')*]*\s+(?=[\"“(*`_$]*[A-Z])")


class Sentence(NamedTuple):
    """A sentence: its section, its place there from 1 on, its line in the file, its words."""

    section: str
    ordinal: int
    line: int
    words: str

    @property
    def hash(self) -> str:
        """The beginning of the sha256 of its words."""
        return hashlib.sha256(self.words.encode()).hexdigest()[:16]


def place(rule_id: str) -> str:
    """Return file and line of a rule."""
    root = Path(__file__).parents[2]
    (file,) = (root / "src").rglob("rules.toml")
    lines = file.read_text("utf-8").split("\n")
    line = lines.index(f"[{rule_id}]") + 1 if f"[{rule_id}]" in lines else 1
    return f"{file.relative_to(root).as_posix()}:{line}"


def listed() -> list[dict[str, Any]]:
    """Return the texts of the list."""
    texts: list[dict[str, Any]] = tomllib.loads(LIST.read_text(encoding="utf-8"))["text"]
    return texts


def sentences(content: str, sections: Sequence[dict[str, str]]) -> Iterator[Sentence]:
    """Yield the sentences of a text; a section begins with a line that begins as the list says.

    Where that line is nothing else, it is a heading.  What stands before the first is left out.
    """
    awaited, name, places = list(sections), "", dict.fromkeys(each["name"] for each in sections)
    gathered: list[tuple[int, str]] = []
    for number, line in enumerate([*content.splitlines(), ""], 1):
        if awaited and line.strip().startswith(awaited[0]["begins"]):
            yield from _placed(name, gathered, places)
            gathered, section = [], awaited.pop(0)
            name = section["name"]
            if line.strip() == section["begins"]:
                continue
        gathered.append((number, line))
    yield from _placed(name, gathered, places)


def _placed(
    section: str, lines: list[tuple[int, str]], places: dict[str, int | None]
) -> Iterator[Sentence]:
    if not section:
        return
    for number, paragraph in _paragraphs(lines):
        for words in filter(None, map(str.strip, END.split(paragraph))):
            places[section] = ordinal = (places[section] or 0) + 1
            yield Sentence(section, ordinal, number, words)


def _paragraphs(lines: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield line and words of each paragraph and item; leave out code and lines that rule."""
    begun, words, code, fenced = 0, "", False, False
    for number, line in [*lines, (0, "")]:
        text = line.strip()
        fence = text.startswith("```")
        fenced ^= fence
        code = code and (not text or line.startswith("    "))
        ruled = not text or fence or fenced or code or RULER.fullmatch(text)
        if words and (ruled or BULLET.match(text)):
            yield begun, words
            code = code or (words.endswith("::") and not words.startswith(".."))
            words = ""
        if not (ruled or code):
            begun = begun if words else number
            item = BULLET.match(text)
            words = " ".join([*words.split(), *text[item.end() if item else 0 :].split()])


def faults(text: dict[str, Any], content: str) -> Iterator[str]:
    """Yield what differs between a text and what is listed of it."""
    rows = {(row["section"], row["ordinal"]): row for row in text["sentences"]}
    plain = {section["name"] for section in text["sections"] if "plain" in section}
    begun = set()
    for sentence in sentences(content, text["sections"]):
        section, ordinal, line, words = sentence
        begun.add(section)
        place = f"{text['file']}:{line}: {section}, sentence {ordinal}"
        row = rows.pop((section, ordinal), None)
        duty = DUTIES.search(words)
        if row and row["hash"] != sentence.hash:
            yield f"{place}, is listed as {row['hash']}, and is {sentence.hash}: {words}"
        elif duty and not row and section not in plain:
            yield f"{place}, says “{duty[0]}”, has {sentence.hash} and is not listed: {words}"
    for section in text["sections"]:
        if section["name"] not in begun:
            yield f"{text['file']}:1: no section begins with “{section['begins']}”"
    for section, ordinal in rows:
        yield f"{text['file']}:1: {section} has no sentence {ordinal}, which is listed"


def main(folders: Sequence[str]) -> int:
    """Hold the list against the texts in these folders; return the exit status."""
    found: list[str] = []
    absent: list[str] = []
    held = 0
    for text in listed():
        paths = [path for folder in folders if (path := Path(folder, text["file"])).is_file()]
        for path in paths[:1]:
            found += faults(text, path.read_text(encoding="utf-8"))
            held += len(text["sentences"])
        absent += [] if paths else [text["file"]]
    if not held:
        sys.stderr.write(f"None of these texts is there: {', '.join(absent)}.\n")
        return 2
    sys.stdout.writelines(f"{fault}\n" for fault in found)
    sys.stdout.write(f"{held} sentences of the list were held against their texts.\n")
    if absent:
        sys.stdout.write(f"Texts that were not there: {', '.join(absent)}.\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
