"""Translate the words of our templates, views and directives through gettext.

Babel collects what stands in `_("…")` and `ngettext("…", "…", number)`, in Python and in templates.
The translations stand in `locales/<language>/LC_MESSAGES/lifespec.po`; those of rules, cases and
verdicts are in the package. The types on API pages are not translated.
"""

import gettext
import io
from functools import lru_cache
from pathlib import Path

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms import SphinxTransform

# as sphinx-autodoc-typehints and conf.py write them
TYPES = ":sphinx_autodoc_typehints_type:", ":py:class:`dict`\\ \\[", "``ASGIApp``"
ROOT = Path(__file__).resolve().parents[3]


def mark(text: str) -> str:
    """Return the text; import it as `_` to mark a word that a template translates later."""
    return text


def catalogs(language: str) -> list[Path]:
    """Return the files that have our words in a language; none for English."""
    own = ROOT / "locales" / language / "LC_MESSAGES" / "lifespec.po"
    data = ROOT / "src" / "lifespec" / "conformance" / "data"
    packaged = data.glob(f"*.{language.partition('_')[0]}.po")
    return [path for path in (*sorted(packaged), own) if path.exists()]


def translations(env: BuildEnvironment) -> gettext.NullTranslations:
    """Return the translations into the language of this build; untranslated words stay English."""
    files = catalogs(env.config.language)
    for path in files:
        env.note_dependency(path)
    return _merged(tuple((path, path.stat().st_mtime_ns) for path in files))


@lru_cache(maxsize=2)
def _merged(files: tuple[tuple[Path, int], ...]) -> gettext.NullTranslations:
    merged = gettext.NullTranslations()
    for path, _changed in files:
        compiled = io.BytesIO()
        with path.open("rb") as file:
            write_mo(compiled, read_po(file))  # which leaves out what is fuzzy
        compiled.seek(0)
        others, merged = merged, gettext.GNUTranslations(compiled)
        merged.add_fallback(others)
    return merged


class UntranslatableTypes(SphinxTransform):
    """Keep names of fields, and types that sphinx-autodoc-typehints wrote, out of the catalogs."""

    default_priority = 9  # before Sphinx collects messages

    def apply(self, **_: object) -> None:
        """Mark them on one page."""
        for content in self.document.findall(addnodes.desc_content):
            for node in content.findall(nodes.TextElement):
                if isinstance(node, nodes.field_name) or node.rawsource.startswith(TYPES):
                    node["translatable"] = False


def setup(app: Sphinx) -> None:
    """Register the transform."""
    app.add_transform(UntranslatableTypes)
