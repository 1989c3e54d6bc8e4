"""What a page draws from our tables."""

from pathlib import Path

from bs4 import Tag

from lifespec_docs.i18n.messages import hints
from sample_site import SampleSite

__all__: list[str] = []

PAGE = """\
# Startup

:::{rule} startup-sent
A sentence.
:::

:::{behaviour} state-keys-named-well
Another.
:::

{rule}`startup-sent`, {rule}`state-keys-named-well`

```python
1
```
"""
ROWS = """\
[startup-sent]
role = "server"
says = "It must be sent."
source = [
    { specs = ["asgi 2.0"], level = "must", section = "Startup" },
    { specs = ["pagi 0.3"], level = "should", section = "Startup" },
]

[state-keys-named-well]
role = "application"
[state-keys-named-well.ours]
specs = ["asgi 2.0"]
says = "It is named well."

[homeless]
role = "server"
says = "It must."
source = [{ specs = ["asgi 2.0"], level = "must", section = "S" }]
"""
EXTENSIONS = "examples.directive", "rules.domain", "rules.rule_tables"


def test_the_state_diagram_is_drawn_from_the_transitions(tmp_path: Path) -> None:
    """It is one drawing with a text alternative."""
    with SampleSite(
        tmp_path, {"index": "# A\n\n```{states}\n```\n"}, "rules.rule_tables"
    ) as sample:
        (drawing,) = sample.page().select("figure.states svg")
        assert drawing["role"] == "img"


def lines(cell: Tag) -> list[str]:
    """Return the lines of a cell."""
    return [line.get_text() for line in cell.select("p, .line")]


def test_all_rules_stand_in_one_table(tmp_path: Path) -> None:
    """Only rules that a page has can be linked."""
    pages = {"index": "# Home\n\n```{rules}\n```\n", "startup": PAGE}
    with SampleSite(tmp_path, pages, *EXTENSIONS, rules=ROWS) as sample:
        head, *rows = sample.page().select("table.rules tr")
        assert [cell.get_text() for cell in head.find_all("th")] == [
            "Rule",
            "Reported as",
            "Usual cause and fix",
        ]
        assert [[lines(cell) for cell in row.find_all("td")[:2]] for row in rows] == [
            [
                ["startup-sent", "server", "must: lifespan 2.0 (ASGI)", "should: PAGI 0.3"],
                [
                    "The server sent lifespan.shutdown before startup was received",
                    "Checked by lifespec check server, lifespec check middleware",
                ],
            ],
            [
                [
                    "state-keys-named-well",
                    "application",
                    "lifespec's behaviour: lifespan 2.0 (ASGI)",
                ],
                ["cannot be observed"],
            ],
        ]
        assert [row.a["href"] for row in rows] == [
            "startup.html#startup-sent",
            "startup.html#state-keys-named-well",
        ]


def test_the_table_has_the_hints_of_a_rule(tmp_path: Path) -> None:
    """What is code in a hint is code in the table; one for middleware says so."""
    pages = {"index": "# Home\n\n```{rules}\n```\n", "startup": PAGE}
    with SampleSite(tmp_path, pages, *EXTENSIONS, rules=ROWS) as sample:
        first, second = sample.page().select("table.rules tbody td:nth-child(3)")
        (_, head, text), (_, head_of_middleware, other) = hints()["startup-sent"]
        assert sample.page().select("table.rules th")[2].get_text() == head
        assert lines(first) == [
            text.replace("`", ""),
            head_of_middleware,
            other.replace("`", ""),
        ]
        assert "`" in text + other
        assert first.find("code")
        assert lines(second) == ["\N{EN DASH}"]


def test_the_table_is_translated(tmp_path: Path) -> None:
    """Headings and levels come from our catalog; messages are shown as they are."""
    pages = {"index": "# Home\n\n```{rules}\n```\n", "startup": PAGE}
    sample = SampleSite(tmp_path, pages, *EXTENSIONS, rules=ROWS, language="zh_CN")
    sample.translate("lifespec", {"Rule": "规则", "must": "必须"})
    with sample:
        text = sample.page().select_one("table.rules").get_text(" ", strip=True)
        assert text.startswith("规则")
        assert "必须: lifespan 2.0" in text
        assert "The server sent lifespan.shutdown" in text


def test_other_builders_pass_over_the_place(tmp_path: Path) -> None:
    """A builder without pages has no table and no fault."""
    with SampleSite(
        tmp_path,
        {"index": "# A\n\n```{rules}\n```\n"},
        "examples.directive",
        "rules.domain",
        "rules.rule_tables",
        builder="gettext",
    ) as sample:
        assert not [line for line in sample.warnings if "unknown node" in line]
