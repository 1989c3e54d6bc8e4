"""What the page on the cases draws from the data."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lifespec.conformance import cases, language
from lifespec_docs.i18n.messages import package_messages
from sample_site import SampleSite

__all__: list[str] = []

RULES = """\
[startup-answered]
role = "application"
observable = "application"
stage = "startup"
page = "startup"
says = "It must be answered."
source = [{ specs = "asgi 2.0", level = "must", section = "Startup" }]
[shutdown-answered]
role = "application"
observable = "application"
stage = "startup"
page = "startup"
says = "It must be answered."
source = [{ specs = "asgi 2.0", level = "must", section = "Shutdown" }]
"""
STARTUP = """\
# Startup

:::{rule} startup-answered
:::

:::{rule} shutdown-answered
:::

{rule}`startup-answered`, {rule}`shutdown-answered`

```python
1
```
"""
CASES = """\
[quick]
role = "application"
says = "It is quick."
script = ["call", "await end"]
expect = { startup-answered = "answered", shutdown-answered = "ends" }
[others]
role = "server"
says = "It is another."
script = []
expect = {}
"""
EXTENSIONS = "examples.directive", "rules.domain", "rules.case_lists"


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let there be two small cases."""
    small = cases.read(CASES, "cases.toml")
    monkeypatch.setattr(cases, "load", lambda: small)
    package_messages.cache_clear()
    yield
    package_messages.cache_clear()


def page(text: str) -> dict[str, str]:
    """Make pages: this one, and that of the rules."""
    return {"index": f"# Cases\n\n```{text}\n```\n", "startup": STARTUP}


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("keys", ("role", language.KEYS["role"])),
        ("verbs server", ("receive", language.VERBS["receive"].says)),
        ("verbs application", ("wait SECONDS", language.VERBS["wait"].says)),
        ("doings server", ("request WORD", language.DOINGS["request"].says)),
        ("phrases application", ("kept", language.PHRASES["kept"].says)),
    ],
)
def test_vocabulary(words: str, first: tuple[str, str], tmp_path: Path) -> None:
    """A list of words, with what each says."""
    with SampleSite(tmp_path, page(f"{{vocabulary}} {words}"), *EXTENSIONS, rules=RULES) as sample:
        (found,) = sample.page().select("dl.cases")
        assert found.find("dt").get_text().strip() == first[0]
        assert found.find("dd").get_text(strip=True) == first[1]


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("{cases} jury", "index.md:3: WARNING: There are no cases of 'jury'."),
        ("{vocabulary} nouns", "index.md:3: WARNING: There are no words 'nouns'."),
        ("{vocabulary} verbs jury", "index.md:3: WARNING: There are no words 'verbs jury'."),
    ],
)
def test_what_there_is_not(text: str, warning: str, tmp_path: Path) -> None:
    """A wrong word is a warning with file and line."""
    with SampleSite(tmp_path, page(text), *EXTENSIONS, rules=RULES) as sample:
        assert any(warning in line for line in sample.warnings)
        assert sample.page().select("dl.cases") == []


BOTH = """\
[quick]
role = "application"
says = "It is quick."
script = ["call", "await end"]
expect = { startup-answered = "answered" }
[slow]
role = "application"
says = "It is slow."
script = ["call", "await end"]
expect = { startup-answered = "answered" }
[around]
role = "middleware"
says = "It is around."
script = []
expect = { startup-answered = "same answers" }
"""


def test_the_cases_of_a_rule_are_listed_by_role(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each leads to its case; the rule's box leads here, one without a case nowhere."""
    small = cases.read(BOTH, "cases.toml")
    monkeypatch.setattr(cases, "load", lambda: small)
    page = "# Cases\n\n```{cases} application\n```\n\n```{cases} middleware\n```\n"
    pages = {"index": STARTUP, "cases": page + "\n```{cases-by-rule}\n```\n"}
    with SampleSite(tmp_path, pages, *EXTENSIONS, rules=RULES) as built:
        told = built.page("cases").select_one("dl.cases-by-rule")
        assert [term["id"] for term in told.select("dt")] == ["cases-startup-answered"]
        assert told.dt.a["href"] == "index.html#startup-answered"
        assert [line.get_text() for line in told.select("dd p")] == [
            "application: quick, slow",
            "middleware: around",
        ]
        links = [link["href"] for link in told.select("dd a")]
        assert links == ["#case-quick", "#case-slow", "#case-around"]
        box = built.page().select_one("#startup-answered .rule-links")
        assert [(link.get_text(), link["href"]) for link in box.select("a")] == [
            ("Cases", "cases.html#cases-startup-answered")
        ]
        assert not built.page().select_one("#shutdown-answered .rule-links")
