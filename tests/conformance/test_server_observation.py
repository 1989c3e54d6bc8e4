"""What was seen in a case can be asked for: lines by kind, the first, how all ended."""

from typing import Any

import pytest

from lifespec.conformance.server.observation import RAISED, Beside, own_words, short
from sights import line, saw

__all__: list[str] = []

CALLED = "called lifespan"


def test_the_first_is_so_by_the_clock() -> None:
    """Lines of several processes need not come in order."""
    late, early = line("received a", 7), line("received a", 5)
    assert saw("well-behaved", CALLED, late, early).first("received", "a")["time"] == 5


def test_what_did_not_happen_says_how_far_it_came() -> None:
    """Where something is missing, the last of the application is told; not what imports say."""
    seen = saw("well-behaved", CALLED, "plays receive", "imported  call=0")
    with pytest.raises(Beside) as told:
        seen.first("received")
    sentence = 'The application has not come so far: the last of it is "plays receive".'
    assert str(told.value) == sentence


GROUP = """\
INFO: starting
  + Exception Group Traceback (most recent call last):
  |   File "/a/hypercorn/run.py", line 9, in serve
  |     async with trio.open_nursery() as lifespan_nursery:
  |                ^^^^^^^^^^^^^^^^^^^^
  | ExceptionGroup: a group (1 sub-exception)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/a/hosts.py", line 87, in _asgi_lifespan
    |     await lifespan()
    | KeyError: 'message'
    +------------------------------------
Traceback (most recent call last):
  File "/a/b.py", line 2, in lifespan
    raise Failure("lifespan")
b.Failure: burst
goodbye
"""


def test_of_a_traceback_only_the_exception_counts() -> None:
    """Files, functions, lines of code and what is drawn around them are no words of a server."""
    assert [word.strip(" |") for word in own_words(GROUP)] == [
        "INFO: starting",
        "ExceptionGroup: a group (1 sub-exception)",
        "+-+---------------- 1 ----------------",
        "KeyError: 'message'",
        "b.Failure: burst",
        "goodbye",
    ]


def test_what_was_raised_to_the_caller() -> None:
    """By a test client alone, and told by its exit status."""
    facts: dict[str, Any] = {"output": "a\nKeyError: 1\n", "status": RAISED}
    assert saw("state", client=True, **facts).to_caller == "KeyError: 1"
    assert saw("state", **facts).to_caller == ""
    assert saw("state", client=True, status=1).to_caller == ""
    assert saw("state", client=True, status=RAISED).to_caller == "an exception"


def test_the_last_step() -> None:
    """It is named where it was not reached."""
    saw("returns-on-the-scope", CALLED, "plays return").finished()
    with pytest.raises(Beside, match=r'Step 1, "return", was not reached\. The app'):
        saw("returns-on-the-scope", CALLED).finished()


def test_without_a_call_nothing_happened() -> None:
    """A server that calls for requests only is told as that."""
    with pytest.raises(Beside, match="was not called with the scope of a lifespan"):
        assert saw("well-behaved", "called http").lifespans


@pytest.mark.parametrize(
    ("status", "stopped", "ended", "words"),
    [
        (None, 1.0, None, "the process was still there 10 s later"),
        (3, None, 5.0, "the process ended with status 3"),
        (0, 1.0, 5.25, "the process ended with status 0 after 3.2 s"),
        (-15, 1.0, 1.9, "the process ended by signal 15 after 0.0 s"),
    ],
)
def test_the_end_is_told_in_words(
    status: int | None, stopped: float | None, ended: float | None, words: str
) -> None:
    """Status or signal, and how long it took where it was told to."""
    seen = saw("well-behaved", status=status, stopped=stopped, ended=ended, told=2.0)
    assert seen.end == words


def test_a_test_client_ends_otherwise() -> None:
    """It is no process of its own."""
    facts: dict[str, Any] = {"client": True, "told": 2.0}
    assert saw("state", **facts).end == "it was still there 10 s later"
    assert saw("state", ended=3.0, status=RAISED, **facts).end == "it raised to the caller"
    assert saw("state", ended=3.0, stopped=1.0, **facts).end == "it ended after 1.0 s"


def test_a_line_is_told_in_short() -> None:
    """Without the folders of a machine, and not longer than it has to be."""
    assert short('File "/usr/lib/asyncio/tasks.py", line 9') == 'File "…/tasks.py", line 9'
    assert short("see http://127.0.0.1/a and /a") == "see http://127.0.0.1/a and /a"
    assert short("/a" * 40 + "/" + "x" * 200) == "…/" + "x" * 158 + " …"
    assert short("word " * 32 + "more") == "word " * 32 + "…"
    assert short("word " * 31 + "word.") == "word " * 31 + "word."
