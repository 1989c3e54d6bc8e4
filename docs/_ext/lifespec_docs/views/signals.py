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
# from the mildest on
KEYS = "Ctrl-C", "Ctrl-C twice", "Ctrl-\\", "Ctrl-C, Ctrl-\\", "kill -9"
AT_ONCE = 3  # seconds: no server has a shorter limit
UVLOOP = ", uvloop"  # ends the name of a row that differs in this from the one before


def servers() -> dict[str, list[Row]]:
    """Return the rows of the record by server, for each loop and Python."""
    found: dict[str, list[Row]] = {}
    for subject in read("signals")["subjects"]:
        found.setdefault(subject["name"].removesuffix(UVLOOP), []).append(subject)
    return found


def conditions(subject: Row) -> Combination:
    """Return the conditions of a row: its Python and its event loop."""
    return f"Python {python_version(subject)}", subject["conditions"]["loop"]


def named(subjects: Sequence[Row]) -> str:
    """Return a server's name with its version."""
    return f"{subjects[0]['name']} {next(iter(subjects[0]['versions'].values()))}"


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

    def observed(subject: Row) -> dict[str, Row]:
        by_way = {}
        for way, run in subject["stops"].items():
            cleans = dict.fromkeys(_part(seconds) for seconds in run["cleans"])
            by_way[way] = {"shutdown": run["shutdown"], "cleans": list(cleans)}
        return by_way

    rows = []
    for subjects in servers().values():
        if not subjects[0]["stops"]["SIGTERM, to the parent, one worker"]["shutdown"]:
            continue
        for row in by_way(subjects, observed):
            rows.append({"server": named(subjects), "conditions": row.conditions, **row.value})
    return {"rows": rows}


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


def _seconds(seen: Sequence[int | None]) -> int | None:
    """Return the shortest time of several runs: a busy machine makes it longer."""
    times = [seconds for seconds in seen if seconds is not None]
    if len(times) < len(seen) or not times:
        return None
    shortest = min(times)
    return shortest if shortest >= AT_ONCE else 0


def hangs() -> Row:
    """Return by what a server waits for: its last lines after Ctrl-C, and the key that ends it."""
    rows = []
    for subjects in servers().values():
        for waits in subjects[0]["given up"]:
            keys, ends = {}, {}
            for subject in subjects:
                for workers, seen in subject["given up"][waits].items():
                    keys[(workers, *conditions(subject))] = seen
                    ends[(workers, *conditions(subject))] = ending(seen)
            for row in split(ends):
                last: dict[str, None] = {}
                for under, seen in keys.items():
                    if set(row.conditions) <= set(under):
                        last |= dict.fromkeys(seen["Ctrl-C"]["last"])
                [worded] = in_words([row])
                told = {"server": named(subjects), "waits": waits, "last": list(last)}
                rows.append({**told, "conditions": worded.conditions, **row.value})
    return {"rows": rows}


def ending(keys: Mapping[str, Row]) -> Row:
    """Return the mildest key that ended a server each time, and whether it left a worker."""
    for key in KEYS:
        if key in keys and keys[key]["ended"] == [True]:
            return {"key": key, "left": True in keys[key]["left"]}
    raise LookupError("no key has ended it")


TABLES = {"hangs": hangs, "open-requests": open_requests, "stops": stops}
