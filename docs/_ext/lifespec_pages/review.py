"""Print what changed while what it belongs to did not, from git and the catalogs of the pages.

python -m lifespec_pages.review [REVISION]     the revision is main if none is given

That is a sentence, or what stands below it, on every page, in docstrings and in cells; and a
Chinese entry whose English did not change.
"""

import difflib
import io
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path

from babel.messages.pofile import read_po

from lifespec_pages.sentences import Block, Group, Sentence, build, groups

AROUND = 16  # words and spaces that are printed before and after a difference
WORD = re.compile(r"\s+|[\u3400-\u9fff]|[\w.]*\w|[^\w\s]")
Evidence = dict[tuple[str, int], tuple[Sentence, list[str], list[Block]]]


def difference(old: str, new: str) -> str:
    """Return a text with what changed marked, [-old-]{+new+}, and some words around each change."""
    before = WORD.findall(" ".join(old.split()))
    after = WORD.findall(" ".join(new.split()))
    parts = list[str]()
    compared = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for kind, start, end, first, last in compared.get_opcodes():
        if kind == "equal":
            words = before[start:end]
            parts.append(_shortened(words, at_start=start == 0, at_end=end == len(before)))
            continue
        if start < end:
            parts.append(f"[-{''.join(before[start:end])}-]")
        if first < last:
            parts.append(f"{{+{''.join(after[first:last])}+}}")
    return "".join(parts)


def _shortened(words: list[str], *, at_start: bool, at_end: bool) -> str:
    """Return words that did not change, without those far from a change."""
    if len(words) <= 2 * AROUND:
        return "".join(words)
    shown = "…"
    if not at_start:
        shown = "".join(words[:AROUND]).rstrip() + " " + shown
    if not at_end:
        shown += " " + "".join(words[-AROUND:]).lstrip()
    return shown


def _evidence(found: list[Group]) -> Evidence:
    """Return each sentence of a page with all that stands below it, the second of two apart."""
    below: dict[Sentence, list[Block]] = {}
    for group in found:
        for sentence in chain.from_iterable(group.paragraphs):
            below.setdefault(sentence, []).extend(group.blocks)
    evidence: Evidence = {}
    for sentence, blocks in below.items():
        number = sum(text == sentence.text for text, _ in evidence)
        evidence[sentence.text, number] = sentence, [block.text for block in blocks], blocks
    return evidence


def of_page(old: list[Group], new: list[Group]) -> Iterator[str]:
    """Yield each sentence of a page that changed, or whose evidence did, without the other."""
    was = _evidence(old)
    present = _evidence(new)
    shown: tuple[list[str], list[str]] = [], []
    gone = {key: texts for key, (_, texts, _) in was.items() if key not in present}
    for key, (sentence, texts, blocks) in present.items():
        place = f"{sentence.page}:{sentence.line}"
        if sentence.docstring:
            place += f" ({sentence.docstring})"
        if key not in was:
            before = [text for (text, _), others in gone.items() if others == texts]
            if before:
                nearest = max(before, key=partial(_alike, sentence.text))
                changed = difference(nearest, sentence.text)
                yield f"{place}: this changed, and what is below it did not: {changed}"
            continue
        earlier = was[key][1]
        if texts != earlier:
            changed_blocks = (block.line for block in blocks if block.text not in earlier)
            line = next(changed_blocks, sentence.line)
            what = f"what is below it changed (line {line}), and this did not"
            if shown != (earlier, texts):  # once for all sentences above it
                yield from _changed_lines(*shown)
            shown = earlier, texts
            yield f"{place}: {what}: {sentence.text}"
    yield from _changed_lines(*shown)


def _alike(text: str, other: str) -> float:
    return difflib.SequenceMatcher(None, text, other, autojunk=False).ratio()


def _changed_lines(old: list[str], new: list[str]) -> Iterator[str]:
    before, after = ("\n".join(texts).splitlines() for texts in (old, new))
    lines = difflib.unified_diff(before, after, n=0, lineterm="")
    for line in lines:
        if not line.startswith(("---", "+++", "@@")):
            yield f"    {line}"


def of_catalog(name: str, old: str, new: str) -> Iterator[str]:
    """Yield each entry whose Chinese changed while its English did not, both in full."""
    earlier = {entry.id: entry.string for entry in read_po(io.StringIO(old)) if entry.id}
    for entry in read_po(io.StringIO(new)):
        before = earlier.get(entry.id)
        if entry.id and before and entry.string != before:
            yield f"{name}:{entry.lineno}: the Chinese changed, and the English did not: {entry.id}"
            yield f"    -{before}"
            yield f"    +{entry.string}"


def changes(before: Path, now: Path) -> Iterator[str]:
    """Yield what changed alone between two folders of the project."""
    build(before)
    build(now)
    old = groups(before)
    for page, found in groups(now).items():
        yield from of_page(old.get(page, []), found)
    for catalog in sorted([*now.glob("locales/**/*.po"), *now.glob("src/**/*.po")]):
        name = catalog.relative_to(now)
        if (before / name).exists():
            earlier = (before / name).read_text("utf-8")
            yield from of_catalog(str(name), earlier, catalog.read_text("utf-8"))


def main(revision: str = "main") -> None:
    """Print what changed alone since a revision."""
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder, "archive.tar")
        command = ["git", "archive", "--output", str(archive), revision]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{revision!r} is no revision that git can compare with: {done.stderr}")
        with tarfile.open(archive) as members:
            if hasattr(tarfile, "data_filter"):  # Python 3.11.4; what git packs needs no filter
                members.extraction_filter = tarfile.data_filter
            members.extractall(folder)  # noqa: S202
        for line in changes(Path(folder), Path.cwd()):
            sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
