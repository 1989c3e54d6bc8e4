"""A few pages of their own, built by Sphinx for a test."""

import re
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup
from sphinx.testing.util import SphinxTestApp

ROOT = Path(__file__).resolve().parents[2]
MYST = ["attrs_block", "attrs_inline", "colon_fence", "deflist"]


class Sample:
    """Pages by name, and what came of them."""

    def __init__(self, folder: Path, builder: str = "html", **configuration: Any) -> None:
        self.folder = folder
        (folder / "conf.py").write_text("")
        usual = {"html_theme": "basic", "myst_enable_extensions": MYST, "gettext_compact": False}
        self.app = SphinxTestApp(
            builder, srcdir=folder, freshenv=True, confoverrides=usual | configuration
        )
        self.app.build()

    @property
    def warnings(self) -> str:
        """The warnings, each a line that begins with the file and the line."""
        lines = re.sub(r"\x1b\[[\d;]*m", "", self.app.warning.getvalue())
        return lines.replace(f"{self.folder}/", "")

    def text(self, name: str) -> str:
        """Return a file that was built."""
        return Path(self.app.outdir, name).read_text("utf-8")

    def page(self, name: str = "index") -> BeautifulSoup:
        """Return a page that was built."""
        return BeautifulSoup(self.text(f"{name}.html"), "html.parser")
