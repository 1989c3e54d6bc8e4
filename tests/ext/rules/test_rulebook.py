"""rules.toml as the pages read it."""

from pathlib import Path

import pytest

from lifespec_docs.rules.rulebook import Rule, RulebookError, Source, read
from sample_site import RULES

__all__: list[str] = []

DIFFERENT = """
[a]
role = "server"
says = "It should."
source = [
    { specs = ["pagi 0.3"], level = "must", section = "Scope" },
    { specs = ["pagi 0.3"], level = "should", text = "core", section = "Events" },
    { specs = ["asgi 2.0"], level = "should", section = "Scope" },
]
[a.ours]
specs = ["asgi 1.0"]
says = "It does."
"""


def written(folder: Path, text: str) -> Path:
    """Write a file of rules."""
    path = folder / "rules.toml"
    path.write_text(text)
    return path


def test_a_rule_knows_its_role_its_sources_and_its_line(tmp_path: Path) -> None:
    """A table becomes a rule; the line is that of its header."""
    rules = read(written(tmp_path, RULES))
    assert rules["startup-sent"] == Rule(
        "startup-sent",
        "server",
        (Source(("asgi 2.0",), "must", "Startup"),),
        1,
        says={(): "It must be sent."},
    )
    assert rules["answered-once"].line == 9


def test_rules_keep_the_order_of_the_file(tmp_path: Path) -> None:
    """The file's order is the order of every list."""
    assert list(read(written(tmp_path, RULES))) == ["startup-sent", "answered-once"]


def test_what_no_specification_says_is_lifespecs(tmp_path: Path) -> None:
    """All that have the rule do not say it, or some; there it has a sentence of its own."""
    rules = read(written(tmp_path, RULES))
    assert not rules["startup-sent"].silent
    assert rules["answered-once"].silent == rules["answered-once"].specs == ("asgi 2.0",)
    rule = read(written(tmp_path, DIFFERENT))["a"]
    assert rule.silent == rule.box("asgi 1.0") == ("asgi 1.0",)
    assert rule.boxes == ((), ("asgi 1.0",))
    assert rule.box("asgi 2.0") == rule.box("pagi 0.3") == ()
    assert rule.specs == ("asgi 1.0", "asgi 2.0", "pagi 0.3")


def test_the_level_of_a_spec_is_the_strongest_that_it_has(tmp_path: Path) -> None:
    """A main specification may say less than lifespan's; where nothing is said, it is ""."""
    rule = read(written(tmp_path, DIFFERENT))["a"]
    specs = "asgi 1.0", "asgi 2.0", "amgi 1.0", "pagi 0.3"
    assert [rule.level(spec) for spec in specs] == ["", "should", "", "must"]


def test_levels_are_named_once_that_of_the_main_text_first(tmp_path: Path) -> None:
    """Then the strongest; where the main text has none, the strongest is first."""
    assert read(written(tmp_path, DIFFERENT))["a"].levels == ("should", "must")
    text = """
        a.role = "server"
        a.says = "It must."
        a.source = [{specs = ["amgi 1.0"], level = "may", section = "S"},
                    {specs = ["pagi 0.3"], level = "must", section = "T"}]
    """
    rule = read(written(tmp_path, text))["a"]
    assert rule.levels == ("must", "may")
    assert rule.line == 1


@pytest.mark.parametrize("text", ["a = 1\n[startup-sent\n", "a = 1\nb = "])
def test_what_is_no_toml_is_told_with_file_and_line(tmp_path: Path, text: str) -> None:
    """TOML names no line where the file ends too early: then it is the last."""
    with pytest.raises(RulebookError, match=r"rules\.toml:2: "):
        read(written(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "lacking"),
    [
        ("\n[a]\nsource = [{specs = [], level = '', section = ''}]", "'says'"),
        ("\n[a]\nsource = [{specs = []}]", "'level'"),
        ("\n[a]\nsource = []", "'role'"),
        ("\n[a]\nsource=1", ""),
    ],
)
def test_what_a_rule_lacks_is_told_with_file_and_line(
    tmp_path: Path, text: str, lacking: str
) -> None:
    """A table that lacks something is named with its line."""
    with pytest.raises(RulebookError, match=rf"rules\.toml:2: a lacks .*{lacking}"):
        read(written(tmp_path, text))


def test_a_stage_is_one_of_those_that_have_a_title(tmp_path: Path) -> None:
    """Another one would leave the rule out of the checklists."""
    text = '[a]\nrole = "server"\nstage = "%s"\nsays = "It must."\nsource = []\n'
    assert read(written(tmp_path, text % "startup"))["a"].stage == "startup"
    with pytest.raises(RulebookError, match=r"rules\.toml:1: a has a stage other than loop, "):
        read(written(tmp_path, text % "start-up"))
