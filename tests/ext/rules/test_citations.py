"""What is said of a rule's sources."""

import re
import tomllib
from pathlib import Path

import pytest

from lifespec_docs.rules.citations import (
    LINK,
    address,
    as_html,
    by_text,
    level_line,
    names,
    source_lines,
    unspecified,
)
from lifespec_docs.rules.rulebook import Rule, read

__all__: list[str] = []

FIVE = "asgi 1.0", "asgi 2.0", "amgi 1.0", "amgi 2.0", "pagi 0.3"
ALL = ", ".join(f'"{name}"' for name in FIVE)
CHINESE = {
    "all five specifications": "五份规范",
    " and ": " 和 ",
    ", ": "、",
    "lifespan %s (ASGI)": "生命周期 %s",
}


def rule(folder: Path, *sources: str) -> Rule:
    """Return a rule with these sources."""
    path = folder / "rules.toml"
    rows = ", ".join(f"{{ {source} }}" for source in sources if "section" in source)
    text = f'[a]\nrole = "server"\nsays = "It must."\nsource = [{rows}]\n'
    for ours in (source for source in sources if "section" not in source):
        text += f'[a.ours]\n{ours}\nsays = "It does."\n'
    path.write_text(text)
    assert tomllib.loads(path.read_text())
    return read(path)["a"]


def chinese(message: str) -> str:
    """Translate a few words."""
    return CHINESE.get(message, message)


def test_names_of_texts() -> None:
    """A family is named once, with its versions; all five are one word."""
    assert names(["pagi 0.3"], str) == "PAGI 0.3"
    assert (
        names(["asgi 1.0", "asgi 2.0", "amgi 1.0"], str) == "lifespan 1.0 and 2.0 (ASGI), AMGI 1.0"
    )
    assert names(FIVE, str) == "all five specifications"
    assert names(FIVE[:3], chinese) == "生命周期 1.0 和 2.0、AMGI 1.0"
    assert names(FIVE, chinese) == "五份规范"


@pytest.mark.parametrize(
    ("sources", "level", "lines"),
    [
        (  # all five, of one level: two sections of one text stand together
            (
                'specs = ["asgi 1.0", "asgi 2.0", "pagi 0.3"], level = "must", section = "S"',
                'specs = ["amgi 1.0", "amgi 2.0"], level = "must", section = "Lifespan"',
                'specs = ["asgi 2.0"], level = "must", text = "core", section = "B"',
                'specs = ["asgi 1.0"], level = "must", text = "core", section = "C"',
            ),
            "must",
            [
                (
                    "In all five specifications: lifespan 1.0 and 2.0 (ASGI), PAGI 0.3, “S”; "
                    "AMGI 1.0 and 2.0, “Lifespan”; the main specification of ASGI, “B”, “C”"
                )
            ],
        ),
        (  # nobody says so
            (f"specs = [{ALL}]",),
            "lifespec's behaviour",
            [],
        ),
        (  # one says so, another follows, for one it is ours, the last does not have it
            (
                'specs = ["asgi 2.0"], level = "must", section = "Scope"',
                'specs = ["amgi 1.0", "amgi 2.0"], level = "must", text = "asgi", section = "S"',
                'specs = ["pagi 0.3"]',
            ),
            "must",
            [
                (
                    "Source: lifespan 2.0 (ASGI), “Scope”; "
                    "AMGI 1.0 and 2.0, which follow lifespan 2.0 (ASGI), “S”"
                ),
                "Not in lifespan 1.0 (ASGI)",
            ],
        ),
        (  # all have it, and for one it is ours
            (
                'specs = ["asgi 1.0", "amgi 1.0", "amgi 2.0"], level = "may", section = "S"',
                'specs = ["pagi 0.3"], level = "may", section = "T"',
                'specs = ["asgi 2.0"]',
            ),
            "may",
            [
                "Source: lifespan 1.0 (ASGI), AMGI 1.0 and 2.0, “S”; PAGI 0.3, “T”",
            ],
        ),
        (  # several levels, each with its texts; and ours with its own
            (
                'specs = ["pagi 0.3"], level = "must", text = "core", section = "Events"',
                'specs = ["asgi 1.0", "asgi 2.0"], level = "may", text = "core", section = "E"',
                'specs = ["amgi 1.0"]',
            ),
            "may · must",
            [
                "must: the main specification of PAGI, “Events”",
                "may: the main specification of ASGI, “E”",
                "Not in AMGI 2.0",
            ],
        ),
        (  # a main specification that two families share is named for both
            ('specs = ["asgi 2.0", "pagi 0.3"], level = "may", text = "core", section = "E"',),
            "may",
            [
                "Source: the main specification of ASGI and PAGI, “E”",
                "Not in lifespan 1.0 (ASGI), AMGI 1.0 and 2.0",
            ],
        ),
    ],
)
def test_the_texts_that_say_so(
    tmp_path: Path, sources: tuple[str, ...], level: str, lines: list[str]
) -> None:
    """Texts of one family stand together, as do the sections of a text and texts of one level."""
    found = rule(tmp_path, *sources)
    assert level_line(found, str) == level
    assert [LINK.sub(r"\2", line) for line in source_lines(found, str)] == lines


def test_each_text_by_itself(tmp_path: Path) -> None:
    """Name, level and sections; a main specification, or one that is followed, is named."""
    found = rule(
        tmp_path,
        'specs = ["asgi 2.0", "pagi 0.3"], level = "must", section = "Scope"',
        'specs = ["pagi 0.3"], level = "must", section = "Startup"',
        'specs = ["pagi 0.3"], level = "should", text = "core", section = "Events"',
        'specs = ["amgi 1.0"], level = "must", text = "asgi", section = "Scope"',
        'specs = ["amgi 2.0"]',
    )
    assert list(by_text(found, str)) == [
        ("lifespan 1.0 (ASGI)", "", ""),
        ("lifespan 2.0 (ASGI)", "must", "“Scope”"),
        ("AMGI 1.0", "must", "lifespan 2.0 (ASGI), “Scope”"),
        ("AMGI 2.0", "", "not specified"),
        ("PAGI 0.3", "must", "“Scope”, “Startup”; should: main specification, “Events”"),
    ]


def hrefs(line: str) -> list[tuple[str, str]]:
    """Return the links of a line: the end of the address, and the text."""
    found = re.findall(r'<a class="reference external" href="(.*?)">(.*?)</a>', as_html(line))
    return [(url.rpartition("/")[2], text) for url, text in found]


def test_a_section_is_a_link(tmp_path: Path) -> None:
    """If specifications share its name, each version is one."""
    found = rule(
        tmp_path,
        'specs = ["asgi 1.0", "asgi 2.0", "pagi 0.3"], level = "must", section = "Startup"',
        'specs = ["amgi 1.0", "amgi 2.0"], level = "must", section = "Lifespan startup"',
    )
    (line,) = source_lines(found, str)
    assert hrefs(line) == [
        ("lifespan.rst?plain=1#L59", "1.0"),
        ("lifespan.rst?plain=1#L89", "2.0"),
        ("Lifespan.pod?plain=1#L191", "0.3"),
        ("lifespan.rst?plain=1#L29", "Lifespan startup"),
    ]


def test_the_specifications_that_do_not_state_a_rule(tmp_path: Path) -> None:
    some = rule(
        tmp_path,
        'specs = ["asgi 2.0"], level = "must", section = "A"',
        'specs = ["asgi 1.0", "pagi 0.3"]',
    )
    assert unspecified(some, str) == "Not specified by lifespan 1.0 (ASGI), PAGI 0.3"
    none = rule(tmp_path, f"specs = [{ALL}]")
    assert unspecified(none, str) == "Not specified by any of the five specifications"


def test_a_line_is_escaped() -> None:
    assert as_html("a < b") == "a &lt; b"


def test_each_section_that_a_rule_cites_has_an_address() -> None:
    """The file is at a fixed commit, so the line stays that of the title."""
    data = Path(__file__).parents[3] / "src" / "lifespec" / "conformance" / "data" / "rules.toml"
    cited = {
        (spec, source.text, source.section)
        for rule in read(data).values()
        for source in rule.sources
        for spec in source.specs
    }
    assert [each for each in cited if not re.search(r"/blob/[0-9a-f]{40}/", address(*each))] == []
