"""What middlewares let through, from `docs/matrix/middleware.json` of `make middleware`.

`{middlewares}` is the table of those that change or add anything, `{middlewares-passing}` lists the
others, and `{middleware-findings}` says in what the suite found a fault, and which.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from lifespec.conformance.observed import translated
from lifespec.conformance.words import mark as _
from lifespec_docs.facts.role import with_literals
from lifespec_docs.records.issue import issues_between
from lifespec_docs.records.markup import element
from lifespec_docs.records.record import OfRecord, sign_and_word
from lifespec_docs.rules.spec_tables import NONE, Cell, table

Happened = Sequence[Sequence[Any]]
Runs = Mapping[str, Happened]
Said = tuple[str, ...]

__all__ = ["COLUMNS", "Findings", "Middlewares", "Passing", "setup"]

FACT = ["fact"]  # what the record says is no name of the page
SAME, LOST = (_("Unchanged"),), (_("Lost"),)
UNTOUCHED = {*SAME, _("The same"), NONE}
FAILED = ("startup", "shutdown")
RAISED = ("on the scope", "while serving")


def _first(happened: Happened, what: str) -> Sequence[Any]:
    return next((each for each in happened if each[0] == what), ())


def _arrived(happened: Happened) -> list[str]:
    """Return the events that the server received."""
    return [each[1] for each in happened if each[0] == "server"]


def _scope(runs: Runs) -> Said:
    found = _first(runs["usual"], "scope")
    if not found:
        return (_("Not passed on"),)
    what, *differs = found[1:]
    if what == "same":
        return (_("The same"),)
    return (_("A copy, other in `%s`"), " ".join(differs)) if differs else (_("A copy"),)


def _state(runs: Runs) -> Said:
    """Say whether a request has what was written at startup; some do not pass one on alone."""
    usual = runs["usual"]
    if _first(usual, "written")[1:] != ["open"] or _first(usual, "request")[1:] == ["no state"]:
        return LOST
    return (_("The same"),) if _first(usual, "state")[1] == "same" else (_("Another object"),)


def _events(runs: Runs) -> Said:
    usual = runs["usual"]
    if not _first(usual, "application"):
        return LOST
    arrived = _arrived(usual)
    if arrived != ["startup.complete", "shutdown.complete"]:
        return _("The server receives `%s`"), "`, `".join(arrived)
    return SAME


def _failures(runs: Runs) -> Said:
    """Say what becomes of startup.failed and shutdown.failed."""
    wanted = {"startup": ["startup.failed"], "shutdown": ["startup.complete", "shutdown.failed"]}
    found = {phase: _arrived(runs[f"at {phase}"]) for phase in FAILED}
    if found == wanted:
        return SAME
    if not any(f"{phase}.failed" in found[phase] for phase in FAILED):
        return LOST
    return _("The server receives `%s`"), "`; `".join("`, `".join(found[phase]) for phase in FAILED)


def _exceptions(runs: Runs) -> Said:
    """Say what the call with the lifespan raises, where the application raises."""
    ends = [runs[fault][-1] for fault in RAISED]
    if all(end == ["raised the same"] for end in ends):
        return SAME
    raised = [end[1] for end in ends if end[0] == "raised"]
    return (_("Raises `%s`"), raised[0]) if raised else LOST


def _own(runs: Runs) -> Said:
    usual = [*runs["usual"]]
    if ["opens its own"] not in usual:
        return (NONE,)
    return (_("Around the application"),) if _first(usual, "application") else (_("Instead of it"),)


COLUMNS = {
    _("Scope"): _scope,
    _("State"): _state,
    _("Events"): _events,
    _("Failures"): _failures,
    _("Exceptions"): _exceptions,
    _("Own work"): _own,
}


class OfMiddleware(OfRecord):
    """A directive about the record of middlewares."""

    required_arguments = 0
    shown = "middleware"


class Middlewares(OfMiddleware):
    """A table: middlewares by what they let through, of those that change or add anything."""

    def draw(self) -> list[nodes.Node]:
        """Return the table."""
        titles = [self.translate("Middleware"), *map(self.translate, COLUMNS), "lifespec check"]
        rows = (
            [
                self._named(each),
                *(self._sentence(says(each["passed"])) for says in COLUMNS.values()),
                self._verdict(each["counts"]),
            ]
            for each in self.data["subjects"]
            if not passes(each)
        )
        return [table(titles, rows, "no-search")]

    def _named(self, subject: Mapping[str, Any]) -> Cell:
        name = nodes.reference("", subject["name"], internal=True, refuri=f"#{_anchor(subject)}")
        release = nodes.Text(f" {version(subject)} ")
        return [nodes.inline("", "", name, release, element("code", subject["code"]), classes=FACT)]

    def _sentence(self, words: Said) -> Cell:
        text = words[0] if words[0] == NONE else self.translate(words[0])
        text = text % words[1:] if words[1:] else text
        return [nodes.inline("", "", *with_literals(text), classes=FACT)]

    def _verdict(self, counts: Mapping[str, int]) -> Cell:
        worst = next(each for each in ("fail", "warn", "pass") if each in counts)
        return [sign_and_word(worst, self.translate)]


class Passing(OfMiddleware):
    """A list of the others."""

    def draw(self) -> list[nodes.Node]:
        """Return the list: names, versions and code."""
        items = (
            nodes.list_item(
                "",
                nodes.paragraph(
                    "",
                    f"{each['name']} {version(each)} ",
                    element("code", each["code"]),
                    translatable=False,
                    classes=FACT,
                ),
            )
            for each in self.data["subjects"]
            if passes(each)
        )
        return [nodes.bullet_list("", *items, bullet="-", classes=["simple"])]


def passes(subject: Mapping[str, Any]) -> bool:
    """Tell whether all gets through, and the suite found nothing."""
    return not subject["findings"] and all(
        says(subject["passed"])[0] in UNTOUCHED for says in COLUMNS.values()
    )


def version(subject: Mapping[str, Any]) -> str:
    """Return the version of its package."""
    return str(next(iter(subject["versions"].values())))


class Findings(OfMiddleware):
    """What the suite found: middleware by middleware."""

    def draw(self) -> list[nodes.Node]:
        """Return a list of lists."""
        told = [each for each in self.data["subjects"] if each["findings"]]
        return [nodes.bullet_list("", *map(self._subject, told), bullet="-")]

    def _subject(self, subject: Mapping[str, Any]) -> nodes.list_item:
        versions = self.translate(", ").join(map(" ".join, subject["versions"].items()))
        name = nodes.strong("", subject["name"])
        rest = nodes.Text(f" · {versions} · {subject['date']}")
        head = nodes.paragraph("", "", name, rest, translatable=False, classes=FACT)
        lines = (
            nodes.list_item("", self._seen(each))
            for each in subject["findings"]
            if each["verdict"] != "info"
        )
        found = nodes.bullet_list("", *lines, bullet="-")
        python = f"{self.data['python']}, {self.data['system']}"
        texts = map(self.report_this, issues_between(subject, self.cases, python))
        return nodes.list_item("", head, found, *texts, ids=[_anchor(subject)])

    def _seen(self, finding: Mapping[str, str]) -> nodes.paragraph:
        line = nodes.paragraph("", translatable=False)
        line += [sign_and_word(finding["verdict"], self.translate), nodes.Text(" ")]
        line += [self.link("rule", finding["rule"]), nodes.Text(" · ")]
        line += [self.link("case", finding["case"]), nodes.Text(" → ")]
        text = translated(finding["actual"], self.translate)
        classes = FACT if text else [*FACT, "language-en"]
        line += nodes.inline("", text or finding["actual"], classes=classes)
        return line


def _anchor(subject: Mapping[str, Any]) -> str:
    return nodes.make_id(f"middleware-{subject['name']}")


def setup(app: Sphinx) -> None:
    """Register the directives."""
    app.setup_extension("lifespec_docs.blocks")
    app.setup_extension("lifespec_docs.records.markup")
    app.add_directive("middlewares", Middlewares)
    app.add_directive("middlewares-passing", Passing)
    app.add_directive("middleware-findings", Findings)
