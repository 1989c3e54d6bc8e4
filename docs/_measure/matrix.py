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
from lifespec.conformance.finding import Assessment, Verdict
from lifespec.conformance.judge import skip
from lifespec.conformance.log import LogLine
from lifespec.conformance.report import Report
from lifespec.conformance.server import check as server_check
from lifespec.conformance.server.check import Target, check
from lifespec.conformance.server.judge import ServerJudge
from lifespec.conformance.server.observed import short, without_tracebacks
from lifespec.diagnosis.fact import Fact, fact
from records import Row, data, measure, select, table, versions
from serving import conditions, free_port

ROOT = Path(__file__).parents[2]
SPEC = "asgi 2.0"
OFTEN = 5  # times that each case with an exit status is run, which can differ from run to run
ROWS = table("matrix")


class ClientJudge(ServerJudge):
    """Judge a test client or an adapter, which raises to the code that uses it."""

    @property
    def raised(self) -> str:
        """The exception that left it, or ""."""
        if self.seen.status != RAISED:
            return ""
        lines = list(without_tracebacks(self.seen.output))
        return short(lines[-1] if lines else "an exception")

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

    def served(self) -> Assessment:
        """Return whether it was served."""
        outcome = super().served()
        if outcome.how == "broken" and self.raised:
            return Assessment("unspecified", fact("to-caller", text=self.raised))
        return outcome

    def sent(self, line: LogLine) -> Fact:
        """Return what became of an event."""
        if line.kind == "sent" and self.raised:
            return fact("send-returned-to-caller", text=self.raised)
        return super().sent(line)

    def refused(self) -> Assessment:
        """Return whether an event was refused."""
        outcome = super().refused()
        if outcome.how == "broken" and self.raised:
            return outcome._replace(how="unspecified")
        return outcome

    def exit_status(self) -> NoReturn:
        """Raise NotJudged: it has none of its own."""
        self.need_whole_script()
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
        if name in self.reasons:
            return fact(self.reasons[name])
        return super().not_applicable(name)


class Subject(NamedTuple):
    """A row of `matrix.toml`."""

    packages: Sequence[str]
    command: str
    limit: str = ""
    environment: str = "matrix"  # a group of pyproject.toml

    def words(self, environment: Path, **places: object) -> list[str]:
        """Return the command with the program of an environment, and what stands in its places."""
        program, *rest = self.command.split()
        words = [str(environment / "bin" / program)]
        for word in rest:
            path = str(ROOT / word) if word.endswith(".py") else word
            words.append(path.format(**places) if places else path)
        return words

    def conditions(self, environment: Path) -> dict[str, str]:
        """Return which event loop and which parser of HTTP it uses."""
        port = free_port()
        return conditions(self.words(environment, app="shop:app", port=port, workers=1), port)

    def target(self, environment: Path, client: str = "") -> Target:
        """Return what the suite checks with the programs of an environment."""
        command = tuple(self.words(environment))
        if not client:
            return Target(command, SPEC, limit=self.limit)
        why: dict[str, str] = {}
        for reason in ROWS["reasons"]:
            if reason.get("to", client) == client:
                why |= dict.fromkeys(reason["applies_not"], reason["why"])
        return Client(command, SPEC, name=client, reasons=why)


RECORDS = {
    record: {name: Subject(**row) for name, row in ROWS[record].items()}
    for record in ("servers", "drivers")
}


def findings(report: Report) -> list[Row]:
    """Return what was found, as facts: pages have the sentences."""
    by_name = {case.name: case for case in cases.load()}
    rows = []
    for finding in report.findings:
        row = {
            "case": finding.case,
            "rule": finding.rule,
            "verdict": str(finding.verdict),
            "unspecified": by_name[finding.case].leaves_open(finding.rule, report.spec),
            "observed": data(finding.observed),
        }
        rows.append(row)
    return rows


def verdicts(found: Iterable[Row], *keys: str) -> dict[tuple[str, ...], list[Verdict]]:
    """Return the verdicts by what the findings have for the keys."""
    by_keys: dict[tuple[str, ...], list[Verdict]] = {}
    for finding in found:
        of = tuple(finding[key] for key in keys)
        by_keys.setdefault(of, []).append(Verdict(finding["verdict"]))
    return by_keys


def varying(found: Sequence[Row], again: Sequence[Row]) -> list[Row]:
    """Note in each finding which verdict a second run had instead, if it had another one."""
    first = verdicts(found, "case", "rule")
    second = verdicts(again, "case", "rule")
    rows = []
    for finding in found:
        key = (finding["case"], finding["rule"])
        others = set(second.get(key, ())) - set(first[key])
        row = {**finding}
        if others:
            row["varies"] = sorted(map(str, others))
        rows.append(row)
    return rows


def answers(found: Sequence[Row]) -> Row:
    """Say for each rule, and for each unspecified case, which verdicts count; count the rules."""
    counted = [Verdict.of(of_rule) for of_rule in verdicts(found, "rule").values()]
    specified = [finding for finding in found if not finding["unspecified"]]
    unspecified = [finding for finding in found if finding["unspecified"]]
    rules, unspecified_cases = {}, {}
    for (rule_id,), of_rule in verdicts(specified, "rule").items():
        rules[rule_id] = decisive(of_rule)
    for (case,), of_case in verdicts(unspecified, "case").items():
        unspecified_cases[case] = decisive(of_case)
    counts = {str(verdict): counted.count(verdict) for verdict in Verdict}
    return {"counts": counts, "rules": rules, "cases": unspecified_cases}


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
    by_case: dict[str, list[list[Any]]] = {}
    for report in reports:
        for finding in report.findings:
            if ROWS["exits"].get(finding.case) != finding.rule:
                continue
            seen = by_case.setdefault(finding.case, [])
            by = "itself" if finding.rule == "startup-failed-exits" else "signal"
            ends = [*ended(finding.observed, by), ["running", ""]]
            if finding.verdict != Verdict.SKIP and ends[0] not in seen:
                seen.append(ends[0])
    return {case: sorted(seen, key=str) for case, seen in by_case.items()}


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
    faults = {finding["case"] for finding in found if finding["verdict"] not in ("pass", "skip")}
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
        often = [check(target, server_check.chosen(list(ROWS["exits"]))) for _ in range(1, OFTEN)]
        made["exits"] = exits([report, *often])
    if record == "servers":
        made["conditions"] = subject.conditions(environment)
    return made | {"findings": found}


def main(matrix: str, *names: str) -> int:
    """Check the subjects, one after the other."""
    wanted = select(names, [name for subjects in RECORDS.values() for name in subjects])
    failed = 0
    for record, subjects in RECORDS.items():
        needs = {}
        for name, subject in subjects.items():
            needs[name] = Needs(subject.environment, subject.packages)
        chosen = [name for name in subjects if name in wanted]
        if chosen:
            arguments = [f"{matrix}/{record}.json"]
            if names:  # else all are measured, and rows that are gone are dropped
                arguments += chosen
            failed |= measure(arguments, needs, partial(row, record), spec=SPEC)
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
