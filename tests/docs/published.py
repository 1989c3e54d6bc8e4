"""The site, and the examples of its pages, as they are published.

They are those of `make docs`: what has not changed since is not built again.  The blocks are those
of Sphinx's doctrees, comments translated, so that what is tested is what a reader copies.
"""

import functools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from lifespec_docs.examples import runner
from markdown_it import MarkdownIt

__all__ = ["PREFIX", "ROOT", "UnreadableError", "known", "of_readme", "published", "read", "site"]

ROOT = Path(__file__).resolve().parents[2]
LANGUAGES = {"en": "en", "zh-cn": "zh"}
KEPT = ROOT / "build" / "docs"
PREFIX = "some/prefix"  # a site may stand anywhere


class UnreadableError(Exception):
    """The site cannot be built; the text is what was said of it."""


def site() -> Path:
    """Build the site below a prefix, as `make docs` does; once, be it good or not."""
    into = ROOT / "build" / "tested" / PREFIX
    done = _built(into)
    if done.returncode:
        raise UnreadableError(done.stderr)
    return into


@functools.cache
def _built(into: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "docs" / "build.py", "--into", into]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def read() -> dict[str, Path]:
    """Return where the doctrees of each language are."""
    site()
    return {tag: KEPT / folder / "doctrees" for folder, tag in LANGUAGES.items()}


@functools.cache
def published() -> dict[str, dict[str, list[runner.Example]]]:
    """Return the examples by language and page."""
    return {
        tag: {name: [block(**each) for each in page["blocks"]] for name, page in pages.items()}
        for tag, pages in known().items()
    }


def known() -> dict[str, dict[str, Any]]:
    """Return what the extension wrote beside the doctrees, by language and page."""
    return {
        tag: json.loads((folder / "examples.json").read_text(encoding="utf-8"))
        for tag, folder in read().items()
    }


def block(*, needs: list[str], beside: list[str], **others: Any) -> runner.Example:
    """Return a block from its JSON."""
    return runner.Example(needs=tuple(needs), beside=tuple(beside), **others)


def of_readme(text: str) -> list[runner.Example]:
    """Return the examples of a plain Markdown file; a `text` block below one is its output."""
    tokens = MarkdownIt().parse(text)
    blocks = []
    for token, below in zip(tokens, [*tokens[1:], None], strict=True):
        if token.type == "fence" and token.info in {"python", "pycon"} and token.map:
            shown = below is not None and below.type == "fence" and below.info == "text"
            expected = below.content if below is not None and shown else None
            line = token.map[0] + 2
            blocks.append(runner.Example("README.md", line, token.info, token.content, expected))
    return blocks
