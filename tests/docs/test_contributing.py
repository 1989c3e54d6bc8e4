"""Sections of the guide to contributing, followed in a copy of the tree, with their commands."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from samples import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
GUIDE = (ROOT / "docs/contributing.md").read_text("utf-8")
TREE = "docs", "locales", "src", "tests", "Makefile", "README.md", "pyproject.toml"
CATALOG = "src/lifespec/conformance/data/%s.zh.po"
MEASURED = "make matrix", "make frameworks", "make hosts", "make docs"  # from the network; the site
Follow = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a copy, with the packages that are installed here."""
    for name in TREE:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, tmp_path)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["src", "docs/_ext", "tests"]))
    return tmp_path


def follow(title: str, *options: str, skip: Sequence[str] = ()) -> tuple[int, str]:
    """Run the commands of a section in its order; return the worst status and what they printed.

    `options` narrow the tests of `make outputs`.
    """
    section = GUIDE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    block, *_ = re.findall(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    narrow = f'PYTEST=".venv/bin/python -m pytest -q {" ".join(options)}"'
    status, printed = 0, ""
    for line in block.splitlines():
        if line.startswith(tuple(skip)):
            continue
        command = re.sub("^make ", f"make -o .venv/complete {narrow} ", line)
        command = command.replace("-n auto", "-n 0")  # workers start longer than a few tests take
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=500)
        status = max(status, done.returncode)
        printed += f"$ {line}\n{done.stdout}{done.stderr}"
    return status, printed


def change(file: str, old: str, new: str) -> None:
    text = Path(file).read_text("utf-8")
    assert old in text
    Path(file).write_text(text.replace(old, new), "utf-8")


def add(file: str, text: str) -> None:
    with Path(file).open("a", encoding="utf-8") as end:
        end.write(text)


def add_row(record: str, like: str, **named: Any) -> None:
    """Add to a record what its measuring program would write."""
    path = Path(f"docs/matrix/{record}.json")
    data = json.loads(path.read_text("utf-8"))
    row = next(each for each in data["subjects"] if each["name"] == like)
    data["subjects"].append(row | {"name": "sample"} | named)
    path.write_text(json.dumps(data), "utf-8")


@pytest.mark.usefixtures("copy")
def test_a_server_is_added() -> None:
    title = "Add a server, framework, middleware or host to its record"
    add_row("servers", "daphne")
    add_row("hosts", "daphne", host="sample")
    status, printed = follow(title, skip=MEASURED)
    assert status == 1
    assert "docs/hosts/sample.md: write it, with (host-sample)=" in printed
    assert "docs/hosts: a page has to have (subject-servers-sample)=" in printed
    (line,) = {*re.findall("- sample .*scope", printed)}
    change("README.md", "\n- uvicorn ", f"\n{line}\n- uvicorn ")
    head = "---\norphan: true\n---\n\n(host-sample)=\n(subject-servers-sample)=\n# sample\n"
    Path("docs/hosts/sample.md").write_text(head + "\n```{table} profile hosts sample\n```\n")
    status, printed = follow(title, skip=MEASURED)
    assert status == 0, printed


ONLY = """

def stumbles(key: str) -> Application:
    async def stumbling(scope: Any, receive: Any, send: Any) -> None:
        async def strictly() -> Any:
            event = await receive()
            if key in event:
                raise ValueError(event)
            return event

        await live(scope, strictly, send)

    return stumbling


ONLY_IN |= {"sample": stumbles("more"), "extra-keys": stumbles("hello")}
"""


@pytest.mark.usefixtures("copy")
def test_a_case_is_added(monkeypatch: pytest.MonkeyPatch) -> None:
    case = '\n[sample]\nrole = "application"\nsays = "The server adds a key and stops."\nscript = ['
    case += '"call", "offer lifespan.startup more=1", "await startup", "offer lifespan.shutdown", '
    case += '"await shutdown", "await end"]\nexpect = {extra-keys-expected = "as usual"}\n'
    add("src/lifespec/conformance/data/cases.toml", case)
    add(
        CATALOG % "report",
        '\nmsgid "The server adds a key and stops."\nmsgstr "服务器添加一个键。"\n',
    )
    add("tests/mutants/applications.py", ONLY)  # both expect the same rule
    monkeypatch.setenv("PYTEST_ADDOPTS", "-k 'sample or extra-keys or each_rule or each_case'")
    status, printed = follow("Add a case", "-k 'cases and not edge'", skip=["make translate"])
    assert status == 0, printed


@pytest.mark.usefixtures("copy")
def test_a_problem_is_added(monkeypatch: pytest.MonkeyPatch) -> None:
    page = Path("docs/problems/returns-early.md").read_text("utf-8")
    page = page.replace("await receive()", 'raise OSError("no sample")', 1)
    Path("docs/problems/sample.md").write_text(page, "utf-8")
    index = "docs/troubleshooting.md"
    change(
        index,
        "{doc}`problems/returns-early`",
        "{doc}`problems/returns-early`, {doc}`problems/sample`",
    )
    names = "src/lifespec/diagnosis/problem.py"
    kinds = '    "sample": Kinds(tell=["advise-sample"]),\n'
    change(names, '    "returns-early"', f'{kinds}    "returns-early"')
    row = '    Advice((), "advise-port"'
    sample = '    Advice((), "advise-sample", [OS], ["no sample"]),\n'
    change("src/lifespec/diagnosis/advice.py", row, sample + row)
    sentences = "src/lifespec/conformance/data/sentences.toml"
    change(sentences, "\nadvise-port", '\nadvise-sample = "Take a sample."\nadvise-port')
    monkeypatch.setenv("PYTEST_ADDOPTS", "--update")
    subprocess.run([sys.executable, "-m", "pytest", "-q", "docs/problems/sample.md"], check=True)
    monkeypatch.setenv("PYTEST_ADDOPTS", "-k '(sample or row) and not en and not zh'")
    status, printed = follow("Add a problem", skip=["make translate"])
    assert status == 0, printed
    assert "passed" in printed


@pytest.mark.usefixtures("copy")
def test_a_hint_is_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = "Build a new dict with", "Make a new dict with"
    change("src/lifespec/conformance/data/rules.toml", old, new)
    monkeypatch.setenv("PYTEST_ADDOPTS", "-k rule")
    status, printed = follow("Change a rule or its hint")
    assert re.search(rf"rules.zh.po:\d+: translate: .*{new}", printed)
    assert status == 0, printed
    assert new in printed.partition("explain scope-type")[2]


@pytest.mark.usefixtures("copy")
def test_a_log_message_is_changed() -> None:
    old, new = "was cancelled and did not stop", "was cancelled and did not end"
    change("src/lifespec/server.py", old, new)
    status, printed = follow("Change a log message", "-k timeouts", skip=[".venv"])
    assert status > 0
    assert re.search(r"Left to you.*\ndocs/timeouts.md:\d+\n", printed), printed
    change("docs/timeouts.md", old, new)
    status, printed = follow("Change a log message", "-k timeouts")
    assert status == 0, printed
