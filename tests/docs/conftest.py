"""Collects the examples of the pages: one item for each block and language, as it is published.

The pages are read only where `test_pages.py` is collected. Here are also what tests of the built
site share: the site, a server for it and a browser.
"""

import fcntl
import functools
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from browser import Browser
from published import ROOT, UnreadableError, content, of_readme, published

from lifespec import examples

__all__: list[str] = []

PREFIX = "some/prefix"


@pytest.fixture(scope="session")
def site() -> Path:
    """Build the site as `make docs` does, once for each state of its files."""
    folder = ROOT / "build" / "tested"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        built = folder / content() / PREFIX
        if not (built / "index.html").exists():
            command = [sys.executable, ROOT / "docs" / "build.py", "--into", built]
            done = subprocess.run(command, check=False, capture_output=True, text=True)
            assert not done.returncode, done.stderr
    return built


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and does not talk about it."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Serve the site below a prefix."""
    root = site.parents[len(Path(PREFIX).parts) - 1]
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(root)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/{PREFIX}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start one browser for all of it."""
    with Browser() as started:
        yield started


class Session:
    """The page that runs: one at a time."""

    def __init__(self) -> None:
        self.page: list[examples.Block] = []
        self.running: examples.Session | None = None

    def of(self, page: list[examples.Block]) -> examples.Session:
        """Return the session of a page; leave the one before."""
        if self.running is None or self.page is not page:
            self.close()
            self.page, self.running = page, examples.Session(page)
            self.running.__enter__()
        return self.running

    def close(self) -> None:
        """Leave the page."""
        if self.running is not None:
            self.running.__exit__(None, None, None)
            self.running = None


class Pages(pytest.Module):
    """The examples of every page, README included, below the tests of the file itself."""

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        """Yield an item for each example, and one for each page's joined program."""
        yield from super().collect()
        self.examples = Session()
        yield from self._items(of_readme((ROOT / "README.md").read_text(encoding="utf-8")), "en")
        try:
            found = published()
        except UnreadableError as error:
            raise self.CollectError(str(error)) from None
        for language, pages in found.items():
            for page in pages.values():
                yield from self._items(page, language)

    def _items(self, page: list[examples.Block], language: str) -> Iterator[pytest.Item]:
        for number, each in enumerate(page):
            name = f"{each.page}:{each.line} [{language}]"
            yield Example.from_parent(self, name=name, page=page, number=number, language=language)

    def teardown(self) -> None:
        """Leave the last page."""
        self.examples.close()


class Example(pytest.Item):
    """One block of one page in one language."""

    def __init__(
        self, *, page: list[examples.Block], number: int, language: str, **kw: Any
    ) -> None:
        super().__init__(**kw)
        self.page, self.number, self.language = page, number, language
        self.block = page[number]

    def runtest(self) -> None:
        """Run the block, and those above it if they did not run yet."""
        run = self.parent.examples.of(self.page).run(self.number)  # type: ignore[union-attr]
        if run.missing:
            pytest.skip(f"{', '.join(run.missing)} is not installed: not run")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *args: Any) -> Any:
        """Show the sentence alone where the example failed."""
        if isinstance(excinfo.value, examples.ExampleFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, *args)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Point to the block in its page."""
        return ROOT / self.block.page, self.block.line - 1, self.name


def pytest_pycollect_makemodule(
    module_path: Path, parent: pytest.Collector
) -> pytest.Module | None:
    """Collect the pages where their test file is collected."""
    if module_path.name != "test_pages.py":
        return None
    return Pages.from_parent(parent, path=module_path)
