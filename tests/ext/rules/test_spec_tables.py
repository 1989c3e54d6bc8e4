"""What pages draw of a specification: of one that there is, and once."""

import re
from pathlib import Path

import pytest

from lifespec.conformance.data_files import packaged
from lifespec.conformance.rules import rules
from lifespec.validate import SPECS
from lifespec_docs.rules.steps import steps
from sample_site import SampleSite

KNOWN = "asgi 1.0, asgi 2.0, amgi 1.0"


def sample(folder: Path, page: str, **pages: str) -> SampleSite:
    extensions = "rules.domain", "rules.spec_tables", "rules.rules_of_spec", "rules.walkthrough"
    found = {"index": page, **pages}
    return SampleSite(folder, found, *extensions, rules=packaged("rules.toml"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{keys} pagi 0.4", f"There is no specification.*{KNOWN}"),
        ("{events} amgi 1.0, asgi", f"There is no specification.*{KNOWN}"),
        ("{events} amgi 1.0, amgi 1.0", "named twice: amgi 1.0, amgi 1.0"),
        ("{holds} asgi 2.0, pagi 0.3\n:role: server", "asgi 2.0 and pagi 0.3 differ in the rule '"),
        ("{holds} asgi 2.0", "Whose rules?"),
    ],
)
def test_what_cannot_be_drawn_is_told(tmp_path: Path, text: str, told: str) -> None:
    with sample(tmp_path, f"```{text}\n```\n") as built:
        assert re.search(f"docs/index.md:[12]: .*{told}", "\n".join(built.warnings))


def test_what_is_drawn_twice_is_told(tmp_path: Path) -> None:
    """One of them draws that of another text; a page that is read again has it still."""
    keys, holds = "```{keys} pagi 0.3\n```\n", "```{{holds}} pagi 0.3\n:role: {}\n```\n"
    server, application = map(holds.format, ("server", "application"))
    with sample(tmp_path, keys + server * 2 + application, other=keys) as built:
        twice = [line for line in built.warnings if "already" in line]
        assert [line.partition(": WARNING: ")[::2] for line in twice] == [
            ("docs/index.md:6", "{holds} of pagi 0.3 server stands on page 'index' already."),
            ("docs/other.md:1", "{keys} of pagi 0.3 stands on page 'index' already."),
        ]
        (built.docs / "other.md").write_text("# A\n")
        built.app.warning.truncate(0)
        (built.docs / "index.md").write_text(f"{keys}\nMore.\n")
        built.app.build()
        assert not [line for line in built.warnings if "already" in line]


def test_each_wait_of_a_server_ends_also_without_an_answer(tmp_path: Path) -> None:
    """A server that follows the list does not wait for what cannot come any more."""
    page = "\n".join(f"```{{walkthrough}} {spec}\n```\n" for spec in SPECS)
    with sample(tmp_path, page) as built:
        waits = built.page().select("ol.walkthrough > li:has(> ul)")
    assert len(waits) == 2 * len(SPECS)
    for wait in waits:
        said = " ".join(wait.get_text(" ", strip=True).split())
        assert "It raises" in said
        assert "returns without an answer" in said


def test_each_rule_of_a_step_is_one() -> None:
    """A step may cite a rule that some specifications lack, and none that nobody has."""
    assert {rule_id for step in steps() for rule_id in step.rules} <= {*rules()}
