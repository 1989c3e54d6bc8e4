"""A few pages in a temporary folder, built to try an extension of the documentation on."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from bs4 import BeautifulSoup
from jinja2 import FileSystemBytecodeCache
from sphinx.testing.util import SphinxTestApp

import lifespec_docs

__all__ = ["RULES", "SampleSite", "named"]

RULES = """\
[startup-sent]
role = "server"
observable = "application"
stage = "startup"
page = "index"
says = "It must be sent."
source = [{ specs = "asgi 2.0", level = "must", section = "Startup" }]

[answered-once]
role = "application"
observable = "no"
stage = "startup"
page = "index"
[answered-once.ours]
specs = "asgi 2.0"
says = "A second answer is refused."
"""

# Each builder would compile the theme's templates anew, which takes longer than all else.
COMPILED = Path(__file__).parents[2] / "build" / "templates"
COLOUR = re.compile(r"\x1b\[[\d;]*m")


def named(extension: str) -> list[str]:
    """Return the full names of an extension: ours are named by folder, or by folder and module."""
    folder, _, module = extension.partition(".")
    if folder not in lifespec_docs.FOLDERS:
        return [extension]
    names = [module] if module else lifespec_docs.FOLDERS[folder]
    return [f"{lifespec_docs.__name__}.{folder}.{name}" for name in names]


class SampleSite:
    """Pages by name, built on entering; `warnings` are lines, their paths relative to it."""

    def __init__(
        self,
        folder: Path,
        pages: Mapping[str, str],
        *extensions: str,
        builder: str = "html",
        rules: str = RULES,
        **configuration: Any,
    ) -> None:
        self.folder = folder
        self.docs = folder / "docs"
        self.docs.mkdir(exist_ok=True)
        (self.docs / "conf.py").write_text("")
        (self.docs / "rules.toml").write_text(rules)
        for name, text in pages.items():
            page = self.docs / (name if "." in name else f"{name}.md")
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(text)
        self.builder = builder
        self.configuration = {
            "extensions": ["myst_parser", *(name for each in extensions for name in named(each))],
            "html_theme": "basic",
            "html_use_index": False,
            "locale_dirs": ["../locales"],
            "myst_enable_extensions": ["attrs_block", "colon_fence"],
            "suppress_warnings": ["toc.not_included"],
            **configuration,
        }

    def __enter__(self) -> Self:
        self.app = SphinxTestApp(
            self.builder, srcdir=self.docs, confoverrides=self.configuration, freshenv=True
        )
        if templates := getattr(self.app.builder, "templates", None):
            COMPILED.mkdir(parents=True, exist_ok=True)
            templates.environment.bytecode_cache = FileSystemBytecodeCache(str(COMPILED))
        try:
            self.app.build()
        except BaseException:
            self.app.cleanup()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.app.cleanup()

    @property
    def warnings(self) -> list[str]:
        """What Sphinx complained of."""
        text = COLOUR.sub("", self.app.warning.getvalue())
        return text.replace(f"{self.folder}/", "").splitlines()

    def page(self, name: str = "index") -> BeautifulSoup:
        """Return a page as it is published."""
        path = Path(self.app.outdir, f"{name}.html")
        return BeautifulSoup(path.read_text(), "html.parser")

    def translate(self, catalog: str, messages: Mapping[str, str]) -> None:
        """Write a Chinese catalog, before the pages are built."""
        folder = self.folder / "locales" / "zh_CN" / "LC_MESSAGES"
        folder.mkdir(parents=True, exist_ok=True)
        head = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n'
        rows = [f'\nmsgid "{text}"\nmsgstr "{chinese}"\n' for text, chinese in messages.items()]
        (folder / f"{catalog}.po").write_text(head + "".join(rows))
