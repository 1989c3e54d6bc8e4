"""The tables of outcomes and of exit statuses."""

from lifespec_docs.facts.tables import raised


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
