"""Runs Sphinx for one language, and tells what it did and what it found wrong."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lifespec_docs import increment
from lifespec_docs.examples.sandbox import plain

__all__ = ["LANGUAGES", "Build", "faults", "numbered", "read_json"]

LANGUAGES = {"en": ("en", "English"), "zh_CN": ("zh-cn", "Chinese")}
WARNING = re.compile(
    r"^(?:(?P<file>.+?):(?:(?P<line>\d+):)? )?"
    r"(?:WARNING|ERROR|CRITICAL): (?P<text>.*(?:\n    .*)*)$",
    re.MULTILINE,
)
CRASH = "\nVersions\n========\n"  # how Sphinx begins to tell of its own end
KIND = re.compile(r" \[[\w.]+\]$")


@dataclass
class Build:
    """One language's site of the folder `pages`, built by a process of its own in `work`."""

    language: str
    pages: Path
    work: Path
    more: Sequence[str] = ()
    process: subprocess.Popen[bytes] = field(init=False)

    def __post_init__(self) -> None:
        self.folder, self.name = LANGUAGES[self.language]
        self.doctrees = self.work / self.folder / "doctrees"
        self.html = self.work / self.folder / "html"
        self.warnings = self.work / f"warnings-{self.folder}.txt"
        self.log = self.work / f"log-{self.folder}.txt"

    def start(self) -> None:
        """Start Sphinx."""
        self.process = self._spawn()

    def _spawn(self) -> subprocess.Popen[bytes]:
        folder = self.pages.parent
        with self.log.open("wb") as output:
            return subprocess.Popen(
                self._command(), stdout=output, stderr=output, cwd=folder, env=plain()
            )

    def _command(self) -> list[str]:
        options = ["-b", "html", "-q", "-N", "-n", "-W", "--keep-going"]
        folders = ["-d", str(self.doctrees), "-w", str(self.warnings)]
        language = ["-D", f"language={self.language}"]
        last = [str(self.pages), str(self.html)]
        return [sys.executable, "-m", "sphinx", *options, *language, *folders, *self.more, *last]

    @property
    def pages_read(self) -> int:
        """How many pages are read, their examples run."""
        return sum(1 for _ in self.doctrees.rglob("*.doctree"))

    def known(self) -> dict[str, Any]:
        """Return what is known of the examples of each page."""
        return read_json(self.doctrees / "examples.json")

    def counts(self) -> dict[str, int]:
        """Return how many examples each page has, where it has any."""
        known = {name: len(page["blocks"]) for name, page in self.known().items()}
        return {name: count for name, count in sorted(known.items()) if count}

    def done(self) -> dict[str, Any]:
        """Return what this build did."""
        return read_json(self.doctrees / increment.DONE)

    def report(self) -> Iterator[str]:
        """Say how many pages and examples there are, what was done again, and how long it took."""
        known, done = self.known(), self.done()
        total = sum(page["run"] for page in known.values())
        yield (
            f"{self.name + ':':<10}{numbered(len(known), 'page')}, {len(done['read'])} read; "
            f"{numbered(total, 'example')}, {done['ran']} run"
        )
        yield (
            f"          {done['reading']:.1f} s to read, with {done['examples']:.1f} s for "
            f"examples; {done['writing']:.1f} s to write"
        )
        for page in known.values():
            yield from (f"  not run: {each}" for each in page["not_run"])

    def faults(self) -> list[str]:
        """Return what Sphinx found wrong; empty where it built the pages."""
        if not self.process.wait():
            return []
        written = self.warnings.read_text(encoding="utf-8") if self.warnings.exists() else ""
        crashed = self.warnings if CRASH in written else self.log
        root = self.pages.parent
        found = list(faults(written.partition(CRASH)[0], root))
        return found if found and CRASH not in written else [*found, _last_words(crashed, root)]


def read_json(file: Path) -> dict[str, Any]:
    """Return the object that a file holds."""
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def faults(warnings: str, root: Path) -> Iterator[str]:
    """Yield each warning of Sphinx as `file:line: sentence`, and what is indented below it.

    Files are named from `root`.
    """
    for found in WARNING.finditer(warnings):
        where = [found["file"] and os.path.relpath(found["file"], root), found["line"]]
        place = "".join(f"{part}:" for part in where if part)
        yield f"{place} {KIND.sub('', found['text'])}".strip()


def _last_words(log: Path, root: Path) -> str:
    """Return the sentence a program ended with: of a traceback, the exception's."""
    text = log.read_text(encoding="utf-8").partition("The full traceback")[0]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    last = lines[-1] if lines else "A program ended in silence."
    return re.sub(r"^[\w.]+: ", "", last.replace(f"{root}/", ""))


def numbered(count: int, noun: str) -> str:
    """Return the number and the noun, in the plural where it must be."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
