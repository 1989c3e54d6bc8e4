"""The rules that hold in a spec, drawn from their own boxes."""

from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup

from lifespec_docs.rules.citations import address
from sample_site import SampleSite

__all__: list[str] = []

RULES = """\
[once]
role = "server"
says = "The server should do it."
source = [
    { specs = ["asgi 2.0"], level = "should", section = "Lifespan" },
    { specs = ["pagi 0.3"], level = "must", section = "Model" },
    { specs = ["pagi 0.3"], level = "must", text = "core", section = "Loop" },
    { specs = ["amgi 1.0"], level = "should not", text = "asgi", section = "Lifespan" },
    { specs = ["amgi 2.0"], level = "should not", text = "asgi", section = "Lifespan" },
]
[[once.wording]]
specs = ["amgi 2.0"]
says = "It should not."
[once.ours]
specs = ["asgi 1.0"]
says = "It does."
[same]
role = "server"
says = "It must be so."
source = [
    { specs = ["asgi 1.0", "asgi 2.0", "pagi 0.3"], level = "must", section = "S" },
    { specs = ["amgi 1.0", "amgi 2.0"], level = "must", section = "S" },
]
[answered]
role = "application"
says = "It must not."
source = [
    { specs = ["asgi 2.0", "amgi 1.0"], level = "must not", section = "Startup" },
]
[homeless]
role = "server"
says = "It must."
source = [{ specs = ["asgi 2.0"], level = "must", section = "S" }]
"""
STARTUP = """\
# Startup

:::{rule} once
The server should do it, as `should` says, and {doc}`index` tells; a {rule}`same` may, too.
:::

:::{rule} once
:in: amgi 2.0

It should not be done.
:::

:::{behaviour} once
`Lifespan` does it.
:::

{rule}`once`

```python
1
```

:::{rule} same
It must be so.

{#both}
In both sentences.
:::

{rule}`same`

```python
2
```

:::{rule} answered
It must not.
:::

{rule}`answered`

```python
3
```
"""


def sample(folder: Path, page: str, **options: Any) -> SampleSite:
    """Return a page, and the one that has the rules."""
    pages = {"index": f"# Home\n\n{page}", "startup": STARTUP}
    extensions = (
        "examples.directive",
        "rules.domain",
        "rules.spec_tables",
        "rules.rules_of_spec",
    )
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


def unexpected(built: SampleSite) -> list[str]:
    """Return the warnings, but for the rule that no page has."""
    return [line for line in built.warnings if "homeless" not in line]


def test_the_rules_of_a_spec_are_drawn_with_its_level(tmp_path: Path) -> None:
    """The word that lays the duty is that of the text; no other word changes, and no code."""
    with sample(tmp_path, holds("pagi 0.3")) as built:
        assert not unexpected(built)
        assert held(built.page()) == [
            [
                "The server must do it, as should says, and Home tells; a same may, too.",
                "once “Model”; the main specification of PAGI, “Loop” Example",
            ],
            ["It must be so.", "In both sentences.", "same “S” Example"],
        ]


@pytest.mark.parametrize(
    ("spec", "foot", "text"),
    [
        ("asgi 2.0", "once “Lifespan” Example", "The server should do it"),
        ("asgi 1.0", "once lifespec's behaviour Example", "Lifespan does it"),
        (
            "amgi 1.0",
            "once lifespan 2.0 (ASGI), “Lifespan” Example",
            "The server should not do it",
        ),
        (
            "amgi 2.0",
            "once lifespan 2.0 (ASGI), “Lifespan” Example",
            "It should not be done",
        ),
    ],
)
def test_each_text_has_its_own_word(tmp_path: Path, spec: str, foot: str, text: str) -> None:
    """A rule of ours says so, and one that is taken over from ASGI names its text."""
    with sample(tmp_path, holds(spec)) as built:
        first, *_ = held(built.page())
        assert first[0].startswith(text)
        assert first[1] == foot
        marked = built.page().select_one("div.held")["class"]
        assert ("ours" in marked) == (spec == "asgi 1.0")


STAGED = """\
[answered]
role = "server"
stage = "shutdown"
says = "It must not."
source = [{ specs = ["asgi 2.0", "amgi 1.0"], level = "must not", section = "Shutdown" }]
[once]
role = "server"
stage = "startup"
says = "The server should do it."
source = [{ specs = ["asgi 2.0"], level = "should", section = "Lifespan" }]
[same]
role = "application"
stage = "state"
says = "It must be so."
source = [{ specs = ["asgi 2.0"], level = "must", section = "Lifespan State" }]
"""
BOXES = """\
# Startup

:::{rule} answered
It must not.
:::

:::{rule} once
The server should do it.
:::

:::{rule} same
It must be so.
:::

```python
1
```
"""


def staged(folder: Path, page: str) -> SampleSite:
    """Return a page, and rules that have stages."""
    pages = {"index": f"# Home\n\n{page}", "startup": BOXES}
    extensions = ("rules.domain", "rules.spec_tables", "rules.rules_of_spec")
    return SampleSite(folder, pages, "examples.directive", *extensions, rules=STAGED)


def test_the_rules_stand_in_the_order_of_their_stages(tmp_path: Path) -> None:
    """Each stage has a title if a rule of the specification and role belongs to it."""
    page = holds("asgi 2.0") + "\n" + holds("amgi 1.0") + "\n" + holds("asgi 2.0", "application")
    with staged(tmp_path, page) as built:
        lines = built.page().select("h3.stage, div.held p:first-child")
        assert [line.text for line in lines] == [
            "Startup",
            "The server should do it.",
            "Shutdown",
            "It must not.",
            "Shutdown",
            "It must not.",
            "Requests and state",
            "It must be so.",
        ]


def test_a_section_is_a_link_to_the_line_of_its_title(tmp_path: Path) -> None:
    """The file is that of the specification, at a fixed commit."""
    with staged(tmp_path, holds("asgi 2.0")) as built:
        links = [link["href"] for link in built.page().select(".held-source a")]
        assert links == [address("asgi 2.0", "", "Shutdown")]  # there is no section “Lifespan”
        assert links[0].endswith("/specs/lifespan.rst?plain=1#L123")


def test_a_rule_that_a_text_has_not_is_not_drawn(tmp_path: Path) -> None:
    """Where nothing holds for a role, nothing stands."""
    with sample(tmp_path, holds("amgi 2.0", "application")) as built:
        assert held(built.page()) == []
        assert not unexpected(built)


def test_a_rule_links_to_its_box_and_to_its_example(tmp_path: Path) -> None:
    """Links in its text work from where it stands now; its ids stay with the box."""
    both = holds("asgi 2.0") + "\n" + holds("asgi 2.0", "application")
    with sample(tmp_path, both) as built:
        (*_, rule) = built.page().select("div.held")
        assert [link["href"] for link in rule.find_all("a")] == [
            "startup.html#answered",
            address("asgi 2.0", "", "Startup"),
            "startup.html#example-answered",
        ]
        assert not built.page().select("div.held [id]")
        assert built.page("startup").find(id="both")
        startup = built.page("startup")
        assert "2" in startup.find(id="example-same").text
        assert startup.find(id="answered")


def test_links_in_a_rule_lead_on(tmp_path: Path) -> None:
    """A reference is resolved for the page on which the copy stands."""
    with sample(tmp_path, holds("pagi 0.3")) as built:
        rule = built.page().select_one("div.held")
        assert [link["href"] for link in rule.select("p:first-child a")] == [
            "#",
            "startup.html#same",
        ]


def test_a_translated_rule_is_copied_translated(tmp_path: Path) -> None:
    """It is no message of this page, and its word of duty is the text's in Chinese, too."""
    page = sample(tmp_path, holds("pagi 0.3"), language="zh_CN")
    english = STARTUP.split("\n")[3]
    page.translate(
        "startup", {english: "服务器应做。`should` 这么说。{doc}`index` 也是。{rule}`same` 可以。"}
    )
    page.translate("lifespec", {"Example": "示例"})
    with page:
        first, *_ = held(page.page())
        assert first[0].startswith("服务器必须做")
        assert "可以" in first[0]
        assert first[1] == "once “Model”; the main specification of PAGI, “Loop” 示例"
    with sample(tmp_path, holds("pagi 0.3"), builder="gettext") as built:
        assert "should do it" not in Path(built.app.outdir, "index.pot").read_text()


def test_a_search_leads_to_the_rule_itself(tmp_path: Path) -> None:
    """What is drawn is not indexed a second time."""
    with sample(tmp_path, holds("asgi 2.0")) as built:
        index = Path(built.app.outdir, "searchindex.js").read_text()
        assert '"sentenc":1' in index.replace(" ", "")  # only startup, the second page


def test_texts_that_differ_are_not_drawn_as_one(tmp_path: Path) -> None:
    """Where a page names two of them, that is a warning with its line."""
    with sample(tmp_path, holds("asgi 2.0, pagi 0.3")) as built:
        (warning,) = unexpected(built)
        assert warning.startswith("docs/index.md:3: WARNING: ")
        assert "asgi 2.0 and pagi 0.3 differ in the rule 'once'" in warning


def test_rules_are_drawn_once(tmp_path: Path) -> None:
    """Those of a role that a page draws twice are those of the other, left out."""
    with sample(tmp_path, holds("pagi 0.3") * 2 + holds("pagi 0.3", "application")) as built:
        (warning,) = unexpected(built)
        assert warning.startswith("docs/index.md:6: ")
        assert warning.endswith("{holds} of pagi 0.3 server stands on page 'index' already.")


def test_a_role_is_one_of_two(tmp_path: Path) -> None:
    """Anything else is told."""
    with sample(tmp_path, holds("asgi 2.0", "proxy")) as built:
        assert any("Whose rules?" in line for line in unexpected(built))


def test_the_rules_on_which_texts_differ_stand_in_a_table(tmp_path: Path) -> None:
    """Those that say the same share a column; a rule on which all agree has no row."""
    with sample(tmp_path, "```{levels}\n```\n") as built:
        rows = [
            [
                " ".join(cell.get_text(" ", strip=True).split())
                for cell in row.find_all(["th", "td"])
            ]
            for row in built.page().select("table.levels tr")
        ]
        assert rows == [
            [
                "Rule",
                "lifespan 1.0 (ASGI)",
                "lifespan 2.0 (ASGI)",
                "AMGI 1.0",
                "AMGI 2.0",
                "PAGI 0.3",
            ],
            ["once", "not specified", "should", "should not", "should not", "must"],
            ["answered", "–", "must not", "must not", "–", "–"],
        ]
        assert built.page().select_one("table.levels a")["href"] == "startup.html#once"


def test_other_builders_pass_over_the_place(tmp_path: Path) -> None:
    """A builder without pages draws nothing, and has no fault."""
    with sample(tmp_path, holds("asgi 2.0"), builder="gettext") as built:
        assert not [line for line in built.warnings if "unknown node" in line]
