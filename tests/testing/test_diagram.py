"""Conversations as sequence diagrams in text."""

from lifespec.testing.diagram import sequence
from lifespec.testing.trace import Entry

__all__: list[str] = []


def test_diagrams() -> None:
    """A conversation is a sequence diagram, with times where time passed."""
    entries = [
        Entry(0.0, "called", "lifespan"),
        Entry(0.0, "received", "lifespan.startup"),
        Entry(0.5, "sent", "lifespan.startup.failed", "no database"),
        Entry(0.5, "refused", "lifespan." + "x" * 60, "\n".join("abcdefg")),
        Entry(1.0, "raised", "OSError", "no"),
    ]
    dashes = "-" * 43
    assert sequence(entries).splitlines() == [
        "         server                                               application",
        f"  0.000 s  |-- lifespan {dashes}>|",
        "  0.000 s  |-- lifespan.startup ----------------------------------->|",
        "  0.500 s  |<---------------------------- lifespan.startup.failed --|",
        "           |  no database",
        "  0.500 s  |X--- lifespan.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx... --|",
        "           |  ...",
        "           |  d",
        "           |  e",
        "           |  f",
        "           |  g",
        "  1.000 s  |                                         raised OSError X",
        "           |  no",
    ]
    ends = [Entry(0.0, "returned"), Entry(0.0, "cancelled")]
    assert sequence(ends, "suite", "app").splitlines() == [
        "         suite                                                        app",
        "           |                                               returned X",
        "           |-- cancelled ------------------------------------------>X",
    ]
