"""A named application is imported once, in another process; what cannot be checked is said so."""

import logging
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from apart import one_line
from lifespec.conformance import (
    Report,
    Unchecked,
    check_app,
    check_middleware,
    processes,
)
from lifespec.conformance.app import observe, plan, process
from lifespec.conformance.app.plan import planned
from lifespec.conformance.report import render
from lifespec.diagnosis.fact import fact
from scripted import SHUTDOWN, STARTED, STARTUP, STOPPED, says

HAN = re.compile("[一-鿿]")
PLAIN = """\
import os, sys, threading, time
from scripted import *
print("imported", file=open("imports", "a"))
faultless = says(STARTUP, STARTED, SHUTDOWN, STOPPED)
class Shop:
    app = staticmethod(faultless)
number = 7
def make(settings: object = None):
    return faultless
def fails():
    raise OSError("no settings")
def wsgi(environ, start_response):
    return []
async def lifespan(app):
    yield
"""

faultless = says(STARTUP, STARTED, SHUTDOWN, STOPPED)


@pytest.fixture
def check_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Report]:
    """Write a module, and check what it names."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    Path("bare").mkdir()
    Path("front").mkdir()
    Path("front/main.py").touch()

    def run(target: str, source: str = "", **options: Any) -> Report:
        Path("shop.py").write_text(PLAIN + source)
        return check_app(target, **{"timeout": 5.0, **options})

    return run


def test_an_application_is_imported_once_and_called_in_many_processes(
    check_named: Callable[..., Report],
) -> None:
    told: list[tuple[str, list[str]]] = []
    report = check_named(
        "shop:Shop.app",
        on_case=lambda case, found: told.append((case, [each.rule for each in found])),
    )
    assert report.ok, report
    assert report.subject == "shop:Shop.app"
    assert Path("imports").read_text().count("imported") == 1
    assert len(told) == len(planned("application", "asgi 2.0").cases) - 1


def test_what_is_never_awaited_at_import_is_named(check_named: Callable[..., Report]) -> None:
    report = check_named("shop:faultless", "import asyncio\nasyncio.sleep(0)\n")
    text = one_line(report)
    assert "while it was imported: WARNING RuntimeWarning: coroutine 'sleep' was never" in text
    assert "the coroutine was made in `<module>`, shop.py:" in text


def test_a_stack_without_frames_is_that_of_a_machine_that_was_too_busy() -> None:
    assert process.activity("Current thread 0x1 (most recent call first):\n", []) == "starved"


def test_a_factory_makes_the_application(check_named: Callable[..., Report]) -> None:
    assert check_named("shop:make", factory=True).ok
    report = check_named("shop:fails", factory=True)
    assert "`shop:fails()` raised OSError: no settings, in `fails`, shop.py:" in one_line(report)
    report = check_named("shop:faultless", factory=True)
    assert "shop:faultless is an application already: leave out --factory" in one_line(report)


UNIMPORTED = "it was not imported within 2 s (--timeout)"


@pytest.mark.parametrize(
    ("target", "source", "sentence"),
    [
        ("shop", "", "shop names no attribute: give module:attribute, as in shop:app"),
        ("shop:", "", "shop: names no attribute: give module:attribute, as in shop:app"),
        ("shop.py", "", "give module:attribute, as in shop:app"),
        ("front/main.py", "", "give module:attribute, as in front.main:app"),
        ("front/main", "", "give module:attribute, as in shop.main:app"),
        ("shop.app", "", "give module:attribute, as in shop:app"),
        ("front.main", "", "give module:attribute, as in front.main:app"),
        ("front/main.py:app", "", "front/main.py is no module name: give front.main:app"),
        (":app", "", ":app names no attribute: give module:attribute, as in shop.main:app"),
        ("shop:make()", "", "is a call: leave out the parentheses, and give --factory: shop:make "),
        (
            "front:app",
            "",
            "front is a folder without __init__.py, so it has no app: call",
        ),
        ("front:app", "", "such as cd front, or name a module in it, such as front.main:app"),
        ("bare:app", "", "bare is a folder without __init__.py, and it has no module"),
        ("shop:app", "import work.models", "is the folder that you are in: call the command in th"),
        ("shop:app", "import work.models", "and name work.shop:app"),
        ("shop:app", "os.environ['NOSUCH']", "Set this variable of the environment for this comma"),
        ("shop:app-1", "", "names no attribute"),
        ("shop.py:app", "", "shop.py is no module name: give shop:app"),
        ("nosuch.main:app", "", "there is no module nosuch"),
        ("shop:Shop.ap", "", "there is no ap in Shop: it has app"),
        ("shop:zzz", "", "there is no zzz in shop: it has"),
        (
            "shop:zzz",
            "del hear, known, says\nclass A:\n def __call__(self, s, r, t): ...\na = A()",
            "wsgi, a;",
        ),
        ("shop:Shop.zzz", "", "there is no zzz in Shop: name one that it has"),
        ("shop:number", "", "shop:number is 7, which cannot be called"),
        ("shop:app", "async def f(): ...\napp = f()", "shop:app is a coroutine, because `f` is an"),
        ("shop:Shop", "", "it is the class Shop: name an application that the class makes"),
        ("shop:make", "", "with scope, receive and send (its parameters are `(settings)`)"),
        ("shop:wsgi", "", "it takes two arguments, as a WSGI application does, and WSGI has no"),
        ("shop:lifespan", "", "lifespan is a lifespan function: name the application that is"),
        (
            "shop:app",
            "raise KeyError('pool')",
            "`import shop` raised KeyError: 'pool', in `<module",
        ),
        ("shop:app", "import nosuch", "raised ModuleNotFoundError: No module named 'nosuch'"),
        ("shop:app", "import asyncio; asyncio.get_running_loop()", "Create it in the lifespan: wh"),
        ("shop:app", "raise SystemExit(3)", "`import shop` raised SystemExit: 3, in `<module"),
        ("shop:app", "os._exit(3)", "its import ended the process: status 3"),
        ("shop:app", "time.sleep(100)", f"{UNIMPORTED}, in `<module>`, shop.py:16"),
        ("shop:app", "raise ModuleNotFoundError(\"No module named 'trio'\")", "needs trio: pip in"),
    ],
)
def test_what_cannot_be_had_is_said_with_its_place(
    check_named: Callable[..., Report], target: str, source: str, sentence: str
) -> None:
    report = check_named(target, source, timeout=2.0 if "sleep" in source else 60.0)
    assert report.status == 2
    assert sentence in one_line(report)
    chinese = "".join(render(report, "zh").split())
    assert HAN.search(chinese)
    assert "".join(sentence.split()) not in chinese


def test_a_place_may_be_in_a_folder_with_any_letters(
    check_named: Callable[..., Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("é 商店 🏬").mkdir()
    Path("é 商店 🏬/pausing.py").write_text("import time; time.sleep(100)")
    monkeypatch.syspath_prepend("é 商店 🏬")
    report = one_line(check_named("pausing:app", timeout=2.0))
    assert report.endswith(f"{UNIMPORTED}, in `<module>`, é 商店 🏬/pausing.py:1")


@pytest.mark.parametrize(
    "source",
    [
        "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
        "kept = open('x', 'w')",
    ],
)
def test_an_import_that_leaves_a_thread_or_a_file_is_done_for_each_case(
    check_named: Callable[..., Report], source: str
) -> None:
    assert check_named("shop:faultless", source, only=["extra-keys"]).ok
    assert Path("imports").read_text().count("imported") == 3  # the host, and two cases


def test_progress_is_told_while_one_waits(
    check_named: Callable[..., Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "TELL_EVERY", 0.1)
    waits: list[tuple[str, float]] = []
    waiting = "async def app(scope, receive, send):\n    await receive()\n    await receive()\n"
    check_named("shop:app", waiting, timeout=2.0, on_wait=lambda *wait: waits.append(wait))
    assert waits[0][0] == "start-and-stop"
    assert waits[0][1] >= 0.1


@pytest.mark.parametrize(
    "wrong",
    [{"only": ["extra"]}, {"ignore": ["startup"]}, {"ignore": ["never-run"]}, {"spec": "asgi 9.0"}],
)
def test_what_there_is_not_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(Unchecked):
        check_app(faultless, **wrong)


def log(_: Any) -> None:
    logging.getLogger("shop").error("no cache")


def open_once(_: Any) -> None:
    OPENED.append(1)
    assert len(OPENED) == 1


OPENED: list[int] = []
LOGS = says("receive", log, STARTED, "receive", STOPPED)
ONCE = says("receive", open_once, STARTED, "receive", STOPPED)


@pytest.mark.parametrize(("app", "name"), [(LOGS, "logged-error"), (ONCE, "second-start")])
def test_a_problem_fails_if_it_is_asked_for_and_can_be_accepted(app: Any, name: str) -> None:
    only = ["start-and-stop", "two-loops"]
    found = check_app(app, only=only)
    assert (found.status, [*found.problems]) == (0, [name])
    assert f"{name}: exit status 1 with --strict" in one_line(found)
    strict = check_app(app, only=only, strict=True)
    assert (strict.status, strict.ok) == (1, False)
    accepted = check_app(app, only=only, strict=True, ignore=[name])
    assert accepted.ok, accepted
    assert str(accepted).splitlines()[0].endswith("keeps lifespan 2.0 (ASGI)")


def test_what_cannot_be_called_is_no_application() -> None:
    report: Report = check_app(7)
    assert "int is 7, which cannot be called" in str(report)
    assert check_app(lambda: None).status == 2
    assert check_app(max).supported is False  # it does not say what it takes


def test_who_needs_trio_is_told_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observe, "find_spec", lambda _: None)
    report = check_app(says("receive", lambda _: import_module("trio").sleep(0)), timeout=60.0)
    assert report.status == 2
    assert "it needs trio: pip install trio" in str(report)


def test_a_case_that_may_have_wanted_the_same_port_is_played_again_alone(tmp_path: Path) -> None:
    mark = tmp_path / "in use"

    def hold(_: Any) -> None:
        if mark.exists():
            raise OSError("address already in use")
        mark.touch()

    app = says("receive", hold, STARTED, "receive", lambda _: mark.unlink(), STOPPED)
    report = check_app(app, timeout=60.0)
    assert "extra-keys-expected" not in [f.rule for f in report.findings if f.verdict == "fail"]


@pytest.mark.parametrize(
    ("wrap", "sentence"),
    [
        (faultless, "is an application, and no middleware: lifespec check app"),
        (lambda _: 7, "it returned 7; middleware takes an application and returns one"),
        (lambda _: 1 / 0, "it raised ZeroDivisionError: division by zero"),
        (lambda _: lambda *_: 7, "a call of it returned 7, which cannot be awaited"),
    ],
)
def test_what_is_no_middleware_is_told_so(wrap: Any, sentence: str) -> None:
    report = check_middleware(wrap, timeout=60.0)
    assert report.status == 2
    assert sentence in one_line(report)


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="only Linux has it")
def test_cases_side_by_side_are_limited_by_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "free_memory", lambda: 2_000_000)
    report = check_app(faultless, only=["extra-keys"])
    assert report.ok
    shown = "cases at most 1 side by side: the first took N s of processor time and N MB of its own"
    found = " ".join(render(report, verbose=True).split())
    assert shown in re.sub(r"[\d.]+(?= s of| MB of its)", "N", found)
    assert "side by side" not in str(report)
    monkeypatch.setattr(plan, "free_memory", lambda: 0)  # it is not known
    pace = check_app(faultless, only=["extra-keys"]).pace
    assert pace
    assert pace.parts["count"] >= 1
    pace = check_app(faultless, only=["extra-keys"], at_once=2).pace
    assert pace == fact("pace-asked", count=2)


@pytest.mark.parametrize(
    ("limit", "used", "free"), [("max", "5", 7168), ("6000", "1000", 5000), ("10", "20", 0)]
)
def test_free_memory_is_what_the_machine_and_a_container_have(
    limit: str, used: str, free: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "PROC", str(tmp_path))
    monkeypatch.setattr(processes, "CONTAINER", str(tmp_path))
    assert processes.free_memory() == 0
    (tmp_path / "meminfo").write_text("MemFree: 1 kB\nMemAvailable:    7 kB\n")
    (tmp_path / "memory.max").write_text(f"{limit}\n")
    (tmp_path / "memory.current").write_text(f"{used}\n")
    assert processes.free_memory() == free


MANY_OBJECTS = """
import gc, os
from pathlib import Path
from scripted import STARTED, STOPPED, says

app = says("receive", STARTED, "receive", STOPPED)
data = [{"number": [number]} for number in range(200_000)]


def note(phase, info):
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    private = sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))
    with Path(__file__).with_name("private").open("a") as file:
        file.write(f"{os.getpid()} {private}\\n")


gc.callbacks.append(note)
"""


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="only Linux has it")
def test_a_case_does_not_copy_its_application(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "many_objects.py").write_text(MANY_OBJECTS)
    monkeypatch.syspath_prepend(tmp_path)
    assert check_app("many_objects:app").starts
    found: dict[str, int] = {}
    for line in (tmp_path / "private").read_text().splitlines():
        process, private = line.split()
        found[process] = max(found.get(process, 0), int(private))
    host, *cases = sorted(found.values(), reverse=True)
    assert len(cases) > 5
    assert max(cases) < host / 3
