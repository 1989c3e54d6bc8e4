"""With which status a server ends after a failure, on a page."""

import json
from pathlib import Path

import pytest

from sample_site import SampleSite

__all__: list[str] = []

CASES = {
    "failed-with-message": "startup-failed-exits",
    "two-workers-failed": "startup-failed-exits",
    "shutdown-failed-with-message": "shutdown-failed-ends",
    "two-workers-shutdown-failed": "shutdown-failed-ends",
    "well-behaved": "shutdown-sent",
}


def finding(case: str, actual: str, verdict: str = "pass") -> dict[str, str]:
    """Return a finding."""
    return {"case": case, "rule": CASES[case], "verdict": verdict, "actual": actual}


LOUD = [
    finding("failed-with-message", "The process ended with status 3."),
    finding("two-workers-failed", "The process was still there 10 s later.", "warn"),
    finding("shutdown-failed-with-message", "The process ended by signal 15 after 0.2 s."),
    finding("two-workers-shutdown-failed", "Not run: it has no workers.", "skip"),
    finding("well-behaved", "Shutdown came once; the process ended with status 0 after 0.1 s."),
]
NEVER = [finding("well-behaved", "No lifespan took place.", "skip")]


@pytest.mark.parametrize("option", ["", "\n:startup:"])
def test_each_server_with_a_lifespan_has_a_row(tmp_path: Path, option: str) -> None:
    """A case that is newer than the record is shown as that."""
    page = f"# A\n\n```{{exit-statuses}} servers{option}\n```\n"
    sample = SampleSite(tmp_path, {"index": page}, "rules.domain", "records.exit_statuses")
    (sample.docs / "matrix").mkdir()
    subjects = [
        {"name": name, "versions": {name: "1.0"}, "findings": findings}
        for name, findings in {"loud": LOUD, "never": NEVER, "old": LOUD[:1]}.items()
    ]
    (sample.docs / "matrix" / "servers.json").write_text(json.dumps({"subjects": subjects}))
    heads = ["Server", "Startup failed", "Startup failed, two workers"]
    loud, old = ["loud", "3", "still running"], ["old", "3", "not yet measured"]
    if not option:
        heads += ["Shutdown failed", "Shutdown failed, two workers", "No failure"]
        loud += ["143 (SIGTERM)", "\N{EN DASH}", "0"]
        old += ["not yet measured"] * 3
    with sample:
        rows = sample.page().select("table.exit-statuses tr")
        found = [[cell.get_text(strip=True) for cell in row.select("th, td")] for row in rows]
        assert found == [heads, loud, old]
