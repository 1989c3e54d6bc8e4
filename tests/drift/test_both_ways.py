"""The command behind `make drift`: what it changes, who notices, what it leaves alone."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import changes
import guards
import journal
import listed
import mutated
import tokens
from changes import Change, changed
from journal import Journal, Task, side_by_side
from words import MESSAGES

import run

__all__: list[str] = []

RECORD: dict[str, Any] = json.loads(run.RESULT.read_text("utf-8"))


def edited(text: str, edits: Any) -> list[tuple[str, str]]:
    """Return the changes of a line."""
    return list(changes._edited(text, edits))


@pytest.mark.parametrize(
    ("text", "edits", "token", "new"),
    [
        ("must answer", tokens.english, "level", "should answer"),
        ("must answer", tokens.english, "negation", "must not answer"),
        ("It must not run.", tokens.english, "negation", "It must run."),
        ("It is gone.", tokens.english, "negation", "It is not gone."),
        ("It does not run.", tokens.english, "negation", "It does run."),
        ("Servers wait.", tokens.english, "party", "Applications wait."),
        ('by default `""`', tokens.english, "default", 'by default `"none"`'),
        ("`lifespan.startup`", tokens.english, "event", "`lifespan.shutdown`"),
        ("`startup.failed`", tokens.english, "event", "`startup.complete`"),
        ("`startup.failed`", tokens.english, "event", "`shutdown.failed`"),
        ("`is_worker`", tokens.english, "key", "`worker_num`"),
        ("`left`", tokens.english, "outcome or phase", "`timed out`"),
        ("lifespan 2.0", tokens.english, "version", "lifespan 3.0"),
        ("after 10 s", tokens.english, "number", "after 11 s"),
        ("服务器必须等待。", tokens.chinese, "level", "服务器应等待。"),
        ("服务器必须等待。", tokens.chinese, "negation", "服务器不得等待。"),
        ("服务器必须等待。", tokens.chinese, "party", "应用程序必须等待。"),
        ("它没有返回。", tokens.chinese, "negation", "它有返回。"),
        ("它是空的。", tokens.chinese, "negation", "它不是空的。"),
        ('send({"type": 1})', tokens.code, "key", 'send({"message": 1})'),
        ("outcome: left", tokens.printed, "outcome or phase", "outcome: timed out"),
        ("ERROR: no", tokens.printed, "log level", "DEBUG: no"),
    ],
)
def test_a_token_becomes_another(text: str, edits: Any, token: str, new: str) -> None:
    """One that could stand there."""
    assert (token, new) in edited(text, edits)


def test_numbers_of_programs_are_left_alone() -> None:
    """How long an example sleeps is no norm."""
    assert edited("await asyncio.sleep(3)", tokens.code) == []


PAGE = """\
# A

```{rule} startup-sent
The server must send it.
```

```python
print("lifespan.startup")
```
```{output}
lifespan.startup
2
```

| key | default |
|---|---|
| `state` | 1 |
| `asgi` | 3 |
"""


def test_each_place_of_a_page_is_changed() -> None:
    """Once for each token, and nothing else."""
    found = list(changes.of_page("docs/a.md", PAGE, ["startup-sent", "other-rule"]))
    assert {(each.place, each.token) for each in found} == {
        ("option", "slug"),
        ("rule", "level"),
        ("rule", "negation"),
        ("rule", "party"),
        ("example", "event"),
        ("output", "event"),
        ("output", "number"),
        ("output", "row dropped"),
        ("output", "rows exchanged"),
        ("table", "key"),
        ("table", "number"),
        ("table", "row dropped"),
        ("table", "rows exchanged"),
    }
    for each in found:
        text = changed(PAGE, each)
        assert text != PAGE
        assert abs(text.count("\n") - PAGE.count("\n")) <= 1
    assert len({each.key for each in found}) == len(found)


def test_a_change_of_another_text_is_refused() -> None:
    """Who is late would change something else."""
    change = Change("en", "rule", "level", "a.md", 1, "must", "should")
    with pytest.raises(ValueError, match=r"a\.md:1: this is not 'must'"):
        changed("may\n", change)


def test_the_rules_are_changed() -> None:
    """Party, level, section, each dialect; a source, a rule; two rules are exchanged."""
    found = list(changes.of_rules((journal.ROOT / changes.RULES).read_text("utf-8")))
    assert {each.token for each in found} == {
        "party", "observable", "level", "section", "dialect", "text", "row dropped",
        "rows exchanged",
    }  # fmt: skip


def test_a_file_is_read_otherwise_and_stays_as_it_is(tmp_path: Path) -> None:
    """Only in the process that asks for it."""
    path, folder = tmp_path / "a.md", tmp_path / "other"
    folder.mkdir()
    path.write_text("as it is")
    child = os.fork()
    if not child:
        guards.overlaid(path, "changed", folder)
        with path.open() as file:
            texts = path.read_text(), file.read(), (tmp_path / "b").exists()
        os._exit(texts != ("changed", "changed", False))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert path.read_text() == "as it is"


def test_what_was_tried_is_kept(tmp_path: Path) -> None:
    """Also where the last line was not written to its end."""
    path = tmp_path / "a.jsonl"
    Journal(path).add("one", {"noticed": {}})
    with path.open("a") as file:
        file.write('{"key": "tw')
    again = Journal(path)
    assert list(again.rows) == ["one"]
    again.add("three", {"noticed": {}})
    assert list(Journal(path).rows) == ["one", "three"]


def two(tmp_path: Path) -> list[Path]:
    """Make two places."""
    return [journal.emptied(tmp_path / name) for name in "ab"]


def test_tasks_run_side_by_side(tmp_path: Path) -> None:
    """Each in a process of its own; one that dies is told as stopped."""
    tasks = [Task(str(n), {"n": n}, "") for n in range(5)]

    def work(task: Task, place: Path) -> dict[str, Any]:
        if task.told["n"] == 3:
            os._exit(1)
        return {"process": os.getpid(), "place": place.name}

    found = {task.key: row for task, row in side_by_side(tasks, two(tmp_path), work)}
    assert found.pop("3") == {"stopped": True}
    assert len({row["process"] for row in found.values()}) == 4
    assert {row["place"] for row in found.values()} == {"a", "b"}


def test_a_task_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told as stopped: nothing has noticed it."""
    monkeypatch.setattr(journal, "LIMIT", 0.2)

    def work(_task: Task, _place: Path) -> dict[str, Any]:
        time.sleep(60)
        return {}

    [(_, row)] = side_by_side([Task("1", {}, "")], two(tmp_path), work)
    assert row == {"stopped": True}
    assert run.missed(row)


def test_who_is_interrupted_leaves_nothing_behind() -> None:
    """The processes end, and the working tree is what it was."""
    status = ["git", "status", "--porcelain"]
    before = subprocess.check_output(status, cwd=journal.ROOT)
    command = [sys.executable, "tests/drift/run.py", "documents", "--sample", "1"]
    with subprocess.Popen(
        command, cwd=journal.ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        lines = iter(process.stdout.readline, "")
        assert any(line.startswith("documents: ") for line in lines)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 1
        told = process.stderr.read()  # its end comes when all of them have ended
    assert told == "drift: interrupted; called again it goes on where it was\n"
    assert subprocess.check_output(status, cwd=journal.ROOT) == before


def block(source: str, expected: str | None = None, kind: str = "virtual") -> dict[str, Any]:
    """Return an example of a page."""
    found = {"page": "docs/a.md", "line": 3, "language": "python", "source": source}
    more = {"expected": expected, "kind": kind, "needs": (), "requests": 0, "beside": ()}
    return found | more


def tried(source: str, tmp_path: Path, *blocks: dict[str, Any]) -> dict[str, Any]:
    """Try a mutant in a process of its own, as the command does."""
    pages = {language: {"a": list(blocks)} for language in mutated.LANGUAGES}
    task = Task("1", {"file": "application"}, source)
    place = mutated.place(tmp_path, 0)

    def work(task: Task, place: Path) -> dict[str, Any]:
        for name in [name for name in sys.modules if name.partition(".")[0] == "lifespec"]:
            del sys.modules[name]
        return mutated.tried(task, place, pages)

    [(_, row)] = side_by_side([task], [place], work)
    file = place / "lifespec" / "application.py"
    assert file.read_text() == mutated.source("application")
    return dict(row["noticed"])


USE = "from lifespec import single_callable\nprint(single_callable.__name__)\n"


def test_a_mutant_is_noticed_by_the_example_that_fails(tmp_path: Path) -> None:
    """In each language; without a change nothing fails."""
    text = mutated.source("application")
    example = block(USE, "single_callable")
    assert tried(text, tmp_path, example) == {"en": ["", ""], "zh": ["", ""]}
    found = tried(f"{text}\nsingle_callable.__name__ = 'other'\n", tmp_path, example)
    assert found["en"] == found["zh"]
    assert found["en"][0] == "docs/a.md:3"
    assert "printed 'other'" in found["en"][1]


def test_a_mutant_that_cannot_be_imported_is_noticed(tmp_path: Path) -> None:
    """No example would run."""
    found = tried("raise OSError('gone')\n", tmp_path, block(USE))
    assert found["en"] == ["its import", "OSError: gone"]


def test_a_mutant_that_hangs_is_noticed_where_a_limit_says_so(tmp_path: Path) -> None:
    """The virtual clock's, by its name; the end of patience is no guard."""
    text = mutated.source("application")
    use = USE + "import asyncio\nasyncio.run(asyncio.Event().wait())\n"
    assert "Deadlock" in tried(text, tmp_path, block(use, "single_callable"))["en"][1]
    dead = "import os\nos._exit(7)\n"
    found = tried(dead, tmp_path, block(USE))
    assert found["en"][0] == ""
    assert run.missed({"noticed": found})


def test_mutants_that_are_no_other_program_are_left_out() -> None:
    """By the list of `make mutation`."""
    name, old, new = min(mutated.equivalent())
    row = {"file": name, "where": "", "line": 1, "old": old, "new": new, "source": "x"}
    assert mutated.tasks("", [row]) == []
    assert len(mutated.tasks("", [{**row, "new": "else"}])) == 1


def of_record(table: str) -> Iterator[dict[str, Any]]:
    """Return the rows of a table of the list."""
    yield from listed.rows(table)


@pytest.mark.parametrize("table", ["mutant", "change"])
def test_what_is_listed_has_a_reason(table: str) -> None:
    """A sentence, which the page has in both languages."""
    for row in of_record(table):
        assert row["reason"].endswith(".")
        assert row["reason"] in MESSAGES


def test_what_is_listed_stands_in_the_sources() -> None:
    """A mutant of a line that is gone is no exception any more."""
    for row in of_record("mutant"):
        assert row["old"] in mutated.source(row["file"])
        assert (row["file"], row["old"], row["new"]) not in mutated.equivalent()


def test_the_record_is_whole() -> None:
    """Every mutant was noticed in each language or is listed, and nothing survived."""
    assert set(RECORD["code"]) == set(mutated.NAMES)
    for row in RECORD["code"].values():
        assert row["mutants"] > 0
        assert row["en"] + row["listed"] >= row["mutants"] <= row["zh"] + row["listed"]
    assert RECORD["survivors"] == []
    assert sum(row["made"] for row in RECORD["documents"]) >= 1000
    for row in RECORD["documents"]:
        counts = {name: of for name, of in row.items() if isinstance(of, int)}
        assert counts.pop("made") == sum(counts.values())


def test_what_is_listed_is_counted_as_listed() -> None:
    """A change that nothing notices; what a copy notices counts as that."""
    example = {"language": "en", "place": "example", "token": "key", "file": "a.md", "line": 1}
    rows = [
        {**example, "old": "a", "new": "b", "noticed": {}},
        {**example, "old": "a", "new": "c", "noticed": {"run": ["examples", "no"]}},
        {**example, "old": "a", "new": "d", "noticed": {"copy": ["catalogs", "no"]}},
        {**example, "place": "rule", "old": "a", "new": "d", "noticed": {}},
    ]
    counted = {row["place"]: row for row in run.of_documents(rows)}
    assert counted["example"] | {"made": 3, "listed": 1, "run": 1, "copy": 1} == counted["example"]
    assert counted["rule"]["none"] == 1
    mutant = {**listed.rows("mutant")[0], "line": 1, "where": "f", "noticed": {"en": ["", ""]}}
    first, row = run.of_list([mutant, *rows])
    assert (first["language"], first["place"], first["number"]) == ("code", "validate.py", 1)
    assert (row["place"], row["number"], row["reason"][:7]) == ("example", 1, "Another")
    assert [bool(listed.reason(row)) for row in rows] == [True, True, True, False]
