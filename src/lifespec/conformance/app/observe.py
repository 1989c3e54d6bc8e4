"""What is observed of a case: it is played in this process, which is looked at afterwards."""

import gc
import os
import threading
from collections import defaultdict
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from lifespec.conformance import cases
from lifespec.conformance.app.loops import Asyncio, Trio, needs_trio
from lifespec.conformance.app.observation import Observation, Supervisor
from lifespec.conformance.app.play import PlayedCall, play
from lifespec.conformance.app.target import Job
from lifespec.conformance.cases import Case
from lifespec.conformance.processes import own_memory
from lifespec.diagnosis import (
    author,
    cut_off,
    entered,
    given,
    guard,
    leftovers,
    opened,
    registered,
    silenced,
)
from lifespec.diagnosis.fact import Fact
from lifespec.diagnosis.logged import Logged, logging_errors, noting_warnings

# Python's warnings in the import of each target, by its name; forked processes inherit them
at_import: defaultdict[str, list[Logged]] = defaultdict(list)


def _of_call(job: Job, seen: Observation, logged: list[Logged]) -> list[Logged]:
    """Return what was logged in a call, after what Python warned of in its import.

    What belongs to an earlier call is left out: that on asyncio before trio, or the first of two.
    """
    records = [warning for warning in at_import[job.name] if warning.made_at]
    records += [record for record in logged if seen.moment(record.time) != "importing"]
    return records


def observe(job: Job, case: Case, supervisor: Supervisor) -> Observation:
    """Play a case, and see what is left behind; return what was seen."""
    before = set(threading.enumerate())
    looks = case.name in cases.COURSE  # the first lines of a report tell of these two only
    # where this process imports it
    with leftovers.noting_starts(), given.noting_calls(), noting_warnings(at_import[job.name]):
        subject = job.find()
    imported = set(threading.enumerate())
    found, routers = registered.find(subject) if looks else ([], [])
    ran, late = entered.Ran(found), list[registered.Registered]()
    supervisor.arm(job.limit)  # without the import
    with (
        silenced.noting_disabled_loggers() as disabled,
        logging_errors() as logged,
        noting_warnings(logged),
        leftovers.noting_starts(),
    ):
        if looks:
            passing = cut_off.Passing(PlayedCall.called.__code__)

            def stops() -> None:
                with guard.keeping():
                    late.extend(registered.late(routers, ran.given))
                passing.begin()

            supervisor = supervisor._replace(stops=stops)
            with entered.running(ran), cut_off.noting_exceptions():
                call = _call(subject, job, case, supervisor)
            call.seen.facts += passing.facts(complete=call.seen.shutdown.how == "complete")
            del passing  # and the exceptions, which keep what they have passed
        else:
            call = _call(subject, job, case, supervisor)
        open_things = []
        if looks and call.seen.shutdown.how == "complete":  # else its clean-up had no chance
            open_things = guard.listed(opened.unclosed, ran.opened, lambda: _of_author(subject))
        # before the loggers are given back: what it finds is of this case
        gc.collect()  # so that asyncio logs exceptions that were never retrieved
    seen = call.seen
    seen.facts += silenced.facts(disabled)
    seen.logged = _of_call(job, seen, logged)
    late_codes = {given_late.code for given_late in late}
    for given_before in found:
        if given_before.code not in late_codes:  # what was given twice ran too late at least once
            late.append(given_before)
    seen.facts += guard.listed(entered.never_entered, late, ran)
    seen.facts += guard.listed(ran.twice, late)
    if seen.startup.how == "complete":
        seen.facts += guard.listed(ran.unstarted, late)
    seen.facts += guard.listed(ran.lost, late, call.provided, subject)
    if looks or case.name == cases.FIRST[job.role]:  # by which it is known how many others fit
        times = os.times()
        seen.cost = times.user + times.system
        seen.memory, seen.total = own_memory()
    if job.role == "application":
        seen.framework = author.library(seen.actor).capitalize()
    supervisor.arm(job.limit + leftovers.TIME_TO_END_OF_A_POOL)
    seen.facts += open_things
    seen.facts += guard.listed(leftovers.threads_left, before)
    seen.facts += guard.listed(leftovers.daemons, imported)
    seen.facts += guard.listed(leftovers.processes, os.getpid())
    return seen


def _of_author(subject: object) -> Iterator[object]:
    """Yield the application, and what the author's modules have."""
    yield subject
    for module, _file in author.own_modules():
        yield from list(vars(module).values())  # a copy: another thread may import meanwhile


def _call(subject: Any, job: Job, case: Case, supervisor: Supervisor) -> PlayedCall:
    """Play a case on asyncio, and anew on trio if the subject needs that."""
    play_case: Any = play
    if job.role == "middleware":  # most checks are of applications, and need not import this
        from lifespec.conformance.app import middleware  # noqa: PLC0415

        play_case = middleware.play_middleware
    call: PlayedCall = play_case(subject, case, job.spec, job.limit, Asyncio, supervisor)
    if any(map(needs_trio, call.seen.errors)):
        call.loop.sweep()  # what was started on asyncio would be a leftover of the call on trio
        if find_spec("trio"):
            on_trio: PlayedCall = play_case(subject, case, job.spec, job.limit, Trio, supervisor)
            return on_trio
        call.seen.blocker = Fact("needs-trio-installed")
    return call
