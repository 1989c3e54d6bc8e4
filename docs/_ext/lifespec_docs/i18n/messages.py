"""The words that our own directives and templates put on a page, in the page's language.

Their catalog is `locales/<language>/LC_MESSAGES/lifespec.po`; `messages()` is what belongs in it.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import polib

from lifespec.conformance import cases, i18n, language
from lifespec_docs.diagrams import drawing, event_log
from lifespec_docs.live.labels import LABELS, OBSTACLES
from lifespec_docs.live.play_labels import PLAY, SAID, TITLES, WHEN
from lifespec_docs.records.observed import ENDINGS, OBSERVED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sphinx.environment import BuildEnvironment

__all__ = [
    "CATALOG",
    "HINT",
    "MESSAGES",
    "UnlistedWordError",
    "hints",
    "messages",
    "of_reports",
    "words",
]

CATALOG = "lifespec"

MESSAGES = (
    "must",
    "must not",
    "should",
    "should not",
    "may",
    "lifespec's choice",
    "server",
    "application",
    "rule",
    "lifespec's behaviour",
    "not specified",
    "Not specified by %s",
    "Not specified by any of the five specifications",
    "all five specifications",
    "Source: %s",
    "In all five specifications: %s",
    "Not in %s",
    "%s, which follow %s",
    "%s, %s",
    " and ",
    "; ",
    "the main specification of %s",
    "main specification",
    "Property",
    "lifespan %s (ASGI)",
    ", ",
    "%s: %s",
    "Rule",
    "Reported as",
    "Checked by",
    "cannot be observed",
    "What happens",
    "Outcome",
    "What Lifespan does",
    "Log",
    "Decided by",
    "served",
    "not served",
    "raises %s",
    "with traceback",
    "%s, adopted",
    "Not run here, for want of %s. The output was recorded.",
    "waiting for a translation",
    "Download the programs of this page as one file. It runs in real time.",
    "This page in another language",
    "Key",
    "Value",
    "In the scope",
    "always",
    "optional",
    "versions under",
    "Event",
    "Sent by",
    "Other keys",
    "%s, by default %s",
    "Example",
    "Process and event loop",
    "The call and its scope",
    "Startup",
    "Startup failed",
    "Lifespan is not supported",
    "Requests and state",
    "The application ends early",
    "Shutdown",
    "Events in general",
    "Middleware",
    "%s second",
    "%s seconds",
    "What is measured",
    "Time",
    "Memory",
    "Ratio",
    "Time of each as a multiple of the first",
    "floor",
    "inline",
    "%s at once",
    "%s at once, with garbage collection",
    "%s applications",
    "without validator",
    "with validator",
    "%s bytes",
    "Measured on %s: %s; %s.",
    "File",
    "Mutants",
    "Tried",
    "Noticed",
    "Noticed in English",
    "Noticed in Chinese",
    "Equivalent",
    "Survived",
    "(tables)",
    "Measured with %s.",
    "Page",
    "Examples",
    "Can run in a browser",
    "Same output in English",
    "Same output in Chinese",
    "The application",
    "Raised",
    "Raised under strict",
    "sent",
    " or ",
    "%s before it answered startup",
    "%s after startup and before it answered shutdown",
    "returned",
    "raised",
    "did not answer within the timeout",
    "was cancelled with the server",
    "Exit status",
    "Meaning",
    "The command was carried out. In a check, every MUST was kept",
    "A check found a MUST that was not kept",
    "The command could not be carried out. A sentence on standard error says why",
    "Interrupted by SIGHUP",
    "Interrupted by Ctrl-C",
    "Interrupted by SIGTERM",
    "Kind",
    "In English alone",
    "In Chinese alone",
    "In both languages",
    "All",
    "In rule boxes",
    "A default",
    "Before and after",
    "A negation",
    "A name",
    "A number",
    "A level",
    "Server and application",
    "An outcome",
    "An exit status",
    "Actions",
    "Applications",
    "With behaviour of their own",
    "Points to stop at, at most",
    "Runs",
    "Differences",
    "Implementation",
    "As specified",
    "Not specified",
    "Differs",
    "Does not end",
    "Case",
    "Test suite",
    "Passed",
    "Failed",
    "Skipped",
    "%s, its own code",
    "%s with server.py",
    "not yet measured",
    "Server",
    "Serves requests",
    "Ends on Ctrl-C",
    "no line",
    "Yes",
    "No",
    "middleware",
    "Only differences",
    "Only FAIL, WARN and INFO",
    "Only what has changed",
    "%s of %s rows",
    "Rows",
    "Part of a lifespan",
    "Show all",
    "Test client or adapter",
    "before: %s",
    "Compared with the record of %s",
    "the verdicts are the same",
    "Cases",
    "Results of servers",
    "Since",
    "Workaround",
    "Issue",
    "run on %s",
    "The protocol",
    "The application is called, asked to start, serves, and is asked to stop.",
    "requests",
    "each with a copy of the state",
    "Who has a lifespan",
    "Each event loop that serves has one, in a process or in a thread of its own.",
    "parent process",
    "serves nothing: no startup",
    "worker process %s",
    "one process, two threads",
    "thread %s",
    "event loop",
    "startup",
    "shutdown",
    "How a server ends, in the order of time",
    "the signal",
    "New connections: accepted until the signal",
    "Idle connections: closed at once",
    "Open requests: answered, or cancelled at a timeout",
    "The application: cleans up when the last is closed",
    "The process: ends when shutdown is answered",
    "Type words, an error message or a log line. Or start here:",
    "Nothing was found. Start here:",
    "Pages found: %s.",
    "None of them has all words of the query.",
    "Not on this page: %s",
    "Log line or exception",
    "From",
    "Explained in",
    "Next and previous page",
    "Copy",
    "Copied",
    "Version %s",
    "Built on %s",
    "Licence %s",
    "Source code",
    "Edit this page",
    "The whole specification in one file, as plain text",
)

HINT = "Usual cause and fix"
HINT_OF_MIDDLEWARE = "Usual cause and fix in middleware"


class UnlistedWordError(LookupError):
    """A page asks for a word that is not in MESSAGES: no catalog could hold it."""


@lru_cache(maxsize=1)
def messages() -> tuple[str, ...]:
    """All English strings of the catalog, in order, each once."""
    found = (*MESSAGES, *event_log.LABELS, *drawing.LABELS, *LABELS.values(), *OBSTACLES.values())
    playground = (*PLAY.values(), *TITLES, *SAID.values(), *WHEN)
    observed = (*OBSERVED, *ENDINGS, "%s.")
    return tuple(dict.fromkeys((*found, *playground, *observed, *_of_the_suite())))


def _of_the_suite() -> Iterator[str]:
    """Yield the sentences of the cases and of their vocabulary, and the words of reports."""
    yield from (case.says for case in cases.load())
    yield from language.KEYS.values()
    for table in (language.VERBS, language.DOINGS, language.PHRASES):
        yield from (row.says for row in table.values())
    yield from i18n.WORDS
    yield from (text for found in hints().values() for _, *texts in found for text in texts)


def hints(catalogs: Path | None = None) -> dict[str, list[tuple[str, str, str]]]:
    """Return the hints of each rule: role or "", heading, text; by the catalogs of a language."""
    known = _of_catalog(catalogs) if catalogs else {}
    found: dict[str, list[tuple[str, str, str]]] = {}
    for rule_id, rule in cases.rules().items():
        told = [("", HINT, rule.hint), ("middleware", HINT_OF_MIDDLEWARE, rule.hint_middleware)]
        found[rule_id] = [
            (role, known.get(head, head), known.get(text, text))
            for role, head, text in told
            if text
        ]
    return found


@lru_cache(maxsize=4)
def _translations(path: Path, _modified: int) -> dict[str, str]:
    return {entry.msgid: entry.msgstr for entry in polib.pofile(str(path)) if entry.msgstr}


def of_reports(catalogs: Path) -> dict[str, str]:
    """Return the words of the suite's reports, from the catalogs of a language."""
    known = _of_catalog(catalogs)
    return {word: known.get(word, word) for word in i18n.WORDS}


def _of_catalog(catalogs: Path) -> dict[str, str]:
    path = catalogs / f"{CATALOG}.po"
    return _translations(path, path.stat().st_mtime_ns)


def words(env: BuildEnvironment) -> Callable[[str], str]:
    """Translate a word of ours into the language of this build.

    A word without a translation stays English: the check of the catalogs reports it.
    """
    known = dict.fromkeys(messages(), "")
    for folder in env.config.locale_dirs:
        path = Path(env.srcdir, folder, env.config.language, "LC_MESSAGES", f"{CATALOG}.po")
        if path.exists():
            known |= _translations(path, path.stat().st_mtime_ns)

    def translate(message: str) -> str:
        if message not in known:
            raise UnlistedWordError(f"{message!r} is not listed in MESSAGES of i18n.messages.")
        return known[message] or message

    return translate
