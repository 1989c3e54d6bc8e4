"""What applications of frameworks do, from `docs/matrix/frameworks.json` of `make frameworks`.

`{frameworks}` with the name of a group of questions is a table: a row for each application that
has hooks, or, of `unsupported`, for each that has none.  `{framework}` with the name of a framework
is its section: the content, then its programs and what happened, question by question.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from docutils import nodes
from docutils.statemachine import StringList

from lifespec.conformance.words import mark as _
from lifespec_docs.examples.folded import folded_node, summary_node
from lifespec_docs.facts.role import with_literals
from lifespec_docs.records.markup import element
from lifespec_docs.records.record import Shows
from lifespec_docs.rules.spec_tables import NONE, code, said, table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata

    from lifespec_docs.rules.spec_tables import Cell

    Happened = Mapping[str, Sequence[Sequence[Any]]]
    Said = tuple[str, ...]  # a sentence of the catalog, and what it is about

__all__ = ["GROUPS", "Framework", "Frameworks", "Run", "setup"]

PROGRAMS = "programs/frameworks"
FAULT = "no cache"  # the text of the exception that a hook raises
WORDLESS = (NONE, "%s")  # what no catalog has
FACT = ["fact"]  # what the record says is no name of the page
YES, NO = (_("Yes"),), (_("No"),)
HOOKS: Mapping[str, Said] = {"connect": (_("starts"),), "disconnect": (_("cleans up"),)}


class Run:
    """What happened when an application was asked a question."""

    def __init__(self, happened: Sequence[Sequence[Any]]) -> None:
        self.all = [[*each] for each in happened]
        closes = self.all.index(["loop closes"]) if ["loop closes"] in self.all else len(self.all)
        self.lived, self.after = self.all[:closes], self.all[closes:]

    def first(self, *start: str) -> list[Any]:
        """Return the first happening that begins so; [] if there is none."""
        return next((each for each in self.lived if each[: len(start)] == [*start]), [])

    def answer(self, event: str) -> Said:
        """Say how it answered an event: what was sent, or raised instead."""
        for each in self.lived:
            if each[0] == "sent" and str(each[1]).startswith(f"lifespan.{event}."):
                return (_("`complete`"),) if each[1].endswith("complete") else _failed(each[2:])
        raised = self.first("raised")
        return (_("raises `%s`"), raised[1]) if raised else (_("no answer"),)

    @property
    def end(self) -> Said:
        """Say how the call ended."""
        if raised := self.first("raised"):
            return _("raises `%s`"), raised[1]
        return (_("returns"),) if self.first("returned") else (_("waits"),)

    def closed(self, resource: str) -> Said:
        """Say whether a resource was closed: in time, at the end of the loop, or not at all."""
        closes = ["disconnect", resource]
        if closes in self.lived:
            return YES
        return (_("when the event loop closes"),) if closes in self.after else NO


def _failed(message: Sequence[str]) -> Said:
    if not message:
        return (_("`failed`, no message"),)
    if message[0].startswith("Traceback"):
        return (_("`failed`, traceback"),)
    if FAULT in message[0]:
        return (_("`failed`, text"),)
    return _("`failed`: `%s`"), message[0]


def _opened_closed(run: Run) -> Said:
    """Say whether the database was closed, whose neighbour, the cache, could not be opened."""
    if ["disconnect", "cache"] in run.lived:
        return (_("Yes, and so is the one that failed"),)
    return run.closed("database")


def _awaited(run: Run) -> Said:
    before = run.lived[: run.lived.index(["sent", "lifespan.startup.complete"])]
    return YES if ["connect", "cache"] in before else NO


def _whether(found: object) -> Said:
    """Say yes or no; [] is what was not observed."""
    return (NONE,) if found == [] else YES if found else NO


def _tasks(run: Run) -> Said:
    found = run.first("tasks of hooks")
    return _whether(found and found[1] == 1)


def _context(run: Run) -> Said:
    found = run.first("context kept")
    return _whether(found and found[1])


def _state(run: Run) -> Said:
    return _whether(len(run.first("state")) > 1)


def _again(run: Run) -> Said:
    """Say what came of the second startup."""
    sent = [each for each in run.lived if each[0] == "sent" and ".startup." in each[1]]
    return _failed(sent[1][2:]) if sent[1][1].endswith("failed") else YES


def _without_state(run: Run) -> Said:
    if not run.first("connect"):
        return (_("`complete`, but no hook runs"),)
    return run.answer("startup")


def _request(run: Run) -> Said:
    if raised := run.first("request raised"):
        return _("raises `%s`"), raised[1]
    return _("status %s"), str(run.first("request")[1])


def _unexpected(run: Run) -> Said:
    """Say what an event did that comes at the wrong time."""
    event, then, *_later = run.lived
    if then[0] == event[0]:  # the next one was sent, as nothing happened
        return (_("ignores it"),)
    if then[0] == "sent":
        return _("sends `%s`"), then[1].removeprefix("lifespan.")
    return HOOKS.get(then[0]) or run.end


def _inner_runs(run: Run) -> Said:
    return _whether(["connect", "inner"] in run.lived)


def _sees_state(run: Run) -> Said:
    """Say whether the mounted application saw the state, if there was any."""
    return _whether(run.first("request")[2] != "state: ") if run.first("state")[1:] else (NONE,)


def _in_order(what: str) -> Callable[[Run], Said]:
    """Name the resources that were opened, or closed."""
    return lambda run: ("%s", ", ".join(f"`{each[1]}`" for each in run.lived if each[0] == what))


def _scope(run: Run) -> Said:
    if sent := run.first("sent"):
        return _("sends `%s`"), sent[1]
    return run.end


def _startup(run: Run) -> Said:
    return run.answer("startup")


def _shutdown(run: Run) -> Said:
    return run.answer("shutdown")


def _closed(run: Run) -> Said:
    return run.closed("database")


def _end(run: Run) -> Said:
    return run.end


class Column(NamedTuple):
    """What a table says of an application: the title, the question, and what follows from it."""

    title: str
    question: str
    says: Callable[[Run], Said]


GROUPS: dict[str, tuple[Column, ...]] = {
    "failures": (
        Column(_("A hook raises at startup"), _("startup raises"), _startup),
        Column(_("Then the call"), _("startup raises"), _end),
        Column(_("Opened resources are closed"), _("startup raises"), _opened_closed),
        Column(_("A hook raises at shutdown"), _("shutdown raises"), _shutdown),
        Column(_("The others are closed"), _("shutdown raises"), _closed),
    ),
    "cancelled": (
        Column(_("During startup"), _("startup is cancelled"), _opened_closed),
        Column(_("It sends"), _("startup is cancelled"), _startup),
        Column(_("While serving"), _("serving is cancelled"), _closed),
        Column(_("During shutdown"), _("shutdown is cancelled"), _closed),
    ),
    "hooks": (
        Column(_("Startup waits for the hooks"), _("usual"), _awaited),
        Column(_("All hooks run in one task"), _("usual"), _tasks),
        Column(_("Context variables are kept"), _("usual"), _context),
        Column(_("Sets the state"), _("usual"), _state),
        Column(_("Starts again after shutdown"), _("twice"), _again),
    ),
    "unusual": (
        Column(_("Without `state` in the scope"), _("no state"), _without_state),
        Column(_("A request without lifespan"), _("no lifespan"), _request),
        Column(_("Shutdown comes first"), _("shutdown first"), _unexpected),
        Column(_("Another event comes first"), _("other event first"), _unexpected),
        Column(_("Another scope type"), _("other scope"), _scope),
    ),
    "mounted": (
        Column(_("Its lifespan runs"), _("mounted"), _inner_runs),
        Column(_("It sees the state"), _("mounted"), _sees_state),
    ),
    "combined": (
        Column(_("Opens, in this order"), _("combined"), _in_order("connect")),
        Column(_("Closes, in this order"), _("combined"), _in_order("disconnect")),
    ),
    "unsupported": (
        Column(_("Called with a lifespan, it"), _("usual"), _startup),
        Column(_("Another scope type"), _("other scope"), _scope),
    ),
}


class OfFrameworks(Shows):
    """A directive about the record of frameworks."""

    required_arguments = 1
    final_argument_whitespace = True
    shown = "frameworks"

    @cached_property
    def subjects(self) -> list[Mapping[str, Any]]:
        """Return the rows of the record."""
        found: list[Mapping[str, Any]] = self.data["subjects"]
        return found

    def known(self, what: str, given: Sequence[str]) -> str:
        """Return the argument, which is one of those given."""
        if self.arguments[0] not in given:
            raise self.error(f"There is no {what} {self.arguments[0]!r}, only {', '.join(given)}.")
        return str(self.arguments[0])

    def sentence(self, words: Said) -> list[nodes.Node]:
        """Return a sentence in the language of the page."""
        text = words[0] if words[0] in WORDLESS else self.translate(words[0])
        text = text % words[1:] if words[1:] else text
        return [nodes.inline("", "", *with_literals(text), classes=FACT)]


class Frameworks(OfFrameworks):
    """A table: applications by questions."""

    def draw(self) -> list[nodes.Node]:
        """Return the table."""
        group = self.known("table", [*GROUPS])
        columns = GROUPS[group]
        rows = [
            [self._named(each), *(self._cell(asked(each), column) for column in columns)]
            for each in self.subjects
            if has_hooks(each["happened"]) == (group != "unsupported")
            and columns[0].question in asked(each)
        ]
        titles = [self.translate("Application"), *(self.translate(each.title) for each in columns)]
        return [table(titles, rows, "frameworks")]

    def _named(self, subject: Mapping[str, Any]) -> Cell:
        anchor = nodes.make_id(f"framework-{subject['framework']}")
        return [nodes.reference("", subject["name"], internal=True, refuri=f"#{anchor}")]

    def _cell(self, happened: Happened, column: Column) -> Cell:
        return self.sentence(column.says(Run(happened[column.question])))


def asked(subject: Mapping[str, Any]) -> Happened:
    """Return what happened by question, in the variants of a program, too."""
    variants = {kind: each["happened"] for kind, each in subject["variants"].items()}
    return {**subject["happened"], **variants}


def has_hooks(happened: Happened) -> bool:
    """Tell whether an application opened anything when it was started."""
    return bool(Run(happened["usual"]).first("connect"))


class Framework(OfFrameworks):
    """The section of a framework: what readers should know, the programs, and what happened."""

    has_content = True

    def draw(self) -> list[nodes.Node]:
        """Return the section."""
        name = self.known("framework", [each["framework"] for each in self.subjects])
        section = nodes.section("", ids=[nodes.make_id(f"framework-{name}")])
        section += nodes.title("", name, translatable=False)
        self.state.nested_parse(self.content, self.content_offset, section)
        for each in self.subjects:
            if each["framework"] == name:
                section += self._subject(each)
        return [section]

    def _subject(self, subject: Mapping[str, Any]) -> list[nodes.Node]:
        versions = self.translate(", ").join(map(" ".join, subject["versions"].items()))
        head = nodes.paragraph("", "", nodes.strong("", subject["name"]), translatable=False)
        head += nodes.Text(f" · {versions}")
        programs = map(self._program, [subject, *subject["variants"].values()])
        happened = self._folded(said(self.translate("What happened")), self._asked(subject))
        return [head, *programs, happened]

    def _program(self, row: Mapping[str, Any]) -> folded_node:
        """Return a program as a page shows it."""
        name, found = f"{row['program']}.py", nodes.Element()
        lines = StringList([f"```{{shown}} {PROGRAMS}/{name}", "```"], self.env.docname)
        self.state.nested_parse(lines, 0, found)
        return self._folded(code(name), *found.children)

    def _folded(self, title: Cell, *content: nodes.Node) -> folded_node:
        summary = summary_node("", "", *title, translatable=False, classes=FACT)
        return folded_node("", summary, *content)

    def _asked(self, subject: Mapping[str, Any]) -> nodes.definition_list:
        found = nodes.definition_list(classes=["simple"])
        for question, happened in asked(subject).items():
            term = nodes.term("", self.translate(question), translatable=False)
            lines = element("code", " · ".join(map(_line, happened)))  # no element for each word
            text = nodes.paragraph("", "", lines, translatable=False)
            found += nodes.definition_list_item("", term, nodes.definition("", text))
        return found


def _line(happening: Sequence[Any]) -> str:
    return " ".join(str(each).replace("\n", " … ") for each in happening)


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register `{frameworks}` and `{framework}`."""
    app.setup_extension("lifespec_docs.records.markup")
    app.add_directive("frameworks", Frameworks)
    app.add_directive("framework", Framework)
    return {"version": "1", "env_version": 1, "parallel_read_safe": True}
