"""The pages that tell of time: versions and dates stand in order, the newest is the package's."""

import re
import tomllib

from published import ROOT

DATED = re.compile(r"^\| (\d{4}-\d\d-\d\d) \|", re.MULTILINE)


def test_the_newest_change_is_that_of_this_version() -> None:
    versions = re.findall(r"^## (\S+)$", (ROOT / "docs" / "changelog.md").read_text(), re.MULTILINE)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert versions[0] == project["version"]


def test_each_history_goes_forward() -> None:
    """The dates of a table are in order, and there are three tables."""
    parts = (ROOT / "docs" / "specifications.md").read_text().split("{.timeline}")[1:]
    assert len(parts) == 3
    for dates in map(DATED.findall, parts):
        assert len(dates) > 1
        assert dates == sorted(dates)
