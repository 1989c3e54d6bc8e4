"""The examples of the pages, as they are published.

The blocks are taken from Sphinx's doctrees, comments translated, so that what is tested is what a
reader copies. The pages are read once for each state of the files they are made from.
"""

import fcntl
import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

from lifespec import examples

__all__ = ["ROOT", "UnreadableError", "content", "of_readme", "published"]

ROOT = Path(__file__).resolve().parents[2]
LANGUAGES = {"en": "en", "zh_CN": "zh"}
MADE_FROM = ("docs", "locales", "src")


class UnreadableError(Exception):
    """Sphinx cannot read the pages; the text is what it says."""


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


def block(*, needs: list[str], beside: list[str], **others: Any) -> examples.Block:
    """Return a block from its JSON."""
    return examples.Block(needs=tuple(needs), beside=tuple(beside), **others)


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
            raise UnreadableError(errors[language])
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
