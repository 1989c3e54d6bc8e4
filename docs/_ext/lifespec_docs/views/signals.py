"""What ends a server, and what becomes of clean-up and open requests: by server and conditions."""

from collections.abc import Callable, Iterator, Mapping, Sequence
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
    return [
        Split([WORDS.get(condition, condition) for condition in row.conditions], row.value)
        for row in rows
    ]


def by_way(subjects: Sequence[Row], observed: Callable[[Row], Mapping[str, Any]]) -> list[Split]:
    """Return the rows of a server for values by way, such as "SIGTERM, to the parent, …"."""
    values = {
        (*way.split(", "), *conditions(subject)): value
        for subject in subjects
        for way, value in observed(subject).items()
    }
    return in_words(split(values))


def stops() -> Row:
    """Return whether a signal makes a server send shutdown, and how much of a clean-up runs."""

    def observed(subject: Row) -> Iterator[tuple[str, Row]]:
        for way, run in subject["stops"].items():
            cleans = [_part(seconds) for seconds in run["cleans"]]
            yield way, {"shutdown": run["shutdown"], "cleans": list(dict.fromkeys(cleans))}

    rows = [
        {"server": named(subjects), "conditions": row.conditions, **row.value}
        for subjects in servers().values()
        if subjects[0]["stops"]["SIGTERM, to the parent, one worker"]["shutdown"]
        for row in by_way(subjects, lambda subject: dict(observed(subject)))
    ]
    return {"rows": rows}


def _part(seconds: int) -> str:
    """Return how much of a clean-up ran that takes three seconds."""
    return {0: "none", 3: "all"}.get(seconds, "part")


def open_requests() -> Row:
    """Return how long each server waits for a request that is open when it stops, and what then."""
    rows = [
        {
            "server": named(subjects),
            "option": subjects[0]["limit"],
            "conditions": row.conditions,
            **row.value,
        }
        for subjects in servers().values()
        for row in by_way(subjects, waiting)
    ]
    return {"rows": rows}


def waiting(subject: Row) -> dict[str, Row]:
    """Return by way how long a server waits by default, and what it does after its limit.

    `wait` is a number of seconds, 0 for none, or None if it waits until requests end.
    """
    runs = [run for run in subject["waits"] if run["program"] == "streams"]
    limited = {run["way"]: run for run in runs if run["option"] or not subject["limit"]}
    return {
        run["way"]: {
            "wait": _seconds(run["seconds"]),
            **{name: limited[run["way"]][name] for name in ("cancelled", "pool", "shutdown")},
            "ends": None not in limited[run["way"]]["seconds"],
        }
        for run in runs
        if not run["option"]
    }


def _seconds(seen: Sequence[int | None]) -> int | None:
    """Return the shortest time of several runs: a busy machine makes it longer."""
    times = [each for each in seen if each is not None]
    if len(times) < len(seen) or not times:
        return None
    return min(times) if min(times) >= AT_ONCE else 0


def hangs() -> Row:
    """Return by what a server waits for: its last lines after Ctrl-C, and the key that ends it."""
    rows = []
    for subjects in servers().values():
        for waits in subjects[0]["given up"]:
            keys = {
                (workers, *conditions(subject)): seen
                for subject in subjects
                for workers, seen in subject["given up"][waits].items()
            }
            for row in split({each: ending(seen) for each, seen in keys.items()}):
                under = [seen for each, seen in keys.items() if {*row.conditions} <= {*each}]
                last = [line for seen in under for line in seen["Ctrl-C"]["last"]]
                words = in_words([row])[0].conditions
                rows.append(
                    {
                        "server": named(subjects),
                        "waits": waits,
                        "conditions": words,
                        "last": list(dict.fromkeys(last)),
                        **row.value,
                    }
                )
    return {"rows": rows}


def ending(keys: Mapping[str, Row]) -> Row:
    """Return the mildest key that ended a server each time, and whether it left a worker."""
    key = next(key for key in KEYS if key in keys and keys[key]["ended"] == [True])
    return {"key": key, "left": True in keys[key]["left"]}


TABLES = {"hangs": hangs, "open-requests": open_requests, "stops": stops}
