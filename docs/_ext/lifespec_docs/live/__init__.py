"""Lets readers run and edit the programs of a page, each after those above it.

`make live` builds such a site: Sphinx is started with the tag `live`. `files` writes what a browser
loads; there `live.js` draws buttons and output, and `worker.js` starts Python.
"""

from __future__ import annotations

import ast
import symtable
import sys
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx import addnodes

from lifespec_docs.live.files import PACKAGES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sphinx.application import Sphinx
    from sphinx.config import Config

__all__ = ["runnable", "setup"]

PLAYGROUND = "playground"  # a page
RUNS = "runs-here"  # the class of a program that a browser can run
OTHERS = {"not-run", "real", "check", "shown"}  # classes of blocks that are no programs of a page
# Modules that a browser has, and names that it lacks: they need a thread, a process or a package.
MODULES = {"lifespec", *(name.replace("-", "_") for name in PACKAGES), *sys.stdlib_module_names}
LACKING = {"multiprocessing", "subprocess", "threading", "fcntl", "to_thread", "server_trio"}


def runnable(programs: Sequence[str]) -> Iterator[bool]:
    """Yield for each program of a page whether a browser has all that it needs."""
    absent: set[str] = set()  # names that only programs which do not run define
    for source in programs:
        names, modules = set[str](), set[str]()
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Name | ast.Attribute):
                names.add(node.id if isinstance(node, ast.Name) else node.attr)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                found = [each.name for each in node.names]
                modules.update([str(node.module)] if isinstance(node, ast.ImportFrom) else found)
                names.update(found)
        roots = {each.partition(".")[0] for each in modules}
        runs = roots <= MODULES and not (names | roots) & (LACKING | absent)
        top = symtable.symtable(source, "program", "exec").get_symbols()
        defined = {each.get_name() for each in top if each.is_assigned() or each.is_imported()}
        absent = absent - defined if runs else absent | defined
        yield runs


def mark_programs(_app: Sphinx, document: nodes.document) -> None:
    """Give each program that runs in a browser its class."""
    python = [each for each in document.findall(nodes.literal_block) if each["language"] == "python"]
    blocks = [each for each in python if not OTHERS.intersection(each["classes"])]
    for block, runs in zip(blocks, runnable([each.astext() for each in blocks]), strict=True):
        block["classes"] += [RUNS] * runs


def list_playground(app: Sphinx, document: nodes.document) -> None:
    """Put the playground at the end of the first group of the navigation."""
    if app.env.docname == app.config.root_doc:
        tree = next(iter(document.findall(addnodes.toctree)))
        tree["entries"].append((None, PLAYGROUND))
        tree["includefiles"].append(PLAYGROUND)


def add_context(
    app: Sphinx, pagename: str, _template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Tell the template of a page with such programs where the script is."""
    if doctree and any(RUNS in each["classes"] for each in doctree.findall(nodes.literal_block)):
        context["live"] = "../" * (app.builder.get_target_uri(pagename).count("/") + 1) + "live/"


def include_playground(_app: Sphinx, config: Config) -> None:
    """Let this site have the playground."""
    config.exclude_patterns.remove(f"{PLAYGROUND}.md")


def setup(app: Sphinx) -> None:
    """Follow the pages."""
    app.connect("config-inited", include_playground)
    app.connect("doctree-read", mark_programs)
    app.connect("doctree-read", list_playground, priority=400)  # before Sphinx notes the trees
    app.connect("html-page-context", add_context)
