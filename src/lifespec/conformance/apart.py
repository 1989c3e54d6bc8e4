"""Puts a target on trial case by case, each in a process of its own.

So no case spoils the next, and nothing that a target does to its process does harm here: it may
exit, hang, print, crash.  That process is this module run as a program: it finds the target, plays
the case, and writes a line of JSON for each of the two steps into a file.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lifespec.conformance import applications, cases, judging, middleware, targets
from lifespec.conformance.applications import Trial
from lifespec.conformance.findings import Finding, Report
from lifespec.conformance.judging import Usual
from lifespec.conformance.pipe import Pipe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lifespec.conformance.cases import Case
    from lifespec.conformance.vocabulary import Party

__all__ = ["Job", "check", "main"]

SPARE = 30.0  # seconds for a process, beside the limits of what it does


@dataclass(frozen=True, slots=True)
class Job:
    """What is put on trial: see the options of `lifespec check app`.

    Where there is a `pipe`, that command is the application, and `target` no more than its name.
    """

    party: Party
    target: str
    dialect: str = "asgi 2.0"
    factory: bool = False
    limit: float = applications.LIMIT
    pipe: tuple[str, ...] = ()

    def cases(self) -> list[Case]:
        """Return the cases of the trial, the one that says what is usual before the others."""
        trials = applications.trials if self.party == "application" else middleware.trials
        return trials(self.dialect)


def check(job: Job, tell: Callable[[], object] = lambda: None) -> Report:
    """Put a target on trial; raise Unchecked where it cannot be.  `tell` is called after a case."""
    first, *others = job.cases()
    usual_trial, real = _tried(job, first, None, real=bool(job.pipe))
    tell()
    usual = usual_trial.usual if job.party == "application" else None

    def tried(case: Case) -> Trial:
        reason = applications.left_out(case, usual)
        if reason:
            found = Trial(tuple(judging.without(case, job.dialect, *reason)), usual_trial.usual)
        else:
            found, _ = _tried(job, case, usual, real=real)
        tell()
        return found

    pool = ThreadPoolExecutor(os.cpu_count())
    try:
        trials = [usual_trial, *pool.map(tried, others)]
    except BaseException:  # where one cannot be checked, or who asked has gone, none goes on
        pool.shutdown(wait=False, cancel_futures=True)
        for process in tuple(_RUNNING):
            _kill(process)
        raise
    finally:
        pool.shutdown()
    findings = tuple(finding for each in trials for finding in each.findings)
    found = Report(job.target, job.dialect, findings, applications.note_on(findings))
    return judging.concluded(found, usual) if usual else found


def _tried(job: Job, case: Case, usual: Usual | None, *, real: bool) -> tuple[Trial, bool]:
    """Try a case, again in real time where the virtual clock left a doubt."""
    found = _apart(job, case, usual, real=real)
    if not found.doubt or real:
        return found, real
    return _apart(job, case, usual, real=True), True


def _apart(job: Job, case: Case, usual: Usual | None, *, real: bool) -> Trial:
    """Try a case in a process of its own, which is ended whatever it does."""
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder, "told")
        work = {"case": case.name, "usual": usual, "real": real, **asdict(job)}
        process = subprocess.Popen(  # noqa: S603  this very module
            [sys.executable, *_FLAGS, "-c", _PROGRAM, str(told), json.dumps(work)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        _RUNNING.add(process)
        end = _ended(process, job.limit * 6 + SPARE)
        _RUNNING.discard(process)
        written = told.read_text("utf-8") if told.exists() else ""
        *steps, _ = written.split("\n")  # a line that was cut short is none
    return _read(job, case, steps, end)


_RUNNING: set[subprocess.Popen[bytes]] = set()
_FLAGS = ["-O"] * sys.flags.optimize
_PROGRAM = f"""
import os, sys
from {__name__} import main
main(*sys.argv[1:])
os._exit(0)  # threads that the target left behind are not waited for
"""


def _ended(process: subprocess.Popen[bytes], seconds: float) -> str:
    """Wait for a process, end it and all that it started; say how it ended."""
    try:
        status = process.wait(seconds)
    except subprocess.TimeoutExpired:
        return f"the process had not ended after {seconds:g} s"
    else:
        how = f"with status {status}" if status >= 0 else f"by signal {-status}"
        return f"the process ended {how}"
    finally:
        _kill(process)
        process.wait()


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a process, and what it started in its session."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _read(job: Job, case: Case, steps: Sequence[str], end: str) -> Trial:
    """Read what a process wrote about a case, or what its end says about it."""
    if not steps:
        raise cases.Unchecked(
            f"{job.target} cannot be imported: {end}; make `python -c 'import"
            f" {job.target.partition(':')[0]}'` work first"
        )
    last = json.loads(steps[-1])
    if "unchecked" in last:
        raise cases.Unchecked(last["unchecked"])
    if "findings" in last:
        found = tuple(map(Finding.read, last["findings"]))
        return Trial(found, Usual(*last["usual"]), last["doubt"])
    return Trial(tuple(_after(case, job.dialect, end)), Usual("exited", ""))


def _after(case: Case, dialect: str, end: str) -> Iterator[Finding]:
    """Yield the findings of a case in which the target ended its process."""
    for each in judging.expected(case, dialect):
        how: judging.How = "broken" if each.phrase == "no exit" else "skip"
        told = judging.Told(how, f"T{end[1:]}.")
        yield judging.finding(case, dialect, each, told)


# ---- the process -------------------------------------------------------------------------------


def main(told: str, work: str) -> None:
    """Do the work in this process, and write a line of JSON for each step."""
    job = json.loads(work)
    with Path(told).open("w", encoding="utf-8", buffering=1) as file:

        def tell(**step: Any) -> None:
            file.write(f"{json.dumps(step)}\n")

        try:
            with _subject(job) as subject:
                tell(found=repr(subject))
                trial = _played(subject, job)
        except cases.Unchecked as error:
            tell(unchecked=str(error))
        else:
            findings = [asdict(finding) for finding in trial.findings]
            tell(findings=findings, usual=trial.usual, doubt=trial.doubt)


@contextmanager
def _subject(job: dict[str, Any]) -> Iterator[Any]:
    """Find the target, or start the program and end it."""
    if job["pipe"]:
        with Pipe(job["pipe"], job["limit"]) as app:
            yield app
            if app.fault:
                raise cases.Unchecked(app.fault)
    else:
        yield targets.find(job["target"], factory=job["factory"], limit=job["limit"])


def _played(subject: Any, job: dict[str, Any]) -> Trial:
    case = next(case for case in cases.load() if case.name == job["case"])
    dialect, limits = job["dialect"], {"limit": job["limit"], "real": job["real"]}
    try:
        if case.party == "middleware":
            return middleware.trial(subject, case, dialect, **limits)
        usual = Usual(*job["usual"]) if job["usual"] else None
        own = job["target"].partition(":")[0].partition(".")[0]
        return applications.trial(subject, case, dialect, usual, own=own, **limits)
    except cases.Unchecked as error:
        raise cases.Unchecked(f"{job['target']}: {error}") from None
