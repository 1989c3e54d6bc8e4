"""Check the current servers and test clients, and record what was found: `make matrix`.

python docs/_measure/matrix.py MATRIX [NAME...]

MATRIX is the folder of the records.  `matrix.toml` has the subjects.
"""

import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from client_host import RAISED
from environments import Needs
from lifespec.conformance import cases
from lifespec.conformance.finding import Outcome, Verdict
from lifespec.conformance.judge import skip
from lifespec.conformance.log import Line
from lifespec.conformance.report import Report
from lifespec.conformance.server import check as server_check
from lifespec.conformance.server.check import Target, check
from lifespec.conformance.server.judge import OfServer
from lifespec.conformance.server.observed import short, without_tracebacks
from lifespec.diagnosis.fact import Fact, fact
from records import Row, data, measure, select, table, versions
from serving import conditions, free_port

ROOT = Path(__file__).parents[2]
SPEC = "asgi 2.0"
OFTEN = 5  # times that each case with an exit status is run, which can differ from run to run
ROWS = table("matrix")


class ClientJudge(OfServer):
    """Judge a test client or an adapter, which raises to the code that uses it."""

    @property
    def raised(self) -> str:
        """The exception that left it, or ""."""
        last = next(reversed([*without_tracebacks(self.seen.output)]), "an exception")
        return short(last) if self.seen.status == RAISED else ""

    @property
    def way(self) -> Fact:
        """In which way it ended."""
        return fact("raised-to-caller" if self.raised else "ended")

    @property
    def end(self) -> Fact:
        """How it ended."""
        if self.seen.ended is None:
            return fact("client-remained", seconds=self.seen.timeout)
        return super().end

    def served(self) -> Outcome:
        """Return whether it was served."""
        found = super().served()
        if found.how == "broken" and self.raised:
            return Outcome("unspecified", fact("to-caller", text=self.raised))
        return found

    def sent(self, line: Line) -> Fact:
        """Return what became of an event."""
        if line.kind == "sent" and self.raised:
            return fact("send-returned-to-caller", text=self.raised)
        return super().sent(line)

    def refused(self) -> Outcome:
        """Return whether an event was refused."""
        found = super().refused()
        return found._replace(how="unspecified") if found.how == "broken" and self.raised else found

    def exit_status(self) -> NoReturn:
        """Raise NotJudged: it has none of its own."""
        self.finished()
        skip("no-exit-status")


@dataclass(frozen=True)
class Client(Target):
    """A test client or an adapter: its name, and why cases and rules do not apply to it."""

    judge = ClientJudge
    name: str = ""
    reasons: Mapping[str, str] = field(default_factory=dict)

    @property
    def subject(self) -> str:
        """Its name."""
        return self.name

    def not_applicable(self, name: str) -> Fact | None:
        """Return why a case or a rule does not apply to it; None if it does."""
        reason = self.reasons.get(name)
        return fact(reason) if reason else super().not_applicable(name)


class Subject(NamedTuple):
    """A row of `matrix.toml`."""

    packages: Sequence[str]
    command: str
    limit: str = ""
    environment: str = "matrix"  # a group of pyproject.toml

    def words(self, environment: Path, **places: object) -> list[str]:
        """Return the command with the program of an environment, and what stands in its places."""
        program, *rest = self.command.split()
        rest = [str(ROOT / word) if word.endswith(".py") else word for word in rest]
        rest = [word.format(**places) for word in rest] if places else rest
        return [str(environment / "bin" / program), *rest]

    def conditions(self, environment: Path) -> dict[str, str]:
        """Return which event loop and which parser of HTTP it uses."""
        port = free_port()
        return conditions(self.words(environment, app="shop:app", port=port, workers=1), port)

    def target(self, environment: Path, client: str = "") -> Target:
        """Return what the suite checks with the programs of an environment."""
        command = tuple(self.words(environment))
        if not client:
            return Target(command, SPEC, limit=self.limit)
        why = {
            name: each["why"]
            for each in ROWS["reasons"]
            for name in each["applies_not"]
            if each.get("to", client) == client
        }
        return Client(command, SPEC, name=client, reasons=why)


RECORDS = {
    record: {name: Subject(**row) for name, row in ROWS[record].items()}
    for record in ("servers", "drivers")
}


def findings(report: Report) -> list[Row]:
    """Return what was found, as facts: pages have the sentences."""
    unspecified = {case.name: case.leaves_open for case in cases.load()}
    return [
        {
            "case": each.case,
            "rule": each.rule,
            "verdict": str(each.verdict),
            "unspecified": unspecified[each.case](each.rule, report.spec),
            "observed": data(each.observed),
        }
        for each in report.findings
    ]


def verdicts(found: Iterable[Row], *keys: str) -> dict[tuple[str, ...], list[Verdict]]:
    """Return the verdicts by what the findings have for the keys."""
    rows: dict[tuple[str, ...], list[Verdict]] = {}
    for each in found:
        rows.setdefault(tuple(each[key] for key in keys), []).append(Verdict(each["verdict"]))
    return rows


def varying(found: Sequence[Row], again: Sequence[Row]) -> list[Row]:
    """Note in each finding which verdict a second run had instead, if it had another one."""
    first, second = (verdicts(each, "case", "rule") for each in (found, again))
    rows = []
    for each in found:
        key = each["case"], each["rule"]
        others = {*map(str, second.get(key, ()))} - {*map(str, first[key])}
        rows.append(each | ({"varies": sorted(others)} if others else {}))
    return rows


def answers(found: Sequence[Row]) -> Row:
    """Say for each rule, and for each unspecified case, which verdicts count; count the rules."""
    counted = [Verdict.of(each) for each in verdicts(found, "rule").values()]
    rules = verdicts([each for each in found if not each["unspecified"]], "rule")
    unspecified = verdicts([each for each in found if each["unspecified"]], "case")
    return {
        "counts": {str(verdict): counted.count(verdict) for verdict in Verdict},
        "rules": {name: decisive(each) for (name,), each in rules.items()},
        "cases": {name: decisive(each) for (name,), each in unspecified.items()},
    }


def decisive(verdicts: Sequence[Verdict]) -> list[str]:
    """Return the verdict that counts; a rule that is open may have been kept in other cases."""
    counts = Verdict.of(verdicts)
    if counts == Verdict.INFO and Verdict.PASS in verdicts:
        return [str(Verdict.PASS), str(Verdict.INFO)]
    return [str(counts)]


def exits(reports: Sequence[Report]) -> dict[str, list[list[Any]]]:
    """Return by case each exit status that was seen, as a shell has it, and who ended the process.

    A process that did not end is "running"; a case that was skipped has nothing.
    """
    found: dict[str, list[list[Any]]] = {}
    for each in (each for report in reports for each in report.findings):
        if ROWS["exits"].get(each.case) == each.rule:
            seen = found.setdefault(each.case, [])
            by = "itself" if each.rule == "startup-failed-exits" else "signal"
            ends = [*ended(each.observed, by)] or [["running", ""]]
            if each.verdict != Verdict.SKIP and ends[0] not in seen:
                seen.append(ends[0])
    return {case: sorted(seen, key=str) for case, seen in found.items()}


def ended(observed: Fact, by: str) -> Iterator[list[Any]]:
    """Yield the exit status that a fact has, and who ended the process: it itself or a signal."""
    if observed.kind == "ended-after":
        by = "signal"
    for name, part in observed.parts.items():
        if name == "status":
            yield [part, by]
        if isinstance(part, Fact):
            yield from ended(part, by)


def row(record: str, environment: Path, name: str) -> Row:
    """Check a subject; return its row of the record.

    Cases with another verdict than PASS run twice, because some end otherwise from run to run.
    """
    subject = RECORDS[record][name]
    began = time.monotonic()
    target = subject.target(environment, name if record == "drivers" else "")
    report = check(target, server_check.chosen(slow=True))
    found = findings(report)
    faults = {each["case"] for each in found if each["verdict"] not in ("pass", "skip")}
    if faults:
        again = check(target, server_check.chosen(sorted(faults)))
        found = varying(found, findings(again))
    made = {
        "name": name,
        "command": subject.command,
        "versions": versions(environment, subject.packages),
        "seconds": round(time.monotonic() - began),
        **answers(found),
    }
    if record == "servers" and made["counts"]["skip"] < sum(made["counts"].values()):
        often = [check(target, server_check.chosen([*ROWS["exits"]])) for _ in range(1, OFTEN)]
        made["exits"] = exits([report, *often])
    if record == "servers":
        made["conditions"] = subject.conditions(environment)
    return made | {"findings": found}


def main(matrix: str, *names: str) -> int:
    """Check the subjects, one after the other."""
    wanted = select(names, [name for subjects in RECORDS.values() for name in subjects])
    failed = 0
    for record, subjects in RECORDS.items():
        needs = {name: Needs(each.environment, each.packages) for name, each in subjects.items()}
        chosen = [name for name in subjects if name in wanted]
        if chosen:
            arguments = [f"{matrix}/{record}.json", *(chosen if names else [])]
            failed |= measure(arguments, needs, partial(row, record), spec=SPEC)
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
