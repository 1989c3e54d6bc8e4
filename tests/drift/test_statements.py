"""What makes statements false, and what notices them."""

import pytest
import statements
from statements import KINDS, Statement

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
        ("word", "It raises.", "It returns."),
        ("outcome", "`crashed`", "`returned`"),
        ("status", "exit status 1", "exit status 2"),
    ],
)
def test_a_statement_is_made_false(kind: str, old: str, new: str) -> None:
    """In the way of its kind."""
    assert new in list(KINDS[kind](old))


def of(block: str, old: str, new: str) -> Statement:
    """Return a false statement."""
    return Statement("name", "a.md", 1, block, old, new)


def test_what_the_build_knows() -> None:
    """A name is looked up, a fact is drawn, a link leads somewhere; all else is read."""
    unknown = of("text", "Run `make docs`.", "Run `make dogs`.")
    assert statements.noticed(unknown, set()) == "known"
    grace = of("text", "{fact}`default Lifespan.grace` of grace", "7 seconds of grace by default")
    assert statements.noticed(grace, set()) == "known"
    link = of("text", "See {rule}`startup-sent`.", "See {rule}`start-sent`.")
    assert statements.noticed(link, set()) == "known"
    assert statements.noticed(of("text", "It is.", "It is not."), set()) == "unseen"


def test_what_is_shown_and_what_is_only_read() -> None:
    """A statement is shown with its evidence; the order of steps has little."""
    found = statements.measured()
    every, chinese = found["both"], found["chinese"]
    assert every["all"]["shown"] > every["all"]["read"] > every["all"]["unseen"] == 0
    assert every["title"]["shown"] > every["title"]["read"] > 0
    assert every["items"]["read"] > every["items"]["shown"] > 0
    assert chinese["order"]["turned"] == chinese["order"]["tried"]
    assert chinese["word"]["shown"] > chinese["word"]["turned"]
