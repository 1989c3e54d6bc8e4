"""The index of log lines and exceptions: `{log-index}`, a row for each, with an anchor.

A line of the directive names a section by its label, or a page, and what it explains:

    lifespan-unsupported | raises                     the lines of a program of the record
    timeouts | lifespec.StartupTimeout                an exception of lifespec
    timeouts | The application did not answer startup  a log line of lifespec
    ctrl-c-hangs | uvicorn | Waiting for …            any other line, and what it comes from

Each program that makes a server log, each exception and each log line of lifespec must be named.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

import lifespec
import lifespec.testing
from lifespec.conformance.words import mark as _
from lifespec.server import TABLE
from lifespec_docs.records.record import Shows
from lifespec_docs.rules.spec_tables import Cell, code, said, table

__all__ = ["EXCEPTIONS", "MESSAGES", "LogIndex", "lines", "setup"]

OURS = "lifespec"
LEVEL = re.compile(r"^\[?(?:INFO|WARNING|ERROR)\]?:?\s+")
EXCEPTIONS = tuple(
    f"{module.__name__}.{name}"
    for module in (lifespec, lifespec.testing)
    for name in module.__all__
    if isinstance(kind := getattr(module, name), type) and issubclass(kind, Exception)
)
# in the order in which they can be logged
MESSAGES = tuple(
    dict.fromkeys(
        f"The application {sentence}"
        for row in TABLE.values()
        for _, _, level, sentence in row.values()
        if level
    )
)


@dataclass
class Row:
    """A line: what it comes from, and where it is explained."""

    text: str
    sources: dict[str, None] = field(default_factory=dict)
    targets: dict[str, None] = field(default_factory=dict)


class LogIndex(Shows):
    """A table of log lines and exceptions, each with a link to what explains it."""

    has_content = True
    shown = "loglines"

    def draw(self) -> list[nodes.Node]:
        """Return the table."""
        record = self.data
        programs = [name for name in record["programs"] if any(lines(record, name))]
        given = [[part.strip() for part in line.split("|")] for line in self.content if line]
        rows: dict[str, Row] = {}
        for target, *what in given:
            if len(what) == 1 and what[0] not in {*programs, *EXCEPTIONS, *MESSAGES}:
                raise self.error(f"This is no program, exception or log line: {what[0]!r}.")
            for source, text in _explained(record, what):
                row = rows.setdefault(text, Row(text))
                row.sources[source] = row.targets[target] = None
        named = {what[0] for _, *what in given}
        for missing in (each for each in (*programs, *EXCEPTIONS, *MESSAGES) if each not in named):
            raise self.error(f"No section explains {missing!r}.")
        translate = self.translate
        titles = map(translate, (_("Log line or exception"), _("From"), _("Explained in")))
        comma = translate(", ")
        drawn = table(titles, (self._cells(row, comma) for row in rows.values()), "log-index")
        body = next(drawn.findall(nodes.tbody))
        for node, row in zip(body.findall(nodes.row), rows.values(), strict=True):
            node["ids"] = [_anchor(row.text)]
        return [drawn]

    def _cells(self, row: Row, comma: str) -> list[Cell]:
        links: Cell = []
        for target in row.targets:
            links += [nodes.Text(comma)] * bool(links) + [self._link(target)]
        line: Cell = code(row.text)
        if row.text in EXCEPTIONS:
            line = [self._reference("py", "exc", row.text, *line)]
        return [line, said(comma.join(row.sources)), links]

    def _link(self, target: str) -> nodes.Node:
        """Return a link to a page or to a section, with its title."""
        if target in self.env.found_docs:
            return self._reference("std", "doc", target, nodes.inline(target, target))
        return self._reference("std", "ref", target, nodes.inline(target, target))

    def _reference(self, domain: str, kind: str, target: str, *shown: nodes.Node) -> nodes.Node:
        options = {"refdomain": domain, "reftype": kind, "reftarget": target, "refwarn": True}
        node = addnodes.pending_xref(
            "", *shown, refdoc=self.env.docname, refexplicit=False, **options
        )
        self.set_source_info(node)
        return node


def lines(record: dict[str, Any], program: str) -> Iterator[tuple[str, str]]:
    """Yield each line for a program, without its level, and the server that logs it.

    What the program itself says is left out: another application says something else.
    """
    for subject in record["subjects"]:
        for run in subject["runs"].get(program, {}).values():
            for text in (LEVEL.sub("", line) for line in run["lines"]):
                if text.rpartition(": ")[2] not in record["programs"][program]:
                    yield subject["name"], text


def _explained(record: dict[str, Any], what: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the lines that a line of the directive names, and what each comes from."""
    if len(what) > 1:
        yield what[0], what[1]
    elif what[0] in record["programs"]:
        yield from lines(record, what[0])
    else:
        yield OURS, what[0]


def _anchor(text: str) -> str:
    return f"log-{nodes.make_id(text)}"


def setup(app: Sphinx) -> None:
    """Register `{log-index}`."""
    app.add_directive("log-index", LogIndex)
