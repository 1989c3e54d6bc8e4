"""What this project measured of itself: speed, changes, and all short applications."""

from typing import Any

from lifespec_docs.views.records import read
from lifespec_docs.words import mark as _

Row = dict[str, Any]
MILLI, MICRO = 1e-3, 1e-6  # of a second
ROWS = {"floor": _("floor")}  # of the record of speed, in the words of a page


def exhaustive() -> Row:
    """Return how many applications were run, by the number of their actions."""
    return {"sizes": read("exhaustive")["server"]}


def speed(measure: str) -> Row:
    """Return the rows of a measure, each as a multiple of the first."""
    rows = read("bench")[measure]
    for row in rows:
        row["time"] = _time(row["seconds"])
    return {"rows": rows, "ratios": _ratios(rows), "words": ROWS}


def speed_by_python() -> Row:
    """Return the multiples of one lifespan on each Python, by implementation."""
    pythons = read("bench")["pythons"]
    ratios = []
    for python in pythons:
        rows = python["lifespan"]
        names = [row["name"] for row in rows]
        ratios.append(dict(zip(names, _ratios(rows), strict=True)))
    newest = pythons[-1]
    return {"pythons": pythons, "rows": newest["lifespan"], "ratios": ratios, "words": ROWS}


def _ratios(rows: list[Row]) -> list[str]:
    """Return each time as a multiple of the first."""
    return [f"{row['seconds'] / rows[0]['seconds']:.2f}" for row in rows]


def _time(seconds: float) -> str:
    number, unit = seconds / MICRO, "µs"
    if seconds >= MILLI:
        number, unit = seconds / MILLI, "ms"
    return f"{number:.3g}\N{NO-BREAK SPACE}{unit}"


def made(name: str) -> Row:
    """Say when a record was made, and with what."""
    record = read(name)
    python = f"CPython {record['python'].removeprefix('CPython ')}"
    return {"date": record["date"], "tools": [python, *filter(None, [record.get("machine")])]}


def mutants() -> Row:
    """Return by file or room how many changes a page noticed, only a test, and nothing."""
    rows = read("mutants")["rows"]
    for row in rows.values():
        row["nothing"] = None
        if row["test"] is not None:  # the tests ran, too
            row["nothing"] = row["changes"] - row["page"] - row["test"]
    return {"rows": rows}


TABLES = {
    "exhaustive": exhaustive,
    "made": made,
    "mutants": mutants,
    "speed": speed,
    "speed-by-python": speed_by_python,
}
