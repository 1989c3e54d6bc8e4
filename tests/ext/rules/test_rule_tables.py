"""What a page draws from our tables."""

from pathlib import Path

from sample_site import SampleSite

__all__: list[str] = []

PAGE = """\
# Startup

:::{rule} startup-sent
A sentence.
:::

```python
1
```
"""


def test_the_state_diagram_is_drawn_from_the_transitions(tmp_path: Path) -> None:
    """It is one drawing with a text alternative."""
    with SampleSite(
        tmp_path, {"index": "# A\n\n```{states}\n```\n"}, "rules.rule_tables"
    ) as sample:
        (drawing,) = sample.page().select("figure.states svg")
        assert drawing["role"] == "img"


def test_all_rules_stand_in_one_table(tmp_path: Path) -> None:
    """Rule ID, role, level and source, page: only rules that a page has can be linked."""
    pages = {"index": "# Home\n\n```{rules}\n```\n", "startup": PAGE}
    with SampleSite(
        tmp_path, pages, "examples.directive", "rules.domain", "rules.rule_tables"
    ) as sample:
        head, row = sample.page().select("table.rules tr")
        assert [cell.get_text(" ", strip=True) for cell in head.find_all("th")] == [
            "Rule",
            "Role",
            "Level and source",
            "Page",
        ]
        assert [cell.get_text(" ", strip=True) for cell in row.find_all("td")] == [
            "startup-sent",
            "server",
            (
                "must Source: lifespan 2.0 (ASGI), “Startup” "
                "Not in lifespan 1.0 (ASGI), AMGI 1.0 and 2.0, PAGI 0.3"
            ),
            "Startup",
        ]
        assert [link["href"] for link in row.find_all("a")] == [
            "startup.html#startup-sent",
            "startup.html",
        ]


def test_the_table_is_translated(tmp_path: Path) -> None:
    """Headings and levels come from our catalog, titles from the pages'."""
    pages = {"index": "# Home\n\n```{rules}\n```\n", "startup": PAGE}
    sample = SampleSite(
        tmp_path, pages, "examples.directive", "rules.domain", "rules.rule_tables", language="zh_CN"
    )
    sample.translate("lifespec", {"Rule": "规则", "must": "必须"})
    sample.translate("startup", {"Startup": "启动"})
    with sample:
        text = sample.page().select_one("table.rules").get_text(" ", strip=True)
        assert text.startswith("规则")
        assert "必须" in text
        assert text.endswith("启动")


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
