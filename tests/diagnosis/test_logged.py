"""Python's warnings of coroutines that no line of the author's has made."""

import asyncio
import warnings

from lifespec.diagnosis.logged import Logged, noting_warnings

MESSAGE = "coroutine 'connect' was never awaited"
ORIGIN = f'Coroutine created at (most recent call last)\n  File "{asyncio.__file__}", line 1, in f'


def test_a_warning_without_a_line_of_the_authors_is_noted() -> None:
    logged: list[Logged] = []
    with noting_warnings(logged):
        for text in (MESSAGE, f"{MESSAGE}\n{ORIGIN}"):
            warnings.warn(text, RuntimeWarning, stacklevel=1)
    assert [(each.message, each.made_at) for each in logged] == [(MESSAGE, None)] * 2
