"""The index of log lines and exceptions."""

import json
from pathlib import Path
from typing import Any

import pytest

from lifespec_docs.records.logindex import EXCEPTIONS, MESSAGES
from sample_site import SampleSite

__all__: list[str] = []

RECORD = {
    "programs": {"raises": 'raise ConnectionError("no database")', "quiet": ""},
    "subjects": [
        {
            "name": "one",
            "runs": {
                "raises": {
                    "SIGTERM": {"lines": ["INFO:     No lifespan."]},
                    "SIGINT": {"lines": ["INFO:     No lifespan.", "[ERROR] Bad"]},
                }
            },
        },
        {
            "name": "two",
            "runs": {"raises": {"SIGTERM": {"lines": ["[ERROR] Bad", "ERROR no database"]}}},
        },
    ],
}
ALL = [f"index | {name}" for name in (*EXCEPTIONS, *MESSAGES)]
CLASSES = "".join(f"\n```{{py:exception}} {name}\n```\n" for name in EXCEPTIONS)


def tried(folder: Path, *lines: str, **options: Any) -> SampleSite:
    """Make a page with an index."""
    index = "\n".join(lines)
    page = f"# A page\n\n(why)=\n## The reason\n\n```{{log-index}}\n{index}\n```\n{CLASSES}"
    sample = SampleSite(folder, {"index": page}, "records.logindex", **options)
    (sample.docs / "matrix").mkdir()
    (sample.docs / "matrix" / "loglines.json").write_text(json.dumps(RECORD))
    return sample


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["why | sings", *ALL], "This is no program, exception or log line: 'sings'."),
        (ALL, "No section explains 'raises'."),
        (["why | raises", *ALL[1:]], "No section explains 'lifespec.LifespanUnsupported'."),
        (["why | raises", *ALL[:-1]], "No section explains 'The application raised after"),
    ],
)
def test_what_is_missing_or_unknown_is_told(tmp_path: Path, lines: list[str], told: str) -> None:
    """A new server's line, exception or message cannot be forgotten."""
    with tried(tmp_path, *lines) as sample:
        assert told in "\n".join(sample.warnings)


def test_a_section_that_is_not_there_is_told(tmp_path: Path) -> None:
    """As with any link."""
    with tried(tmp_path, "gone | raises", *ALL) as sample:
        assert "undefined label: 'gone'" in "\n".join(sample.warnings)


def test_exceptions_and_messages_are_those_of_the_library() -> None:
    """Warnings too, and what is logged at each level."""
    assert "lifespec.testing.LifespanWarning" in EXCEPTIONS
    assert "lifespec.Lifespan" not in EXCEPTIONS
    assert "The application did not answer startup" in MESSAGES
    assert "The application " not in MESSAGES
