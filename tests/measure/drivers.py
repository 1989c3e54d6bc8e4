"""Drivers under test: test clients and adapters, which start an application without a server.

`target(NAME)` is what `lifespec.conformance.server.check.check` takes; client_host.py puts the
driver behind a port.
"""

import itertools
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from client_host import DRIVERS, RAISED

from lifespec.conformance.report import Fact, Outcome, fact
from lifespec.conformance.server.check import Target
from lifespec.conformance.server.client import Answer, Knock
from lifespec.conformance.server.judge import Judge, NotJudged, short, words
from lifespec.conformance.server.process import Process, until

__all__ = ["CHINESE", "DRIVERS", "Delivered", "Measured", "target"]

HOST = str(Path(__file__).with_name("client_host.py"))
SPECS = {"asgi": "asgi 2.0", "amgi": "amgi 2.0"}
NOT_APPLICABLE = {
    "interrupted": "A test client or adapter gets no signal.",
    **dict.fromkeys(
        ("hangs-at-startup", "stopped-after-a-failed-start"),
        "A test client is not told to stop while it starts.",
    ),
    "port-in-use": "A test client or adapter listens on no port.",
    **dict.fromkeys(
        (
            "two-workers",
            "two-workers-failed",
            "two-workers-failed-with-empty-message",
            "two-workers-failed-without-message",
            "two-workers-shutdown-failed",
        ),
        "A test client or adapter runs in one process.",
    ),
    **dict.fromkeys(
        ("state-on-one-connection", "state-on-a-websocket"),
        "A test client or adapter has no connections.",
    ),
    "request-in-flight": "The caller waits for the response before it ends the lifespan.",
    "shutdown-after-serving": "The caller makes the requests and decides when they end.",
}
OF_EACH: Mapping[str, Mapping[str, str]] = {
    "amgi-common": {"state-shallow-copy": "The servers that use it copy the state."},
    "mangum": dict.fromkeys(
        (
            "slow-start",
            "very-slow-start",
            "slow-shutdown",
            "very-slow-shutdown",
            "crashes-while-serving",
            "returns-while-serving",
            "fails-while-serving",
            "sends-after-its-end",
            "state-set-while-serving",
            "state-shallow-copy",
        ),
        "Each request has a lifespan of its own, which ends with it.",
    ),
}
CHINESE = {  # of the reasons above and of those in brokers.py
    "A test client is not told to stop while it starts.": "测试客户端启动期间不会收到停止请求。",
    "A test client or adapter gets no signal.": "测试客户端和适配器收不到信号。",
    "A test client or adapter has no connections.": "测试客户端和适配器没有连接。",
    "A test client or adapter listens on no port.": "测试客户端和适配器不监听端口。",
    "A test client or adapter runs in one process.": "测试客户端和适配器在一个进程中运行。",
    "Each request has a lifespan of its own, which ends with it.": (
        "每个请求有自己的 lifespan，随请求结束。"
    ),
    "The caller makes the requests and decides when they end.": (
        "请求由调用方发出，何时结束也由它决定。"
    ),
    "The caller waits for the response before it ends the lifespan.": (
        "调用方等到响应之后才结束 lifespan。"
    ),
    "The port is the broker's: the server listens on none.": "端口属于消息代理，服务器不监听端口。",
    "The servers that use it copy the state.": "状态由使用它的服务器拷贝。",
}


class DriverJudge(Judge):
    """Judges a driver, which raises to the code that uses it; no specification speaks of that."""

    @property
    def raised(self) -> str:
        """The exception that left the driver, or ""."""
        last = next(reversed([*words(self.seen.output)]), "an exception")
        return short(last) if self.seen.status == RAISED else ""

    @property
    def way(self) -> Fact:
        """In which way the driver ended."""
        return fact("raised-to-caller" if self.raised else "ended")

    @property
    def end(self) -> Fact:
        """How the driver ended."""
        if self.seen.ended is None:
            return fact("client-remained", seconds=self.seen.timeout)
        return super().end

    def served(self) -> Outcome:
        """Return whether it was served."""
        found = super().served()
        if found.how == "broken" and self.raised:
            return Outcome("unspecified", fact("to-caller", text=self.raised))
        return found

    def sent(self, line: dict[str, Any]) -> Fact:
        """Return what became of an event."""
        if line["kind"] == "sent" and self.raised:
            return fact("send-returned-to-caller", text=self.raised)
        return super().sent(line)

    def refused(self) -> Outcome:
        """Return whether an event was refused."""
        found = super().refused()
        return found._replace(how="unspecified") if found.how == "broken" and self.raised else found

    def exit_status(self) -> Outcome:
        """Raise NotJudged: a driver has none of its own."""
        self.finished()
        raise NotJudged(fact("no-exit-status"))


class Delivered(Process):
    """A process whose application gets messages, not requests.

    The payload of a message is a path, and a number after "?".  The probe notes that number when it
    answers, so it does not matter which way answers take.
    """

    def __init__(self, command: Sequence[str], script: list[Any], workers: int = 1) -> None:
        super().__init__(command, script, workers)
        self.numbers = itertools.count(1)

    def deliver(self, message: str, limit: float) -> bool:
        """Let a message come to the process; return whether there is a way to it."""
        super().request(message, limit)
        return True

    def request(self, path: str, limit: float) -> Answer:
        """Let a message come; its answer is what the probe noted in time, or none."""
        sent, number = time.monotonic(), f"{next(self.numbers)}"
        if self.deliver(f"{path}?{number}", limit):
            until(lambda: self.noted(number) or self.over, limit)
        found = self.noted(number)
        return Answer(path, sent, found[0]["body"] if found else None)

    def knock(self, _limit: float) -> Knock | None:
        """Connect to no port: it has none."""
        return None

    @property
    def over(self) -> bool:
        """Whether no answer can come any more, or none is awaited."""
        return self.status is not None or self.cancelled.is_set()

    def noted(self, number: str) -> list[dict[str, Any]]:
        """Return the lines that say that a message was answered."""
        rows = (line for line in self.lines() if line["kind"] == "answered")
        return [line for line in rows if line["query"] == [number]]


@dataclass(frozen=True)
class Measured(Target):
    """A subject that is no server with a port: its title, and why cases and rules do not apply."""

    title: str = ""
    reasons: Mapping[str, str] = field(default_factory=dict)

    @property
    def subject(self) -> str:
        """Its title, or the command."""
        return self.title or super().subject

    def not_applicable(self, name: str) -> Fact | None:
        """Return why a case or a rule does not apply to it; None if it does."""
        text = self.reasons.get(name)
        return fact("text", text=text) if text else super().not_applicable(name)


class DriverTarget(Measured):
    """A driver of ASGI."""

    judge = DriverJudge


class DeliveredTarget(DriverTarget):
    """A driver of AMGI."""

    process = Delivered


def target(name: str, python: str = sys.executable) -> Target:
    """Return a driver as what can be checked, run by a Python that has it."""
    protocol = DRIVERS[name].protocol
    kind = DeliveredTarget if protocol == "amgi" else DriverTarget
    reasons = {**NOT_APPLICABLE, **OF_EACH.get(name, {})}
    command = (python, HOST, name, "{app}", "{port}")
    return kind(command, SPECS[protocol], title=name, reasons=reasons)
