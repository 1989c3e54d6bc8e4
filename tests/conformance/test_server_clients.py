"""Drivers are checked by name; what is no affair of theirs is left out, with a sentence."""

import re
import sys

import pytest

from lifespec.conformance import cases
from lifespec.conformance.cases import Unchecked
from lifespec.conformance.rules import rules
from lifespec.conformance.server import check as server_check
from lifespec.conformance.server import client_host, clients
from lifespec.conformance.server.messages import Delivered
from lifespec.conformance.server.process import Subject

__all__: list[str] = []


def test_the_test_client_of_starlette() -> None:
    """It raises what a server lives with; what is no affair of its is left out."""
    only = server_check.chosen(["raises-on-the-scope", "state", "port-in-use"])
    report = server_check.check(clients.job("starlette", limit=4.0), only)
    assert report.subject == "starlette"
    verdicts = {each.rule: (each.verdict, each.actual) for each in report.findings}
    assert verdicts["unsupported-by-raising"] == (
        "info",
        "It raised to the caller: lifespec_probe.Failure: no lifespan here",
    )
    assert verdicts["state-shallow-copy"][0] == "pass"
    assert verdicts["shutdown-sent"] == ("skip", "A test client or adapter listens on no port.")


@pytest.mark.parametrize("name", clients.DRIVERS)
def test_a_driver_is_checked_by_its_newest_specification(name: str) -> None:
    """Run by the Python that is given; what is left out are cases and rules."""
    job = clients.job(name, python="python3")
    asgi = client_host.HOSTED[name].protocol == "asgi"
    assert (job.spec, job.begins) == (("asgi 2.0", Subject) if asgi else ("amgi 2.0", Delivered))
    assert job.command[:4] == ("python3", "-m", "lifespec.conformance.server.client_host", name)
    known = {case.name for case in cases.load()} | {*rules()}
    assert set(job.beside) <= known
    assert clients.job(name).command[0] == sys.executable


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("starlet",), "there is no driver 'starlet': did you mean starlette?"),
        (("starlette", "amgi 2.0"), "starlette is a driver of asgi, not of amgi 2.0"),
        (("amgi-common", "amgi 1.0"), "the suite has no messages of amgi 1.0: name amgi 2.0"),
    ],
)
def test_what_cannot_be_checked(arguments: tuple[str, ...], sentence: str) -> None:
    """A sentence says what can."""
    with pytest.raises(Unchecked, match=re.escape(sentence)):
        clients.job(*arguments)
