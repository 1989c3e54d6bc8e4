"""Compare sentences.toml with the specifications: which rule each of their sentences became.

    python tests/sentences/sentences.py FOLDER

The specifications are not copied: the list identifies a sentence by its section, its place there
and the beginning of its sha256. FOLDER has them under the names in the list.
Exit status: 1 for a sentence that differs from the list or is missing in it, each a line with file
and line; 2 if FOLDER has none of the specifications.
"""

import hashlib
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LIST = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
# The words by which a specification requires something of somebody, or permits it.
DUTIES = re.compile(
    r"\b(must|shall|should|may|will|ensures?|optional|defaults?|sent|exactly|never|cannot"
    r"|required?|expected|free|encouraged|guarantees|permitted|allowed|assume|omit)\b"
    "|必须|应该?(?!用)|将|可选|默认|如果缺少|发送|确保|不会|可以",
    re.IGNORECASE,
)
RULER = re.compile(r"[=\-~'*.]+|=\w+.*|#+|[*•-]")
BULLET = re.compile(r"[*•-]\s+|\d+\.\s+")
END = re.compile(r"(?<=[。！？])|(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)[\"”')*]*\s+(?=[\"“(*`_$]*[A-Z])")


def sentences(content: str, sections: list[dict[str, str]]) -> Iterator[tuple[str, int, int, str]]:
    """Yield section, place there, line and words of each sentence below the first section."""
    lines, starts = content.splitlines(), [-1]
    for begins in (section["begins"] for section in sections):
        later = range(starts[-1] + 1, len(lines))
        starts.append(next(at for at in later if lines[at].strip().startswith(begins)))
    for section, start, end in zip(sections, starts[1:], [*starts[2:], len(lines)], strict=True):
        first = start + (lines[start].strip() == section["begins"])  # a line that is only a title
        numbered = [*enumerate(lines[first:end], first + 1), (0, "")]
        found = ((at, each) for at, text in _paragraphs(numbered) for each in END.split(text))
        stripped = ((at, words.strip()) for at, words in found if words.strip())
        for ordinal, (at, words) in enumerate(stripped, 1):
            yield section["name"], ordinal, at, words


def _paragraphs(lines: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield line and words of each paragraph and item; leave out code and underlines."""
    begun, words, code, fenced = 0, "", False, False
    for number, line in lines:
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
    """Yield the differences between a specification and its sentences in the list."""
    rows = {(row["section"], row["ordinal"]): row["hash"] for row in text["sentences"]}
    plain = {section["name"] for section in text["sections"] if "plain" in section}
    for section, ordinal, line, words in sentences(content, text["sections"]):
        found, listed = (
            hashlib.sha256(words.encode()).hexdigest()[:16],
            rows.pop((section, ordinal), ""),
        )
        if listed != found and (listed or (DUTIES.search(words) and section not in plain)):
            state = f"is listed as {listed}" if listed else "is not listed"
            yield f"{text['file']}:{line}: {section}, sentence {ordinal}, {found}, {state}: {words}"
    for section, ordinal in rows:
        yield f"{text['file']}:1: {section} has no sentence {ordinal}, which is listed"


if __name__ == "__main__":
    paths = [(text, Path(sys.argv[1], text["file"])) for text in LIST["text"]]
    there = [(text, path) for text, path in paths if path.is_file()]
    found = [line for text, path in there for line in faults(text, path.read_text("utf-8"))]
    print(*found, *(f"{path} is not there." for _, path in paths if not path.is_file()), sep="\n")
    sys.exit(2 if not there else 1 if found else 0)
