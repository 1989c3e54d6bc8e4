"""The table by which readers choose a server, on a page."""

import json
from pathlib import Path
from typing import Any

from sample_site import SampleSite

__all__: list[str] = []

RUN = {"served": True, "alone": False, "shutdown": True, "ended": True, "status": 0}


def subject(name: str, waits: dict[str, Any], **fails: Any) -> dict[str, Any]:
    """Return a server's row of the record; `fails` is what its failed startup has else."""
    ways = {"SIGTERM": RUN, "SIGINT": RUN | {"shutdown": False}}
    failed = dict.fromkeys(("SIGTERM", "SIGINT", "two workers"), RUN | fails)
    runs = {"answers": ways, "hangs-at-startup": ways, "fails": failed}
    return {"name": name, "versions": {name: "1.0"}, "runs": runs, "waits": waits}


def finding(rule: str, verdict: str) -> dict[str, Any]:
    """Return a finding of the other record."""
    return {"case": "state", "rule": rule, "verdict": verdict, "actual": "", "silent": False}


FOREVER = {"": {"ended": False, "shutdown": False, "seconds": 75}}
LIMITED = {
    "": {"ended": True, "shutdown": False, "seconds": 30},
    "--limit": {"ended": True, "shutdown": True, "seconds": 6},
}
PROGRAMS = {"answers": "", "hangs-at-startup": "", "fails": ""}
SUBJECTS = [
    subject("quick", LIMITED, alone=True, served=False, status=3),
    subject("slow", FOREVER),
    subject("never", FOREVER),
]
SERVERS = {
    "quick, one": [finding("state-shallow-copy", "pass")],
    "quick, two": [finding("state-shallow-copy", "fail")],
    "slow": [],
    "never": [finding("state-shallow-copy", "skip")],
}


def shown(folder: Path, content: str) -> SampleSite:
    """Make a page that shows the records."""
    page = f"# A\n\n```{{which-server}}\n{content}\n```\n"
    sample = SampleSite(folder, {"index": page}, "rules.domain", "records.which_server")
    matrix = sample.docs / "matrix"
    matrix.mkdir()
    (matrix / "loglines.json").write_text(json.dumps({"programs": PROGRAMS, "subjects": SUBJECTS}))
    servers = [
        {"name": name, "versions": {name: "1.0"}, "findings": findings}
        for name, findings in SERVERS.items()
    ]
    (matrix / "servers.json").write_text(json.dumps({"subjects": servers}))
    return sample


def test_the_options_are_those_of_a_server_of_the_record(tmp_path: Path) -> None:
    """Another name is refused."""
    with shown(tmp_path, "other | --on") as sample:
        assert "The record has no server 'other'." in str(sample.warnings)
