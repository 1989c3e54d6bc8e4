"""The results of servers in a line each."""

import json
from pathlib import Path

from sample_site import SampleSite

__all__: list[str] = []

RULE = "```{rule} startup-sent\nThe server must send it.\n```\n\n```python\npass\n```\n"


def finding(verdict: str, rule: str = "startup-sent", *, silent: bool = False) -> dict[str, object]:
    """Return a finding."""
    return {"case": "plain", "rule": rule, "verdict": verdict, "silent": silent}


def test_rules_are_counted_by_the_verdict_that_counts(tmp_path: Path) -> None:
    """A case that is not specified counts nowhere; a server without lifespan has words instead."""
    servers = {
        "good": [finding("pass"), finding("info"), finding("fail", silent=True)],
        "bad": [finding("pass"), finding("fail"), finding("warn", "answered-once")],
        "none": [finding("skip"), finding("skip", "answered-once")],
    }
    record = [
        {"name": name, "versions": {name: "1.0", "also": "2"}, "findings": findings}
        for name, findings in servers.items()
    ]
    again = RULE.replace("startup-sent", "answered-once")
    again = again.replace("The server must send it.", "A second answer is refused.")
    page = f"# A\n\n{RULE}\n{again}\n```{{server-results}}\n```\n"
    extensions = "rules.domain", "examples.directive", "records.results"
    sample = SampleSite(tmp_path, {"index": page}, *extensions)
    (sample.docs / "matrix").mkdir()
    (sample.docs / "matrix" / "servers.json").write_text(json.dumps({"subjects": record}))
    with sample:
        found = sample.page().select("table.server-results tr")
        assert [[cell.get_text().strip() for cell in row.select("th, td")] for row in found] == [
            ["Server", "✓ PASS", "△ WARN", "✗ FAIL", "Rules missed"],
            ["good 1.0", "1", "0", "0", ""],
            ["bad 1.0", "0", "1", "1", "startup-sent, answered-once"],
            ["none 1.0", "", "", "", "never calls the application with a lifespan scope"],
        ]
        links = sample.page().select("table.server-results a")
        assert links[0]["href"] == "#startup-sent"
