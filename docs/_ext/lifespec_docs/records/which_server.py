"""What readers compare who choose a server: `{which-server}`, a question a row, a server a column.

It draws `docs/matrix/loglines.json`, and of `servers.json` what requests get of the state.  A line
of its content gives the options of a server about lifespans:

    uvicorn | --lifespan on, --lifespan off
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from lifespec.conformance.report import Verdict
from lifespec.conformance.words import mark as _
from lifespec_docs.facts import recorded
from lifespec_docs.records.loglines import RECORD, SIGNALS, TWO, exit_status, named
from lifespec_docs.records.record import LATER, Record, Shows, Subject
from lifespec_docs.rules.spec_tables import NONE, Cell, code, said, table

Row = Mapping[str, Any]

__all__ = ["WhichServer", "setup"]

SERVERS = "servers"
STATE = "state-shallow-copy"
LIFESPAN = _("Runs the lifespan")


class WhichServer(Shows):
    """A table that is short enough to choose by."""

    has_content = True
    shown = RECORD

    def draw(self) -> list[nodes.Node]:
        """Return the table."""
        given = [line.split("|") for line in self.content]
        self.options_of = {name.strip(): options.split(",") for name, options in given}
        rows: list[Row] = self.data["subjects"]
        for name in self.options_of.keys() - {row["name"] for row in rows}:
            raise self.error(f"The record has no server {name!r}.")
        questions: dict[str, Callable[[Row], Cell]] = {
            LIFESPAN: lambda row: self._yes(self._subject(row).has_lifespan),
            _("Serves requests after a failed startup"): self._fact("fails", "served"),
            _("Exit status then, with one worker and with two"): self._exit,
            _("Serves requests although startup hangs"): self._fact("hangs-at-startup", "served"),
            _("A stop signal ends a startup that hangs"): self._fact("hangs-at-startup", "ended"),
            _("Sends shutdown on SIGTERM and on SIGINT"): self._sends,
            _("Waits for open requests"): self._waits,
            _("Sends shutdown if they do not end in time"): self._late,
            _("Each request gets a copy of the state"): self._state,
            _("Options about lifespans"): self._options,
        }
        body = (
            [said(self.translate(question)), *(self._cell(question, says, row) for row in rows)]
            for question, says in questions.items()
        )
        return [table([self.translate(_("Server")), *map(named, rows)], body, "which-server")]

    def _cell(self, question: str, says: Callable[[Row], Cell], row: Row) -> Cell:
        """Return an answer; of a server without lifespans only that it has none."""
        has = question == LIFESPAN or self._subject(row).has_lifespan
        return says(row) if has else said(NONE)

    @cached_property
    def _servers(self) -> list[Subject]:
        self.env.note_dependency(f"matrix/{SERVERS}.json")
        return Record(SERVERS, recorded.read(self.root, SERVERS)).subjects

    def _subject(self, row: Row) -> Subject:
        """Return a server's row of the other record, the first if it has several."""
        names = (row["name"], f"{row['name']}, ")
        return next(each for each in self._servers if each.name.startswith(names))

    def _yes(self, fact: bool) -> Cell:  # noqa: FBT001  what is said is whether
        return said(self.translate("Yes") if fact else self.translate("No"))

    def _fact(self, program: str, key: str) -> Callable[[Row], Cell]:
        return lambda row: self._yes(row["runs"][program]["SIGTERM"][key])

    def _sends(self, row: Row) -> Cell:
        first, second = (row["runs"]["answers"][by]["shutdown"] for by in SIGNALS)
        return [*self._yes(first), *said(self.translate(", ")), *self._yes(second)]

    def _exit(self, row: Row) -> Cell:
        runs = (row["runs"]["fails"][by] for by in ("SIGTERM", TWO))
        return said(self.translate(", ").join(exit_status(run, self.translate) for run in runs))

    def _waits(self, row: Row) -> Cell:
        usual = row["waits"][""]
        if not usual["ended"]:
            return said(self.translate("until they end"))
        return said(self.translate("%s s") % usual["seconds"])

    def _late(self, row: Row) -> Cell:
        return self._yes([*row["waits"].values()][-1]["shutdown"])

    def _state(self, row: Row) -> Cell:
        verdict = self._subject(row).verdict(STATE, silent=False)
        return (
            said(self.translate(LATER)) if verdict == LATER else self._yes(verdict == Verdict.PASS)
        )

    def _options(self, row: Row) -> Cell:
        cell: Cell = []
        for option in self.options_of.get(row["name"], ()):
            cell += [*said(self.translate(", ") if cell else ""), *code(option.strip())]
        return cell or said(NONE)


def setup(app: Sphinx) -> None:
    """Register `{which-server}`."""
    app.add_directive("which-server", WhichServer)
