"""The words of our directives in the page's language: `words.py`, for modules still to be moved."""

from collections.abc import Callable

from sphinx.environment import BuildEnvironment

from lifespec_docs.words import translations

__all__ = ["note_cases", "sentences", "words"]


def words(env: BuildEnvironment) -> Callable[[str], str]:
    """Translate a word into the language of this build."""
    return translations(env).gettext


sentences = words


def note_cases(env: BuildEnvironment) -> None:
    """Let the page be read anew when a case changes."""
    env.note_dependency("../src/lifespec/conformance/data/cases.toml")
