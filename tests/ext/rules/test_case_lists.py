"""What the page on the cases draws from the data."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lifespec.conformance import cases
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
