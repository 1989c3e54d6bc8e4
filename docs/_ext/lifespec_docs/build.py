"""Builds the site: examples, catalogs and pages of both languages, or nothing at all.

    python docs/build.py [--into FOLDER [--keep FOLDER] | --explain]

What `lifespec explain` shows is written from these pages into the package, and the words of the
suite's reports from the catalogs; with --explain nothing else is, and no example runs.  A site
built into another folder leaves all else as it is.  What Sphinx has read, a folder for each
language, is kept where --keep says so.

Exit status: 0 the site stands; 1 something is wrong, each fault a line with its file and line;
2 the command was not understood.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

import polib

from lifespec_docs.examples.sandbox import plain
from lifespec_docs.i18n import doctrees
from lifespec_docs.i18n.messages import of_reports
from lifespec_docs.rules.export import as_json, explained

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Build", "counted", "faults", "main", "root_page", "swap"]

HERE = Path(__file__).resolve().parents[2]
ROOT = HERE.parent
CATALOGS = ROOT / "locales" / "zh_CN" / "LC_MESSAGES"
SITE = ROOT / "site"
RULES = ROOT / "src" / "lifespec" / "conformance" / "rules.toml"
EXPLAINED = {"en": "explain.en.json", "zh_CN": "explain.zh.json"}
WORDS = "words.zh.json"
LANGUAGES = {"en": ("en", "English"), "zh_CN": ("zh-cn", "Chinese")}

WARNING = re.compile(
    r"^(?:(?P<file>.+?):(?:(?P<line>\d+):)? )?(?:WARNING|ERROR|CRITICAL): (?P<text>.*)$",
    re.MULTILINE,
)
CRASH = "\nVersions\n========\n"  # how Sphinx begins to tell of its own end
FAULT = re.compile(r"\S+:\d+: ")
POLL = 0.1  # seconds
KIND = re.compile(r" \[[\w.]+\]$")


class Check:
    """The check of the catalogs, by a process of its own."""

    def __init__(self, log: Path) -> None:
        self.log = log
        command = [sys.executable, str(HERE / "catalogs.py"), "--check"]
        self.process = _started(command, log)

    def faults(self) -> list[str]:
        """Return what is wrong with the catalogs."""
        if not self.process.wait():
            return []
        lines = self.log.read_text(encoding="utf-8").splitlines()
        own = [line for line in lines if FAULT.match(line) and not WARNING.match(line)]
        return [_near(line) for line in own] or [_last_words(self.log)]


@dataclass
class Build:
    """One language's pages, built by a process of its own."""

    language: str
    work: Path
    more: Sequence[str] = ()

    def __post_init__(self) -> None:
        self.folder, self.name = LANGUAGES[self.language]
        self.doctrees = self.work / f"doctrees-{self.folder}"
        self.warnings = self.work / f"warnings-{self.folder}.txt"
        self.log = self.work / f"log-{self.folder}.txt"
        self.process = _started(self._command(), self.log)

    def _command(self) -> list[str]:
        options = ["-b", "html", "-q", "-E", "-N", "-n", "-W", "--keep-going"]
        folders = ["-d", str(self.doctrees), "-w", str(self.warnings)]
        target = self.work / "site" / self.folder
        language = ["-D", f"language={self.language}"]
        return [
            sys.executable,
            "-m",
            "sphinx",
            *options,
            *language,
            *folders,
            *self.more,
            str(HERE),
            str(target),
        ]

    @property
    def pages_read(self) -> int:
        """How many pages it has read, its examples run."""
        return sum(1 for _ in self.doctrees.rglob("*.doctree"))

    def report(self) -> Iterator[str]:
        """Say how many pages there are, how many examples ran, and which did not."""
        known = json.loads((self.doctrees / "examples.json").read_text(encoding="utf-8"))
        run = sum(page["run"] for page in known.values())
        yield f"{self.name + ':':<10}{len(known)} pages, {run} examples run"
        for page in known.values():
            yield from (f"  not run: {each}" for each in page["not_run"])

    def faults(self) -> list[str]:
        """Return what Sphinx found wrong; empty where it built the pages."""
        if not self.process.wait():
            return []
        written = self.warnings.read_text(encoding="utf-8") if self.warnings.exists() else ""
        crashed = self.warnings if CRASH in written else self.log
        found = list(faults(written.partition(CRASH)[0]))
        return found if found and CRASH not in written else [*found, _last_words(crashed)]


def _started(command: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as output:
        return subprocess.Popen(command, stdout=output, stderr=output, cwd=ROOT, env=plain())


def faults(warnings: str) -> Iterator[str]:
    """Yield each warning of Sphinx as `file:line: sentence`."""
    for found in WARNING.finditer(warnings):
        where = [found["file"] and os.path.relpath(found["file"], ROOT), found["line"]]
        place = "".join(f"{part}:" for part in where if part)
        yield f"{place} {KIND.sub('', found['text'])}".strip()


def _last_words(log: Path) -> str:
    """Return the sentence a program ended with: of a traceback, the exception's."""
    text = log.read_text(encoding="utf-8").partition("The full traceback")[0]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return re.sub(r"^[\w.]+: ", "", _near(lines[-1])) if lines else "A program ended in silence."


def _near(text: str) -> str:
    """Name files from the project's folder."""
    return text.replace(f"{ROOT}/", "")


def counted(folder: Path) -> dict[str, int]:
    """Count what the catalogs lack: untranslated, fuzzy and obsolete messages."""
    files = [polib.pofile(str(path)) for path in sorted(folder.glob("*.po"))]
    return {
        "untranslated": sum(len(file.untranslated_entries()) for file in files),
        "fuzzy": sum(len(file.fuzzy_entries()) for file in files),
        "obsolete": sum(len(file.obsolete_entries()) for file in files),
    }


def root_page(base: str) -> str:
    """Return the page that sends a reader to a language."""
    text = (HERE / "_templates" / "root.html").read_text(encoding="utf-8")
    return Template(text).substitute(base=f"{base.rstrip('/')}/" if base else "")


def swap(new: Path, site: Path) -> None:
    """Put the new folder where the site stands; the old one stays until the new one is there."""
    old = new.with_name("old")
    if site.exists():
        site.rename(old)
    try:
        new.rename(site)
    except OSError:
        if old.exists():
            old.rename(site)
        raise


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the site, say what was built, and return the exit status."""
    # what a shell starts in the background ignores Ctrl-C, and so would the examples that press it
    signal.signal(signal.SIGINT, signal.default_int_handler)
    parser = argparse.ArgumentParser(prog="docs/build.py", description="Build the site.")
    parser.add_argument("--into", type=Path, default=SITE, help="the site's folder")
    parser.add_argument("--keep", type=Path, help="a folder for the pages as they were read")
    parser.add_argument("--explain", action="store_true", help="the rules of the command alone")
    given = parser.parse_args(arguments)
    into = given.into.resolve()
    into.parent.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix=".site-", dir=into.parent) as work:
        steps = _read(Path(work)) if given.explain else _build(Path(work), into, given.keep)
        found = list(dict.fromkeys(steps))
    if found:
        found.append(f"The site was not built: {_number(len(found), 'fault')}.")
        sys.stderr.write("\n".join(found) + "\n")
        return 1
    if given.explain:
        return 0
    seconds = time.monotonic() - began
    _say(f"Built in {seconds:.0f} s. Open {os.path.relpath(into / 'index.html')}")
    return 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _build(work: Path, into: Path, keep: Path | None) -> Iterator[str]:
    """Build beside the site, and swap where nothing is wrong; yield what is."""
    _say("Reading the pages in two languages, running their examples, checking the catalogs.")
    catalogs = Check(work / "catalogs.txt")
    builds = [Build(language, work) for language in LANGUAGES]
    _wait(builds)
    found = [*catalogs.faults(), *(fault for build in builds for fault in build.faults())]
    if not found:
        english, chinese = (build.doctrees for build in builds)
        found = [str(fault) for fault in doctrees.stored(english, chinese, ROOT)]
    if found:
        yield from found
        return
    page = root_page(os.environ.get("LIFESPEC_BASE_URL", ""))
    (work / "site" / "index.html").write_text(page, encoding="utf-8")
    (work / "site" / ".nojekyll").touch()  # GitHub Pages leaves out what begins with "_" else
    swap(work / "site", into)
    _report(builds)
    if into == SITE:
        _explain(builds)
    if keep:
        keep.mkdir(parents=True)
        for build in builds:
            build.doctrees.rename(keep / build.language)


def _read(work: Path) -> Iterator[str]:
    """Read the pages, and write what the rules say; yield what is wrong."""
    more = "-b", "dummy", "-D", "examples_run=0"
    builds = [Build(language, work, more) for language in LANGUAGES]
    _wait(builds)
    found = [fault for build in builds for fault in build.faults()]
    if not found:
        _explain(builds)
    yield from found


def _wait(builds: Sequence[Build]) -> None:
    """Wait for the builds, and say now and then how far they are."""
    total = sum(1 for suffix in ("md", "rst") for _ in HERE.rglob(f"*.{suffix}"))
    said = ""
    while any(build.process.poll() is None for build in builds):
        states = ", ".join(f"{build.name} {build.pages_read}" for build in builds)
        line = f"  pages read, of {total}: {states}"
        if line != said and sys.stdout.isatty():
            sys.stdout.write(f"\r{line} ")
            sys.stdout.flush()
            said = line
        time.sleep(POLL)
    if said:
        _say("")


def _report(builds: Sequence[Build]) -> None:
    for line in (line for build in builds for line in build.report()):
        _say(f"  {line}")
    rules = tomllib.loads(RULES.read_text(encoding="utf-8"))
    _say(f"  rules:    {len(rules)}, each on a page, each with an example")
    _say("  messages: " + ", ".join(f"{n} {name}" for name, n in counted(CATALOGS).items()))


def _explain(builds: Sequence[Build]) -> None:
    """Write into the package what pages and catalogs say; tell of what has changed."""
    order = list(tomllib.loads(RULES.read_text(encoding="utf-8")))
    for build in builds:
        path = RULES.with_name(EXPLAINED[build.language])
        _keep(path, as_json(explained(build.doctrees, order)))
    _keep(RULES.with_name(WORDS), as_json(of_reports(CATALOGS)))


def _keep(path: Path, text: str) -> None:
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
        _say(f"  changed:  {os.path.relpath(path, ROOT)}")


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
