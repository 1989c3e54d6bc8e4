"""`make review`: sentences and their evidence, of which only one changed, from git alone."""

import re
import subprocess
from pathlib import Path

import pytest

from lifespec_pages import review

PAGE = """\
# Title

Nothing stands below this one in its section.

## Startup

It prints one, see {rule}`startup-sent`.

```python
print(1)
```
```{output}
1
```

This shows a file.

```{shown} programs/a.py
```

Another sentence.

:::{decision}
Inside of a directive.

```{check}
assert 1
```
:::
"""
RULE = '[startup-sent]\nsays = "It must be sent."\n'


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project that is committed."""
    monkeypatch.chdir(tmp_path)
    for name, text in (review.RULES, RULE), ("docs/programs/a.py", "a = 1\n"), ("docs/a.md", PAGE):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in ["init", "-q", "-b", "main"], ["add", "."], [*who, "commit", "-q", "-m", "a"]:
        subprocess.run(["git", *words], check=True, timeout=60)
    return tmp_path


BELOW = r"docs/a.md:\d+: .* changed, and this did not: %s"
ABOVE = r"docs/a.md:\d+: this changed, and what is below it did not: %s"
ONE = {"It prints one": "It prints two"}
NOTHING = {"Nothing stands": "Something stands"}


@pytest.mark.parametrize(
    ("file", "changes", "printed"),
    [
        ("docs/a.md", {"print(1)": "print(2)"}, BELOW % "It prints one"),
        ("docs/a.md", {"\n1\n": "\n2\n"}, BELOW % "It prints one"),
        ("docs/a.md", {"assert 1": "assert 2"}, BELOW % "Inside of a directive."),
        ("docs/programs/a.py", {"1": "2"}, BELOW % "This shows a file."),
        (review.RULES, {"must": "should"}, BELOW % "It prints one"),
        ("docs/a.md", ONE, ABOVE % "It prints two"),
        ("docs/a.md", {"Inside of a": "Outside of a"}, ABOVE % "Outside of a directive."),
        ("docs/a.md", {"This shows": "This hides"}, ABOVE % "This hides a file."),
        pytest.param("docs/a.md", NOTHING, "", id="no evidence"),
        pytest.param("docs/a.md", {"print(1)": "print(2)"} | ONE, "", id="both"),
    ],
)
def test_a_sentence_is_printed_if_it_or_its_evidence_changed_alone(
    project: Path,
    capsys: pytest.CaptureFixture[str],
    file: str,
    changes: dict[str, str],
    printed: str,
) -> None:
    text = (project / file).read_text()
    for old, new in changes.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    (project / file).write_text(text)
    review.main()
    found = capsys.readouterr().out
    assert re.match(printed, found)
    assert bool(found) == bool(printed)
