"""A directive of a record that is given what there is not tells it, with file and line."""

from collections.abc import Iterator

import pytest

import lifespec_docs
from lifespec_docs.facts.recorded import ROOT, read
from lifespec_docs.records.logindex import EXCEPTIONS, MESSAGES, lines
from sample_site import SampleSite

RECORD = read(ROOT, "loglines")
PROGRAMS = [name for name in RECORD["programs"] if any(lines(RECORD, name))]
ALL = [f"index | {name}" for name in (*PROGRAMS, *EXCEPTIONS, *MESSAGES)]
TOLD = {
    "{drift} luck": "There is no part 'luck', only code, when.",
    "{frameworks} hats": "There is no table 'hats', only failures, ",
    "{framework} Hat": "There is no framework 'Hat', only ",
    "{history} amgi": "There is no history 'amgi', only servers, frameworks.",
    "{loglines} sings": "There is no program 'sings', only answers, ",
    "{loglines} raises\n:facts: taste": "There is no fact 'taste', only served, shutdown, ended,",
    "{which-server}\nother | --on": "The record has no server 'other'.",
    "{log-index}\nindex | sings": "This is no program, exception or log line: 'sings'.",
    "\n".join(["{log-index}", *ALL[1:]]): "No section explains 'raises'.",
    "\n".join(["{log-index}", *ALL[:-1]]): "No section explains 'The application raised after",
    "\n".join(["{log-index}", "gone | raises", *ALL[1:]]): "undefined label: 'gone'",
}


@pytest.fixture(scope="module")
def warnings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    page = "# A\n\n" + "\n\n".join(f"```{each}\n```" for each in TOLD)
    extensions = (f"records.{name}" for name in lifespec_docs.FOLDERS["records"])
    sample = SampleSite(
        tmp_path_factory.mktemp("refused"), {"index": page}, "rules.domain", *extensions
    )
    (sample.docs / "matrix").symlink_to(ROOT / "docs" / "matrix")
    with sample:
        yield sample.warnings


@pytest.mark.parametrize("directive", TOLD)
def test_what_there_is_not_is_told(directive: str, warnings: list[str]) -> None:
    line = 3 + sum(each.count("\n") + 3 for each in [*TOLD][: [*TOLD].index(directive)])
    places = f"docs/index.md:{line}: ", f"docs/index.md:{line + 1}: "
    assert any(TOLD[directive] in each and each.startswith(places) for each in warnings)


def test_exceptions_and_messages_are_those_of_the_library() -> None:
    """Warnings too, and what is logged at each level."""
    assert "lifespec.testing.LifespanWarning" in EXCEPTIONS
    assert "lifespec.Lifespan" not in EXCEPTIONS
    assert "The application did not answer startup" in MESSAGES
    assert "The application " not in MESSAGES
