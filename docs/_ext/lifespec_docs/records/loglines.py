"""What servers log about a lifespan: `{loglines}` with the name of a program of the record.

With `:interrupt:` the table also says whether the server ends on Ctrl-C.  With `:shutdown:` it does
not say whether the server serves requests: at shutdown it has served them.  The record is
`docs/matrix/loglines.json`, written by `make loglines`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from lifespec_docs.i18n.messages import words
from lifespec_docs.rules.spec_tables import code, said, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, ClassVar

    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata

    from lifespec_docs.rules.spec_tables import Cell

__all__ = ["LogLines", "setup"]

RECORD = "matrix/loglines.json"


class LogLines(SphinxDirective):
    """A row for each server: what it logs for one program, and what it does then."""

    required_arguments = 1
    option_spec: ClassVar = {"interrupt": directives.flag, "shutdown": directives.flag}

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        self.env.note_dependency(RECORD)
        record = json.loads(Path(self.env.srcdir, RECORD).read_text(encoding="utf-8"))
        program = self.arguments[0]
        if program not in record["subjects"][0]["runs"]:
            known = ", ".join(record["subjects"][0]["runs"])
            raise self.error(f"There is no program {program!r}, only {known}.")
        translate = words(self.env)
        facts = {} if "shutdown" in self.options else {"Serves requests": "served"}
        facts |= {"Ends on Ctrl-C": "ended"} if "interrupt" in self.options else {}
        rows = [
            _row(subject, subject["runs"][program], translate, facts.values())
            for subject in record["subjects"]
        ]
        return [table(map(translate, ["Server", "Log", *facts]), rows, "loglines")]


def _row(
    subject: dict[str, Any],
    run: dict[str, Any],
    translate: Callable[[str], str],
    facts: Iterable[str],
) -> list[Cell]:
    """Return the cells of a server."""
    lines: Cell = []
    for line in run["lines"]:
        lines += [nodes.inline("", "", *code(line), classes=["log-line"])]
    return [
        said(f"{subject['name']} {next(iter(subject['versions'].values()))}"),
        lines or said(translate("no line")),
        *(said(translate("Yes" if run[fact] else "No")) for fact in facts),
    ]


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register `{loglines}`."""
    app.add_directive("loglines", LogLines)
    return {"version": "1", "env_version": 1, "parallel_read_safe": True}
