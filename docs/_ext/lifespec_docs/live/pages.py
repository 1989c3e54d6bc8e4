"""What a page says of its examples for `run.js`, if the site has a runtime for them.

The number of an example is a class of its block. Its program is read from `_live/PAGE.json`, which
is fetched at the first run. Without the runtime a page is as if this extension did not exist.
"""

import ast
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from lifespec.conformance.words import mark as _
from lifespec_docs.examples import directive
from lifespec_docs.examples.runner import Example
from lifespec_docs.finished import then
from lifespec_docs.i18n.messages import marked, words
from lifespec_docs.live.assets import FOLDER

__all__ = ["BLOCKING", "DIAGRAMS", "LABELS", "PLAYGROUND", "obstacle", "programs", "setup"]

DIAGRAMS = "diagrams/drawing.py", "diagrams/event_log.py"  # whose words an event log has
DATA = "_live"  # in the folder of a language
NUMBER = "example-%d"
PLAYGROUND = "playground"  # the page
# What run.js shows, by the name it has there.
LABELS = {
    "run": _("Run"),
    "edit": _("Edit"),
    "reset": _("Reset"),
    "open": _("Open in the playground"),
    "about": _("Runs in your browser. The first run loads Python, about %s MB."),
    "loading": _("Loading Python: %s of %s MB"),
    "starting": _("Starting Python …"),
    "running": _("Running …"),
    "same": _("The output is the same as on this page."),
    "different": _("The output is not the same as on this page."),
    "edited": _("Your program ran."),
    "silent": _("The program printed nothing."),
    "limit": _("The program was ended after %s s."),
    "failed": _("The program could not be run: %s"),
    "blocked": _(
        "A program that lasts this long blocks the event loop, for example with time.sleep."
    ),
    "advice": _("Code that blocks the event loop"),
    "unloaded": _("The files of Python could not be loaded. Is this browser offline?"),
    "before": _("An example above raised %s:"),
    "errors": _("Standard error in your browser"),
    "defines": _("The program printed nothing: it defines names for the examples below."),
    "program": _("Program, to be edited"),
    "output": _("Output in your browser"),
    "download": _("Download the program"),
}
# Why an example cannot run in a browser.
OBSTACLES = {
    "process": _("This program needs a process, thread or socket, which a browser does not have."),
    "perl": _("This program is written in Perl, which does not run in a browser."),
    "package": _("This program needs a package that this page does not load."),
    "record": _("This program reads a record of measurements, which this page does not load."),
}
# what imports a package that Pyodide is not given
PACKAGED = re.compile(r"^ *(?:from|import) .*\b(?:trio|server_trio|terminal)$", re.MULTILINE)
BLOCKING = "timeouts.html#code-that-blocks-the-event-loop"
APART = re.compile(r"\b(aside|command)\(|\bsys\.executable\b")  # needs a thread or a process


def obstacle(block: Example) -> str:
    """Return why a block cannot run in a browser, or ""; a key of OBSTACLES, or "sh"."""
    if block.language in ("perl", "sh"):
        return block.language
    check = block.kind == "check"
    if check and (block.run_by == "trio" or PACKAGED.search(block.source)):
        return "package"
    if check and block.beside:
        return "record"
    return "process" if block.kind == "real" or (check and APART.search(block.source)) else ""


def number(_app: Sphinx, doctree: nodes.document) -> None:
    """Give each program its number on the page, as a class; nobody would run commands there."""
    found = filter(directive.runs, doctree.findall(nodes.literal_block))
    for count, node in enumerate(found):
        if not directive.is_command(node):
            node["classes"].append(NUMBER % count)


def add_context(
    app: Sphinx, pagename: str, _templatename: str, context: dict[str, Any],
    _doctree: nodes.document | None,
) -> None:  # fmt: skip
    """Give the template what the scripts of a page with examples are told."""
    blocks = directive.blocks(app.env).get(pagename, [])
    if not (app.config.live_size and blocks):
        return
    up = "../" * app.builder.get_target_uri(pagename).count("/")
    translate = words(app.env)
    told = {
        "data": f"{up}{DATA}/{pagename}.json",
        "blocking": f"{up}{BLOCKING}",
        "playground": up + app.builder.get_target_uri(PLAYGROUND),
        "programs": programs(blocks) if PLAYGROUND in app.env.found_docs else {},
        "size": app.config.live_size,
        "words": {name: translate(label) for name, label in LABELS.items()},
        "obstacles": {
            count: {
                "reason": translate(OBSTACLES[name]),
                # a check is no program: it uses names of the page and of its prelude
                "program": "" if block.kind == "check" else up + _program(pagename, count, block),
            }
            for count, block in enumerate(blocks)
            if (name := obstacle(block)) in OBSTACLES
        },
    }
    context["live"] = {"folder": f"{up}../{FOLDER}/", "data": json.dumps(told, ensure_ascii=False)}


def programs(blocks: Sequence[Example]) -> dict[int, list[int]]:
    """Return the numbers of the blocks that make each one a program of its own, by its number.

    These are the blocks whose names it uses, and those that they need, in the order of the page.
    One that needs files, or what a browser cannot run, is left out.
    """
    defined: dict[str, int] = {}  # the last block so far that has the name
    found: dict[int, list[int]] = {}
    for number, block in enumerate(blocks):
        if block.kind != "virtual" or obstacle(block):
            continue
        tree = ast.parse(block.source)
        own = {*_defined(tree)}
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - own
        needed = {defined[name] for name in used if name in defined}
        whole = {number}.union(*(found.get(each, [each]) for each in needed))
        if not (block.named or block.beside):
            found[number] = sorted(whole)
        defined |= dict.fromkeys(own, number)
    return found


def _defined(tree: ast.Module) -> Iterator[str]:
    """Yield the names that a program has at its top, but for those within functions and classes."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (each.asname or each.name.partition(".")[0] for each in node.names)
        else:
            stores = (each for each in ast.walk(node) if isinstance(each, ast.Name))
            yield from (each.id for each in stores if isinstance(each.ctx, ast.Store))


def _program(docname: str, count: int, block: Example) -> str:
    """Return where the program of one example is offered, in the folder of a language."""
    return f"_programs/{docname}-{count}.{directive.SUFFIXES[block.language]}"


def write_data(app: Sphinx) -> None:
    """Write the programs of each page, and the words of event logs, for its scripts."""
    if not app.config.live_size:
        return
    for docname, blocks in directive.blocks(app.env).items():
        if blocks:
            _write(Path(app.outdir, DATA, f"{docname}.json"), json.dumps(data(app.env, blocks)))
        for count, block in enumerate(blocks):
            if block.kind != "check" and obstacle(block) in OBSTACLES:
                _write(
                    Path(app.outdir, _program(docname, count, block)), f"{block.source.rstrip()}\n"
                )


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def data(env: BuildEnvironment, blocks: list[Example]) -> dict[str, Any]:
    """Return the examples of a page that can run in a browser, by number, and words for logs."""
    translate = words(env)
    return {
        "blocks": {
            number: asdict(block) for number, block in enumerate(blocks) if not obstacle(block)
        },
        "words": {
            label: translate(label) for label in marked(*DIAGRAMS) if translate(label) != label
        },
    }


def setup(app: Sphinx) -> None:
    """Register the value `live_size`, the megabytes that a first run loads: 0 without a runtime."""
    app.add_config_value("live_size", default=0, rebuild="env", types=[int])
    app.connect("doctree-read", number)
    app.connect("html-page-context", add_context)
    then(app, write_data)
