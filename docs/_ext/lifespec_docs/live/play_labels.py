"""The words of the playground; their translations are those of `i18n.messages`."""

from __future__ import annotations

from lifespec_docs.live.labels import LABELS

__all__ = ["PLAY", "SAID", "TITLES", "TRY", "WHEN"]

# What play.js shows, by the name it has there.
PLAY = {
    "starts": "Starting program",
    "own": "Your program",
    "programs": "Programs",
    "run": "Run",
    "key": "Ctrl-Enter. The first run loads Python, about %s MB.",
    "loading": LABELS["loading"],
    "starting": LABELS["starting"],
    "running": LABELS["running"],
    "limit": LABELS["limit"],
    "failed": LABELS["failed"],
    "blocked": LABELS["blocked"],
    "advice": LABELS["advice"],
    "unloaded": LABELS["unloaded"],
    "ran": LABELS["edited"],
    "copy": "Copy link",
    "copied": "The link was copied. It holds the program and what the server does.",
    "link": "Copy the link from the address bar: it holds the program and what the server does.",
    "broken": "The address holds no program that can be read. Here is the first starting program.",
    "application": "Application",
    "server": "Server",
    "editor": "Program in Python, to be edited. Press Escape and then Tab to leave it.",
    "leave": "Tab indents. Press Escape and then Tab to leave the editor.",
    "spec": "Specification",
    "state": "Provide state",
    "strict": "Refuse to serve if lifespan is not supported (strict)",
    "startup_timeout": "Startup timeout",
    "shutdown_timeout": "Shutdown timeout",
    "grace": "Grace period",
    "none": "none",
    "seconds": "seconds",
    "requests": "Requests after startup",
    "serve": "Serve for",
    "cancel": "Cancel the server after",
    "moments": "Counted from its start. For several cancellations: 1 2",
    "fails": "The server raises OSError while it serves",
    "defaults": "Reset the server",
    "clock": "Times are virtual: a timeout of an hour takes no time.",
    "result": "Result",
    "hint": "Press Run. The program runs in your browser, and is sent nowhere.",
    "outcome": "Outcome: %s",
    "pending": "none yet",
    "served": "served",
    "unserved": "not served",
    "raises": "raises %s",
    "waits": "The server waits without end. No timer is pending, and every task waits:",
    "failure": "The program raised an exception.",
    "noapp": "The program defines no app, and ran no lifespan.",
    "sequence": "Message sequence",
    "shortened": "Only the first events are shown.",
    "validator": "Validator",
    "conforms": "The validator found nothing to report.",
    "unanswered": "not answered yet",
    "violation": "violation",
    "warning": "warning",
    "console": "Log and output",
    "silent": "Nothing was logged or printed.",
    "unavailable": "This browser lacks what the playground needs: WebAssembly and module workers.",
}
TRY = "Try it"  # beside each edge case
TITLES = (  # of starts.toml
    TRY,
    "Startup and shutdown",
    "A context manager with state, and a request",
    "A Starlette application",
    "Startup fails",
    "Shutdown takes longer than the server waits",
    "Mistakes that the validator reports",
)
# What the validator says that an application did, and the sentence with the moment in it.
SAID = {
    "sent %s, which %s does not have,": (
        "The application sent {what} {when}. {spec} does not have this event."
    ),
    "sent %s": "The application sent {what} {when}.",
    "put the key %s into the state": "The application put the key {what} into the state {when}.",
    "raised %s": "The application raised {what} {when}.",
    "returned": "The application returned {when}.",
}
WHEN = (
    "before startup was received",
    "while starting",
    "while running",
    "while shutting down",
    "after lifespan.startup.failed",
    "after shutdown was answered",
    "after the end of the call",
)
