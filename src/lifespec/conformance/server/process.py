"""The process of the server under test: started with the probe, observed, stopped and ended.

The probe, its script and its log are in a folder of the process.  All that the server started is
ended with it: its process group, and each process that has the folder's name in its environment.
"""

import contextlib
import itertools
import json
import os
import random
import re
import shutil
import signal
import socket
import tempfile
import threading
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Self

from lifespec.conformance.finding import Unchecked
from lifespec.conformance.log import Log, LogLine
from lifespec.conformance.server.client import Client
from lifespec.conformance.started import Started
from lifespec.diagnosis.fact import fact

CASE = "LIFESPEC_CASE"  # the variable that marks what a case starts
MOST_OUTPUT = 200_000  # bytes of output
PORTS = range(10240, 32768)  # below those that systems give to outgoing connections
ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")  # colours
PLACEHOLDER = re.compile(r"\{(\w+)\}")

# each check begins with another port: several may run at once
_places = itertools.count(random.randrange(len(PORTS)))  # noqa: S311  in PORTS
_probes: set[str] = set()  # the names of those of this process


class ServerProcess:
    """A server with the probe as its application, as a context manager.

    `command` has the placeholders {app} and {port}, and perhaps {workers} and {folder}, an empty
    folder of this case; `script` is what the probe plays in its lifespan.
    """

    def __init__(self, command: Sequence[str], script: list[Any], workers: int = 1) -> None:
        self.command, self.script, self.workers = command, script, workers
        self.port = unused_port()
        self.cancelled = threading.Event()  # set if the check was cancelled
        self._log, self._position = Log(), 0
        self._pauses = itertools.count(1)

    def __enter__(self) -> Self:
        self.folder = Path(tempfile.mkdtemp(prefix="lifespec-"))
        self.file = self.folder / "log.jsonl"
        self.client = Client(self.port, self.folder.name, self.cancelled)
        _probes.add(self.folder.name)
        try:
            self.start()
        except BaseException:
            self.clean()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        self.clean()

    def start(self) -> None:
        """Start the server; raise Unchecked if there is no such program."""
        probe = resources.files("lifespec.conformance").joinpath("probe.py").read_bytes()
        (self.folder / "lifespec_probe.py").write_bytes(probe)
        (self.folder / "script.json").write_text(json.dumps(self.script), "utf-8")
        (self.folder / "temporary").mkdir()
        (self.folder / "own").mkdir()
        variables = {
            "PYTHONUNBUFFERED": "1",  # else what it wrote is lost when it is killed
            # sockets and files that it leaves there are removed with the folder
            "TMPDIR": str(self.folder / "temporary"),
        }
        values = {
            "app": "lifespec_probe:app",
            "port": self.port,
            "workers": self.workers,
            "folder": str(self.folder / "own"),
        }
        command = []
        for word in self.command:  # other braces are the server's
            filled = PLACEHOLDER.sub(lambda match: str(values.get(match[1], match[0])), word)
            command.append(filled)
        with (self.folder / "output").open("wb") as output:
            self.started = Started(command, CASE, self.folder, output, variables)
        self.process = self.started.process

    @property
    def output(self) -> str:
        """The beginning of the output, without colours."""
        with (self.folder / "output").open("rb") as file:
            return ESCAPES.sub("", file.read(MOST_OUTPUT).decode("utf-8", "replace"))

    @property
    def status(self) -> int | None:
        """The exit status; None while the process runs."""
        return self.process.poll()

    def log(self) -> Log:
        """Return what the probe has noted so far."""
        with contextlib.suppress(FileNotFoundError), self.file.open("rb") as file:
            file.seek(self._position)
            # on some systems a line that is being written can be read in part
            lines, newline, _rest = file.read().rpartition(b"\n")
            for line in lines.splitlines():
                self._log.append(LogLine(**json.loads(line)))
            self._position += len(lines) + len(newline)
        return self._log

    def go(self) -> None:
        """Let the probe continue after its pause."""
        (self.folder / f"go{next(self._pauses)}").touch()

    def release(self) -> None:
        """Let the probe answer the requests that it holds."""
        (self.folder / "release").touch()

    def send(self, number: signal.Signals, *, to_all: bool = False) -> None:
        """Send a signal to the process that was started, or to each process of its group."""
        if to_all:
            os.killpg(self.process.pid, number)
        else:
            self.process.send_signal(number)

    @property
    def met_another(self) -> bool:
        """Whether the application of another case of this process has answered."""
        return bool(self.client.strangers & _probes)

    def left_running(self) -> set[int]:
        """Return the processes that the server started and that run without it."""
        return self.started.processes() - {self.process.pid}

    def end(self) -> None:
        """End every process."""
        self.started.end()

    def clean(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)


def is_free(port: int) -> bool:
    """Tell whether no program listens on a port, at any address of this machine."""
    with socket.socket() as listener, contextlib.suppress(OSError):
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections may be closing
        listener.bind(("", port))
        return True
    return False


def unused_port() -> int:
    """Return a port on which no program listens, and that no other case of this check uses."""
    for place in itertools.islice(_places, len(PORTS)):
        port = PORTS[place % len(PORTS)]
        if is_free(port):
            return port
    raise Unchecked(fact("no-port-free"))
