"""The glossary: `{terms}` is a `{glossary}` of exactly the terms that `terms.TERMS` holds.

Beside each term stands what it is called in the other language, drawn from that table; so what
the page says is what translations are held to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.domains.std import Glossary
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

from terms import TERMS

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata

__all__ = ["Counterparts", "Terms", "setup"]

logger = logging.getLogger(__name__)


class Terms(Glossary):
    """A glossary that has each term of the table, and no other."""

    def run(self) -> list[nodes.Node]:
        """Return the glossary; say where page and table differ."""
        found = super().run()
        entries = [term for node in found for term in node.findall(nodes.term)]
        listed = {term.name for term in TERMS}
        for entry in entries:
            entry["term"] = entry.rawsource
            if entry.rawsource not in listed:
                text = "%r is no term of terms.TERMS: add it there, or explain it elsewhere."
                logger.warning(text, entry.rawsource, location=entry)
        for name in sorted(listed - {entry.rawsource for entry in entries}):
            logger.warning("The glossary lacks the term %r.", name, location=self.get_location())
        return found


class Counterparts(SphinxPostTransform):
    """Puts the other language's word beside each term: no catalog holds it."""

    default_priority = 5

    def run(self, **_kwargs: Any) -> None:
        """Add the words."""
        chinese = {term.name: term.chinese for term in TERMS}
        for entry in self.document.findall(nodes.term):
            name = entry.get("term")
            if name in chinese:
                english = self.config.language == "en"
                word, tag = (chinese[name], "zh-CN") if english else (name, "en")
                entry.append(nodes.inline("", word, classes=["counterpart", f"language-{tag}"]))


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register `{terms}`."""
    app.add_directive("terms", Terms)
    app.add_post_transform(Counterparts)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
