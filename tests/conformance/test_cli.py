"""The commands `lifespec check` and `lifespec cases`: options, output, exit status."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
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
from lifespec.conformance.report.model import Finding, Report, Verdict
from lifespec.conformance.server import brokers, clients
from lifespec.conformance.server import check as server_check
from lifespec.conformance.server.process import OfPerl
from lifespec.validate import SPECS

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


over: list[bool] = []  # whether the check was told to play no further case


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Any]]:
    """Let the suite find this verdict; return the jobs it was given."""

    def finding(name: str) -> list[Any]:
        given: list[Any] = []
        over.clear()
        verdict = Verdict.named(name)

        def check(*job: Any, **options: Any) -> Report:
            given.append((job, options))
            findings = (Finding("one", "events-known", verdict, "It is so.", "so", "It is."),)
            (tell,) = (each for each in job if callable(each) and each is not check_cli._say)
            over.append(tell("one", findings))
            return Report("shop:live", "asgi 2.0", findings)

        monkeypatch.setattr(app_check, "check", check)
        monkeypatch.setattr(server_check, "check", check)
        return given

    return finding


def test_an_application_that_conforms(ended: Callable[..., tuple[int, str, str]]) -> None:
    """The report is on standard output, 80 columns wide; the status is 0."""
    status, out, err = ended("check", "app", "shop:live", "--strict")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].rstrip() == "shop:live, checked against lifespan 2.0 (ASGI)"
    assert "PASS 12, SKIP 2 (--verbose lists them)" in out
    assert max(map(len, lines)) <= 80
    assert out.isascii()


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
    ("table", "sentence"),
    [
        ('app = ["a:a", "b:b"]', "[tool.lifespec] names a:a and b:b: give the TARGET to check"),
        ('app = "a:a"\nignore = ["events-kown"]', "there is no rule 'events-kown': did you mean"),
        ('app = "a:a"\nlanguage = "fr"', "there is no language 'fr': give en or zh"),
        ('app = "a:a"\ntimeout = 0', "a timeout is a number of seconds, not 0: give one from"),
        ('app = "a:a"\nspec = "asgi 9"', "there is no specification 'asgi 9': name asgi 1.0"),
        ("strict = true", "give a TARGET, as in shop.main:app, or --pipe and a COMMAND"),
    ],
)
def test_bad_configuration(
    table: str, sentence: str, ended: Callable[..., tuple[int, str, str]]
) -> None:
    """One line, as for options."""
    Path("pyproject.toml").write_text(f"[tool.lifespec]\n{table}\n")
    status, out, err = ended("check", "app")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"lifespec: {sentence}")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--json", "x", "--junit", "./x"], "x is given for two reports: name another file for"),
        (["--junit", "link/x", "--sarif", "x"], "x is given for two reports: name another file"),
        (["--json", ""], "the name of the file is empty: give one"),
    ],
)
def test_a_file_for_two_reports(
    options: list[str], sentence: str, ended: Callable[..., tuple[int, str, str]]
) -> None:
    """It is refused before anything runs."""
    Path("link").symlink_to(Path())
    status, out, err = ended("check", "app", "nothing:here", *options)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"lifespec: {sentence}")


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


def test_servers_side_by_side(
    ended: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Real ones: each has its lines, and the worst of them decides."""
    monkeypatch.setenv("CI", "true")
    only = ("--only", "failed-then-raises")
    status, out, err = ended("check", "servers", "uvicorn", "hypercorn", *only)
    assert status == 1
    uvicorn, hypercorn = out.split("\n\n")[:2]
    assert uvicorn.startswith("uvicorn {app} --port {port}")
    assert "It keeps the rules that were checked" in uvicorn
    assert "FAIL: startup-failed-never-serves\nWARN: " in hypercorn
    assert {"uvicorn failed-then-raises PASS", "hypercorn failed-then-raises FAIL"} <= {
        line.partition(": ")[2].partition(": ")[2] for line in err.splitlines()
    }


@pytest.mark.parametrize(("verdict", "wanted"), [("pass", 0), ("fail", 1), ("skip", 2)])
def test_what_servers_come_to(
    verdict: str,
    wanted: int,
    ended: Callable[..., tuple[int, str, str]],
    found: Callable[..., list[Any]],
) -> None:
    """Findings are told with --verbose, and rules can be left out."""
    found(verdict)
    status, out, _ = ended("check", "servers", "uvicorn")
    assert (status, "requirement" in out) == (wanted, False)
    assert "requirement" in ended("check", "servers", "uvicorn", "--verbose")[1]
    _, out, _ = ended("check", "servers", "uvicorn", "--ignore", "events-known")
    assert verdict.upper() not in out


def test_a_file_that_cannot_be_written(
    ended: Callable[..., tuple[int, str, str]], found: Callable[..., list[Any]]
) -> None:
    """A sentence says so before anything is checked."""
    given = found("pass")
    status, out, err = ended("check", "app", "shop:live", "--json", "no/a.json")
    assert (status, out, given) == (2, "", [])
    wanted = "lifespec: no/a.json cannot be written: No such file or directory; name another\n"
    assert err == wanted


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["app", "shop"], "'shop' has no attribute: give module:attribute"),
        (["app", "bazaar:app"], "there is no module 'bazaar': call the command in the folder"),
        (["app", "shop:same"], "shop:same: this cannot be called with scope, receive and send"),
        (["app"], "give a TARGET, as in shop.main:app, or --pipe and a COMMAND"),
        (["app", "shop:live", "--pipe", "perl"], "give a TARGET, as in shop.main:app, or --pipe"),
        (["app", "--pipe", "nosuchprogram"], "'nosuchprogram' cannot be started: No such file"),
        (["middleware"], "the following arguments are required: TARGET; `lifespec check midd"),
        ([], "the following arguments are required: SUBJECT; `lifespec check --help`"),
        (["app", "shop:live", "--timeout", "0"], "a timeout is a number of seconds, not '0'"),
        (["app", "shop:live", "--timeout", "inf"], "a timeout is a number of seconds, not 'inf'"),
        (["app", "shop:live", "--timeout", "long"], "a timeout is a number of seconds, not 'long'"),
        (
            ["app", "shop:live", "--spec", "asgi 3.0"],
            f"there is no specification 'asgi 3.0': name {', '.join(SPECS)}, asgi, amgi, pagi",
        ),
        (
            ["app", "shop:live", "--only", "unknown-scop"],
            "there is no case for application by asgi 2.0 'unknown-scop': did you mean unknown-sc",
        ),
        (["driver", "starlet"], "there is no driver 'starlet': did you mean starlette"),
        (
            ["server", "--only", "stat", "--", "x", "{app}{port}"],
            "there is no case for servers 'stat': did you mean state",
        ),
        (
            ["server", "--workers", "'", "--", "x"],
            '--workers "\'" is not a valid list of arguments: No closing quotation',
        ),
        (
            ["app", "shop:live", "--timeout", "1e300"],
            "a timeout is a number of seconds, not '1e300'",
        ),
        (
            ["server", "--spec", "amgi", "--", "x", "{app}"],
            "by AMGI messages come from a broker: give --broker redis or mosquitto",
        ),
        (
            ["server", "--broker", "redis", "--", "x", "{app}"],
            "messages come from a broker by amgi 2.0, not by asgi 2.0: give --spec amgi",
        ),
        (["middleware", "shop:nothing"], "shop:nothing: there is no 'nothing' in"),
    ],
)
def test_bad_usage(
    arguments: list[str], said: str, ended: Callable[..., tuple[int, str, str]]
) -> None:
    """One line on standard error, and status 2."""
    status, out, err = ended("check", *arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"lifespec: {said}")


@pytest.mark.parametrize(
    ("locale", "arguments", "wanted"),
    [
        ("C.UTF-8", [], "verdict "),
        ("zh_CN.UTF-8", [], "规则"),
        ("zh_CN.UTF-8", ["--language", "en"], "verdict "),
        ("C.UTF-8", ["--language", "zh"], "规则"),
    ],
)
def test_a_report_is_in_the_readers_language(
    locale: str,
    arguments: list[str],
    wanted: str,
    ended: Callable[..., tuple[int, str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """That of the locale, or the one that is asked for; files are in English."""
    monkeypatch.delenv("LC_ALL")  # a locale that is not installed would make paths ASCII
    monkeypatch.setenv("LC_CTYPE", "C.UTF-8")
    monkeypatch.setenv("LC_MESSAGES", locale)
    _, out, _ = ended("check", "app", "shop:leaves", *arguments, "--json", "found.json")
    assert {word for word in ("verdict ", "规则") if word in out} == {wanted}
    assert '"verdict": "fail"' in Path("found.json").read_text()


@pytest.mark.parametrize(
    "subject", [[], ["app"], ["middleware"], ["server"], ["servers"], ["driver"]]
)
def test_help(subject: list[str], ended: Callable[..., tuple[int, str, str]]) -> None:
    """The help is 80 columns wide at most."""
    status, out, err = ended("check", *subject, "--help")
    assert (status, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80


def test_a_rule_that_there_is_not(ended: Callable[..., tuple[int, str, str]]) -> None:
    """A rule is named by its rule ID."""
    status, out, err = ended("cases", "--rule", "be-nice")
    assert (status, out) == (2, "")
    assert err == "lifespec: there is no rule 'be-nice'; `lifespec cases` lists all\n"


@pytest.mark.parametrize(("verdict", "status"), [("pass", 0), ("fail", 1), ("skip", 2)])
def test_a_reader_that_has_read_enough(
    verdict: Verdict,
    status: int,
    ended: Callable[..., tuple[int, str, str]],
    found: Callable[..., list[Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A pipe that nobody reads any more changes no verdict, and the files are written."""
    found(verdict)
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        told = ended("check", "app", "shop:live", "--json", "report.json")
    assert told == (status, "", "")
    assert json.loads(Path("report.json").read_text("utf-8"))["subject"]["name"] == "shop:live"


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_any_terminal(encoding: str, tmp_path: Path) -> None:
    """What is written suits the encoding of the terminal: nothing is lost, nothing fails."""
    text = SHOP + '\nasync def sad(scope, receive, send): raise ValueError("没有数据库")\n'
    (tmp_path / "shop.py").write_text(text, "utf-8")
    command = [sys.executable, "-m", "lifespec", "check", "app", "shop:sad", "--verbose"]
    setting = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=tmp_path, env=setting, capture_output=True, check=False, timeout=100
    )
    assert (done.returncode, done.stderr) == (0, b"")
    shown = "没有数据库" if encoding == "utf-8" else "\\u6ca1\\u6709\\u6570\\u636e\\u5e93"
    assert shown in done.stdout.decode(encoding)


def test_no_case_is_played_after_one_that_failed(
    ended: Callable[..., tuple[int, str, str]],
) -> None:
    """They are skipped, and say why."""
    status, out, _ = ended("check", "app", "shop:leaves", "--fail-fast")
    assert status == 1
    assert "Not run: another case failed before." in " ".join(out.split())


@pytest.mark.parametrize("setting", ["true", "1", "", "false"])
def test_progress_in_a_ci_log(
    setting: str,
    ended: Callable[..., tuple[int, str, str]],
    found: Callable[..., list[Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A line for each case on standard error, where CI is set; nothing elsewhere."""
    monkeypatch.setenv("CI", setting)
    found("pass")
    *_, err = ended("check", "app", "shop:live")
    line = f"lifespec: case 1 of {len(app_check.AppCheck('application', 'x').cases())}: one PASS\n"
    assert err == line * (setting in ("true", "1"))


def test_all_can_be_shown(
    ended: Callable[..., tuple[int, str, str]], found: Callable[..., list[Any]]
) -> None:
    """With --verbose, what passed is shown in full, too."""
    found("pass")
    assert "requirement" not in ended("check", "app", "shop:live")[1]
    assert "requirement" in ended("check", "app", "shop:live", "--verbose")[1]


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


@pytest.mark.parametrize("number", check_cli.SIGNALS)
@pytest.mark.parametrize("subject", [["server", "--", "x", "{app}{port}"], ["app", "shop:live"]])
def test_a_check_that_is_to_end_is_broken_off(
    number: signal.Signals,
    subject: list[str],
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

    monkeypatch.setattr(server_check, "check", check)
    monkeypatch.setattr(app_check, "check", check)
    told = ended("check", *subject, "--json", "a.json")
    assert told == (128 + number, "", "lifespec: interrupted\n")
    assert [signal.getsignal(each) for each in check_cli.SIGNALS] == before
    assert sorted(path.name for path in Path().iterdir()) == ["shop.py"]


def test_why_real_time_is_needed_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On standard error, if there is one."""
    check_cli._say("again in real time")
    assert capsys.readouterr() == ("", "lifespec: again in real time\n")
    monkeypatch.setattr(sys, "stderr", None)
    check_cli._say("again in real time")
    assert capsys.readouterr().out == ""


def test_a_signal_that_is_ignored_stays_so(
    ended: Callable[..., tuple[int, str, str]], found: Callable[..., list[Any]]
) -> None:
    """`nohup` lets a check go on when the terminal is closed."""
    found("pass")
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with check_cli._interruptible():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_outside_of_the_main_thread(
    ended: Callable[..., tuple[int, str, str]], found: Callable[..., list[Any]]
) -> None:
    """No signal arrives there."""
    found("pass")
    told: list[Any] = []
    thread = threading.Thread(target=lambda: told.append(ended("check", "app", "shop:live")))
    thread.start()
    thread.join()
    assert told[0][0] == 0


LEAVES = """
import os, subprocess, sys, time

async def slow(scope, receive, send):
    options = {"env": {**os.environ}, "start_new_session": True}
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], **options)
    with open("pids", "a") as file:
        file.write(f"{os.getpid()} {sleeper.pid} ")
    time.sleep(600)
"""


@pytest.mark.parametrize("number", check_cli.SIGNALS)
def test_nothing_is_left_of_a_check(number: signal.Signals, tmp_path: Path) -> None:
    """Neither a process nor a folder."""
    (tmp_path / "shop.py").write_text(LEAVES)
    folder = tmp_path / "temporary"
    folder.mkdir()
    setting = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder)}
    command = [sys.executable, "-m", "lifespec", "check", "app", "shop:slow", "--timeout", "100"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=setting, stderr=subprocess.PIPE, text=True
    ) as process:
        assert until(lambda: (tmp_path / "pids").exists() and (tmp_path / "pids").read_text(), 60)
        assert [*folder.iterdir()]
        process.send_signal(number)
        assert process.communicate(timeout=60)[1] == "lifespec: interrupted\n"
    assert process.returncode == 128 + number
    assert [*folder.iterdir()] == []
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert until(lambda: not any(began_within(pid, 0, time.monotonic()) for pid in pids), 10)


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


@pytest.mark.parametrize("number", check_cli.SIGNALS)
@pytest.mark.parametrize("kind", ["lifespan", "none"])
def test_a_signal_ends_the_check_of_a_server_that_drips(
    number: signal.Signals, kind: str, tmp_path: Path
) -> None:
    """Within seconds, and neither a process nor a folder is left."""
    with checked_as_it_drips(tmp_path, kind) as run:
        run.send_signal(number)
        assert run.communicate(timeout=10)[1] == "lifespec: interrupted\n"
    assert run.returncode == 128 + number


def test_the_check_of_a_server_that_drips_ends(tmp_path: Path) -> None:
    """A whole answer has one timeout, however many parts come before."""
    with checked_as_it_drips(tmp_path, "lifespan") as run:
        said = run.communicate(timeout=60)
    assert run.returncode in (1, 2), said


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
