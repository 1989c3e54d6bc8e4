"""What a specification's page draws from the tables of the validator."""

from pathlib import Path

import pytest

from lifespec.validate import EVENTS
from lifespec_docs.rules import spec_tables
from sample_site import SampleSite

__all__: list[str] = []


def drawn(folder: Path, directive: str) -> list[list[str]]:
    """Return the cells of the table that a directive draws, row by row."""
    with SampleSite(
        folder, {"index": f"# A\n\n```{directive}\n```\n"}, "rules.spec_tables"
    ) as sample:
        assert not sample.warnings
        return [
            [cell.get_text(" ", strip=True) for cell in row.find_all(["th", "td"])]
            for row in sample.page().select("table.drawn tr")
        ]


def test_the_events_of_a_text_stand_in_a_table(tmp_path: Path) -> None:
    """With who sends them, and the keys beside the type."""
    head, *rows = drawn(tmp_path, "{events} asgi 2.0")
    assert head == ["Event", "Sent by", "Other keys"]
    assert [row[:2] for row in rows] == [[event.type, event.sender] for event in EVENTS.values()]
    assert [row[2] for row in rows if row[0].endswith(".failed")] == ['message , by default ""'] * 2
    assert {row[2] for row in rows if not row[0].endswith(".failed")} == {spec_tables.NONE}


def test_a_text_without_failures_has_four_events(tmp_path: Path) -> None:
    """Lifespan 1.0 has no answer that says no."""
    assert [row[0] for row in drawn(tmp_path, "{events} asgi 1.0")[1:]] == [
        "lifespan.startup",
        "lifespan.startup.complete",
        "lifespan.shutdown",
        "lifespan.shutdown.complete",
    ]


def test_the_texts_stand_side_by_side(tmp_path: Path) -> None:
    """Those of one shape share a column; the first column is keys, and words of ours."""
    head, *rows = drawn(tmp_path, "{compared}")
    assert head == [
        "Property",
        "lifespan 1.0 (ASGI)",
        "lifespan 2.0 (ASGI)",
        "AMGI 1.0 and 2.0",
        "PAGI 0.3",
    ]
    found = {row[0]: row[1:] for row in rows}
    assert list(found) == list(spec_tables.HEADS)
    assert found["versions under"] == [spec_tables.NONE, "asgi", "amgi", "pagi"]
    assert found["spec_version"] == [
        spec_tables.NONE,
        '"2.0" ; optional',
        '"1.0" , "2.0" ; always',
        '"0.3" ; optional',
    ]
    assert found["worker_num"] == [*[spec_tables.NONE] * 3, "1 , 2 ; optional"]
    default = 'message , by default ""'
    assert found["*.failed"] == [spec_tables.NONE, default, "message ; always", default]


@pytest.mark.parametrize("directive", ["{keys} pagi 0.4", "{events} amgi 1.0, asgi"])
def test_an_unknown_text_is_told(tmp_path: Path, directive: str) -> None:
    """With file and line, and those that are known."""
    with SampleSite(
        tmp_path, {"index": f"# A\n\n```{directive}\n```\n"}, "rules.spec_tables"
    ) as sample:
        (warning,) = [line for line in sample.warnings if "There is no spec" in line]
        assert warning.startswith("docs/index.md:3: ")
        assert "asgi 1.0, asgi 2.0, amgi 1.0" in warning


def test_a_text_that_is_named_twice_is_told(tmp_path: Path) -> None:
    """Another one was meant."""
    page = "# A\n\n```{events} amgi 1.0, amgi 1.0\n```\n"
    with SampleSite(tmp_path, {"index": page}, "rules.spec_tables") as sample:
        assert any("named twice: amgi 1.0, amgi 1.0" in line for line in sample.warnings)


def test_what_two_pages_draw_is_told(tmp_path: Path) -> None:
    """One of them draws that of another text; a page that is read again has it still."""
    pages = dict.fromkeys(("index", "other"), "# A\n\n```{keys} pagi 0.3\n```\n")
    with SampleSite(tmp_path, pages, "rules.spec_tables", builder="dummy") as sample:
        (warning,) = [line for line in sample.warnings if "already" in line]
        assert warning.startswith("docs/other.md:3: ")
        assert "{keys} of pagi 0.3 stands on page 'index' already." in warning
        (sample.docs / "other.md").write_text("# A\n")
        sample.app.warning.truncate(0)
        (sample.docs / "index.md").write_text(f"{pages['index']}\nMore.\n")
        sample.app.build()
        assert not [line for line in sample.warnings if "already" in line]
