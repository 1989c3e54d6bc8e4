"""The results of the servers in a line each: `{server-results}`, from the record `servers`."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.util.docutils import SphinxDirective

from lifespec.conformance.report.model import Verdict
from lifespec_docs.i18n.messages import words
from lifespec_docs.rules.domain import RuleDomain
from lifespec_docs.rules.spec_tables import said, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata

    from lifespec_docs.rules.spec_tables import Cell

__all__ = ["Result", "ServerResults", "results", "setup"]

RECORD = "matrix/servers.json"
COUNTED = Verdict.PASS, Verdict.WARN, Verdict.FAIL
NO_LIFESPAN = "never calls the application with a lifespan scope"


class Result(NamedTuple):
    """How many rules of the specification a server passed; the IDs of those that it missed."""

    server: str
    counts: Counter[Verdict]
    missed: list[str]

    @property
    def has_lifespan(self) -> bool:
        """Tell whether any rule could be observed."""
        return set(self.counts) != {Verdict.SKIP}


def results(record: dict[str, Any]) -> Iterator[Result]:
    """Yield the result of each server: a rule has the verdict that counts of its cases."""
    for subject in record["subjects"]:
        rules: dict[str, list[Verdict]] = {}
        for each in subject["findings"]:
            if not each["silent"]:
                rules.setdefault(each["rule"], []).append(Verdict.named(each["verdict"]))
        verdicts = {rule: Verdict.of(found) for rule, found in rules.items()}
        missed = [rule for rule, v in verdicts.items() if v in {Verdict.WARN, Verdict.FAIL}]
        name = f"{subject['name']} {next(iter(subject['versions'].values()))}"
        yield Result(name, Counter(verdicts.values()), missed)


class ServerResults(SphinxDirective):
    """A row for each server."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        self.env.note_dependency(RECORD)
        record = json.loads(Path(self.env.srcdir, RECORD).read_text(encoding="utf-8"))
        translate = words(self.env)
        heads = [f"{each.sign} {each.word}" for each in COUNTED]
        titles = [translate("Server"), *heads, translate("Rules missed")]
        rows = [self._row(each, translate) for each in results(record)]
        return [table(titles, rows, "server-results")]

    def _row(self, result: Result, translate: Callable[[str], str]) -> list[Cell]:
        if not result.has_lifespan:
            return [said(result.server), *([said("")] * len(COUNTED)), said(translate(NO_LIFESPAN))]
        links: Cell = []
        for rule in result.missed:
            links += [*said(translate(", ") if links else ""), self._link(rule)]
        counts = [said(str(result.counts[each])) for each in COUNTED]
        return [said(result.server), *counts, links]

    def _link(self, rule: str) -> nodes.Element:
        place = {"refdomain": RuleDomain.name, "reftype": "rule", "reftarget": rule}
        text = nodes.literal("", rule)
        return pending_xref("", text, refdoc=self.env.docname, refwarn=True, **place)


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register `{server-results}`."""
    app.add_directive("server-results", ServerResults)
    return {"version": "1", "env_version": 1, "parallel_read_safe": True}
