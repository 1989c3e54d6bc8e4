"""What a specification's page draws from the tables of the validator."""

from pathlib import Path

import pytest

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
