"""What the build reports of a page, with file and line; what is excused, and what no longer is."""

from pathlib import Path

from markdown_it import MarkdownIt

from lifespec_docs.facts import checks
from lifespec_docs.facts.checks import Found, excused
from lifespec_docs.facts.names import names, words
from lifespec_docs.facts.typed import typed
from sample_site import SampleSite

ROOT = Path(__file__).parents[3]
PAGE = """\
# Wait five seconds by default

`start_timeot`, the outcome `unsuported` and `my_pool`.

`start_timeot` again; {fact}`default Lifespan.grace` and {fact}`default Lifespan.strict`.

```sh
make doc
```

{.file-my-shop .not-run}
```python
my_pool = 1
```

See `my_shop.py`.

| argument | default |
|---|---|
| `grace` | 6 seconds |

```{outcomes}
```

```{recorded-when} servers
```

```{rule} startup-sent
In 5 seconds, by default, it must be sent.
```

```python
1
```
"""
UNTRUE = '''\
"""Has `no_such_name`, and lifespan.startup.fail.

By default, the grace is 6 seconds.
"""

MINE = "a text"
'''


def test_a_page(tmp_path: Path) -> None:
    """Names, commands, titles and rows of tables; not what is drawn, and not rule boxes."""
    extensions = "examples.directive", "rules.domain", "facts", "records.matrix"
    (tmp_path / "docs/matrix").mkdir(parents=True)
    for name in ("servers", "drivers"):
        text = (ROOT / f"docs/matrix/{name}.json").read_text("utf-8")
        (tmp_path / f"docs/matrix/{name}.json").write_text(text)
    with SampleSite(tmp_path, {"index": PAGE}, *extensions) as built:
        told = [line for line in built.warnings if "There is no" in line or "is typed" in line]
        typed_ = "is typed: write {fact}`default Lifespan.grace`"
        assert [line.partition(": ")[0].removeprefix("docs/") for line in told] == [
            f"index.md:{line}" for line in (3, 3, 5, 7, 1, 18)
        ]
        assert "There is no name 'start_timeot'" in told[0]
        assert "There is no outcome 'unsuported'" in told[1]
        assert "There is no target of make 'doc': did you mean docs?" in told[3]
        assert f"'five seconds' {typed_}" in told[4]
        assert "'6 seconds' is typed, and is not what that says: write {fact}" in told[5]


def test_a_docstring() -> None:
    """Its names are looked up, its events also without a mark; a number may be typed if true."""
    found = list(checks.in_docstrings(UNTRUE))
    assert [(each.kind, each.what, each.place, each.true) for each in found] == [
        ("name", "no_such_name", 1, False),
        ("name", "lifespan.startup.fail", 1, False),
        ("typed", "6 seconds", 1, False),
    ]


def test_what_is_excused(tmp_path: Path) -> None:
    """One row for one name in one file; a row that excuses nothing is told."""
    path = tmp_path / "exceptions.toml"
    row = '[[exception]]\nfile = "a.md"\n{} = "{}"\nreason = "It is."\n'
    path.write_text(row.format("name", "x_y") + row.format("typed", "5 s"))
    first, second = Found("name", "x_y", "No x_y.", 1), Found("name", "y_z", "No y_z.", 2)
    told = [each.sentence for each in excused("a.md", [first, first, second], path)]
    assert told == [
        "No y_z.",
        "exceptions.toml excuses '5 s' here, and nothing has it: delete that row.",
    ]
    assert list(excused("b.md", [first], path)) == [first]


def test_the_exceptions_have_reasons() -> None:
    """Each names a file that there is, one name without a wildcard, and a sentence."""
    rows = checks.tomllib.loads(checks.EXCEPTIONS.read_text("utf-8")).get("exception", [])
    for row in rows:
        assert set(row) in ({"file", "name", "reason"}, {"file", "typed", "reason"})
        assert (ROOT / row["file"]).is_file()
        assert "*" not in row.get("name", "") + row.get("typed", "")
        assert row["reason"].endswith(".")
    assert len({tuple(row.items()) for row in rows}) == len(rows)


def of_readme() -> list[Found]:
    """Return what is not known in the README, and what is typed there and false."""
    found = []
    tokens = MarkdownIt("commonmark").enable("table").parse((ROOT / "README.md").read_text("utf-8"))
    fences = [token for token in tokens if token.type == "fence"]
    own = {word for fence in fences for word in words(fence.content)}
    for token in tokens:
        line = token.map[0] + 1 if token.map else 0
        if token.type == "fence" and token.info == "sh":
            unknown = names().of_shell(token.content)
        else:
            inline = [each for each in token.children or () if each.type == "code_inline"]
            unknown = [name for each in inline for name in names().faults(each.content, own)]
            found += [
                Found("typed", each.what, str(each), line, each.true)
                for each in typed(token.content)
            ]
        found += [Found("name", name.name, str(name), line) for name in unknown]
    return [each for each in found if not each.true]


def test_the_readme() -> None:
    """It can draw nothing: what it types is true, and what it names is there."""
    told = [
        f"README.md:{each.place}: {each.sentence}" for each in excused("README.md", of_readme())
    ]
    assert not told, "\n".join(told)
