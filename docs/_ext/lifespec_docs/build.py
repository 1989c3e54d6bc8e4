"""Builds the site: examples, catalogs and pages of both languages, or nothing at all.

    python docs/build.py [--into FOLDER] [--release] [--fresh]

What a good build read and wrote stays in `build/docs`, and what has not changed since is not done
again.  With --fresh nothing is reused, and each language runs all its examples for itself.

A site built into another folder leaves all else as it is.

An entry of a catalog that waits for a translation is shown in English and counted; with --release
it is a fault.

Exit status: 0 the site stands; 1 something is wrong, each fault a line with its file and line;
2 the command was not understood.
"""

from __future__ import annotations

import argparse
import fcntl
import filecmp
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polib

from lifespec_docs import increment, packages, site_root, translate
from lifespec_docs.examples.sandbox import plain
from lifespec_docs.facts import approval, proofs, translated
from lifespec_docs.i18n import catalogs, extraction
from lifespec_docs.i18n.compilation import compile_catalogs
from lifespec_docs.inputs import Inputs
from lifespec_docs.lint import doctrees
from lifespec_docs.live import assets

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Build", "counted", "faults", "main", "swap"]

HERE = Path(__file__).resolve().parents[2]
ROOT = HERE.parent
CATALOGS = ROOT / "locales" / "zh_CN" / "LC_MESSAGES"
SITE = ROOT / "site"
COUNTS = HERE / "examples.json"  # how many examples each page has: fewer is a fault
KEPT = ROOT / "build" / "docs"  # of the last good build: doctrees, pages, inputs, results
RULES = ROOT / "src" / "lifespec" / "conformance" / "data" / "rules.toml"
LANGUAGES = {"en": ("en", "English"), "zh_CN": ("zh-cn", "Chinese")}

WARNING = re.compile(
    r"^(?:(?P<file>.+?):(?:(?P<line>\d+):)? )?(?:WARNING|ERROR|CRITICAL): (?P<text>.*)$",
    re.MULTILINE,
)
CRASH = "\nVersions\n========\n"  # how Sphinx begins to tell of its own end
POLL = 0.1  # seconds
KIND = re.compile(r" \[[\w.]+\]$")


@dataclass
class Build:
    """One language's pages, built by a process of its own in the folder `work`."""

    language: str
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
        self.process = _started(self._command(), self.log)

    def _command(self) -> list[str]:
        options = ["-b", "html", "-q", "-N", "-n", "-W", "--keep-going"]
        folders = ["-d", str(self.doctrees), "-w", str(self.warnings)]
        language = ["-D", f"language={self.language}"]
        last = [str(HERE), str(self.html)]
        return [sys.executable, "-m", "sphinx", *options, *language, *folders, *self.more, *last]

    @property
    def pages_read(self) -> int:
        """How many pages are read, their examples run."""
        return sum(1 for _ in self.doctrees.rglob("*.doctree"))

    def known(self) -> dict[str, Any]:
        """Return what is known of the examples of each page."""
        return _json(self.doctrees / "examples.json")

    def counts(self) -> dict[str, int]:
        """Return how many examples each page has, where it has any."""
        known = {name: len(page["blocks"]) for name, page in self.known().items()}
        return {name: count for name, count in sorted(known.items()) if count}

    def done(self) -> dict[str, Any]:
        """Return what this build did."""
        return _json(self.doctrees / increment.DONE)

    def report(self) -> Iterator[str]:
        """Say how many pages and examples there are, what was done again, and how long it took."""
        known, done = self.known(), self.done()
        total = sum(page["run"] for page in known.values())
        yield (
            f"{self.name + ':':<10}{_number(len(known), 'page')}, {len(done['read'])} read; "
            f"{_number(total, 'example')}, {done['ran']} run"
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
        found = list(faults(written.partition(CRASH)[0]))
        return found if found and CRASH not in written else [*found, _last_words(crashed)]


def _json(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


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


def counted(*folders: Path) -> dict[str, int]:
    """Count the messages of the catalogs, and those that wait for a translation."""
    paths = (path for folder in folders for path in folder.glob("*.po"))
    entries = [entry for path in paths for entry in polib.pofile(str(path))]
    return {
        "in all": len(entries),
        "waiting for a translation": sum(map(catalogs.is_waiting, entries)),
    }


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
    parser.add_argument("--release", action="store_true", help="let no entry wait")
    parser.add_argument("--fresh", action="store_true", help="reuse nothing")
    given = parser.parse_args(arguments)
    into = given.into.resolve()
    into.parent.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with _alone(KEPT), tempfile.TemporaryDirectory(prefix=".site-", dir=into.parent) as work:
        if given.release and (waiting := translate.waiting(ROOT)):
            steps = iter([str(fault) for fault in waiting])
        elif given.fresh:
            steps = _fresh(Path(work), into)
        else:
            steps = _renewed(Path(work), into)
        found = list(dict.fromkeys(steps))
    if found:
        found.append(f"The site was not built: {_number(len(found), 'fault')}.")
        sys.stderr.write("\n".join(found) + "\n")
        return 1
    seconds = time.monotonic() - began
    _say(f"Built in {seconds:.1f} s. Open {os.path.relpath(into / 'index.html')}")
    return 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _fresh(work: Path, into: Path) -> Iterator[str]:
    """Build from nothing, and run the examples of each language; yield what is wrong."""
    _say("Reading all pages in two languages, running the examples of each, checking the catalogs.")
    compile_catalogs(ROOT / "locales")
    builds = [Build(language, work, _live_size()) for language in LANGUAGES]
    found = list(_built(builds))
    if found:
        yield from found
        return
    _report(builds)
    assets.assemble(ROOT, work / assets.FOLDER)
    packages.assemble(ROOT, work / packages.FOLDER)
    _finish(builds, work, into)


def _renewed(work: Path, into: Path) -> Iterator[str]:
    """Build what has changed since the last good build, and keep all of it; yield what is wrong."""
    before = Inputs.read(KEPT / "inputs.json")
    now = Inputs.now(ROOT, before.programs if before else ())
    if now == before:
        builds = [Build(language, KEPT) for language in LANGUAGES]
        found = list(_lost_examples(builds[0].counts()))
        if found:
            yield from found
            return
        _say("Nothing has changed since the last build.")
        _finish(builds, work, into)
        return
    compile_catalogs(ROOT / "locales", _changed_catalogs(now, before))
    results = {"kept": KEPT / "examples", "code": now.code, "library": now.library}
    options = (("-D", f"examples_{name}={value}") for name, value in results.items())
    more = [*(part for option in options for part in option), *_live_size()]
    builds = [Build(language, work, more) for language in LANGUAGES]
    if before and before.frame == now.frame:
        changed = now.changed(before)
        _say(f"Since the last build {_number(len(changed), 'file')} changed: reading on.")
        _take_over(builds, changed)
    else:
        _say("Reading all pages in two languages, running examples, checking the catalogs.")
    found = list(_built(builds))
    if found:
        yield from found
        return
    _report(builds)
    _keep_all(builds, now)
    _finish([Build(language, KEPT) for language in LANGUAGES], work, into)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Let one build at a time use what is kept, and write what the repository holds of it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _say("Another build runs here: waiting for its end.")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _live_size() -> Sequence[str]:
    """Tell Sphinx how much a page has to load before its examples run, if they can."""
    runtime = assets.runtime(ROOT)
    return ("-D", f"live_size={assets.megabytes(runtime)}") if runtime else ()


def _changed_catalogs(now: Inputs, before: Inputs | None) -> set[Path]:
    names = now.changed(before) if before else now.files
    return {ROOT / name for name in names if name.endswith(".po")}


def _take_over(builds: Sequence[Build], changed: Sequence[str]) -> None:
    """Begin where the last good build ended; what fails now leaves that as it is."""
    for build in builds:
        shutil.copytree(KEPT / build.folder, build.work / build.folder)
        (build.doctrees / increment.MESSAGES).unlink(missing_ok=True)
        (build.doctrees / increment.CHANGED).write_text(json.dumps(changed), encoding="utf-8")


def _keep_all(builds: Sequence[Build], now: Inputs) -> None:
    """Keep what was built, and from what; an interrupted one is no good build."""
    (KEPT / "inputs.json").unlink(missing_ok=True)
    for build in builds:
        shutil.rmtree(KEPT / build.folder, ignore_errors=True)
        shutil.move(build.work / build.folder, KEPT / build.folder)
    assets.assemble(ROOT, KEPT / assets.FOLDER)
    packages.assemble(ROOT, KEPT / packages.FOLDER)
    needs = {
        program
        for build in builds
        for page in Build(build.language, KEPT).known().values()
        for block in page["blocks"]
        for program in block["needs"]
    }
    replace(now, programs=Inputs.now(ROOT, needs).programs).write(KEPT / "inputs.json")


def _built(builds: Sequence[Build]) -> Iterator[str]:
    """Build both languages and check the catalogs; yield what is wrong."""
    for build in builds:
        build.start()
    english, chinese = builds
    approved = (each.faults(ROOT) for each in (approval, proofs, translated))
    wrong = [*_catalog_faults(english), *itertools.chain(*approved)]
    _wait(builds)
    found = [*wrong, *(fault for build in builds for fault in build.faults())]
    if not found:
        read = {*english.done()["read"], *chinese.done()["read"]}
        stored = doctrees.stored(english.doctrees, chinese.doctrees, ROOT, read)
        found = [*map(str, stored), *_lost_examples(english.counts())]
    yield from found


def _lost_examples(now: dict[str, int]) -> Iterator[str]:
    """Yield where a page has fewer examples than it had."""
    for line, (name, before) in enumerate(_json(COUNTS).items() if COUNTS.exists() else (), 2):
        if now.get(name, 0) < before:
            yield (
                f"{os.path.relpath(COUNTS, ROOT)}:{line}: the page {name!r} had "
                f"{_number(before, 'example')} and has {now.get(name, 0)}: change this line "
                "if they went on purpose."
            )


def _catalog_faults(english: Build) -> Iterator[str]:
    """Check the catalogs while the pages are written: their messages are known by then."""
    messages = english.doctrees / increment.MESSAGES
    while not messages.exists() and english.process.poll() is None:
        time.sleep(POLL)
    if messages.exists():
        yield from map(str, translate.faults(ROOT, extraction.read(messages)))


def _finish(builds: Sequence[Build], work: Path, into: Path) -> None:
    """Publish the pages; where that is the site, write down what the repository holds of them."""
    _publish(builds, work, into)
    if into == SITE:
        _keep(COUNTS, json.dumps(builds[0].counts(), indent=1) + "\n")


def _publish(builds: Sequence[Build], work: Path, into: Path) -> None:
    """Put copies of the pages where the site stands; leave it alone where they stand there."""
    base, templates = os.environ.get("LIFESPEC_BASE_URL", ""), HERE / "_templates" / "root"
    doctrees = {build.language: build.doctrees for build in builds}
    root = site_root.files(base, templates, doctrees)
    stands = all(_holds(into / name, text) for name, text in root.items())
    folders = {build.folder: build.html for build in builds}
    if (live := builds[0].work / assets.FOLDER).exists():
        folders[assets.FOLDER] = live
    offered = builds[0].work / packages.FOLDER
    folders[packages.INDEX] = offered / packages.INDEX
    loose = [path for path in offered.iterdir() if path.is_file()]
    _, *others = filecmp.cmpfiles(offered, into, [path.name for path in loose])
    stands = stands and not any(others)
    if stands and all(_same(folder, into / name) for name, folder in folders.items()):
        return
    for name, folder in folders.items():
        shutil.copytree(folder, work / "site" / name)
    for path in loose:
        shutil.copy2(path, work / "site")
    for name, text in root.items():
        (work / "site" / name).write_text(text, encoding="utf-8")
    (work / "site" / ".nojekyll").touch()  # GitHub Pages leaves out what begins with "_" else
    swap(work / "site", into)


def _holds(file: Path, text: str) -> bool:
    return file.exists() and file.read_text(encoding="utf-8") == text


def _same(ours: Path, theirs: Path) -> bool:
    """Whether two folders have the same files, by name, size and time."""
    return theirs.is_dir() and _equal(filecmp.dircmp(ours, theirs, ignore=[], hide=[]))


def _equal(found: filecmp.dircmp[str]) -> bool:
    other = found.left_only or found.right_only or found.diff_files or found.funny_files
    return not other and all(map(_equal, found.subdirs.values()))


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
    held = [proof.runs for proof in proofs.proofs(ROOT)]
    bare = len([*proofs.bare(ROOT)])
    _say(f"  checks:   {sum(held)} statements proved, {len(held) - sum(held)} approved beside a")
    _say(f"            program or rule; `make unproved` lists {bare} others")
    live = "with" if assets.runtime(ROOT) else "without"
    _say(f"  live:     {live} buttons to run the examples, which `make live` brings")
    messages = counted(CATALOGS, RULES.parent).items()
    _say("  messages: " + ", ".join(f"{number} {name}" for name, number in messages))


def _keep(path: Path, text: str) -> None:
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
        _say(f"  changed:  {os.path.relpath(path, ROOT)}")


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
