"""The site that the tests of the pages share."""

import subprocess
from collections.abc import Iterator
from typing import Any

import published
import pytest
from published import UnreadableError

__all__: list[str] = []


@pytest.fixture(autouse=True)
def _not_built_yet() -> Iterator[None]:
    """Let no test of the pages see what was built here."""
    published._built.cache_clear()
    yield
    published._built.cache_clear()


@pytest.mark.parametrize("status", [0, 1])
def test_a_site_is_built_once_be_it_good_or_not(
    monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    """What is wrong is told to each test."""
    built: list[Any] = []

    def run(command: list[Any], **_: Any) -> subprocess.CompletedProcess[str]:
        built.append(command)
        return subprocess.CompletedProcess(command, status, "", "docs/index.md:1: It is wrong.")

    monkeypatch.setattr(subprocess, "run", run)
    for _ in range(2):
        try:
            assert published.site().match(published.PREFIX)
            told = ""
        except UnreadableError as error:
            told = str(error)
        assert told == ("docs/index.md:1: It is wrong." if status else "")
    assert len(built) == 1
