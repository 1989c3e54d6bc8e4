"""Facts that are typed into prose: each pattern, what it tells, and what it leaves alone."""

import pytest

from lifespec_docs.facts.known import facts
from lifespec_docs.facts.typed import Typed, typed

RULES = facts()["count rules"].words[0]
UVICORN = facts()["version uvicorn"].words[0]
STRICT, RAISES = "`strict` defaults to `True`", "`raises` is `False` by default"
MESSAGE = '`message` defaults to `""`'
DATE = facts()["date servers"].words[0]


@pytest.mark.parametrize(
    ("prose", "what", "role", "true"),
    [
        ("The server waits 5 seconds by default.", "5 seconds", "default Lifespan.grace", True),
        ("`grace` is 5 s.", "5 s", "default Lifespan.grace", True),
        ("The default grace period is 7 seconds.", "7 seconds", "default Lifespan.grace", False),
        ("The fixture waits ten seconds.", "ten seconds", "seconds testing.plugin.TIMEOUT", True),
        ("`--timeout` is 30 s.", "30 s", 'option "check app" --timeout', True),
        (f"All {RULES} rules hold.", f"{RULES} rules", "count rules", True),
        ("All 999 rules hold.", "999 rules", "count rules", False),
        ("The five specifications agree.", "five specifications", "count specifications", True),
        (STRICT, STRICT, "default Lifespan.strict", False),
        (RAISES, RAISES, "default validator.raises", True),
        (MESSAGE, MESSAGE, "message lifespan.startup.failed", True),
        (f"With uvicorn {UVICORN}, it is so.", f"uvicorn {UVICORN}", "version uvicorn", True),
        ("With `uvicorn` 0.1.0, it is so.", "`uvicorn` 0.1.0", "version uvicorn", False),
        ("`startup_timeout` is 9 s by default.", "9 s", "default Lifespan.startup_timeout", False),
        ("The fixture waits 7 s.", "7 s", "seconds testing.plugin.TIMEOUT", False),
        (f"Measured on {DATE}.", DATE, "date servers", True),
        ("It needs Python 3.11 or newer.", "Python 3.11 or newer", "python oldest", True),
        ("It needs Python 3.9 or later.", "Python 3.9 or later", "python oldest", False),
    ],
)  # fmt: skip
def test_a_fact_is_reported(prose: str, what: str, role: str, true: bool) -> None:
    """With the role to write, and whether it is true."""
    found = typed(prose)
    assert (found[0].what, found[0].true) == (what, true)
    assert role in found[0].roles


def test_both_ends_of_a_range() -> None:
    """The oldest and the newest Python are two facts."""
    found = typed("On Python 3.11 to 3.99.")
    assert [(each.roles, each.true) for each in found] == [
        (("python oldest",), True),
        (("python newest",), False),
    ]


@pytest.mark.parametrize("prose", ["`color` defaults to `red`.", "Wait 5 seconds, try again."])
def test_what_is_no_fact_of_ours_is_free(prose: str) -> None:
    assert typed(prose) == []


def test_what_is_said() -> None:
    """A false one is told as such."""
    assert str(Typed("a", ("b", "c"), true=True)) == "'a' is typed: write {fact}`b` or {fact}`c`."
    assert ", and is not what that says" in str(Typed("a", ("b",), true=False))
