"""The tables of outcomes and of exit statuses."""

from pathlib import Path

from lifespec_docs.facts.tables import raised
from sample_site import SampleSite

__all__: list[str] = []


def test_what_is_raised() -> None:
    """It is what `Lifespan` raises when applications run to each outcome."""
    assert raised(strict=False) == {
        "complete": [],
        "failed": ["StartupFailed", "ShutdownFailed"],
        "unsupported": [],
        "crashed": [],
        "returned": [],
        "timed_out": ["StartupTimeout", "ShutdownTimeout"],
    }
    assert raised(strict=True) == raised(strict=False) | {
        "unsupported": ["LifespanUnsupported"],
        "crashed": ["ShutdownFailed"],
        "returned": ["ShutdownFailed"],
    }


def test_the_tables(tmp_path: Path) -> None:
    """What decides an outcome is read from the table of transitions."""
    page = "# A\n\n```{outcomes}\n```\n\n```{statuses}\n```\n"
    with SampleSite(tmp_path, {"index": page}, "facts.tables") as built:
        outcomes, statuses = (
            [[cell.get_text(strip=True) for cell in row.select("th, td")] for row in found("tr")]
            for found in built.page().select("table")
        )
    assert outcomes[0] == ["Outcome", "The application", "Raised", "Raised under strict"]
    decided = {row[0]: row[1] for row in outcomes}
    assert decided["complete"] == "sentlifespan.shutdown.complete"
    assert decided["failed"] == "sentlifespan.startup.failedorlifespan.shutdown.failed"
    assert decided["unsupported"] == "returned or raised before it answered startup"
    assert decided["crashed"] == (
        "sentlifespan.shutdown.failed; raised after startup and before it answered shutdown"
    )
    assert decided["timed_out"] == "did not answer within the timeout"
    assert decided["cancelled"] == "was cancelled with the server"
    assert statuses[0] == ["Result", "Exit status", "Strict"]
    found = [(status, strict) for _, status, strict in statuses[1:]]
    assert found[:3] == [("0", "0"), ("0", "0"), ("0", "1")]
    assert {status for status, _ in found} == {"0", "1", "2", "129", "130", "143"}
