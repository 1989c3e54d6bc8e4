"""Measure what adapters, test clients and servers do with a lifespan: `make hosts`.

`hosts.toml` has the rows, and pyproject.toml what they need, in the group `hosts`.  Each is a
command that runs in a copy of `docs/programs/hosts`.  One starts a server, which gets two
requests and SIGTERM from here, or `visit.py`, which makes the requests itself.  The application
prints what happens to it, and its variable ASKED is the question.
"""

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from environments import Needs
from host_answers import CAP, OTHER, SIGNALLED, answers
from records import Row, measure, table, versions
from serving import Program, conditions, free_port, plain, requested

Happening = list[Any]
Noted = list[tuple[float, Happening]]
ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "docs" / "programs" / "hosts"
ROWS = table("hosts")
KINDS = ROWS["kinds"]
# runs at once, as they wait most of the time; a platform starts many processes
OTHERS, PLATFORMS = ThreadPoolExecutor(20), ThreadPoolExecutor(2)
PAUSE = 2.0  # in which the application can crash, and a host is ready for a signal
ENDS = 20.0  # after the signal
OFTEN = 5  # times that a server is asked what it may answer in several ways
GAP = 2.5  # seconds between two happenings from which on the record has the time
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
LINES, WIDTH = 4, 160
ENOUGH = 30  # happenings: a worker that fails may be started again and again


class Subject(NamedTuple):
    """A row of `hosts.toml`: a command with its program, and what it is to its users."""

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
    def needs(self) -> Needs:
        """What is installed for it: what `make matrix` has is not installed twice."""
        return Needs("matrix" if self.matrix else "hosts", self.packages)

    def words(self, environment: Path, port: int) -> list[str | Path]:
        """Return its command."""
        first, *words = self.command.format(port=port).split()
        return [environment / "bin" / first, *words]

    def conditions(self, environment: Path) -> dict[str, str]:
        """Return which event loop and which parser of HTTP a server of the shop uses."""
        port = free_port()
        return conditions(self.words(environment, port), port, list(PROGRAMS.glob("*.toml")))


SUBJECTS = {name: Subject(**row) for name, row in ROWS["rows"].items()}


class Run(Program):
    """A host with the application, in a folder of its own."""

    def __init__(self, subject: Subject, question: str, environment: Path, place: Path) -> None:
        self.subject, self.question = subject, question
        self.port = free_port() if subject.listens else 0
        self.noted: Noted = []
        self.signalled = 0.0
        self.began = time.monotonic()
        shutil.copytree(PROGRAMS, place, dirs_exist_ok=True)
        super().__init__(
            subject.words(environment, self.port),
            place,
            PATH=f"{environment / 'bin'}{os.pathsep}{os.environ['PATH']}",
            ASKED=question.partition(",")[0],
            HOME=str(place),
            BENTOML_HOME=str(place),
            PYTHONPATH=f"{place}{os.pathsep}{ROOT / 'src'}",
            **ROWS["environment"],
        )

    def read(self, line: str) -> None:
        """Note what the application says, or what the host prints."""
        text = NOISE.sub("", NOISE.sub("", line)).rstrip()
        if inner := RAISED.fullmatch(text):
            text = inner[1]
        if found := REPORT.search(text):
            self.note(*json.loads(found[0]))
        for each in [] if found else plain([NUMBER.sub("…", text)]):
            self.note("prints", each)

    def note(self, *happening: Any) -> None:
        self.noted.append((time.monotonic(), list(happening)))

    def ask(self) -> None:
        """Send a request until it is answered, as long as the host may still start."""
        while self._may_answer():
            with contextlib.ExitStack() as opened:
                status = requested(self.port, self.subject.path, opened)
            if status and status not in NOT_YET:
                time.sleep(0.1)  # until the line of the application has come
                self.note("answered", status)
                return
            time.sleep(0.2)

    def _may_answer(self) -> bool:
        settles = KINDS[self.subject.kind]["settles"]
        end = self.began + KINDS[self.subject.kind]["begins"]
        if self.question == "startup hangs":
            end, settles = end + CAP, CAP
        if moments := [when for when, each in self.noted if each[0] != "prints"]:
            end = min(end, moments[-1] + settles)
        return not self.over and time.monotonic() < end

    def ask_twice(self) -> None:
        """Send two requests over one connection, as far as it stays open."""
        self.ask()  # on another one: until then it may not listen
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

    def serve(self) -> None:
        """Send two requests, and then a signal if it has not ended by itself."""
        if self.question == "startup is slow":
            with ThreadPoolExecutor(2) as pool:
                list(pool.map(lambda _: self.ask(), range(2)))
        elif self.question == "one connection":
            self.ask_twice()
        else:
            self.ask()
            self.wait(PAUSE)
            self.ask()
        self.wait(PAUSE)
        for name in ROWS["signals"].get(self.question, ["SIGTERM"]):
            if not self.over:
                self.send(name)
                self.wait(PAUSE)  # before the next one

    def send(self, name: str) -> None:
        """Send a signal to the process that was started, or "to all" of its group."""
        kind, *to = name.split(" ", 1)
        self.note(kind, *to)
        self.signalled = self.signalled or time.monotonic()
        if to:
            os.killpg(self.process.pid, signal.Signals[kind])
        else:
            self.process.send_signal(signal.Signals[kind])

    def end(self) -> None:
        """Wait until the host has ended."""
        if self.subject.listens:
            self.serve()
        hangs = not self.subject.listens or self.question == "shutdown hangs"
        status = self.wait(CAP if hangs else ENDS)
        seconds = round(time.monotonic() - self.signalled, 1)
        if status is None:
            self.note("goes on")
            return
        self.reader.join(PAUSE)  # what it has printed comes before its end
        if self.signalled and "hangs" in self.question:
            self.note(SIGNALLED, seconds)
        number = -self.process.returncode
        self.note("exit", f"{status} ({signal.Signals(number).name})" if number > 0 else status)


def observed(subject: Subject, environment: Path, question: str) -> Noted:
    """Ask a host a question; return what happened, and when, with what it has printed."""
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place,
        Run(subject, question, environment, Path(place)) as run,
    ):
        run.end()
    return run.noted


def relevant(noted: Noted, faultless: Sequence[tuple[float, Happening]] = ()) -> list[Happening]:
    """Leave out lines that a run without a fault prints, too, or that do not mention a lifespan."""
    expected = [each for _, each in faultless if each[0] == "prints"]
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
    """Return the first of some runs, and after it those that went on or ended in another way."""
    ends = [_end(each) for each in runs]
    others = [runs[n] for n, each in enumerate(ends) if n and each not in ends[:n]]
    return [*runs[0], *(each for other in others for each in ([OTHER], *other))]


def _end(happened: Sequence[Happening]) -> list[Any]:
    """Return what can be another from run to run: what was served, who ended it, and how."""
    signs = ["lifespan.shutdown"], ["SIGTERM"], ["SIGINT"], ["request"], ["and so on"]
    seen = [any(each[-1:] == sign or each[:1] == sign for each in happened) for sign in signs]
    return [*seen, *happened[-1]]


def asked(subject: Subject, environment: Path, question: str) -> list[Noted]:
    """Ask once or, a server that has ended, OFTEN; one that goes on would do so each time."""
    pool = PLATFORMS if subject.kind == "platform" else OTHERS
    runs = [pool.submit(observed, subject, environment, question).result()]
    if subject.kind == "server" and runs[0][-1][1][0] == "exit":
        more = [pool.submit(observed, subject, environment, question) for _ in range(1, OFTEN)]
        runs += [each.result() for each in more]
    return runs


def row(environment: Path, name: str) -> Row:
    """Observe a subject; return its row of the record."""
    subject = SUBJECTS[name]
    questions = [*ROWS["questions"]["all"], *KINDS[subject.kind]["questions"]]
    with ThreadPoolExecutor(len(questions)) as waiting:
        found = waiting.map(lambda each: asked(subject, environment, each), questions)
        runs = dict(zip(questions, found, strict=True))
    faultless = runs.pop("usual")
    happened = {"usual": varied([relevant(each) for each in faultless])} | {
        question: varied([relevant(each, faultless[0]) for each in of])
        for question, of in runs.items()
    }
    made = {
        "name": name,
        "host": name.partition(",")[0],
        "kind": subject.kind,
        "program": subject.program,
        "command": subject.command,
        "versions": versions(environment, subject.packages),
    }
    if subject.kind == "server" and subject.program == "shop":
        made["conditions"] = subject.conditions(environment)
    return made | {"answers": answers(happened), "happened": happened}


def on_newest(name: str) -> bool:
    """Tell whether a row is measured on the newest Python, too: that of a server."""
    return SUBJECTS[name].kind == "server"


if __name__ == "__main__":
    needs = {name: subject.needs for name, subject in SUBJECTS.items()}
    sys.exit(measure(sys.argv[1:], needs, row, on_newest=on_newest, at_once=len(SUBJECTS)))
