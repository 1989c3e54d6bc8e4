"""Say what was observed of a framework: the answers of `frameworks.json`, by group and column."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from happened import NO, NONE, YES, Answer, Groups, Happened, answered, yes_or_no

__all__ = ["FAULT", "GROUPS", "answers"]

FAULT = "no cache"  # the text of the exception that a hook raises
EXITS = ["logs", "ERROR:    Application startup failed. Exiting."]
OPENED = ["database", "cache", "queue"]  # in this order; the cache fails


def served(run: Happened) -> Happened:
    """Return what happened until the event loop closed, which ends what is left open."""
    return run.before("loop closes")


def reply(event: str) -> Callable[[Happened], Answer]:
    """Say how an event was answered: what was sent, or raised instead."""

    def answer(run: Happened) -> Answer:
        for each in served(run).all:
            if each[0] == "sent" and str(each[1]).startswith(f"lifespan.{event}."):
                return ["complete"] if each[1].endswith("complete") else failed(each[2:])
        raised = served(run).first("raised")
        return ["raises", raised[1]] if raised else ["no answer"]

    return answer


def failed(message: Sequence[str]) -> Answer:
    """Say with which message a failure was sent."""
    if not message:
        return ["failed, no message"]
    if not message[0]:
        return ["failed, empty message"]
    if message[0].startswith("Traceback"):
        return ["failed, traceback"]
    return ["failed, text"] if FAULT in message[0] else ["failed", message[0]]


def end(run: Happened) -> Answer:
    """Say how the call ended."""
    if raised := served(run).first("raised"):
        return ["raises", raised[1]]
    return ["returns"] if served(run).has("returned") else ["waits"]


def closed(*resources: str) -> Callable[[Happened], Answer]:
    """Say which of the resources were closed in time, or when the event loop closed."""

    def answer(run: Happened) -> Answer:
        late = run.since("loop closes")
        done = [each for each in resources if served(run).has("disconnect", each)]
        if len(done) == len(resources):
            return YES
        if done:
            return ["only", done[0]]
        return ["loop"] if any(late.has("disconnect", each) for each in resources) else NO

    return answer


def closed_opened(run: Happened) -> Answer:
    """Say whether the database was closed, which was open when the cache failed."""
    others = [each for each in served(run).names("disconnect") if each != "database"]
    return ["yes, all"] if others else closed("database")(run)


def closed_by_framework(run: Happened) -> Answer:
    """Say whether the database was closed before the server said that it ends."""
    ended = [*run.before(*EXITS).all, ["loop closes"], *run.since(*EXITS).all]
    return closed("database")(Happened(ended))


def order(run: Happened) -> Answer:
    """Say in which order the resources were closed."""
    found = served(run).names("disconnect")
    known = {tuple(OPENED): ["as opened"], tuple(reversed(OPENED)): ["reversed"]}
    return known.get(tuple(found), ["names", *found] if found else NONE)


def names(kind: str) -> Callable[[Happened], Answer]:
    """Name the resources that were opened, or closed."""

    def answer(run: Happened) -> Answer:
        found = served(run).names(kind)
        return ["names", *found] if found else NONE

    return answer


def awaited(run: Happened) -> Answer:
    """Say whether all hooks ran before startup was complete."""
    return yes_or_no(run.before("sent", "lifespan.startup.complete").has("connect", OPENED[-1]))


def noted(kind: str, *, expected: object) -> Callable[[Happened], Answer]:
    """Say whether the run noted this value."""

    def answer(run: Happened) -> Answer:
        found = run.first(kind)
        return yes_or_no(found[1] == expected if found else None)

    return answer


def again(run: Happened) -> Answer:
    """Say what came of the second startup."""
    sent = [each for each in run.all if each[0] == "sent" and ".startup." in each[1]]
    return failed(sent[1][2:]) if sent[1][1].endswith("failed") else YES


def without_state(run: Happened) -> Answer:
    """Say how startup was answered, and whether the hooks ran."""
    answer = reply("startup")(run)
    return answer if run.has("connect") or answer != ["complete"] else ["complete, no hook"]


def request(run: Happened) -> Answer:
    """Say what a request got."""
    if raised := run.first("request raised"):
        return ["raises", raised[1]]
    return ["status", str(run.first("request")[1])]


def unexpected(number: int) -> Callable[[Happened], Answer]:
    """Say what the event of this number did, which comes at the wrong time."""

    def answer(run: Happened) -> Answer:
        places = [*run.where("event"), len(run.all)]
        if len(places) <= number + 1:
            return end(run)
        then = served(Happened(run.all[places[number] + 1 : places[number + 1]]))
        if then.has("connect"):
            return ["starts"]
        kind, *about = then.all[0] if then.all else ["nothing"]
        if kind == "sent":
            return ["sends", about[0].removeprefix("lifespan.")]
        return {"nothing": ["ignores it"], "disconnect": ["cleans up"]}.get(kind) or end(run)

    return answer


def sees_state(run: Happened) -> Answer:
    """Say whether the mounted application saw the state, if there was any."""
    if not run.first("state")[1:]:
        return NONE
    return yes_or_no(run.first("request")[2] != "state: ")


def sent_when_cancelled(run: Happened) -> Answer:
    """Say what was sent after the server had cancelled the call."""
    sent = run.since("cancelled").first("sent")
    return failed(sent[2:]) if sent else NONE


def reply_when_cancelled(run: Happened) -> Answer:
    """Say the same of startup, which waits for an answer."""
    if run.since("cancelled").has("sent"):
        return sent_when_cancelled(run)
    raised = served(run).first("raised")
    return ["raises", raised[1]] if raised else ["no answer"]


def noticed(run: Happened) -> Answer:
    """Say what the application did when its task had raised, while it served."""
    lived = served(run)
    if lived.has("event", "lifespan.shutdown"):
        return ["nothing happens"]
    if lived.has("sent", "lifespan.shutdown.failed"):
        return reply("shutdown")(run)
    return ["ends cancelled"] if lived.has("ends cancelled") else end(run)


def has(*happening: str) -> Callable[[Happened], Answer]:
    """Say whether this happened."""
    return lambda run: yes_or_no(served(run).has(*happening))


def times(kind: str) -> Callable[[Happened], Answer]:
    """Count how often a function of the router ran."""

    def answer(run: Happened) -> Answer:
        number = len(run.where(kind, "router"))
        return ["once"] if number == 1 else ["times", str(number)]

    return answer


def outcome(run: Happened) -> Answer:
    """Say whether the server whose application could not open the cache answers requests."""
    if found := run.first("request"):
        return ["answers requests", str(found[1])]
    return ["exits", str(run.first("exit status")[1])]


def exception_logged(run: Happened) -> Answer:
    """Say whether the log has the exception of the hook."""
    return yes_or_no(any(each[0] == "logs" and FAULT in each[1] for each in run.all))


def scope(run: Happened) -> Answer:
    """Say how a scope of another type was answered."""
    sent = served(run).first("sent")
    return ["sends", sent[1]] if sent else end(run)


GROUPS: Groups = {
    "failures": {
        "startup": ("startup raises", reply("startup")),
        "call": ("startup raises", end),
        "closed": ("startup raises", closed_opened),
        "shutdown": ("shutdown raises", reply("shutdown")),
        "others": ("shutdown raises", closed("database", "queue")),
        "left": ("startup raises", lambda run: ["number", str(run.first("tasks left")[1])]),
    },
    "hooks": {
        "awaited": ("usual", awaited),
        "order": ("usual", order),
        "task": ("usual", noted("tasks of hooks", expected=1)),
        "context": ("usual", noted("context kept", expected=True)),
        "sets": ("usual", lambda run: yes_or_no(len(run.first("state")) > 1)),
        "again": ("twice", again),
    },
    "cancelled": {
        "startup": ("startup is cancelled", closed_opened),
        "sends": ("startup is cancelled", reply_when_cancelled),
        "serving": ("serving is cancelled", closed(*OPENED)),
        "then": ("serving is cancelled", sent_when_cancelled),
        "shutdown": ("shutdown is cancelled", closed("database", "queue")),
    },
    "unusual": {
        "state": ("no state", without_state),
        "spec_version": ("no spec_version", reply("startup")),
        "asgi": ("no asgi", reply("startup")),
        "request": ("no lifespan", request),
        "shutdown": ("shutdown first", unexpected(0)),
        "other": ("other event first", unexpected(0)),
        "twice": ("startup twice", unexpected(1)),
        "scope": ("other scope", scope),
    },
    "tasks": {
        "task": ("task", noticed),
        "group": ("group", noticed),
        "closed": ("group", closed("database")),
    },
    "state": {
        "middleware": ("state", has("sees", "middleware", "database")),
        "socket": ("state", has("sees", "WebSocket", "database")),
        "background": ("state", has("sees", "background task", "database")),
    },
    "uvicorn": {
        "outcome": ("under uvicorn, a hook raises", outcome),
        "logged": ("under uvicorn, a hook raises", exception_logged),
        "closed": ("under uvicorn, a hook raises", closed_by_framework),
        "order": ("under uvicorn", names("disconnect")),
    },
    "mounted": {
        "plain": ("mounted", has("connect", "inner")),
        "state": ("mounted", sees_state),
        "bare": ("bare", has("connect", "inner")),
        "nested": ("nested", has("connect", "nested")),
    },
    "router": {
        "startup": ("router", times("connect")),
        "shutdown": ("router", times("disconnect")),
        "opens": ("router", names("connect")),
        "closes": ("router", names("disconnect")),
    },
    "combined": {
        "opens": ("combined", names("connect")),
        "closes": ("combined", names("disconnect")),
    },
}
WITHOUT_HOOKS: Groups = {
    "unsupported": {"startup": ("usual", reply("startup")), "scope": ("other scope", scope)}
}


def answers(happened: Mapping[str, Sequence[Sequence[Any]]]) -> dict[str, dict[str, Answer]]:
    """Return the answers by group and column; an application that has no hooks has others."""
    runs = {question: Happened(each) for question, each in happened.items()}
    return answered(GROUPS if runs["usual"].has("connect") else WITHOUT_HOOKS, runs)
