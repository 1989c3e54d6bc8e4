"""Tables of what `Lifespan` and the command do, drawn from what ran: `{outcomes}`, `{statuses}`.

{outcomes}     each outcome, what decides it by server.TABLE, and what `Lifespan` raises
{statuses}     the exit statuses of the command
"""

import asyncio
import logging
import typing
from collections.abc import Awaitable, Callable, Iterator
from functools import lru_cache
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from lifespec import Lifespan, cli, server
from lifespec.conformance import cli as check
from lifespec.conformance.app.assertions import concluded
from lifespec.conformance.report import Course, Finding, Report, Verdict
from lifespec.conformance.words import mark as _
from lifespec.testing import run
from lifespec_docs.i18n.messages import words
from lifespec_docs.rules.spec_tables import NONE, Cell, code, said, table

Translate = Callable[[str], str]

__all__ = ["Outcomes", "Statuses", "raised", "setup"]

PHASES = {
    "waiting": _("%s before it answered startup"),
    "running": _("%s after startup and before it answered shutdown"),
    "stopping": _("%s after startup and before it answered shutdown"),
}
HAPPENED = {
    "returned": _("returned"),
    "raised": _("raised"),
    "expired": _("did not answer within the timeout"),
    "cancelled": _("was cancelled with the server"),
}
GOOD, LATE = Course("complete", "complete"), Course("raised", received=True)
# what a check found, in the order of the table: a verdict, and how an application goes
STATUSES = (
    (_("Every MUST was kept, or another command was carried out"), Verdict.PASS, None),
    (_("The application starts and stops, and every MUST was kept"), Verdict.PASS, GOOD),
    (_("A SHOULD was missed"), Verdict.WARN, GOOD),
    (_("The framework of the application misses a SHOULD"), Verdict.INFO, GOOD),
    (
        _("The application returns or raises when it is called: it does not support lifespan"),
        Verdict.SKIP,
        Course("returned"),
    ),
    (
        _(
            "The application raises after it has received lifespan.startup,"
            " and is served all the same"
        ),
        Verdict.WARN,
        LATE,
    ),
    (
        _("The application returns after startup, before it receives lifespan.shutdown"),
        Verdict.PASS,
        Course("complete", "returned early"),
    ),
    (_("A MUST was broken"), Verdict.FAIL, GOOD),
    (
        _(
            "The application does not stop: it hangs, crashes, ends its process,"
            " or its clean-up fails"
        ),
        Verdict.PASS,
        Course("complete", "hung"),
    ),
    (
        _("The application does not start: its startup fails, hangs, or ends its process"),
        Verdict.PASS,
        Course("failed"),
    ),
    (_("No lifespan took place, because the server does not support it"), Verdict.SKIP, None),
    (
        _("The command could not be carried out. A sentence on standard error says why"),
        Verdict.SKIP,
        None,
    ),
)
SIGNALLED = {
    "SIGHUP": _("Interrupted by SIGHUP"),
    "SIGINT": _("Interrupted by Ctrl-C"),
    "SIGTERM": _("Interrupted by SIGTERM"),
}


class Outcomes(SphinxDirective):
    """Each outcome."""

    def run(self) -> list[nodes.Node]:
        """Return a table with a row for each outcome."""
        translate = words(self.env)
        found = {strict: raised(strict=strict) for strict in (False, True)}
        rows = (
            [
                code(outcome),
                _decided(outcome, translate),
                *(_classes(found[strict].get(outcome, []), translate) for strict in found),
            ]
            for outcome in typing.get_args(server.Outcome)
        )
        titles = _("Outcome"), _("The application"), _("Raised"), _("Raised under strict")
        return [table([translate(title) for title in titles], rows)]


def _decided(outcome: str, translate: Translate) -> Cell:
    """Say by which transitions an outcome is decided."""
    events, happened = [], dict[str, list[str]]()
    for phase, row in server.TABLE.items():
        for what, (_to, decided, *_log) in row.items():
            if decided == outcome and what in HAPPENED:
                happened.setdefault(HAPPENED[what], []).append(PHASES[phase])
            elif decided == outcome:
                events.append(code(what))
    or_ = translate(" or ")
    parts = (
        [[*said(translate("sent") + " "), *_joined(events, f" {or_.strip()} ")]] if events else []
    )
    by_phase: dict[str, list[str]] = {}
    for what, phases in happened.items():
        when = "" if {*phases} == {*PHASES.values()} else phases[0]
        by_phase.setdefault(when, []).append(translate(what))
    for when, whats in by_phase.items():
        text = or_.join(whats)
        parts.append(said(translate(when) % text if when else text))
    return _joined(parts, translate("; "))


def _joined(parts: list[Cell], between: str) -> Cell:
    return [node for part in parts for node in (*said(between), *part)][1:]


def _classes(names: list[str], translate: Translate) -> Cell:
    return _joined([code(name) for name in names], translate(", ")) or said(NONE)


def _application(at: str, does: Callable[[Any], Awaitable[object]]) -> Any:
    """Return an application that answers everything before an event, and then does something."""

    async def app(_scope: object, receive: Any, send: Any) -> None:
        for event in ("startup", "shutdown"):
            await receive()
            if event == at:
                await does(send)
                return
            await send({"type": f"lifespan.{event}.complete"})
            if at == f"after {event}":
                await does(send)
                return

    return app


async def _nothing(_send: object) -> None:
    """Return at once."""


async def _raise(_send: object) -> None:
    raise RuntimeError


async def _forever(_send: object) -> None:
    await asyncio.Event().wait()


def _failed(event: str) -> Callable[[Any], Awaitable[object]]:
    return lambda send: send({"type": f"lifespan.{event}.failed"})


@lru_cache(maxsize=2)
def raised(*, strict: bool) -> dict[str, list[str]]:
    """Run applications to every outcome, and return the exceptions of `Lifespan` by outcome."""
    found: dict[str, list[str]] = {}
    applications = [
        _application("never", _nothing),
        *(_application(event, _failed(event)) for event in ("startup", "shutdown")),
        _application("startup", _raise),
        _application("startup", _nothing),
        _application("after startup", _raise),
        _application("after startup", _nothing),
        _application("startup", _forever),
        _application("shutdown", _forever),
    ]
    log = logging.getLogger("lifespec.server")
    log.disabled = True
    try:
        for app in applications:
            outcome, name = run(_ended(app, strict=strict))
            names = found.setdefault(outcome, [])
            names += [name] * (bool(name) and name not in names)
    finally:
        log.disabled = False
    return found


async def _ended(app: Any, *, strict: bool) -> tuple[str, str]:
    """Run an application to its end; return the outcome and the exception, or ""."""
    lifespan = Lifespan(app, startup_timeout=1, shutdown_timeout=1, strict=strict)
    try:
        async with lifespan:
            await asyncio.sleep(1)
    except server.LifespanFailed as error:
        return str(lifespan.outcome), type(error).__name__
    return str(lifespan.outcome), ""


class Statuses(SphinxDirective):
    """The exit statuses of the command."""

    def run(self) -> list[nodes.Node]:
        """Return a table with a row for each status."""
        translate = words(self.env)
        rows = (
            [said(translate(text)), *(code(str(status)) for status in statuses)]
            for text, *statuses in _statuses()
        )
        titles = _("Result"), _("Exit status"), _("Strict")
        return [table([translate(title) for title in titles], rows)]


def _statuses() -> Iterator[tuple[str, int, int]]:
    """Yield each result with its statuses: those of a check are what a report returns."""
    for text, verdict, course in STATUSES:
        finding = Finding("", "receive-refuses-unknown", verdict, "", "", text)
        report = Report("", "asgi 2.0", (finding,))
        found = concluded(report, course) if course else report
        yield text, found.status(), found.status(strict=True)
    for number in check.SIGNALS:
        status = cli.SIGNALLED + number
        yield SIGNALLED[number.name], status, status


def setup(app: Sphinx) -> None:
    """Register the directives."""
    app.add_directive("outcomes", Outcomes)
    app.add_directive("statuses", Statuses)
