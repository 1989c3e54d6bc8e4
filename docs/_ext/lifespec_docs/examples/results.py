"""The results of a page's examples: run, or kept from an earlier build where nothing has changed.

A result is kept under a digest of all that it comes from: Python and what is installed, the page,
the blocks up to it, comments emptied, and our code.  That is the `library` with what runs examples,
or `everything` if a block names more of lifespec.  So both languages share it.  The virtual blocks
of a page run all or none, since one builds on those before; a real block stands by itself.
"""

import fcntl
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lifespec.testing.trace import Entry
from lifespec_docs.examples import runner
from lifespec_docs.examples.runner import Example, ExampleFailed, Run
from lifespec_docs.i18n import comments

__all__ = ["Result", "Results", "keys", "uses_more"]

# what is more than the library that people import: commands, the conformance suite, their data
MORE = re.compile(r"conformance|command\(|lifespec(?!\.\w| import)")


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a block, and whether it was known from an earlier run."""

    done: Run | ExampleFailed
    reused: bool = False


class Results:
    """The results of all pages in a folder; without a folder every example runs."""

    def __init__(self, folder: Path | None, library: str, everything: str) -> None:
        self.folder, self.library, self.everything = folder, library, everything

    def of(self, blocks: Sequence[Example]) -> list[Result]:
        """Return what came of each block of a page, in order."""
        if not blocks:
            return []
        if self.folder is None:
            return [Result(done) for done in runner.results(blocks, range(len(blocks)))]
        name = hashlib.sha256(blocks[0].page.encode()).hexdigest()[:16]
        with _alone(self.folder / name) as file:
            return self._shared(blocks, file)

    def _shared(self, blocks: Sequence[Example], file: Path) -> list[Result]:
        """Take the results that the file has, run the rest, and add what passed."""
        known = _read(file)
        own = keys(blocks, self.library, self.everything)
        found = {number: _run(known[key]) for number, key in enumerate(own) if key in known}
        if any(block.kind != "real" and n not in found for n, block in enumerate(blocks)):
            found = {n: run for n, run in found.items() if blocks[n].kind == "real"}
        wanted = [number for number in range(len(blocks)) if number not in found]
        ran = dict(zip(wanted, runner.results(blocks, wanted), strict=True))
        passed = {
            number: done
            for number, done in ran.items()
            if isinstance(done, Run) and not done.missing
        }
        if passed:
            rows = {own[n]: _row(run) for n, run in sorted((found | passed).items())}
            file.write_text(json.dumps(rows), encoding="utf-8")
        return [
            Result(found[n], reused=True) if n in found else Result(ran[n])
            for n in range(len(blocks))
        ]


def keys(blocks: Sequence[Example], library: str, everything: str) -> list[str]:
    """Return the key of each block: of a virtual one it holds all virtual ones before it."""
    before = library
    found = []
    for block in blocks:
        code = everything if uses_more(block) else ""
        if block.kind != "real":
            before = _digest(before + code, block)
            found.append(before)
        else:
            found.append(_digest(code or library, block))
    return found


def uses_more(block: Example) -> bool:
    """Tell whether a block may use commands, cases or rules."""
    sources = [block.source, *(text for _, text in block.named)]
    return block.language not in ("python", "pycon") or any(map(MORE.search, sources))


def _digest(start: str, block: Example) -> str:
    digest = hashlib.sha256(start.encode())
    about = [block.page, block.line, block.language, block.expected, block.kind]
    needs = [block.needs, block.requests, block.beside, block.named, block.run_by]
    digest.update(json.dumps([*about, _bare(block), *needs]).encode())
    for file in block.beside:
        digest.update(Path(file).read_bytes())
    return digest.hexdigest()


def _bare(block: Example) -> str:
    """Return the code, its comments emptied: it is the same in both languages."""
    try:
        return comments.bare(block.source, block.language)
    except ValueError:
        return block.source  # it does not parse, and will fail


@contextmanager
def _alone(stem: Path) -> Iterator[Path]:
    """Give this process alone the file of a page; another that wants it waits."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    with stem.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield stem.with_suffix(".json")


def _read(file: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}  # never written, or not to its end
    return found


def _row(run: Run) -> list[Any]:
    entries = [
        [[each.time, each.kind, each.type, each.detail] for each in conversation]
        for conversation in run.conversations
    ]
    return [run.output, entries]


def _run(row: Sequence[Any]) -> Run:
    output, conversations = row
    return Run(output, [[Entry(*each) for each in entries] for entries in conversations])
