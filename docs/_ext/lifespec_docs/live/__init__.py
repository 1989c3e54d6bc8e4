"""Let readers run and edit the programs of a page, each after those above it.

`make live` builds such a site. `files` writes what a browser loads; there `live.js` draws buttons
and output, and `worker.js` starts Python.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

from lifespec_docs.blocks import module_names
from lifespec_docs.live.files import PACKAGES

PLAYGROUND = "playground"  # a page
RUNS = "runs-here"  # the class of a program that a browser can run
OTHERS = {"not-run", "real", "check", "shown"}  # classes of blocks that are no programs of a page
MODULES = {"lifespec", *(name.replace("-", "_") for name in PACKAGES), *sys.stdlib_module_names}
IMPORTED = re.compile(r"^ *(?:from|import) (\w+)", re.MULTILINE)
# names that need processes, threads, file locks or trio, which a browser lacks
NATIVE = {"check_app", "check_middleware", "check_server", "fcntl", "server_trio", "threading"}


def runnable(programs: Iterable[str]) -> Iterator[bool]:
    """Yield for each program of a page whether a browser has the modules and names that it uses."""
    absent: set[str] = set()  # names of programs that do not run
    for source in programs:
        imported, words = set(IMPORTED.findall(source)), set(re.findall(r"\w+", source))
        defined, _read = module_names(source)
        absent -= defined
        runs = imported <= MODULES and not words & (NATIVE | absent)
        absent = absent if runs else absent | defined
        yield runs


def mark_programs(_app: Sphinx, document: nodes.document) -> None:
    """Give each program that runs in a browser its class."""
    blocks = []
    for block in document.findall(nodes.literal_block):
        if block["language"] == "python" and not OTHERS.intersection(block["classes"]):
            blocks.append(block)
    sources = [block.astext() for block in blocks]
    for block, runs in zip(blocks, runnable(sources), strict=True):
        if runs:
            block["classes"].append(RUNS)


def list_playground(app: Sphinx, document: nodes.document) -> None:
    """Put the playground at the end of the first group of the navigation."""
    if app.env.docname == app.config.root_doc:
        tree = next(document.findall(addnodes.toctree))
        tree["entries"].append((None, PLAYGROUND))
        tree["includefiles"].append(PLAYGROUND)


def add_context(app: Sphinx, page: str, _: str, context: dict[str, Any], doctree: Any) -> None:
    """Let the template of a page with such programs load the script."""
    if doctree and any(RUNS in each["classes"] for each in doctree.findall(nodes.literal_block)):
        context["live"] = "../" * (app.builder.get_target_uri(page).count("/") + 1) + "live/"


def setup(app: Sphinx) -> None:
    """Follow the pages."""
    app.connect("doctree-read", mark_programs)
    app.connect("doctree-read", list_playground, priority=400)  # before Sphinx notes the trees
    app.connect("html-page-context", add_context)
