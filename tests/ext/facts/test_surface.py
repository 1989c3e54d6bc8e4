"""What a user can name of lifespec is tried on a page."""

from pathlib import Path

import pytest

from lifespec_docs.facts import surface
from lifespec_docs.facts.known import ROOT


def test_each_kind_of_thing_is_looked_for() -> None:
    assert set(surface.surface(ROOT)) > {
        ("outcome", '"timed_out"'),
        ("phase", '"cancelling"'),
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
    names = "checked", "shown", "run", "said", "in", "not-run"
    monkeypatch.setattr(surface, "surface", lambda _: [("option", f"--{each}") for each in names])
    (tmp_path / "docs").mkdir()
    assert [*surface.faults(tmp_path)] == []
    (tmp_path / "docs/api.rst").write_text(
        ".. autofunction:: lifespec.lifespan_scope\n\n   .. check::\n\n      assert named.worker\n"
        ".. autofunction:: lifespec.testing.sequence\n"
        ".. autoclass:: lifespec.testing.Recorder()\n\n.. autoexception:: lifespec.Violation\n"
    )
    (tmp_path / "docs/page.md").write_text(
        "`--said`, and `--in-other`.\n\n```{check}\nassert command('x --checked --in-other')\n```\n"
        "```python\nprint('--shown')\n```\n```sh\nx --said\n```\n\n{.real}\n```sh\nx y --run\n```\n"
        "\n{.not-run}\n```python\nprint('--not-run')\n```\n"
        "```python\naside(sequence, entries)\nlifespan_scope(spec)\nother(state=1)(server=2)\n```\n"
    )

    tries = "docs: no check and no program of a page tries the "
    assert [
        fault.split(": state")[0].removeprefix(tries) for fault in surface.faults(tmp_path)
    ] == [
        *("option --said", "option --in", "option --not-run"),
        "argument state of lifespec.lifespan_scope",
        "argument server of lifespec.testing.sequence",
        "argument application of lifespec.testing.sequence",
    ]
