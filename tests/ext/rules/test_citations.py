"""What is said of a rule's sources."""

import re

from lifespec.conformance.rules import Rule, read, rules
from lifespec.conformance.sections import address
from lifespec_docs.rules.citations import unspecified


def rule(*rows: str) -> Rule:
    """Return a rule with these sources, the last of which may be what lifespec does."""
    sources = ", ".join(f"{{ {row} }}" for row in rows if "section" in row)
    text = '[a]\nrole = "server"\nobservable = "no"\nstage = ""\npage = "a"\n'
    text += f'says = "It must, should, may."\nsource = [{sources}]\n'
    for ours in (row for row in rows if "section" not in row):
        text += f'[a.ours]\n{ours}\nsays = "It does."\n'
    return read(text, "rules.toml")["a"]


def test_the_specifications_that_do_not_state_a_rule() -> None:
    some = rule('specs = "asgi 2.0", level = "must", section = "A"', 'specs = "asgi 1.0, pagi 0.3"')
    assert unspecified(some, str) == "Not specified by lifespan 1.0 (ASGI), PAGI 0.3"
    none = rule('specs = "all"')
    assert unspecified(none, str) == "Not specified by any specification"


def test_each_section_that_a_rule_cites_has_an_address() -> None:
    """The file is at a fixed commit, so the line stays that of the title."""
    cited = {
        (spec, source.text, source.section)
        for found in rules().values()
        for source in found.sources
        for spec in source.specs
    }
    assert [each for each in cited if not re.search(r"/blob/[0-9a-f]{40}/", address(*each))] == []
