"""How often each problem is met: public reports on its page, rebuilt reports, and its rules."""

import re
from collections import Counter
from typing import Any

from lifespec.conformance.rules import rules
from lifespec.diagnosis.problem import PROBLEMS
from lifespec_docs.views.records import read
from lifespec_docs.words import ROOT

REPORT = re.compile(r"\]\(https://github\.com/[^)]*/\d+\)")  # a link to an issue or pull request
CODE = re.compile(r"`([a-z-]+)`")  # a rule is named so, but other things are, too


def problems() -> dict[str, Any]:
    """Return a row for each problem, those with the most reports first."""
    named_by_check = _rebuilt()
    rows: list[dict[str, Any]] = []
    for name in PROBLEMS:
        page = (ROOT / "docs" / "problems" / f"{name}.md").read_text("utf-8")
        reports = page.partition("\n## Reports\n")[2]
        row = {
            "name": name,
            "linked": len(REPORT.findall(reports)),
            "rebuilt": named_by_check[name],
            "rules": [code for code in CODE.findall(reports) if code in rules()],
        }
        rows.append(row)
    rows.sort(key=lambda row: row["linked"] + row["rebuilt"], reverse=True)
    return {"rows": rows}


def _rebuilt() -> Counter[str]:
    """Return by problem in how many rebuilt reports `check app` names it."""
    record = read("reports")
    sets = [record["reports"], record["rebuilt"]]  # the first draw, and those without a draw
    for draw in record["draws"]:
        sets.append(draw["reports"])
    by_problem: Counter[str] = Counter()
    for reports in sets:
        for report in reports.values():
            if "run" in report:  # the day on which its program was last checked
                by_problem.update(report["by"])
    return by_problem


TABLES = {"problems": problems}
