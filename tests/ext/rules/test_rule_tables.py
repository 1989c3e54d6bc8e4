"""What a page draws from our tables."""

from pathlib import Path

from bs4 import Tag

from sample_site import SampleSite

__all__: list[str] = []

PAGE = """\
# Startup

:::{rule} startup-sent
:::

:::{rule} state-keys-named-well
:::

{rule}`startup-sent`, {rule}`state-keys-named-well`

```python
1
```
"""
ROWS = """\
[startup-sent]
role = "server"
observable = "application"
stage = "startup"
page = "startup"
says = "It must be sent."
hint = "Send `lifespan.startup`."
hint-middleware = "Pass it on."
source = [
    { specs = "asgi 2.0", level = "must", section = "Startup" },
    { specs = "pagi", level = "should", section = "Startup" },
]

[state-keys-named-well]
role = "application"
observable = "no"
stage = "state"
page = "startup"
[state-keys-named-well.ours]
specs = "asgi 2.0"
says = "It is named well."
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
                    "lifespec’s behaviour: lifespan 2.0 (ASGI)",
                ],
                ["cannot be observed"],
            ],
        ]
        assert [row.a["href"] for row in rows] == [
            "startup.html#startup-sent",
            "startup.html#state-keys-named-well",
        ]
