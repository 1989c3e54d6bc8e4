"""A command of the user's that a check starts, with all that it starts itself."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from lifespec.conformance.finding import Unchecked
from lifespec.conformance.processes import (
    KILL_LIMIT,
    import_path,
    kill,
    kill_session,
    marked,
    until,
)
from lifespec.diagnosis.fact import fact


class Started:
    """A command in a session of its own, without input; `process` is what was started.

    Its Pythons import from `folder` first.  The variable `mark` has the folder's name: by that the
    processes are found that the command starts, in whatever session.  Raises Unchecked if there is
    no such program, or if it cannot be run.
    """

    def __init__(
        self,
        command: Sequence[str],
        mark: str,
        folder: Path,
        output: int | IO[Any],
        variables: Mapping[str, str],
    ) -> None:
        self.mark, self.folder = mark, folder
        own = {mark: str(folder), "PYTHONPATH": import_path(folder)}
        try:
            self.process = subprocess.Popen(
                command,
                env={**os.environ, **own, **variables},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,  # what it says last is in its order
                start_new_session=True,  # Ctrl-C is the check's, which ends it
            )
        except FileNotFoundError:
            raise Unchecked(fact("no-program", program=command[0])) from None
        except OSError as error:
            reason = error.strerror or str(error)
            raise Unchecked(fact("not-executable", program=command[0], error=reason)) from None

    def processes(self) -> set[int]:
        """Return the processes of the command that run; none without /proc."""
        return marked(self.mark, self.folder)

    def end(self) -> None:
        """End every process."""
        # what is being started has no mark yet: look again until nothing is left
        until(self._killed, KILL_LIMIT)
        self.process.wait(KILL_LIMIT)

    def _killed(self) -> bool:
        """Kill what runs; return whether nothing did."""
        kill_session(self.process.pid)
        self.process.poll()
        return not kill(self.processes())
