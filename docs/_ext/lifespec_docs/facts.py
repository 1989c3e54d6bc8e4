"""The facts that pages draw from code and data, as substitutions of MyST.

    Without a timeout of its own, the server waits {{ default Lifespan.grace }} seconds.

default Lifespan.grace            the default of an argument
message lifespan.startup.failed   the value that stands for a missing `message` of an event
constant testing.plugin.TIMEOUT   a number that a module defines in capital letters
count cases                       how many there are
version uvicorn                   the version that was measured
date servers                      the day on which a record of docs/matrix was measured
mutants programs                  that `make mutants` ran after each change
reports rebuilt                   how many were rebuilt besides those that were drawn
reports before named              of the public reports that were drawn: those with this verdict
seen state state-untouched fail   the measured servers with this verdict on a rule in a case
ended CASE RULE, stopped CASE RULE   the same: served nothing, and ended by itself or by a signal
python oldest                     the oldest version of Python that is supported
"""

import inspect
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from statistics import median
from typing import Any

from lifespec import Lifespan, validate
from lifespec_docs.views.records import read as record
from lifespec_docs.words import ROOT

RECORDS = "servers", "drivers", "amgi", "pagi"  # the first that names a package counts
DRAWS = "reports", "second reports", "third reports"
ANSWERS = "named", "in part", "missed", "false"  # what was told of the cause of a report
NO_COUNTS = "by", "run", "no program"  # of a report: its problems, the day of its last check, why
NOT_SERVED = {"not-served": "ended", "not-served-waits": "stopped"}  # by the kind of the fact
CONSTANTS = {
    "testing.plugin.TIMEOUT": "src/lifespec/testing/plugin.py",
    "app.check.LIMIT": "src/lifespec/conformance/app/check.py",
    "loglines.AFTER_SIGNAL": "docs/_measure/loglines.py",
    "signals.AFTER_LAST": "docs/_measure/signals.py",
    "watch.AFTER": "src/lifespec/watch/parent.py",
    "agent.LIVELY": "src/lifespec/watch/agent.py",
    "agent.MOST_TASKS": "src/lifespec/watch/agent.py",
}


def facts(comma: str) -> dict[str, str]:
    """Return the Markdown of each fact by its name."""
    by_name = {
        "mutants programs": str(record("mutants")["programs"]),
        "python oldest": _oldest_python(),
    }
    for name in CONSTANTS:
        by_name[f"constant {name}"] = _constant(name)
    for name in RECORDS:
        by_name[f"date {name}"] = record(name)["date"]
    for several in (_defaults(), _messages(), _counts(), _versions(), _reports(), _applications()):
        by_name.update(several)
    by_name.update(_seen(comma))
    return by_name


def _defaults() -> Iterator[tuple[str, str]]:
    for name, parameter in inspect.signature(Lifespan).parameters.items():
        if parameter.default is not parameter.empty:
            yield f"default Lifespan.{name}", _markdown(parameter.default)


def _messages() -> Iterator[tuple[str, str]]:
    for name, event in validate.EVENTS.items():
        for default in event.defaults.values():
            yield f"message {name}", f"`{json.dumps(default)}`"


def _constant(name: str) -> str:
    """Return a number of a module without importing it: a build lacks what some modules import."""
    source, variable = (ROOT / CONSTANTS[name]).read_text("utf-8"), name.rpartition(".")[2]
    assigned = re.search(rf'^{variable} = "?([\d.]+)', source, re.MULTILINE)
    if not assigned:
        raise LookupError(f"{CONSTANTS[name]} does not define {variable}.")
    return f"{float(assigned[1]):g}"


def _counts() -> Iterator[tuple[str, str]]:
    cases = ROOT / "src/lifespec/conformance/data/cases.toml"
    yield "count cases", str(len(tomllib.loads(cases.read_text(encoding="utf-8"))))
    yield "count specifications", str(len(validate.SPECS))


def _versions() -> Iterator[tuple[str, str]]:
    for name in reversed(RECORDS):
        for subject in record(name)["subjects"]:
            for package, version in subject["versions"].items():
                yield f"version {package.lower()}", version


def _seen(comma: str) -> Iterator[tuple[str, str]]:
    """Yield the servers that got a verdict in a case, such as "hypercorn (trio)"."""
    servers: dict[str, dict[str, None]] = {}  # by substitution
    for subject in record("servers")["subjects"]:
        name = re.sub(r", (.*)", r" (\1)", subject["name"])
        for finding in subject["findings"]:
            of = f"{finding['case']} {finding['rule']}"
            servers.setdefault(f"seen {of} {finding['verdict']}", {})[name] = None
            way = NOT_SERVED.get(finding["observed"]["kind"])
            if way:
                servers.setdefault(f"{way} {of}", {})[name] = None
    for key, names in servers.items():
        yield key, comma.join(names)


def _reports() -> Iterator[tuple[str, str]]:
    kept = record("reports")
    yield "reports rebuilt", str(len(kept["rebuilt"]))
    draws = zip(DRAWS, (kept, *kept["draws"]), strict=True)
    for prefix, draw in draws:
        yield f"{prefix} date", draw["date"]
        for name, count in _of_draw(draw).items():
            yield f"{prefix} {name}", str(count)


def _of_draw(draw: dict[str, Any]) -> Counter[str]:
    """Return how many reports of a draw were asked about, and what came of it."""
    drawn = draw["reports"].values()
    asked = [report for report in drawn if "before" in report]
    counts = Counter({"drawn": len(drawn), "aside": len(draw["aside"]), "asked": len(asked)})
    for answer in ANSWERS:
        counts.update({f"before {answer}": 0, f"after {answer}": 0})
    for report in drawn:
        counts.update(f"{key} {value}" for key, value in report.items() if key not in NO_COUNTS)
    elsewhere = [report for report in drawn if "before" not in report]
    counts["elsewhere"] = len(elsewhere)
    counts["elsewhere named"] = sum(bool(report.get("by")) for report in elsewhere)
    counts["no program"] = sum("no program" in report for report in drawn)
    return counts


def _applications() -> Iterator[tuple[str, str]]:
    """Yield how many applications of others were played, and how what was said was read."""
    kept = record("applications")
    read: Counter[str] = Counter()
    missed = named = 0
    for subject in kept["subjects"]:
        read.update(said["read"] for said in subject["statements"])
        missed += len(subject["missed"])
        named += subject["hang"]["named"]
    yield "applications date", kept["date"]
    yield "applications count", str(len(kept["subjects"]))
    yield "applications statements", str(sum(read.values()))
    for name in ("time", "useful", "true", "false", "unread"):
        yield f"applications {name}", str(read[name])
    yield "applications missed", str(missed)
    yield "applications named", str(named)
    bare = [subject["bare"] for subject in kept["subjects"]]
    for name, key, unit in (
        ("whole", "seconds", "seconds"),
        ("first", "first", "seconds"),
        ("memory", "MB", "MB"),
    ):
        ratios = [
            subject[key] / alone[unit]
            for subject, alone in zip(kept["subjects"], bare, strict=True)
            if subject[key]
        ]
        yield f"applications {name}", f"{median(ratios):.1f}"


def _oldest_python() -> str:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["requires-python"]).removeprefix(">=")


def _markdown(value: object) -> str:
    """Return a number as prose writes it, and any other value as code."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:g}"
    return f"`{value!r}`"
