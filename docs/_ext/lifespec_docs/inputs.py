"""What the site is made from, by content: what has not changed since a good build is not redone.

`code` decides what an example does, and `library` what one does that uses no commands; `frame` is
all that can show on any page; `files` are the pages, their catalogs and records, the cases, and
what facts are read from: each concerns the pages that use it.
"""

import hashlib
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Self

from lifespec_docs.examples.perl_apps import lacking
from lifespec_docs.facts import recorded
from lifespec_docs.facts.known import SOURCES
from lifespec_docs.live import assets
from lifespec_docs.site_root import NAMES

__all__ = ["Inputs"]

LOCK = ".ci/requirements.lock"
CODE = "src/lifespec", "docs/_ext"
# what an example uses that names no more of us, and what runs it
LIBRARY = (
    "src/lifespec",
    "docs/_ext/lifespec_docs/examples",
    "docs/_ext/lifespec_docs/i18n/comments.py",
)
COMMANDS = "src/lifespec/conformance", "src/lifespec/cli.py"
SAYS, MESSAGE = (re.compile(rf'^{name} (".*")$', re.MULTILINE) for name in ("says =", "msgid"))
# pages that draw cases, or run an example that uses them, name the first as what they depend on
CASES, REPORT = (f"src/lifespec/conformance/data/{name}" for name in ("cases.toml", "report.zh.po"))
FRAME = "docs/_static", "docs/_templates", "docs/conf.py", "docs/build.py", "pyproject.toml"
WORDS = "lifespec.po", "sphinx.po"  # of our extensions and of the theme: on any page
WRITTEN = ("docs/examples.json",)  # by the build, which looks at it each time
DERIVED = {".mo", ".pyc"}


@dataclass(frozen=True)
class Inputs:
    """The digests; `programs` says of each that an example needs what of it is lacking."""

    code: str
    library: str
    frame: str
    files: dict[str, str]
    programs: dict[str, str]

    @classmethod
    def now(cls, root: Path, programs: Iterable[str]) -> Self:
        """Look at everything as it is."""
        catalogs = [*_files(root / "locales")]
        frame = [path for name in FRAME for path in _files(root / name)]
        words = [path for path in catalogs if path.name in WORDS]
        pages = set(_files(root / "docs")) - {*frame, *_files(root / "docs" / "_ext")}
        pages.difference_update(root / name for name in WRITTEN)
        facts = [path for name in (*SOURCES, CASES) for path in _files(root / name)]
        single = sorted(pages.union(catalogs, facts).difference(words))
        commands = {path for name in COMMANDS for path in _files(root / name)}
        library = {path for name in (*LIBRARY, LOCK) for path in _files(root / name)} - commands
        code = [path for name in (*CODE, LOCK) for path in _files(root / name)]
        ours = {root / CASES, root / REPORT}
        anywhere = _together(root, [path for path in code if path not in ours])
        installed = root / "build" / "live" / "package-lock.json"
        runtime = _content(installed) if assets.runtime(root) else ""
        files = {path.relative_to(root).as_posix(): _content(path) for path in single}
        for name in recorded.RECORDS:  # a page that shows one says what has changed since
            file = f"{recorded.FOLDER}/{name}.json"
            if file in files:
                files[file] = _digest(files[file], *recorded.changed(root, name))
        said, others = _words_of_cases(root)
        files[CASES] = _digest(files.get(CASES, ""), said)
        machine = _machine()
        base = [anywhere, others, *(os.environ.get(name, "") for name in NAMES.values()), runtime]
        return cls(
            code=_digest(machine, _together(root, code)),
            library=_digest(machine, _together(root, sorted(library))),
            frame=_digest(machine, _together(root, [*frame, *words]), *base),
            files=files,
            programs={name: lacking(name) for name in sorted(programs)},
        )

    @classmethod
    def read(cls, file: Path) -> Self | None:
        """Return what was written, or None where that is not whole."""
        try:
            return cls(**json.loads(file.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def write(self, file: Path) -> None:
        """Write it for the next build."""
        file.write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")

    def changed(self, before: Self) -> list[str]:
        """Return the single files that are not what they were, those that are gone too."""
        names = self.files.keys() | before.files.keys()
        return sorted(name for name in names if self.files.get(name) != before.files.get(name))


def _files(path: Path) -> Iterator[Path]:
    """Yield the files below a folder, or the one file; what is made from others is none."""
    found = path.rglob("*") if path.is_dir() else [path]
    yield from sorted(each for each in found if each.is_file() and each.suffix not in DERIVED)


def _words_of_cases(root: Path) -> tuple[str, str]:
    """Return the entries of the cases' sentences in the catalog of reports, and the others."""
    data, report = (
        "".join(each.read_text(encoding="utf-8") for each in _files(root / name))
        for name in (CASES, REPORT)
    )
    says = set(SAYS.findall(data))
    parts: tuple[list[str], list[str]] = [], []
    for entry in report.split("\n\n"):
        parts[says.isdisjoint(MESSAGE.findall(entry))].append(entry)
    of_cases, others = map(json.dumps, parts)
    return of_cases, others


def _content(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _together(root: Path, paths: Iterable[Path]) -> str:
    return _digest(*(f"{path.relative_to(root)} {_content(path)}" for path in paths))


def _machine() -> str:
    """Name Python, how it runs, and each package that is installed."""
    packages = {f"{each.name} {each.version}" for each in metadata.distributions()}
    return _digest(sys.version, str(sys.flags.optimize), *sorted(packages))


def _digest(*parts: str) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
