"""The command: what it prints, what it refuses, and how it ends."""

import importlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from lifespec import cli, commands, conformance
from lifespec.arguments import COPIES
from lifespec.catalog import columns
from lifespec.conformance.finding import Finding, Row, Verdict
from lifespec.conformance.report import Report
from lifespec.diagnosis.fact import Fact, fact

SRC = Path(cli.__file__).parent
SELF_CONTAINED = "This file is self-contained: copy it"
LONGEST = 80
HAN = re.compile("[一-鿿]")
FOUND = Finding(Verdict.WARN, "events-known", "start-and-stop", fact("text", text="It is so."))


def ended(*arguments: str) -> object:
    """Run the command as a process would; return the status that it ends with."""
    try:
        return cli.main(arguments)
    except SystemExit as exit_:
        return exit_.code


@pytest.fixture(autouse=True)
def _english(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")


@pytest.fixture
def refusal(capfd: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a command that is refused; return its sentence: one line, and nothing printed."""

    def sentence(*arguments: str) -> str:
        assert ended(*arguments) == 2
        out, err = capfd.readouterr()
        assert (out, err.count("\n"), err[:10]) == ("", 1, "lifespec: ")
        return err.removeprefix("lifespec: ").removesuffix("\n")

    return sentence


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Let the suite find the same in each check; return what it was asked for."""
    calls: list[dict[str, Any]] = []

    def check(
        subject: Any, spec: str, *, strict: bool, on_case: Any, on_wait: Any = None, **more: Any
    ) -> Report:
        if on_plan := more.pop("on_plan", None):
            on_plan(fact("plan", count=11, starts=9, at_once=8))
            more.pop("on_first")([Row("starts", Fact("yes"))])
        on_case("start-and-stop", [FOUND])
        if on_wait:
            on_wait("start-and-stop", 2.0)
        calls.append({"subject": subject, "spec": spec, "strict": strict, **more})
        return Report(str(subject), spec, (FOUND,), strict=strict)

    monkeypatch.setattr(conformance, "check_app", check)
    monkeypatch.setattr(conformance, "check_middleware", check)
    monkeypatch.setattr(conformance, "check_server", check)
    return calls


# ---- usage and the process ----------------------------------------------------------------------


COMMANDS = [
    [],
    *([command] for command in ("check", "watch", "copy", "explain", "cases")),
    *(["check", subject] for subject in ("app", "middleware", "server")),
]
NAMES = re.compile(
    r"`[^`]*`|'[^']*'|--[a-z-]+|\{[a-z,]+\}|[\w.]+[:/][\w.]+|[a-z_]+_[a-z_]+|\b[A-Z]+\b"
)
KNOWN = (  # of commands, files and standards
    "lifespec lifespan locale check app middleware server watch explain cases copy uvicorn JUnit"
    " application validate messages startup-sent never-ran asgi amgi pagi trio server.py Python"
    " Lifespan"
)


def english(text: str) -> set[str]:
    """Return the words of a Chinese text that are English, and no names."""
    return {*re.findall(r"[A-Za-z][A-Za-z_.-]{2,}", NAMES.sub("", text))} - {*KNOWN.split()}


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("language", ["en", "zh_CN.UTF-8"])
def test_help_fits_a_terminal_in_the_language_of_its_reader(
    arguments: list[str],
    language: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("LC_ALL", language)
    monkeypatch.setenv("COLUMNS", str(LONGEST))
    assert ended(*arguments, "--help") == 0
    out, err = capfd.readouterr()
    assert max(map(columns, out.splitlines())) <= LONGEST
    assert err == ""
    assert "copy" not in arguments or all(name in out for name in COPIES)
    assert len(out.splitlines()) < 24 or arguments[:1] == ["check"]
    if language != "en":
        assert english(out) == set()


WRONG = [
    ("check app x --timeout no", "argument --timeout: 'no' is no number of seconds"),
    ("check app x --timeout 0", "argument --timeout: '0' is no number of seconds"),
    ("check app x --timeout nan", "argument --timeout: 'nan' is no number of seconds"),
    ("check app x --at-once 0", "argument --at-once: '0' is no whole number above 0"),
    ("check app x --at-once x", "argument --at-once: 'x' is no whole number above 0"),
    ("check app x --at-once", "argument --at-once: expected one argument"),
    ("check app x --nothing", "unrecognized arguments: --nothing"),
    ("check app x --strict=1", "argument --strict: ignored explicit argument '1'"),
    ("check app x --s", "ambiguous option: --s could match --spec, --strict"),
    ("check app x --language fr", "argument --language: invalid choice: 'fr'"),
    ("check server", "the following arguments are required: COMMAND"),
    ("check", "the following arguments are required: SUBJECT"),
    ("chek", "argument COMMAND: invalid choice: 'chek'"),
    ("copy --to", "argument --to: expected one argument"),
]


@pytest.mark.parametrize(("line", "sentence"), WRONG)
def test_a_wrong_call_is_one_line_that_says_where_to_look(
    line: str, sentence: str, refusal: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also what argparse says itself, on each Python, in the language of the reader."""
    says = refusal(*line.split())
    assert says.startswith(sentence)
    assert says.endswith(" --help`")
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    says = refusal(*line.split())
    assert HAN.search(says)
    assert english(says) == set()


def test_a_wrong_call_has_the_language_that_it_asks_for(refusal: Callable[..., str]) -> None:
    for option in "--language zh", "--language=zh":
        assert HAN.search(refusal(*f"cases {option} --role no".split()))
    assert not HAN.search(refusal(*"check", "server", "--timeout", "0", "--", "--language", "zh"))
    assert HAN.search(refusal("check", "server", "--language", "zh", "x"))


# the commonest, beside names of applications (tests/conformance/test_app_check.py)
TOLD = [
    ("shop:app", "shop:app is no command: lifespec check app shop:app"),
    ("check shop:app", "shop:app is no command: lifespec check app shop:app"),
    ("check app", "name an application, lifespec check app shop.main:app, or give the command"),
    ("check app uvicorn shop:app --port 80", "put -- before a command: lifespec check app -- uvi"),
    ("check app -- shop:app", "shop:app is no command but the name of an application: lifespec"),
    ("check app --factory -- serve", "--factory belongs to a name: give it to the command, after"),
    ("check app -- nosuch-server", "there is no program nosuch-server: activate the environment"),
    ("check app x --spec wsgi", "there is no specification wsgi: name one of "),
    ("check app x --only start", "there is no case start. Did you mean start-and-stop, stopped-wh"),
    ("check server x", "the command has no {app}: x. Type {app} as it is: the suite puts its own "),
    ("check server shop:app", "Your own application is checked by lifespec check app shop:app"),
    ("check server -- uvicorn a:b", "Your own application is checked by lifespec check app -- uvi"),
    ("check server -- uvicorn {app}", "the command has no {port}: uvicorn {app}. Type {port} as "),
    ("watch", "give the command that starts the server, or --pid: lifespec watch -- uvicorn shop"),
    ("watch shop:app", "give the command that serves it, lifespec watch -- uvicorn shop:app"),
    ("watch uvicorn shop:app --port 80", "put -- before a command: lifespec watch -- uvicorn sho"),
    ("watch -- uvicron shop:app", "there is no program uvicron: activate the environment that"),
    ("explain startup-send", "there is no problem or rule startup-send. Did you mean st"),
    ("cases --rule zzz", "there is no rule zzz; `lifespec cases` lists all"),
    ("copy nothing", "there is no file nothing to copy: name one of server, server_trio"),
    ("copy server validate", "several files need a folder that exists: give it with"),
    ("copy server --to /no/a.py", "/no/a.py cannot be written: No such file or di"),
]


@pytest.mark.parametrize(("line", "sentence"), TOLD)
def test_a_wrong_call_is_told_what_to_type(
    line: str, sentence: str, refusal: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sentence in refusal(*line.split())
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    chinese = refusal(*line.split())
    assert HAN.search(chinese)
    assert sentence not in chinese


def test_a_folder_that_is_not_installed_has_no_version(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert ended("--version") == 0
    assert capfd.readouterr().out == f"lifespec {metadata.version('lifespec')}\n"
    monkeypatch.setattr(metadata, "distributions", lambda **_: [])
    assert ended("--version") == 0
    assert capfd.readouterr() == ("lifespec (not installed)\n", "")


@pytest.mark.parametrize(
    ("program", "needless"),
    [
        (
            "from lifespec.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass",
            {"asyncio", "tomllib", "importlib.metadata"},
        ),
        (
            "import lifespec.conformance.app.process",
            {f"lifespec.conformance.{each}" for each in ("report", "server", "app.judge")}
            | {"importlib.metadata", "lifespec.conformance.app.middleware"},
        ),
    ],
    ids=["help", "host"],
)
def test_who_starts_often_imports_little(program: str, needless: set[str]) -> None:
    """Each of these would double the time until the help, or until a case, begins."""
    program = f"{program}\nimport sys; print(*sys.modules)"
    measured = "COV"  # what measures it imports more
    there = {name: value for name, value in os.environ.items() if not name.startswith(measured)}
    command = [sys.executable, "-c", program]
    loaded = subprocess.check_output(command, text=True, timeout=60, env=there)
    assert needless & {*loaded.split()} == set()


COMMAND = [sys.executable, "-m", "lifespec", "copy", "server"]


def test_a_closed_pipe_leaves_no_traceback() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with subprocess.Popen(COMMAND, stderr=subprocess.PIPE, stdout=writing) as process:
        os.close(writing)
        assert process.communicate(timeout=60) == (None, b"")
    assert process.returncode == 0


def test_importing_the_command_runs_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    importlib.import_module("lifespec.__main__")
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_a_sentence() -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as stream:
        ran = subprocess.run(COMMAND, stdout=stream, stderr=subprocess.PIPE, text=True, timeout=60)
    assert ran.stderr == "lifespec: the command failed: No space left on device\n"
    assert ran.returncode == 2


@pytest.mark.parametrize(
    ("error", "status", "sentence"),
    [
        (FileNotFoundError(2, "No such file", "/a"), 2, "the command failed: /a: No such file"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (KeyboardInterrupt(signal.SIGTERM), 143, "interrupted"),
    ],
)
def test_an_error_or_an_interrupt_is_a_sentence(
    error: BaseException,
    status: int,
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr(commands.explain, "rule_lines", fails)
    assert ended("explain", "startup-sent") == status
    assert capfd.readouterr() == ("", f"lifespec: {sentence}\n")


# ---- check -------------------------------------------------------------------------------------


def test_the_options_of_a_check(checks: list[dict[str, Any]]) -> None:
    common = {"strict": False, "only": [], "ignore": [], "timeout": 30.0}
    alone = {"factory": False, "quick": False, "at_once": None}
    ended("check", "app", "shop:live")
    assert checks.pop() == {"subject": "shop:live", "spec": "asgi 2.0", **alone, **common}
    more = ["--spec", "amgi", "--timeout", "2.5", "--only", "two-loops", "--ignore", "startup-sent"]
    ended("check", "app", "shop:make", "--factory", "--strict", *more)
    chosen = {"only": ["two-loops"], "ignore": ["startup-sent"], "timeout": 2.5}
    chosen |= {"quick": False, "at_once": None}
    given = {"subject": "shop:make", "spec": "amgi", "factory": True, "strict": True}
    assert checks.pop() == given | chosen
    ended("check", "middleware", "shop:same")
    assert checks.pop() == {"subject": "shop:same", "spec": "asgi 2.0", **common}
    options = {"workers": "-w 2", "limit": "-g 1"}
    more = [f"--{name}={value}" for name, value in options.items()]
    ended("check", "server", "--slow", *more, "--", "serve", "-x", "{app}")
    given = {"subject": ["serve", "-x", "{app}"], "spec": "asgi 2.0", "slow": True}
    assert checks.pop() == {**common, **given, "timeout": 10.0, **options}


def test_a_report_in_files_is_english(checks: list[dict[str, Any]], tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("older")
    files = ["--json", str(tmp_path / "a.json"), "--junit", str(tmp_path / "a.xml")]
    assert ended("check", "app", "shop:live", "--language", "zh", *files) == 0
    (found,) = json.loads((tmp_path / "a.json").read_text("utf-8"))["findings"]
    assert found["observed"]["says"] == "It is so."
    assert ET.parse(tmp_path / "a.xml").getroot().attrib["tests"] == "1"
    assert len(checks) == 1
    assert ended("check", "app", "shop:live", "--json", str(tmp_path / "no" / "a.json")) == 2


def test_a_terminal_shows_progress_and_colours(
    checks: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    parent, child = pty.openpty()
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("COLUMNS", "70")
    shown = b""
    with os.fdopen(child, "w", encoding="utf-8") as terminal, os.fdopen(parent, "rb", 0) as there:
        monkeypatch.setattr(sys, "stdout", terminal)
        monkeypatch.setattr(sys, "stderr", terminal)
        assert ended("check", "app", "shop:live") == 0
        while b"\x1b[33mWARN" not in shown:
            shown += there.read(65536)
    plan = b"lifespec: 11 cases: the application is started 9 times, up to 8 at a"
    assert plan + b"\r\n          time, with its own settings\r\n" in shown
    assert b"lifespec: starts: yes\r\n" in shown
    assert b"\r\x1b[K2/11 start-and-stop: WARN" in shown
    assert b"\r\x1b[Kstart-and-stop: 2 s\r\x1b[K" in shown
    assert len(checks) == 1


def test_elsewhere_progress_is_a_line_now_and_then(
    checks: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    ended("check", "app", "shop:live")
    plan = "lifespec: 11 cases: the application is started 9 times, up to 8 at a time, with\n"
    assert capfd.readouterr().err == f"{plan}          its own settings\n"
    monkeypatch.setattr(commands, "PROGRESS_EVERY", 0.0)
    ended("check", "app", "shop:live")
    assert capfd.readouterr().err.splitlines()[2:] == [
        "lifespec: starts: yes",
        "lifespec: 0 s: 2 cases are over, start-and-stop is not",
    ]
    assert len(checks) == 2


def test_what_would_be_played_is_listed(capfd: pytest.CaptureFixture[str]) -> None:
    assert ended("check", "app", "nosuch:app", "--list", "--at-once", "1") == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[:2] == ["start-and-stop", "    The application starts and stops."]
    assert "two-loops" in lines
    assert "11 cases: the application is started 9 times, one after another, with its own" in lines
    assert ended("check", "app", "--list", "--quick") == 0
    shown = capfd.readouterr().out
    assert shown.startswith("request-while-running\n")
    assert shown.endswith("1 case: the application is started once, with its own settings\n")


def test_the_progress_of_a_server_has_its_total(
    checks: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    ended("check", "server", "--only", "well-behaved", "--only", "state", "--", "serve")
    assert "\x1b[K1/2 start-and-stop: WARN" in capfd.readouterr().err
    assert len(checks) == 1


def test_a_signal_interrupts_a_check_and_others_wait_for_its_end(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    before = signal.getsignal(signal.SIGTERM)

    def check(*_: object, **__: object) -> None:
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            signal.raise_signal(signal.SIGTERM)  # while what was started is ended

    monkeypatch.setattr(conformance, "check_app", check)
    assert ended("check", "app", "shop:live") == 128 + signal.SIGTERM
    assert capfd.readouterr() == ("", "lifespec: interrupted\n")
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_signal_that_is_ignored_stays_so_as_under_nohup(
    checks: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[Any] = []
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    found = conformance.check_app

    def check(*arguments: Any, **options: Any) -> Report:
        heard.append(signal.getsignal(signal.SIGHUP))
        return found(*arguments, **options)

    monkeypatch.setattr(conformance, "check_app", check)
    ended("check", "app", "shop:live")
    signal.signal(signal.SIGHUP, before)
    assert heard == [signal.SIG_IGN]
    assert len(checks) == 1


# ---- explain, cases and copy --------------------------------------------------------------------


def test_cases_are_listed(capfd: pytest.CaptureFixture[str]) -> None:
    assert ended("cases", "--role", "server", "--rule", "return-value-ignored") == 0
    assert capfd.readouterr().out == (
        "returns-a-value · server\n"
        "    The application answers shutdown and returns a value that looks like an\n"
        "    answer.\n"
        "    checks return-value-ignored\n"
    )
    assert ended("cases", "--language", "zh") == 0
    assert "检查 return-value-ignored" in capfd.readouterr().out


def test_characters_that_a_terminal_lacks_are_escaped(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    with os.fdopen(os.dup(1), "w", encoding="ascii") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert ended("explain", "startup-sent", "--language", "zh") == 0
    out, err = capfdbinary.readouterr()
    assert out.startswith(rb"startup-sent \xb7 \u670d")
    assert err == b""


def test_the_files_are_those_that_are_self_contained() -> None:
    marked = {path.stem for path in SRC.glob("*.py") if SELF_CONTAINED in path.read_text("utf-8")}
    assert marked == {*COPIES} - {"server_trio"}  # which needs server.py beside it


def test_copy_writes_new_files_only(tmp_path: Path, refusal: Callable[..., str]) -> None:
    mine = tmp_path / "mine.py"
    assert ended("copy", "server", "server_trio", "--to", str(tmp_path)) == 0
    assert ended("copy", "server", "--to", str(mine)) == 0
    assert mine.read_text("utf-8") == commands.content("server")
    mine.write_text("mine")
    sentence = refusal("copy", "server", "--to", str(mine))
    assert sentence == f"{mine} already exists: give another path, or remove it first"
    assert mine.read_text() == "mine"
    assert {each.name for each in tmp_path.iterdir()} == {"mine.py", "server.py", "server_trio.py"}
