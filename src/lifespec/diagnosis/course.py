"""How a lifespan goes, and what each end of it is called: one table, for whoever follows one.

A check, a test and `lifespec watch` see different things: the first two play the server, and the
third reads what an agent has noted.  What has happened means the same for all of them: none of
them works out by itself how a lifespan went.
"""

from typing import NamedTuple

STARTUP_COMPLETE, STARTUP_FAILED = "lifespan.startup.complete", "lifespan.startup.failed"
SHUTDOWN_COMPLETE, SHUTDOWN_FAILED = "lifespan.shutdown.complete", "lifespan.shutdown.failed"


class Transition(NamedTuple):
    """What happens in a state, the state after it, and the kind of what is then to be told."""

    state: str
    happened: str
    then: str
    kind: str = ""


# States
#   new       the application was not called with the lifespan scope
#   called    it was called, and has not received an event
#   starting  it has received lifespan.startup
#   running   it has completed startup, and is served
#   stopping  the server has begun to stop, and waits for requests
#   cleaning  it has lifespan.shutdown to answer
#   cut       it was cancelled meanwhile, and has not ended
#   over      nothing that follows belongs to the lifespan
#
# What happens
#   called, received         the call, and its first event
#   lifespan. ...            what the application sends
#   returned, raised         how the call ended; an exit counts as raised
#   cancelled                it ended by a cancellation from outside: the server's, say
#   stop                     the server begins to stop
#   shutdown                 lifespan.shutdown reaches the application, or has been sent to it
#   exited                   the application's code ended the process, by `os._exit`, say
#   interrupted              KeyboardInterrupt or SystemExit has left the event loop, which ended
#   gone                     the process has ended, and nothing else was seen
#   uncalled                 the server serves without a call
#
# What stands in no row changes nothing.
COURSE_TABLE = (
    Transition("new", "uncalled", "over", "uncalled"),
    Transition("new", "called", "called"),
    Transition("called", "received", "starting"),
    Transition("called", STARTUP_COMPLETE, "running"),
    Transition("called", STARTUP_FAILED, "over", "failed"),
    Transition("called", "raised", "over", "raised-on-scope"),
    Transition("called", "returned", "over", "returned-on-scope"),
    Transition("called", "cancelled", "over", "startup-cut-off"),
    Transition("called", "exited", "over", "exited-at-startup"),
    Transition("starting", STARTUP_COMPLETE, "running"),
    Transition("starting", STARTUP_FAILED, "over", "failed"),
    Transition("starting", "raised", "over", "raised-late"),
    Transition("starting", "returned", "over", "returned-late"),
    Transition("starting", "cancelled", "over", "startup-cut-off"),
    Transition("starting", "exited", "over", "exited-at-startup"),
    Transition("running", "raised", "over", "raised-early"),
    Transition("running", "returned", "over", "returned-early"),
    Transition("running", SHUTDOWN_FAILED, "over", "failed-early"),
    Transition("running", "exited", "over", "exited-early"),
    Transition("running", "interrupted", "over", "interrupted-early"),
    Transition("running", "stop", "stopping"),
    Transition("running", "shutdown", "cleaning"),
    Transition("running", "gone", "over", "without-shutdown"),
    Transition("stopping", "raised", "over", "raised-early"),
    Transition("stopping", "exited", "over", "exited-early"),
    Transition("stopping", "shutdown", "cleaning"),
    Transition("stopping", "gone", "over", "without-shutdown"),
    Transition("cleaning", SHUTDOWN_COMPLETE, "over"),
    Transition("cleaning", SHUTDOWN_FAILED, "over", "failed-at-shutdown"),
    Transition("cleaning", "raised", "over", "raised-at-shutdown"),
    Transition("cleaning", "returned", "over", "returned-at-shutdown"),
    Transition("cleaning", "cancelled", "cut"),
    Transition("cleaning", "exited", "over", "exited-at-shutdown"),
    Transition("cleaning", "gone", "over", "clean-up-cut-off"),
    Transition("cut", "exited", "over", "exited-at-shutdown"),
    Transition("cut", "gone", "over", "clean-up-cut-off"),
)
# kinds of ends of an application that takes no part in lifespan
TAKES_NO_PART = ("raised-on-scope", "returned-on-scope")
FAILED = ("failed", "failed-at-shutdown")  # kinds of ends of which the application has said why
_ROWS = {(row.state, row.happened): row for row in COURSE_TABLE}


class Course:
    """How far a lifespan has come; `kinds` are what was to be told of it, in order."""

    def __init__(self) -> None:
        self.state = "new"
        self.kinds: list[str] = []

    def happens(self, what: str) -> str:
        """Go on to the next state; return the kind of what is to be told, or ""."""
        row = _ROWS.get((self.state, what))
        if row is None:
            return ""
        self.state = row.then
        if row.kind:
            self.kinds.append(row.kind)
        return row.kind
