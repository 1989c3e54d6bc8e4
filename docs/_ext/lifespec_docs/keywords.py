"""What readers call a section: words for the search, which no page shows.

    ```{keywords}
    shutdown not called, code after yield not executed
    ```

The words of a whole page stand in its `html_meta`.
"""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective, SphinxTranslator
from sphinx.writers.html5 import HTML5Translator


class words(nodes.paragraph):
    """Keywords, with commas between them; a paragraph, so that they are translated as one."""


class KeywordsDirective(SphinxDirective):
    """The keywords of the section in which it stands."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the keywords."""
        text = " ".join(self.content)
        found = words(text, text)
        self.set_source_info(found)
        return [found]


def visit(translator: HTML5Translator, _node: words) -> None:
    """Begin what only the search reads."""
    translator.body.append('<p class="keywords" hidden>')


def depart(translator: HTML5Translator, _node: words) -> None:
    """End it."""
    translator.body.append("</p>\n")


def skip(_translator: SphinxTranslator, _node: words) -> None:
    """Leave it out."""
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Register the directive."""
    app.add_node(words, html=(visit, depart), text=(skip, depart))
    app.add_directive("keywords", KeywordsDirective)
