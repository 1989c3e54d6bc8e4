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

import argparse
import fcntl
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import polib

from lifespec_docs import increment, packages, translate
from lifespec_docs.facts import approval, proofs, surface
from lifespec_docs.i18n import catalogs, extraction
from lifespec_docs.i18n.compilation import compile_catalogs
from lifespec_docs.inputs import Inputs
from lifespec_docs.lint import doctrees
from lifespec_docs.live import assets
from lifespec_docs.publish import publish
from lifespec_docs.sphinx_run import LANGUAGES, Build, numbered, read_json

__all__ = ["counted", "main"]

HERE = Path(__file__).resolve().parents[2]
ROOT = HERE.parent
CATALOGS = ROOT / "locales" / "zh_CN" / "LC_MESSAGES"
SITE = ROOT / "site"
COUNTS = HERE / "examples.json"  # how many examples each page has: fewer is a fault
KEPT = ROOT / "build" / "docs"  # of the last good build: doctrees, pages, inputs, results
RULES = ROOT / "src" / "lifespec" / "conformance" / "data" / "rules.toml"

POLL = 0.1  # seconds
NAMED = 4  # files that have changed, at most


def counted(*folders: Path) -> dict[str, int]:
    """Count the messages of the catalogs, and those that wait for a translation."""
    paths = (path for folder in folders for path in folder.glob("*.po"))
    entries = [entry for path in paths for entry in polib.pofile(str(path))]
    return {
        "in all": len(entries),
        "waiting for a translation": sum(map(catalogs.is_waiting, entries)),
    }


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
        faults = approval.unreadable() or (translate.waiting(ROOT) if given.release else [])
        if faults:
            steps = iter([str(each) for each in faults])
        elif given.fresh:
            steps = _fresh(Path(work), into)
        else:
            steps = _renewed(Path(work), into)
        found = list(dict.fromkeys(steps))
    if found:
        found.append(f"The site was not built: {numbered(len(found), 'fault')}.")
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
    builds = [Build(language, HERE, work, _live_size()) for language in LANGUAGES]
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
        builds = [Build(language, HERE, KEPT) for language in LANGUAGES]
        found = list(_lost(builds[0]))
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
    builds = [Build(language, HERE, work, more) for language in LANGUAGES]
    if before and before.frame == now.frame:
        changed = now.changed(before)
        which = ", ".join(changed) if len(changed) <= NAMED else numbered(len(changed), "file")
        _say(f"Changed since the last build: {which}. Reading on.")
        _take_over(builds, changed)
    else:
        other = "The code, the theme or a package is not that of the last build"
        why = other if before else "No build is kept"
        _say(f"{why}: reading all pages in two languages, running the examples that it concerns.")
    found = list(_built(builds))
    if found:
        yield from found
        return
    _report(builds)
    _keep_all(builds, now)
    _finish([Build(language, HERE, KEPT) for language in LANGUAGES], work, into)


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
        for page in Build(build.language, HERE, KEPT).known().values()
        for block in page["blocks"]
        for program in block["needs"]
    }
    replace(now, programs=Inputs.now(ROOT, needs).programs).write(KEPT / "inputs.json")


def _built(builds: Sequence[Build]) -> Iterator[str]:
    """Build both languages and check the catalogs; yield what is wrong."""
    for build in builds:
        build.start()
    english, chinese = builds
    wrong = [*_catalog_faults(english), *approval.faults(ROOT), *surface.faults(ROOT)]
    wrong = wrong or [*proofs.faults(ROOT)]  # which are asked of what stands in the catalogs
    _wait(builds)
    found = [*wrong, *(fault for build in builds for fault in build.faults())]
    if not found:
        read = {*english.done()["read"], *chinese.done()["read"]}
        stored = doctrees.stored(english.doctrees, chinese.doctrees, ROOT, read)
        found = [*map(str, stored), *_lost(english)]
    yield from found


def _lost(english: Build) -> Iterator[str]:
    """Yield where a page has fewer examples than it had."""
    now = english.counts()
    for line, (name, before) in enumerate(read_json(COUNTS).items() if COUNTS.exists() else (), 2):
        if now.get(name, 0) < before:
            yield (
                f"{os.path.relpath(COUNTS, ROOT)}:{line}: the page {name!r} had "
                f"{numbered(before, 'example')} and has {now.get(name, 0)}: change this line "
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
    publish(builds, work, into)
    if into == SITE:
        _keep(COUNTS, json.dumps(builds[0].counts(), indent=1) + "\n")


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
    stated = [each for each in proofs.proofs(ROOT) if each.kind in {"text", "table"}]
    checked = sum(each.runs for each in stated)
    read = sum(not each.held for each in stated)
    _say(f"  approved: {len(stated)} statements, {checked} of them proved by a check,")
    _say(f"            {len(stated) - checked - read} beside a program, a record or a rule;")
    _say(f"            reading alone holds {read}, which `make unproved` lists")
    live = "with" if assets.runtime(ROOT) else "without"
    _say(f"  live:     {live} buttons to run the examples, which `make live` brings")
    messages = counted(CATALOGS, RULES.parent).items()
    _say("  messages: " + ", ".join(f"{number} {name}" for name, number in messages))


def _keep(path: Path, text: str) -> None:
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
        _say(f"  changed:  {os.path.relpath(path, ROOT)}")
