"""Plays every case to every wrong server, and ten times to the reference; some minutes.

    python tests/mutants/play.py [RULE...]

Exit status 0: the suite has named each mutant's rule, what it implies, and no other; and the
verdicts on the reference were the same ten times.
"""

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from lifespec.conformance.cases import Case
from lifespec.conformance.rules import rules
from lifespec.conformance.server.check import Target, check, chosen
from servers import MUTANTS, command

__all__ = ["NOT_SPECIFIED", "REFERENCE", "faults", "named", "target"]

PROGRAM = Path(__file__).parents[2] / "docs" / "programs" / "serve.py"
REFERENCE = (sys.executable, str(PROGRAM), "{app}", "--port", "{port}")
FAULTS = ("fail", "warn", "info")
NOT_SPECIFIED = "system-exit-on-the-scope"  # the reference ends with it, and so may all
LIMIT = 5.0  # seconds that these servers may do nothing: they are small


def target(name: str, *options: str) -> Target:
    """Return a wrong server as what can be checked."""
    return Target((*command(name), *options), timeout=LIMIT)


def faults(name: str, cases: Sequence[Case]) -> set[str]:
    """Return the rules that the suite finds broken by a wrong server."""
    found = check(target(name), cases).findings
    return {each.rule for each in found if each.verdict in FAULTS and each.case != NOT_SPECIFIED}


def named(rule_id: str) -> set[str]:
    """Return a rule and what it implies."""
    return {rule_id, *rules()[rule_id].implies}


def tried(rule_id: str) -> bool:
    """Play all cases to a mutant, and tell."""
    began = time.monotonic()
    found = faults(rule_id, chosen())
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
        reference = Target(REFERENCE, timeout=LIMIT)
        runs = [check(reference, chosen()) for _ in range(10)]
        verdicts = {
            tuple((each.case, each.rule, each.verdict) for each in run.findings) for run in runs
        }
        print(f"the reference, ten times: {len(verdicts)} result(s)")
        right.append(len(verdicts) == 1)
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
