"""Measure what adapters, test clients and servers do with a lifespan: `make hosts`.

    python tests/measure/hosts.py FOLDER FILE [SUBJECT...]

FOLDER has the programs of the environment of `.ci/hosts.txt`, and FILE is the record.  `hosts.toml`
has the subjects: commands that run in a folder of their own, beside the programs of
`docs/programs/hosts`.  One starts a server, which gets two requests and SIGTERM from here, or
`visit.py`, which makes the requests itself.  The application prints what happens to it, and its
variable ASKED is the question.  As they wait most of the time, some run at once.
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
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from host_answers import answers
from kept import keep, select, versions
from loglines import free_port, plain

__all__ = ["QUESTIONS", "SUBJECTS", "Subject", "main", "observed"]

Happening = list[Any]
ROOT = Path(__file__).parents[2]
PROGRAMS, SOURCES = ROOT / "docs" / "programs" / "hosts", ROOT / "src"
ROWS = Path(__file__).with_suffix(".toml")
QUESTIONS = (
    "usual",
    "startup is slow",
    "startup fails",
    "startup raises",
    "startup hangs",
    "raises on the scope",
    "returns on the scope",
    "crashes later",
    "shutdown fails",
    "shutdown raises",
    "shutdown hangs",
)
CTRL_C = "ended by Ctrl-C"
TWICE = {"shutdown hangs, SIGTERM twice": "SIGTERM", "shutdown hangs, Ctrl-C twice": "SIGINT"}
KEPT = "one connection"
OF_KIND = {
    "adapter": ("two at once",),
    "client": ("two at once",),
    "server": (CTRL_C, KEPT, *TWICE),
    "platform": (CTRL_C,),
}
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
REPORT = re.compile(r'\["\w.*\]$')
ABOUT = re.compile(r"no pool|pool lost|lifespan|startup|shutdown|Error\b|Restarting", re.IGNORECASE)
LINES = 4
WIDTH = 160
ENOUGH = 30  # happenings: a worker that fails may be started again and again


class Subject(NamedTuple):
    """A row of `hosts.toml`: a command with its program, and what it is to its users."""

    kind: str
    program: str
    command: str
    packages: Sequence[str]
    path: str = "/"
    matrix: bool = False
    often: int = 3  # how often a server is asked what can end in several ways

    @property
    def listens(self) -> bool:
        """Tell whether it is a server: it gets requests from here."""
        return "{port}" in self.command

    @property
    def questions(self) -> Sequence[str]:
        """Return the questions to a host of its kind."""
        return (*QUESTIONS, *OF_KIND.get(self.kind, ()))

    def times(self, question: str) -> int:
        """Return how often it runs for a question."""
        return self.often if self.kind == "server" and "hangs" not in question else 1

    def program_in(self, programs: Path, word: str) -> Path:
        """Return a program: what is in the environment of `make matrix` is not installed twice."""
        return (programs.parents[1] / "matrix" / "bin" if self.matrix else programs) / word


def exit_status(status: int) -> int | str:
    """Return an exit status as a shell has it, with the name of a signal that ended the process."""
    return status if status >= 0 else f"{128 - status} ({signal.Signals(-status).name})"


SUBJECTS = {name: Subject(**row) for name, row in tomllib.loads(ROWS.read_text("utf-8")).items()}


class Run:
    """A host with the application, in a folder of its own."""

    def __init__(self, subject: Subject, question: str, programs: Path, place: Path) -> None:
        self.subject, self.question = subject, question
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
                "ASKED": question.partition(",")[0],
                "HOME": str(place),
                "BENTOML_HOME": str(place),
                "PYTHONPATH": f"{place}{os.pathsep}{SOURCES}",
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
        for line in self.running.stdout or ():
            text = NOISE.sub("", NOISE.sub("", line.decode("utf-8", "replace"))).rstrip()
            if inner := RAISED.fullmatch(text):
                text = inner[1]
            if found := REPORT.search(text):
                self.note(*json.loads(found[0]))
            for each in [] if found else plain(NUMBER.sub("…", text)):
                self.note("prints", each)

    def note(self, *happening: Any) -> None:
        """Add what has just happened."""
        self.noted.append((time.monotonic(), [*happening]))

    def request(self) -> None:
        """Send a request until somebody answers, as long as it is worth a try."""
        while self._may_answer():
            status = self._status()
            if status and status not in NOT_YET:
                time.sleep(0.1)  # until the line of the application has come
                self.note("answered", status)
                return
            time.sleep(0.2)

    def _may_answer(self) -> bool:
        kind, settles = self.subject.kind, SETTLES[self.subject.kind]
        end = self.began + BEGINS[kind]
        if self.question == "startup hangs":
            end, settles = end + CAP, CAP
        if moments := [when for when, each in self.noted if each[0] != "prints"]:
            end = min(end, moments[-1] + settles)
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

    def _status(self) -> int:
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
        if self.question == "startup is slow":
            with ThreadPoolExecutor(2) as pool:
                list(pool.map(lambda _: self.request(), range(2)))
        elif self.question == KEPT:
            self.request_twice()
        else:
            self.request()
            self._pause()
            self.request()
        self._pause()
        name = "SIGINT" if self.question == CTRL_C else TWICE.get(self.question, "SIGTERM")
        for _ in range(1 + (self.question in TWICE)):
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
        wait = ENDS if self.subject.listens and self.question != "shutdown hangs" else CAP
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


def observed(subject: Subject, programs: Path, question: str) -> list[tuple[float, Happening]]:
    """Ask a host a question; return what happened, and when, with what it has printed."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        run = Run(subject, question, programs, Path(place))
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


def row(
    programs: Path, name: str, runs: Mapping[str, Sequence[list[tuple[float, Happening]]]]
) -> dict[str, Any]:
    """Return the row of a subject."""
    subject = SUBJECTS[name]
    usual = runs["usual"][0]
    happened = {
        question: varied([worth(each, () if question == "usual" else usual) for each in of])
        for question, of in runs.items()
    }
    return {
        "name": name,
        "host": name.partition(",")[0],
        "kind": subject.kind,
        "program": subject.program,
        "command": subject.command,
        "versions": versions(str(subject.program_in(programs, "python")), subject.packages),
        "answers": answers(happened),
        "happened": happened,
    }


def rows(programs: Path, names: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Observe subjects; yield their rows of the record."""
    with ThreadPoolExecutor(OTHERS) as others, contextlib.ExitStack() as stack:
        pools = {
            kind: stack.enter_context(ThreadPoolExecutor(number))
            for kind, number in AT_ONCE.items()
        }
        waits = {
            name: {
                question: [
                    pools.get(subject.kind, others).submit(observed, subject, programs, question)
                    for _ in range(subject.times(question))
                ]
                for question in subject.questions
            }
            for name in names
            for subject in [SUBJECTS[name]]
        }
        for name, runs in waits.items():
            yield row(
                programs, name, {key: [each.result() for each in of] for key, of in runs.items()}
            )
            print(name, flush=True)


def main(arguments: Sequence[str]) -> int:
    """Observe the subjects that are named, or all."""
    folder, file, *names = arguments
    # in the background of a shell SIGINT is ignored, which servers would inherit
    signal.signal(signal.SIGINT, signal.default_int_handler)
    keep(Path(file), [*SUBJECTS], rows(Path(folder).absolute(), select(names, SUBJECTS)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
