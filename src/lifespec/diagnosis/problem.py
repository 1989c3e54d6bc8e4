"""The problems of an application, each with a public name: the one table of these names.

`docs/problems/NAME.md` is the page of a problem, and `lifespec explain NAME` prints it.  A name
stays what it is.  What is its author's doing, and was seen, fails with `--strict`, and `--ignore`
leaves it out; of what libraries leave behind, and of what may be meant so, an author is told, and
nothing fails.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from lifespec.diagnosis.fact import Fact, kinds_in


class Kinds(NamedTuple):
    """The kinds of facts that tell of a problem: those that fail with --strict, and others.

    The others are what else is seen of it, such as a wait, and what to change.
    """

    fail: Collection[str] = ()
    tell: Collection[str] = ()


PROBLEMS: Mapping[str, Kinds] = {  # those that fail with --strict come first, the worst at the top
    "thread-stays": Kinds(["thread-left"], ["process-held"]),
    "never-ran": Kinds(["never-ran", "never-ran-mounted", "registered-late"]),
    "handler-ignored": Kinds(["handler-ignored"]),
    "cut-off": Kinds(
        ["cut-off", "cut-off-error"], ["skipped", "clean-up-cut-off", "clean-up-cut-off-somewhere"]
    ),
    "left-out": Kinds(["left-out"]),
    "task-failed": Kinds(["died", "died-stopping"]),
    "state-dropped": Kinds(["state-dropped", "state-unseen"]),
    "state-rebound": Kinds(["state-rebound"]),
    "logged-error": Kinds(["logged-when"]),
    "signal-taken": Kinds(["signal-taken"]),
    "loggers-disabled": Kinds(["loggers-disabled"]),
    "set-from-thread": Kinds(["due"], ["doing-awaits-due"]),
    "second-start": Kinds(["again"]),
    "process-left": Kinds(["process-left"]),
    "left-open": Kinds(["unclosed", "unfinished"]),
    "task-left": Kinds(["task-left", "task-unawaited"]),
    "daemon-left": Kinds(["daemon-left"]),
    "entered-twice": Kinds(["entered-twice"]),
    "context-variable": Kinds(["context-variable"]),
    "busy": Kinds(["busy"]),
    "does-not-return": Kinds(["does-not-return"]),
    # what a framework cannot use
    "lifespan-shape": Kinds(
        tell=[
            "advise-no-call",
            "advise-decorator",
            "advise-one-argument",
            "given-module",
            "given-no-lifespan",
        ]
    ),
    "yields-no-mapping": Kinds(tell=["advise-mapping"]),
    "yields-once": Kinds(tell=["advise-yield-once"]),
    "hooks-gone": Kinds(tell=["advise-hooks-gone"]),
    "depends": Kinds(tell=["advise-depends"]),
    "middleware-late": Kinds(tell=["advise-middleware-late"]),
    # an exception
    "startup-raised": Kinds(
        tell=["headline-does-not-start", "failed", "failed-again", "start-lost"]
    ),
    "variable-missing": Kinds(tell=["advise-variable"]),
    "module-missing": Kinds(tell=["advise-missing-module"]),
    "port-taken": Kinds(tell=["advise-port"]),
    "service-down": Kinds(tell=["advise-service"]),
    "other-loop": Kinds(tell=["advise-other-loop"]),
    "no-loop": Kinds(tell=["advise-no-loop", "advise-await"]),
    "cancel-scope": Kinds(tell=["advise-cancel-scope"]),
    "cancelled": Kinds(tell=["advise-cancelled"]),
    "fails-while-serving": Kinds(tell=["advise-crash"]),
    # the protocol
    "unsupported": Kinds(tell=["advise-no-lifespan", "advise-find-lifespan", "advise-pass-on"]),
    "scope-type-ignored": Kinds(tell=["advise-scope", "advise-any-scope"]),
    "served-without-startup": Kinds(tell=["advise-send-failed"]),
    "no-answer": Kinds(tell=["advise-answer", "advise-silent"]),
    "returns-early": Kinds(tell=["advise-wait"]),
    # a wait
    "blocks-the-loop": Kinds(
        tell=["doing-blocked", "doing-blocked-thread", "doing-blocked-future", "way-out-blocked"]
    ),
    "waits-for-lock": Kinds(tell=["doing-awaits-lock"]),
    "waits-for-event": Kinds(tell=["doing-awaits-event", "doing-awaits-future"]),
    "waits-for-queue": Kinds(tell=["doing-awaits-item", "doing-awaits-room", "doing-awaits-queue"]),
    "waits-for-connection": Kinds(tell=["doing-awaits-connection"]),
    "waits-for-process": Kinds(tell=["doing-awaits-process"]),
    "waits-for-thread": Kinds(tell=["doing-awaits-thread"]),
    "waits-at-startup": Kinds(
        tell=["advise-startup", "advise-sleep", "advise-forever", "advise-again"]
    ),
    "waits-at-shutdown": Kinds(tell=["advise-clean-up"]),
    # a server
    "open-requests": Kinds(
        tell=["open-requests", "open-background", "open-requests-and-background"]
    ),
    "signal-lost": Kinds(tell=["signal-lost"]),
    "shutdown-skipped": Kinds(tell=["without-shutdown", "startup-cut-off", "interrupted-early"]),
}
FAILING = [name for name, kinds in PROBLEMS.items() if kinds.fail]  # with --strict
_FAIL = {kind: name for name, kinds in PROBLEMS.items() for kind in kinds.fail}
_ALL = _FAIL | {kind: name for name, kinds in PROBLEMS.items() for kind in kinds.tell}


def problem_of(observed: Fact) -> str:
    """Return the name of the problem that fails with --strict and that a fact tells of, or ""."""
    if observed.kind in _FAIL:
        return _FAIL[observed.kind]
    inner = observed.parts.get("what")  # of a fact with its place, or with its condition
    if isinstance(inner, Fact):
        return problem_of(inner)
    return ""


def names_of(facts: Iterable[object]) -> list[str]:
    """Return the names of the problems that facts and their parts tell of, each once."""
    names = {}  # with keys alone: they stay in order
    for observed in facts:
        for kind in kinds_in(observed):
            if kind in _ALL:
                names[_ALL[kind]] = True
    return list(names)
