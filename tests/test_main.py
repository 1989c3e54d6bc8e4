"""`python -m lifespec` is the command."""

import importlib
import runpy
import sys

import pytest

__all__: list[str] = []


def test_the_module_runs_the_command(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its exit status is the command's."""
    monkeypatch.setattr(sys, "argv", ["lifespec", "copy", "nothing"])
    with pytest.raises(SystemExit, match="2"):
        runpy.run_module("lifespec", run_name="__main__")
    assert capfd.readouterr().err.startswith("lifespec: there is no 'nothing'")


def test_importing_it_runs_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """It can be looked at."""
    module = importlib.import_module("lifespec.__main__")
    assert module.__all__ == []
    assert capfd.readouterr() == ("", "")
