"""One case, played with a server in a process of its own.

The suite plays the application, a client and an operator.  Every wait is for something that is
seen, and has a limit, which begins anew when the application notes something.
"""

from __future__ import annotations

import signal
import socket
import threading
import time
from contextlib import ExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from lifespec.conformance.cases import Unchecked
from lifespec.conformance.processes import until
from lifespec.conformance.server.connections import Hindered, Kept, websocket
from lifespec.conformance.server.messages import Delivered
from lifespec.conformance.server.observation import LIFESPAN, Answer, Knock, ServerObservation
from lifespec.conformance.server.process import FLOOD, Subject

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lifespec.conformance.cases import Action, Case

__all__ = ["START", "CaseRun"]

START = 40.0  # seconds that a server has to call or import the application in
HOLD = 60.0  # seconds for a request that is held
REST = 1.0  # seconds without anything new after which another case can begin beside this one
HANGING = 5.0  # seconds for the end of a server whose application hangs: no rule asks for it
POLL = 0.02  # seconds between two looks
TRAFFIC = 1.0


class CaseRun:
    """One case, played with a server; `limit` is in seconds, `broken_off` ends all waiting.

    `rests` is called when there is nothing to do but wait, perhaps often.
    """

    def __init__(
        self,
        command: Sequence[str],
        case: Case,
        limit: float,
        broken_off: threading.Event,
        *,
        begins: Callable[[Sequence[str], list[Any], int], Subject] = Subject,
        rests: Callable[[], object] = lambda: None,
    ) -> None:
        self.case, self.limit, self.broken_off, self.rests = case, limit, broken_off, rests
        script = [[action.verb, _argument(action)] for action in case.script]
        self.subject = begins(command, script, case.workers)
        self.subject.broken_off = broken_off
        hangs = any(action.verb == "hang" for action in case.script)
        self.seen = ServerObservation(case, limit=min(limit, HANGING) if hangs else limit)
        self.kept = Kept(self.subject.port)
        self.clients: list[threading.Thread] = []
        self.in_vain = False

    def run(self) -> ServerObservation:
        """Play the case to its end; raise Unchecked where it cannot be checked."""
        with ExitStack() as stack:
            if self.case.meanwhile[0].verb == "occupy":
                stack.enter_context(socket.create_server(("127.0.0.1", self.subject.port)))
            stack.enter_context(self.subject)
            stack.callback(self.kept.connection.close)
            self.seen.told = time.monotonic()
            for doing in self.case.meanwhile:
                if not self.hopeless:
                    _DOINGS[doing.verb](self, doing)
            self.await_end()
            if not self.called:  # who reads why it was not wants to know this
                self.seen.left = self.subject.pids() - {self.subject.process.pid}
                self.seen.elsewhere = self.subject.elsewhere()
            self.subject.end_processes()
            for client in self.clients:
                client.join(HOLD)
            self.seen.lines = self.subject.complete()
            self.seen.output = self.subject.output
        if self.subject.flooded:
            raise Unchecked(f"it wrote more than {FLOOD // 1_000_000} MB to its output")
        return self.seen

    def patiently(self, done: Callable[[], object]) -> None:
        """Wait until something is done, while the server lives and things happen.

        Where things go on happening and it is not done, twice the limit is enough.  Where it was in
        vain once, there is no waiting any more.
        """
        begun = last = time.monotonic()
        count = 0
        while not done() and self.running() and not self.in_vain:
            lines, now = len(self.subject.lines()), time.monotonic()
            begun = begun if count else now
            last = now if lines != count else last
            count = lines
            if lines and now - last > REST:
                self.rests()
            limit = self.limit if lines else START
            self.in_vain = now - last > limit or now - begun > 2 * limit
            time.sleep(POLL)

    def outlives(self, seconds: float) -> None:
        """Wait for the process to end, so many seconds at most."""
        began = time.monotonic()
        if not until(lambda: not self.running(), min(seconds, REST)):
            self.rests()
            until(lambda: not self.running(), seconds - (time.monotonic() - began))

    @property
    def hopeless(self) -> bool:
        """Whether the server was waited for and has not even called the application."""
        return self.in_vain and not self.called

    @property
    def called(self) -> bool:
        """Whether the server has called the application."""
        return any(line["call"] for line in self.subject.lines())

    def running(self) -> bool:
        """Whether the process is there still, and the suite wants it to be."""
        return self.subject.status is None and not (
            self.subject.flooded or self.broken_off.is_set()
        )

    def request(self, doing: Action) -> None:
        """Request a path until it is answered; the first one waits for the server to start."""
        before = any(answer.body for answer in self.seen.answers) and not self.in_vain
        answers: list[Answer] = []

        def answered() -> bool:
            answers.append(self.subject.ask(doing.text, self.limit if before else TRAFFIC))
            return answers[-1].body is not None

        self.patiently(answered)
        self.seen.answers.append(answers[-1])

    def keep(self, doing: Action) -> None:
        """Request a path on the connection that stays open."""
        self.connected(doing, self.kept.ask)

    def websocket(self, doing: Action) -> None:
        """Request a path on a WebSocket."""
        self.connected(doing, partial(websocket, self.subject.port))

    def connected(self, doing: Action, ask: Callable[[str, float], dict[str, Any]]) -> None:
        """Request a path in another way than usual; once that was in vain, do nothing."""
        if not self.seen.hindrance:
            asked = time.monotonic()
            try:
                body = ask(doing.text, self.limit)
            except Hindered as hindered:
                self.seen.hindrance = str(hindered)
            else:
                ours = body if body.get("probe") == self.subject.folder.name else None
                self.seen.answers.append(Answer(doing.text, asked, time.monotonic(), ours))

    def traffic(self, _: Action) -> None:
        """Make requests for a second, answered or not."""
        until(lambda: self.subject.ask("/", TRAFFIC) and not self.running(), TRAFFIC)

    def knock(self, _: Action) -> None:
        """Try to connect, and to be answered, where the port is the server's own."""
        if not isinstance(self.subject, Delivered):
            self.seen.knocks.append(_knock(self.subject.port))

    def open(self, doing: Action) -> None:
        """Begin a request, and wait until the application holds it."""
        ask = threading.Thread(target=self.subject.ask, args=(doing.text, HOLD))
        ask.start()
        self.clients.append(ask)
        self.patiently(lambda: self.noted("holds"))

    def noted(self, what: str) -> bool:
        """Whether the application has noted this: a kind of line, perhaps with its type."""
        lines = self.subject.lines()
        return any(what in (line["kind"], f"{line['kind']} {line.get('type')}") for line in lines)

    def workers(self, _: Action) -> None:
        """Wait until each worker has called the application."""
        self.patiently(lambda: len(self.calls()) >= self.case.workers)

    def calls(self) -> set[int]:
        """Return the processes that have called the application with a lifespan scope."""
        lines = self.subject.lines()
        return {line["pid"] for line in lines if (line["kind"], line.get("type")) == LIFESPAN}

    def tell(self, what: signal.Signals) -> None:
        """Send a signal, where there is somebody to hear it."""
        if self.subject.status is None:
            self.kept.connection.close()
            self.seen.stopped = time.monotonic()
            self.subject.tell(what)

    def await_end(self) -> None:
        """Wait for the process to end, where it was told to, or is to end by itself."""
        self.seen.told = time.monotonic()
        waited = self.case.meanwhile[-1].verb == "wait" or (self.in_vain and not self.seen.stopped)
        if not waited:
            self.outlives(self.seen.limit)
        self.seen.status = self.subject.status
        self.seen.ended = None if self.seen.status is None else time.monotonic()
        self.seen.late = self.in_vain or not (waited or self.seen.ended)


def _knock(port: int) -> Knock:
    """Return what becomes of a connection to a port, and of a request on it."""
    end: Knock = "refused"
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), TRAFFIC) as connection:
        end = "unanswered"
        connection.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        if connection.recv(1):
            end = "answered"
    return end


_DOINGS: dict[str, Callable[[CaseRun, Action], object]] = {
    "request": CaseRun.request,
    "keep": CaseRun.keep,
    "websocket": CaseRun.websocket,
    "traffic": CaseRun.traffic,
    "open": CaseRun.open,
    "knock": CaseRun.knock,
    "release": lambda run, _: run.subject.release(),
    "until": lambda run, doing: run.patiently(lambda: run.noted(doing.text)),
    "go": lambda run, _: run.subject.go(),
    "wait": lambda run, doing: run.outlives(doing.seconds),
    "stop": lambda run, _: run.tell(signal.SIGTERM),
    "interrupt": lambda run, _: run.tell(signal.SIGINT),
    "occupy": lambda _, __: None,
    "workers": CaseRun.workers,
}


def _argument(action: Action) -> Any:
    """Return what the probe's step takes."""
    of = dict.fromkeys(("send", "try", "later", "give"), action.event) | {"raise": action.text}
    of |= {"state": dict(action.keys), "wait": action.seconds, "throw": action.text}
    return of.get(action.verb)
