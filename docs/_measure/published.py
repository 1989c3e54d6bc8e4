"""What lifespec says of applications of others by their own commands, a record of docs/matrix.

    python docs/_measure/published.py FILE [NAME...]

Each has an environment of its own, which is made if it is missing.  It is started bare; checked by
its command; watched from its start over three requests to SIGINT; started twice in one process by
the fixture (`twice.py`); and watched once more while its startup, its clean-up or a request waits
for a port that accepts and never answers (`unanswered.py`).  published.toml says how each
statement was read beside the application's source, else it is "unread"; and what was not said.
"""

import contextlib
import json
import os
import pty
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

from environments import ROOT, Needs
from records import Row, measure, table, versions
from serving import end_all, free_port, marked

APPLICATIONS = table("published")
CHECK, START, STOP = 500.0, 180.0, 40.0  # seconds
HANG, LASTED = 15.0, 7.0  # seconds until a server that hangs is killed, and before it is stopped
REQUESTS = 3
# statements that are read once for all: what they say was seen from inside the process
ALIKE = {
    "printed: ": "true",
    "watch: the interpreter of ": "true",
    "hang: the interpreter of ": "true",
    "watch: startup has not begun: the import of ": "true",
    "watch: no server has begun to serve: ": "true",
    "hang: no server has begun to serve: ": "true",
    "watch: startup has lasted ": "true",
    "hang: Uvicorn looks at Ctrl-C only when ": "true",
    "hang: Ctrl-C came ": "true",
    "hang: Ctrl-\\ came ": "true",
    "hang: startup has not begun: the import of ": "true",
    "hang: startup was not completed; exit status ": "true",
    "hang: no lifespan was seen; exit status ": "true",
}
OFTEN = 0.4  # seconds between two looks at the memory
PLAYED = "LIFESPEC_PLAYED"  # in the environment of all that belongs to one run


class Place:
    """A folder with the files of an application, the variables of its environment, and a port.

    When it is left, all that was started there is killed.
    """

    def __init__(self, folder: Path, name: str, *, hangs: bool = False) -> None:
        self.row, self.port, self.stack = APPLICATIONS[name], free_port(), contextlib.ExitStack()
        self.silent = self._silent()
        self.python = folder / "bin" / "python"
        temporary = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.here = Path(self.stack.enter_context(temporary))
        for file, text in self.row.get("files", {}).items():
            (self.here / file).write_text(self._filled(text.lstrip()), "utf-8")
        path = f"{folder / 'bin'}:{os.environ['PATH']}"
        self.variables = {**os.environ, "PATH": path, "HOME": str(self.here), "NO_COLOR": "1"}
        self.variables |= {PLAYED: str(self.here), "DO_NOT_TRACK": "1"}
        self.sign = f"{PLAYED}={self.here}"
        for variable in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE"):
            self.variables.pop(variable, None)
        hang = self.row["hang"] if hangs else {}
        for variable, value in {**self.row.get("env", {}), **hang.get("env", {})}.items():
            self.variables[variable] = self._filled(value)
        self.calls = self.here / "calls"  # of the function that gets no answer
        if "call" in hang:
            site = next(folder.glob("lib/python*/site-packages"))
            shutil.copy(Path(__file__).with_name("unanswered.py"), site)
            (site / "unanswered.pth").write_text("import unanswered\n", "utf-8")
            self.variables["UNANSWERED"] = f"{hang['call']} {self.silent} {self.calls}"
        self.command = shlex.split(self._filled(self.row["command"]))

    def __enter__(self) -> Self:
        if "before" in self.row:
            before = shlex.split(self._filled(self.row["before"]))
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            subprocess.run(before, cwd=self.here, env=self.variables, timeout=START, **quiet)
        return self

    def __exit__(self, *_: object) -> None:
        end_all(self.sign)
        self.stack.close()

    def _silent(self) -> int:
        """Return a port that accepts and never answers."""
        listener = self.stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        port: int = listener.getsockname()[1]
        return port

    def _filled(self, text: str) -> str:
        text = text.replace("{port}", str(self.port))
        return text.replace("{silent}", str(self.silent))

    def start(self, words: Sequence[str | Path], **options: Any) -> "subprocess.Popen[bytes]":
        """Start a program in a session of its own."""
        kept = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL} | options
        kept = {"stderr": subprocess.DEVNULL} | kept
        variables = {**self.variables, **kept.pop("env", {})}
        return subprocess.Popen(words, cwd=self.here, env=variables, start_new_session=True, **kept)

    def answers(self) -> bool:
        """Tell whether a request to the port is answered."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/", timeout=5):
                return True
        except urllib.error.HTTPError:
            return True
        except (OSError, ValueError):
            return False

    def wait_until_it_calls(self, process: "subprocess.Popen[bytes]", request: str) -> None:
        """Wait until the function is called that gets no answer, perhaps for a request.

        The request stays open.
        """
        open_connections: list[socket.socket] = []

        def is_called() -> bool:
            if request and not open_connections:
                with contextlib.suppress(OSError):
                    connection = socket.create_connection(("127.0.0.1", self.port))
                    self.stack.enter_context(connection)
                    open_connections.append(connection)
                    head = f"GET {request} HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\n\r\n"
                    connection.sendall(head.encode())
            return self.calls.exists()

        _wait_until(is_called, process)

    def wait_until_it_answers(self, process: "subprocess.Popen[bytes]", limit: float) -> bool:
        """Send requests until one is answered, the process has ended, or the time is over."""
        end = time.monotonic() + limit
        while time.monotonic() < end and process.poll() is None:
            if self.answers():
                return True
            time.sleep(0.1)
        return False


class Memory:
    """The most memory that all processes of a place had together, in MB; shared pages count once.

    Linux says it of each process (`Pss`).
    """

    def __init__(self, place: Place) -> None:
        self.place, self.most, self.over = place, 0, threading.Event()
        self.thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()

    def _look(self) -> None:
        while not self.over.wait(OFTEN):
            kilobytes = 0
            for pid in marked(self.place.sign):
                with contextlib.suppress(OSError):
                    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
                    kilobytes += sum(int(each.split()[1]) for each in lines if "Pss:" in each[:4])
            self.most = max(self.most, round(kilobytes / 1024))


def lifespec(*words: "str | Path") -> "list[str | Path]":
    """Return a command of lifespec, which is not installed in the application's environment."""
    return [sys.executable, "-m", "lifespec", *words]


def bare(folder: Path, name: str) -> Row:
    """Start an application without lifespec; return how long it took, and its memory."""
    with Place(folder, name) as place, Memory(place) as memory:
        began = time.monotonic()
        process = place.start(place.command)
        if not place.wait_until_it_answers(process, START):
            raise RuntimeError("bare, it did not answer")
        seconds = time.monotonic() - began
        time.sleep(2 * OFTEN)
    return {"seconds": round(seconds, 2), "MB": memory.most}


def check(folder: Path, name: str) -> Row:
    """Check an application by its command; return what was said, after how long, in how much."""
    with Place(folder, name) as place, Memory(place) as memory:
        report = place.here / "report.json"
        options = ["--timeout", "120", "--json", report, "--language", "en"]
        reading, writing = pty.openpty()  # the first rows come first in a terminal
        began = time.monotonic()
        words = lifespec("check", "app", *options, "--", *place.command)
        process = place.start(words, stderr=writing)
        os.close(writing)
        first = _first_row(reading, began)
        process.wait(CHECK)
        seconds = time.monotonic() - began
        os.close(reading)
        if not report.exists():
            raise RuntimeError("no report")
        told = json.loads(report.read_text("utf-8"))
    rows = [f"{row['label']}: {row['says']}" for row in told["rows"]]
    if told["unchecked"]:
        rows.append(f"unchecked: {told['unchecked']['says']}")
    says = [row for row in rows if row not in ("starts: yes", "stops: yes")]
    broken = [row["id"] for row in told["rules"] if row["verdict"] in ("fail", "warn")]
    frameworks = {finding["rule"] for finding in told["findings"] if finding["framework"]}
    says += [f"rules: 1 missed: {rule}" for rule in broken if rule not in frameworks]
    about = {"status": told["status"], "seconds": round(seconds, 1), "first": first}
    name_of_it = told["subject"]["name"].rpartition(": ")[2]
    return {**about, "MB": memory.most, "application": name_of_it, "says": says}


def _first_row(terminal: int, began: float) -> float | None:
    """Return after how many seconds a check said how the application starts; read all it says."""
    said, first = b"", None
    while True:
        try:
            block = os.read(terminal, 65536)
        except OSError:  # nobody writes any more
            return first
        said += block
        if first is None and b"lifespec: starts" in said:
            first = round(time.monotonic() - began, 1)


def watch(folder: Path, name: str) -> list[str]:
    """Watch an application from its start over three requests to SIGINT; return what was said."""
    with Place(folder, name) as place:
        process, file = _watched(place)
        if not place.wait_until_it_answers(process, START):
            raise RuntimeError("watched, it did not answer")
        for _ in range(REQUESTS - 1):
            place.answers()
        _stop(process, STOP)
        return _said(file)


def hang(folder: Path, name: str) -> tuple[Row, list[str]]:
    """Watch an application that is made to hang; return how it was, and what was said."""
    about = APPLICATIONS[name]["hang"]
    when: str = about.get("when", "start")
    with Place(folder, name, hangs=True) as place:
        process, file = _watched(place)
        if when == "stop":
            if not place.wait_until_it_answers(process, START):
                raise RuntimeError("watched, it did not answer")
            os.killpg(process.pid, signal.SIGINT)
        if "call" in about:
            place.wait_until_it_calls(process, when if when.startswith("/") else "")
            if not place.calls.exists():
                raise RuntimeError(f"{about['call']} was not called")
        else:
            _wait_until(lambda: "startup has lasted" in "".join(_said(file)), process)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(LASTED if "call" in about else STOP)
        _stop(process, HANG)
        provoked = {**about}
        if "call" in about:
            line = place.calls.read_text("utf-8").splitlines()[0]
            function, _, file_and_line = line.partition(" ")
            line = f"{function} {file_and_line.rpartition('site-packages/')[2]}"
            provoked.setdefault("line", line)  # of what is called in a thread it is that of anyio
        return provoked, _said(file)


def _watched(place: Place) -> tuple["subprocess.Popen[bytes]", Path]:
    file = place.here / "watched.json"
    words = lifespec("watch", "--json", file, "--language", "en", "--", *place.command)
    return place.start(words), file


def _stop(process: "subprocess.Popen[bytes]", limit: float) -> None:
    for number in (signal.SIGINT, signal.SIGQUIT):
        if process.poll() is None:
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(limit)


def _wait_until(is_so: Callable[[], bool], process: "subprocess.Popen[bytes]") -> None:
    """Wait until something is so, for as long as a start may take, or the process has ended."""
    end = time.monotonic() + START
    while time.monotonic() < end and process.poll() is None and not is_so():
        time.sleep(0.1)


def _said(file: Path) -> list[str]:
    """Return what was said until now, with where open requests are."""
    if not file.exists():
        return []
    says = []
    for line in file.read_text("utf-8").splitlines():
        told = json.loads(line)
        text = told["says"]
        for row in told["rows"]:
            if "method" in row and "place" in row:
                place = row["place"]
                where = f"`{place['function']}`, {place['file']}:{place['line']}"
                text += f"; {row['method']} {row['path']}, in {where}"
        says.append(text)
    return says


def twice(folder: Path, name: str) -> Row:
    """Let the fixture start an application twice in one process.

    Return how the requests were answered, and what was said.
    """
    with Place(folder, name) as place:
        command = place.command
        if "target" in place.row:
            command = ["uvicorn", *shlex.split(place.row["target"])]
        words = [place.python, Path(__file__).with_name("twice.py"), *command]
        with (place.here / "said").open("wb") as file:
            path = {"PYTHONPATH": str(ROOT / "src")}
            process = place.start(words, env=path, stderr=file)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(START)
        ended = process.poll() is not None  # else it serves, in a process of its own
        lines = (place.here / "said").read_text("utf-8", "replace").split("\n")
    told: list[Row] = [json.loads(line[1:]) for line in lines if line.startswith("\x1e")]
    answers = [line["answered"] for line in told if "answered" in line]
    says = [line["says"] for line in told if "says" in line]
    if ended and not any("over" in line for line in told):
        says.append("the process has ended")
    return {"answers": answers, "says": says}


def row(folder: Path, name: str) -> Row:
    """Measure an application: what was said of it, and how each statement was read."""
    about = APPLICATIONS[name]
    begun = bare(folder, name)
    checked = check(folder, name)
    says = checked.pop("says")
    says += [f"watch: {line}" for line in watch(folder, name)]
    started = twice(folder, name)
    says += [f"fixture: {line}" for line in started["says"]]
    provoked, lines = hang(folder, name)
    says += [f"hang: {line}" for line in lines]
    provoked["named"] = is_named(provoked, lines)
    package = about["packages"][0].partition("[")[0]
    return {
        "name": name,
        "version": versions(folder, [package])[package],
        "bare": begun,
        **checked,
        "answers": started["answers"],
        "hang": provoked,
        "statements": [{"says": line, "read": read(name, line)} for line in dict.fromkeys(says)],
        "missed": about.get("missed", []),
    }


def is_named(provoked: Row, lines: list[str]) -> bool:
    """Tell whether what was said has the line of the call that gets no answer."""
    place = provoked["line"].rpartition(" ")[2]
    return any(place in line for line in lines)


def read(name: str, says: str) -> str:
    """Return how a statement was read, by how it begins.

    "time" is one that only says how long a phase took, which nobody reads.
    """
    begins = ("starts: yes, in ", "stops: yes, in ", "watch: started in ", "hang: started in ")
    if says.startswith(begins):
        return "time"
    readings: dict[str, str] = APPLICATIONS[name].get("read", {})
    for begin, reading in {**readings, **ALIKE}.items():
        if says.startswith(begin):
            return reading
    return "unread"


if __name__ == "__main__":
    needs = {
        name: Needs("applications", [name], about["packages"])
        for name, about in APPLICATIONS.items()
    }
    sys.exit(measure(sys.argv[1:], needs, row))
