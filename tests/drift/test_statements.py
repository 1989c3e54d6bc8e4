"""What makes statements false, and what notices them."""

import json
from pathlib import Path

import pytest
import statements
from statements import KINDS, Statement

from lifespec_docs.facts.recorded import made_with

__all__: list[str] = []


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("default", "It waits {fact}`default Lifespan.grace`.", "It waits 7 seconds."),
        ("default", "It waits 5 s by default.", "It waits 6 s by default."),
        ("order", "It ends before `before`.", "It ends after `before`."),
        ("negation", "It is.", "It is not."),
        ("negation", "It does not.", "It does."),
        ("name", "`lifespan.startup.failed`", "`lifespan.shutdown.failed`"),
        ("name", "`lifespec check app`", "`lifespec copy app`"),
        ("name", "`make docs`", "`make test`"),
        ("invented name", "`lifespec check app`", "`lifespec try app`"),
        ("invented name", "`--strict`", "`--stricts`"),
        ("number", "3 of uvicorn 0.1", "4 of uvicorn 0.1"),
        ("number", "{fact}`python oldest`", "3.12"),
        ("level", "It must.", "It should."),
        ("role", "The server waits.", "The application waits."),
        ("outcome", "`crashed`", "`returned`"),
        ("status", "exit status 1", "exit status 2"),
    ],
)
def test_a_statement_is_made_false(kind: str, old: str, new: str) -> None:
    """In the way of its kind."""
    assert new in list(KINDS[kind](old))


@pytest.mark.parametrize("kind", ["order", "role", "level"])
def test_code_and_roles_are_left_alone(kind: str) -> None:
    """A literal is changed by kinds that are about literals."""
    assert not list(KINDS[kind]("`before server must` {doc}`server` [server](server)"))


def of(block: str, old: str, new: str) -> Statement:
    """Return a false statement."""
    return Statement("name", "a.md", 1, block, old, new)


def test_what_notices_it() -> None:
    """A name is looked up; a fact is drawn; all else is read."""
    unknown = of("text", "Run `make docs`.", "Run `make dogs`.")
    assert statements.noticed(unknown, set()) == "names"
    grace = of("text", "{fact}`default Lifespan.grace` of grace", "7 seconds of grace by default")
    assert statements.noticed(grace, set()) == "facts"
    link = of("text", "See {rule}`startup-sent`.", "See {rule}`start-sent`.")
    assert statements.noticed(link, set()) == "links"
    assert statements.noticed(of("text", "It is.", "It is not."), set()) == ""


def test_one_language_alone() -> None:
    """What differs between the languages is compared."""
    assert statements.in_chinese("`a` is.", of("text", "它是 `a`。", "它是 `b`。")) == "comparison"
    assert statements.in_chinese("It is not.", of("text", "它不是。", "它是。")) == ""


def test_the_sample_is_the_same_each_time() -> None:
    """It has a fixed seed, and every kind that the pages have."""
    found = statements.drawn()
    assert found == statements.drawn()
    assert {each.kind for each in found} >= {"order", "negation", "name", "level", "role"}
    assert all(each.old != each.new for each in found)
    assert max(sum(each.kind == kind for each in found) for kind in KINDS) <= statements.AT_MOST


def test_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is of these pages; rules are data, and no statements of a page."""
    path = tmp_path / "statements.json"
    monkeypatch.setattr(statements, "RESULT", path)
    assert statements.main(["--show"]) == 0
    found = json.loads(path.read_text("utf-8"))
    assert found["made_with"] == made_with("statements")
    for name in statements.LANGUAGES:
        assert found[name]["all"]["tried"] > 0
