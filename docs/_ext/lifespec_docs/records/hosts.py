"""What hosts do with a lifespan, from `docs/matrix/hosts.json` of `make hosts`.

`{hosts}` with the name of a group of questions is a table: a row for each adapter, test client or
server that sends a lifespan, or, of `never`, for each that sends none.  The option `kinds` names
the kinds that it has.  `{host}` with the name of a host is its section: the content, then its
programs and what happened, question by question.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from docutils.parsers.rst import directives
from sphinx.application import Sphinx

from lifespec.conformance.words import mark as _
from lifespec_docs.records.asked import Column, OfAsked, Said, Section, Table
from lifespec_docs.records.broken import issues_of_host
from lifespec_docs.records.record import Issue
from lifespec_docs.rules.spec_tables import NONE

__all__ = ["GROUPS", "Host", "HostRun", "Hosts", "setup"]

YES, NO = (_("Yes"),), (_("No"),)
STARTUP, SHUTDOWN = ("event", "lifespan.startup"), ("event", "lifespan.shutdown")
COMPLETE = ("sends", "lifespan.startup.complete")
SIGNALS = "SIGTERM", "SIGINT"
FAULTS = "no pool", "pool lost"  # the texts of the failures
# asked of servers alone
CTRL_C = _("ended by Ctrl-C")
KEPT = _("one connection")
TWICE = _("shutdown hangs, SIGTERM twice"), _("shutdown hangs, Ctrl-C twice")
NOTE = "the note of another request"
SHARED = "shop"  # the program of servers, which the page shows once


class HostRun:
    """What happened when a host was asked a question."""

    def __init__(self, happened: Sequence[Sequence[Any]]) -> None:
        self.all = [[*each] for each in happened]

    def where(self, *start: str) -> list[int]:
        """Return the places of the happenings that begin so."""
        return [n for n, each in enumerate(self.all) if each[: len(start)] == [*start]]

    def first(self, *start: str) -> list[Any]:
        """Return the first happening that begins so; [] if there is none."""
        return self.all[found[0]] if (found := self.where(*start)) else []

    @property
    def raised(self) -> str:
        """Return the class of the exception that surfaced, "" if there was none."""
        found = self.first("request raises") or self.first("raises")
        return str(found[1]) if found else ""

    @property
    def ended(self) -> bool:
        """Tell whether it ended."""
        return bool(self.first("exit"))

    @property
    def statuses(self) -> str:
        """Return the exit statuses: in several runs there may be several."""
        found = [each[1] for each in self.all if each[0] == "exit"]
        found += [each[3] for each in self.all if each[:1] + each[2:3] == ["another time", "exit"]]
        return " / ".join(map(str, dict.fromkeys(found)))

    @property
    def alone(self) -> bool:
        """Tell whether a server ended without a signal."""
        listens = not self.where("opened") and not self.where("closes") and not self.raised
        return listens and self.ended and not any(map(self.where, SIGNALS))

    @property
    def seconds(self) -> int:
        """Return the longest time in which nothing happened."""
        return max((int(each[1]) for each in self.all if each[0] == "seconds"), default=0)


def _times(number: int) -> Said:
    if number > 1:
        return _("%s times"), str(number)
    return (_("once"),) if number else (_("never"),)


def _startups(run: HostRun) -> Said:
    return _times(len(run.where(*STARTUP)))


def _at_once(run: HostRun) -> Said:
    if run.where("one request at a time"):
        return (_("one request at a time"),)
    return _startups(run)


def _early(run: HostRun) -> Said:
    """Say whether a request arrived before startup was complete."""
    requests, complete = run.where("request"), run.where(*COMPLETE)
    return YES if requests and (not complete or requests[0] < complete[0]) else NO


def _shutdowns(run: HostRun) -> Said:
    found = run.where(*SHUTDOWN)
    if found and found[0] < run.where("request")[-1]:
        return (_("after each request"),)
    return _times(len(found))


def _shown(run: HostRun) -> Said:
    """Say whether the text of a failure is in an exception or in a line of the host."""
    if not run.where(*SHUTDOWN) and run.where(*COMPLETE):
        return (NONE,)  # there was no shutdown that could fail
    told = [each for each in run.all if each[0] in ("prints", "raises", "request raises")]
    return YES if any(fault in str(each[-1]) for each in told for fault in FAULTS) else NO


def _outcome(run: HostRun) -> Said:
    """Say what becomes of a host whose application does not start, or does not go on."""
    if run.raised:
        return _("raises `%s`"), run.raised
    if run.where("and so on"):
        return (_("starts again and again"),)
    if run.where("request"):
        return (_("serves"),) if run.ended else (_("serves, then does not end"),)
    if not run.ended:
        return (_("does not go on"),)
    return (_("ends, status %s"), run.statuses) if run.alone else (_("serves nothing"),)


def _ending(run: HostRun) -> Said:
    """Say what becomes of a host whose application does not stop."""
    if not run.where(*SHUTDOWN):
        return (NONE,)
    if run.raised:
        return _("raises `%s`"), run.raised
    if not run.ended:
        return (_("does not end"),)
    return (_("ends, status %s"), run.statuses) if run.where("SIGTERM") else (_("ends"),)


def _waits_for_startup(run: HostRun) -> Said:
    if run.where("request"):
        return (_("serves"),)
    return _limit(run) if run.raised or run.alone else (_("no limit within %s s"), _cap(run))


def _waits_for_shutdown(run: HostRun) -> Said:
    if not run.where(*SHUTDOWN):
        return (NONE,)
    return (_("no limit within %s s"), _cap(run)) if not run.ended else _limit(run)


def _limit(run: HostRun) -> Said:
    end = (_("raises `%s`"), run.raised) if run.raised else (_("ends"),)
    if not run.seconds:
        return end
    return _("after %s s"), str(run.seconds)


def _cap(run: HostRun) -> str:
    return str(round(run.seconds, -1))


def _request_state(run: HostRun) -> Said:
    seen = run.first("request")[1]
    return {"no state": (_("no `state`"),), "no pool": NO}.get(seen, YES)


def _copied(run: HostRun) -> Said:
    """Say whether each request has a dict of its own, if it sees what startup has written."""
    requests = [each for each in run.all if each[0] == "request"]
    if requests[0][1] != "the pool":
        return (NONE,)
    return NO if "the same dict" in requests[0] or NOTE in requests[-1] else YES


def _copied_again(run: HostRun) -> Said:
    """Say the same of two requests of one connection, after one of another."""
    return _copied(run) if run.where("request")[2:] else (NONE,)


def _at_shutdown(run: HostRun) -> Said:
    """Say what the state has at shutdown, if startup could write into it."""
    found = run.first("state at shutdown")
    if not found:
        return (NONE,)
    if found[1] != "the pool":
        return NO
    return (_("Yes, and what a request wrote"),) if NOTE in found else YES


def _again(run: HostRun) -> Said:
    """Say what a second signal does to a shutdown that hangs."""
    if not run.where(*SHUTDOWN):
        return (NONE,)
    return (_("ends, status %s"), run.statuses) if run.ended else (_("does not end"),)


def _at_signal(run: HostRun) -> Said:
    """Say whether shutdown was sent: each time, or only some of the times."""
    others = {each[1] for each in run.all if each[0] == "another time"}
    found = others | {"shutdown" if run.where(*SHUTDOWN) else "no shutdown"}
    if len(found) > 1:
        return (_("not each time"),)
    return YES if "shutdown" in found else NO


GROUPS: dict[str, tuple[Column, ...]] = {
    "starts": (
        Column(_("Startup for two requests"), _("usual"), _startups),
        Column(_("Two first requests at once"), _("startup is slow"), _at_once),
        Column(_("Serves before startup is complete"), _("startup is slow"), _early),
        Column(_("Shutdown"), _("usual"), _shutdowns),
    ),
    "failures": (
        Column(_("After startup.failed"), _("startup fails"), _outcome),
        Column(_("Message shown"), _("startup fails"), _shown),
        Column(
            _("Then serves a request"),
            _("startup fails"),
            lambda run: YES if run.where("request") else NO,
        ),
        Column(_("It raises at startup"), _("startup raises"), _outcome),
        Column(_("It raises on the scope"), _("raises on the scope"), _outcome),
        Column(_("It raises while serving"), _("crashes later"), _outcome),
    ),
    "ends": (
        Column(_("After shutdown.failed"), _("shutdown fails"), _ending),
        Column(_("Message shown"), _("shutdown fails"), _shown),
        Column(_("It raises at shutdown"), _("shutdown raises"), _ending),
        Column(_("Startup never answers"), _("startup hangs"), _waits_for_startup),
        Column(_("Shutdown never answers"), _("shutdown hangs"), _waits_for_shutdown),
    ),
    "state": (
        Column(
            _("The lifespan has a state"),
            _("usual"),
            lambda run: YES if run.first("lifespan")[1:] else NO,
        ),
        Column(_("A request sees what startup wrote"), _("usual"), _request_state),
        Column(_("A dict for each request"), _("usual"), _copied),
        Column(_("Shutdown sees what startup wrote"), _("usual"), _at_shutdown),
    ),
    "signals": (
        Column(_("Shutdown at SIGTERM"), _("usual"), _at_signal),
        Column(_("Exit status"), _("usual"), lambda run: ("%s", run.statuses)),
        Column(_("Shutdown at Ctrl-C"), CTRL_C, _at_signal),
        Column(_("Exit status"), CTRL_C, lambda run: ("%s", run.statuses)),
    ),
    "again": (
        Column(_("A second SIGTERM"), TWICE[0], _again),
        Column(_("A second Ctrl-C"), TWICE[1], _again),
        Column(_("A dict for each request of one connection"), KEPT, _copied_again),
    ),
    "never": (Column(_("A request sees a state"), _("usual"), _request_state),),
}


class OfHosts(OfAsked):
    """A directive about the record of hosts."""

    shown, about = "hosts", "host"
    groups, reads = GROUPS, HostRun
    first = _("Host")
    option_spec: ClassVar = {"kinds": directives.unchanged_required}

    def issues(self, subject: Mapping[str, Any], python: str, programs: Path) -> Iterator[Issue]:
        """Yield an issue for each rule that a host was seen to break."""
        return issues_of_host(subject, HostRun, python, programs)

    def belongs(self, subject: Mapping[str, Any], group: str) -> bool:
        """Tell whether a table has a row for a host."""
        kinds = self.options.get("kinds", subject["kind"]).split()
        asked = GROUPS[group][-1].question in subject["happened"]
        return asked and subject["kind"] in kinds and _sends(subject) == (group != "never")

    def programs(self, subject: Mapping[str, Any]) -> Iterable[str]:
        """Return its own program, if it has one."""
        return [each for each in super().programs(subject) if each != SHARED]


def _sends(subject: Mapping[str, Any]) -> bool:
    """Tell whether a host sends a lifespan."""
    return bool(HostRun(subject["happened"]["usual"]).first("lifespan"))


class Hosts(OfHosts, Table):
    """A table: hosts by questions."""


class Host(OfHosts, Section):
    """The section of a host: what readers should know, the programs, and what happened."""


def setup(app: Sphinx) -> None:
    """Register `{hosts}` and `{host}`."""
    app.setup_extension("lifespec_docs.records.markup")
    app.add_directive("hosts", Hosts)
    app.add_directive("host", Host)
