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


class _Course:
    """What is looked at more closely, in the cases that the first lines of a report are about.

    It keeps what it has noted as long as the case is looked at: what goes sooner may log that.
    """

    def __init__(self, subject: object) -> None:
        self.subject = subject
        self.given, self.routers = registered.find(subject)
        self.late: list[registered.Registered] = []
        self.profile = entered.Profile(self.given)
        self.open_things: list[Fact] = []

    def play(self, job: Job, case: Case, supervisor: Supervisor) -> PlayedCall:
        """Play the case."""
        passing = cut_off.Passing(PlayedCall.call.__code__)

        def stops() -> None:
            with guard.keeping():
                self.late += registered.late(self.routers, self.profile.given)
            passing.begin()

        with entered.profiling(self.profile), cut_off.noting_exceptions():
            call = _call(self.subject, job, case, supervisor._replace(stops=stops))
        is_complete = call.seen.shutdown.how == "complete"
        call.seen.facts += passing.facts(complete=is_complete)
        if is_complete:  # else its clean-up had no chance
            self.open_things = guard.listed(opened.unclosed, self.profile.opened, self._roots)
        return call

    def _roots(self) -> Iterator[object]:
        """Yield the application, and what the author's modules have."""
        yield self.subject
        for module, _file in author.own_modules():
            yield from list(vars(module).values())  # a copy: another thread may import meanwhile

    def facts(self, call: PlayedCall) -> list[Fact]:
        """Return what came of the lifespans that the author has given to a framework."""
        # what was given twice ran too late at least once
        late_codes = {late.code for late in self.late}
        lifespans = list(self.late)
        lifespans += [before for before in self.given if before.code not in late_codes]
        facts = guard.listed(self.profile.never_entered, lifespans)
        facts += guard.listed(self.profile.entered_twice, lifespans)
        if call.seen.startup.how == "complete":
            facts += guard.listed(self.profile.never_started, lifespans)
        facts += guard.listed(self.profile.lost_keys, lifespans, call.provided, self.subject)
        return facts


def observe(job: Job, case: Case, supervisor: Supervisor) -> Observation:
    """Play a case, and see what is left behind; return what was seen."""
    before = set(threading.enumerate())
    # where this process imports it
    with leftovers.noting_starts(), given.noting_calls(), noting_warnings(at_import[job.name]):
        subject = job.find()
    imported = set(threading.enumerate())
    course = None
    if case.name in cases.COURSE:
        course = _Course(subject)
    supervisor.arm(job.limit)  # without the import
    with (
        silenced.noting_disabled_loggers() as disabled,
        logging_errors() as logged,
        noting_warnings(logged),
        leftovers.noting_starts(),
    ):
        if course:
            call = course.play(job, case, supervisor)
        else:
            call = _call(subject, job, case, supervisor)
        # before the loggers are given back: what it finds is of this case
        gc.collect()  # so that asyncio logs exceptions that were never retrieved
    seen = call.seen
    seen.facts += silenced.facts(disabled)
    seen.logged = _of_call(job, seen, logged)
    if course:
        seen.facts += course.facts(call)
        seen.facts += course.open_things
    if course or case.name == cases.FIRST[job.role]:
        _note_cost(seen)
    if job.role == "application":
        seen.framework = author.library(seen.actor).capitalize()
    supervisor.arm(job.limit + leftovers.TIME_TO_END_OF_A_POOL)
    seen.facts += guard.listed(leftovers.threads_left, before)
    seen.facts += guard.listed(leftovers.daemons, imported)
    seen.facts += guard.listed(leftovers.processes, os.getpid())
    return seen


def _note_cost(seen: Observation) -> None:
    """Note what a case costs, by which it is known how many others may be played at once."""
    times = os.times()
    seen.cost = times.user + times.system
    seen.memory, seen.total = own_memory()


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
