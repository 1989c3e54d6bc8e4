"""The site, and the examples of its pages, as they are published.

Each is made once for each state of the files it is made from, by the first who needs it. The blocks
are taken from Sphinx's doctrees, comments translated, so that what is tested is what a reader
copies: from those of the site, or where it was not built from pages that are read for them.
"""

import fcntl
import functools
import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

from lifespec_docs.examples import runner

__all__ = ["PREFIX", "ROOT", "UnreadableError", "known", "of_readme", "published", "read", "site"]

ROOT = Path(__file__).resolve().parents[2]
LANGUAGES = {"en": "en", "zh_CN": "zh"}
MADE_FROM = ("docs", "locales", "src")
TESTED = ROOT / "build" / "tested"
PREFIX = "some/prefix"  # a site may stand anywhere


class UnreadableError(Exception):
    """The pages cannot be read, or the site not be built; the text is what was said of it."""


def content() -> str:
    """Return a digest of everything the pages are made from."""
    digest = hashlib.sha256(sys.version.encode())
    for path in sorted(each for folder in MADE_FROM for each in (ROOT / folder).rglob("*")):
        if path.is_file() and path.suffix not in {".mo", ".pyc"}:
            digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


@contextmanager
def this_state() -> Iterator[Path]:
    """Give this process alone the folder of what was made from the files as they are."""
    TESTED.mkdir(parents=True, exist_ok=True)
    with (TESTED / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder = TESTED / content()
        if not folder.exists():
            for stale in filter(Path.is_dir, TESTED.iterdir()):
                shutil.rmtree(stale)
            folder.mkdir()
        yield folder


def site() -> Path:
    """Build the site as `make docs` does; what was read for it is kept."""
    with this_state() as folder:
        built = folder / PREFIX
        if not (built / "index.html").exists():
            shutil.rmtree(folder / "read", ignore_errors=True)
            command = [sys.executable, ROOT / "docs" / "build.py", "--into", built]
            command += ["--keep", folder / "read"]
            done = subprocess.run(command, check=False, capture_output=True, text=True)
            if done.returncode:
                raise UnreadableError(done.stderr)
    return built


def read() -> Path:
    """Return where the doctrees are, a folder for each language; read the pages if need be."""
    with this_state() as folder:
        if not (folder / "read").exists():
            read_pages(folder / "reading")
            (folder / "reading").rename(folder / "read")
    return folder / "read"


@functools.cache
def published() -> dict[str, dict[str, list[runner.Block]]]:
    """Return the examples by language and page."""
    return {
        tag: {name: [block(**each) for each in page["blocks"]] for name, page in pages.items()}
        for tag, pages in known().items()
    }


def known() -> dict[str, dict[str, Any]]:
    """Return what the extension wrote beside the doctrees, by language and page."""
    folder = read()
    return {
        tag: json.loads((folder / language / "examples.json").read_text(encoding="utf-8"))
        for language, tag in LANGUAGES.items()
    }


def block(*, needs: list[str], beside: list[str], **others: Any) -> runner.Block:
    """Return a block from its JSON."""
    return runner.Block(needs=tuple(needs), beside=tuple(beside), **others)


def read_pages(folder: Path) -> None:
    """Read the pages in all languages at the same time; no example runs."""
    command = [sys.executable, "-m", "sphinx", "-b", "dummy", "-q", "-E", "-D", "examples_run=0"]
    running = [
        subprocess.Popen(
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
    ]
    errors = [process.communicate()[1] for process in running]
    for process, said in zip(running, errors, strict=True):
        if process.returncode:
            raise UnreadableError(said)


def of_readme(text: str) -> list[runner.Block]:
    """Return the examples of a plain Markdown file; a `text` block below one is its output."""
    tokens = MarkdownIt().parse(text)
    blocks = []
    for token, below in zip(tokens, [*tokens[1:], None], strict=True):
        if token.type == "fence" and token.info in {"python", "pycon"} and token.map:
            shown = below is not None and below.type == "fence" and below.info == "text"
            expected = below.content if below is not None and shown else None
            line = token.map[0] + 2
            blocks.append(runner.Block("README.md", line, token.info, token.content, expected))
    return blocks
