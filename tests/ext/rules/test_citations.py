"""What is said of a rule's sources."""

import re

import pytest

from lifespec.conformance.rules import Rule, read, rules
from lifespec_docs.rules.citations import (
    LINK,
    address,
    as_html,
    source_lines,
    unspecified,
)

__all__: list[str] = []


def rule(*rows: str) -> Rule:
    """Return a rule with these sources, the last of which may be what lifespec does."""
    sources = ", ".join(f"{{ {row} }}" for row in rows if "section" in row)
    text = '[a]\nrole = "server"\nobservable = "no"\nstage = ""\npage = "a"\n'
    text += f'says = "It must, should, may."\nsource = [{sources}]\n'
    for ours in (row for row in rows if "section" not in row):
        text += f'[a.ours]\n{ours}\nsays = "It does."\n'
    return read(text, "rules.toml")["a"]


@pytest.mark.parametrize(
    ("sources", "lines"),
    [
        (  # all five, of one level: two sections of one text stand together
            (
                'specs = "asgi 1.0, asgi 2.0, pagi 0.3", level = "must", section = "S"',
                'specs = "amgi 1.0, amgi 2.0", level = "must", section = "Lifespan"',
                'specs = "asgi 2.0", level = "must", text = "core", section = "B"',
                'specs = "asgi 1.0", level = "must", text = "core", section = "C"',
            ),
            [
                (
                    "In all five specifications: lifespan 1.0 and 2.0 (ASGI), PAGI 0.3, “S”; "
                    "AMGI 1.0 and 2.0, “Lifespan”; the main specification of ASGI, “B”, “C”"
                )
            ],
        ),
        (  # nobody says so
            ('specs = "all"',),
            [],
        ),
        (  # one says so, another follows, for one it is ours, the last does not have it
            (
                'specs = "asgi 2.0", level = "must", section = "Scope"',
                'specs = "amgi 1.0, amgi 2.0", level = "must", text = "asgi", section = "S"',
                'specs = "pagi 0.3"',
            ),
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
                'specs = "asgi 1.0, amgi 1.0, amgi 2.0", level = "may", section = "S"',
                'specs = "pagi 0.3", level = "may", section = "T"',
                'specs = "asgi 2.0"',
            ),
            [
                "Source: lifespan 1.0 (ASGI), AMGI 1.0 and 2.0, “S”; PAGI 0.3, “T”",
            ],
        ),
        (  # several levels, each with its texts; and ours with its own
            (
                'specs = "pagi 0.3", level = "must", text = "core", section = "Events"',
                'specs = "asgi 1.0, asgi 2.0", level = "may", text = "core", section = "E"',
                'specs = "amgi 1.0"',
            ),
            [
                "must: the main specification of PAGI, “Events”",
                "may: the main specification of ASGI, “E”",
                "Not in AMGI 2.0",
            ],
        ),
        (  # a main specification that two families share is named for both
            ('specs = "asgi 2.0, pagi 0.3", level = "may", text = "core", section = "E"',),
            [
                "Source: the main specification of ASGI and PAGI, “E”",
                "Not in lifespan 1.0 (ASGI), AMGI 1.0 and 2.0",
            ],
        ),
    ],
)
def test_the_texts_that_say_so(sources: tuple[str, ...], lines: list[str]) -> None:
    """Texts of one family stand together, as do the sections of a text and texts of one level."""
    found = rule(*sources)
    assert [LINK.sub(r"\2", line) for line in source_lines(found, str)] == lines


def hrefs(line: str) -> list[tuple[str, str]]:
    """Return the links of a line: the end of the address, and the text."""
    found = re.findall(r'<a class="reference external" href="(.*?)">(.*?)</a>', as_html(line))
    return [(url.rpartition("/")[2], text) for url, text in found]


def test_a_section_is_a_link() -> None:
    """If specifications share its name, each version is one."""
    found = rule(
        'specs = "asgi 1.0, asgi 2.0, pagi 0.3", level = "must", section = "Startup"',
        'specs = "amgi 1.0, amgi 2.0", level = "must", section = "Lifespan startup"',
    )
    (line,) = source_lines(found, str)
    assert hrefs(line) == [
        ("lifespan.rst?plain=1#L59", "1.0"),
        ("lifespan.rst?plain=1#L89", "2.0"),
        ("Lifespan.pod?plain=1#L191", "0.3"),
        ("lifespan.rst?plain=1#L29", "Lifespan startup"),
    ]


def test_the_specifications_that_do_not_state_a_rule() -> None:
    some = rule(
        'specs = "asgi 2.0", level = "must", section = "A"',
        'specs = "asgi 1.0, pagi 0.3"',
    )
    assert unspecified(some, str) == "Not specified by lifespan 1.0 (ASGI), PAGI 0.3"
    none = rule('specs = "all"')
    assert unspecified(none, str) == "Not specified by any of the five specifications"


def test_a_line_is_escaped() -> None:
    assert as_html("a < b") == "a &lt; b"


def test_each_section_that_a_rule_cites_has_an_address() -> None:
    """The file is at a fixed commit, so the line stays that of the title."""
    cited = {
        (spec, source.text, source.section)
        for found in rules().values()
        for source in found.sources
        for spec in source.specs
    }
    assert [each for each in cited if not re.search(r"/blob/[0-9a-f]{40}/", address(*each))] == []
