"""What the playground knows of recorded servers and test clients: rows of docs/matrix.

The sentences of a record say what was seen in each case. Of these and of the log lines, `rows`
makes what `imitation` needs to do the same, and what a page shows of it; no row is typed by hand.
"""

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from lifespec.conformance import cases
from lifespec.conformance.observed import translated
from lifespec.conformance.words import mark as _
from lifespec.validate import lifespan_scope
from lifespec_docs.facts import recorded
from lifespec_docs.live.imitation import CASES, LOGGED, SAID
from lifespec_docs.records.record import Record, Subject

Translate = Callable[[str], str]

__all__ = ["GROUPS", "rows"]

GROUPS = {"servers": _("Servers"), "drivers": _("Test clients and adapters")}
SERVED = re.compile(r"It was served|[1-9]\d* requests? came (?:after|before)")
NOT_SERVED = re.compile(
    r"was not served|\b0 requests came after|t raised to the caller|ended startup"
)
ENDED = re.compile(r"\bended startup after (\d+) s|\bended clean-up after (\d+) s")
SHOWN = {"well-behaved": ("scope-versions", "shutdown-sent")}  # of what goes without saying
STATUS = re.compile(r"process ended with status (\d+(?: \(\w+\))?)")
SENT = re.compile(r"send has (?:returned|raised (\w+): ?(.*))", re.DOTALL)
VERSIONS = re.compile(r"asgi is (.*)\.")
OUTPUT = re.compile(r"The output says: (?:\W*\w+\.)*(\w+): (.*)")
FAILED = "failed-with-message"
STARTUP, SHUTDOWN = "very-slow-start", "very-slow-shutdown"


def rows(root: Path, translate: Translate) -> dict[str, dict[str, Any]]:
    """Return each server and test client of the records, by its name in addresses."""
    found = {}
    lines = _log_lines(root)
    for name, group in GROUPS.items():
        data = recorded.read(root, name)
        for subject in Record(name, data).subjects:
            about = {
                "title": f"{subject.name} {subject.release}",
                "group": translate(group),
                "on": [data["date"], data["python"], data["system"]],
                "stale": recorded.named(recorded.changed(root, name), translate),
                "logs": lines.get(subject.command, {}),
            }
            found[subject.key] = about | _row(subject, translate)
    return found


def _row(subject: Subject, translate: Translate) -> dict[str, Any]:
    """Return what a subject did, by case."""
    seen: dict[str, list[str]] = {name: [] for name in CASES}
    shown: dict[str, list[tuple[str, str, str]]] = {}
    for each in subject.findings:
        if each.case in seen:
            seen[each.case].append(each.actual)
            sentence = translated(each.actual, translate) or each.actual
            told = {said for _, _, said in shown.setdefault(each.case, [])}
            if sentence not in told and each.rule in SHOWN.get(each.case, (each.rule,)):
                shown[each.case].append((each.verdict, each.rule, sentence))
    limits = [ENDED.search(" ".join(seen[case])) for case in (STARTUP, SHUTDOWN)]
    return {
        "scope": _scope(subject) if subject.has_lifespan else None,
        "limits": [float(found[1] or found[2]) if found else None for found in limits],
        "serves": {case: did for case in seen if (did := _serves(seen[case])) is not None},
        "sends": _sends(seen),
        "silent": [case for case in seen if "came 0 times" in " ".join(seen[case])],
        "exits": {case: found for case in seen if (found := _exit(seen[case], translate))},
        "shown": shown,
    }


def _scope(subject: Subject) -> dict[str, Any]:
    """Return the scope as the record has it: its versions, and whether there was state."""
    seen = {each.rule: each.actual for each in subject.findings if each.case == "well-behaved"}
    versions = VERSIONS.fullmatch(seen["scope-versions"])
    scope = lifespan_scope("asgi 2.0", state="state was" in seen["scope-state"])
    asgi = {"asgi": ast.literal_eval(versions[1])} if versions else {}
    return {key: value for key, value in scope.items() if key != "asgi"} | asgi


def _serves(seen: Iterable[str]) -> bool | None:
    """Tell whether it served in a case; None if the record does not say."""
    text = " ".join(seen)
    if SERVED.search(text):
        return True
    return False if NOT_SERVED.search(text) else None


def _exit(seen: Iterable[str], translate: Translate) -> str:
    """Return the exit status of the process."""
    found = STATUS.search(" ".join(seen))
    return translate("exit status %s") % found[1] if found else ""


def _sends(seen: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, str] | None]:
    """Return what `send` raised in a case, as class and text, or None if it returned.

    Where an application that catches what `send` raises after startup.failed is served, and one
    that does not is not, `send` raised what the output says.
    """
    sends: dict[str, tuple[str, str] | None] = {}
    for case, sentences in seen.items():
        for found in filter(None, map(SENT.match, sentences)):
            sends[case] = _error(case, *found.groups()) if found[1] else None
    if _serves(seen["failed-whatever-send-raises"]) and _serves(seen[FAILED]) is False:
        for found in filter(None, map(OUTPUT.match, seen[FAILED])):
            sends[FAILED] = sends["failed-without-message"] = _error(FAILED, *found.groups())
    return sends


def _error(case: str, name: str, text: str) -> tuple[str, str]:
    """Return class and text of an error, with SAID in the place of what the suite has sent."""
    script = next(each.script for each in cases.load() if each.name == case)
    for action in script:
        said = action.keys.get("message") or action.type
        text = text.replace(said, SAID) if said else text
    return name, text.strip("'") if name == "KeyError" else text


def _log_lines(root: Path) -> dict[str, dict[str, Any]]:
    """Return the lines of each server by its command and case, with the words of the program."""
    data = recorded.read(root, "loglines")
    found: dict[str, dict[str, Any]] = {}
    for subject in data["subjects"]:
        by_case = {case: subject["runs"][program]["SIGTERM"] for case, program in LOGGED.items()}
        found[subject["command"]] = {
            case: {"lines": run["lines"], "words": _words(data["programs"][LOGGED[case]])}
            for case, run in by_case.items()
        }
    return found


def _words(program: str) -> list[str]:
    """Return what a recorded program said: class and text of its exception, or its message."""
    raised = re.search(r'raise (\w+)\("(.*)"\)', program)
    message = re.search(r'"message": "(.*?)"', program)
    found = raised or message
    return [*found.groups()] if found else []
