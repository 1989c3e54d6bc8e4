"""What `make drift` found, on a page."""

import json
from pathlib import Path
from typing import Any

import pytest

from lifespec_docs.records.drift_record import PLACES
from trial import Trial

__all__: list[str] = []

CODE = {"mutants": 1000, "listed": 1, "en": 999, "zh": 998}
FOUND: dict[str, Any] = {
    "date": "2026-01-02",
    "python": "CPython 3.11.2",
    "sphinx": "9.0.4",
    "mutmut": "3.8.1",
    "machine": "one that is quick",
    "seconds": {"code": 600, "documents": 1230},
    "code": {"server": CODE},
    "documents": [
        {"language": "both", "place": "rules.toml", "token": "level", "made": 3, "copy": 3},
        {"language": "en", "place": "rule", "token": "event", "made": 5, "run": 3, "other": 2},
        {"language": "en", "place": "rule", "token": "level", "made": 4, "held": 3, "none": 1},
        {"language": "zh", "place": "text", "token": "party", "made": 2, "listed": 2},
    ],
    "listed": [
        {"language": "zh", "place": "text", "token": "party", "reason": "None.", "number": 2},
        {
            "language": "both",
            "place": "rules.toml",
            "token": "level",
            "reason": "None.",
            "number": 1,
        },
    ],
    "survivors": [],
}


def tried(folder: Path, page: str, **found: Any) -> Trial:
    """Make a page that shows what was found."""
    trial = Trial(folder, {"index": f"# A\n\n{page}\n"}, "records.drift_record")
    (trial.docs / "matrix").mkdir()
    (trial.docs / "matrix" / "drift.json").write_text(json.dumps(FOUND | found))
    return trial


def rows(trial: Trial) -> list[list[str]]:
    """Return the texts of the page's table."""
    found = trial.page().select("table tr")
    return [[cell.get_text(strip=True) for cell in row.find_all(["th", "td"])] for row in found]


def test_the_scores(tmp_path: Path) -> None:
    """Of each language; what is listed is neither noticed nor asked for."""
    with tried(tmp_path, "```{drift} scores\n```") as trial:
        head, *found = rows(trial)
        assert head == ["", "Score", "Tried", "Noticed", "Only a copy", "Listed", "Nothing"]
        assert [[cell.replace("\N{NO-BREAK SPACE}", " ") for cell in row] for row in found] == [
            ["Mutants, English", "100 %", "1,000", "999", "0", "1", "0"],
            ["Mutants, Chinese", "99.9 %", "1,000", "998", "0", "1", "1"],
            ["Changes, English", "88.89 %", "9", "8", "0", "0", "1"],
            ["Changes, Chinese", "100 %", "2", "0", "0", "2", "0"],
            ["Changes, both at once", "100 %", "3", "3", "3", "0", "0"],
        ]


def test_what_is_listed(tmp_path: Path) -> None:
    """By place and token, with the reason and how often."""
    with tried(tmp_path, "```{drift} listed\n```") as trial:
        assert rows(trial) == [
            ["Place", "Token", "Changes", "Reason"],
            ["Other prose, Chinese", "party", "2", "None."],
            ["rules.toml", "level", "1", "None."],
        ]


def test_the_mutants_by_file(tmp_path: Path) -> None:
    """How many there are, and in which language they were noticed."""
    with tried(tmp_path, "```{drift} code\n```") as trial:
        assert rows(trial) == [
            ["File", "Mutants", "Listed", "Noticed in English", "Noticed in Chinese"],
            ["server.py", "1,000", "1", "999", "998"],
        ]


def test_the_changes_by_place(tmp_path: Path) -> None:
    """In one order, whatever the record's; what is listed counts as what it is."""
    with tried(tmp_path, "```{drift} documents\n```") as trial:
        head, *found = rows(trial)
        guards = ["An example", "A table or a test", "The other language", "Only a copy"]
        assert head == ["Place", "Changes", *guards, "Nothing"]
        assert found == [
            ["Rules, English", "9", "3", "3", "2", "0", "1"],
            ["rules.toml", "3", "0", "0", "0", "3", "0"],
            ["Other prose, Chinese", "2", "0", "0", "0", "0", "2"],
        ]
        assert not trial.page().select("svg")


def test_the_changes_by_token(tmp_path: Path) -> None:
    """A row for each, by the alphabet."""
    with tried(tmp_path, "```{drift} tokens\n```") as trial:
        assert [row[:2] for row in rows(trial)] == [
            ["Token", "Changes"],
            ["event", "5"],
            ["level", "7"],
            ["party", "2"],
        ]


def test_a_chart_can_be_read_without_being_seen(tmp_path: Path) -> None:
    """Its description has each share; none is 100 % where something is missing."""
    many = {"language": "en", "place": "case", "token": "event", "made": 9999, "run": 9998}
    with tried(
        tmp_path, "```{drift} documents\n:chart:\n```", documents=[*FOUND["documents"], many]
    ) as trial:
        (drawing,) = trial.page().select("figure svg")
        assert drawing["role"] == "img"
        assert drawing.find("desc").get_text().replace("\N{NO-BREAK SPACE}", " ") == (
            "Rules, English: 88.89 %; Decisions, English: 99.9 %; rules.toml: 0 %; "
            "Other prose, Chinese: 0 %"
        )
        assert len(drawing.select("path")) == 8


def test_all_is_100_percent(tmp_path: Path) -> None:
    """Where nothing is missing."""
    row = {"language": "en", "place": "case", "token": "event", "made": 7, "run": 7}
    page = "```{drift} documents\n:chart:\n```"
    with tried(tmp_path, page, documents=[row]) as trial:
        told = trial.page().select("figure desc")[0].get_text()
        assert told.replace("\N{NO-BREAK SPACE}", " ") == "Decisions, English: 100 %"


@pytest.mark.parametrize(
    ("survivors", "shown"), [([], "None."), (["a.md:1: one", "b.md:2: two"], "a.md:1: one\nb.md")]
)
def test_survivors_are_named(tmp_path: Path, survivors: list[str], shown: str) -> None:
    """Or it is said that there are none."""
    with tried(tmp_path, "```{drift} survivors\n```", survivors=survivors) as trial:
        assert shown in trial.page().find(class_="body").get_text()


def test_when_it_was_measured(tmp_path: Path) -> None:
    """How much, how long, with what and where."""
    with tried(tmp_path, "```{drift} when\n```") as trial:
        text = trial.page().get_text()
        assert "1,000 mutants and 14 changes, tried in 30 minutes of a processor" in text
        versions = "CPython 3.11.2, Sphinx 9.0.4, mutmut 3.8.1"
        assert f"Measured on 2026-01-02: {versions}; one that is quick." in text


def test_a_part_that_there_is_not(tmp_path: Path) -> None:
    """It is a fault of the page, with its line."""
    with tried(tmp_path, "```{drift} luck\n```") as trial:
        (first, *_) = trial.warnings
        assert first.startswith("docs/index.md:3: ERROR: ")
        assert "There is no part 'luck'" in first


def test_its_words_are_translated(tmp_path: Path) -> None:
    """Names of files are not."""
    built = tried(tmp_path, "```{drift} documents\n```")
    built.configuration["language"] = "zh_CN"
    built.translate("lifespec", {"Place": "位置", "Rules, English": "规则（英文）"})  # noqa: RUF001
    with built:
        first = [row[0] for row in rows(built)]
        assert first == ["位置", "规则（英文）", "rules.toml", "Other prose, Chinese"]  # noqa: RUF001


def test_every_place_of_the_record_has_a_name() -> None:
    """What `make drift` changes today is what the page knows."""
    path = Path(__file__).parents[3] / "docs" / "matrix" / "drift.json"
    found = json.loads(path.read_text())["documents"]
    assert {f"{row['language']} {row['place']}" for row in found} <= set(PLACES)
