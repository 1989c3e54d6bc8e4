"""Tables and sections of a record whose subjects were all asked the same questions.

A question is a run of the subject's program, and the record has what happened in it, in the order
of time.  A column of a table is a sentence that follows from the answer to a question.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from docutils import nodes
from docutils.statemachine import StringList

from lifespec.conformance.words import mark as _
from lifespec_docs.blocks import folded_node, summary_node
from lifespec_docs.facts.role import with_literals
from lifespec_docs.records.markup import element
from lifespec_docs.records.record import Issue, Shows
from lifespec_docs.rules.spec_tables import NONE, Cell, code, said, table

Happened = Mapping[str, Sequence[Sequence[Any]]]
Said = tuple[str, ...]

__all__ = ["Choice", "Column", "OfAsked", "Section", "Table", "asked"]

WORDLESS = (NONE, "%s")  # what no catalog has
SERVER = "server"  # begins what a server printed
FACT = ["fact"]  # what the record says is no name of the page
KINDS = {  # what begins a line of the record: who did what
    each: each
    for each in (
        *(_("event"), _("sent"), _("sends"), _("request"), _("answered"), _("connect")),
        *(_("disconnect"), _("loop closes"), _("returned"), _("raised"), _("raises")),
        *(_("request raised"), _("request raises"), _("waits"), _("cancelled"), _("sees")),
        *(_("ends cancelled"), _("stopped waiting"), _("did not end"), _("context kept")),
        *(_("tasks left"), _("tasks of hooks"), _("exit"), _("exit status"), _("ends")),
        *(_("opened"), _("closes"), _("closed"), _("goes on"), _("seconds"), _("prints")),
        *(_("and so on"), _("another time"), _("one request at a time")),
        *(_("state at shutdown"), _("python logs")),
    )
} | {"state": _("keys in the state:")}
ABOUT = {  # what follows, unless it is an event, a name or the text of an exception
    each: each
    for each in (
        *(_("the pool"), _("no pool"), _("no state"), _("another dict"), _("the same dict")),
        *(_("the note of another request"), _("middleware"), _("background task")),
        *(_("shutdown"), _("no shutdown"), _("exit")),
    )
} | {"state": _("with a state"), "True": _("Yes"), "False": _("No")}
VARIANTS = {  # what follows the name of a subject, unless it is a name or an option
    each: each
    for each in (
        *(_("one hook"), _("one function"), _("one middleware"), _("one listener")),
        *(_("exit stack"), _("strict"), _("called twice"), _("two workers")),
        *(_("timeouts of 3 s"), _("no worker process")),
    )
}
QUOTING = ("prints", "raises", "raised", "request raises", "request raised", "sent", "ends")


class Column(NamedTuple):
    """What a table says of a subject: the title, the question, and what follows from it."""

    title: str
    question: str
    says: Callable[[Any], Said]


class OfAsked(Shows):
    """A directive about such a record."""

    required_arguments = 1
    final_argument_whitespace = True
    about: ClassVar[str]  # what a section is about: a key of a row
    first: ClassVar[str]  # the title of the names in a table
    groups: ClassVar[Mapping[str, tuple[Column, ...]]]
    reads: ClassVar[type]  # what a column is given, made of what happened

    @cached_property
    def subjects(self) -> list[Mapping[str, Any]]:
        """Return the rows of the record."""
        found: list[Mapping[str, Any]] = self.data["subjects"]
        return found

    @abstractmethod
    def belongs(self, subject: Mapping[str, Any], group: str) -> bool:
        """Tell whether a table has a row for a subject."""

    def programs(self, subject: Mapping[str, Any]) -> Iterable[str]:
        """Return the names of the programs of a subject that its section shows."""
        variants = subject.get("variants", {}).values()
        return dict.fromkeys(each["program"] for each in [subject, *variants])

    @abstractmethod
    def issues(self, subject: Mapping[str, Any], python: str, programs: Path) -> Iterator[Issue]:
        """Yield an issue for each rule that a subject was seen to break."""

    def anchor(self, name: str) -> str:
        """Return the place of a section."""
        return nodes.make_id(f"{self.about}-{name}")

    def classes(self, name: str) -> list[str]:
        """Return the classes of what is about one name, which `Choice` shows alone."""
        return [self.about, f"about-{self.anchor(name)}"]

    def title(self, subject: Mapping[str, Any]) -> str:
        """Return the name of a subject, with its variant in the language of the page."""
        name, _comma, variant = subject["name"].partition(", ")
        if variant not in VARIANTS:
            return str(subject["name"])
        return self.translate(_("%s, %s")) % (name, self.translate(variant))

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


class Table(OfAsked):
    """A table: subjects by questions."""

    def draw(self) -> list[nodes.Node]:
        """Return the table."""
        group = self.known("table", [*self.groups])
        columns = self.groups[group]
        shown = [each for each in self.subjects if self.belongs(each, group)]
        rows = [
            [self._named(each), *(self._cell(asked(each), column) for column in columns)]
            for each in shown
        ]
        titles = [self.translate(each) for each in [self.first, *(each.title for each in columns)]]
        drawn = table(titles, rows, "frameworks")
        for row, each in zip(drawn.findall(nodes.row), [None, *shown], strict=True):
            row["classes"] += self.classes(each[self.about]) if each else []
        return [drawn]

    def _named(self, subject: Mapping[str, Any]) -> Cell:
        place = f"#{self.anchor(subject[self.about])}"
        return [nodes.reference("", self.title(subject), internal=True, refuri=place)]

    def _cell(self, happened: Happened, column: Column) -> Cell:
        asked = column.question in happened
        return self.sentence(
            column.says(self.reads(happened[column.question])) if asked else (NONE,)
        )


class Choice(OfAsked):
    """A list of names: the page then shows the rows and the section of one alone, by style."""

    required_arguments = 0
    all: ClassVar[str]  # what the list says before a name is chosen

    def draw(self) -> list[nodes.Node]:
        """Return the list with its rules of style, whose text needs no escapes."""
        names = dict.fromkeys(each[self.about] for each in self.subjects)
        options = [element("option", self.translate(self.all), value="")]
        options += [element("option", each, value=self.anchor(each)) for each in names]
        rules = [
            f"body:has(option[value={place}]:checked)"
            f" :is(.{self.about}:not(.about-{place}), table.frameworks:not(:has(.about-{place})))"
            "{display:none}"
            for place in map(self.anchor, names)
        ]
        show = self.translate("Show")
        label = element("label", f"{show} ", element("select", *options))
        style = element("style", "".join(rules), classes=["no-search"])
        return [nodes.container("", label, style, classes=["choice", "no-search"])]


class Section(OfAsked):
    """A section: what readers should know, the programs, and what happened."""

    has_content = True

    def draw(self) -> list[nodes.Node]:
        """Return the section."""
        name = self.known(self.about, [each[self.about] for each in self.subjects])
        section = nodes.section("", ids=[self.anchor(name)], classes=self.classes(name))
        section += nodes.title("", name, translatable=False)
        self.state.nested_parse(self.content, self.content_offset, section)
        of_it = [each for each in self.subjects if each[self.about] == name]
        for each in of_it:
            section += self._subject(each)
        section += self._reports(of_it)
        return [section]

    def _reports(self, subjects: Iterable[Mapping[str, Any]]) -> Iterator[nodes.Node]:
        """Yield a text for the project for each rule, by the first that breaks it."""
        python = f"{self.data['python']}, {self.data['system']}"
        programs = Path(self.env.srcdir, "programs", self.shown)
        told: set[str] = set()
        for each in subjects:
            for issue in self.issues(each, python, programs):
                if not told & {*issue.rules}:
                    told |= {*issue.rules}
                    yield self.report_this(issue)

    def _subject(self, subject: Mapping[str, Any]) -> list[nodes.Node]:
        versions = self.translate(", ").join(map(" ".join, subject["versions"].items()))
        head = nodes.paragraph("", "", nodes.strong("", self.title(subject)), translatable=False)
        head += nodes.Text(f" · {versions}")
        if "command" in subject:
            command = nodes.inline("", "", *code(subject["command"]), classes=FACT)
            head += [nodes.Text(" · "), command]
        programs = map(self._program, self.programs(subject))
        told = asked(subject)
        logs = {
            question: each for question, each in told.items() if each[:1] and each[0][0] == SERVER
        }
        happened = {question: each for question, each in told.items() if question not in logs}
        found: list[nodes.Node] = [head, *programs]
        found += [self._folded(said(self.translate("What happened")), self._asked(happened))]
        for question, (server, *lines) in logs.items():
            title = f"{self.translate(question)} · {server[1]}"
            text = "\n".join(map(_shown, lines)) + "\n"
            block = nodes.literal_block(text, text, language="text", classes=["drawn"])
            found += [self._folded(said(title), block)]
        return found

    def _program(self, program: str) -> folded_node:
        """Return a program as a page shows it."""
        name, found = f"{program}.py", nodes.Element()
        lines = StringList([f"```{{shown}} programs/{self.shown}/{name}", "```"], self.env.docname)
        self.state.nested_parse(lines, 0, found)
        return self._folded(code(name), *found.children)

    def _folded(self, title: Cell, *content: nodes.Node) -> folded_node:
        summary = summary_node("", "", *title, translatable=False, classes=FACT)
        return folded_node("", summary, *content)

    def _asked(self, asked: Happened) -> nodes.definition_list:
        found = nodes.definition_list(classes=["simple"])
        for question, happened in asked.items():
            term = nodes.term("", self.translate(question), translatable=False)
            lines = element("code", " · ".join(map(self._line, happened)))  # one element for all
            text = nodes.paragraph("", "", lines, translatable=False)
            found += nodes.definition_list_item("", term, nodes.definition("", text))
        return found

    def _line(self, happening: Sequence[Any]) -> str:
        """Return a line of the record in the language of the page."""
        kind, *about = (str(each).replace("\n", " … ") for each in happening)
        known = {} if kind in QUOTING else ABOUT
        said = [KINDS.get(kind), *map(known.get, about)]
        words = zip(said, (kind, *about), strict=True)
        return " ".join(self.translate(ours) if ours else given for ours, given in words)


def _shown(happening: Sequence[Any]) -> str:
    """Return a line of a terminal; what was not printed there is in brackets."""
    kind, *about = map(str, happening)
    if kind == "logs":
        return " ".join(about)
    said = " ".join((kind, *about))
    return said if kind in ("connect", "disconnect") else f"[{said}]"


def asked(subject: Mapping[str, Any]) -> Happened:
    """Return what happened by question, in the variants of a program, too."""
    variants = subject.get("variants", {})
    return {**subject["happened"], **{kind: each["happened"] for kind, each in variants.items()}}
