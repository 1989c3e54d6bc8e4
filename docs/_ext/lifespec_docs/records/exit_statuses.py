"""With which status each server ends after a failure: `{exit-statuses}` with the name of a record.

With `:startup:` the table is about a failed startup alone.
"""

import re
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx

from lifespec.conformance.report import Verdict
from lifespec.conformance.words import mark as _
from lifespec_docs.records.record import LATER, OfRecord, Subject
from lifespec_docs.rules.spec_tables import NONE, said, table

__all__ = ["ExitStatuses", "setup"]

STARTUP = {  # head: the case, and the rule whose sentence says how the process ended
    _("Startup failed"): ("failed-with-message", "startup-failed-exits"),
    _("Startup failed, two workers"): ("two-workers-failed", "startup-failed-exits"),
}
SHUTDOWN = {
    _("Shutdown failed"): ("shutdown-failed-with-message", "shutdown-failed-ends"),
    _("Shutdown failed, two workers"): ("two-workers-shutdown-failed", "shutdown-failed-ends"),
    _("No failure"): ("well-behaved", "shutdown-sent"),
}
ENDED = re.compile(r"ended with status (\d+(?: \(\w+\))?)")


class ExitStatuses(OfRecord):
    """A row for each server that has a lifespan."""

    option_spec: ClassVar = {"startup": directives.flag}

    def draw(self) -> list[nodes.Node]:
        """Return the table."""
        columns = STARTUP if "startup" in self.options else STARTUP | SHUTDOWN
        rows = [
            [said(each.name), *(said(self._status(each, *where)) for where in columns.values())]
            for each in self.record.subjects
            if each.has_lifespan
        ]
        heads = map(self.translate, [self.record.title, *columns])
        return [table(heads, rows, "exit-statuses")]

    def _status(self, subject: Subject, case: str, rule: str) -> str:
        """Return a status, a signal, or why there is none."""
        found = [each for each in subject.findings if (each.case, each.rule) == (case, rule)]
        if not found:
            return self.translate(LATER)
        if found[0].verdict == Verdict.SKIP:
            return NONE
        ended = ENDED.search(found[0].actual)
        if not ended:
            return self.translate("still running")
        return ended[1]


def setup(app: Sphinx) -> None:
    """Register `{exit-statuses}`."""
    app.add_directive("exit-statuses", ExitStatuses)
