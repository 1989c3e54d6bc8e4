"""Say what was observed of a framework: the answers of `frameworks.json`, by group and column."""

from collections.abc import Mapping, Sequence
from typing import Any

from happened import NO, NONE, SHARED, YES, Answer, Happened, answered, count, yes_or_no
from records import table

ROWS = table("frameworks")
FAULT = "no cache"  # the text of the exception that a hook raises
EXITS = ["logs", "ERROR:    Application startup failed. Exiting."]
OPENED = ["database", "cache", "queue"]  # in this order; the cache fails


def served(run: Happened) -> Happened:
    """Return what happened until the event loop closed, which ends what is left open."""
    return run.before("loop closes")


def raises(run: Happened) -> Answer:
    """Name the exception that left the call; [] if there was none."""
    for error in served(run).names("raised"):
        return ["raises", error]
    return []


def reply(run: Happened, event: str) -> Answer:
    """Say how an event was answered: what was sent, or raised instead."""
    for kind, *about in served(run).all:
        if kind == "sent" and str(about[0]).startswith(f"lifespan.{event}."):
            if about[0].endswith("complete"):
                return ["complete"]
            return failed(about[1:])
    return raises(run) or ["no answer"]


def failed(message: Sequence[str]) -> Answer:
    """Say with which message a failure was sent."""
    if not message:
        return ["failed, no message"]
    if not message[0]:
        return ["failed, empty message"]
    if message[0].startswith("Traceback"):
        return ["failed, traceback"]
    if FAULT in message[0]:
        return ["failed, text"]
    return ["failed", message[0]]


def end(run: Happened) -> Answer:
    """Say how the call ended."""
    error = raises(run)
    if error:
        return error
    return ["returns"] if served(run).has("returned") else ["waits"]


def closed(run: Happened, *resources: str) -> Answer:
    """Say which of the resources were closed in time, or when the event loop closed."""
    in_time = [resource for resource in resources if served(run).has("disconnect", resource)]
    if len(in_time) == len(resources):
        return YES
    if in_time:
        return ["only", in_time[0]]
    late = run.since("loop closes")
    for resource in resources:
        if late.has("disconnect", resource):
            return ["loop"]
    return NO


def closed_opened(run: Happened) -> Answer:
    """Say whether the database was closed, which was open when the cache failed."""
    for resource in served(run).names("disconnect"):
        if resource != "database":
            return ["yes, all"]
    return closed(run, "database")


def closed_by_framework(run: Happened) -> Answer:
    """Say whether the database was closed before the server logged that it exits."""
    ended = [*run.before(*EXITS).all, ["loop closes"], *run.since(*EXITS).all]
    return closed(Happened(ended), "database")


def names(run: Happened, kind: str) -> Answer:
    """Name the resources that were opened, or closed."""
    resources = served(run).names(kind)
    if not resources:
        return NONE
    return ["names", *resources]


def order(run: Happened) -> Answer:
    """Say in which order the resources were closed."""
    resources = served(run).names("disconnect")
    if resources == OPENED:
        return ["as opened"]
    if resources == OPENED[::-1]:
        return ["reversed"]
    return names(run, "disconnect")


def awaited(run: Happened) -> Answer:
    """Say whether all hooks ran before startup was complete."""
    return yes_or_no(run.before("sent", "lifespan.startup.complete").has("connect", OPENED[-1]))


def noted(run: Happened, kind: str, expected: object) -> Answer:
    """Say whether the run noted this value."""
    return yes_or_no(run.first(kind)[1] == expected if run.has(kind) else None)


def again(run: Happened) -> Answer:
    """Say what came of the second startup."""
    answers = []
    for kind, *about in run.all:
        if kind == "sent" and ".startup." in about[0]:
            answers.append(about)
    event, *message = answers[1]
    if event.endswith("failed"):
        return failed(message)
    return YES


def without_state(run: Happened) -> Answer:
    """Say how startup was answered, and whether the hooks ran."""
    answer = reply(run, "startup")
    if answer == ["complete"] and not run.has("connect"):
        return ["complete, no hook"]
    return answer


def request(run: Happened) -> Answer:
    """Say what a request got."""
    for error in run.names("request raised"):
        return ["raises", error]
    return ["status", str(run.first("request")[1])]


def unexpected(run: Happened, number: int) -> Answer:
    """Say what the event of this number did, which comes at the wrong time."""
    places = [*run.where("event"), len(run.all)]
    if len(places) <= number + 1:
        return end(run)
    then = served(Happened(run.all[places[number] + 1 : places[number + 1]]))
    if then.has("connect"):
        return ["starts"]
    if not then.all:
        return ["ignores it"]
    kind, *about = then.all[0]
    if kind == "sent":
        return ["sends", about[0].removeprefix("lifespan.")]
    if kind == "disconnect":
        return ["cleans up"]
    return end(run)


def sees_state(run: Happened) -> Answer:
    """Say whether the mounted application saw the state, if there was any."""
    if not run.first("state")[1:]:
        return NONE
    return yes_or_no(run.first("request")[2] != "state: ")


def sent_when_cancelled(run: Happened) -> Answer:
    """Say what was sent after the server had cancelled the call."""
    sent = run.since("cancelled").first("sent")
    if not sent:
        return NONE
    return failed(sent[2:])


def reply_when_cancelled(run: Happened) -> Answer:
    """Say the same of startup, which waits for an answer."""
    if run.since("cancelled").has("sent"):
        return sent_when_cancelled(run)
    return raises(run) or ["no answer"]


def after_task_raised(run: Happened) -> Answer:
    """Say what the application did when its task had raised, while it served."""
    lived = served(run)
    if lived.has("event", "lifespan.shutdown"):
        return ["nothing happens"]
    if lived.has("sent", "lifespan.shutdown.failed"):
        return reply(run, "shutdown")
    if lived.has("ends cancelled"):
        return ["ends cancelled"]
    return end(run)


def has(run: Happened, *happening: str) -> Answer:
    return yes_or_no(served(run).has(*happening))


def times(run: Happened, kind: str) -> Answer:
    """Count how often a function of the router ran."""
    return count(run.where(kind, "router"))


def outcome(run: Happened) -> Answer:
    """Say whether the server whose application could not open the cache answers requests."""
    for status in run.names("request"):
        return ["answers requests", str(status)]
    return ["exits", str(run.first("exit status")[1])]


def exception_logged(run: Happened) -> Answer:
    return yes_or_no(any(FAULT in line for line in run.names("logs")))


def scope(run: Happened) -> Answer:
    """Say how a scope of another type was answered."""
    for event in served(run).names("sent"):
        return ["sends", event]
    return end(run)


def answers(happened: Mapping[str, Sequence[Sequence[Any]]]) -> dict[str, dict[str, Answer]]:
    """Return the answers by group and column; an application that has no hooks has others."""
    runs = {question: Happened(happenings) for question, happenings in happened.items()}
    groups = ROWS["answers" if runs["usual"].has("connect") else "without-hooks"]
    return answered(groups, SHARED | globals(), runs)
