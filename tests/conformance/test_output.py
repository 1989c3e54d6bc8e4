"""What the command writes: whole, or not at all."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lifespec.conformance.output import OutputFailed, Target, refuse_the_same, writing
from lifespec.conformance.unchecked import Unchecked

__all__: list[str] = []


@contextmanager
def at_most(length: int) -> Iterator[None]:
    """Let no file be longer."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (length, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_file_for_two(tmp_path: Path) -> None:
    """Only one can have it, whether it is there or not; a device has room for both."""
    path = tmp_path / "a"
    refuse_the_same([path, tmp_path / "b"])
    refuse_the_same([Path(os.devnull), Path(os.devnull)])
    for _ in range(2):
        with pytest.raises(Unchecked, match="is given for two reports"):
            refuse_the_same([path, tmp_path / "." / ".." / tmp_path.name / "a"])
        path.touch()


def test_a_file(tmp_path: Path) -> None:
    """It is there when it is whole; what was there keeps its mode, and a link leads there still."""
    path, link = tmp_path / "a", tmp_path / "link"
    path.write_text("before")
    path.chmod(0o640)
    link.symlink_to(path)
    with Target(link) as target:
        assert path.read_text() == "before"
        target.write("数\udc80")
    assert path.read_bytes() == "数\\udc80".encode()
    assert (path.stat().st_mode & 0o777, link.is_symlink()) == (0o640, True)
    assert sorted(tmp_path.iterdir()) == [path, link]


def test_a_new_file(tmp_path: Path) -> None:
    """It has the mode of any other; two of one name do not meet."""
    (tmp_path / "other").touch()
    with Target(tmp_path / "a") as one, Target(tmp_path / "a") as two:
        one.write("1")
        two.write("2")
    assert (tmp_path / "a").read_text() == "2"
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_nothing_is_written_in_part(tmp_path: Path) -> None:
    """What was there stays where the disk is full, or nobody writes."""
    path = tmp_path / "a"
    path.write_text("before")
    with (
        pytest.raises(Unchecked, match="cannot be written: File too large; name another"),
        Target(path) as target,
        at_most(10),
    ):
        target.write("x" * 100)
    with Target(path), Target(tmp_path / "b"):
        pass
    assert [each.read_text() for each in tmp_path.iterdir()] == ["before"]


def test_what_can_be_no_file(tmp_path: Path) -> None:
    """It is refused at the beginning."""
    for path, why in ((tmp_path, "Is a directory"), (tmp_path / "no" / "a", "No such file")):
        with pytest.raises(Unchecked, match=f"cannot be written: {why}"), Target(path):
            pass


def test_a_device() -> None:
    """It stays one."""
    with Target(Path(os.devnull)) as target:
        target.write("gone")
    assert Path(os.devnull).is_char_device()


def test_standard_output() -> None:
    """What keeps it from being written is told from what else the system refuses."""
    with pytest.raises(OutputFailed, match="No space left"), writing():
        raise OSError(28, "No space left on device")
    with pytest.raises(BrokenPipeError), writing():
        raise BrokenPipeError
