"""What this project measured of itself: speed, changes that tests notice, short applications."""

from typing import Any

from lifespec_docs.views.records import read
from lifespec_docs.words import mark as _

__all__ = ["TABLES", "exhaustive", "made", "mutation", "others", "speed", "speed_by_python"]

Row = dict[str, Any]
MILLI = 1e-3  # of a second
ROWS = {  # of the record of speed, in the words of a page
    "floor": _("floor"),
    "inline": _("inline"),
    "%s at once": _("%(count)s at once"),
    "%s at once, with garbage collection": _("%(count)s at once, with garbage collection"),
    "%s applications": _("%(count)s applications"),
    "without validator": _("without validator"),
    "with validator": _("with validator"),
}


def mutation() -> Row:
    """Return how many changes of each file were made, and how many of them a test noticed."""
    return {"parts": read("mutation")["parts"]}


def exhaustive() -> Row:
    """Return how many applications were run, by the number of their actions."""
    return {"sizes": read("exhaustive")["server"]}


def others() -> Row:
    """Return what other implementations did with the longest of these applications."""
    record = read("exhaustive")
    size = str(record["actions"]["drivers"])
    return {"found": {name: (row["version"], row[size]) for name, row in record["drivers"].items()}}


def speed(measure: str) -> Row:
    """Return the rows of a measure, each as a multiple of the first."""
    rows = read("bench")[measure]
    for row in rows:
        row["time"] = _time(row["seconds"])
    return {"rows": rows, "ratios": _ratios(rows), "memory": "bytes" in rows[0], "words": ROWS}


def speed_by_python() -> Row:
    """Return the multiples of one lifespan on each Python, by implementation."""
    found = read("bench")["pythons"]
    ratios = [dict(zip(_names(each), _ratios(each["lifespan"]), strict=True)) for each in found]
    return {"pythons": found, "rows": found[-1]["lifespan"], "ratios": ratios, "words": ROWS}


def _names(found: Row) -> list[str]:
    return [row["name"] for row in found["lifespan"]]


def _ratios(rows: list[Row]) -> list[str]:
    return [f"{row['seconds'] / rows[0]['seconds']:.2f}" for row in rows]


def _time(seconds: float) -> str:
    number, unit = (seconds / MILLI, "ms") if seconds >= MILLI else (seconds * 1e6, "µs")
    return f"{number:.3g}\N{NO-BREAK SPACE}{unit}"


def made(name: str) -> Row:
    """Say when a record was made, and with what."""
    record = read(name)
    tools = [f"{tool} {record[tool]}" for tool in ("mutmut",) if tool in record]
    python = f"CPython {record['python'].removeprefix('CPython ')}"
    return {
        "date": record["date"],
        "tools": [python, *tools, *filter(None, [record.get("machine")])],
    }


TABLES = {
    "exhaustive": exhaustive,
    "made": made,
    "mutation": mutation,
    "others": others,
    "speed": speed,
    "speed-by-python": speed_by_python,
}
