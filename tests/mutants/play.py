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

from lifespec.conformance.cases import Case, rules
from lifespec.conformance.server import check as server_check
from lifespec.conformance.server.check import Job
from servers import BEFORE, MUTANTS

__all__ = ["NOT_SPECIFIED", "REFERENCE", "faults", "job", "named"]

REFERENCE = Path(__file__).parents[2] / "docs" / "programs" / "serve.py"
FAULTS = ("fail", "warn", "info")
NOT_SPECIFIED = "system-exit-on-the-scope"  # the reference ends with it, and so may all
LIMIT = 5.0  # seconds that these servers may do nothing: they are small


def job(program: Path, dialect: str = "asgi 2.0") -> Job:
    """Return what is put on trial; those that were made servers of another text have workers."""
    command = (sys.executable, str(program), "{app}", "--port", "{port}")
    workers = ("--workers", "{workers}") if dialect in BEFORE else ()
    return Job((*command, *workers), dialect, limit=LIMIT)


def faults(program: Path, cases: Sequence[Case], dialect: str = "asgi 2.0") -> set[str]:
    """Return the rules that the suite finds broken."""
    found = server_check.check(job(program, dialect), cases).findings
    return {each.slug for each in found if each.verdict in FAULTS and each.case != NOT_SPECIFIED}


def named(slug: str) -> set[str]:
    """Return a rule and what it implies."""
    return {slug, *rules()[slug].implies}


def tried(slug: str) -> bool:
    """Play all cases to a mutant, and tell."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        mutant = MUTANTS[slug]
        found = faults(mutant.written(Path(folder)), server_check.chosen(), mutant.dialect)
    right = slug in found and found <= named(slug)
    seconds = time.monotonic() - began
    print(f"{'right' if right else 'WRONG'} {slug:28} {seconds:5.0f} s  {', '.join(sorted(found))}")
    return right


def main(slugs: Sequence[str]) -> int:
    """Try the mutants, and where all were wanted the reference."""
    right = [tried(slug) for slug in slugs or MUTANTS]
    if not slugs:
        runs = [server_check.check(job(REFERENCE), server_check.chosen()) for _ in range(10)]
        verdicts = {
            tuple((each.case, each.slug, each.verdict) for each in run.findings) for run in runs
        }
        print(f"the reference, ten times: {len(verdicts)} result(s)")
        right.append(len(verdicts) == 1)
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
