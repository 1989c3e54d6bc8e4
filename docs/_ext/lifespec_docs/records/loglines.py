"""What servers do and log about a lifespan, from `docs/matrix/loglines.json` of `make loglines`.

`{loglines}` with the name of a program shows what each server logs for it; `:facts:` names what
else the table says, by the keys of FACTS.  A server has one row if it does the same on SIGTERM and
on SIGINT, otherwise one for each.  `{open-requests}` shows what becomes of a request that is still
open when a server stops.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx

from lifespec.conformance.words import mark as _
from lifespec_docs.facts import recorded
from lifespec_docs.records.record import Shows
from lifespec_docs.rules.spec_tables import Cell, code, said, table

Run = Mapping[str, Any]
Translate = Callable[[str], str]

__all__ = [
    "FACTS",
    "RECORD",
    "SIGNALS",
    "TWO",
    "LogLines",
    "OpenRequests",
    "exit_status",
    "named",
    "setup",
]

NONE = "–"
SIGNALS = "SIGTERM", "SIGINT"
TWO = "two workers"
RECORD = "loglines"


def _whether(key: str) -> Callable[[Run, Translate], str]:
    return lambda run, translate: translate("Yes") if run[key] else translate("No")


def _status(run: Run, _: Translate) -> str:
    """Return an exit status as a shell has it."""
    status = run["status"]
    if status is None:
        return NONE
    return str(recorded.exit_status(status))


def exit_status(run: Run, translate: Translate) -> str:
    """Return the exit status of a server that ended without a signal."""
    return _status(run, translate) if run["alone"] else NONE


FACTS = {  # the title, what a run says, and whether it is the one with two workers
    "served": (_("Serves requests"), _whether("served"), False),
    "shutdown": (_("Sends shutdown"), _whether("shutdown"), False),
    "ended": (_("Ends"), _whether("ended"), False),
    "exit": (_("Exit status"), exit_status, False),
    "exit-of-two": (_("With two workers"), exit_status, True),
    "status": (_("Exit status"), _status, False),
    "status-of-two": (_("With two workers"), _status, True),
}


class LogLines(Shows):
    """What each server logs for one program, and what it does then."""

    required_arguments = 1
    option_spec: ClassVar = {"facts": directives.unchanged}

    def draw(self) -> list[nodes.Node]:
        """Return the table."""
        subjects, program = self.data["subjects"], self.arguments[0]
        self._known("program", [program], subjects[0]["runs"])
        facts = self.options.get("facts", "").split()
        self._known("fact", facts, FACTS)
        rows = [row for each in subjects for row in self._rows(each, program, facts)]
        titles = [_("Server"), _("Log"), *(FACTS[fact][0] for fact in facts)]
        return [table(map(self.translate, titles), rows, "loglines")]

    def _known(self, what: str, given: Sequence[str], known: Mapping[str, Any]) -> None:
        for each in given:
            if each not in known:
                raise self.error(f"There is no {what} {each!r}, only {', '.join(known)}.")

    def _rows(self, subject: Run, program: str, facts: Sequence[str]) -> Iterator[list[Cell]]:
        """Yield the cells of a server: once, or by signal if these differ."""
        runs = subject["runs"][program]
        by_signal = {by: (runs[by]["lines"], self._told(runs, by, facts)) for by in SIGNALS}
        same = by_signal[SIGNALS[0]] == by_signal[SIGNALS[1]]
        for by, (lines, told) in by_signal.items():
            if not same or by == SIGNALS[0]:
                name = named(subject) if same else f"{named(subject)}, {by}"
                log: Cell = []
                log += [nodes.inline("", "", *code(line), classes=["log-line"]) for line in lines]
                yield [said(name), log or said(self.translate("no line")), *map(said, told)]

    def _told(self, runs: Run, by: str, facts: Sequence[str]) -> list[str]:
        found = []
        for _title, word, of_two in (FACTS[fact] for fact in facts):
            run = runs.get(TWO) if of_two else runs[by]
            found.append(word(run, self.translate) if run else NONE)
        return found


class OpenRequests(Shows):
    """How long each server waits for a request that is open when it stops, and what comes then."""

    shown = RECORD

    def draw(self) -> list[nodes.Node]:
        """Return the table."""
        titles = (
            *(_("Server"), _("Option"), _("Waits by default"), _("Then cancels the request")),
            _("Then sends shutdown"),
        )
        rows = [self._row(subject) for subject in self.data["subjects"]]
        return [table(map(self.translate, titles), rows, "waits")]

    def _row(self, subject: Run) -> list[Cell]:
        usual, *_, limited = [*subject["waits"].values()] * 2
        waits = self.translate("until they end")
        if usual["ended"]:
            waits = self.translate("%s s") % usual["seconds"]
        facts = (_whether(key)(limited, self.translate) for key in ("cancelled", "shutdown"))
        option = next(filter(None, subject["waits"]), "")
        return [
            *(said(named(subject)), code(option) if option else said(NONE), said(waits)),
            *map(said, facts),
        ]


def named(subject: Run) -> str:
    """Return a server's name with its version."""
    return f"{subject['name']} {next(iter(subject['versions'].values()))}"


def setup(app: Sphinx) -> None:
    """Register `{loglines}` and `{open-requests}`."""
    app.add_directive("loglines", LogLines)
    app.add_directive("open-requests", OpenRequests)
