"""Tables of a page's cases, drawn from what their programs print."""

from pathlib import Path

from bs4 import Tag

from lifespec_docs.rules.edge_case_tables import NOTHING
from sample_site import RULES, SampleSite

__all__: list[str] = []


def case(name: str, *printed: str, options: str = ":lifespec:") -> str:
    """Write a case: it is lifespec's choice unless it names a rule."""
    text = f"The `app` {name}.\n\nThe server does {name}."
    shown = "\n".join(printed)
    program = f"```python\nprint({shown!r})\n```\n```{{output}}\n{shown}\n```\n"
    return f"\n:::{{decision}} {name}\n{options}\n\n{text}\n:::\n\n{program}"


DECISIONS = (
    "\n## At first\n",
    case(
        "declines",
        "INFO: a",
        "ERROR: b (with a traceback)",
        "served: yes, outcome: unsupported",
    ),
    case("fails", "raises: StartupFailed no", "served: no, outcome: failed"),
    "\n## Later\n",
    case("runs", "served: yes, outcome: None", options=":rules: startup-sent"),
)


def sample(folder: Path, *page: str, language: str = "en") -> SampleSite:
    """Return a page of cases, and one with the rules."""
    rules = "".join(
        f"\n:::{{rule}} {rule_id}\n:::\n\n{{rule}}`{rule_id}`\n\n```python\n1\n```\n"
        for rule_id in ("startup-sent", "answered-once")
    )
    pages = {"index": "# A\n" + "".join(page), "rules": f"# B\n{rules}"}
    extensions = (
        "examples.directive",
        "rules.domain",
        "rules.edge_cases",
        "rules.edge_case_tables",
    )
    drawn = RULES.replace('"index"', '"rules"')
    return SampleSite(folder, pages, *extensions, rules=drawn, language=language)


def rows(found: Tag) -> list[list[str]]:
    """Return the texts of a table."""
    return [
        [cell.get_text(" ", strip=True) for cell in row.find_all(["th", "td"])]
        for row in found.find_all("tr")
    ]


def test_decisions_stand_in_a_table_by_section(tmp_path: Path) -> None:
    """Outcome, exception and log are what was printed; who decided comes last."""
    with sample(tmp_path, "\n```{decisions}\n```\n", *DECISIONS) as built:
        assert not built.warnings
        table = built.page().find("table")
        assert rows(table) == [
            ["What happens", "Outcome", "What Lifespan does", "Log", "Decided by"],
            ["At first"],
            [
                "The app declines.",
                "unsupported served",
                "The server does declines.",
                "INFO ERROR with traceback",
                "lifespec’s choice",
            ],
            [
                "The app fails.",
                "failed not served raises StartupFailed",
                "The server does fails.",
                NOTHING,
                "lifespec’s choice",
            ],
            ["Later"],
            [
                "The app runs.",
                f"{NOTHING} served",
                "The server does runs. startup-sent",
                NOTHING,
                "lifespan 2.0 (ASGI)",
            ],
        ]


def test_each_row_leads_to_its_example_and_its_rules(tmp_path: Path) -> None:
    """The first words of a row to the case on this page, a section's title to the section."""
    with sample(tmp_path, "\n```{decisions}\n```\n", *DECISIONS) as built:
        links = [each["href"] for each in built.page().select("table a")]
        cases = ["#at-first", "#declines", "#fails", "#later", "#runs"]
        assert links == [*cases, "rules.html#startup-sent"]
        assert all(built.page().find(id=link[1:]) for link in cases)
        assert built.page().select_one("table .phase td")["colspan"] == "5"
        assert built.page().select_one("table a code").string == "app"


def test_the_words_of_a_table_are_translated(tmp_path: Path) -> None:
    """Those of the page, and ours; an outcome is a name, and stays."""
    built = sample(tmp_path, "\n```{decisions}\n```\n", *DECISIONS, language="zh_CN")
    built.translate("index", {"The `app` fails.": "`app` 失败。", "At first": "起初"})
    built.translate("lifespec", {"Outcome": "结局", "raises %s": "抛出 %s", "not served": "不服务"})
    with built:
        found = rows(built.page().find("table"))
        assert found[0][1] == "结局"
        assert found[1] == ["起初"]
        assert found[3][:2] == ["app 失败。", "failed 不服务 抛出 StartupFailed"]
