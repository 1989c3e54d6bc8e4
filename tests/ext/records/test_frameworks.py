"""What applications of frameworks do, on a page: drawn from the record."""

import json
from pathlib import Path

from lifespec_docs.facts.recorded import ROOT
from lifespec_docs.records.frameworks import Run, has_hooks
from sample_site import SampleSite

__all__: list[str] = []


def test_a_name_that_is_not_there_is_told(tmp_path: Path) -> None:
    """Of a table, and of a framework."""
    page = "# A\n\n```{frameworks} hats\n```\n\n```{framework} Hat\n```\n"
    record = {"python": "CPython 3.11", "system": "Linux", "subjects": []}
    sample = SampleSite(tmp_path, {"index": page}, "records.frameworks")
    (sample.docs / "matrix").mkdir()
    (sample.docs / "matrix" / "frameworks.json").write_text(json.dumps(record))
    with sample:
        text = "\n".join(sample.warnings)
    assert "There is no table 'hats', only failures, " in text
    assert "There is no framework 'Hat', only " in text


def test_each_application_of_the_record_has_its_program_and_starts_or_has_no_hooks() -> None:
    """No program is left that nobody has run."""
    record = json.loads((ROOT / "docs/matrix/frameworks.json").read_text("utf-8"))
    folder = ROOT / "docs" / "programs" / "frameworks"
    programs = {path.stem for path in folder.glob("*.py")} - {"resources"}
    variants = [each for row in record["subjects"] for each in row["variants"].values()]
    assert {row["program"] for row in [*record["subjects"], *variants]} == programs
    for row in record["subjects"]:
        usual = Run(row["happened"]["usual"])
        assert has_hooks(row["happened"]) == (["connect", "cache"] in usual.lived)
