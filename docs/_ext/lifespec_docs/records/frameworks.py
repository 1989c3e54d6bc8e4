"""What applications of frameworks do, from `docs/matrix/frameworks.json` of `make frameworks`.

`{frameworks}` with the name of a group of questions is a table: a row for each application that
has hooks, or, of `unsupported`, for each that has none.  `{framework}` with the name of a framework
is its section: the content, then its programs and what happened, question by question.
With `{one-framework}` readers choose the one that the page shows.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from lifespec.conformance.words import mark as _
from lifespec_docs.records.asked import (
    Choice,
    Column,
    Happened,
    OfAsked,
    Said,
    Section,
    Table,
    asked,
)
from lifespec_docs.records.broken import issues_of_framework
from lifespec_docs.records.record import Issue
from lifespec_docs.rules.spec_tables import NONE

__all__ = ["GROUPS", "Framework", "Frameworks", "Run", "setup"]

FAULT = "no cache"  # the text of the exception that a hook raises
EXITS = "ERROR:    Application startup failed. Exiting."  # what uvicorn logs then
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


def _sees_state(run: Run) -> Said:
    """Say whether the mounted application saw the state, if there was any."""
    return _whether(run.first("request")[2] != "state: ") if run.first("state")[1:] else (NONE,)


def _in_order(what: str) -> Callable[[Run], Said]:
    """Name the resources that were opened, or closed."""

    def says(run: Run) -> Said:
        names = [f"`{each[1]}`" for each in run.lived if each[0] == what]
        return ("%s", ", ".join(names)) if names else (NONE,)

    return says


def _sent_when_cancelled(run: Run) -> Said:
    """Say what was sent to a server that has cancelled the call."""
    later = run.all[run.all.index(["cancelled"]) :] if ["cancelled"] in run.all else []
    sent = [each for each in later if each[0] == "sent"]
    return _failed(sent[0][2:]) if sent else (NONE,)


def _leaves(run: Run) -> Said:
    """Count the tasks that are left."""
    return "%s", str(run.first("tasks left")[1])


def _noticed(run: Run) -> Said:
    """Say what the application did when its task had raised, while it served."""
    if ["event", "lifespan.shutdown"] in run.lived:
        return (_("nothing happens"),)
    if run.first("sent", "lifespan.shutdown.failed"):
        return run.answer("shutdown")
    return (_("ends cancelled"),) if run.first("ends cancelled") else run.end


def _sees(where: str) -> Callable[[Run], Said]:
    """Say whether a part of the application saw what the lifespan function yielded."""
    return lambda run: _whether(["sees", where, "database"] in run.lived)


def _times(what: str) -> Callable[[Run], Said]:
    """Count how often a function of the router runs."""

    def says(run: Run) -> Said:
        times = run.lived.count([what, "router"])
        return (_("once"),) if times == 1 else (_("%s times"), str(times))

    return says


def _under_uvicorn(run: Run) -> Said:
    """Say whether a server whose application could not open the cache answers requests."""
    if request := run.first("request"):
        return _("answers requests, status %s"), str(request[1])
    return _("ends, exit status %s"), str(run.first("exit status")[1])


def _logged(run: Run) -> Said:
    return _whether(any(each[0] == "logs" and FAULT in each[1] for each in run.lived) or None)


def _closed_before_the_end(run: Run) -> Said:
    """Say whether the database was closed, and whether by the framework."""
    end = next((n for n, each in enumerate(run.lived) if each[-1:] == [EXITS]), len(run.lived))
    return Run([*run.lived[:end], ["loop closes"], *run.lived[end:]]).closed("database")


def _scope(run: Run) -> Said:
    if sent := run.first("sent"):
        return _("sends `%s`"), sent[1]
    return run.end


GROUPS: dict[str, tuple[Column, ...]] = {
    "failures": (
        Column(
            _("A hook raises at startup"), _("startup raises"), lambda run: run.answer("startup")
        ),
        Column(_("Then the call"), _("startup raises"), lambda run: run.end),
        Column(_("Opened resources are closed"), _("startup raises"), _opened_closed),
        Column(
            _("A hook raises at shutdown"), _("shutdown raises"), lambda run: run.answer("shutdown")
        ),
        Column(
            _("The others are closed"), _("shutdown raises"), lambda run: run.closed("database")
        ),
        Column(_("Tasks left behind"), _("startup raises"), _leaves),
    ),
    "cancelled": (
        Column(_("During startup"), _("startup is cancelled"), _opened_closed),
        Column(_("It sends"), _("startup is cancelled"), lambda run: run.answer("startup")),
        Column(_("While serving"), _("serving is cancelled"), lambda run: run.closed("database")),
        Column(_("It then sends"), _("serving is cancelled"), _sent_when_cancelled),
        Column(
            _("During shutdown"), _("shutdown is cancelled"), lambda run: run.closed("database")
        ),
    ),
    "hooks": (
        Column(_("Startup waits for the hooks"), _("usual"), _awaited),
        Column(_("All hooks run in one task"), _("usual"), _tasks),
        Column(_("Context variables are kept"), _("usual"), _context),
        Column(_("Sets the state"), _("usual"), lambda run: _whether(len(run.first("state")) > 1)),
        Column(_("Starts again after shutdown"), _("twice"), _again),
    ),
    "unusual": (
        Column(_("Without `state` in the scope"), _("no state"), _without_state),
        Column(
            _("Without `spec_version`"), _("no spec_version"), lambda run: run.answer("startup")
        ),
        Column(_("A request without lifespan"), _("no lifespan"), _request),
        Column(_("Shutdown comes first"), _("shutdown first"), _unexpected),
        Column(_("Another event comes first"), _("other event first"), _unexpected),
        Column(_("Another scope type"), _("other scope"), _scope),
    ),
    "tasks": (
        Column(_("A task raises"), _("task"), _noticed),
        Column(_("A task of a task group raises"), _("group"), _noticed),
        Column(_("Then the database is closed"), _("group"), lambda run: run.closed("database")),
    ),
    "state": (
        Column(_("A middleware"), _("state"), _sees("middleware")),
        Column(_("A WebSocket"), _("state"), _sees("WebSocket")),
        Column(_("A background task"), _("state"), _sees("background task")),
    ),
    "uvicorn": (
        Column(_("A hook raises"), _("under uvicorn, a hook raises"), _under_uvicorn),
        Column(_("The log has the exception"), _("under uvicorn, a hook raises"), _logged),
        Column(
            _("The database is closed"), _("under uvicorn, a hook raises"), _closed_before_the_end
        ),
        Column(_("Closed after SIGTERM"), _("under uvicorn"), _in_order("disconnect")),
    ),
    "mounted": (
        Column(
            _("A plain application starts"),
            _("mounted"),
            lambda run: _whether(["connect", "inner"] in run.lived),
        ),
        Column(_("It sees the state"), _("mounted"), _sees_state),
        Column(
            _("An application of the same framework starts"),
            _("nested"),
            lambda run: _whether(["connect", "nested"] in run.lived),
        ),
    ),
    "router": (
        Column(_("Its startup runs"), _("router"), _times("connect")),
        Column(_("Its shutdown runs"), _("router"), _times("disconnect")),
        Column(_("Opens, in this order"), _("router"), _in_order("connect")),
        Column(_("Closes, in this order"), _("router"), _in_order("disconnect")),
    ),
    "combined": (
        Column(_("Opens, in this order"), _("combined"), _in_order("connect")),
        Column(_("Closes, in this order"), _("combined"), _in_order("disconnect")),
    ),
    "unsupported": (
        Column(_("Called with a lifespan, it"), _("usual"), lambda run: run.answer("startup")),
        Column(_("Another scope type"), _("other scope"), _scope),
    ),
}


def has_hooks(happened: Happened) -> bool:
    """Tell whether an application opened anything when it was started."""
    return bool(Run(happened["usual"]).first("connect"))


class OfFrameworks(OfAsked):
    """A directive about the record of frameworks."""

    shown, about = "frameworks", "framework"
    groups, reads = GROUPS, Run
    first = _("Application")

    def issues(self, subject: Mapping[str, Any], python: str, programs: Path) -> Iterator[Issue]:
        """Yield an issue for each rule that an application of it was seen to break."""
        return issues_of_framework(subject, Run, python, programs)

    def belongs(self, subject: Mapping[str, Any], group: str) -> bool:
        """Tell whether a table has a row for an application."""
        questions = GROUPS[group][0].question in asked(subject)
        return questions and has_hooks(subject["happened"]) == (group != "unsupported")


class Frameworks(OfFrameworks, Table):
    """A table: applications by questions."""


class OneFramework(OfFrameworks, Choice):
    """The choice of one framework."""

    all = _("all frameworks")


class Framework(OfFrameworks, Section):
    """The section of a framework: what readers should know, the programs, and what happened."""


def setup(app: Sphinx) -> None:
    """Register `{frameworks}`, `{framework}` and `{one-framework}`."""
    app.setup_extension("lifespec_docs.records.markup")
    app.add_directive("frameworks", Frameworks)
    app.add_directive("framework", Framework)
    app.add_directive("one-framework", OneFramework)
