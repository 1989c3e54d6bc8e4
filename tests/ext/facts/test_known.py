"""The facts are those of code and data: what changes there changes in the role."""

import inspect
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lifespec import Lifespan, validate
from lifespec.conformance import cases
from lifespec.conformance.rules import rules
from lifespec.testing import plugin
from lifespec_docs.facts import known
from lifespec_docs.facts.known import Value, canonical, facts, nearest, shown

__all__: list[str] = []

SECONDS = {"%s second": "%s 秒", "%s seconds": "%s 秒", ", ": "、"}
READ = (
    *known.SOURCES,
    known.LOCK,
    *(f"docs/matrix/{name}.json" for name in known.RECORDS),
    *(f"src/lifespec/conformance/data/{name}.toml" for name in ("rules", "cases")),
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Copy what facts are read from."""
    for name in READ:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(known.ROOT / name, tmp_path / name)
    return tmp_path


def test_a_default_is_that_of_the_signature() -> None:
    """A timeout has a unit; what is no number is code."""
    grace = inspect.signature(Lifespan).parameters["grace"].default
    found = facts()
    assert float(found["default Lifespan.grace"].words[0]) == grace
    assert found["default Lifespan.grace"].seconds
    assert found["default Lifespan.startup_timeout"] == Value(("None",), code=True, seconds=False)
    assert found["default Lifespan.strict"] == Value(("False",), code=True)
    assert found["default sequence.server"] == Value(('"server"',), code=True)
    assert "default Lifespan.app" not in found


def test_methods_have_defaults_where_they_are_ours() -> None:
    """What a class inherits from Python is documented there."""
    found = facts()
    assert found["default Conversation.note.detail"].words == ('""',)
    assert not [name for name in found if name.startswith("default VirtualLoop.create_task")]
    assert not [name for name in found if "._" in name]


def test_options_of_the_command() -> None:
    """Those that have a default, and those that have choices."""
    found = facts()
    assert found['option "check app" --timeout'].seconds
    assert found['option "check app" --isolation'] == Value(('"auto"',), code=True)
    assert found['choices "check app" --isolation'].words == ("auto", "fork", "spawn")
    assert 'option "check app" --strict' not in found
    assert 'option "" --version' not in found


def test_the_table_of_transitions() -> None:
    """A level is known where something is logged."""
    found = facts()
    assert found['level "waiting raised"'] == Value(("INFO",), code=True)
    assert 'level "waiting lifespan.startup.complete"' not in found
    assert "crashed" in found["outcomes"].words
    assert found["phases"].words[0] == "waiting"
    assert found["message lifespan.startup.failed"].words == ('""',)


def test_constants_are_numbers_in_capital_letters() -> None:
    """Of modules, and of the long commands, which are none."""
    found = facts()
    assert found["constant testing.plugin.TIMEOUT"] == Value((plugin.TIMEOUT,))
    assert found["seconds testing.plugin.TIMEOUT"] == Value((plugin.TIMEOUT,), seconds=True)
    assert found["constant conformance.app.isolation.POLL"].words == ("0.004",)
    assert found["constant bench.PROCESSES"].file == "tests/bench/bench.py"
    assert not [name for name in found if name.endswith((".DEBUG", ".TYPE_CHECKING"))]


def test_counts() -> None:
    """Of what is listed somewhere."""
    found = facts()
    assert found["count rules"].words == (str(len(rules())),)
    assert found["count cases"].words == (str(len(cases.load())),)
    assert found["count events"].words == (str(len(validate.EVENTS)),)


def test_what_was_measured_follows_its_record(root: Path) -> None:
    """The first record that names a package has precedence; its file is noted."""
    path = root / "docs/matrix/servers.json"
    record = json.loads(path.read_text("utf-8"))
    record["subjects"][0]["versions"] = {"Uvicorn": "9.9"}
    record["date"] = "2030-01-01"
    path.write_text(json.dumps(record))
    found = known.known(root)
    assert found["version uvicorn"] == Value(("9.9",), file="docs/matrix/servers.json")
    assert found["date servers"].words == ("2030-01-01",)
    assert found["version mutmut"].file == "docs/matrix/mutation.json"
    assert found["count servers"].words == (str(len(record["subjects"])),)


def test_the_servers_that_got_a_verdict(root: Path) -> None:
    """A server that was measured in two ways is named with the way."""
    path = root / "docs/matrix/servers.json"
    finding = {"case": "slow-start", "rule": "wait-for-startup", "verdict": "pass"}
    subjects = [
        {"name": name, "versions": {}, "findings": [{**finding, "verdict": verdict}]}
        for name, verdict in (("a", "pass"), ("b, asyncio", "fail"), ("b, trio", "pass"))
    ]
    path.write_text(json.dumps({"subjects": subjects}))
    found = known.known(root)
    assert found["seen slow-start wait-for-startup pass"].words == ("a", "b (trio)")
    assert found["seen slow-start wait-for-startup fail"].words == ("b (asyncio)",)


def test_what_the_project_says(root: Path) -> None:
    """Its version, and the versions of Python."""
    path = root / "pyproject.toml"
    path.write_text(path.read_text("utf-8").replace(':: 3.14"', ':: 3.15"'))
    found = known.known(root)
    assert found["python oldest"].words == ("3.11",)
    assert found["python newest"] == Value(("3.15",), file="pyproject.toml")
    assert found["locked starlette"].words[0][0].isdecimal()


def test_a_fact_in_both_languages() -> None:
    """A unit is a word of the language, and so is the mark between two values."""
    five, one = Value(("5",), seconds=True), Value(("1",), seconds=True)
    assert [shown(five, str), shown(one, str)] == ["5 seconds", "1 second"]
    assert shown(five, SECONDS.__getitem__) == "5 秒"
    assert shown(Value(("a", "b"), code=True), SECONDS.__getitem__) == "`a`、`b`"


def test_names_are_compared_without_their_spaces() -> None:
    """What is quoted is one word."""
    assert canonical(' option  "check app"\n --timeout ') == 'option "check app" --timeout'
    assert nearest("default Lifespan.graze", facts())[0] == "default Lifespan.grace"
    assert not nearest("nothing like it", {"a": 1})


def test_the_command_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    """With what they are; those alone that have the words."""
    assert known.main(["default", "grace"]) == 0
    assert capsys.readouterr().out == "{fact}`default Lifespan.grace`  5 seconds\n"
    assert known.main(["no such fact"]) == 1
    command = [sys.executable, str(known.ROOT / "docs/facts.py"), "version", "uvicorn`"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 1
