"""The command: what it prints, what it refuses, and how it ends."""

import io
import os
import resource
import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib import metadata, resources
from pathlib import Path

import pytest

from lifespec import cli, copies
from lifespec.conformance import words

__all__: list[str] = []

ROOT = Path(__file__).parents[1]
SRC = Path(cli.__file__).parent
SELF_CONTAINED = "This file is self-contained: copy it"
FILES = [name for name in cli.COPY_ME if (SRC / f"{name}.py").exists()]
LONGEST = 80


def ended(*arguments: str) -> object:
    """Run the command as a process would; return the status that it ends with."""
    try:
        return cli.main(arguments)
    except SystemExit as exit_:
        return exit_.code


@pytest.fixture
def refusal(capfd: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a command that is refused; return what it says: one line, and nothing printed."""

    def said(*arguments: str) -> str:
        assert ended(*arguments) == 2
        out, err = capfd.readouterr()
        assert (out, err.count("\n"), err[:10]) == ("", 1, "lifespec: ")
        return err.removeprefix("lifespec: ").removesuffix("\n")

    return said


@pytest.mark.parametrize("name", FILES)
def test_copy_prints_the_file(name: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """`lifespec copy server` prints server.py with its origin, and ends with status 0."""
    assert ended("copy", name) == 0
    assert capfdbinary.readouterr() == (copies.content(name).encode(), b"")


def test_the_files_are_those_that_say_so() -> None:
    """A file that calls itself self-contained can be copied, and no other."""
    marked = {path.stem for path in SRC.glob("*.py") if SELF_CONTAINED in path.read_text("utf-8")}
    assert marked == set(FILES) - {"server_trio"}  # which needs server.py beside it


def test_copy_writes_several_files_into_a_folder(
    tmp_path: Path, refusal: Callable[..., str]
) -> None:
    """Each has its own name there; if one cannot be written, none is."""
    both = "copy", "server", "server_trio"
    assert refusal(*both) == "several files need a folder that exists: give it with --to"
    said = refusal(*both, "--to", str(tmp_path / "new"))
    assert said == "several files need a folder that exists: give it with --to"
    (tmp_path / "server_trio.py").write_text("mine")
    assert "server_trio.py already exists" in refusal(*both, "--to", str(tmp_path))
    assert not (tmp_path / "server.py").exists()
    (tmp_path / "server_trio.py").unlink()
    assert ended(*both, "--to", str(tmp_path)) == 0
    for path in tmp_path.iterdir():
        assert path.read_text("utf-8") == copies.content(path.stem)
    assert len(list(tmp_path.iterdir())) == 2


def test_no_file_is_written_in_part(tmp_path: Path, refusal: Callable[..., str]) -> None:
    """Where there is no room for the whole file, nothing is left behind."""
    path = tmp_path / "lifespan.py"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        said = refusal("copy", "server", "--to", str(path))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert said == f"{path} cannot be written: File too large; give another path"
    assert list(tmp_path.iterdir()) == []
    said = refusal("copy", "server", "--to", str(tmp_path / "no" / "lifespan.py"))
    assert said.endswith("cannot be written: No such file or directory; give another path")
    said = refusal("copy", "server", "--to", "")
    assert said == "the path after --to is empty: give that of a new file"


def test_an_installation_that_lacks_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: Callable[..., str]
) -> None:
    """A package without its sources is not whole, and the sentence says which is missing."""
    monkeypatch.setattr(copies.resources, "files", lambda _: tmp_path)
    path = tmp_path / "server.py"
    assert refusal("copy", "server") == f"this installation has no {path}: install lifespec again"


@pytest.mark.parametrize(
    ("arguments", "wanted", "help_"),
    [
        (["paste"], "argument COMMAND: invalid choice: 'paste' (choose from ", "lifespec"),
        (["copy"], "the following arguments are required: FILE", "lifespec copy"),
        (["copy", "server", "--to"], "argument --to: expected one argument", "lifespec copy"),
        (["--quiet", "copy", "server"], "unrecognized arguments: --quiet", "lifespec"),
        (["explain"], "the following arguments are required: RULE", "lifespec explain"),
        (
            ["explain", "startup-sent", "--language", "fr"],
            "argument --language: invalid choice: 'fr' (choose from ",
            "lifespec explain",
        ),
    ],
)
def test_bad_usage(
    arguments: list[str], wanted: str, help_: str, refusal: Callable[..., str]
) -> None:
    """One line says what was wrong, and where what can be given is shown; the status is 2."""
    said = refusal(*arguments)
    assert said.startswith(wanted)
    assert said.endswith(f"; `{help_} --help` lists the options")


def test_a_terminal_that_lacks_the_characters(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """What it cannot show is a question mark, and no traceback."""
    with os.fdopen(os.dup(1), "w", encoding="ascii") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert ended("explain", "startup-sent", "--language", "zh") == 0
    out, err = capfdbinary.readouterr()
    assert out.startswith(b"startup-sent ? ???")
    assert err == b""


def test_an_installation_that_lacks_a_catalog(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: Callable[..., str]
) -> None:
    """The sentence says which file is missing."""
    monkeypatch.setattr(resources, "files", lambda _: tmp_path)
    monkeypatch.setattr(words, "_catalog", words._catalog.__wrapped__)
    path = tmp_path / "data" / "report.zh.po"
    said = refusal("explain", "startup-sent", "--language", "zh")
    assert said == f"this installation has no {path}: install lifespec again"


def test_version_of_what_is_not_installed(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """From a folder of sources the command works, and says that it has no version."""

    def unknown(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", unknown)
    assert ended("--version") == 0
    assert capfd.readouterr() == ("lifespec (not installed)\n", "")


def test_a_reader_that_has_read_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe that nobody reads any more is no failure."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert ended("copy", "server") == 0
        assert ended("--help") == 0


def test_a_closed_pipe_leaves_no_traceback() -> None:
    """Nothing is said on standard error, when Python ends neither."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "lifespec", "copy", "server", "--help"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=writing) as process:
        os.close(writing)
        assert process.communicate(timeout=60) == (None, b"")
    assert process.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_an_output_that_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, refusal: Callable[..., str]
) -> None:
    """A disk that is full is a sentence too."""
    with Path("/dev/full").open("w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        said = refusal("copy", "server")
    assert said == "the output cannot be written: No space left on device"


def test_what_is_no_matter_of_the_output(
    monkeypatch: pytest.MonkeyPatch, refusal: Callable[..., str]
) -> None:
    """Whatever the system refuses is told as that, with the file where it was one."""

    def refuse(_: object) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(metadata, "version", refuse)
    assert refusal("--version") == "the command failed: Too many open files"

    def lacks(_: object) -> None:
        raise FileNotFoundError(2, "No such file or directory", "/a/file")

    monkeypatch.setattr(metadata, "version", lacks)
    said = refusal("--version")
    assert said == "the command failed: /a/file: No such file or directory"


def test_a_command_loads_what_it_needs() -> None:
    """Nobody waits for the suite who copies a file, nor for rich who asks for help."""
    for arguments, absent in ((["--help"], "cli"), (["check", "--help"], "report.terminal")):
        program = f"import sys; from lifespec.cli import main\ntry: main({arguments!r})\n"
        program += "finally: print(*sys.modules)"
        command = [sys.executable, "-c", program]
        told = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        loaded = told.stdout.splitlines()[-1].split()
        assert "lifespec.cli" in loaded
        assert not {f"lifespec.conformance.{absent}", "rich"} & {*loaded}


def interrupted(_: object) -> None:
    """Do what Ctrl+C does."""
    raise KeyboardInterrupt


def test_an_interrupt(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """Who interrupts a command sees no traceback."""
    monkeypatch.setattr(cli, "_run", interrupted)
    assert ended("copy", "server") == 130
    assert capfd.readouterr() == ("", "lifespec: interrupted\n")


def test_no_output_at_all(monkeypatch: pytest.MonkeyPatch, refusal: Callable[..., str]) -> None:
    """Python has no standard output where it was closed before."""
    monkeypatch.setattr(sys, "stdout", None)
    said = refusal("copy", "server")
    assert said == "standard output is closed: send it to a file or to a terminal"


class Full(io.StringIO):
    """A stream that takes nothing."""

    def write(self, _: str) -> int:
        """Say why."""
        raise OSError("no space left on device")


@pytest.mark.parametrize("stream", [None, Full()])
def test_no_standard_error(monkeypatch: pytest.MonkeyPatch, stream: Full | None) -> None:
    """Where nothing can be said the status says it: 2, for 1 is that something does not conform."""
    monkeypatch.setattr(sys, "stderr", stream)
    assert ended("copy", "nothing") == 2
    monkeypatch.setattr(cli, "_run", interrupted)
    assert ended("copy", "nothing") == 130


def test_the_package_installs_the_command() -> None:
    """pyproject.toml names this very function."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]
    assert scripts == {"lifespec": f"{cli.__name__}:{cli.main.__name__}"}


def test_no_file_is_overwritten(tmp_path: Path, refusal: Callable[..., str]) -> None:
    """What is there already stays as it is."""
    path = tmp_path / "mine.py"
    path.write_text("mine")
    said = refusal("copy", "server", "--to", str(path))
    assert said == f"{path} already exists: give another path, or remove it first"
    said = refusal("copy", "server", "--to", "")
    assert said == "the path after --to is empty: give that of a new file"
    assert path.read_text() == "mine"


@pytest.mark.parametrize("arguments", [[], ["--help"], ["copy", "--help"], ["explain", "--help"]])
def test_help_fits_a_terminal(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The help is at most 80 columns wide, names every file, and ends with status 0."""
    monkeypatch.setenv("COLUMNS", str(LONGEST))
    assert ended(*arguments) == 0
    out, err = capfd.readouterr()
    assert max(map(len, out.splitlines())) <= LONGEST
    assert err == ""
    assert [name for name in cli.COPY_ME if f"  {name} " not in out and "copy" in arguments] == []
