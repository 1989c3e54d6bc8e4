"""What a build does again, and what it took: Sphinx goes by the time of a file, this by content.

Beside the doctrees `changed.json` names the files that have changed; a page that uses one is read
again, and so is one whose examples did not all run.  Those are written, and all pages are if what
pages show of each other has changed, such as a title.  `build.json` says what was done.
"""

import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from lifespec_docs.examples.directive import pages
from lifespec_docs.i18n import extraction
from lifespec_docs.rules.domain import RuleDomain

__all__ = ["CHANGED", "DONE", "MESSAGES", "Increment", "setup"]

CHANGED, DONE, MESSAGES = "changed.json", "build.json", "messages.json"
LINKED = "std", "py", RuleDomain.name  # domains that pages link into


class Increment:
    """One build: which pages it reads, and when."""

    def __init__(self) -> None:
        self.began = self.was_read = time.monotonic()
        self.read: list[str] = []
        self.removed: set[str] = set()
        self.shared: list[object] = []
        self.cases: set[object] = set()

    def outdated(
        self,
        app: Sphinx,
        env: BuildEnvironment,
        _added: set[str],
        _changed: set[str],
        removed: set[str],
    ) -> list[str]:
        """Return the pages that use a file that has changed, or lacked a program."""
        self.removed = removed
        self.shared, self.cases = _shared(env), _cases(env)
        file = Path(app.doctreedir, CHANGED)
        names = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
        root = Path(app.srcdir).parent
        changed = {(root / name).resolve() for name in names}
        changed |= {path.with_suffix(".mo") for path in changed if path.suffix == ".po"}
        lacked = {docname for docname, page in pages(env).items() if page.not_run}
        return [
            docname
            for docname in env.found_docs
            if docname in lacked or not changed.isdisjoint(_sources(env, docname))
        ]

    def order(self, _app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
        """Let the two languages begin at both ends: each runs the examples that it meets first."""
        self.read = docnames.copy()
        if env.config.language != "en":
            docnames.reverse()

    def updated(self, app: Sphinx, env: BuildEnvironment) -> Iterable[str]:
        """Note what there is to translate; return the pages to be written beside those read."""
        self.was_read = time.monotonic()
        if env.config.language == "en":
            found = extraction.updated(env, self.read)
            extraction.write(found, Path(app.doctreedir, MESSAGES))
        gone = self.removed or self.cases - _cases(env)  # a new case has links on pages just read
        return env.found_docs if gone or self.shared != _shared(env) else ()

    def report(self, app: Sphinx, _exception: Exception | None) -> None:
        """Write what was done."""
        now = [page for name, page in pages(app.env).items() if name in self.read]
        done = {
            "read": self.read,
            "ran": sum(page.run - page.reused for page in now),
            "reading": self.was_read - self.began,
            "examples": sum(page.seconds for page in now),
            "writing": time.monotonic() - self.was_read,
        }
        Path(app.doctreedir, DONE).write_text(json.dumps(done), encoding="utf-8")


def _shared(env: BuildEnvironment) -> list[object]:
    """Return what a page can show of others: titles, navigation, places, the number of examples."""
    return [
        {name: title.astext() for name, title in env.titles.items()},
        {name: toc.pformat() for name, toc in env.tocs.items()},
        {name: tuple(names) for name, names in env.toctree_includes.items()},
        *(_places(domain.data) for domain in env.domains.sorted() if domain.name in LINKED),
        sum(len(page.blocks) for page in pages(env).values()),
    ]


def _places(data: dict[str, Any]) -> dict[str, str]:
    """Return what a domain knows, whatever the order in which pages were read."""
    return {
        key: repr(sorted((each for each in value.items() if not _is_case(each[0])), key=repr))
        for key, value in data.items()
        if value and key != "version"
    }


def _cases(env: BuildEnvironment) -> set[object]:
    """Return the cases with their places."""
    places = env.domains[RuleDomain.name].data["places"]
    return {each for each in places.items() if _is_case(each[0])}


def _is_case(key: object) -> bool:
    return isinstance(key, tuple) and key[0] == "case"


def _sources(env: BuildEnvironment, docname: str) -> set[Path]:
    """Return the file of a page and those that it depends on."""
    others = (Path(env.srcdir, name).resolve() for name in env.dependencies.get(docname, ()))
    return {Path(env.doc2path(docname)).resolve(), *others}


def setup(app: Sphinx) -> None:
    """Follow a build."""
    build = Increment()
    app.connect("env-get-outdated", build.outdated)
    app.connect("env-before-read-docs", build.order)
    app.connect("env-updated", build.updated)
    app.connect("build-finished", build.report)
