"""`{install}`: the command that installs this copy of lifespec, from where the site stands.

With the name of a file to copy, it is the command that downloads this file.  A site that does not
know its address links to the file instead, and the command takes what was downloaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from lifespec_docs.i18n.messages import words
from lifespec_docs.records.markup import element

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata

__all__ = ["Install", "setup"]


class Install(SphinxDirective):
    """The command, and where it needs a download first, the link."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return them."""
        base = self.config.site_base_url.rstrip("/")
        wheel = f"lifespec-{self.config.release}-py3-none-any.whl"
        name = self.arguments[0] if self.arguments else wheel
        if base:
            verb = "curl -O" if self.arguments else "pip install"
            return [_command(f"{verb} {base}/{name}")]
        translate = words(self.env)
        up = "../" * (self.env.docname.count("/") + 1)
        link = element("a", name, href=f"{up}{name}", download="")
        if self.arguments:
            return [element("p", translate("Download the file:"), " ", link)]
        before = translate("Download the package, and install it in the folder where it is:")
        return [element("p", before, " ", link), _command(f"pip install ./{name}")]


def _command(line: str) -> nodes.Node:
    return nodes.literal_block(line, line, language="sh")


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the directive."""
    app.setup_extension("lifespec_docs.records.markup")
    app.add_directive("install", Install)
    return {"version": "1", "parallel_read_safe": True}
