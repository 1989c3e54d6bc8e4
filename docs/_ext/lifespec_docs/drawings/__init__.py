"""Pictures that are drawn for a page, their words in its language: `{picture} NAME`."""

from html import escape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from lifespec_docs.drawings.figures import protocol, timeline, workers
from lifespec_docs.drawings.signals import signals
from lifespec_docs.drawings.states import states
from lifespec_docs.words import translations

# Each function returns a picture and its caption, or "".
PICTURES = {
    "protocol": protocol,
    "signals": signals,
    "states": states,
    "timeline": timeline,
    "workers": workers,
}


class PictureDirective(SphinxDirective):
    """One picture."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the picture and its caption."""
        (name,) = self.arguments
        if name not in PICTURES:
            raise self.error(f"There is no picture {name!r}: choose from {', '.join(PICTURES)}.")
        svg, caption = PICTURES[name](translations(self.env).gettext)
        below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
        html = f'<figure class="states">{svg}{below}</figure>'
        return [nodes.raw("", html, format="html", classes=["no-search"])]


def setup(app: Sphinx) -> None:
    """Register the directive."""
    app.add_directive("picture", PictureDirective)
