"""Plays every case to every wrong server, and ten times to the reference; some minutes.

    python tests/mutants/play.py [RULE...]

Exit status 0: the suite has named each mutant's rule, what it implies, and no other; and the
verdicts on the reference were the same ten times.
"""

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from lifespec.conformance.cases import Case
from lifespec.conformance.rules import rules
from lifespec.conformance.server import check as server_check
from lifespec.conformance.server.check import ServerCheck
from servers import BEFORE, MUTANTS

__all__ = ["NOT_SPECIFIED", "REFERENCE", "faults", "job", "named"]

REFERENCE = Path(__file__).parents[2] / "docs" / "programs" / "serve.py"
FAULTS = ("fail", "warn", "info")
NOT_SPECIFIED = "system-exit-on-the-scope"  # the reference ends with it, and so may all
LIMIT = 5.0  # seconds that these servers may do nothing: they are small


def job(program: Path, spec: str = "asgi 2.0") -> ServerCheck:
    """Return what is checked; those that were made servers of another text have workers."""
    command = (sys.executable, str(program), "{app}", "--port", "{port}")
    workers = ("--workers", "{workers}") if spec in BEFORE else ()
    return ServerCheck((*command, *workers), spec, limit=LIMIT)


def faults(program: Path, cases: Sequence[Case], spec: str = "asgi 2.0") -> set[str]:
    """Return the rules that the suite finds broken."""
    found = server_check.check(job(program, spec), cases).findings
    return {each.rule for each in found if each.verdict in FAULTS and each.case != NOT_SPECIFIED}


def named(rule_id: str) -> set[str]:
    """Return a rule and what it implies."""
    return {rule_id, *rules()[rule_id].implies}


def tried(rule_id: str) -> bool:
    """Play all cases to a mutant, and tell."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        mutant = MUTANTS[rule_id]
        found = faults(mutant.written(Path(folder)), server_check.chosen(), mutant.spec)
    right = rule_id in found and found <= named(rule_id)
    seconds = time.monotonic() - began
    print(
        f"{'right' if right else 'WRONG'} {rule_id:28} {seconds:5.0f} s  {', '.join(sorted(found))}"
    )
    return right


def main(rule_ids: Sequence[str]) -> int:
    """Try the mutants, and where all were wanted the reference."""
    right = [tried(rule_id) for rule_id in rule_ids or MUTANTS]
    if not rule_ids:
        runs = [server_check.check(job(REFERENCE), server_check.chosen()) for _ in range(10)]
        verdicts = {
            tuple((each.case, each.rule, each.verdict) for each in run.findings) for run in runs
        }
        print(f"the reference, ten times: {len(verdicts)} result(s)")
        right.append(len(verdicts) == 1)
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
