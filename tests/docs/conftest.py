"""Collects the examples of the pages: one item for each block and language, as it is published.

The blocks are taken from Sphinx's doctrees, comments translated, so that what is tested is what a
reader copies. The pages are read only where `test_pages.py` is collected, and once for each state
of the files they are made from.
"""

import fcntl
import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from lifespec import examples

__all__: list[str] = []

ROOT = Path(__file__).resolve().parents[2]
LANGUAGES = {"en": "en", "zh_CN": "zh"}
MADE_FROM = ("docs", "locales", "src")


def content() -> str:
    """Return a digest of everything the pages are made from."""
    digest = hashlib.sha256(sys.version.encode())
    for path in sorted(each for folder in MADE_FROM for each in (ROOT / folder).rglob("*")):
        if path.is_file() and path.suffix not in {".mo", ".pyc"}:
            digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def published() -> dict[str, dict[str, list[examples.Block]]]:
    """Return the examples by language and page; read the pages if they changed."""
    folder = ROOT / "build" / "examples"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = folder / f"{content()}.json"
        if not known.exists():
            for stale in folder.glob("*.json"):
                stale.unlink()
            known.write_text(json.dumps(read_pages(folder)), encoding="utf-8")
        found = json.loads(known.read_text(encoding="utf-8"))
    return {
        language: {page: [block(**each) for each in blocks] for page, blocks in pages.items()}
        for language, pages in found.items()
    }


def block(*, needs: list[str], **others: Any) -> examples.Block:
    """Return a block from its JSON."""
    return examples.Block(needs=tuple(needs), **others)


def read_pages(folder: Path) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Read the pages in all languages at the same time; return their blocks."""
    command = [sys.executable, "-m", "sphinx", "-b", "dummy", "-q", "-E", "-D", "examples_run=0"]
    running = {
        language: subprocess.Popen(
            [
                *command,
                f"-Dlanguage={language}",
                f"-d{folder / language}",
                ROOT / "docs",
                folder / "out",
            ],
            stderr=subprocess.PIPE,
            text=True,
        )
        for language in LANGUAGES
    }
    errors = {language: process.communicate()[1] for language, process in running.items()}
    for language, process in running.items():
        if process.returncode:
            raise pytest.Collector.CollectError(errors[language])
    return {
        tag: {name: page["blocks"] for name, page in json.loads(found(folder, language)).items()}
        for language, tag in LANGUAGES.items()
    }


def found(folder: Path, language: str) -> str:
    """Return what the extension wrote beside the doctrees."""
    return (folder / language / "examples.json").read_text(encoding="utf-8")


def of_readme(text: str) -> list[examples.Block]:
    """Return the examples of a plain Markdown file; a `text` block below one is its output."""
    tokens = MarkdownIt().parse(text)
    blocks = []
    for token, below in zip(tokens, [*tokens[1:], None], strict=True):
        if token.type == "fence" and token.info in {"python", "pycon"} and token.map:
            shown = below is not None and below.type == "fence" and below.info == "text"
            expected = below.content if below is not None and shown else None
            line = token.map[0] + 2
            blocks.append(examples.Block("README.md", line, token.info, token.content, expected))
    return blocks


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
        for language, pages in published().items():
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
        # A page's blocks build on each other: one worker runs them all.
        self.add_marker(pytest.mark.xdist_group(f"{self.block.page} [{language}]"))

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
