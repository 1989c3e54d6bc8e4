"""What a report says does not depend on how the author's names are spelled."""

import re
from pathlib import Path

import causes
import pytest
from renamed import Renamed
from test_app_causes import NUMBER, cases_of, limit, variant

import problems
from apart import checked_program
from lifespec.conformance import Report
from lifespec.words import english

MEASURED = re.compile(rf"(, in )?({NUMBER.pattern}|\d+\.\d+ s)|\d+ %")
PROGRAMS = {
    name: causes.PRELUDE + variant(program.source, "-")
    for name, program in (causes.FAULTS | causes.PROGRAMS | causes.TRIED).items()
    if Renamed(variant(program.source, "-")).old_names  # else it has no name of its author's
}
PROGRAMS |= {name: program.source for name, program in problems.PROGRAMS.items()}


def said(report: Report, program: Renamed) -> tuple[int, list[str]]:
    """Return the exit status, and what stands in the rows, in the names of the program before."""
    rows = [f"{row.label}: {english(row.fact)}" for row in report.rows]
    rows += [english(report.obstacle)] if report.obstacle else []
    return report.status, sorted(MEASURED.sub("", program.restored(row)) for row in rows)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_other_names_change_no_report(name: str, tmp_path: Path) -> None:
    program = Renamed(PROGRAMS[name])
    only = cases_of(name)
    for _ in range(2):  # a machine that is busy may change what is told of seconds
        before, after = (
            said(checked_program(tmp_path, source, only=only, timeout=limit(name)), program)
            for source in (program.original, program.renamed)
        )
        if after == before:
            return
    assert after == before, program.renamed
