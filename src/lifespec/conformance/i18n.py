"""The words of a report in the reader's language: verdicts, requirements, what is expected.

English words are their own keys, marked by `_(...)` or given to `word(...)` where they are used.
Babel collects them into report.zh.po, and rules.zh.po has the sentences of the rules.
"""

from __future__ import annotations

import functools
import re

from lifespec.conformance import explain
from lifespec.conformance.observed import translated
from lifespec.conformance.rules import names, rules
from lifespec.conformance.words import mark as _
from lifespec.conformance.words import translator

__all__ = [
    "CAUSES",
    "ENGLISH",
    "FIND_LIFESPAN",
    "GIVE_LIFESPAN",
    "LEFT_OUT",
    "NO_CHANGE",
    "STARTS",
    "START_ADVICE",
    "STOPS",
    "STOP_ADVICE",
    "Wording",
    "wording",
]

# How an application starts and stops, by what came of the event; %s is a detail.
STARTS = {
    "complete": _("yes"),
    "failed": _("no, its startup failed: %s"),
    "raised": _("without lifespan: it raised %s when it was called with the scope"),
    "raised late": _("without its startup: it raised %s after it had received lifespan.startup"),
    "returned": _("without lifespan: it returned when it was called with the scope"),
    "returned late": _("without its startup: it returned without an answer to lifespan.startup"),
    "refused": _("no, the suite refused what it sent: %s"),
    "exited": _("no, it ended the process at startup: %s"),
    "hung": _("no, not within %s s; %s"),
    "silent": _("no, not within %s s; %s"),
    "killed": _("no, its process did not end by itself and was killed: %s"),
}
STOPS = {
    "complete": _("yes"),
    "failed": _("no, its clean-up failed: %s"),
    "failed early": _("no, it failed before it received lifespan.shutdown: %s"),
    "raised": _("no, it raised %s after it had received lifespan.shutdown"),
    "raised early": _("no, it raised %s before it received lifespan.shutdown"),
    "returned": _("no, it returned without an answer to lifespan.shutdown"),
    "returned early": _("without clean-up: it returned before it received lifespan.shutdown"),
    "exited": _("no, it ended the process at shutdown: %s"),
    "exited early": _("no, it ended the process before it received lifespan.shutdown: %s"),
    "hung": _("no, not within %s s; %s"),
    "silent": _("no, not within %s s; %s"),
    "killed": _("no, its process did not end by itself and was killed: %s"),
    "refused": _("no, the suite refused what it sent: %s"),
}
NO_CHANGE = _("no change needed")
BLOCKS = _("Find the call that blocks the process, and give it a timeout.")
CLEAN_UP_FAILS = _("Correct the error in its clean-up.")
CRASHES = _("Correct the error that ended it while it was running.")
# what to change if it does not start, by how that went
START_ADVICE = {
    "hung": _(
        "Find out what its startup waits for, and start that service or mend the code. A"
        " timeout of its own lets startup fail with a message."
    ),
    "exited": _(
        "Find out what ends the process. To prevent a start, send lifespan.startup.failed."
    ),
    "killed": BLOCKS,
}
STOP_ADVICE = {  # the same if it does not stop
    "failed": CLEAN_UP_FAILS,
    "raised": CLEAN_UP_FAILS,
    "failed early": CRASHES,
    "raised early": CRASHES,
    "returned early": _("To run clean-up, wait for lifespan.shutdown before it returns."),
    "exited": _("Find out what ends the process: clean-up should return instead."),
    "exited early": _("Find out what ends the process while the application is running."),
    "hung": _(
        "Its clean-up does not end: cancel what it waits for, or give it a timeout of its own."
    ),
    "killed": BLOCKS,
}
CAUSES = {  # of a failed startup, and what to do
    "": _("Correct what its message says, and check it again."),
    "service": _("Start the service that its startup connects to, and check it again."),
    "code": _("Correct the code that raised this, or what it reads, and check it again."),
}
GIVE_LIFESPAN = _(
    "If it should do something at startup, give it a lifespan:"
    " `app = lifespec.with_lifespan(app, lifespan)`."
)
FIND_LIFESPAN = _(
    "If it should support lifespan: find the middleware that drops the scope, or the"
    " application in which the one with the lifespan is mounted."
)
LEFT_OUT = _("Slow cases that were left out: %s (%s). Run them with --slow.")


class Wording:
    """The words of a report in one language."""

    def __init__(self, language: str = "en") -> None:
        self.language, self.translate = language, translator(language)

    def word(self, english: str, *parts: str) -> str:
        """Return a word, or a sentence with its parts in place."""
        text = self.translate(english)
        # a full-width bracket, with which some names of specifications end, has its own space
        return (text % parts if parts else text).replace("） ", "）")

    def title(self, spec: str) -> str:
        """Return the name of a specification."""
        return names([spec], self.translate)

    def requirement(self, english: str, rule_id: str, spec: str) -> str:
        """Return what a rule wants in a case, and which specification says so."""
        if self.language == "en":
            return english
        rule, name = rules()[rule_id], self.title(spec)
        sentence = rule.says(spec, self.translate)
        level = rule.level(spec)
        if not level:
            return self.word("%s (%s, %s)", sentence, self.word("not specified"), name)
        if english.endswith("does not specify this case)"):
            return self.word("%s (%s does not specify this case)", sentence, name)
        return self.word("%s (%s, %s)", sentence, self.word(level), name)

    def expected(self, english: str) -> str:
        """Return what was to be seen; what follows a colon is the case's own."""
        said, _colon, argument = english.partition(": ")
        if argument and self.translate(english) == english and self.translate(said) != said:
            return self.word("%s: %s", self.word(said), argument)
        return self.word(english)

    def seen(self, english: str) -> str:
        """Return what was observed; in English if it follows no known pattern."""
        found = "" if self.language == "en" else translated(english, self.word)
        return found or english

    def drawn(self, english: str) -> str:
        """Return the diagram of a message sequence; its lines stay as wide as they are."""
        return "\n".join(map(self._line, english.split("\n")))

    def _line(self, line: str) -> str:
        """Return a line of a diagram with our words in it, as wide as it was."""
        if found := _DETAIL.fullmatch(line):
            return found[1] + self.seen(found[2])
        for pattern in _DRAWN:
            if found := pattern.fullmatch(line):
                parts = [self.word(part) if part in _WORDS else part for part in found.groups()]
                spare = explain.columns(line) - explain.columns("".join(parts))
                room = found["room"]
                parts[found.re.groupindex["room"] - 1] = room[-1] * (len(room) + spare)
                return "".join(parts)
        return line

    def page(self, name: str, title: str) -> str:
        """Return where a page is: its address if the site has one, else its title."""
        if explain.base():
            return f"{explain.site(self.language)}{name}"
        return self.word('"%s"', self.word(title))

    def hint(self, rule_id: str, role: str) -> str:
        """Return what the author of that role can do if the rule is broken, or ""."""
        return self.translate(rules()[rule_id].hint_for(role))

    def address(self, rule_id: str) -> str:
        """Return where the page of a rule is: a URL, or a path on the site."""
        return explain.address(rules()[rule_id], self.language)


# Lines of a diagram: our words in them, and the room between them, which is filled.
_WORDS = _("server"), _("application"), _("middleware"), _("cancelled"), _("returned"), _("raised")
_DRAWN = (
    re.compile(r"( +)(server)(?P<room> +)(application|middleware)"),
    re.compile(r"(.{11}\|-- )(cancelled)( )(?P<room>-+)(>.)"),
    re.compile(r"(.{11}\|)(?P<room> +)(returned|raised)( .*)"),
)
_DETAIL = re.compile(r"( {11}\|  )(\S.*)")

ENGLISH = Wording()


@functools.cache
def wording(language: str) -> Wording:
    """Return the words of a language; raise Unchecked if this installation lacks them."""
    return ENGLISH if language == "en" else Wording(language)
