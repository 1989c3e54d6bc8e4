"""Requests to who listens on a port of this machine, for tests of real servers."""

import re
import signal
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from serving import Program

LIMIT = 60.0  # seconds; nothing takes ten


def answer(port: int) -> str | None:
    """Make a request; return the body, with the status of an error, or None if nobody answers."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"http://127.0.0.1:{port}/", timeout=LIMIT) as response:
            return str(response.read().decode())
    except urllib.error.HTTPError as error:
        return f"{error.code} {error.read().decode()}"
    except OSError:
        return None


def until(program: Program, pattern: str) -> re.Match[str]:
    """Wait for a line of the output; return what matched."""
    end = time.monotonic() + LIMIT
    while not (found := re.search(pattern, "\n".join(program.lines), re.MULTILINE)):
        if time.monotonic() > end or not program.reader.is_alive():
            raise TimeoutError(f"{pattern!r} is not in: {program.lines}")
        time.sleep(0.02)
    return found


def ended(program: Program, *signals: signal.Signals) -> str:
    """Send signals, one after the other, and wait for the end; return the whole output."""
    for each in signals:
        program.process.send_signal(each)
    program.process.wait(LIMIT)
    program.reader.join(LIMIT)
    return "\n".join(program.lines) + "\n"


def served(
    command: Sequence[str], place: Path, port: int, *, shows: str = "", **environment: str
) -> tuple[str | None, str]:
    """Run a server until it answers and shows something, then stop it; return answer and log."""
    with Program(command, place, PYTHONUNBUFFERED="1", **environment) as program:
        body, end = None, time.monotonic() + LIMIT
        while body is None and not program.over and time.monotonic() < end:
            time.sleep(0.1)
            body = answer(port)
        second = time.monotonic() + 1  # in which an application can crash
        while shows not in "\n".join(program.lines) and time.monotonic() < second:
            time.sleep(0.1)
        return body, ended(program, signal.SIGTERM)


def uvicorn(folder: Path, *arguments: str, **environment: str) -> Program:
    """Run uvicorn in the folder, on a free port, which it logs."""
    command = [sys.executable, "-m", "uvicorn", *arguments, "--host", "127.0.0.1", "--port", "0"]
    return Program(command, folder, PYTHONUNBUFFERED="1", **environment)
