"""What a user can name of lifespec is tried on a page."""

from pathlib import Path

import pytest

from lifespec_docs.facts import surface
from lifespec_docs.facts.known import ROOT

__all__: list[str] = []


def test_each_kind_of_thing_is_looked_for() -> None:
    assert set(surface.surface(ROOT)) > {
        ("argument", "startup_timeout"),
        ("outcome", "timed_out"),
        ("phase", "cancelling"),
        ("option", "--strict"),
        ("option of pytest", "--lifespec-app"),
        ("setting of pytest", "lifespec_startup_timeout"),
        ("marker", "virtual_clock"),
        ("environment variable", "LIFESPEC_BASE_URL"),
        ("environment variable", "LC_MESSAGES"),
    }


def test_a_thing_that_nothing_on_a_page_runs_is_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    things = [("option", f"--{name}") for name in ("checked", "shown", "run", "said", "in")]
    monkeypatch.setattr(surface, "surface", lambda _: [*things, ("argument", "strict")])
    (tmp_path / "docs").mkdir()
    assert [*surface.faults(tmp_path)] == []
    (tmp_path / "docs/api.rst").write_text(
        ".. autoclass:: lifespec.Lifespan\n\n   .. check::\n\n      assert Lifespan(strict=True)\n"
    )
    (tmp_path / "docs/page.md").write_text(
        "`--said`, and `--in-other`.\n\n```{check}\nassert command('x --checked --in-other')\n```\n"
        "```python\nprint('--shown')\n```\n```sh\nx --said\n```\n\n{.real}\n```sh\nx --run\n```\n"
    )

    assert [fault.split(": state")[0] for fault in surface.faults(tmp_path)] == [
        "docs: no check and no program of a page tries the option '--said'",
        "docs: no check and no program of a page tries the option '--in'",
    ]
