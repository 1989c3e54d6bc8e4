"""Play one case with a server: the suite is the application, a client and an operator.

Every wait is for something that is observed, and has a timeout, which begins anew whenever the
application notes something.
"""

import signal
import socket
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field

from lifespec.conformance.cases import Action, Case
from lifespec.conformance.log import REQUESTS, Log, entries
from lifespec.conformance.processes import until
from lifespec.conformance.server.client import Knock, Reply, Unusable
from lifespec.conformance.server.process import ServerProcess
from lifespec.diagnosis.fact import Fact
from lifespec.testing.trace import Entry

SERVER_TIMEOUT = 10.0  # seconds in which a server does something, by default
START_LIMIT = 40.0  # seconds in which a server imports or calls the application
HOLD = 60.0  # seconds for a request that the application holds
HANGING = 5.0  # seconds for the end of a server whose application hangs, or that serves on
RESTARTS = 3  # after so many a server is not waited for
BRIEF = 1.0  # seconds of `traffic`, and for a request that may not be answered
LOOK_AT_LOG_EVERY = 0.02  # seconds between two looks


@dataclass
class ServerObservation:
    """What was observed in one case; times are seconds of the monotonic clock.

    `log` is the probe's, `answers` has one for each request.  `stopped` is when the signal
    was sent, `last_action` when the suite last did something, `ended` when the process ended; None
    if it still ran `timeout` seconds later.  `left_running` are processes that it left behind.
    `unusable` says why a connection could not be used as the case needs it.  `closed` is when each
    connection of a request that the application held was closed.  `stranger` tells that the
    application of another case has answered.
    """

    case: Case
    spec: str = "asgi 2.0"
    timeout: float = SERVER_TIMEOUT
    log: Log = field(default_factory=Log)
    answers: list[Reply] = field(default_factory=list)
    knocks: list[Knock] = field(default_factory=list)
    output: str = ""
    stopped: float | None = None
    last_action: float = 0.0
    ended: float | None = None
    status: int | None = None
    left_running: set[int] = field(default_factory=set)
    unusable: Fact | None = None
    closed: list[float] = field(default_factory=list)
    stranger: bool = False

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What the first lifespan and the server exchanged, with the requests meanwhile."""
        calls = self.log.of("called", type_="lifespan")
        if not calls:
            return ()
        first = calls[0]
        lines = [line for line in self.log if line.caller == first.caller]
        lines += [line for line in self.log.of("called") if line.type in REQUESTS]
        return entries(lines, first.time)


class Player:
    """Play one case with a process, and write into an observation.  `cancelled` ends all waits.

    A wait during which things happen ends after twice the timeout, or once the server has started
    anew so often that it would go on for ever.
    """

    def __init__(
        self, process: ServerProcess, seen: ServerObservation, cancelled: threading.Event
    ) -> None:
        self.process = process
        self.seen = seen
        self.case = seen.case
        self.timeout = seen.timeout
        self.cancelled = cancelled
        if any(action.verb == "hang" for action in self.case.script):
            # the server that waits for ever is the usual one, and there is no more to be seen
            seen.timeout = min(self.timeout, HANGING)
        process.cancelled = cancelled
        self.clients: list[threading.Thread] = []
        self.in_vain = False

    def play(self) -> ServerObservation:
        """Play the case to its end; raise Unchecked if that is not possible."""
        seen, process = self.seen, self.process
        with ExitStack() as stack:
            if self.case.meanwhile[0].verb == "occupy":
                with suppress(OSError):  # another program has taken it
                    stack.enter_context(socket.create_server(("127.0.0.1", process.port)))
            stack.enter_context(process)
            stack.callback(process.client.close)
            seen.last_action = time.monotonic()
            for action in self.case.meanwhile:
                if self.called or not self.in_vain:
                    self.do(action)
            self.await_end()
            if not self.called:  # it may have left a daemon, of which this knows nothing
                seen.left_running = process.left_running()
            process.end()  # first: it ends the requests that the clients still wait for
            for client in self.clients:
                client.join(HOLD)
            seen.log, seen.output = process.log(), process.output
            seen.stranger = process.met_another
        return seen

    @property
    def called(self) -> bool:
        """Whether the server has called the application."""
        return any(line.call for line in self.process.log())

    @property
    def running(self) -> bool:
        """Whether the process still runs, and the check goes on."""
        return self.process.status is None and not self.cancelled.is_set()

    def patiently(self, done: Callable[[], object]) -> None:
        """Wait until something is done, as long as the server runs and things happen.

        After one wait in vain there is no other.
        """
        lines = 0
        begun = last = time.monotonic()  # when the first line came, and the last one
        while not done() and self.running and not self.in_vain:
            now = time.monotonic()
            before, lines = lines, len(self.process.log())
            if before == 0:  # the time until the first line is that of the import
                begun = now
            if lines != before:
                last = now
            self.in_vain = self.is_over(silent=now - last, busy=now - begun, called=lines > 0)
            time.sleep(LOOK_AT_LOG_EVERY)

    def is_over(self, *, silent: float, busy: float, called: bool) -> bool:
        """Tell whether a wait is in vain after so many seconds without a line, and with some."""
        limit = START_LIMIT
        if called:
            limit = self.timeout
        if silent > limit:
            return True
        return busy > 2 * self.timeout or self.restarts

    @property
    def restarts(self) -> bool:
        """Whether the server starts processes again and again, each with a lifespan."""
        return len(self.started) > self.case.workers + RESTARTS

    @property
    def started(self) -> set[int]:
        """The processes that have called the application with a lifespan scope."""
        return {line.pid for line in self.process.log().of("called", type_="lifespan")}

    def outlive(self, seconds: float) -> None:
        """Wait for the end of the process, for at most so many seconds."""
        until(lambda: not self.running, seconds)

    def await_end(self) -> None:
        """Wait for the end of the process if it was stopped, or is to end by itself."""
        seen = self.seen
        seen.last_action = time.monotonic()
        if not seen.stopped and self.served:  # it serves on
            seen.timeout = min(seen.timeout, HANGING)
        has_waited = self.case.meanwhile[-1].verb == "wait"
        if not has_waited and (seen.stopped or not self.in_vain):
            self.outlive(seen.timeout)
        seen.status = self.process.status
        if seen.status is not None:
            seen.ended = time.monotonic()

    @property
    def served(self) -> bool:
        """Whether the application has answered a request."""
        return any(answer.body for answer in self.seen.answers)

    # ---- the verbs of `meanwhile` --------------------------------------------------------------

    def do(self, action: Action) -> None:  # noqa: C901, PLR0912  a branch for each verb
        """Do what a line of `meanwhile` says."""
        match action.verb:
            case "request":
                self.request(action)
            case "keep" | "websocket":
                self.connect(action)
            case "traffic":
                self.traffic()
            case "open":
                self.open(action)
            case "knock":
                self.seen.knocks.append(self.process.client.knock(BRIEF))
            case "release":
                self.process.release()
            case "until":
                self.patiently(lambda: self.noted(action.text))
            case "go":
                self.process.go()
            case "wait":
                self.outlive(action.seconds)
            case "stop" | "stop-all":
                self.signal(signal.SIGTERM, to_all=action.verb == "stop-all")
            case "interrupt":
                self.signal(signal.SIGINT)
            case "workers":
                self.patiently(lambda: len(self.started) >= self.case.workers)
            case _:  # "occupy", which was done before the start
                pass

    def request(self, action: Action) -> None:
        """Request a path until it is answered; the first request waits for the server's start."""
        # a server that starts may take a connection and never answer on it
        limit = self.timeout if self.served and not self.in_vain else BRIEF
        answers: list[Reply] = []

        def answered() -> bool:
            answers.append(self.process.client.request(action.text, limit))
            return answers[-1].body is not None

        self.patiently(answered)
        self.seen.answers.append(answers[-1])

    def connect(self, action: Action) -> None:
        """Request a path on the connection that stays open, or on a WebSocket."""
        client = self.process.client
        request = client.keep if action.verb == "keep" else client.websocket
        if not self.seen.unusable:
            try:
                self.seen.answers.append(request(action.text, self.timeout))
            except Unusable as unusable:
                self.seen.unusable = unusable.fact

    def traffic(self) -> None:
        """Send requests for a second, answered or not."""

        def ended() -> bool:
            self.process.client.request("/", BRIEF)
            return not self.running

        until(ended, BRIEF)

    def open(self, action: Action) -> None:
        """Send a request, and wait until the application holds it."""

        def hold() -> None:
            self.process.client.request(action.text, HOLD)
            self.seen.closed.append(time.monotonic())

        client = threading.Thread(target=hold)
        client.start()
        self.clients.append(client)
        self.patiently(lambda: self.noted("holds"))

    def noted(self, words: str) -> bool:
        """Return whether the log has a line of this kind, perhaps followed by its type."""
        for line in self.process.log():
            if words in (line.kind, f"{line.kind} {line.type}"):
                return True
        return False

    def signal(self, number: signal.Signals, *, to_all: bool = False) -> None:
        """Send a signal, if the process still runs."""
        if self.process.status is None:
            # a connection that is open would let a server wait for its client, as it may
            self.process.client.close()
            self.seen.stopped = time.monotonic()
            self.process.send(number, to_all=to_all)
