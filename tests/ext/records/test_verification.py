"""What long commands measured, on a page."""

import json
from pathlib import Path
from typing import Any

import pytest

from sample_site import SampleSite

__all__: list[str] = []

KINDS = (
    "A negation",
    "The name of something else",
    "A name that does not exist",
    "A number",
    "A level",
    *(("Server and application", "An outcome", "An exit status")),
)
PARITY = [
    "Examples",
    "Can run in a browser",
    "Same output in English",
    "Same output in Chinese",
]
FOUND: dict[str, dict[str, Any]] = {
    "drift": {
        "python": "CPython 3.11.2",
        "mutmut": "3.8.1",
        "code": {"server": {"mutants": 1000, "tried": 500, "noticed": 400}},
    },
    "statements": {
        "chinese": {"all": {"tried": 1, "noticed": 0}, "order": {"tried": 1, "noticed": 0}},
        "both": {
            "all": {"tried": 9, "noticed": 6},
            "others": {"tried": 5, "noticed": 5},
            "level": {"tried": 9, "noticed": 6},
        },
    },
    "mutation": {
        "python": "3.11.2",
        "mutmut": "3.8.1",
        "parts": {
            "server": {"mutants": 1000, "noticed": 999, "equivalent": 1, "survived": 0},
            "server tables": {"mutants": 2, "noticed": 1, "equivalent": 0, "survived": 1},
        },
    },
    "parity": {
        "python": "3.14.2",
        "pyodide": "314.0.7",
        "pages": {
            "index": {"examples": 7, "virtual": 5, "en": 5, "zh": 4},
            "other": {"examples": 1, "virtual": 1, "en": 1, "zh": 1},
        },
    },
    "peers": {
        "python": "CPython 3.11.7",
        "suites": [
            {
                "server": "uvicorn",
                "version": "0.54.0",
                "own": {"passed": 1316, "failed": 0, "skipped": 12},
                "adapted": {"passed": 1315, "failed": 1, "skipped": 12},
            }
        ],
    },
    "exhaustive": {
        "python": "3.11.2",
        "actions": {"drivers": 4, "server": 5},
        "server": {
            "5": {
                "applications": 18306,
                "told apart": 9,
                "stop points of one": 2,
                "runs": 7,
                "differences": 0,
            }
        },
        "drivers": {
            name: {
                "version": version,
                "4": {"as the texts say": 1, "unspecified": 2, "otherwise": 3, "waits for ever": 4},
            }
            for name, version in (("lifespec", ""), ("uvicorn", "0.54"))
        },
    },
}


def tried(folder: Path, record: str, part: str, **found: Any) -> SampleSite:
    """Make a page that shows part of a record."""
    sample = SampleSite(
        folder,
        {"index": f"# A\n\n```{{{record}}} {part}\n```\n", "other": "# B\n"},
        "records.verification",
    )
    (sample.docs / "matrix").mkdir()
    (sample.docs / "matrix" / f"{record}.json").write_text(json.dumps(FOUND[record] | found))
    return sample


@pytest.mark.parametrize(
    ("record", "part", "rows"),
    [
        (
            "peers",
            "suites",
            [
                ["Test suite", "Passed", "Failed", "Skipped"],
                ["uvicorn 0.54.0, its own code", "1,316", "0", "12"],
                ["uvicorn 0.54.0 with server.py", "1,315", "1", "12"],
            ],
        ),
        (
            "statements",
            "kinds",
            [
                ["Kind", "In Chinese alone", "In both languages"],
                ["All", "0 / 1", "6 / 9"],
                ["About lifespec or the protocol", "–", "–"],
                ["About other software", "–", "5 / 5"],
                ["With a link to a rule", "–", "–"],
                ["A default", "–", "–"],
                ["Before and after", "0 / 1", "–"],
                *([title, "–", "6 / 9" if title == "A level" else "–"] for title in KINDS),
            ],
        ),
        (
            "mutation",
            "code",
            [
                ["File", "Mutants", "Noticed", "Equivalent", "Survived"],
                ["server.py", "1,000", "999", "1", "0"],
                ["server.py (tables)", "2", "1", "0", "1"],
            ],
        ),
        (
            "drift",
            "code",
            [
                ["File", "Mutants", "Tried", "Noticed"],
                ["server.py", "1,000", "500", "400"],
            ],
        ),
        (
            "parity",
            "total",
            [PARITY, ["8", "6", "6", "5"]],
        ),
        (
            "parity",
            "pages",
            [["Page", *PARITY], ["A", "7", "5", "5", "4"], ["B", "1", "1", "1", "1"]],
        ),
        (
            "exhaustive",
            "server",
            [
                [
                    "Actions",
                    "Applications",
                    "With behaviour of their own",
                    "Points to stop at, at most",
                    "Runs",
                    "Differences",
                ],
                ["5", "18,306", "9", "2", "7", "0"],
            ],
        ),
        (
            "exhaustive",
            "drivers",
            [
                ["Implementation", "As specified", "Not specified", "Differs", "Does not end"],
                ["lifespec", "1", "2", "3", "4"],
                ["uvicorn 0.54", "1", "2", "3", "4"],
            ],
        ),
    ],
)
def test_a_part_is_a_table(record: str, part: str, rows: list[list[str]], tmp_path: Path) -> None:
    """With the numbers of the record."""
    with tried(tmp_path, record, part) as sample:
        found = sample.page().select("table tr")
        assert [[cell.get_text().strip() for cell in row.select("th, td")] for row in found] == rows


def test_a_part_that_there_is_not(tmp_path: Path) -> None:
    """It is a fault of the page, with its line."""
    with tried(tmp_path, "drift", "luck") as sample:
        (first, *_) = sample.warnings
        assert first.startswith("docs/index.md:3: ERROR: ")
        assert "There is no part 'luck', only code, when." in first
