"""`python -m lifespec` is the command."""

import importlib
import runpy
import sys
from pathlib import Path

import pytest

import lifespec

__all__: list[str] = []


def test_the_module_runs_the_command(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its exit status is the command's.

    By its path: pytest may have imported the module by a loader that `run_module` cannot use.
    """
    path = Path(lifespec.__file__).with_name("__main__.py")
    monkeypatch.setattr(sys, "argv", ["lifespec", "copy", "nothing"])
    with pytest.raises(SystemExit, match="2"):
        runpy.run_path(str(path), run_name="__main__")
    assert capfd.readouterr().err.startswith("lifespec: there is no file nothing to copy")


def test_importing_it_runs_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """It can be looked at."""
    module = importlib.import_module("lifespec.__main__")
    assert module.__all__ == []
    assert capfd.readouterr() == ("", "")
