"""The words that our own directives and templates put on a page, in the page's language.

Their catalog is `locales/<language>/LC_MESSAGES/lifespec.po`; `messages()` is what belongs in it.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import polib
from babel.messages.extract import extract_from_dir

from lifespec.conformance import cases, language, rules
from lifespec.conformance.words import translator
from lifespec_docs.diagrams import drawing, event_log
from lifespec_docs.i18n.catalogs import Message
from lifespec_docs.live.labels import LABELS, OBSTACLES
from lifespec_docs.live.play_labels import PLAY, SAID, TITLES, WHEN
from lifespec_docs.rules import steps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sphinx.environment import BuildEnvironment

__all__ = [
    "CATALOG",
    "MESSAGES",
    "UnlistedWordError",
    "messages",
    "package_messages",
    "sentences",
    "words",
]

CATALOG = "lifespec"

MESSAGES = (
    "lifespec's choice",
    "Not specified by %s",
    "Not specified by any of the five specifications",
    "Source: %s",
    "In all five specifications: %s",
    "Not in %s",
    "%s, which follow %s",
    "the main specification of %s",
    "Property",
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
    "This statement is checked: show how",
    "waiting for a translation",
    "Download the programs of this page as one file, in which each wait takes its time.",
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
    "Measured before the last change of %s.",
    " (before the last change of %s)",
    "the programs of the pages",
    "the text of the pages",
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
    "Result",
    "Exit status",
    "Strict",
    "Every MUST was kept, or another command was carried out",
    "The application starts and stops, and every MUST was kept",
    "A SHOULD was missed",
    "The framework of the application misses a SHOULD",
    "The application returns or raises when it is called: it does not support lifespan",
    "The application raises after it has received lifespan.startup, and is served all the same",
    "The application returns after startup, before it receives lifespan.shutdown",
    "A MUST was broken",
    "The application does not stop: it hangs, crashes, ends its process, or its clean-up fails",
    "The application does not start: its startup fails, hangs, or ends its process",
    "No lifespan took place, because the server does not support it",
    "The command could not be carried out. A sentence on standard error says why",
    "Interrupted by SIGHUP",
    "Interrupted by Ctrl-C",
    "Interrupted by SIGTERM",
    "Kind",
    "In Chinese alone",
    "In both languages",
    "All",
    "In rule boxes",
    "Outside rule boxes",
    "A default",
    "Before and after",
    "A negation",
    "The name of something else",
    "A name that does not exist",
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
    "Startup failed",
    "Startup failed, two workers",
    "Shutdown failed",
    "Shutdown failed, two workers",
    "No failure",
    "signal %s",
    "still running",
    "Serves requests",
    "Sends shutdown",
    "Ends",
    "With two workers",
    "Option",
    "Waits by default",
    "Then cancels the request",
    "Then sends shutdown",
    "until they end",
    "%s s",
    "no line",
    "Yes",
    "No",
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
    "Application",
    "Called with a lifespan, it",
    "A hook raises at startup",
    "Then the call",
    "Opened resources are closed",
    "A hook raises at shutdown",
    "The others are closed",
    "During startup",
    "It sends",
    "While serving",
    "During shutdown",
    "Startup waits for the hooks",
    "All hooks run in one task",
    "Context variables are kept",
    "Sets the state",
    "Starts again after shutdown",
    "Without `state` in the scope",
    "A request without lifespan",
    "Shutdown comes first",
    "Another event comes first",
    "Another scope type",
    "`complete`",
    "`complete`, but no hook runs",
    "`failed` with the traceback",
    "`failed` with the text of the exception",
    "`failed` without a message",
    "`failed`: `%s`",
    "raises `%s`",
    "sends `%s`",
    "status %s",
    "returns",
    "waits",
    "starts",
    "cleans up",
    "ignores it",
    "no answer",
    "when the event loop closes",
    "Yes, and so is the one that failed",
    "What happened",
    "usual",
    "startup raises",
    "shutdown raises",
    "startup is cancelled",
    "shutdown is cancelled",
    "serving is cancelled",
    "no state",
    "no lifespan",
    "twice",
    "shutdown first",
    "other event first",
    "other scope",
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


class UnlistedWordError(LookupError):
    """A page asks for a word that is not in MESSAGES: no catalog could hold it."""


@lru_cache(maxsize=1)
def messages() -> tuple[str, ...]:
    """All English strings of the catalog, in order, each once."""
    found = (*MESSAGES, *event_log.LABELS, *drawing.LABELS, *LABELS.values(), *OBSTACLES.values())
    playground = (*PLAY.values(), *TITLES, *SAID.values(), *WHEN)
    return tuple(dict.fromkeys((*found, *playground, *steps.texts())))


@lru_cache(maxsize=1)
def package_messages() -> dict[str, tuple[Message, ...]]:
    """Return what the catalogs of the package translate, by their names."""
    said = (*_marked(), *_of_the_cases())
    report = tuple(Message(text, 1, "word") for text in dict.fromkeys(said))
    sentences = {text: Message(text, line, kind) for text, line, kind in rules.messages()}
    return {"report": report, "rules": tuple(sentences.values())}


def _marked() -> Iterator[str]:
    """Yield the words that the modules of the package mark, in their order."""
    keywords = {"_": None, "word": None}
    folder = Path(rules.__file__).parent
    for _file, _line, text, _comments, _context in extract_from_dir(
        folder, method_map=[("**/probe.py", "ignore"), ("**.py", "python")], keywords=keywords
    ):
        yield text if isinstance(text, str) else text[0]


def _of_the_cases() -> Iterator[str]:
    """Yield the sentences of the cases and of their vocabulary."""
    yield from (case.says for case in cases.load())
    yield from language.KEYS.values()
    for table in (language.VERBS, language.DOINGS, language.PHRASES):
        yield from (row.says for row in table.values())


@lru_cache(maxsize=4)
def _translations(path: Path, _modified: int) -> dict[str, str]:
    return {entry.msgid: entry.msgstr for entry in polib.pofile(str(path)) if entry.msgstr}


def sentences(env: BuildEnvironment) -> Callable[[str], str]:
    """Translate a sentence of a rule into the language of this build."""
    return translator("zh" if env.config.language == "zh_CN" else "en")


def words(env: BuildEnvironment) -> Callable[[str], str]:
    """Translate a word of ours into the language of this build.

    A word without a translation stays English: the check of the catalogs reports it.
    """
    of_package = (each.text for found in package_messages().values() for each in found)
    known = dict.fromkeys((*messages(), *of_package), "")
    known |= {text: sentences(env)(text) for text in known}
    for folder in env.config.locale_dirs:
        path = Path(env.srcdir, folder, env.config.language, "LC_MESSAGES", f"{CATALOG}.po")
        if path.exists():
            known |= _translations(path, path.stat().st_mtime_ns)

    def translate(message: str) -> str:
        if message not in known:
            raise UnlistedWordError(f"{message!r} is not listed in MESSAGES of i18n.messages.")
        return known[message] or message

    return translate
