"""The sentences about applications and middleware: one for each kind of fact."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lifespec.conformance.words import mark as _

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lifespec.conformance.report import Finding, Report

__all__ = ["NOT_JUDGED", "SENTENCES", "headline", "is_told"]

NOT_JUDGED = ("does-not-start", "does-not-stop")  # reasons of a skip that are a fault


def headline(report: Report) -> str:
    """Return the first line of a report about an application or middleware."""
    labels = {row.label for row in report.rows}
    lines = {
        _("{subject} does not start"): report.starts is False and report.supported,
        _("{subject} is served without its startup"): report.starts is False,
        _("{subject} could not be checked against {title}"): report.unchecked,
        _("{subject} does not support lifespan"): not report.supported,
        _("{subject} does not stop"): report.stops is False,
        _("{subject} starts and stops, but its process does not end"): report.ends is False,
        _("{subject} does not keep {title}"): any(each.fails() for each in report.findings),
        _("{subject} keeps {title}, and one lifespan never ran"): "never ran" in labels,
        _("{subject} keeps {title}, and an error occurred"): labels & {"logged", "died"},
        _("{subject} keeps {title}"): True,
    }
    return next(line for line, fits in lines.items() if fits)


def is_told(finding: Finding) -> bool:
    """Tell whether a finding says what the first lines of the report say."""
    first = finding.case in ("start-and-stop", "request-while-running")
    return first and finding.kind in ("course", "course-start")


SENTENCES: Mapping[str, str] = {
    # how it starts and stops
    "yes": _("yes"),
    "yes-in": _("yes, in {seconds} s"),
    "yes-on-trio": _("yes, on trio, which it needs"),
    "no": _("no: {failure}"),
    "no-message": _("it sent no message"),
    "no-error": _("an exception"),
    "message-and-error": _("{text} ({error})"),
    "sends-only-text": _('({framework} sends only "{message}"; this is what it had caught)'),
    "raised-on-scope": _("without lifespan: it raised {error}, when it was called with the scope"),
    "returned-on-scope": _("without lifespan: it returned when it was called with the scope"),
    "raised-late": _(
        "no: it raised {error}, after it had received lifespan.startup. Every server takes this for"
        " an application without lifespan support, and serves it all the same."
    ),
    "returned-late": _(
        "no: it returned without an answer after it had received lifespan.startup. Every server"
        " takes this for an application without lifespan support, and serves it all the same."
    ),
    "refused": _("no: the suite refused what it sent: {refusal}"),
    "exited-at-startup": _("no: it ended the process at startup: {exit}"),
    "exited-at-shutdown": _("no: it ended the process at shutdown: {exit}"),
    "exited-early": _("no: it ended the process while it was running: {exit}"),
    "failed-early": _("no: it failed while it was running: {failure}"),
    "raised-early": _("no: it raised while it was running: {error}"),
    "raised-at-shutdown": _("no: it raised at shutdown: {error}"),
    "returned-at-shutdown": _("no: it returned without an answer to lifespan.shutdown"),
    "returned-early": _("without clean-up: it returned before it received lifespan.shutdown"),
    "overdue": _("no: not within {limit} s (--timeout); {doing}"),
    "serving-blocked": _("no: after startup, for {limit} s (--timeout) {doing}"),
    "doing-at": _("{what} in {place}"),
    "doing-blocked": _("it blocks the event loop"),
    "doing-running": _("it waits"),
    "doing-starved": _("this machine gave its process too little time: try again"),
    "doing-late": _("its answer came later"),
    "doing-idle": _("instead of answering it waits for another event"),
    "doing-not-received": _("it has not received the event"),
    "source": _("{file}:{line}  in {function}  {source}"),
    "course-start": _("starts: {starts}"),
    "course": _("starts: {starts}; stops: {stops}"),
    "does-not-start": _("it does not start"),
    "does-not-stop": _("it does not stop"),
    "unsupported": _("it does not support lifespan"),
    # what else its author wants to know
    "library-tasks": _("tasks of libraries that still run: {names}"),
    "lingers": _("A server logs that it has finished, and its process stays."),
    "logged-when": _("{when}: {record}"),
    "when-starting": _("while starting"),
    "when-serving": _("while serving"),
    "when-request": _("in a request"),
    "when-stopping": _("while stopping"),
    "died": _("while serving, the task {task}: {error}. Nothing notices."),
    "never-ran": _("{place}: it was given to {receiver}, and nothing ran it"),
    "and-more": _("and {count} more"),
    "given-no-lifespan": _(
        "{name}, which {receiver} was given as its lifespan, is no function: it is of the type"
        " {type}. If it is a module, import the function from it. ({place})"
    ),
    "state-rebound": _(
        'It put another object into scope["state"]. Requests get a copy of the object that was'
        " there: change that one in place."
    ),
    "does-not-return": _(
        "It does not return after it has answered lifespan.shutdown: clean-up that is left runs"
        " only if the server cancels it."
    ),
    # what to change
    "advise-cancel-scope": _(
        "Open and close a cancel scope or task group in one task. Here a task that was made with"
        " create_task or gather closes what another one opened: use one task group instead. See"
        " {page}."
    ),
    "advise-other-loop": _(
        "Create it in the lifespan, not at import: it belongs to the event loop in which it was"
        " first used. See {page}."
    ),
    "advised": _("{what}. {advice}"),
    "advise-await": _("Here the event loop runs: await the coroutine. See {page}."),
    "advise-crash": _(
        "A task group ends the lifespan with the first exception of its tasks: catch and log it in"
        " the task. See {page}."
    ),
    "advise-scope": _(
        "Only requests have this key: pass any other scope on to the application. See {page}."
    ),
    "page-write-middleware": _('"Write middleware"'),
    "advise-no-loop": _(
        "Create it in the lifespan: when the module is imported, no loop runs yet. See {page}."
    ),
    "advise-middleware-late": _(
        "Add middleware before the application starts, not in its lifespan. See {page}."
    ),
    "advise-decorator": _(
        "Decorate the function with @contextlib.asynccontextmanager. See {page}."
    ),
    "advise-yield-once": _(
        "The function has to yield exactly once, also after an exception. See {page}."
    ),
    "advise-port": _("Another process has this port: stop it, or take another port. See {page}."),
    "advise-service": _(
        "Start the service that it connects to, or correct its address. See {page}."
    ),
    "advise-cancelled": _(
        "Nobody cancelled it from outside: a task group or timeout of its own did. Let it end"
        " inside of the lifespan. See {page}."
    ),
    "advise-missing-module": _("Install the package, or add it to the requirements. See {page}."),
    "advise-send-failed": _(
        "Answer lifespan.startup.failed, so that the server does not serve it: with_lifespan does,"
        " Starlette does. See {page}."
    ),
    "advise-find-lifespan": _(
        "If it should support lifespan, find the middleware that drops the scope, or the"
        " application in which the one with the lifespan is mounted."
    ),
    "advise-wait": _("To run clean-up, wait for lifespan.shutdown before it returns. See {page}."),
    "advise-blocked": _(
        "Wait without blocking: `await asyncio.to_thread(function)`, or end what it waits for"
        " first. Meanwhile no other task, signal handler or timeout can run. See {page}."
    ),
    "advise-silent": _("Answer the event before receiving the next one."),
    "advise-clean-up": _(
        "Cancel what the clean-up waits for, or give it a timeout of its own. See {page}."
    ),
    "advise-startup": _(
        "Start what it waits for, or give the wait a timeout of its own, so that startup fails with"
        " a message. If it only takes long, raise --timeout. See {page}."
    ),
    "advise-close": _("Close what started it before the lifespan ends."),
    "advise-died": _("Use a task group, or log the exception and end the server. See {page}."),
    "advise-never-ran": _(
        "Only the lifespan of the application that the server starts is run: enter this one in it,"
        " or wrap that application: app = lifespec.with_lifespan(app, lifespan). See {page}."
    ),
    "page-background-tasks": _('"Background tasks and context variables"'),
    "page-mount-applications": _('"Mount applications"'),
    "page-quickstart-application": _('"Quickstart for applications"'),
    "page-shutdown": _('"Shutdown"'),
    "page-test-application": _('"Test an application"'),
    "page-timeouts": _('"Timeouts and Ctrl-C"'),
    "page-troubleshooting": _('"Troubleshooting"'),
    # why it could not be checked
    "no-attribute-named": _(
        "{target} names no attribute: give module:attribute, as in shop.main:app"
    ),
    "no-module-name": _("{module} is no module name: give {wanted}"),
    "no-module": _(
        "there is no module {name}: call the command in the folder that has it, or name it as it is"
        " imported"
    ),
    "import-raised": _("`{what}` raised {error}"),
    "import-ended": _("its import ended the process: {how}"),
    "import-hangs": _("it was not imported within {limit} s (--timeout)"),
    "needs-trio-installed": _("it needs trio: pip install trio"),
    "no-attribute": _("there is no {name} in {owner}: name one that it has"),
    "no-attribute-near": _("there is no {name} in {owner}: it has {near}"),
    "not-callable": _("{target} is {value}, which cannot be called: name an application"),
    "no-application": _("a call of it returned {value}, which cannot be awaited"),
    "no-application-signature": _(
        "it cannot be called with scope, receive and send ({error}): if it makes an application,"
        " give --factory; if it is a two-callable (legacy) one, name what"
        " lifespec.double_to_single_callable makes of it"
    ),
    "middleware-raised": _(
        "called with an application, it raised {error}; middleware takes an application and returns"
        " one"
    ),
    "middleware-returned": _(
        "called with an application, it returned {value}; middleware takes an application and"
        " returns one"
    ),
    # what it sent
    "sent-when": _("It sent {event} {moment}."),
    "moment-called": _("before it received startup"),
    "moment-starting": _("while starting"),
    "moment-early": _("before it received startup"),
    "moment-running": _("while running"),
    "moment-failing": _("after lifespan.shutdown.failed"),
    "moment-stopping": _("while shutting down"),
    "moment-refused": _("after lifespan.startup.failed"),
    "moment-stopped": _("after it had answered shutdown"),
    "refused-answer": _("it sent {event} {moment}"),
    "no-event": _("{value} is no event"),
    "unknown-event": _("there is no event {event}"),
    "unknown-event-but": _("there is no event {event}, but {meant}"),
    "sent-not-in-spec": _("It sent {event}, which this specification does not have."),
    "message-no-text": _("the message is no string but {value}"),
    "key-at-startup": _("At startup it put the key {key} into the state."),
    "key-at-end": _("At the end the state has the key {key}."),
    "sent-nothing": _("It sent nothing."),
    "shutdown-unanswered": _("It did not answer shutdown."),
    "shutdown-answered-with": _("It answered shutdown with {event}."),
    "had-refused": _("The server had refused what it sent: {why}."),
    "no-failure": _("It sent no failure."),
    "state-empty": _("It put nothing into the state."),
    "it-raised": _("It raised {error}."),
    "it-returned": _("It returned."),
    "it-was-cancelled": _("It ended when it was cancelled."),
    "it-did-not-end": _("It did not end."),
    "it-sent": _("It sent {event}."),
    "it-called-receive": _("It called receive."),
    "did-nothing": _("It did nothing within {limit} s."),
    # the two sides of middleware
    "scope-not-passed": _("It does not pass the lifespan scope on. {instead}"),
    "answers-itself": _("It answers startup in the application's place."),
    "no-answer-in-time": _("It did not answer startup in time."),
    "scope-unreached": _("The lifespan scope did not reach the application."),
    "shutdown-not-sent": _(
        "Startup was not answered with complete, so the server did not send lifespan.shutdown."
    ),
    "startup-not-as-sent": _("lifespan.startup did not reach the application as it was sent."),
    "script-unfinished": _("The application did not come to the end of its script."),
    "same-scope": _("The application is called with each key of the server's scope."),
    "scope-keys-lost": _("Keys of the scope that did not reach the application as sent: {keys}."),
    "same-state": _("The application has the server's own state."),
    "app-has-no-state": _("The application's scope has no state."),
    "other-state": _(
        "The application has another object as its state, and what it writes there arrives in the"
        " server's."
    ),
    "state-lost": _("What the application writes into its state is not in the server's."),
    "app-request-without-state": _("The application was called for a request without a state."),
    "request-state-differs": _("The state of a request does not have the lifespan's values."),
    "request-has-state": _("The state of the request has the lifespan's values."),
    "request-answered": _(
        "The request did not reach the application: the middleware answered it with status"
        " {status}."
    ),
    "request-raised": _(
        "The request did not reach the application: the middleware raised {error}."
    ),
    "request-returned": _("The request did not reach the application: the middleware returned."),
    "request-not-made": _("There was no request."),
    "nothing": _("nothing"),
    "app-received": _("The application received {events}."),
    "keys-lost-to-app": _("Keys of {event} that did not reach the application as sent: {keys}."),
    "keys-lost-to-server": _("Keys of {event} that did not reach the server as sent: {keys}."),
    "answers-differ": _("The application sent {sent}; the server received {received}."),
    "message-lost": _("{event} reached the server without its message."),
    "server-received": _("The server received {events}."),
    "refusal-lost": _("The application sent an unknown event, and send did not raise."),
    "refusal-seen": _("send raised {error}."),
    "app-raised": _("The application raised {error}"),
    "app-returned": _("The application returned"),
    "same-end": _("{did}, and so did the middleware."),
    "other-end": _("{did}. The middleware: {end}"),
    "scope-changed": _("The server's scope was changed: {keys}."),
    "scope-unchanged": _("The server's scope is as it was."),
}
