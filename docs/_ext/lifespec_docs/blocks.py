"""Render what belongs to the blocks that pytest runs; nothing runs here.

`{output}` is what the block above prints, and `{output} zh` stands in its place on Chinese pages.
`{check}` proves the statement above it, `{shown}` is a file, and `{folded} TITLE` unfolds. A page
with programs offers them as one file, and a copy of one takes along those that define its names.
"""

import ast
import json
import re
import symtable
from collections.abc import Callable, Iterable, Iterator
from html import escape
from pathlib import Path, PurePosixPath
from textwrap import indent
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.directives.code import LiteralInclude
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

from lifespec_docs.views.records import measured
from lifespec_docs.words import mark as _
from lifespec_docs.words import translations
from lifespec_pages import page
from lifespec_pages.block import TRACEBACK, Block

Write = Callable[[HTML5Translator, Any], None]

LANGUAGES = {".py": "python", ".toml": "toml", ".sh": "sh", ".pl": "perl"}  # of shown files
READ_BY = {"logged": "loglines", "measured": "servers", "signalled": "signals"}  # by a helper
UNDER = {  # in which conditions a record was made
    "hosts": _("with the signals sent to the process that was started"),
    "loglines": _("with one worker, two where it is said, and signals to the parent"),
    "servers": _("with one worker, and two in the cases that have two"),
    "signals": _("with one worker and two, and signals to the parent and to all processes"),
}
HELPERS = "contributing.html#prove"
WITHOUT_CHECKS = {"api", "command-line"}  # pages on which every line would have one
CHECK = re.compile(r'(<details class="check")(>.*?</summary>)(.*?)</details>', re.DOTALL)
ALONE = {"check", "lifespan", "not-run", "output", "real", "shown"}  # no parts of a page's program


class folded_node(nodes.General, nodes.Element):
    """A note that unfolds; its first child is the title."""


class summary_node(nodes.General, nodes.TextElement):
    """The title of a note."""


class Output(SphinxDirective):
    """What the block above prints."""

    has_content = True
    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return a block that is not translated."""
        if self.arguments:
            if not self.config.language.startswith(self.arguments[0]):
                return []
            self.state_machine.node.pop()  # type: ignore[union-attr]
        text = "\n".join(self.content)
        block = nodes.literal_block(text, text, language="text", classes=["output"])
        self.set_source_info(block)
        return [block]


class Check(SphinxDirective):
    """A few lines of Python that prove the statement above them."""

    has_content = True
    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the lines, folded behind a ✓."""
        if self.env.docname in WITHOUT_CHECKS:
            return []
        translate = translations(self.env).gettext
        title = translate(_("This statement is checked: show how"))
        text = "\n".join(self.content)
        block = nodes.literal_block(text, text, language="python", classes=["check"])
        self.set_source_info(block)
        begin = f'<details class="check"><summary title="{title}">✓</summary>'
        href = "../" * self.env.docname.count("/") + HELPERS
        names = translate(_("The names that a check can use"))
        recorded = "".join(f"<p>{line}</p>" for line in conditions(text, translate))
        end = f'{recorded}<p><a href="{href}">{names}</a></p></details>'
        folds = (nodes.raw("", html, format="html") for html in (begin, end))
        return [next(folds), block, next(folds)]


def conditions(source: str, translate: Callable[[str], str]) -> Iterator[str]:
    """Yield for each record that a check reads when it was made, on what, and under what."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    read: set[str] = set()
    for call in calls:
        name = call.func.id if isinstance(call.func, ast.Name) else ""
        if name == "record" and isinstance(call.args[0], ast.Constant):
            read.add(str(call.args[0].value))
        elif name in READ_BY:
            read.add(READ_BY[name])
    for name in sorted(read & UNDER.keys()):
        about = measured(name)
        pythons = translate(_(" and ")).join(about["pythons"])
        line = translate(_("Recorded on %(date)s with %(python)s, %(under)s."))
        under = translate(UNDER[name])
        yield escape(line % {"date": about["record"]["date"], "python": pythons, "under": under})


class Shown(LiteralInclude):
    """A file, its path relative to the page."""

    def run(self) -> list[nodes.Node]:
        """Return the file as one block, in the language of its suffix."""
        suffix = PurePosixPath(self.arguments[0]).suffix
        self.options.setdefault("language", LANGUAGES.get(suffix, "text"))
        shown = super().run()
        for node in shown:
            for block in node.findall(nodes.literal_block):
                block["classes"].append("shown")
        return shown


class Folded(SphinxDirective):
    """A note of which the title alone is visible at first."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the note with its title and content parsed."""
        inlines, messages = self.parse_inline(self.arguments[0])
        summary = summary_node(self.arguments[0], "", *inlines)
        self.set_source_info(summary)
        return [folded_node("", summary, *self.parse_content_to_nodes()), *messages]


def offer_program(
    app: Sphinx, pagename: str, _template: str, context: dict[str, Any], doctree: object
) -> None:
    """Write the programs of a page into one file, and let the page link to it."""
    source = Path(app.env.doc2path(pagename)) if doctree else None
    if source is None or source.suffix != ".md":
        return
    parts = programs(source)
    if parts:
        context["program"] = _written(app, pagename, "_programs", ".py", joined(parts))


def fold_checks(
    app: Sphinx, pagename: str, _template: str, context: dict[str, Any], doctree: object
) -> None:
    """Write the checks of a page into a script, which it loads when one is unfolded."""
    if not doctree:
        return
    checks = [check[3] for check in CHECK.finditer(context.get("body", ""))]
    if checks:
        file = _written(app, pagename, "_checks", ".js", f"showChecks({json.dumps(checks)});\n")
        folded = rf'\1 data-checks="{file}"\2</details>'
        context["body"] = CHECK.sub(folded, context["body"])


def _written(app: Sphinx, pagename: str, folder: str, suffix: str, text: str) -> str:
    """Write a file that belongs to a page; return where it is, from there."""
    file = f"{folder}/{pagename}{suffix}"
    target = Path(app.outdir, file)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    return "../" * pagename.count("/") + file


def programs(source: Path) -> list[Block]:
    """Return the programs of a page that are parts of one; `Lifespan` serves the others."""
    parts = []
    for block in page.blocks(source, source.name):
        if block.kind == "program" and "lifespan" not in block.classes:
            parts.append(block)
    return parts


def joined(blocks: Iterable[Block]) -> str:
    """Return programs as one that runs to its end: an exception that its page shows is printed."""
    parts, raises = [], False
    for block in blocks:
        lines = block.source.strip("\n").split("\n")
        if TRACEBACK in (block.output or ""):
            start = ast.parse(block.source).body[-1].lineno - 1
            caught = indent("\n".join(lines[start:]), "    ")
            lines[start:] = ["try:", caught, "except Exception:", "    traceback.print_exc()"]
            raises = True
        parts.append("\n".join(lines))
    return "\n\n\n".join(["import traceback"] * raises + parts) + "\n"


def note_needs(_app: Sphinx, doctree: nodes.document) -> None:
    """Mark each program with the numbers of those above it that define its names."""
    defined: dict[str, int] = {}
    needs: list[set[int]] = []
    for node in doctree.findall(nodes.literal_block):
        if node.get("language") == "python" and not ALONE.intersection(node["classes"]):
            made, read = module_names(node.astext())
            above = {defined[name] for name in read - made if name in defined}
            node["classes"].append(f"program-{len(needs)}")
            defined |= dict.fromkeys(made, len(needs))
            needs.append(above.union(*(needs[number] for number in above)))
            node["classes"] += [f"needs-{number}" for number in sorted(needs[-1])]


def module_names(source: str) -> tuple[set[str], set[str]]:
    """Return the names that a program makes in its module, and those that it reads there."""
    made, read = set(), set()
    tables = [symtable.symtable(source, "a program", "exec")]
    for table in tables:  # which grows
        tables += table.get_children()
        for symbol in table.get_symbols():
            if not symbol.is_global() and table.get_type() != "module":
                continue
            if symbol.is_assigned() or symbol.is_imported():
                made.add(symbol.get_name())
            if symbol.is_referenced():
                read.add(symbol.get_name())
    return made, read


def element(tag: str, suffix: str = "\n", **attributes: str) -> tuple[Write, Write]:
    """Return what opens and closes an element of a page."""
    return (
        lambda writer, node: writer.body.append(writer.starttag(node, tag, suffix, **attributes)),
        lambda writer, _node: writer.body.append(f"</{tag}>\n"),
    )


def setup(app: Sphinx) -> None:
    """Register the directives and their nodes."""
    for directive in (Output, Check, Shown, Folded):
        app.add_directive(directive.__name__.lower(), directive)
    app.add_node(
        folded_node,
        html=element("details", CLASS="folded"),
        text=(lambda *_: None, lambda *_: None),
    )
    app.add_node(
        summary_node,
        html=element("summary", ""),
        text=(
            lambda writer, node: writer.visit_paragraph(node),
            lambda writer, node: writer.depart_paragraph(node),
        ),
    )
    app.connect("doctree-read", note_needs)
    app.connect("html-page-context", offer_program)
    app.connect("html-page-context", fold_checks)
