"""`{install}`: the command that installs this copy of lifespec, from where the site stands.

With the name of a file to copy, it is the command that downloads this file; `requirement` is the
line for a requirements.txt.  A site that does not know its address links to the file instead, and
command and line take what was downloaded.
"""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from lifespec.conformance.words import mark as _
from lifespec_docs.facts.role import with_literals
from lifespec_docs.i18n.messages import words
from lifespec_docs.records.markup import element

__all__ = ["Install", "setup"]

WITH_ADDRESS = {"package": "pip install {}", "requirement": "lifespec @ {}"}
FROM_WHERE = {  # without an address: what to download, and the line then
    "package": (
        _("Download the package, and install it in the folder where it is:"),
        "pip install ./{}",
    ),
    "requirement": (_("Put the package into the folder of `requirements.txt`:"), "./{}"),
}


class Install(SphinxDirective):
    """The command, and where it needs a download first, the link."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return them."""
        base = self.config.site_base_url.rstrip("/")
        wheel = f"lifespec-{self.config.release}-py3-none-any.whl"
        wanted = self.arguments[0] if self.arguments else "package"
        name = wheel if wanted in FROM_WHERE else wanted
        if base:
            line = WITH_ADDRESS.get(wanted, "curl -O {}").format(f"{base}/{name}")
            return [nodes.literal_block(line, line, language="sh")]
        translate = words(self.env)
        up = "../" * (self.env.docname.count("/") + 1)
        link = element("a", name, href=f"{up}{name}", download="")
        if wanted not in FROM_WHERE:
            return [element("p", translate("Download the file:"), " ", link)]
        sentence, line = FROM_WHERE[wanted]
        line = line.format(name)
        before = element("p", *with_literals(translate(sentence)), " ", link)
        return [before, nodes.literal_block(line, line, language="sh")]


def setup(app: Sphinx) -> None:
    """Register the directive."""
    app.setup_extension("lifespec_docs.records.markup")
    app.add_directive("install", Install)
