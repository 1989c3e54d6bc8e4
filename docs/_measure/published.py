"""What lifespec says of applications of others by their own commands, a record of docs/matrix.

    python docs/_measure/published.py FILE [NAME...]

Each has an environment of its own, which is made if it is missing.  It is checked by its command,
and watched from its start over three requests to SIGINT.  published.toml says how each
statement was read beside the application's source; else it is "unread".
"""

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from environments import Needs
from records import Row, measure, table, versions
from serving import free_port

APPLICATIONS = table("published")
CHECK, START, STOP = 400.0, 150.0, 30.0  # seconds
PLAIN = ("starts", "stops", "rules")  # what each report says


@contextlib.contextmanager
def prepared(folder: Path, name: str) -> Iterator[tuple[Path, dict[str, str], list[str], int]]:
    """Yield a folder with the files of an application, the environment, its command, its port."""
    row, port = APPLICATIONS[name], free_port()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as here:
        for file, text in row.get("files", {}).items():
            Path(here, file).write_text(text.lstrip(), "utf-8")
        path = f"{folder / 'bin'}:{os.environ['PATH']}"
        variables = {**os.environ, "PATH": path, "HOME": here}
        variables.pop("PYTHONPATH", None)
        yield Path(here), variables, shlex.split(row["command"].format(port=port)), port


def check(folder: Path, name: str) -> Row:
    """Check an application by its command; return how it went and what was said."""
    with prepared(folder, name) as (here, variables, command, _port):
        report = here / "report.json"
        options = ["--timeout", "120", "--json", str(report), "--language", "en"]
        lifespec = [sys.executable, "-m", "lifespec", "check", "app", *options, "--", *command]
        began = time.monotonic()
        subprocess.run(lifespec, cwd=here, env=variables, capture_output=True, timeout=CHECK)
        if not report.exists():
            raise RuntimeError("no report")
        told = json.loads(report.read_text("utf-8"))
    rows = [f"{row['label']}: {row['says']}" for row in told["rows"]]
    says = [row for row in rows if row not in ("starts: yes", "stops: yes")]
    broken = [row["id"] for row in told["rules"] if row["verdict"] in ("fail", "warn")]
    frameworks = {each["rule"] for each in told["findings"] if each["framework"]}
    says += [f"rules: 1 missed: {rule}" for rule in broken if rule not in frameworks]
    return {
        "status": told["status"],
        "seconds": round(time.monotonic() - began, 1),
        "application": told["subject"]["name"].rpartition(": ")[2],
        "says": says,
    }


def answers(port: int) -> bool:
    """Tell whether a request to a port is answered."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5):
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False


def watch(folder: Path, name: str) -> list[str]:
    """Watch an application from its start over three requests to SIGINT; return what was said."""
    with prepared(folder, name) as (here, variables, command, port):
        file = here / "watched.json"
        options = ["--json", str(file), "--language", "en"]
        lifespec = [sys.executable, "-m", "lifespec", "watch", *options, "--", *command]
        process = subprocess.Popen(
            lifespec,
            cwd=here,
            env=variables,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            end = time.monotonic() + START
            while not answers(port) and time.monotonic() < end and process.poll() is None:
                time.sleep(0.5)
            for _ in range(2):
                answers(port)
            os.killpg(process.pid, signal.SIGINT)
            process.wait(STOP)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return [json.loads(line)["says"] for line in file.read_text("utf-8").splitlines()]


def row(folder: Path, name: str) -> Row:
    """Measure an application: what was said of it, and how each statement was read."""
    checked, watched = check(folder, name), watch(folder, name)
    read: dict[str, str] = APPLICATIONS[name].get("read", {})
    statements = []
    for says in [*checked.pop("says"), *(f"watch: {line}" for line in watched)]:
        found = [reading for begin, reading in read.items() if says.startswith(begin)]
        statements.append({"says": says, "read": found[0] if found else usual(says)})
    package = APPLICATIONS[name]["packages"][0].partition("[")[0]
    about: dict[str, Any] = {"version": versions(folder, [package])[package], **checked}
    about["statements"] = statements
    return {"name": name, **about}


def usual(says: str) -> str:
    """Return "time" for a statement that only says how long a phase took, which nobody reads."""
    begins = ("starts: yes, in ", "stops: yes, in ", "watch: started in ")
    return "time" if says.startswith(begins) else "unread"


if __name__ == "__main__":
    needs = {
        name: Needs("applications", [name], about["packages"])
        for name, about in APPLICATIONS.items()
    }
    sys.exit(measure(sys.argv[1:], needs, row))
