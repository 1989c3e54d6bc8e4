"""Fork programs from a process that has imported what they import: `python forks.py SOURCE`.

That process runs SOURCE. Each line that it reads then is a program, as the arguments of `_main`;
it writes the number of its process, and when that has ended, its status.

A fork has its own arguments, folder, environment, session, standard streams, module `__main__`
and module path, and it ends as an interpreter does, with the same status and the same words. What
differs from an interpreter of its own: modules are imported that the program does not import, the
hashes of texts have the same seed in all forks of a process, a traceback begins with frames of
this file, and other processes see the command of this one. Options of Python, such as -O, a
program can have only in an interpreter that it or a shell starts.
"""

import gc
import json
import os
import runpy
import signal
import sys
from types import ModuleType


def _forked() -> str:
    """Fork a process for each line of the input, and wait for it; return the line in the fork."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    exec(sys.argv[1], {})  # noqa: S102  what the programs import
    gc.collect()
    gc.freeze()  # a collection in a fork would copy all of it
    print(file=answers, flush=True)
    while line := sys.stdin.readline():
        pid = os.fork()
        if not pid:
            os.setsid()
            print(os.getpid(), file=answers, flush=True)
            return line
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), file=answers, flush=True)
    sys.exit()


def _main(words: list[str], folder: str, variables: dict[str, str], *outputs: str) -> None:
    """Run a file as `python` does, a module as `python -m` does, or a command."""
    os.chdir(folder)
    for number, name in enumerate((os.devnull, *outputs)):
        opened = os.open(name, os.O_WRONLY | os.O_APPEND if number else os.O_RDONLY)
        os.dup2(opened, number)
        os.close(opened)
    os.environ.clear()
    os.environ.update(variables)
    if "/" in words[0]:
        for ignored in signal.SIGPIPE, signal.SIGXFSZ:
            signal.signal(ignored, signal.SIG_DFL)
        os.execv(words[0], words)  # noqa: S606  what is no program of Python
    sys.argv, sys.path[0] = words, folder
    main = sys.modules["__main__"] = ModuleType("__main__")
    if not words[0].endswith(".py"):
        vars(runpy)["_run_module_as_main"](words[0])
        return
    main.__file__ = os.path.join(folder, words[0])  # noqa: PTH118  light
    with open(words[0], encoding="utf-8") as file:  # noqa: PTH123  the same
        code = compile(file.read(), main.__file__, "exec", dont_inherit=True)
    exec(code, vars(main))  # noqa: S102  the program


_main(*json.loads(_forked()))
