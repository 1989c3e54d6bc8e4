"""What each problem is worth: the public reports of it, those that were rebuilt, and its rule."""

import re
from collections import Counter
from typing import Any

from lifespec.conformance.rules import rules
from lifespec.diagnosis.problem import PROBLEMS
from lifespec_docs.views.records import read
from lifespec_docs.words import ROOT

REPORT = re.compile(r"\]\(https://github\.com/[^)]*/\d+\)")
CODE = re.compile(r"`([a-z-]+)`")


def worth() -> dict[str, Any]:
    """Return a row for each problem, those with the most reports first."""
    record = read("reports")
    rebuilt: Counter[str] = Counter()
    later = [draw["reports"] for draw in record["draws"]]
    for reports in (record["reports"], record["rebuilt"], *later):
        for report in reports.values():
            if "run" in report:
                rebuilt.update(report["by"])
    rows: list[dict[str, Any]] = []
    for name in PROBLEMS:
        page = (ROOT / "docs" / "problems" / f"{name}.md").read_text("utf-8")
        links = page.partition("\n## Reports\n")[2]
        named = [code for code in CODE.findall(links) if code in rules()]
        linked = len(REPORT.findall(links))
        rows.append({"name": name, "linked": linked, "rebuilt": rebuilt[name], "rules": named})
    rows.sort(key=lambda row: -row["linked"] - row["rebuilt"])
    return {"rows": rows}


TABLES = {"problems": worth}
