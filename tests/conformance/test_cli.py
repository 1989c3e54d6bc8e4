"""The commands `lifespec check` and `lifespec cases`: options, output, exit status."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from lifespec import cli
from lifespec.conformance import cases
from lifespec.conformance import cli as check_cli
from lifespec.conformance.app import check as app_check
from lifespec.conformance.app.pipe import BRIDGE
from lifespec.conformance.processes import began_within, until
from lifespec.conformance.report import terminal
from lifespec.conformance.report import Finding, Report, Verdict
from lifespec.conformance.server import brokers, clients
from lifespec.conformance.server import check as server_check
from lifespec.conformance.server.process import OfPerl

__all__: list[str] = []

ROOT = Path(cli.__file__).parents[1]
SHOP = """
async def live(scope, receive, send):
    if scope["type"] not in ("lifespan", "http", "message"):
        raise ValueError(scope["type"])
    if scope["type"] == "lifespan":
        for name in ("startup", "shutdown"):
            if (await receive())["type"] != f"lifespan.{name}":
                raise ValueError
            await send({"type": f"lifespan.{name}.complete"})

async def leaves(scope, receive, send):
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()

def same(app):
    return app
"""


@pytest.fixture
def ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Run the command in a folder with a shop; return status, output and errors."""
    (tmp_path / "shop.py").write_text(SHOP)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.delenv("CI", raising=False)

    def run(*arguments: str) -> tuple[int, str, str]:
        try:
            status = cli.main(arguments)
        except SystemExit as exit_:
            status = int(exit_.code or 0)
        return (status, *capfd.readouterr())

    return run


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Any]]:
    """Let the suite find this verdict; return the jobs it was given, and whether it is to stop."""

    def finding(name: str) -> list[Any]:
        given: list[Any] = []
        verdict = Verdict.named(name)

        def check(*job: Any, **_: Any) -> Report:
            findings = (Finding("one", "events-known", verdict, "It is so.", "so", "It is."),)
            (tell,) = (each for each in job if callable(each) and each is not check_cli._say)
            given.append((job, tell("one", findings)))
            return Report("shop:live", "asgi 2.0", findings)

        monkeypatch.setattr(app_check, "check", check)
        monkeypatch.setattr(server_check, "check", check)
        return given

    return finding


def test_the_job(
    ended: Callable[..., tuple[int, str, str]], found: Callable[..., list[Any]]
) -> None:
    """What was given is what is done."""
    given = found("pass")
    ended("check", "app", "shop:live")
    ended("check", "app", "shop:make", "--factory", "--spec", "amgi", "--timeout", "2.5")
    ended("check", "middleware", "shop:same", "--spec", "asgi 1.0")
    ended("check", "app", "--strict", "--pipe", "perl", "a b.pl", "--strict")
    ended("check", "app", "lib/shop.pl", "--spec", "pagi")
    assert [job[0] for job, _ in given] == [
        app_check.AppCheck("application", "shop:live"),
        app_check.AppCheck("application", "shop:make", "amgi 2.0", factory=True, limit=2.5),
        app_check.AppCheck("middleware", "shop:same", "asgi 1.0"),
        app_check.AppCheck(
            "application", "perl 'a b.pl' --strict", pipe=("perl", "a b.pl", "--strict")
        ),
        app_check.AppCheck(
            "application",
            "lib/shop.pl",
            "pagi 0.3",
            pipe=("perl", str(BRIDGE), str(Path("lib/shop.pl").absolute())),
        ),
    ]


def test_what_is_configured(
    ended: Callable[..., tuple[int, str, str]], found: Callable[..., list[Any]]
) -> None:
    """[tool.lifespec] says what no option says: the application, and how it is checked."""
    Path("pyproject.toml").write_text(
        '[tool.lifespec]\napp = "shop:make"\nspec = "amgi"\nfactory = true\nstrict = true\n'
        'ignore = ["state-keys-text"]\ntimeout = 2\nlanguage = "zh"\n'
    )
    given = found("warn")
    status, out, _ = ended("check", "app")
    assert status == 1
    assert "规则" in out
    wanted = app_check.AppCheck("application", "shop:make", "amgi 2.0", factory=True, limit=2.0)
    assert given.pop()[0][0] == wanted
    ended("check", "app", "shop:live", "--spec", "asgi", "--timeout", "3", "--language", "en")
    wanted = app_check.AppCheck("application", "shop:live", factory=True, limit=3.0)
    assert given.pop()[0][0] == wanted
    assert ended("check", "app", "--ignore", "events-known")[0] == 2
    ended("check", "middleware", "shop:same")
    assert given.pop()[0][0] == app_check.AppCheck("middleware", "shop:same", "amgi 2.0", limit=2.0)
    ended("check", "driver", "starlette")
    assert given.pop()[0][0] == clients.job("starlette", limit=2.0)


@pytest.mark.parametrize(
    ("table", "arguments", "said"),
    [
        ('app = ["a:a", "b:b"]', "app", "[tool.lifespec] names a:a and b:b: give the TARGET to"),
        ('app = "a:a"\nignore = ["events-kown"]', "app", "there is no rule 'events-kown': did "),
        ('app = "a:a"\nlanguage = "fr"', "app", "there is no language 'fr': give en or zh"),
        ('app = "a:a"\ntimeout = 0', "app", "a timeout is a number of seconds, not 0: give one "),
        ('app = "a:a"\nspec = "asgi 9"', "app", "there is no specification 'asgi 9': name asgi"),
        ("strict = true", "app", "give a TARGET, as in shop.main:app, or --pipe and a COMMAND"),
        ("", "app a:a --pipe perl", "give a TARGET, as in shop.main:app, or --pipe"),
        ("", "middleware", "the following arguments are required: TARGET; `lifespec check midd"),
        ("", "", "the following arguments are required: SUBJECT; `lifespec check --help`"),
        ("", "app a:a --timeout inf", "a timeout is a number of seconds, not 'inf'"),
        ("", "app a:a --timeout long", "a timeout is a number of seconds, not 'long'"),
        ("", "app a:a --only unknown-scop", "there is no case for application by asgi 2.0 'unk"),
        ("", "app --pipe nosuchprogram", "'nosuchprogram' cannot be started: No such file"),
        ("", "driver starlet", "there is no driver 'starlet': did you mean starlette"),
        ("", "server --workers ' -- x", '--workers "\'" is not a valid list of arguments: No clos'),
        ("", "app a:a --json link/x --junit x", "x is given for two reports: name another file"),
        ("", "app a:a --json=", "the name of the file is empty: give one"),
        ("", "app a:a --json no/a", "no/a cannot be written: No such file or directory; name an"),
    ],
)
def test_bad_usage(
    table: str, arguments: str, said: str, ended: Callable[..., tuple[int, str, str]]
) -> None:
    """One line on standard error, and status 2, before anything is checked."""
    Path("link").symlink_to(Path())
    Path("pyproject.toml").write_text(f"[tool.lifespec]\n{table}\n")
    status, out, err = ended("check", *arguments.split())
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"lifespec: {said}")


def test_the_job_of_a_server(
    ended: Callable[..., tuple[int, str, str]], found: Callable[..., list[Any]]
) -> None:
    """A broker is one more thing to be told; a driver is told by its name."""
    given = found("pass")
    words = ("x", "{app}", "{port}")
    ended("check", "server", "--workers=-w 2", "--timeout", "3", "--", *words)
    amgi = ("--spec", "amgi", "--broker", "mosquitto", "--only", "state")
    ended("check", "server", *amgi, "--", *words, "{topic}")
    ended("check", "driver", "starlette", "--spec", "asgi 1.0", "--timeout", "4")
    ended("check", "server", "--spec", "pagi", "--only", "state", "--", *words)
    server, brokered, driver, perl = (job for (job, *_), _ in given)
    assert perl.begins is OfPerl
    assert server == server_check.ServerCheck(words, "asgi 2.0", "-w 2", 3.0)
    assert brokered.command == (*words, "{topic}")
    assert brokered.begins.args == (brokers.BROKERS["mosquitto"],)
    assert driver == clients.job("starlette", "asgi 1.0", limit=4.0)
    assert [len(only) for (_, only, _), _ in given] == [
        len(server_check.chosen()),
        1,
        len(server_check.chosen()),
        1,
    ]


@pytest.mark.parametrize(("verdict", "wanted"), [("pass", 0), ("fail", 1), ("skip", 2)])
def test_what_servers_come_to(
    verdict: str,
    wanted: int,
    ended: Callable[..., tuple[int, str, str]],
    found: Callable[..., list[Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Findings are told with --verbose, rules can be left out, and a log of CI has each case."""
    given = found(verdict)
    status, out, err = ended("check", "servers", "uvicorn", "--only", "state", "--fail-fast")
    assert (status, "requirement" in out, err) == (wanted, False, "")
    assert [stops for _, stops in given] == [verdict == "fail"]
    monkeypatch.setenv("CI", "false")
    _, out, err = ended("check", "servers", "uvicorn", "--verbose", "--only", "state")
    assert ("requirement" in out, err) == (True, "")
    assert not given.pop()[1]
    monkeypatch.setenv("CI", "1")
    _, out, err = ended("check", "servers", "uvicorn", "--only", "state")
    assert err == f"lifespec: case 1 of 1: uvicorn one {verdict.upper()}\n"
    out = ended("check", "servers", "uvicorn", "--ignore", "events-known")[1]
    assert verdict.upper() not in out


@pytest.mark.parametrize("subject", ["app", "middleware", "server", "servers", "driver"])
def test_help(subject: str, ended: Callable[..., tuple[int, str, str]]) -> None:
    """It is 80 columns wide at most."""
    status, out, err = ended("check", subject, "--help")
    assert (status, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80


def test_a_reader_that_has_read_enough(
    ended: Callable[..., tuple[int, str, str]],
    found: Callable[..., list[Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A pipe that nobody reads any more changes no verdict, and the files are written."""
    found("fail")
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert ended("check", "app", "shop:live", "--json", "report.json") == (1, "", "")
    assert json.loads(Path("report.json").read_text("utf-8"))["subject"]["name"] == "shop:live"


@pytest.mark.parametrize("number", check_cli.SIGNALS)
def test_a_check_that_is_to_end_is_broken_off(
    number: signal.Signals,
    ended: Callable[..., tuple[int, str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each signal is like Ctrl-C; while things are cleaned up, and afterwards, none of them is."""
    before = [signal.getsignal(each) for each in check_cli.SIGNALS]

    def check(*_: object) -> None:
        try:
            signal.raise_signal(number)
        finally:
            for each in check_cli.SIGNALS:
                signal.raise_signal(each)

    monkeypatch.setattr(app_check, "check", check)
    told = ended("check", "app", "shop:live", "--json", "a.json")
    assert told == (128 + number, "", "lifespec: interrupted\n")
    assert [signal.getsignal(each) for each in check_cli.SIGNALS] == before
    assert sorted(path.name for path in Path().iterdir()) == ["shop.py"]


def test_a_signal_that_is_ignored_stays_so() -> None:
    """`nohup` lets a check go on when the terminal is closed."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with check_cli._interruptible():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_outside_of_the_main_thread() -> None:
    """No signal arrives there."""
    with ThreadPoolExecutor() as pool:
        pool.submit(check_cli._interruptible()(lambda: None)).result()


def test_why_real_time_is_needed_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On standard error, if there is one."""
    check_cli._say("again in real time")
    assert capsys.readouterr() == ("", "lifespec: again in real time\n")
    monkeypatch.setattr(sys, "stderr", None)
    check_cli._say("again in real time")
    assert capsys.readouterr().out == ""


DRIPS = """
import asyncio, contextlib, importlib, os, sys
from lifespec import Lifespan

async def serve(app, port):
    async def talk(reader, writer):
        await reader.readuntil(b"\\r\\n\\r\\n")
        writer.write(b"HTTP/1.1 200 OK\\r\\ncontent-length: 1000000\\r\\n\\r\\n")
        with open(os.environ["DRIPPING"], "a") as file:
            file.write(f"{os.getpid()} ")
        while True:
            await asyncio.sleep(0.3)
            writer.write(b" ")

    module, name = app.split(":")
    called = getattr(importlib.import_module(module), name)
    async with Lifespan(called) if sys.argv[3] == "lifespan" else contextlib.nullcontext():
        await (await asyncio.start_server(talk, "127.0.0.1", int(port))).serve_forever()

asyncio.run(serve(*sys.argv[1:3]))
"""


@contextlib.contextmanager
def checked_as_it_drips(folder: Path, kind: str) -> Iterator[subprocess.Popen[str]]:
    """Check a server that answers with one byte after the other; at the end it is gone."""
    (folder / "temporary").mkdir()
    (folder / "drips.py").write_text(DRIPS)
    setting = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "TMPDIR": str(folder / "temporary"),
        "DRIPPING": str(folder / "pid"),
    }
    command = [sys.executable, "-m", "lifespec", "check", "server", "--only", "well-behaved"]
    command += ["--timeout", "2", "--", sys.executable, "drips.py", "{app}", "{port}", kind]
    with subprocess.Popen(command, cwd=folder, env=setting, stderr=-1, stdout=-1, text=True) as run:
        try:
            assert until(lambda: (folder / "pid").exists() and (folder / "pid").read_text(), 60)
            yield run
        finally:
            run.kill()
    assert [*(folder / "temporary").iterdir()] == []
    pids = [int(pid) for pid in (folder / "pid").read_text().split()]
    assert until(lambda: not any(began_within(pid, 0, time.monotonic()) for pid in pids), 10)


@pytest.mark.parametrize(
    ("kind", "number"), [("lifespan", signal.SIGTERM), ("none", signal.SIGHUP), ("lifespan", 0)]
)
def test_the_check_of_a_server_that_drips_ends(kind: str, number: int, tmp_path: Path) -> None:
    """Within seconds of a signal, or when a whole answer has had its time; nothing is left."""
    with checked_as_it_drips(tmp_path, kind) as run:
        if number:
            run.send_signal(number)
        said = run.communicate(timeout=10 if number else 60)
    assert run.returncode in ([128 + number] if number else [1, 2])
    assert number == 0 or said[1] == "lifespec: interrupted\n"


def test_a_bar_on_a_terminal(
    ended: Callable[..., tuple[int, str, str]],
    found: Callable[..., list[Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is shown on standard error, where that is a terminal, and nowhere else."""
    found("pass")
    shown: list[str] = []

    @contextlib.contextmanager
    def progress(title: str, total: int) -> Iterator[Callable[[], None]]:
        shown.append(title)
        yield lambda: None

    monkeypatch.setattr(terminal, "progress", progress)
    monkeypatch.setenv("FORCE_COLOR", "1")
    ended("check", "app", "shop:live")
    assert shown == []
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    ended("check", "app", "shop:live")
    assert shown == ["shop:live"]


def test_no_case_is_played_after_one_that_failed(
    ended: Callable[..., tuple[int, str, str]],
) -> None:
    """They are skipped, and say why."""
    status, out, _ = ended("check", "app", "shop:leaves", "--fail-fast")
    assert status == 1
    assert "Not run: another case failed before." in " ".join(out.split())


def test_cases(ended: Callable[..., tuple[int, str, str]]) -> None:
    """All cases are listed with their sentences and rules, 80 columns wide at most."""
    status, out, err = ended("cases")
    assert (status, err) == (0, "")
    heads = [line for line in out.splitlines() if not line.startswith(" ")]
    assert heads == [f"{case.name}  ({case.role})" for case in cases.load()]
    assert max(map(len, out.splitlines())) <= 80
    assert "    The application starts and stops.\n    checks startup-answered, " in out
    of_middleware = ended("cases", "--role", "middleware")[1]
    assert of_middleware.count("  (") == out.count("  (middleware)") > 0
