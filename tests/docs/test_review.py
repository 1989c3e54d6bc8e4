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


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("file", "old", "new", "sentence"),
    [
        ("docs/a.md", "print(1)", "print(2)", "It prints one"),
        ("docs/a.md", "\n1\n", "\n2\n", "It prints one"),
        ("docs/a.md", "assert 1", "assert 2", "Inside of a directive."),
        ("docs/programs/a.py", "1", "2", "This shows a file."),
        (review.RULES, "must", "should", "It prints one"),
    ],
)
def test_a_sentence_is_printed_if_its_evidence_changed(
    project: Path, capsys: pytest.CaptureFixture[str], file: str, old: str, new: str, sentence: str
) -> None:
    change(project / file, old, new)
    review.main()
    lines = capsys.readouterr().out.splitlines()
    assert re.match(rf"docs/a.md:\d+: .* changed, and this did not: {sentence}", lines[0])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("It prints one", "It never prints one"),
        ("Inside of a directive.", "Outside of a directive."),
        ("This shows a file.", "This hides a file."),
    ],
)
def test_a_sentence_is_printed_if_it_changed_above_the_same_evidence(
    project: Path, capsys: pytest.CaptureFixture[str], old: str, new: str
) -> None:
    change(project / "docs/a.md", old, new)
    review.main()
    (line,) = capsys.readouterr().out.splitlines()
    assert re.match(rf"docs/a.md:\d+: this changed, and what is below it did not: {new}", line)


def test_a_sentence_without_evidence_is_not(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change(project / "docs/a.md", "Nothing stands", "Something stands")
    review.main()
    assert capsys.readouterr().out == ""


def test_a_sentence_that_changed_with_its_evidence_is_not(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change(project / "docs/a.md", "print(1)", "print(2)")
    change(project / "docs/a.md", "It prints one", "It prints two")
    review.main("HEAD")
    assert capsys.readouterr().out == ""
