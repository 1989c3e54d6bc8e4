"""The role `{fact}`: what code and data know, in the words of the page's language.

    Without a limit of its own, the server waits {fact}`default Lifespan.grace`.

`lifespec_docs.facts.known` lists the facts.  One that is not known is a warning with file and line.
"""

import os
import re
from collections.abc import Callable

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

from lifespec_docs.facts import recorded
from lifespec_docs.facts.known import ROOT, canonical, defaults, facts, nearest, shown
from lifespec_docs.i18n.messages import words

__all__ = ["FactRole", "setup", "with_literals"]

logger = logging.getLogger(__name__)
LITERAL = re.compile(r"`([^`]*)`")


class FactRole(SphinxRole):
    """One fact."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the fact as text; nothing, and a warning, if it is not known."""
        name = canonical(self.text)
        value = facts().get(name)
        if value is None:
            like = " or ".join(f"{{fact}}`{each}`" for each in nearest(name, facts()))
            hint = f"did you mean {like}?" if like else "`python docs/facts.py` lists them."
            logger.warning("There is no fact %r: %s", name, hint, location=self.get_location())
            return [], []
        if value.file:
            self.env.note_dependency(os.path.relpath(ROOT / value.file, self.env.srcdir))
        translate = words(self.env)
        text = shown(value, translate) + _older(name, translate)
        fact = nodes.inline(self.rawtext, "", *with_literals(text), classes=["fact"], fact=name)
        return [fact], []


def _older(name: str, translate: Callable[[str], str]) -> str:
    """Return what to add to the date of a record that is older than what it speaks of."""
    kind, _, record = name.partition(" ")
    parts = recorded.changed(ROOT, record) if kind == "date" else ()
    if not parts:
        return ""
    return translate(" (before the last change of %s)") % recorded.named(parts, translate)


def with_literals(text: str) -> list[nodes.Node]:
    """Return the nodes of a text; every second part of it stood in backquotes."""
    return [
        nodes.literal("", part) if place % 2 else nodes.Text(part)
        for place, part in enumerate(LITERAL.split(text))
        if part
    ]


def gather(*_: object) -> None:
    """Know the defaults of the API before `autodoc_preserve_defaults` replaces them."""
    defaults()


def setup(app: Sphinx) -> None:
    """Register the role."""
    app.add_role("fact", FactRole())
    app.connect("env-before-read-docs", gather)
