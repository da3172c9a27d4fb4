"""Files that are written: what is there stays, no link is followed, and nothing is there half."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import BinaryIO

import pytest

from msmq_wire.output import folder_refusal, make_folder, open_stream, refusal, whole_file

Write = Callable[..., None]


def whole(path: Path, data: bytes = b"new", *, force: bool = False) -> None:
    with whole_file(path, force=force) as file:
        file.write(data)


def streamed(path: Path, data: bytes = b"new", *, force: bool = False) -> None:
    with open_stream(path, force=force) as file:
        file.write(data)


BOTH = pytest.mark.parametrize("write", [whole, streamed])


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@BOTH
def test_a_file_is_written_where_nothing_is(write: Write, tmp_path: Path) -> None:
    assert refusal(tmp_path / "out") is None
    write(tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == b"new"
    assert names(tmp_path) == ["out"]
    mask = os.umask(0)
    os.umask(mask)
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o666 & ~mask


@BOTH
def test_what_is_there_stays_without_force(write: Write, tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"precious, and longer")
    assert refusal(path) == "is there"
    with pytest.raises(FileExistsError, match="it is there"):
        write(path)
    assert path.read_bytes() == b"precious, and longer"
    assert refusal(path, force=True, in_place=True) is None
    write(path, force=True)
    assert path.read_bytes() == b"new"
    assert names(tmp_path) == ["out"]


@BOTH
@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("to", ["precious", "nowhere", "folder"])
def test_a_link_is_never_followed(write: Write, to: str, force: bool, tmp_path: Path) -> None:
    (tmp_path / "precious").write_bytes(b"precious")
    (tmp_path / "folder").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / to)
    assert str(refusal(link, force=force)).startswith(f"is a link to {tmp_path / to}")
    with pytest.raises(FileExistsError, match="it is a link to"):
        write(link, force=force)
    assert link.is_symlink()
    assert (tmp_path / "precious").read_bytes() == b"precious"
    assert names(tmp_path) == ["folder", "link", "precious"]


def test_a_second_name_of_a_file_keeps_what_it_had(tmp_path: Path) -> None:
    path, other = tmp_path / "out", tmp_path / "other"
    path.write_bytes(b"precious")
    os.link(path, other)
    with pytest.raises(FileExistsError, match="a hard link"):
        streamed(path, force=True)
    assert refusal(path, force=True, in_place=True) == "has a second name, a hard link"
    assert refusal(path, force=True) is None
    whole(path, force=True)
    assert (path.read_bytes(), other.read_bytes()) == (b"new", b"precious")


@BOTH
@pytest.mark.parametrize("force", [False, True])
def test_a_folder_is_no_file(write: Write, force: bool, tmp_path: Path) -> None:
    assert refusal(tmp_path, force=force) == "is a folder"
    with pytest.raises(FileExistsError, match="it is a folder"):
        write(tmp_path, force=force)


@BOTH
def test_what_cannot_be_opened_is_an_os_error(write: Write, tmp_path: Path) -> None:
    assert refusal(tmp_path / "missing" / "out") is None
    with pytest.raises(FileNotFoundError):
        write(tmp_path / "missing" / "out")
    with pytest.raises(FileExistsError, match="a NUL in its name"):
        write(tmp_path / "x\0y")
    assert names(tmp_path) == []


def test_a_file_is_as_it_was_until_all_is_written(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"precious")
    path.chmod(0o640)
    with whole_file(path, force=True) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"precious"
        file.seek(0)
        assert file.read() == b"new"
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("force", [False, True])
def test_an_error_in_the_block_leaves_nothing_behind(force: bool, tmp_path: Path) -> None:
    def fail(file: BinaryIO) -> None:
        file.write(b"half")
        raise ValueError("half a file")

    path = tmp_path / "out"
    if force:
        path.write_bytes(b"precious")
    with pytest.raises(ValueError, match="half a file"), whole_file(path, force=force) as file:
        fail(file)
    assert names(tmp_path) == ["out"] * force
    assert not force or path.read_bytes() == b"precious"


@pytest.mark.parametrize("linking", [True, False])
def test_what_came_to_be_there_meanwhile_stays(
    linking: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*_: object, **__: object) -> None:
        raise PermissionError

    if not linking:
        monkeypatch.setattr(os, "link", no_links)
    path = tmp_path / "out"
    with pytest.raises(FileExistsError, match="it is there now"), whole_file(path):
        path.symlink_to(tmp_path / "nowhere")
    assert names(tmp_path) == ["out"]
    path.unlink()
    whole(path)
    assert path.read_bytes() == b"new"


@pytest.mark.slow
def test_what_streams_is_there_at_once_and_after_a_kill(tmp_path: Path) -> None:
    script = (
        "import os, sys\n"
        "from msmq_wire.output import open_stream\n"
        "open_stream(sys.argv[1]).write(b'last words')\n"
        "os.kill(os.getpid(), 9)\n"
    )
    path = tmp_path / "out"
    assert subprocess.run([sys.executable, "-c", script, str(path)], check=False).returncode == -9
    assert path.read_bytes() == b"last words"


def test_a_file_that_somebody_writes_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with open_stream(path) as file:
        file.write(b"first")
        with pytest.raises(BlockingIOError, match="somebody else writes it now"):
            open_stream(path, force=True)
        assert path.read_bytes() == b"first"
    streamed(path, b"second", force=True)
    assert path.read_bytes() == b"second"


@BOTH
def test_a_pipe_is_written_in_place(write: Write, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write(pipe)
    reader.join()
    assert read == [b"new"]
    assert names(tmp_path) == ["pipe"]


@BOTH
def test_what_keeps_nothing_takes_everything(write: Write) -> None:
    assert refusal(os.devnull) is None
    write(Path(os.devnull))
    assert Path(os.devnull).is_char_device()


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="no /dev/fd here")
@BOTH
def test_a_descriptor_of_this_process_is_no_link_of_somebody_else(write: Write, tmp_path: Path) -> None:
    with FileIO(tmp_path / "out", "w") as file:
        file.write(b"before ")
        path = Path(f"/dev/fd/{file.fileno()}")
        assert path.is_symlink()
        assert refusal(path) is None
        write(path)
        file.write(b" behind")
    assert (tmp_path / "out").read_bytes() == b"before new behind"


def test_a_folder_is_made_and_may_be_there(tmp_path: Path) -> None:
    for _ in range(2):
        assert folder_refusal(tmp_path / "a" / "b") is None
        make_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()


@pytest.mark.parametrize("behind", ["", "/", "//", "/.", "/./"])
def test_a_link_to_a_folder_is_none(behind: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder")
    path = f"{tmp_path}/link{behind}"
    assert str(folder_refusal(path)).startswith("is a link to folder")
    with pytest.raises(FileExistsError, match="it is a link to folder"):
        make_folder(path)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError, match="File exists"):
        make_folder(tmp_path / "file")
    with pytest.raises(FileExistsError, match="a NUL in its name"):
        make_folder(tmp_path / "x\0y")
