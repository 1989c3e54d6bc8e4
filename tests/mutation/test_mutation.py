"""The list of mutants that are no other program."""

import ast
import tomllib
from pathlib import Path

import pytest

__all__: list[str] = []

ROOT = Path(__file__).resolve().parents[2]
LISTED = tomllib.loads(Path(__file__).with_name("equivalent.toml").read_text())["equivalent"]


def words(text: str) -> str:
    """Return a text as if it had no lines."""
    return " ".join(text.split())


def part(source: str, name: str) -> str:
    """Return the text of a function, method or attribute, named as `Class.method`."""
    body = ast.parse(source).body
    for each in name.split("."):
        (node,) = (node for node in body if each in {defined(node), getattr(node, "name", "")})
        body = getattr(node, "body", [])
    return ast.get_source_segment(source, node) or ""


def defined(node: ast.stmt) -> str:
    """Return the name that an assignment defines."""
    if isinstance(node, ast.Assign):
        return ast.unparse(node.targets[0])
    return ast.unparse(node.target) if isinstance(node, ast.AnnAssign) else ""


@pytest.mark.parametrize("row", LISTED, ids=lambda row: row["new"])
def test_what_is_listed_stands_in_the_sources(row: dict[str, str]) -> None:
    """A line that is listed still stands in its function, is changed, and has a reason."""
    source = (ROOT / "src/lifespec" / f"{row['file']}.py").read_text()
    line, _, _ = row["old"].partition("  #")
    assert words(line) in words(part(source, row["function"]))
    assert row["old"] != row["new"]
    assert row["reason"].endswith(".")
