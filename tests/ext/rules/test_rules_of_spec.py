"""The rules that hold in a specification, drawn at their level there."""

from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup

from sample_site import SampleSite

__all__: list[str] = []


def row(rule_id: str, role: str, stage: str, says: str, *sources: str, more: str = "") -> str:
    """Write a rule."""
    rows = ", ".join(f"{{ {source} }}" for source in sources)
    return (
        f'[{rule_id}]\nrole = "{role}"\nobservable = "no"\nstage = "{stage}"\npage = "startup"\n'
        f"says = '{says}'\nsource = [{rows}]\n{more}"
    )


ONCE = """\
[[once.wording]]
specs = "amgi 2.0"
says = "It should not be done."
[once.ours]
specs = "asgi 1.0"
says = "`Lifespan` does it."
"""
RULES = (
    row(
        "once",
        "server",
        "shutdown",
        "The server should do it, as `should` says.",
        'specs = "asgi 2.0", level = "should", section = "Lifespan"',
        'specs = "pagi", level = "must", section = "Model"',
        'specs = "pagi", level = "must", text = "core", section = "Loop"',
        'specs = "amgi", level = "should not", text = "asgi", section = "Lifespan"',
        more=ONCE,
    )
    + row("same", "server", "", "It must be so.", 'specs = "all", level = "must", section = "S"')
    + row(
        "answered",
        "application",
        "startup",
        "It must not.",
        'specs = "asgi 2.0, amgi 1.0", level = "must not", section = "Startup"',
    )
)
RULE_IDS = "once", "same", "answered"
STARTUP = "# Startup\n" + "".join(
    f"\n```{{rule}} {rule_id}\n```\n\n{{rule}}`{rule_id}`\n\n```python\n1\n```\n"
    for rule_id in RULE_IDS
)


def sample(folder: Path, page: str, **options: Any) -> SampleSite:
    """Return a page, and the one that has the rules."""
    pages = {"index": f"# Home\n\n{page}", "startup": STARTUP}
    extensions = "examples.directive", "rules.domain", "rules.spec_tables", "rules.rules_of_spec"
    return SampleSite(folder, pages, *extensions, rules=RULES, **options)


def holds(specs: str, role: str = "server") -> str:
    """Write the directive."""
    return f"```{{holds}} {specs}\n:role: {role}\n```\n"


def held(page: BeautifulSoup) -> list[list[str]]:
    """Return the lines of each rule that is drawn."""
    return [
        [" ".join(line.get_text(" ", strip=True).split()) for line in rule.find_all("p")]
        for rule in page.select("div.held")
    ]


def test_specifications_that_differ_are_not_drawn_as_one(tmp_path: Path) -> None:
    """If a page names two of them, that is a warning with its line."""
    with sample(tmp_path, holds("asgi 2.0, pagi 0.3")) as built:
        (warning,) = built.warnings
        assert warning.startswith("docs/index.md:3: WARNING: ")
        assert "asgi 2.0 and pagi 0.3 differ in the rule 'once'" in warning


def test_rules_are_drawn_once(tmp_path: Path) -> None:
    """Those of a role that a page draws twice are those of the other, left out."""
    with sample(tmp_path, holds("pagi 0.3") * 2 + holds("pagi 0.3", "application")) as built:
        (warning,) = built.warnings
        assert warning.startswith("docs/index.md:6: ")
        assert warning.endswith("{holds} of pagi 0.3 server stands on page 'index' already.")


def test_a_role_is_one_of_two(tmp_path: Path) -> None:
    with sample(tmp_path, "```{holds} asgi 2.0\n```\n") as built:
        assert any("Whose rules?" in line for line in built.warnings)
