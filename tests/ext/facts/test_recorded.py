"""Records: what they were made with, and whether their numbers fit together."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lifespec_docs.facts import recorded
from lifespec_docs.facts.known import ROOT
from lifespec_docs.facts.recorded import RECORDS, RecordError
from sample_site import SampleSite

PEERS: dict[str, Any] = {
    "python": "CPython 3.11.7",
    "suites": [
        {
            "server": "uvicorn",
            "version": "0.54.0",
            "own": {"passed": 7, "failed": 0, "skipped": 1},
            "adapted": {"passed": 6, "failed": 1, "skipped": 1},
        }
    ],
}
SERVER, CLASS = "src/lifespec/server.py", "docs/programs/hypercorn_lifespan.py"
PROGRAM = '"""Serve."""\n\n\ndef serve() -> int:\n    return 1  # the first\n'


def project(folder: Path) -> None:
    """Make a project whose record of other servers' tests was made with what lies there."""
    for name in (SERVER, CLASS):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(PROGRAM)
    write(folder, "peers", PEERS | {"made_with": recorded.made_with("peers", folder)})


def write(folder: Path, name: str, found: dict[str, Any]) -> None:
    (folder / recorded.FOLDER).mkdir(parents=True, exist_ok=True)
    (folder / recorded.FOLDER / f"{name}.json").write_text(json.dumps(found))


def now(folder: Path) -> list[str]:
    """Return what has changed since a project's record was made, seen anew."""
    recorded._digests.cache_clear()
    return recorded.changed(folder, "peers")


@pytest.mark.parametrize("name", RECORDS)
def test_what_a_record_is_made_with_exists(name: str) -> None:
    """A name that leads nowhere would never change."""
    assert all(recorded.made_with(name).values())
    recorded.read(ROOT, name)


def test_another_program_makes_a_record_old_and_other_words_do_not(tmp_path: Path) -> None:
    """Docstrings, comments and blank lines decide nothing."""
    project(tmp_path)
    assert now(tmp_path) == []
    (tmp_path / SERVER).write_text('"""Be served."""\ndef serve() -> int:\n    return 1\n')
    assert now(tmp_path) == []
    (tmp_path / SERVER).write_text(PROGRAM.replace("1", "2"))
    assert now(tmp_path) == [SERVER]
    (tmp_path / CLASS).with_name("hypercorn_trio_lifespan.py").write_text(PROGRAM)
    (tmp_path / CLASS).unlink()
    assert now(tmp_path) == [SERVER, CLASS, "docs/programs/hypercorn_trio_lifespan.py"]


def test_a_record_without_digests_is_old() -> None:
    """Nobody knows what it was made with."""
    assert recorded.changed(Path("/nowhere"), "loglines") == ["tests/measure/loglines.py"]


def test_a_level_makes_the_records_of_its_specifications_old(tmp_path: Path) -> None:
    """The sentence that describes a case or a rule makes none old."""
    for name in (recorded.CASES, recorded.RULES):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)

    def digests() -> dict[str, str]:
        recorded._digests.cache_clear()
        names = "servers", "amgi", "pagi"
        return {name: recorded.made_with(name, tmp_path)[recorded.CASES] for name in names}

    def changed(name: str, old: str, new: str) -> set[str]:
        before, path = digests(), tmp_path / name
        text = path.read_text("utf-8")
        path.write_text(text.replace(old, new), "utf-8")
        assert path.read_text("utf-8") != text
        return {name for name, digest in digests().items() if digest != before[name]}

    assert changed(recorded.RULES, 'says = "', 'says = "Now: ') == set()
    assert changed(recorded.CASES, 'says = "', 'says = "Now: ') == set()
    both = '{ specs = "asgi 2.0, pagi", level = "must", section = "Lifespan State" }'
    other = both.replace("must", "may")
    assert changed(recorded.RULES, both, other) == {"servers", "pagi"}
    assert changed(recorded.RULES, other, other.replace("may", "mist")) == {*digests()}


A: dict[str, Any] = {"name": "a", "findings": [], "happened": {}, "releases": [], "counts": {}}
B = A | {"name": "b"}
ASKED = A | {"happened": {"usual": [], "signal": []}}
CHANGED = {"before": {"changed": [{"row": "r"}]}}
STATEMENTS = {"chinese": {"all": {"tried": 0, "read": 0}}, "both": {"all": {"tried": 0, "read": 0}}}
MUTANTS = {"mutants": 675, "noticed": 665, "equivalent": 20, "survived": 0}
CONTRADICTIONS: list[tuple[str, str, dict[str, Any]]] = [
    *((name, "'a' stands there twice", {"subjects": [A, A]})
      for name in ("servers", "frameworks", "history", "middleware")),
    ("servers", "a has the verdict 'good'",
     {"subjects": [A | {"findings": [{"rule": "r", "verdict": "good"}]}]}),
    ("servers", "a has changed in 'r', where nothing was found", {"subjects": [A | CHANGED]}),
    ("frameworks", "b was not asked 'usual'", {"subjects": [A | {"happened": {"usual": []}}, B]}),
    ("hosts", "b was not asked 'usual'",
     {"subjects": [ASKED | {"kind": "server"}, B | {"kind": "server", "happened": {"signal": []}},
                   A | {"name": "c", "kind": "client"}]}),
    ("history", "the years of a do not rise",
     {"subjects": [A | {"releases": [{"year": 2023}, {"year": 2022}]}]}),
    ("middleware", "of a, fail, 1 fail are not 0", {"subjects": [A | {"counts": {"fail": 1}}]}),
    ("middleware", "b has 1 findings, and another one has more",
     {"subjects": [A | {"counts": {"pass": 2}}, B | {"counts": {"pass": 1}}]}),
    ("loglines", "a ran 'b', which is no program of the record",
     {"programs": {}, "subjects": [A | {"runs": {"b": {}}}]}),
    ("peers", "uvicorn has 8 tests with its own code, and 9 with server.py",
     {"suites": [{**PEERS["suites"][0], "adapted": {"passed": 9}}]}),
    ("bench", "a row of 'state' took no time", {"state": [{"name": "inline", "seconds": 0.0}]}),
    ("mutation", "of server, 665 noticed + 20 equivalent + 0 survived are not 675",
     {"parts": {"server": MUTANTS}}),
    ("exhaustive", "of 5 actions, 1 applications, 2 told apart do not decrease",
     {"server": {"5": {"applications": 1, "told apart": 2}}, "drivers": {}}),
    ("exhaustive",
     "not every implementation ran the same applications of 4 actions: {'a': 1, 'b': 2}",
     {"server": {}, "drivers": {name: {"version": "", "4": {"otherwise": count}}
                                for name, count in (("a", 1), ("b", 2))}}),
    ("drift", "of server, 9 mutants, 5 tried, 6 noticed do not decrease",
     {"code": {"server": {"mutants": 9, "tried": 5, "noticed": 6}}}),
    ("statements", "of both, 1 order are not 2",
     STATEMENTS | {"both": {"all": {"tried": 2, "read": 2}, "order": {"tried": 1, "read": 1}}}),
    ("statements", "of chinese, all, 1 known + 1 read are not 3",
     STATEMENTS | {"chinese": {"all": {"tried": 3, "known": 1, "read": 1},
                               "order": {"tried": 3, "read": 3}}}),
    ("parity", "of index, 7 examples, 8 virtual, 5 en do not decrease",
     {"pages": {"index": {"examples": 7, "virtual": 8, "en": 5, "zh": 5}}}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "fault", "found"), CONTRADICTIONS)
def test_a_record_that_contradicts_itself_is_not_read(
    name: str, fault: str, found: dict[str, Any], tmp_path: Path
) -> None:
    """Somebody has written a number by hand."""
    write(tmp_path, name, found)
    with pytest.raises(RecordError) as raised:
        recorded.read(tmp_path, name)
    assert str(raised.value) == f"docs/matrix/{name}.json contradicts itself: {fault}."


def test_a_page_says_once_that_a_record_is_old(tmp_path: Path) -> None:
    """Before the first of its tables; and nothing where the record is new."""
    page = "# A\n\n```{peers} suites\n```\n\n```{peers} when\n```\n"
    project(tmp_path)
    with SampleSite(tmp_path, {"index": page}, "records.verification") as sample:
        assert not sample.page().select(".note")
    (tmp_path / SERVER).write_text(PROGRAM.replace("1", "2"))
    assert now(tmp_path) == [SERVER]
    with SampleSite(tmp_path, {"index": page}, "records.verification") as sample:
        (note,) = sample.page().select(".note p:not(.admonition-title)")
        assert note.get_text() == "Measured before the last change of server.py."


def test_a_record_that_contradicts_itself_is_a_fault_of_the_page(tmp_path: Path) -> None:
    """With the line of the directive."""
    project(tmp_path)
    write(tmp_path, *next((name, found) for name, _, found in CONTRADICTIONS if name == "peers"))
    page = "# A\n\n```{peers} suites\n```\n"
    with SampleSite(tmp_path, {"index": page}, "records.verification") as sample:
        (first, *_) = sample.warnings
        assert first.startswith("docs/index.md:3: ERROR: docs/matrix/peers.json contradicts itself")


def test_a_record_that_is_no_json_is_told(tmp_path: Path) -> None:
    """Such as one that a merge has left marks in."""
    write(tmp_path, "peers", {})
    (tmp_path / recorded.FOLDER / "peers.json").write_text("<<<<<<< HEAD")
    with pytest.raises(
        RecordError, match=r"docs/matrix/peers\.json cannot be read: Expecting value"
    ):
        recorded.read(tmp_path, "peers")
    assert recorded.changed(tmp_path, "peers")


def test_a_release_has_no_old_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each is named with the command that measures anew; without --release that is all."""
    project(tmp_path)
    assert recorded.main([], tmp_path) == 0
    lines = capsys.readouterr().out.splitlines()
    old = [f"docs/matrix/{name}" for name in RECORDS if name != "peers"]
    assert [line.partition(".json")[0] for line in lines if line[0] != " "] == old
    assert max(map(len, lines)) <= 80
    told = (
        "docs/matrix/loglines.json was measured before the last change of "
        "tests/measure/loglines.py: `make loglines` measures anew."
    )
    assert told in " ".join(" ".join(lines).split())
    assert recorded.main(["--release"], tmp_path) == 1
    others = [name for name in RECORDS if name != "peers"]
    assert recorded.main(["--release", "--except", *others[1:]], tmp_path) == 1
    assert recorded.main(["--release", "--except", *others], tmp_path) == 0


def test_commands_that_wait_run_side_by_side(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those that compute run one after another; a record that is not old is not renewed."""
    project(tmp_path)
    assert recorded.main(["--commands"], tmp_path) == 0
    side_by_side, *others = capsys.readouterr().out.splitlines()
    assert side_by_side == "3 matrix frameworks hosts history loglines middleware"
    assert others == ["1 bench", "1 mutation", "1 exhaustive", "1 drift", "1 parity"]
    recorded.main(["--commands", "--all"], tmp_path)
    assert " peers" in capsys.readouterr().out
    assert not list(recorded.commands([]))


def test_what_mutates_the_package_does_not_load_it() -> None:
    """Each mutant is imported anew, in a fork of a process that knows none yet."""
    asked = "from lifespec_docs.facts.recorded import made_with as m; m('mutation'); m('drift')"
    code = f"import sys; {asked}; sys.exit('lifespec' in sys.modules)"
    path = {"PYTHONPATH": str(ROOT / "docs/_ext")}
    assert subprocess.run([sys.executable, "-c", code], env=path, check=False).returncode == 0
