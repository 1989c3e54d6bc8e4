"""What an issue for a framework's or a host's project says, and that its program runs."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from published import ROOT

from lifespec_docs.records.broken import (
    OF_FRAMEWORKS,
    OF_HOSTS,
    Broken,
    issues_of_framework,
    issues_of_host,
)
from lifespec_docs.records.frameworks import Run
from lifespec_docs.records.hosts import HostRun

MADE = "CPython 3.11, Linux"
SCOPE, EVENT = ["lifespan", "state"], ["event", "lifespan.startup"]
STOP = ["event", "lifespan.shutdown"]
COMPLETE, FAILED = (["sends", f"lifespan.startup.{end}"] for end in ("complete", "failed"))
SEEN, SAME = ["request", "the pool", "another dict"], ["request", "the pool", "the same dict"]
EMPTY, TERM = ["request", "no pool", "another dict"], ["SIGTERM"]
TOLD, LOST = ["prints", "no pool"], ["sends", "lifespan.shutdown.failed"]
DONE = ["sent", "lifespan.startup.complete"]
OPENED, RAISED = ["connect", "cache"], ["raised", "OSError", "no cache"]


def host(kind: str, command: str, broken: Broken, happened: list[Any]) -> dict[str, Any]:
    """Return a row of the record: one question has an answer of its own."""
    usual = [SCOPE, EVENT, COMPLETE, SEEN, STOP]
    asked = {each.question: usual for each in OF_HOSTS}
    return {
        "host": "Cloud", "kind": kind, "program": "cloud", "command": command,
        "versions": {"cloud": "1.0"}, "happened": {**asked, broken.question: happened},
    }  # fmt: skip


ADAPTER = """\
\"\"\"An adapter.\"\"\"

import contextlib
import os

from api_gateway import EVENT
from shop import app

ONE_AT_A_TIME = True


async def answer(events, scope):
    async def receive():
        return {"type": events.pop(0)}

    async def send(event):
        print("sends", event["type"])

    await app(scope, receive, send)
    return EVENT, os.sep


@contextlib.asynccontextmanager
async def host():
    scope = {"type": "lifespan", "state": {}}
    await answer(["lifespan.startup", "lifespan.shutdown"], scope)
    yield lambda: answer([], {"type": "http", "state": scope["state"]})
"""


def ran(folder: Path, text: str) -> str:
    """Run the program of an issue; return what it prints."""
    (folder / "shop.py").write_text(text.partition("```python\n")[2].partition("```")[0])
    return subprocess.check_output(
        [sys.executable, "shop.py"], cwd=folder, text=True, stderr=subprocess.STDOUT, timeout=30
    )


def test_the_program_about_an_adapter_runs(tmp_path: Path) -> None:
    """It needs nothing but the adapter."""
    (tmp_path / "cloud.py").write_text(ADAPTER)
    (tmp_path / "api_gateway.py").write_text(
        '"""An event."""\n\n__all__ = []\n\nEVENT = {"a": 1}\n'
    )
    state = next(each for each in OF_HOSTS if each.rule == "state-shallow-copy")
    row = host("adapter", "python visit.py cloud", state, [SCOPE, EVENT, COMPLETE, SAME, STOP])
    (issue,) = issues_of_host(row, HostRun, MADE, tmp_path)
    assert issue.rules == ["state-shallow-copy"]
    assert "```sh\npython shop.py  # cloud 1.0\n```" in issue.text
    assert "What I saw: A request had the dict of the lifespan itself." in issue.text
    printed = ran(tmp_path, issue.text)
    assert "At shutdown, the state: {'pool': 'open'}\n" in printed
    assert "A request, the state: {'pool': 'open', 'note': 'written by a request'}\n" in printed
    (tmp_path / "cloud.py").write_text(ADAPTER.replace("asynccontextmanager", "contextmanager"))
    (issue,) = issues_of_host(row, HostRun, MADE, tmp_path)
    assert 'print("The answer:", get())' in issue.text


def test_the_program_about_a_server_is_the_application_and_its_commands(tmp_path: Path) -> None:
    """A platform has a program of its own, and takes longer to begin."""
    (tmp_path / "cloud.py").write_text('"""A platform."""\n\nfrom shop import app\n\nrun(app)\n')
    exits = next(each for each in OF_HOSTS if each.rule == "startup-failed-exits")
    failed = [FAILED, TOLD, TERM]
    served = host("server", "cloud shop:app --port {port}", exits, failed)
    (issue,) = issues_of_host(served, HostRun, MADE, tmp_path)
    assert "cloud shop:app --port 8000 &  # cloud 1.0\nsleep 3\ncurl http" in issue.text
    platform = host("platform", "python cloud.py {port}", exits, failed)
    (issue,) = issues_of_host(platform, HostRun, MADE, tmp_path)
    assert "python shop.py 8000 &  # cloud 1.0\nsleep 20\n" in issue.text
    assert "\n\n\nrun(app)\n```" in issue.text


APPLICATION = """\
\"\"\"An application that answers before its hooks have run.\"\"\"

import asyncio

from resources import {names}


async def app(scope, receive, send):
    while (await receive())["type"] != "lifespan.shutdown":
        await send({{"type": "lifespan.startup.complete"}})
        await asyncio.sleep(0)
        {opens}
"""


@pytest.mark.parametrize(
    ("names", "opens"),
    [
        ("connect", 'await connect("cache")'),
        ("connection", 'await connection("cache").__aenter__()'),
    ],
)
def test_the_program_about_a_framework_runs(tmp_path: Path, names: str, opens: str) -> None:
    """It has the resources that the application uses, one of which fails."""
    (tmp_path / "eager.py").write_text(APPLICATION.format(names=names, opens=opens))
    resources = (ROOT / "docs/programs/frameworks/resources.py").read_text("utf-8")
    (tmp_path / "resources.py").write_text(resources)
    happened: dict[str, Any] = {each.question: [RAISED] for each in OF_FRAMEWORKS}
    happened["startup raises"] = [["connect", "database"], DONE]
    row = {"program": "eager", "versions": {"eager": "2.0"}, "happened": happened}
    (issue,) = issues_of_framework(row, Run, MADE, tmp_path)
    assert issue.rules == ["startup-answered"]
    with pytest.raises(subprocess.CalledProcessError) as raised:
        ran(tmp_path, issue.text)
    assert raised.value.output.startswith("It sends {'type': 'lifespan.startup.complete'}\n")
    assert "OSError: no cache\n" in raised.value.output


@pytest.mark.parametrize("name", ["hosts", "frameworks"])
def test_each_program_about_the_record_can_be_compiled(name: str) -> None:
    """And says its versions."""
    record = json.loads((ROOT / "docs" / "matrix" / f"{name}.json").read_text("utf-8"))
    folder = ROOT / "docs" / "programs" / name
    for row in record["subjects"]:
        found = (
            issues_of_host(row, HostRun, MADE, folder)
            if name == "hosts"
            else issues_of_framework(row, Run, MADE, folder)
        )
        for issue in found:
            compile(issue.text.partition("```python\n")[2].partition("```")[0], row["name"], "exec")
            assert " ".join(next(iter(row["versions"].items()))) in issue.text
