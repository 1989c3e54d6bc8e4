"""What the suite observed, in the language of the reader.

A finding holds the sentences as the suite wrote them, in English.  `OBSERVED` has their patterns,
which the catalogs translate: %s stands for a name, a number, a text that somebody printed, or one
of `ENDINGS`.  A sentence that follows none of them stays as it is.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from lifespec.conformance.words import mark as _

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ENDINGS", "OBSERVED", "translated"]

# How a process or an application ended, or what it did, within a sentence or as one
ENDINGS = (
    _("the process was still there %s s later"),
    _("the process ended with status %s after %s s"),
    _("the process ended with status %s"),
    _("the process ended by signal %s after %s s"),
    _("the process ended by signal %s"),
    _("it was still there %s s later"),
    _("it raised to the caller after %s s"),
    _("it raised to the caller"),
    _("it ended after %s s"),
    _("it ended"),
    _("startup was answered with complete"),
    _("startup was answered with failed"),
    _("startup was answered with failed: %s"),
    _("startup was not answered within %s s: %s"),
    _("startup was not answered: %s"),
    _("shutdown was answered with complete"),
    _("shutdown was answered with failed"),
    _("shutdown was answered with failed: %s"),
    _("shutdown was not answered within %s s: %s"),
    _("shutdown was not answered: %s"),
    _("it returned"),
    _("it raised %s"),
    _("it obeyed its cancellation"),
    _("it did not end"),
    _("it was waiting for another event"),
    _("it was waiting for another event in %s"),
    _("it blocked the event loop"),
    _("it blocked the event loop in %s"),
    _("it had not received the event"),
    _("it was still running"),
    _("it was in %s"),
    _("there is no event %s, but %s"),
    _("there is no event %s"),
    _("%s is no event"),
    _("startup was already answered when it sent %s"),
    _("shutdown was already answered when it sent %s"),
    _("shutdown was not asked for yet when it sent %s"),
    _("`message` is no string but %s"),
    _("the process was killed"),
)
OBSERVED = (
    _("This comes from %s (%s), not from your code."),
    _("It does not support lifespan."),
    _("It does not support lifespan: on the scope %s."),
    _("It does not support lifespan: when it had received startup %s."),
    _(
        "%s It had received lifespan.startup. In production every server serves it all the same,"
        " without its startup: to prevent that, it sends lifespan.startup.failed."
    ),
    _("It does not start: see %s."),
    _("Not run: another case failed before."),
    _("It sent nothing."),
    _("It sent no failure."),
    _("It did not answer shutdown."),
    _("It put nothing into the state."),
    _("It called receive."),
    _("It did nothing within %s s: %s."),
    _("At the end the state had the key %s."),
    _("The server had refused what it sent: %s"),
    _("It answered shutdown with %s."),
    _("it does not start: %s."),
    _("The application put the key %s into the state while starting."),
    _("The application returned while shutting down."),
    _("The application sent %s before startup was received."),
    _("The application sent %s while starting."),
    _("The application sent %s while running."),
    _("The application sent %s while shutting down."),
    _("The application sent %s after lifespan.startup.failed."),
    _("The application sent %s after shutdown was answered."),
    _("It sent %s."),
    _("As without it: %s."),
    _("Without it: %s. With it: %s."),
    _("The events were: %s."),
    _("It did not wait; %s."),
    _("It waited for %s s; %s."),
    _("A request came after shutdown."),
    _("A request was answered after shutdown had come."),
    _("The call was broken off before."),
    _("The call was broken off while the server served."),
    _("No request reached the application."),
    _("No request was answered."),
    _("No request was answered afterwards."),
    _("Shutdown was not received."),
    _("%s request came after startup.failed; %s."),
    _("%s requests came after startup.failed; %s."),
    _("%s request came before startup was answered."),
    _("%s requests came before startup was answered."),
    _("%s request came before startup was answered. The server ended startup after %s s."),
    _("%s lifespans, %s process that served."),
    _("A key that one request set came with another."),
    _("A request had no state."),
    _("A request had the state itself, not a copy."),
    _("A request on the connection was not answered: %s."),
    _("A test client or adapter gets no signal."),
    _("A test client or adapter has no connections."),
    _("A test client or adapter has no exit status of its own."),
    _("A test client or adapter listens on no port."),
    _("A test client or adapter runs in one process."),
    _("A test client is not told to stop while it starts."),
    _(
        "After shutdown had come, clients could connect, as the socket still listened; a request"
        " was not answered."
    ),
    _("At shutdown the state was %s."),
    _("Each request has a lifespan of its own, which ends with it."),
    _("It could not be told to stop; %s."),
    _("It did not come."),
    _("It did not look for a message; %s."),
    _("It found the port in use before it called the application."),
    _("It has no port of its own."),
    _("It is not in the output."),
    _("It raised to the caller: %s"),
    _("It was not served; %s. It was started with %s, which demands lifespan support."),
    _("It was not served; %s."),
    _("It waited still after %s s."),
    _("It waited; %s."),
    _("It was served."),
    _("KeyError: the server reads the message."),
    _("No event came afterwards."),
    _("Not judged, because startup-sent failed."),
    _("Not run: the command has no {workers}, and --workers was not given."),
    _("Only a task that the application had left behind received %s."),
    _("Requests had the state itself, and have changed it."),
    _("Shutdown came %s times; %s."),
    _("Shutdown came once; %s."),
    _(
        'Step %s, "%s", was not reached. The application has not come so far: the last of it is'
        ' "%s".'
    ),
    _("The application was not served; %s."),
    _("The caller makes the requests and decides when they end."),
    _("The caller waits for the response before it ends the lifespan."),
    _("The output says: %s"),
    _("The process ended with status %s: a supervisor notices the failure."),
    _("The port is the broker's: the server listens on none."),
    _("The scope has the asgi None."),
    _("Startup was completed, and the server answered no request."),
    _("The server closed the connection after a request."),
    _("The server did not open a WebSocket: its status was %s."),
    _("The server ended clean-up after %s s; %s."),
    _("The server ended startup after %s s; %s."),
    _("The server calls the application with no lifespan scope: no lifespan took place."),
    _("The server offers no state."),
    _("The servers that use it copy the state."),
    _("asgi is %s."),
    _("send has raised %s"),
    _("send has returned. It raised to the caller: %s"),
    _("send has returned."),
    _("It does not pass the lifespan scope on: it answers startup in the application's place."),
    _("It does not pass the lifespan scope on: it did not answer startup within the timeout."),
    _("It does not pass the lifespan scope on: it returned."),
    _("It does not pass the lifespan scope on: it raised %s."),
    _("The application did not come to the end of its script."),
    _("The lifespan scope did not reach the application."),
    _("lifespan.startup did not reach the application as it was sent."),
    _("Startup was not answered with complete, so the server did not send lifespan.shutdown."),
    _("The application is called with each key of the server's scope."),
    _("The application has the server's own state."),
    _("The application's scope has no state."),
    _(
        "The application has another object as its state, and what it writes there arrives in the"
        " server's."
    ),
    _("What the application writes into its state is not in the server's."),
    _("The application was called for a request without a state."),
    _("The state of a request does not have the lifespan's values."),
    _("The state of the request has the lifespan's values."),
    _("The request did not reach the application: the middleware answered it with status %s."),
    _("The request did not reach the application: the middleware raised %s."),
    _("The request did not reach the application: the middleware returned."),
    _("There was no request."),
    _("The application received nothing."),
    _("The application received %s."),
    _("The application sent %s; the server received nothing."),
    _("The application sent %s; the server received %s."),
    _("The application sent an unknown event, and send did not raise."),
    _("The server received %s."),
    _("%s reached the server without its message."),
    _("send raised %s."),
    _("The application returned, and so did the middleware."),
    _("The application raised %s, and so did the middleware."),
    _("The application returned; the middleware raised %s."),
    _("The application returned; the middleware did not end."),
    _("The application raised %s; the middleware raised %s."),
    _("The application raised %s; the middleware returned."),
    _("The application raised %s; the middleware did not end."),
    _("The server's scope was changed: %s."),
    _("The server's scope is as it was."),
    _("These keys of the scope did not reach the application as they were sent: %s."),
    _("These keys of %s did not reach the application as they were sent: %s."),
    _("These keys of %s did not reach the server as they were sent: %s."),
)


def translated(sentence: str, translate: Callable[[str], str]) -> str:
    """Return a sentence in the language of the reader, "" if it follows no known pattern."""
    for pattern in OBSERVED:
        if found := _regex(pattern).fullmatch(sentence):
            return _filled(pattern, found, translate)
    said = sentence.removesuffix(".")
    parts = [_ending(part, translate) for part in f"{said[:1].lower()}{said[1:]}".split("; ")]
    if not all(parts):
        return ""
    whole = translate(_("; ")).join(parts)
    return whole if said == sentence else translate(_("%s.")) % f"{whole[:1].upper()}{whole[1:]}"


def _ending(part: str, translate: Callable[[str], str]) -> str:
    for pattern in ENDINGS:
        if found := _regex(pattern).fullmatch(part):
            return _filled(pattern, found, translate)
    return ""


def _filled(pattern: str, found: re.Match[str], translate: Callable[[str], str]) -> str:
    parts = (
        _ending(part, translate) or translated(part, translate) or part for part in found.groups()
    )
    text = translate(pattern)
    return text % tuple(parts) if "%" in pattern else text


@cache
def _regex(pattern: str) -> re.Pattern[str]:
    return re.compile(re.escape(pattern).replace("%s", "(.+?)"), re.DOTALL)
