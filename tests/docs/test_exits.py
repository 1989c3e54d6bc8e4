"""Exit statuses: each row of the table in *Check conformance* is run, without and with --strict."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from samples import ROOT

from lifespec import cli

LIMIT = 100.0  # seconds
BEGUN = "begun"  # a pipe that tells when the application is imported
ROW = re.compile(r"^\| (.+?) \| (\d+) \| (\d+) \|$", re.MULTILINE)
PAGE = (ROOT / "docs/check-conformance.md").read_text("utf-8")
TABLE = {
    text: (int(status), int(strict))
    for text, status, strict in ROW.findall(PAGE.partition("(exit-status)=")[2])
    if not text.startswith("Of a server")  # tests/conformance/test_server_check.py has such servers
}
APP = """
import asyncio
async def app(scope, receive, send):
    if scope["type"] != "lifespan":
        raise ValueError(scope["type"])
    %s
    for name in "startup", "shutdown":
        if (await receive())["type"] != f"lifespan.{{name}}":
            %s
        if name == "%s":
            %s
        await send({{"type": f"lifespan.{{name}}.complete"}})
""".replace("{{", "{").replace("}}", "}")
CHECK = "check app shop:app --timeout 60 --only start-and-stop --only unknown-event-first"
OFF = "check server --only well-behaved -- uvicorn {app} --port {port} --lifespan off"


def app(
    call: str = "", unknown: str = "raise ValueError(name)", at: str = "", does: str = ""
) -> str:
    """Return an application: what it does when it is called, with an unknown event, and later."""
    return APP % (call, unknown, at, does or "pass")


HANGS = app(at="startup", does="await asyncio.Event().wait()")
TWICE = """await send({"type": "lifespan.startup.complete"})
            try:
                await send({"type": "lifespan.startup.complete"})
            except Exception:
                pass
            continue"""
LOGS = 'import logging; logging.getLogger("shop").error("the mail is lost")'
FAILED = 'await send({"type": "lifespan.startup.failed", "message": "no"}); return'
RUNS = {  # the beginning of a row: what is run, and the application
    "Every MUST was kept": ("explain startup-sent", ""),
    "The application starts and stops": (CHECK, app()),
    "A SHOULD was missed": (CHECK, app(unknown="pass")),
    "Something was seen that": (CHECK, app(at="startup", does=TWICE)),
    "One of the": (CHECK, app(at="startup", does=LOGS)),
    "The framework of": (CHECK, "from starlette.applications import Starlette\napp = Starlette()"),
    "The application returns or raises when": (CHECK, app("return")),
    "The application raises or returns after": (CHECK, app(at="startup", does="raise OSError")),
    "A MUST was broken": (CHECK, app(at="startup", does='await send({"type": "ready"})')),
    "The application does not stop": (
        CHECK.replace("60", "3"),
        app(at="shutdown", does="await asyncio.sleep(99)"),
    ),
    "The application does not start": (CHECK, app(at="startup", does=FAILED)),
    "No lifespan took place": (OFF, ""),
    "The command could not": ("check app nowhere:app", ""),
    "Interrupted by SIGHUP": (CHECK, HANGS),
    "Interrupted by Ctrl-C": (CHECK, HANGS),
    "Interrupted by SIGTERM": (CHECK, HANGS),
}
SIGNALS = {"SIGHUP": signal.SIGHUP, "Ctrl-C": signal.SIGINT, "SIGTERM": signal.SIGTERM}


def status(folder: Path, command: str, sent: signal.Signals | None) -> int:
    """Return the exit status of a command, to which a signal is sent once its check runs."""
    words = [str(Path(sys.executable).with_name("lifespec")), *command.split()]
    paths = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    with subprocess.Popen(
        words, cwd=folder, env=os.environ | {"PATH": paths}, stdout=subprocess.DEVNULL
    ) as process:
        if sent:
            (folder / BEGUN).read_text()  # once the application writes it
            process.send_signal(sent)
        return process.wait(LIMIT)


@pytest.mark.slow
@pytest.mark.parametrize("row", TABLE)
def test_a_command_ends_with_the_status_of_its_row(row: str, tmp_path: Path) -> None:
    ((command, source),) = (run for begin, run in RUNS.items() if row.startswith(begin))
    sent = SIGNALS.get(row.rpartition(" ")[2])
    if sent:
        os.mkfifo(tmp_path / BEGUN)
        source = f"open({str(tmp_path / BEGUN)!r}, 'w').close()\n{source}"
    (tmp_path / "shop.py").write_text(source, "utf-8")
    strict = command.replace("check app", "check app --strict")
    strict = strict.replace("check server", "check server --strict")
    assert (status(tmp_path, command, sent), status(tmp_path, strict, sent)) == TABLE[row]


def test_the_help_has_each_status_of_the_table() -> None:
    assert len(TABLE) == len(RUNS)
    known = {int(each) for each, _ in cli.STATUSES["app"] if each.isdigit()}
    signals = {128 + each for each in SIGNALS.values()}
    assert "128+n" in [each for each, _ in cli.STATUSES["app"]]
    assert {each for both in TABLE.values() for each in both} == known | signals
