"""The page of the playground: what its script reads, and the links to it.

A page says what is there only with a runtime, or only without one, by the classes `live-only` and
`not-live`. Each edge case leads to its program, with the conduct that its call of `serve` has.
"""

import ast
import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any, TypeGuard, cast

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from lifespec.conformance import cases, explain
from lifespec.conformance.rules import names
from lifespec.conformance.words import mark as _
from lifespec.validate import SPECS
from lifespec_docs.examples import directive
from lifespec_docs.facts import recorded
from lifespec_docs.finished import then
from lifespec_docs.i18n.messages import marked, words
from lifespec_docs.live import servers
from lifespec_docs.live.assets import FOLDER
from lifespec_docs.live.imitation import CASES
from lifespec_docs.live.pages import BLOCKING, DIAGRAMS, LABELS
from lifespec_docs.live.pages import PLAYGROUND as PAGE
from lifespec_docs.rules.domain import RuleDomain, text_of
from lifespec_docs.rules.edge_cases import case_node

__all__ = ["Start", "conduct", "program", "setup"]

DATA = "_playground.json"  # in the folder of a language
STARTS = Path(__file__).with_name("starts.toml")
# What play.js shows, by the name it has there.
PLAY = {
    "starts": _("Starting program"),
    "own": _("Your program"),
    "programs": _("Programs"),
    "run": _("Run"),
    "check": _("Check application"),
    "cases": _("Play the cases of lifespec check app, by the specification of the tab Server"),
    "report": _("Report"),
    "key": _("Ctrl-Enter. The first run loads Python, about %s MB."),
    "loading": LABELS["loading"],
    "starting": LABELS["starting"],
    "running": LABELS["running"],
    "limit": LABELS["limit"],
    "failed": LABELS["failed"],
    "blocked": LABELS["blocked"],
    "advice": LABELS["advice"],
    "unloaded": LABELS["unloaded"],
    "ran": LABELS["edited"],
    "copy": _("Copy link"),
    "copied": _("The link was copied. It holds the program and what the server does."),
    "link": _("Copy the link from the address bar: it holds the program and what the server does."),
    "markdown": _("Copy as Markdown"),
    "copiedResult": _("The program and its result were copied, for an issue."),
    "refused": _("The browser does not allow this page to copy."),
    "playground": _("Open in the playground"),
    "broken": _(
        "The address holds no program that can be read. Here is the first starting program."
    ),
    "application": _("Application"),
    "server": _("Server"),
    "editor": _("Program in Python, to be edited. Press Escape and then Tab to leave it."),
    "leave": _("Tab indents. Press Escape and then Tab to leave the editor."),
    "decided": _("The record of %s sets the scope and the timeouts."),
    "recorded": _("Recorded on %s with %s on %s. The log has the words of your program in it."),
    "stale": _("Measured before the last change of %s."),
    "logged": _("Log of %s"),
    "unlogged": _("It logs nothing about this."),
    "unrecorded": _("The record has no log of this case."),
    "unmeasured": _("The record has no case like this, so the server does as Lifespan."),
    "spec": _("Specification"),
    "state": _("Provide state"),
    "strict": _("Refuse to serve if lifespan is not supported (strict)"),
    "startup_timeout": _("Startup timeout"),
    "shutdown_timeout": _("Shutdown timeout"),
    "grace": _("Grace period"),
    "none": _("none"),
    "seconds": _("seconds"),
    "requests": _("Requests after startup"),
    "request": _("Each request"),
    "asked": _("Method, path and body, such as POST /items hello or WEBSOCKET /chat hello"),
    "serve": _("Serve for"),
    "cancel": _("Cancel the server after"),
    "moments": _("Counted from its start. For several cancellations: 1 2"),
    "fails": _("The server raises OSError while it serves"),
    "defaults": _("Reset the server"),
    "clock": _("Times are virtual: a timeout of an hour takes no time."),
    "result": _("Result"),
    "hint": _("Press Run. The program runs in your browser, and is sent nowhere."),
    "outcome": _("Outcome: %s"),
    "pending": _("none yet"),
    "served": _("served"),
    "unserved": _("not served"),
    "raises": _("raises %s"),
    "waits": _("The server waits without end. No timer is pending, and every task waits:"),
    "failure": _("The program raised an exception."),
    "noapp": _("The program defines no app, and ran no lifespan."),
    "sequence": _("Message sequence"),
    "shortened": _("Only the first events are shown."),
    "validator": _("Validator"),
    "conforms": _("The validator found nothing to report."),
    "unanswered": _("not answered yet"),
    "violation": _("violation"),
    "warning": _("warning"),
    "console": _("Log and output"),
    "silent": _("Nothing was logged or printed."),
    "unavailable": _(
        "This browser lacks what the playground needs: WebAssembly and module workers."
    ),
}
SERVING = ("serve", "interrupt")  # the functions with which edge cases serve their application


@dataclass
class Start:
    """A program to begin with: its ID, title, group and text, and what is special of its server."""

    name: str
    title: str
    program: str
    server: dict[str, Any] = field(default_factory=dict)
    group: str = ""


def program(source: str, preamble: str) -> str:
    """Return the application of an edge case, with the imports of the page that it needs."""
    tree = ast.parse(source)
    place = next(n for n, each in enumerate(tree.body) if getattr(each, "name", "") == "app")
    app = ast.get_source_segment(source, tree.body[place]) or ""
    used = {node.id for node in ast.walk(tree.body[place]) if isinstance(node, ast.Name)}
    imports = dict((*_imports(preamble), *_imports(source)))
    needed = [line for line, name in imports.items() if name in used]
    return "".join(f"{line}\n" for line in needed) + "\n\n" * bool(needed) + f"{app}\n"


def _imports(source: str) -> Iterator[tuple[str, str]]:
    """Yield each import of a program, one name each."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            home = f"from {node.module} " if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                yield f"{home}import {alias.name}", alias.name.partition(".")[0]


def conduct(source: str) -> dict[str, Any]:
    """Return what the server of an edge case does otherwise than usual."""
    tree = ast.parse(source)
    found: dict[str, Any] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in SERVING:
            given = {each.arg: each.value for each in node.keywords if each.arg}
            found |= {name: each.value for name, each in given.items() if _is_plain(each)}
            moments = [each.value for each in node.args[1:] if _is_plain(each)]
            found |= {"cancel": moments} if moments else {}
        elif isinstance(node, ast.AsyncWith) and _raises(node):
            found["fails"] = True
    return found


def _is_plain(node: ast.expr) -> TypeGuard[ast.Constant]:
    """Tell whether an expression is a number or None."""
    return isinstance(node, ast.Constant)


def _raises(node: ast.AST) -> bool:
    return any(isinstance(each, ast.Raise) for each in ast.walk(node))


def _cases(env: BuildEnvironment) -> dict[str, list[Start]]:
    """Return the edge cases of every page, by docname."""
    if not hasattr(env, "lifespec_cases"):
        env.lifespec_cases = {}  # type: ignore[attr-defined]
    return env.lifespec_cases  # type: ignore[attr-defined, no-any-return]


def take_cases(app: Sphinx, document: nodes.document) -> None:
    """Note the program of each edge case of a page; the first example has what all of them use."""
    starts: list[Start] = []
    examples = list(filter(directive.is_example, document.findall(nodes.literal_block)))
    for case in document.findall(case_node):
        source = next((each.astext() for each in _below(case) if each in examples), "")
        if "def app(" in source:
            section = cast("nodes.section", case.parent)
            title, group = _plain(case.children[0]), _plain(section.children[0])
            text = program(source, examples[0].astext())
            starts.append(Start(case["name"], title, text, conduct(source), group))
    _cases(app.env)[app.env.docname] = starts


def _below(case: case_node) -> Iterator[nodes.literal_block]:
    """Yield the blocks below a case, up to the next one."""
    after = case.parent.children[case.parent.index(case) + 1 :]
    before_next = takewhile(lambda node: not isinstance(node, case_node | nodes.section), after)
    return (node for node in before_next if isinstance(node, nodes.literal_block))


def _plain(node: nodes.Node) -> str:
    return text_of(node).replace("`", "").rstrip(".。")


def forget_cases(_app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    """Forget the cases of a page that is read again."""
    _cases(env).pop(docname, None)


def leave_out(app: Sphinx, document: nodes.document) -> None:
    """Take the page out of the navigation of a site without a runtime."""
    if app.config.live_size:
        return
    if app.env.docname == PAGE:
        app.env.metadata[PAGE]["orphan"] = True
    for tree in document.findall(addnodes.toctree):
        tree["entries"] = [each for each in tree["entries"] if each[1] != PAGE]
        tree["includefiles"] = [each for each in tree["includefiles"] if each != PAGE]


def finish(app: Sphinx, document: nodes.document, docname: str) -> None:
    """Leave out what is not so in this build, and lead from edge cases to the playground."""
    live = app.config.live_size
    wrong = "not-live" if live else "live-only"
    for node in [each for each in document.findall(nodes.Element) if wrong in each["classes"]]:
        cast("nodes.Element", node.parent).remove(node)
    if live and PAGE in app.env.found_docs:
        names = {start.name for start in _cases(app.env).get(docname, ())}
        page, text = app.builder.get_relative_uri(docname, PAGE), words(app.env)(_("Try it"))
        for place, name in [*_places(document, names)]:
            place.append(_link(page, name, text))


def _places(document: nodes.document, names: set[str]) -> Iterator[tuple[nodes.Element, str]]:
    """Yield the foot of each of these cases, and a paragraph in its row of the table."""
    for case in document.findall(case_node):
        if case["name"] in names:
            yield cast("nodes.Element", case.children[-1]), case["name"]
    for entry in document.findall(nodes.entry):
        found = next(iter(entry.findall(nodes.reference)), None)
        if found is not None and found.get("refid") in names:
            paragraph = nodes.paragraph(classes=["small"])
            entry.append(paragraph)
            yield paragraph, found["refid"]


def _link(page: str, name: str, text: str) -> nodes.reference:
    return nodes.reference(
        "", text, refuri=f"{page}#start={name}", internal=True, classes=["try-it"]
    )


def starts(env: BuildEnvironment) -> list[Start]:
    """Return the programs to begin with: ours, then the edge cases of all pages."""
    translate = words(env)
    ours = tomllib.loads(STARTS.read_text(encoding="utf-8"))
    found = []
    for name, row in ours.items():
        title = row["title"]
        found.append(Start(name, translate(title), row["program"], row.get("server", {})))
    return found + [start for name in sorted(_cases(env)) for start in _cases(env)[name]]


def spec_titles(env: BuildEnvironment) -> dict[str, str]:
    """Return how a page names each specification."""
    return {spec: names([spec], words(env)) for spec in SPECS}


def data(app: Sphinx) -> dict[str, Any]:
    """Return what play.js reads."""
    translate = words(app.env)
    domain = cast("RuleDomain", app.env.domains[RuleDomain.name])
    shown = marked(*DIAGRAMS, "live/play.py")
    return {
        "blocking": BLOCKING,
        "language": explain.language({"LANG": app.config.language}),
        "size": app.config.live_size,
        "labels": {name: translate(label) for name, label in PLAY.items()},
        "words": {label: translate(label) for label in shown if translate(label) != label},
        "specs": spec_titles(app.env),
        "rules": {
            rule: f"{app.builder.get_relative_uri(PAGE, page)}#{rule}"
            for rule, page in sorted(domain.rules.items())
        },
        "servers": servers.rows(recorded.ROOT, translate),
        "cases": {case: _case(app, domain, case) for case in CASES},
        "starts": [vars(start) for start in starts(app.env)],
    }


def _case(app: Sphinx, domain: RuleDomain, name: str) -> dict[str, str]:
    """Return the sentence of a case of the suite, and where it is described, if a page does."""
    case = next(each for each in cases.load() if each.name == name)
    page, anchor = domain.places.get(("case", name), ("", ""))
    where = f"{app.builder.get_relative_uri(PAGE, page)}#{anchor}" if page else ""
    return {"says": words(app.env)(case.says), "page": where}


def add_context(
    app: Sphinx, pagename: str, _templatename: str, context: dict[str, Any],
    _doctree: nodes.document | None,
) -> None:  # fmt: skip
    """Give the template the scripts of the playground's page."""
    if app.config.live_size and pagename == PAGE:
        context["playground"] = {"folder": f"../{FOLDER}/", "data": DATA}


def write_data(app: Sphinx) -> None:
    """Write what the script reads."""
    if PAGE in app.env.found_docs and app.config.live_size:
        text = json.dumps(data(app), ensure_ascii=False)
        Path(app.outdir, DATA).write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Register what the page needs."""
    app.connect("doctree-read", take_cases)
    app.connect("doctree-read", leave_out, priority=400)  # before Sphinx notes the trees
    app.connect("env-purge-doc", forget_cases)
    app.connect("doctree-resolved", finish)
    app.connect("html-page-context", add_context)
    then(app, write_data)
