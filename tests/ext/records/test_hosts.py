"""What hosts do with a lifespan, on a page: drawn from the record."""

import json

from lifespec_docs.facts.recorded import ROOT

__all__: list[str] = []


def test_each_program_of_the_folder_is_that_of_a_host() -> None:
    """Or the application, what makes the requests, and an event that two of them share."""
    record = json.loads((ROOT / "docs/matrix/hosts.json").read_text("utf-8"))
    programs = {path.stem for path in (ROOT / "docs/programs/hosts").glob("*.py")}
    assert {row["program"] for row in record["subjects"]} == programs - {"visit", "api_gateway"}
    names = (ROOT / "docs/host-compatibility.md").read_text("utf-8")
    assert all(f"{{host}} {row['host']}\n" in names for row in record["subjects"])
