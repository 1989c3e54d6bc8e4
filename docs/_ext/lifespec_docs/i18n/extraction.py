"""Collects what there is to translate, from the pages as Sphinx reads them."""

import io
import json
import os
import pickle
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from docutils.nodes import Element
from sphinx import addnodes
from sphinx.application import ENV_PICKLE_FILENAME, Sphinx
from sphinx.deprecation import RemovedInSphinx10Warning, RemovedInSphinx11Warning
from sphinx.environment import BuildEnvironment
from sphinx.errors import SphinxError
from sphinx.util.console import nocolor
from sphinx.util.docutils import docutils_namespace, patch_docutils
from sphinx.util.nodes import extract_messages

from lifespec_docs.i18n import messages
from lifespec_docs.i18n.catalogs import Message, Template

PACKAGE = "package/"  # the catalogs of the package, which stand in its data
SOURCES = {
    "report": "src/lifespec/conformance",
    "rules": "src/lifespec/conformance/data/rules.toml",
}

__all__ = ["Templates", "UncleanError", "fresh", "read", "updated", "write"]


class Templates(NamedTuple):
    """The templates by catalog, and the extensions of the Markdown the pages are written in."""

    by_catalog: dict[str, Template]
    extensions: frozenset[str]


class UncleanError(SphinxError):
    """Pages did not read without warnings: what could not be read has no messages."""


def fresh(source: Path, doctrees: Path) -> Templates:
    """Read the pages that have changed since those doctrees.

    UncleanError: Sphinx warned of something; the messages may not be all that there are.
    """
    said = io.StringIO()
    nocolor()
    with (
        tempfile.TemporaryDirectory() as folder,
        warnings.catch_warnings(),
        patch_docutils(source),
        docutils_namespace(),
    ):
        # sphinx-autodoc-typehints 3.6 calls what later versions of Sphinx will not have.
        for kind in (RemovedInSphinx10Warning, RemovedInSphinx11Warning):
            warnings.simplefilter("ignore", kind)
        app = Sphinx(
            source,
            source,
            Path(folder, "out"),
            doctrees,
            "gettext",
            confoverrides={"language": "en"},
            status=None,
            warning=said,
        )
        names = app.builder.read()
        if warned := said.getvalue().replace(f"{source.parent}{os.sep}", "").strip():
            raise UncleanError(
                f"{warned}\nNo catalog was read or written, since a page did not read cleanly."
            )
        found = updated(app.env, names)
        Path(doctrees, ENV_PICKLE_FILENAME).write_bytes(pickle.dumps(app.env))
        return found


def updated(env: BuildEnvironment, docnames: Iterable[str]) -> Templates:
    """Take the messages of the pages that were read; those of the others the environment keeps."""
    kept: dict[str, Template] = getattr(env, "lifespec_messages", {})
    kept |= {docname: _template(env, docname) for docname in docnames}
    env.lifespec_messages = {name: kept[name] for name in sorted(env.found_docs)}  # type: ignore[attr-defined]
    return _with_words(env, dict(env.lifespec_messages))  # type: ignore[attr-defined]


def write(found: Templates, file: Path) -> None:
    """Write the messages as JSON: whole, or not at all."""
    beside = file.with_suffix(".new")
    beside.write_text(json.dumps([found.by_catalog, sorted(found.extensions)]), encoding="utf-8")
    beside.replace(file)


def read(file: Path) -> Templates:
    """Read what `write` wrote."""
    by_catalog, extensions = json.loads(file.read_text(encoding="utf-8"))
    found = {
        name: Template(source, tuple(Message(*message) for message in messages_))
        for name, (source, messages_) in by_catalog.items()
    }
    return Templates(found, frozenset(extensions))


def _with_words(env: BuildEnvironment, found: dict[str, Template]) -> Templates:
    """Add the catalog of the words of our extensions."""
    found[messages.CATALOG] = Template(_name(env, messages.FOLDER), messages.messages())
    for name, of_package in messages.package_messages().items():
        found[f"{PACKAGE}{name}"] = Template(SOURCES[name], of_package)
    return Templates(found, frozenset(env.config.myst_enable_extensions))


def _name(env: BuildEnvironment, path: Path) -> str:
    return Path(os.path.relpath(path, Path(env.srcdir).parent)).as_posix()


def _template(env: BuildEnvironment, docname: str) -> Template:
    path = Path(env.doc2path(docname))
    by_text: dict[str, Message] = {}
    for node, text in _messages(env, docname):
        by_text.setdefault(text, Message(text, _line(node, path), _kind(node)))
    return Template(_name(env, path), tuple(by_text.values()))


def _messages(env: BuildEnvironment, docname: str) -> Iterator[tuple[Element, str]]:
    """Yield what Sphinx's gettext builder would, in its order."""
    for toctree in env.tocs[docname].findall(addnodes.toctree):
        yield from extract_messages(toctree)
    for node, text in extract_messages(env.get_doctree(docname)):
        if not isinstance(node, addnodes.toctree):
            yield node, text


def _line(node: Element, path: Path) -> int:
    """Return the line of a message."""
    at = node
    while at.parent is not None and (at.line is None or at.source != str(path)):
        at = at.parent  # a docstring has lines of its own
    return at.line or 1


def _kind(node: Element) -> str:
    if isinstance(node, nodes.title):
        return "title"
    parent = node
    while parent is not None:
        if isinstance(parent, nodes.entry):
            return "cell"
        parent = parent.parent
    return "text"
