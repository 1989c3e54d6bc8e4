"""The sentences about servers: one for each kind of fact."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lifespec.conformance.report import Fact, Verdict, fact
from lifespec.conformance.words import mark as _

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lifespec.conformance.report import Report

__all__ = ["HINTS", "SENTENCES", "headline", "rules"]

HINTS: Mapping[str, str] = {  # kinds that another rule's hint explains
    "not-served-waits": "unsupported-never-blocks",
}
COUNTED = {
    Verdict.FAIL: "broken",
    Verdict.WARN: "missed",
    Verdict.PASS: "kept",
    Verdict.INFO: "unspecified",
    Verdict.SKIP: "skipped",
}
SENTENCES: Mapping[str, str] = {
    # how many rules were kept
    "rules": _("{total} rules: {counts}"),
    "broken": _("{count} broken"),
    "missed": _("{count} missed"),
    "kept": _("{count} kept"),
    "unspecified": _("{count} not specified"),
    "skipped": _("{count} not judged"),
    "open": _("{count} show something that the specification leaves open (--verbose)"),
    "not-judged": _("{rules}: {reason}"),
    # how the process ended, within a sentence
    "remained": _("the process was still there {seconds} s later"),
    "client-remained": _("it was still there {seconds} s later"),
    "ended": _("it ended"),
    "raised-to-caller": _("it raised to the caller"),
    "ended-by-signal": _("the process ended with status {status} ({name})"),
    "ended-with-status": _("the process ended with status {status}"),
    "ended-after": _("{way} after {seconds} s"),
    "end": _("{end}."),
    "noticed": _("{way}: a supervisor notices the failure."),
    # the scope and the event loop
    "scope-type": _("A scope had the type {type}."),
    "lifespan-scopes": _("Calls with a lifespan scope: {count}."),
    "versions": _("`{key}` in the scope is {value}."),
    "state": _("The state was {state}."),
    "no-state": _("The server provides no state."),
    "calls": _("Lifespans: {count}; each process that served had its own."),
    "calls-and-processes": _("Lifespans: {count}; processes that served: {serving}."),
    "no-request": _("No request reached the application."),
    "other-pid": _("A request came in another process."),
    "other-thread": _("A request came in another thread."),
    "other-loop": _("A request came in another event loop."),
    "same-loop": _("All requests came in an event loop that has a lifespan."),
    "cancelled-early": _("The call was cancelled while the server served."),
    "not-cancelled": _("The call was not cancelled."),
    # startup
    "events": _("The events were: {events}."),
    "no-events": _("The application received no event."),
    "startup-first": _("Startup came first, and once."),
    "requests-before-startup": _("Requests before startup: {count}."),
    "requests-before-answer": _("Requests before startup was answered: {count}."),
    "requests-before-answer-cut": _(
        "Requests before startup was answered: {count}. The server ended startup after {seconds} s."
    ),
    "startup-cut": _("The server ended startup after {seconds} s; {way}."),
    # serving
    "served": _("It was served."),
    "not-served": _("It was not served; {end}."),
    "not-served-waits": _("It was not served; {end}."),
    "not-served-on-demand": _(
        "It was not served; {end}. It was started with {option}, which demands lifespan support."
    ),
    "app-not-served": _("The application was not served; {end}."),
    "to-caller": _("It raised to the caller: {text}"),
    "requests-after-failed": _("Requests after startup.failed: {count}; {end}."),
    "output": _("The output says: {line}"),
    "not-in-output": _("It is not in the output."),
    "key-error": _("KeyError: the server reads the message."),
    "no-message-needed": _("It did not look for a message; {end}."),
    # what the application sends
    "send-returned": _("send has returned."),
    "send-returned-to-caller": _("send has returned. It raised to the caller: {text}"),
    "send-raised": _("send has raised {error}: {text}"),
    "late-event": _("Only a task that the application had left behind received {event}."),
    "no-late-event": _("No event came afterwards."),
    # shutdown
    "not-stopped": _("It could not be told to stop; {end}."),
    "port-in-use": _("It found the port in use before it called the application."),
    "cancelled-before-stop": _("The call was cancelled before the server was told to stop."),
    "shutdown-times": _("Shutdown came {count} times; {end}."),
    "shutdown-once": _("Shutdown came once; {end}."),
    "request-after-shutdown": _("A request came after shutdown."),
    "request-during-shutdown": _("Shutdown came while a request to {path} was being answered."),
    "no-request-at-shutdown": _("No request was there, and none came."),
    "no-port": _("It has no port of its own."),
    "answered-after-shutdown": _("A request was answered after shutdown had come."),
    "connected-after-shutdown": _(
        "After shutdown had come, clients could connect, as the socket still listened; a request"
        " was not answered."
    ),
    "refused-after-shutdown": _("A connection was refused after shutdown had come."),
    "clean-up-cut": _("The server ended clean-up after {seconds} s; {way}."),
    "waited-still": _("It still waited after {seconds} s."),
    "waited": _("It waited; {end}."),
    "no-exit-status": _("A test client or adapter has no exit status of its own."),
    # state
    "copies": _("Each request had a shallow copy."),
    "change-lost": _("A change of a value did not reach the next request."),
    "request-without-state": _("A request had no state."),
    "state-itself": _("A request had the state itself, not a copy."),
    "key-of-another-request": _("A key that one request set came with another."),
    "other-values": _("The values of a request are not those of a lifespan."),
    "late-key": _("It came with later requests."),
    "no-late-key": _("It did not come."),
    "no-request-answered": _("No request was answered."),
    "no-shutdown": _("Shutdown was not received."),
    "changed-by-requests": _("Requests had the state itself, and have changed it."),
    "state-at-shutdown": _("At shutdown the state was {state}."),
    "connection-closed": _("The server closed the connection after a request."),
    "connection-unanswered": _("A request on the connection was not answered: {error}."),
    "websocket-refused": _("The server did not open a WebSocket: its status was {status}."),
    # why something was not judged
    "no-lifespan-call": _("The application was not called with a lifespan scope."),
    "progress": _('The application has not come so far: the last of it is "{last}".'),
    "not-reached": _('Step {number}, "{line}", was not reached. {progress}'),
    "misled": _("Not judged, because startup-sent failed."),
    "no-workers": _("Not run: the command has no {{workers}}, and --workers was not given."),
    "no-lifespan": _(
        "The server calls the application with no lifespan scope: no lifespan took place."
    ),
    "idle": _("Startup was completed, and the server answered no request."),
    "case-not-played": _("The case {case} could not be played: {why}"),
    # why nothing was checked
    "no-place": _("the command has no {place}: {command}"),
    "no-program": _(
        "there is no program {program}: activate the environment that has it, or give its path"
    ),
    "not-executable": _("{program} cannot be run: {error}"),
    "no-port-free": _("no port of 127.0.0.1 is free"),
    "log-damaged": _("another program wrote into the log of the suite's application: {line}"),
    "log-cut": _("the log of the suite's application is cut short"),
    "flood": _("it wrote more than 8 MB to its output"),
    "app-not-called": _("{name} did not call the application within {seconds} s"),
    "left-processes": _("{name} ended and left other processes behind: start it in the foreground"),
    "ended-at-once": _("{name} ended with status {status} before it served anything"),
    "last-words": _("{what}; its last words: {line}"),
    # what was left out
    "slow-cases": _("{count} slow cases, of 30 to 60 s (--slow)"),
    "worker-cases": _(
        "{count} cases with two workers (add {{workers}} to the command, or give --workers)"
    ),
}


def headline(report: Report) -> str:
    """Return the first line of a report about a server."""
    if report.unchecked:
        return _("{subject} could not be checked against {title}")
    kept = not any(each.fails() for each in report.findings)
    return _("{subject} keeps {title}") if kept else _("{subject} does not keep {title}")


def rules(report: Report) -> Iterator[Fact]:
    """Yield how many rules were kept, and why others were not judged."""
    if report.unchecked:
        return
    verdicts, found = report.counts(), report.by_rule()
    counts = tuple(
        fact(kind, count=verdicts[verdict])
        for verdict, kind in COUNTED.items()
        if verdicts[verdict]
    )
    yield fact("rules", total=len(found), counts=counts)
    if opened := sum(any(each.verdict == Verdict.INFO for each in of) for of in found.values()):
        yield fact("open", count=opened)
    reasons: dict[str, tuple[Fact, list[str]]] = {}
    for rule_id, findings in found.items():
        if findings[0].verdict == Verdict.SKIP:
            why = findings[0].observed
            reasons.setdefault(repr(why), (why, []))[1].append(rule_id)
    for why, rule_ids in reasons.values():
        yield fact("not-judged", rules=tuple(rule_ids), reason=why)
