"""What ends a server, and what becomes of clean-up and open requests: by server and conditions."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lifespec_docs.views.conditions import Combination, Split, split
from lifespec_docs.views.records import python_version, read
from lifespec_docs.words import mark as _

Row = dict[str, Any]
WORDS = {  # the conditions that are words of a page; a signal and a loop have their own names
    "one worker": _("one worker"),
    "two workers": _("two workers"),
    "to the parent": _("signal to the parent"),
    "to the group": _("signal to all processes"),
}
# what ends a server, from the mildest on
KEYS = "Ctrl-C", "Ctrl-C twice", "Ctrl-\\", "Ctrl-C, Ctrl-\\", "kill -9"
SHORTEST_LIMIT = 3  # seconds, of all servers: one that ends sooner has not waited
UVLOOP = ", uvloop"  # ends the name of a row of a server that is measured on another loop, too


def servers() -> dict[str, list[Row]]:
    """Return the rows of the record by server, for each loop and Python."""
    by_server: dict[str, list[Row]] = {}
    for subject in read("signals")["subjects"]:
        by_server.setdefault(subject["name"].removesuffix(UVLOOP), []).append(subject)
    return by_server


def conditions(subject: Row) -> Combination:
    """Return the conditions of a row: its Python and its event loop."""
    return f"Python {python_version(subject)}", subject["conditions"]["loop"]


def named(subjects: Sequence[Row]) -> str:
    """Return a server's name with its version."""
    first = subjects[0]
    version = next(iter(first["versions"].values()))  # its own comes first
    return f"{first['name']} {version}"


def in_words(rows: Sequence[Split]) -> list[Split]:
    """Return the rows with their conditions as a page words them."""
    worded = []
    for row in rows:
        conditions = [WORDS.get(condition, condition) for condition in row.conditions]
        worded.append(Split(conditions, row.value))
    return worded


def by_way(subjects: Sequence[Row], observed: Callable[[Row], Mapping[str, Any]]) -> list[Split]:
    """Return the rows of a server for values by way, such as "SIGTERM, to the parent, …"."""
    values = {}
    for subject in subjects:
        for way, value in observed(subject).items():
            values[(*way.split(", "), *conditions(subject))] = value
    return in_words(split(values))


def stops() -> Row:
    """Return whether a signal makes a server send shutdown, and how much of a clean-up runs."""
    rows = []
    for subjects in servers().values():
        if not subjects[0]["stops"]["SIGTERM, to the parent, one worker"]["shutdown"]:
            continue  # it never sends one, so nothing depends on the signal
        for row in by_way(subjects, _stopping):
            rows.append({"server": named(subjects), "conditions": row.conditions, **row.value})
    return {"rows": rows}


def _stopping(subject: Row) -> dict[str, Row]:
    """Return by way whether shutdown was sent, and the parts of clean-ups that ran."""
    runs = {}
    for way, run in subject["stops"].items():
        parts = dict.fromkeys(_part(seconds) for seconds in run["cleans"])
        runs[way] = {"shutdown": run["shutdown"], "cleans": list(parts)}
    return runs


def _part(seconds: int) -> str:
    """Return how much of a clean-up ran that takes three seconds."""
    return {0: "none", 3: "all"}.get(seconds, "part")


def open_requests() -> Row:
    """Return how long each server waits for a request that is open when it stops, and what then."""
    rows = []
    for subjects in servers().values():
        server = {"server": named(subjects), "option": subjects[0]["limit"]}
        for row in by_way(subjects, waiting):
            rows.append({**server, "conditions": row.conditions, **row.value})
    return {"rows": rows}


def waiting(subject: Row) -> dict[str, Row]:
    """Return by way how long a server waits by default, and what it does after its limit.

    `wait` is a number of seconds, 0 for none, or None if it waits until requests end.
    """
    by_default, limited = {}, {}
    for run in subject["waits"]:
        if run["program"] != "streams":
            continue
        if not run["option"]:
            by_default[run["way"]] = run
        if run["option"] or not subject["limit"]:  # a server without an option has its default
            limited[run["way"]] = run
    waits = {}
    for way, run in by_default.items():
        after = limited[way]
        waits[way] = {
            "wait": _seconds(run["seconds"]),
            "cancelled": after["cancelled"],
            "pool": after["pool"],
            "shutdown": after["shutdown"],
            "ends": None not in after["seconds"],
        }
    return waits


def _seconds(runs: Sequence[int | None]) -> int | None:
    """Return the shortest time of several runs, None if in one of them it waited without end.

    The shortest, because a busy machine makes a time longer.
    """
    times = [seconds for seconds in runs if seconds is not None]
    if len(times) < len(runs) or not times:
        return None
    shortest = min(times)
    if shortest < SHORTEST_LIMIT:
        return 0
    return shortest


def hangs() -> Row:
    """Return by what a server waits for: its last lines after Ctrl-C, and the key that ends it."""
    rows = []
    for subjects in servers().values():
        for waits in subjects[0]["given up"]:
            runs = {}
            for subject in subjects:
                for workers, run in subject["given up"][waits].items():
                    runs[(workers, *conditions(subject))] = run
            for row in split({combination: ending(run) for combination, run in runs.items()}):
                [worded] = in_words([row])
                hang = {"server": named(subjects), "waits": waits}
                hang["last"] = _last_lines(runs, row.conditions)
                rows.append({**hang, "conditions": worded.conditions, **row.value})
    return {"rows": rows}


def _last_lines(runs: Mapping[Combination, Row], conditions: Sequence[str]) -> list[str]:
    """Return the distinct last lines after Ctrl-C in the runs under these conditions."""
    last: dict[str, None] = {}
    for combination, run in runs.items():
        if set(conditions) <= set(combination):
            last |= dict.fromkeys(run["Ctrl-C"]["last"])
    return list(last)


def ending(run: Mapping[str, Row]) -> Row:
    """Return the mildest key that ended a server each time, and whether it left a worker."""
    for key in KEYS:
        if key in run and run[key]["ended"] == [True]:
            return {"key": key, "left": True in run[key]["left"]}
    raise LookupError("no key has ended it")


TABLES = {"hangs": hangs, "open-requests": open_requests, "stops": stops}
