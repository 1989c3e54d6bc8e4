"""What an issue for a server's project says."""

import json

from published import ROOT

from lifespec.conformance import cases
from lifespec_docs.records.issue import DOCUMENTED, QUOTED, UNQUOTED, issues, issues_between
from lifespec_docs.records.record import Record

CASES = {case.name: case for case in cases.load() if case.role == "server"}
BETWEEN = {case.name: case for case in cases.load() if case.role == "middleware"}


def test_each_fault_of_a_middleware_has_an_issue() -> None:
    """So that nobody has to write it, unless its documentation says so, or servers are meant."""
    data = json.loads((ROOT / "docs" / "matrix" / "middleware.json").read_text("utf-8"))
    for row in data["subjects"]:
        told = {rule for each in issues_between(row, BETWEEN, "") for rule in each.rules}
        found = {each["rule"] for each in row["findings"] if each["verdict"] != "info"}
        fits = {QUOTED.get(each, each) for each in found - {*UNQUOTED}}
        assert told == (set() if row["name"] in DOCUMENTED else fits)
        assert "failed-to-prevent-start" not in told


def test_each_fault_of_the_record_has_an_issue() -> None:
    """So that nobody has to write it."""
    data = json.loads((ROOT / "docs" / "matrix" / "servers.json").read_text("utf-8"))
    for row in Record("servers", data).subjects:
        told = {rule for each in issues(row, CASES, "") for rule in each.rules}
        broken = {each.rule for each in row.findings if each.verdict in ("fail", "warn")}
        assert (
            told == broken - {each.rule for each in row.findings if each.silent} or told == broken
        )
