"""What can be found about an application beside the rules: a public name for each.

By such a name a report says what fails with `--strict`, and `--ignore` leaves it out.  A name stays
what it is, and this is the only place that says what it means.  What is named here is its author's
doing, and was seen: of what libraries leave behind, and of what may be meant so, an author is told,
and nothing fails.
"""

from collections.abc import Collection, Mapping

from lifespec.diagnosis.fact import Fact

PROBLEMS: Mapping[str, Collection[str]] = {  # kinds of facts by name, the worst first
    "thread-stays": ("thread-left",),
    "never-ran": ("never-ran", "never-ran-mounted", "registered-late"),
    "handler-ignored": ("handler-ignored",),
    "cut-off": ("cut-off", "cut-off-error"),
    "left-out": ("left-out",),
    "task-failed": ("died", "died-stopping"),
    "state-dropped": ("state-dropped", "state-unseen"),
    "state-rebound": ("state-rebound",),
    "logged-error": ("logged-when",),
    "signal-taken": ("signal-taken",),
    "set-from-thread": ("due",),
    "second-start": ("again",),
    "process-left": ("process-left",),
    "left-open": ("unclosed",),
    "task-left": ("task-left", "task-unawaited"),
    "daemon-left": ("daemon-left",),
    "entered-twice": ("entered-twice",),
    "made-only": ("made-only",),
    "context-variable": ("context-variable",),
    "busy": ("busy",),
    "does-not-return": ("does-not-return",),
}
_NAMES = {kind: name for name, kinds in PROBLEMS.items() for kind in kinds}


def name_of(found: Fact) -> str:
    """Return the name of the problem that a fact tells of, or ""."""
    if found.kind in _NAMES:
        return _NAMES[found.kind]
    inner = found.parts.get("what")  # of a fact with its place, or with its condition
    if isinstance(inner, Fact):
        return name_of(inner)
    return ""
