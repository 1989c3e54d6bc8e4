"""A file shown whole: `{shown}` with its path, relative to the page."""

from pathlib import PurePosixPath

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.directives.code import LiteralInclude

__all__ = ["LANGUAGES", "Shown", "setup"]

LANGUAGES = {".py": "python", ".toml": "toml", ".sh": "sh", ".pl": "perl"}


class Shown(LiteralInclude):
    """A literal include of the class `shown`, which is not run; its language is the suffix's."""

    def run(self) -> list[nodes.Node]:
        """Return the file as one block."""
        suffix = PurePosixPath(self.arguments[0]).suffix
        self.options.setdefault("language", LANGUAGES.get(suffix, "text"))
        found = super().run()
        for node in found:
            for block in node.findall(nodes.literal_block):
                block["classes"].append("shown")
        return found


def setup(app: Sphinx) -> None:
    """Register the directive."""
    app.add_directive("shown", Shown)
