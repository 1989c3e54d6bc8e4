"""`lifespec watch` names what real servers wait for: the line that it names is the author's."""

import os
import pty
import re
import select
import shutil
import signal
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from lifespec.watch import seen
from lifespec.watch.agent import SOON
from lifespec.watch.group import is_alive
from loopback import LIMIT, until
from serving import Program, free_port

HERE = Path(__file__).parent
FRAMEWORKS = HERE.parents[2] / "docs/programs/frameworks"
FAULTLESS = (
    *("fastapi_mounted", "fastapi_on_event", "litestar_on_startup", "mcp_streamable_http"),
    *("quart_while_serving", "starlette_state"),
)
WATCH = [sys.executable, "-m", "lifespec", "watch", "--after"]
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
VERSIONS = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
PYTHONS = [sys.executable, *map(str, VERSIONS.glob("3.[19]*/bin/python3"))]
SERVERS = {
    "uvicorn": "uvicorn {app} --port {port} --http httptools --loop uvloop",
    "uvicorn-h11": "uvicorn {app} --port {port} --http h11 --loop asyncio",
    "uvicorn-off": "uvicorn {app} --port {port} --lifespan off",
    "uvicorn-reload": "uvicorn {app} --port {port} --reload",
    "uvicorn-workers": "uvicorn {app} --port {port} --workers 2",
    "uvicorn-run": "python troubles.py {port}",
    "fastapi-dev": "fastapi dev on_fastapi.py --port {port}",
    "mcp-run": "python on_mcp.py {port}",
    "early": "python early.py {port}",
    "hypercorn": "hypercorn {app} --bind 127.0.0.1:{port}",
    "hypercorn-limit": "hypercorn {app} --bind 127.0.0.1:{port} --config limit.toml",
    "hypercorn-trio": "hypercorn {app} --worker-class trio --bind 127.0.0.1:{port}",
    "granian": "granian --interface asgi {app} --port {port}",
    "granian-limit": "granian --interface asgi {app} --port {port} --workers-kill-timeout 2",
    "gunicorn-asgi": "gunicorn -k asgi {app} --bind 127.0.0.1:{port}",
    "gunicorn-limit": "gunicorn -k asgi {app} --bind 127.0.0.1:{port} --graceful-timeout 2",
    "gunicorn-uvicorn": "gunicorn -k uvicorn_worker.UvicornWorker {app} --bind 127.0.0.1:{port}",
    "uvicorn-most": "uvicorn {app} --port {port} --limit-max-requests 3",
    "hypercorn-most": "hypercorn {app} --bind 127.0.0.1:{port} --max-requests 3",
    "gunicorn-most": "gunicorn -k asgi {app} --bind 127.0.0.1:{port} --max-requests 3",
    "daphne": "daphne {app} --port {port}",
    "supervisor": "sh again.sh {port}",
    "unknown": "python ../../../docs/programs/serve.py {app} --port {port}",
}
ONE = ("uvicorn", "uvicorn-h11", "hypercorn", "granian", "gunicorn-asgi")  # process or worker
MANY = ("uvicorn-reload", "uvicorn-workers", "uvicorn-run", "gunicorn-uvicorn")
ALL = (*ONE, *MANY, "fastapi-dev", "mcp-run", "unknown")
QUIET = (*ONE, "uvicorn-reload", "uvicorn-workers", "gunicorn-uvicorn", "unknown")
LOOPS = ("uvicorn", "hypercorn", "granian")  # each runs its event loop in its own way


def at(function: str, source: str, file: str = "troubles.py") -> str:
    """Return a function and the number of the first line of a file here that begins so."""
    for number, line in enumerate((HERE / file).read_text("utf-8").splitlines(), 1):
        if line.strip().startswith(source):
            return f"in `{function}`, {file}:{number}"
    raise LookupError(f"{file} has no line {source!r}")


FOR_EVER = at("for_ever", "await asyncio.Event().wait()")
CONNECTS = at("connect", "await asyncio.Event().wait()", "early.py")
SLEEPS = at("<module>", "time.sleep", "early.py")
UNSET, ON_TRIO = "'DATABASE_URL', in `fails`", "in `app`, on_trio.py"
STAYS = "has ended, and its process stays:"
BLOCKS = "it blocks the event loop in"
LATE = "has not sent lifespan.shutdown. Requests and background tasks of responses that are open: 3"
THREE = (
    r"GET /board(, for \d+ s)?, in `events`",
    r"GET /mail, a background task of its response, for \d+ s, " + FOR_EVER,
)
IN_A_THREAD = r"GET /report(, for \d+ s)?, " + at("report", "time.sleep(61)")
ENDING = r"the interpreter of \S+ has been ending for \d s: its threads and exit handlers are done"
CHAT = rf"(GET|websocket) /chat, for \d+ s, {FOR_EVER}"
# a server, the trouble of its application, what is done once it serves, and what is said
KINDS = [
    *((name, "startup-waits", "", [f"startup has .* Event is set {FOR_EVER}"]) for name in ALL),
    *((name, "clean-up-waits", "/ TERM", [f"clean-up has lasted .* {FOR_EVER}"]) for name in ONE),
    ("gunicorn-uvicorn", "clean-up-waits", "/ TERM", [f"clean-up has lasted .* {FOR_EVER}"]),
    ("unknown", "clean-up-waits", "/ TERM", [f"clean-up has lasted .* {FOR_EVER}"]),
    *((name, "requests", "/board /mail /chat TERM", [LATE, *THREE, CHAT]) for name in ONE),
    *((name, "clean-up-blocks", "/ TERM", [f"clean-up .* {BLOCKS} `joins`"]) for name in LOOPS),
    *(
        (name, "thread", "/ INT", [f"{STAYS} a thread that is not a daemon: pump"])
        for name in ("uvicorn", "hypercorn", "gunicorn-asgi")
    ),
    ("uvicorn", "import", "", [r"the import of `troubles` has lasted .* in `<module>`"]),
    ("early", "own-loop", "", [f"no server has begun to serve: .* s, {CONNECTS}"]),
    ("early", "own-thread", "", [f"no server has begun to serve: .* s, {SLEEPS}"]),
    ("uvicorn", "startup-holds-the-lock", "", [r"no line of Python has run for \d s"]),
    ("supervisor", "startup-fails", "", ["startup has failed 4 times: KeyError"]),
    ("gunicorn-asgi", "startup-fails", "", [f"startup failed: KeyError: {UNSET}"]),
    ("uvicorn-off", "none", "", ["Uvicorn calls the application with no lifespan scope"]),
    ("daphne", "none", "", ["Daphne calls the application with no lifespan scope"]),
    ("uvicorn", "task-dies", "", [r"the task `\S*worker` has failed: ConnectionError: link"]),
    ("uvicorn", "task-exits", "", [r"the event loop ended .* SystemExit: 3, in `\S*leaver`"]),
    ("uvicorn", "busy", "/ /busy TERM", [f"{BLOCKS} `blocks`"]),
    ("uvicorn", "process", "/ INT", [f"{STAYS} the child process SpawnProcess-1"]),
    (
        "uvicorn",
        "pool",
        "/ INT",
        [f"{STAYS} a thread that is not a daemon: Thread-1 of ProcessPoolExecutor"],
    ),
    ("uvicorn", "exit-handler", "/ INT", [f"{STAYS} it waits in `flush`"]),
    *(
        (name, "requests", "/ /report TERM", [IN_A_THREAD, "No limit of a server"])
        for name in LOOPS
    ),
    ("uvicorn", "interpreter", "/ INT", [ENDING]),  # at SIGTERM it ends by the signal itself
    ("hypercorn", "interpreter", "/ TERM", [ENDING]),
    ("uvicorn", "none", "/board INT INT", ["a second signal, SIGINT: Uvicorn has ended without"]),
    ("hypercorn-limit", "clean-up-waits", "/ TERM", [f"clean-up was cut off: it was {FOR_EVER}"]),
    ("gunicorn-limit", "clean-up-waits", "/ TERM", [f"clean-up was cut off: it was {FOR_EVER}"]),
    ("granian-limit", "clean-up-waits", "/ TERM", [f"clean-up was cut off: it was {FOR_EVER}"]),
    ("gunicorn-asgi", "clean-up-waits", "/ INT", ["Gunicorn has ended without lifespan.shutdown"]),
    ("hypercorn-trio", "startup-waits", "", [f"startup has lasted .* for a task {ON_TRIO}"]),
    ("hypercorn-trio", "requests", "/board TERM", [rf"GET /board, for \d+ s, {ON_TRIO}"]),
    (
        "hypercorn-trio",
        "clean-up-waits",
        "/ TERM",
        [f"it sleeps for ever {ON_TRIO}", "Cancel what the clean-up"],
    ),
]


@contextmanager
def watched(
    server: str,
    trouble: str = "none",
    after: float = 1,
    first: Sequence[str] = (),
    app: str = "",
    place: Path = HERE,
) -> Iterator[Program]:
    """Run a server with an application, perhaps in trouble; yield what is printed."""
    port, place = free_port(), FRAMEWORKS if app else place
    app = f"{app}:app" if app else "on_trio:app" if "trio" in server else "troubles:app"
    command = SERVERS[server].format(app=app, port=port).split()
    program = [*first, *WATCH, str(after), "--", *command]
    environment = {"PYTHONUNBUFFERED": "1", "TROUBLE": trouble, "PATH": PATH}
    with (
        TemporaryDirectory() as folder,  # those that are killed leave one
        Program(program, place, TMPDIR=folder, **environment) as found,
    ):
        found.port = port  # type: ignore[attr-defined]
        yield found


def said(program: Program) -> str:
    """Return what `watch` has said, without what wraps it."""
    lines = [line for line in program.lines if line.startswith(("lifespec: ", "          "))]
    return " ".join(" ".join(lines).split())


def hears(program: Program, pattern: str) -> None:
    """Wait until `watch` says this."""
    end = time.monotonic() + LIMIT
    while not re.search(pattern, said(program)):
        assert time.monotonic() < end, (pattern, program.lines)
        assert program.reader.is_alive(), (pattern, program.lines)
        time.sleep(0.05)


def opened(program: Program, path: str, patience: float = LIMIT) -> socket.socket:
    """Send a request once the server answers; return its connection, with the answer begun."""
    port: int = program.port  # type: ignore[attr-defined]
    end = time.monotonic() + patience
    while True:
        try:
            found = socket.create_connection(("127.0.0.1", port), patience)
            break
        except ConnectionRefusedError:
            assert program.process.poll() is None, program.lines
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
    head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
    if path == "/chat":
        key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13"
        head += f"Upgrade: websocket\r\nConnection: Upgrade\r\n{key}\r\n"
    try:
        found.sendall(f"{head}\r\n".encode())
        if path not in ("/busy", "/report"):
            assert found.recv(4).startswith(b"HTTP")
    except OSError:
        found.close()
        raise
    return found


def do(program: Program, steps: str, stack: ExitStack) -> None:
    """Open requests, which stay open but for that of /, and send signals one after the other."""
    for step in steps.split():
        if step == "/":
            opened(program, step).close()
        elif step.startswith("/"):
            stack.enter_context(opened(program, step))
        else:
            program.process.send_signal(getattr(signal, f"SIG{step}"))
            if steps.endswith("INT INT"):  # two at once would be one
                until(program, "Shutting down")


@pytest.mark.parametrize(("server", "trouble", "steps", "says"), KINDS)
def test_what_is_said(server: str, trouble: str, steps: str, says: list[str]) -> None:
    with ExitStack() as stack:
        program = stack.enter_context(watched(server, trouble))
        do(program, steps, stack)
        for sentence in says:
            hears(program, sentence)


@pytest.mark.parametrize(
    ("server", "app"), [*((each, "") for each in QUIET), *(("uvicorn", each) for each in FAULTLESS)]
)
def test_what_has_no_trouble_is_not_talked_about(server: str, app: str) -> None:
    with watched(server, after=10, app=app) as program:
        opened(program, "/").close()
        program.process.send_signal(signal.SIGTERM)
        assert program.process.wait(LIMIT) in (0, 143, 128 + signal.SIGINT)
        program.reader.join(LIMIT)
        own = [line for line in program.lines if line.startswith("lifespec: ")]
        assert len(own) == 1, program.lines
        assert own[0].startswith("lifespec: started in ")


def test_hostile_objects_of_an_application_make_no_look_fail() -> None:
    command = SERVERS["uvicorn"].format(app="hostile:app", port=free_port()).split()
    folder = str(HERE.parents[1] / "diagnosis")
    with Program([*WATCH, "3", "--", *command], HERE, PYTHONPATH=folder, PATH=PATH) as program:
        until(program, "running on")
        program.process.send_signal(signal.SIGTERM)
        hears(program, r"started in [\d.]+ s, stopped in [\d.]+ s")
        assert "lifespec itself failed" not in said(program)


@pytest.mark.parametrize("python", PYTHONS)
def test_a_server_on_another_python(python: str) -> None:
    with Program([*WATCH, "0.5", "--", python, "unknown.py"], HERE) as program:
        place = at("connect", "await asyncio.Event().wait()", "unknown.py")
        hears(program, f"startup has lasted .* Event is set {place}")


def is_serving(file: Path) -> bool:
    """Tell whether an agent has seen the application wait for an event."""
    lines = [seen.parsed(line) for line in file.read_text("utf-8").splitlines()]
    return any(call.asks for line in lines if isinstance(line, seen.Look) for call in line.others)


def until_looked_at(folder: Path) -> None:
    """Wait until an agent that writes below a folder has seen the application wait for an event."""
    end = time.monotonic() + LIMIT
    while not any(map(is_serving, folder.glob("*/*.seen"))):
        assert time.monotonic() < end
        time.sleep(0.05)


OWN = {
    "startup-waits": f"startup has lasted .* {FOR_EVER}",
    "clean-up-blocks": f"clean-up has lasted .* {BLOCKS} `joins`",
    "thread": "has ended, and its process stays: a thread that is not a daemon: pump",
    "none": r"started in [\d.]+ s, stopped in [\d.]+ s; exit status 0",
}


@pytest.mark.parametrize(
    ("kind", "trouble"),
    [
        *product(["own", "copy"], OWN),
        ("task", "clean-up-blocks"),  # as which nobody knows it, like the server "unknown" above
        ("call", "clean-up-blocks"),
    ],
)
def test_a_server_of_ones_own(kind: str, trouble: str, tmp_path: Path) -> None:
    """With lifespec's Lifespan, with a copy of it, and as one that nobody knows."""
    command = [*WATCH, "1", "--", "python", "own_server.py", kind, str(tmp_path)]
    there = {"PYTHONUNBUFFERED": "1", "TROUBLE": trouble, "PATH": PATH, "TMPDIR": str(tmp_path)}
    with Program(command, HERE, **there) as program:
        before = 0  # a machine that is busy may take long to start
        if trouble != "startup-waits":
            until(program, "serving")
            if kind in ("task", "call"):  # of no other one it is told what it does
                until_looked_at(tmp_path)
            before = said(program).count("startup has lasted")
            program.process.send_signal(signal.SIGTERM)
        hears(program, OWN[trouble])
        assert "cut off" not in said(program)
        assert trouble == "startup-waits" or said(program).count("startup has lasted") == before


def send_to_others(program: Program, number: int) -> None:
    """Send a signal to the process that `watch` has started, as another terminal does."""
    first = Path(f"/proc/{program.process.pid}/task/{program.process.pid}/children")
    for pid in first.read_text().split():
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        if b"lifespec" not in words:  # `python -m lifespec`
            os.kill(int(pid), number)


def tell(program: Program, how: str, folder: Path) -> None:
    """Tell a server to stop or to load its application anew."""
    if how == "kill":
        send_to_others(program, signal.SIGTERM)
    elif how == "change":
        (folder / "troubles.py").touch()
    elif how == "requests":
        for _ in range(4):
            with suppress(OSError):  # a server that stops may listen, and answer no more
                opened(program, "/", 3).close()
    else:
        program.process.send_signal(getattr(signal, how))


@pytest.mark.parametrize(
    ("server", "how", "advice"),
    [
        ("uvicorn", "kill", "`--timeout-graceful-shutdown 5`"),
        ("uvicorn-most", "requests", "`--timeout-graceful-shutdown 5`"),
        ("uvicorn-reload", "change", "`--timeout-graceful-shutdown 5`"),
        ("uvicorn-workers", "SIGHUP", "`--timeout-graceful-shutdown 5`"),
        ("hypercorn-most", "requests", "Hypercorn"),
        ("granian", "SIGHUP", "`--workers-kill-timeout 5`"),
        ("gunicorn-asgi", "SIGHUP", "`--timeout`, .* `--graceful-timeout 5` closes"),
        ("gunicorn-most", "requests", "`--timeout`, .* `--graceful-timeout 5` closes"),
        ("gunicorn-uvicorn", "SIGHUP", "after 30 s, or after `--timeout`, .* let streams"),
    ],
)
def test_a_stop_is_seen_whoever_asked_for_it(
    server: str, how: str, advice: str, tmp_path: Path
) -> None:
    """The request begins once the server is looked at once a second."""
    for name in "troubles.py", "limit.toml":
        shutil.copy(HERE / name, tmp_path)
    with watched(server, place=tmp_path) as program, ExitStack() as stack:
        opened(program, "/").close()
        time.sleep(SOON + 1)  # nothing tells that
        stack.enter_context(opened(program, "/board"))
        time.sleep(1.5)
        tell(program, how, tmp_path)
        hears(program, r"Requests that are open: 1 GET /board(, for [1-9] s)?, in `events`")
        hears(program, advice)


@pytest.mark.parametrize(
    ("server", "how"), [("uvicorn", "kill"), ("granian", "kill"), ("uvicorn-reload", "change")]
)
def test_a_server_that_others_end_while_it_starts_is_ended_by_what_is_said(
    server: str, how: str, tmp_path: Path
) -> None:
    shutil.copy(HERE / "troubles.py", tmp_path)
    with watched(server, "startup-waits", place=tmp_path) as program:
        hears(program, "startup has lasted")
        tell(program, how, tmp_path)
        hears(program, "looks at SIGTERM only when startup has ended: .* ends this process")
        ((name, pid),) = re.findall(r"`kill -(QUIT) (\d+)` ends this", said(program))
        os.kill(int(pid), getattr(signal, f"SIG{name}"))
        end = time.monotonic() + LIMIT
        while is_alive(int(pid)):
            assert time.monotonic() < end, program.lines
            time.sleep(0.05)


@pytest.mark.parametrize(
    ("server", "keys", "says"),
    [
        ("uvicorn", [b"\x03"], "Uvicorn looks at Ctrl-C only when startup has ended: Ctrl-\\ ends"),
        ("granian", [b"\x03"], "Granian looks at Ctrl-C only when startup has ended: Ctrl-\\ ends"),
        ("uvicorn-workers", [b"\x1c"], "Uvicorn starts each worker anew that Ctrl-\\ ends: press"),
        ("uvicorn-workers", [b"\x03"], "Uvicorn looks at Ctrl-C only when startup has ended: Ctrl"),
    ],
)
def test_the_way_out_is_named_and_leads_out(server: str, keys: list[bytes], says: str) -> None:
    """In a terminal: what is named then ends the server."""
    command = SERVERS[server].format(app="troubles:app", port=free_port()).split()
    pid, terminal = pty.fork()
    if not pid:
        os.chdir(HERE)
        os.environ.update(PATH=PATH, TROUBLE="startup-waits", PYTHONUNBUFFERED="1")
        os.execv(sys.executable, [*WATCH, "1", "--language", "en", "--", *command])  # noqa: S606
    output = ""

    def hears_there(words: str) -> None:
        nonlocal output
        end = time.monotonic() + LIMIT
        while words not in " ".join(output.split()):
            assert select.select([terminal], [], [], end - time.monotonic())[0], output
            output += os.read(terminal, 1000).decode()

    hears_there("startup has lasted")
    for key in keys:
        os.write(terminal, key)
    hears_there(says)
    os.write(terminal, b"\x1c" if keys == [b"\x03"] else b"\x03\x1c")
    hears_there("exit status")
    os.close(terminal)
    os.waitpid(pid, 0)


@pytest.mark.parametrize("trouble", ["startup-waits", "clean-up-waits", "none"])
def test_a_process_that_runs_already(trouble: str, tmp_path: Path) -> None:
    environment = {"TROUBLE": trouble, "SCRIPT": str(tmp_path / "begin.py"), "PATH": PATH}
    command = [*SERVERS["uvicorn"].format(app="troubles:app", port=free_port()).split()]
    with Program(command, HERE, **environment) as server:
        until(server, "Waiting for" if trouble == "startup-waits" else "running on")
        command = [sys.executable, "attached.py", str(server.process.pid)]
        with Program(command, HERE, TMPDIR=str(tmp_path), **environment) as program:
            if trouble != "startup-waits":
                until_looked_at(tmp_path)
                server.process.send_signal(signal.SIGTERM)
            if trouble != "none":
                hears(program, f"{trouble[:-6]} has lasted .* {FOR_EVER}")
            else:
                program.process.wait(LIMIT)
                assert said(program) == ""


@pytest.mark.needs("unshare")
def test_the_first_process_of_a_container() -> None:
    namespace = ["unshare", "--pid", "--fork", "--mount-proc"]
    with watched("uvicorn", "clean-up-waits", first=namespace) as program:
        opened(program, "/").close()
        outer = program.process.pid
        first = Path(f"/proc/{outer}/task/{outer}/children").read_text()
        os.kill(int(first), signal.SIGTERM)
        hears(program, f"clean-up has lasted .* {FOR_EVER}")


def test_what_is_slow_is_told_where_it_is_and_then_how_it_went() -> None:
    with watched("uvicorn", "slow") as program:
        opened(program, "/").close()
        program.process.send_signal(signal.SIGTERM)
        hears(program, r"started in [\d.]+ s, stopped in [\d.]+ s; exit status 143")
    told = re.findall(r"(\S+) has lasted [12] s; it sleeps in `slowly`", said(program))
    assert told == ["startup", "clean-up"]
    assert program.lines.count("INFO:     Application startup complete.") == 1


def shown(page: str, name: str) -> list[str]:
    """Return a program of the page, and what `watch` says of it there in both languages."""
    _, _, rest = page.partition(f"{{#{name} ")
    _, program, _, english, _, chinese, *_ = re.split(r"^```.*\n", rest, flags=re.MULTILINE)
    says = [line[line.index("lifespec: ") :] for line in (english, chinese)]
    return [program, *map(bare, says)]


def bare(said: str) -> str:
    """Return what `watch` says without its numbers of seconds, and without what wraps it."""
    return re.sub(r"\d+(?=s\b|秒)", "N", "".join(said.split()))


@pytest.mark.parametrize(
    ("name", "steps"), [("watch-startup", ""), ("watch-stream", "/board TERM")]
)
@pytest.mark.parametrize("language", ["C.UTF-8", "zh_CN.UTF-8"])
def test_the_page_shows_what_is_printed(
    name: str, steps: str, language: str, tmp_path: Path
) -> None:
    page = (HERE.parents[2] / "docs/hang.md").read_text("utf-8")
    program, *outputs = shown(page, name)
    output = outputs[language != "C.UTF-8"]
    (tmp_path / "shop.py").write_text(program)
    port = free_port()
    command = [*WATCH, "3", "--", "uvicorn", "shop:app", "--port", str(port)]
    there = {"PYTHONUNBUFFERED": "1", "PATH": PATH, "LC_ALL": language, "PYTHONUTF8": "1"}
    with Program(command, tmp_path, **there) as found, ExitStack() as stack:
        found.port = port  # type: ignore[attr-defined]
        do(found, steps, stack)
        end = time.monotonic() + LIMIT
        while not bare(said(found)).endswith(output):  # an import may be slow, too
            assert time.monotonic() < end, (bare(said(found)), output)
            time.sleep(0.05)
