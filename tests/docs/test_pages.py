"""The examples of every page, in both languages, and those of the README."""

from collections.abc import Iterator

import pytest
from lifespec_docs.examples import download, runner
from lifespec_docs.examples.directive import programs
from published import ROOT, known, of_readme, published, site

pytestmark = pytest.mark.timeout(300)  # the first test builds the site

TRACEBACK = "Traceback (most recent call last):"
README = of_readme((ROOT / "README.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_example_ran(language: str) -> None:
    """It printed what its page shows, else the site would not be built; some need a program."""
    site()
    pages = known()[language].values()
    ran = [(page["run"] + len(page["not_run"]), len(page["blocks"])) for page in pages]
    assert [counts for counts in ran if counts[0] != counts[1]] == []
    assert sum(count for count, _ in ran) > 150
    if not_run := [each for page in pages for each in page["not_run"]]:
        pytest.skip(f"not run, for want of a program: {', '.join(not_run)}")


@pytest.fixture(scope="module")
def readme() -> Iterator[runner.Session]:
    """Run the examples of the README, one after another."""
    with runner.Session(README) as session:
        yield session


@pytest.mark.parametrize("number", range(len(README)), ids=lambda n: f"line {README[n].line}")
def test_an_example_of_the_readme(readme: runner.Session, number: int) -> None:
    readme.run(number)


def lines(text: str) -> list[str]:
    """Return the lines that say something: a blank one at the edge of an output is not shown."""
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def printed(program: runner.Example) -> str:
    """Return what a program prints, though nothing is shown of it."""
    with runner.Session([program]) as session:
        try:
            return session.run(0).output
        except runner.ExampleFailed as failed:
            if "The example printed" in str(failed):  # it did not raise
                return failed.output
            raise


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_programs_of_a_page_run_as_one_file(language: str) -> None:
    """Who takes the file sees all that the page shows; tracebacks go to standard error."""
    for page in published()[language].values():
        if found := programs(page):
            shown = "\n".join((each.expected or "").partition(TRACEBACK)[0] for each in found)
            name = f"{found[0].page} as one file"
            whole = runner.Example(name, 1, "python", download.joined(found), None)
            assert lines(printed(whole)) == lines(shown), name
