"""Rules on pages: what stands around them, what leads to them, what they promise."""

from pathlib import Path
from typing import Any

import pytest

from sample_site import RULES, SampleSite

MISSING = (
    "docs/rules.toml:9: WARNING: No page has the rule 'answered-once': put its block {rule} on"
    " the page 'index'."
)


def rule(rule_id: str) -> str:
    return f"\n:::{{rule}} {rule_id}\n:::\n"


def example(*rule_ids: str) -> str:
    links = ", ".join(f"{{rule}}`{each}`" for each in rule_ids)
    return f"\n{links}\n\n```python\n1\n```\n"


def shown(rule_id: str) -> str:
    return rule(rule_id) + example(rule_id)


PAGE = "# Startup\n" + shown("startup-sent") + shown("answered-once")


def sample(
    folder: Path, pages: dict[str, str], home: str = "index", rules: str = RULES, **options: Any
) -> SampleSite:
    """Return pages with rules, whose boxes are on the page `home`."""
    rules = rules.replace('page = "index"', f'page = "{home}"')
    extensions = "examples.directive", "rules.domain"
    return SampleSite(folder, pages, *extensions, rules=rules, **options)


@pytest.mark.filterwarnings("ignore:'myst_parser:PendingDeprecationWarning")  # MyST's own
def test_a_link_without_a_role_finds_a_rule(tmp_path: Path) -> None:
    """A reference of any kind that names a rule ID leads to the rule."""
    home = "# Home\n\n{any}`startup-sent`\n\n[](#startup-sent)\n"
    with sample(tmp_path, {"index": home, "startup": PAGE}, "startup") as built:
        assert len(built.page().find_all("a", href="startup.html#startup-sent")) == 2


def test_a_rule_that_is_not_there_or_twice_is_a_warning_with_its_line(tmp_path: Path) -> None:
    """It names the second place, the first page, and the page that the file says."""
    links = "\n{rule}`no-such`, {any}`nor-such`\n"
    index = "# A\n" + shown("startup-sent") + rule("no-such") + links
    pages = {"index": index, "other": "# Other\n" + shown("startup-sent")}
    with sample(tmp_path, pages, nitpicky=True) as built:
        *found, first, second = built.warnings
        text = "docs/other.md:3: WARNING: The rule 'startup-sent'"
        assert found == [
            "docs/index.md:12: WARNING: rules.toml has no rule 'no-such'.",
            f"{text} belongs on the page 'index': rules.toml says so.",
            f"{text} stands on page 'index' already.",
            MISSING,
        ]
        assert [line[:24] for line in (first, second)] == ["docs/index.md:15: WARNING"[:24]] * 2
        assert not built.page().find(id="no-such")


@pytest.mark.parametrize(
    "below",
    [
        "",
        "{rule}`startup-sent`\n\n{.not-run}\n```python\n1\n```\n",
        "{rule}`startup-sent`\n\n```sh\nls\n```\n",
        "{rule}`startup-sent`\n\n- a list\n\n```python\n1\n```\n",
        "{doc}`index`\n\n```python\n1\n```\n",
    ],
)
def test_a_rule_that_no_example_shows_is_a_warning(tmp_path: Path, below: str) -> None:
    """Only a block that runs counts, and only a link in the paragraphs directly above it."""
    page = f"# A\n{rule('startup-sent')}\n{below}\n{shown('answered-once')}"
    with sample(tmp_path, {"index": page}) as built:
        (warning,) = built.warnings
        assert warning.startswith("docs/index.md:3: WARNING: No example shows the rule 'startup-s")


def test_an_example_shows_all_rules_that_the_paragraphs_above_it_name(tmp_path: Path) -> None:
    """The first example of a rule gets its anchor; boxes and examples stand in any order."""
    page = "# A\n" + example("answered-once") + rule("startup-sent") + rule("answered-once")
    page += "\n{rule}`startup-sent`\n" + example("answered-once")
    with sample(tmp_path, {"index": page}) as built:
        assert not built.warnings
        blocks = built.page().select("div.highlight-python")
        assert "example-answered-once" in str(blocks[0].parent)
        assert [
            bool(built.page().find(id=f"example-{each}"))
            for each in ("startup-sent", "answered-once")
        ] == [True, True]


def test_a_page_read_again_forgets_its_rules(tmp_path: Path) -> None:
    """A rule that was taken off a page is missing, one that stayed is no duplicate."""
    pages = {"index": PAGE, "other": "# Other\n"}
    with sample(tmp_path, pages, builder="dummy") as built:
        (built.docs / "index.md").write_text("# A\n" + shown("startup-sent"))
        built.app.build()
        assert built.warnings == [MISSING]


def test_the_places_of_a_page_are_forgotten_with_it(tmp_path: Path) -> None:
    with sample(tmp_path, {"index": PAGE}, builder="dummy") as built:
        domain = built.app.env.domains["lifespec"]
        domain.places["servers", "startup-sent"] = ("index", "servers-startup-sent")
        domain.places["case", "plain"] = ("other", "case-plain")
        domain.clear_doc("index")
        assert domain.places == {("case", "plain"): ("other", "case-plain")}
