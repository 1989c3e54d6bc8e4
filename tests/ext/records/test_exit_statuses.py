"""With which status a server ends after a failure, on a page."""

import json
from pathlib import Path
from typing import Any

from sample_site import SampleSite


def finding(case: str, rule: str, actual: str, verdict: str = "pass") -> dict[str, str]:
    return {"case": case, "rule": rule, "verdict": verdict, "actual": actual}


def test_each_server_with_a_lifespan_has_a_row(tmp_path: Path) -> None:
    """A case that is newer than the record is shown as that."""
    page = "# A\n\n```{exit-statuses} servers\n```\n"
    sample = SampleSite(tmp_path, {"index": page}, "rules.domain", "records.exit_statuses")
    (sample.docs / "matrix").mkdir()
    startup, shutdown = "startup-failed-exits", "shutdown-failed-ends"
    first = finding("failed-with-message", startup, "The process ended with status 3.")
    rows: dict[str, list[Any]] = {
        "loud": [
            first,
            finding("two-workers-failed", startup, "The process was still there.", "warn"),
            finding("shutdown-failed-with-message", shutdown, "It ended by signal 15 after 0.2 s."),
            finding("two-workers-shutdown-failed", shutdown, "It has no workers.", "skip"),
            finding("well-behaved", "shutdown-sent", "The process ended with status 0."),
        ],
        "never": [finding("well-behaved", "shutdown-sent", "No lifespan took place.", "skip")],
        "old": [first],
    }
    subjects = [{"name": name, "versions": {name: "1.0"}, "findings": rows[name]} for name in rows]
    (sample.docs / "matrix" / "servers.json").write_text(json.dumps({"subjects": subjects}))
    with sample:
        found = sample.page().select("table.exit-statuses tbody tr")
        assert [[cell.get_text(strip=True) for cell in row.select("td")] for row in found] == [
            ["loud", "3", "still running", "143 (SIGTERM)", "\N{EN DASH}", "0"],
            ["old", "3", *["not yet measured"] * 4],
        ]
