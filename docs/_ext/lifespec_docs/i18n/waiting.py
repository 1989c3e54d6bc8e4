"""Notes beside each English text of a page that waits for a translation.

The notes come into a page as it is written: the doctree that is compared with the English one, the
titles in the navigation and what `lifespec explain` shows have none.
"""

from pathlib import Path

import polib
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import extract_messages

from lifespec.conformance.words import mark as _
from lifespec_docs.i18n import catalogs
from lifespec_docs.i18n.messages import words

__all__ = ["WaitingNotes", "setup"]


class WaitingNotes(SphinxPostTransform):
    """Adds the notes."""

    default_priority = 200  # after the links, of which some take the text of a title

    def run(self, **_kwargs: object) -> None:
        """Add a note to each text whose entry waits."""
        waiting = self._waiting()
        if not waiting:
            return
        note = words(self.env)(_("waiting for a translation"))
        for node, text in list(extract_messages(self.document)):
            if text in waiting and isinstance(node, (nodes.paragraph, nodes.title, nodes.term)):
                node.append(nodes.inline("", f" [{note}]", classes=["waiting"]))

    def _waiting(self) -> set[str]:
        """Return the messages of the page that wait; most catalogs need not be parsed."""
        name = f"{self.config.language}/LC_MESSAGES/{self.env.current_document.docname}.po"
        paths = [Path(self.env.srcdir, folder, name) for folder in self.config.locale_dirs]
        texts = [path.read_text(encoding="utf-8") for path in paths if path.is_file()]
        return {
            entry.msgid
            for text in texts
            if f"#, {catalogs.WAITING}" in text
            for entry in filter(catalogs.is_waiting, polib.pofile(text))
        }


def setup(app: Sphinx) -> None:
    """Register the transform."""
    app.add_post_transform(WaitingNotes)
