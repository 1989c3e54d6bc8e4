"""README.md has the results of the servers as they were recorded."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
COUNTED = ("pass", "warn", "fail", "info")
NO_LIFESPAN = "never calls the application with a lifespan scope"


def line(subject: dict[str, Any]) -> str:
    counts = ", ".join(
        f"{subject['counts'][verdict]} {verdict.upper()}"
        for verdict in COUNTED
        if subject["counts"][verdict]
    )
    version = next(iter(subject["versions"].values()))
    return f"- {subject['name']} {version}: {counts or NO_LIFESPAN}"


def faults(readme: str, subjects: list[dict[str, Any]]) -> Iterator[str]:
    """Yield where README.md differs from the record, and what to write there."""
    lines = readme.splitlines()
    expected = [line(each) for each in subjects]
    starts = tuple(f"- {each['name']} " for each in subjects)
    listed = [number for number, text in enumerate(lines, 1) if text.startswith(starts)]
    first = listed[0] if listed else 1
    for place, wanted in enumerate(expected):
        number = first + place
        found = lines[number - 1] if number <= len(lines) else ""
        if found != wanted:
            yield f"README.md:{number}: the record has another result, write: {wanted}"
    for number in listed[len(expected) :]:
        yield f"README.md:{number}: the record has no such server: delete this line."


def recorded() -> list[dict[str, Any]]:
    record = json.loads((ROOT / "docs/matrix/servers.json").read_text("utf-8"))
    found: list[dict[str, Any]] = record["subjects"]
    return found


def test_readme_has_a_line_for_each_server() -> None:
    found = [*faults((ROOT / "README.md").read_text("utf-8"), recorded())]
    assert not found, "\n".join(found)


def test_a_line_that_differs_is_named_with_what_to_write() -> None:
    first, second = recorded()[:2]
    text = f"# lifespec\n\n{line(first)}\n{line(second)}\n"
    assert [*faults(text, [first, second])] == []
    second["counts"]["fail"] += 1
    assert [*faults(text, [first, second])] == [
        f"README.md:4: the record has another result, write: {line(second)}"
    ]
    assert [*faults(text.replace(f"{line(first)}\n", ""), [first])] == [
        f"README.md:1: the record has another result, write: {line(first)}"
    ]
