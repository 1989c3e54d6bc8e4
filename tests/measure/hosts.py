"""Gives an application to adapters, test clients and servers, and records it: `make hosts`.

    python tests/measure/hosts.py FOLDER FILE [SUBJECT...]

FOLDER has the programs of the environment of `.ci/hosts.txt`.  FILE is where the record is kept.
A subject is a command that runs in a folder of its own, beside the programs of
`docs/programs/hosts`: a server, which gets two requests and SIGTERM from here, or `visit.py`,
which makes the requests itself.  The application prints what happens to it, and its variable ASKED
is the question.  As they wait most of the time, some run at once.
"""

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from kept import keep, versions
from loglines import free_port, plain

from lifespec_docs.facts.recorded import exit_status

__all__ = ["QUESTIONS", "SUBJECTS", "Subject", "main", "observed"]

Happening = list[Any]
PROGRAMS = Path(__file__).parents[2] / "docs" / "programs" / "hosts"
QUESTIONS = (
    "usual",
    "startup is slow",
    "startup fails",
    "startup raises",
    "startup hangs",
    "raises on the scope",
    "crashes later",
    "shutdown fails",
    "shutdown raises",
    "shutdown hangs",
)
CTRL_C = "ended by Ctrl-C"
TWICE = {"shutdown hangs, SIGTERM twice": "SIGTERM", "shutdown hangs, Ctrl-C twice": "SIGINT"}
KEPT = "one connection"
OF_KIND = {"server": (CTRL_C, KEPT, *TWICE), "platform": (CTRL_C,)}
AT_ONCE = {"platform": 2}  # runs, of those that start many processes
OTHERS = 12
CAP = 70.0  # seconds: longer than the limit of any server
BEGINS = {"server": 40.0, "platform": 150.0}  # until a host has begun
SETTLES = {"server": 8.0, "platform": 25.0}  # without anything new
PAUSE = 2.0  # in which the application can crash, and a host is ready for a signal
ENDS = 20.0  # after the signal
GAP = 2.5  # seconds between two happenings that are worth a word
NOT_YET = 404, 503  # what a host answers that has not taken in the application
NOISE = re.compile(  # colours, who speaks, when, and where a module lies
    r"\x1b\[[\d;]*m|^\([\w:,= ]+\) |"
    r"\[?\d{4}-\d\d-\d\d[ T][\d:,.]+(?: ?[+-][\d:]+)?\]?\s*(?:\[\d+\] )?|"
    r"/\S*/(?=site-packages/)|(?<=^ERROR ).*? -- |(?<=replica )\w+ "
)
NUMBER = re.compile(r"\b(?=\w*\d)[0-9a-f]{6,}\b")  # of an object
RAISED = re.compile(r"[\s|+-]+((?:\w+\.)*\w*(?:Error|Exception|Failure)\w*: .*)")  # in a group
TOLD = re.compile(r'\["\w.*\]$')
ABOUT = re.compile(r"no pool|pool lost|lifespan|startup|shutdown|Error\b|Restarting", re.IGNORECASE)
LINES = 4
WIDTH = 160
TIMES = 3  # that a server is asked, as its end may differ
ENOUGH = 30  # happenings: a worker that fails may be started again and again


class Subject(NamedTuple):
    """What it is to its users, its program and command, and the packages whose versions count."""

    kind: str
    program: str
    command: str
    packages: Sequence[str]
    path: str = "/"
    matrix: bool = False

    @property
    def listens(self) -> bool:
        """Tell whether it is a server: it gets requests from here."""
        return "{port}" in self.command

    @property
    def questions(self) -> Sequence[str]:
        """Return what is asked of it."""
        return (*QUESTIONS, *OF_KIND.get(self.kind, ()))

    def times(self, asked: str) -> int:
        """Return how often it is asked."""
        return TIMES if self.kind == "server" and "hangs" not in asked else 1

    def program_in(self, programs: Path, word: str) -> Path:
        """Return a program: what is in the environment of `make matrix` is not installed twice."""
        return (programs.parents[1] / "matrix" / "bin" if self.matrix else programs) / word


def visited(kind: str, program: str, *packages: str) -> Subject:
    """Return an adapter or a test client."""
    return Subject(kind, program, f"python visit.py {program}", packages)


def server(command: str, *packages: str, matrix: bool = False) -> Subject:
    """Return a server that is given the application by its name."""
    return Subject("server", "shop", command, packages, matrix=matrix)


BIND = "--bind 127.0.0.1:{port}"
ASGI = "--no-control-socket --worker-class asgi"
SUBJECTS = {
    "Mangum, auto": visited("adapter", "mangum_auto", "mangum"),
    "Mangum, on": visited("adapter", "mangum_on", "mangum"),
    "Mangum, off": visited("adapter", "mangum_off", "mangum"),
    "Agraffe": visited("adapter", "agraffe_lambda", "agraffe"),
    "Azure Functions, AsgiFunctionApp": visited("adapter", "azure_function_app", "azure-functions"),
    "Azure Functions, AsgiMiddleware": visited("adapter", "azure_middleware", "azure-functions"),
    "Modal": visited("adapter", "modal_container", "modal"),
    "a2wsgi": visited("adapter", "a2wsgi_asgi", "a2wsgi"),
    "async-asgi-testclient": visited("client", "client_async_asgi", "async-asgi-testclient"),
    "starlette-testclient": visited(
        "client", "client_starlette_backport", "starlette-testclient", "starlette"
    ),
    "asgi-testclient": visited("client", "client_asgi_testclient", "asgi-testclient"),
    "asgiref": visited("client", "client_asgiref", "asgiref"),
    "Falcon": visited("client", "client_falcon", "falcon"),
    "httpx": visited("client", "client_httpx", "httpx"),
    "niquests, Session": visited("client", "client_niquests", "niquests"),
    "niquests, AsyncSession": visited("client", "client_niquests_async", "niquests"),
    "aiohttp-asgi-connector": visited(
        "client", "client_aiohttp", "aiohttp-asgi-connector", "aiohttp"
    ),
    "uvicorn, two workers": server("uvicorn shop:app --workers 2 --port {port}", "uvicorn"),
    "uvicorn, reload": server("uvicorn shop:app --reload --port {port}", "uvicorn"),
    "uvicorn, lifespan on": server("uvicorn shop:app --lifespan on --port {port}", "uvicorn"),
    "uvicorn, uvloop": server("uvicorn shop:app --loop uvloop --port {port}", "uvicorn", "uvloop"),
    "gunicorn, lifespan on": server(
        f"gunicorn shop:app {ASGI} --asgi-lifespan on {BIND}", "gunicorn", matrix=True
    ),
    "gunicorn, graceful-timeout 3": server(
        f"gunicorn shop:app {ASGI} --graceful-timeout 3 {BIND}", "gunicorn", matrix=True
    ),
    "hypercorn, timeouts of 3 s": server(
        f"hypercorn shop:app --config hypercorn_limits.toml {BIND}", "hypercorn", matrix=True
    ),
    "hypercorn, no worker process": server(
        f"hypercorn shop:app --workers 0 {BIND}", "hypercorn", matrix=True
    ),
    "anycorn": server(f"anycorn shop:app {BIND}", "anycorn"),
    "nonecorn": server(f"hypercorn shop:app {BIND}", "nonecorn"),
    "nonecorn, no worker process": server(f"hypercorn shop:app --workers 0 {BIND}", "nonecorn"),
    "socketify": server(
        "python -m socketify shop:app --interface asgi --host 127.0.0.1 --port {port}", "socketify"
    ),
    "fastpysgi": server("fastpysgi shop:app --host 127.0.0.1 --port {port}", "fastpysgi"),
    "tremolo": server("python -m tremolo --host 127.0.0.1 --port {port} shop:app", "tremolo"),
    "Ray Serve": Subject("platform", "ray_serve", "python ray_serve.py {port}", ["ray"]),
    "BentoML": Subject(
        "platform",
        "bentoml_mounted",
        "bentoml serve bentoml_mounted:Shop --host 127.0.0.1 --port {port}",
        ["bentoml"],
        "/shop/",
    ),
}


class Run:
    """A host with the application, in a folder of its own."""

    def __init__(self, subject: Subject, asked: str, programs: Path, place: Path) -> None:
        self.subject, self.asked = subject, asked
        self.port = free_port() if subject.listens else 0
        self.noted: list[tuple[float, Happening]] = []
        shutil.copytree(PROGRAMS, place, dirs_exist_ok=True)
        first, *words = subject.command.format(port=self.port).split()
        self.running = subprocess.Popen(
            [str(subject.program_in(programs, first)), *words],
            cwd=place,
            env={
                **os.environ,
                "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
                "ASKED": asked.partition(",")[0],
                "HOME": str(place),
                "BENTOML_HOME": str(place),
                "PYTHONPATH": str(place),
                "NO_COLOR": "1",
                "RAY_AUTH_MODE": "disabled",
                "RAY_DEDUP_LOGS": "0",
                "RAY_USAGE_STATS_ENABLED": "0",
                "BENTOML_DO_NOT_TRACK": "True",
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.began = time.monotonic()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.running.stdout
        for line in self.running.stdout:
            text = NOISE.sub("", NOISE.sub("", line.decode("utf-8", "replace"))).rstrip()
            if inner := RAISED.fullmatch(text):
                text = inner[1]
            if found := TOLD.search(text):
                self.note(*json.loads(found[0]))
            for each in [] if found else plain(NUMBER.sub("…", text)):
                self.note("prints", each)

    def note(self, *happening: Any) -> None:
        """Add what has just happened."""
        self.noted.append((time.monotonic(), [*happening]))

    def request(self) -> None:
        """Send a request until somebody answers, as long as it is worth a try."""
        while self._may_answer():
            status = self._asked()
            if status and status not in NOT_YET:
                time.sleep(0.1)  # until the line of the application has come
                self.note("answered", status)
                return
            time.sleep(0.2)

    def _may_answer(self) -> bool:
        kind, settles = self.subject.kind, SETTLES[self.subject.kind]
        end = self.began + BEGINS[kind]
        if self.asked == "startup hangs":
            end, settles = end + CAP, CAP
        if told := [when for when, each in self.noted if each[0] != "prints"]:
            end = min(end, told[-1] + settles)
        return self.running.poll() is None and time.monotonic() < end

    def request_twice(self) -> None:
        """Send two requests over one connection, as far as it stays open."""
        self.request()  # on another one: until then it may not listen
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        client.auto_open = 0
        with contextlib.closing(client), contextlib.suppress(OSError, http.client.HTTPException):
            client.connect()
            for _ in range(2):
                client.request("GET", self.subject.path)
                response = client.getresponse()
                response.read()
                time.sleep(0.1)
                self.note("answered", response.status)

    def _asked(self) -> int:
        """Return the status of an answer, 0 if there is none."""
        address = f"http://127.0.0.1:{self.port}{self.subject.path}"
        try:
            with urllib.request.urlopen(address, timeout=10) as response:
                return int(response.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0

    def serve(self) -> None:
        """Send two requests, and then a signal if it has not ended by itself."""
        if self.asked == "startup is slow":
            with ThreadPoolExecutor(2) as pool:
                list(pool.map(lambda _: self.request(), range(2)))
        elif self.asked == KEPT:
            self.request_twice()
        else:
            self.request()
            self._pause()
            self.request()
        self._pause()
        name = "SIGINT" if self.asked == CTRL_C else TWICE.get(self.asked, "SIGTERM")
        for _ in range(1 + (self.asked in TWICE)):
            if self.running.poll() is None:
                self.note(name)
                self.running.send_signal(signal.Signals[name])
                self._pause()  # before the next one

    def _pause(self) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.running.wait(PAUSE)

    def end(self) -> None:
        """Wait until the host has ended; end it otherwise."""
        if self.subject.listens:
            self.serve()
        wait = ENDS if self.subject.listens and self.asked != "shutdown hangs" else CAP
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.running.wait(wait)
        status = self.running.poll()
        if status is not None:
            self.reader.join(PAUSE)  # what it has printed comes before its end
        self.note(*("goes on",) if status is None else ("exit", exit_status(status)))

    def kill(self) -> None:
        """End it, and the processes that it has started."""
        for pid in [self.running.pid, *descendants(self.running.pid)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.running.pid, signal.SIGKILL)
        self.running.wait(ENDS)
        self.reader.join(ENDS)
        if self.running.stdout and not self.reader.is_alive():
            self.running.stdout.close()


def descendants(pid: int) -> Iterator[int]:
    """Yield the processes that a process has started, and those that they have started."""
    with contextlib.suppress(OSError):
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii")
        for child in map(int, children.split()):
            yield child
            yield from descendants(child)


def observed(subject: Subject, programs: Path, asked: str) -> list[tuple[float, Happening]]:
    """Ask a host a question; return what happened, and when, with what it has printed."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        run = Run(subject, asked, programs, Path(place))
        try:
            run.end()
        finally:
            run.kill()
        return run.noted


def worth(
    noted: Iterable[tuple[float, Happening]], usual: Iterable[tuple[float, Happening]] = ()
) -> list[Happening]:
    """Leave out lines that are printed when all is well, too, or not about the lifespan."""
    expected = [each for _, each in usual if each[0] == "prints"]
    found: list[Happening] = []
    before, lines = 0.0, 0
    for when, each in noted:
        if each[0] == "prints":
            if each in [*expected, *found] or not ABOUT.search(each[1]) or lines == LINES:
                continue
            lines += 1
        if before and when - before >= GAP:  # a limit
            found.append(["seconds", round(when - before)])
        found.append([part[:WIDTH] if isinstance(part, str) else part for part in each])
        before = when
    return [*found[:ENOUGH], ["and so on"], found[-1]] if len(found) > ENOUGH else found


def varied(runs: Sequence[list[Happening]]) -> list[Happening]:
    """Return the first of some runs, with how others ended that ended in another way."""
    ends = [_end(each) for each in runs]
    others = [each for n, each in enumerate(ends) if each not in ends[:n]][1:]
    return [*runs[0], *(["another time", *each] for each in others)]


def _end(happened: Sequence[Happening]) -> Happening:
    stopped = ["event", "lifespan.shutdown"] in happened
    return ["shutdown" if stopped else "no shutdown", *happened[-1]]


def rows(programs: Path, names: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Observe subjects; yield their rows of the record."""
    with ThreadPoolExecutor(OTHERS) as others, contextlib.ExitStack() as stack:
        pools = {
            kind: stack.enter_context(ThreadPoolExecutor(number))
            for kind, number in AT_ONCE.items()
        }
        waits = {
            name: {
                asked: [
                    pools.get(SUBJECTS[name].kind, others).submit(
                        observed, SUBJECTS[name], programs, asked
                    )
                    for _ in range(SUBJECTS[name].times(asked))
                ]
                for asked in SUBJECTS[name].questions
            }
            for name in names
        }
        for name, runs in waits.items():
            subject = SUBJECTS[name]
            found = {asked: [each.result() for each in all_] for asked, all_ in runs.items()}
            usual = found["usual"][0]
            yield {
                "name": name,
                "host": name.partition(",")[0],
                "kind": subject.kind,
                "program": subject.program,
                "command": subject.command,
                "versions": versions(str(subject.program_in(programs, "python")), subject.packages),
                "happened": {
                    asked: varied([worth(each, () if asked == "usual" else usual) for each in all_])
                    for asked, all_ in found.items()
                },
            }
            print(name, flush=True)


def main(arguments: Sequence[str]) -> int:
    """Observe the subjects that are named, or all."""
    folder, file, *names = arguments
    # in the background of a shell SIGINT is ignored, which servers would inherit
    signal.signal(signal.SIGINT, signal.default_int_handler)
    path = Path(file)
    found = rows(Path(folder).absolute(), names or [*SUBJECTS])
    keep(path, [*SUBJECTS], found)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
