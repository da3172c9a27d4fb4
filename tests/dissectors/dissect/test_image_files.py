"""Which files an image may have opened: regular files in its own folder, and no others."""

from __future__ import annotations

import builtins
import io
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from msmq_dissect.containers import open_container
from msmq_wire import CaptureError
from tests.dissectors.dissect.hostile_images import ewf, grains, qcow2, text_of, vhd, vhdx

_GRAIN = b"evidence".ljust(4096, b"!")


@contextmanager
def touched_files() -> Iterator[tuple[list[str], list[str]]]:
    """The paths that are looked at meanwhile, and those that are opened.

    An audit hook would see more, but stays for good, and threads that begin collide in ``sys.settrace`` from
    then on: Python gives way to another thread at each audited event.
    """
    looked: list[str] = []
    opened: list[str] = []

    def watch(place: Any, name: str, seen: list[str]) -> None:
        real: Callable[..., Any] = getattr(place, name)

        def watched(path: Any, *args: Any, **named: Any) -> Any:
            if isinstance(path, str | bytes | os.PathLike):
                seen.append(os.fsdecode(path))
            return real(path, *args, **named)

        patch.setattr(place, name, watched)

    with pytest.MonkeyPatch.context() as patch:
        for name in ("stat", "lstat", "readlink", "scandir"):
            watch(os, name, looked)
        for place in (builtins, io, os):
            watch(place, "open", opened)
        yield looked, opened


def _refused(image: Path, hint: str) -> None:
    """An image is refused at once, in one short line that ends with the name that was asked for."""
    with pytest.raises(CaptureError) as caught:
        open_container(image)
    reported = str(caught.value)
    assert hint[-12:] in reported.replace("\\\\", "\\")
    assert len(reported.replace(str(image), "")) < 200
    assert "\n" not in reported


@pytest.fixture
def evidence(tmp_path: Path) -> Path:
    """The folder of an image, beside a file of the analyst."""
    (tmp_path / "secret.raw").write_bytes(b"a key of the analyst".ljust(4096, b"!"))
    (tmp_path / "base").mkdir()
    folder = tmp_path / "evidence"
    folder.mkdir()
    return folder


_SPARSE = 'RW 8 SPARSE "extent.vmdk"'


def _naming(folder: Path, hint: str) -> dict[str, Path]:
    """An image of each format that names a file: as its parent, its extent, or its data."""
    images = {
        "text.vmdk": text_of(hint, _SPARSE),
        "sparse.vmdk": grains(None, text=text_of(hint)),
        "flat.vmdk": text_of(None, f'RW 8 FLAT "{hint}" 0'),
        "grains.vmdk": text_of(None, f'RW 8 SPARSE "{hint}"'),
        "disk.qcow2": qcow2(4096, parent=hint.encode()),
        "data.qcow2": qcow2(4096, data_file=hint.encode()),
        "disk.vhdx": vhdx(1 << 20, parent={"relative_path": hint}),
        "absolute.vhdx": vhdx(1 << 20, parent={"absolute_win32_path": hint}),
        "disk.vhd": vhd(4096, parent=hint),
    }
    (folder / "extent.vmdk").write_bytes(grains(None))
    for name, data in images.items():
        (folder / name).write_bytes(data)
    return {name: folder / name for name in images}


_HINTS = [
    "{outside}/secret.raw",
    "../secret.raw",
    "..\\secret.raw",
    "..",
    "sub/../../secret.raw",
    "\\\\192.0.2.1\\share\\secret.raw",
    "//192.0.2.1/share/secret.raw",
    "C:\\Users\\analyst\\secret.raw",
    "C:secret.raw",
    "\\\\?\\GLOBALROOT\\Device\\Harddisk0\\secret.raw",
    "nbd://192.0.2.1/secret.raw",
    "secret.raw",
]


@pytest.mark.parametrize("hint", _HINTS)
def test_a_file_outside_of_the_folder_is_neither_opened_nor_looked_at(hint: str, evidence: Path) -> None:
    hint = hint.format(outside=evidence.parent)
    for image in _naming(evidence, hint).values():
        # The first time a codec may be imported, which looks at files of Python.
        _refused(image, hint)
        with touched_files() as (looked, opened):
            _refused(image, hint)
        # The way to the folder is walked once, for links in the path that the user gave.
        way = {str(one) for one in (*evidence.parents, evidence)}
        assert {one for one in looked if os.path.dirname(one) != str(evidence)} <= way
        assert {os.path.dirname(one) for one in opened} == {str(evidence)}


@pytest.mark.parametrize(
    "hint", ["D:\\machines\\base\\below.raw", "/var/machines/below.raw", "../base/below.raw"]
)
def test_the_last_part_of_a_name_is_looked_up_in_the_folder(hint: str, evidence: Path) -> None:
    (evidence / "below.raw").write_bytes(_GRAIN)
    (evidence / "above.qcow2").write_bytes(qcow2(4096, parent=hint.encode()))
    with open_container(evidence / "above.qcow2") as file:
        assert file.read() == _GRAIN
        assert [os.path.basename(one) for one in file.files] == ["above.qcow2", "below.raw"]


@pytest.mark.parametrize("link", ["../secret.raw", "{outside}/secret.raw", "gone", "circle"])
def test_a_link_out_of_the_folder_is_refused(link: str, evidence: Path) -> None:
    (evidence / "circle").symlink_to("circle")
    (evidence / "below.raw").symlink_to(link.format(outside=evidence.parent))
    for image in _naming(evidence, "below.raw").values():
        _refused(image, "below.raw")


def test_a_link_inside_of_the_folder_is_followed(evidence: Path) -> None:
    (evidence / "real.raw").write_bytes(_GRAIN)
    (evidence / "below.raw").symlink_to("real.raw")
    (evidence / "above.qcow2").write_bytes(qcow2(4096, parent=b"below.raw"))
    with open_container(evidence / "above.qcow2") as file:
        assert file.read() == _GRAIN


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("kind", ["pipe", "socket", "folder", "device"])
def test_what_is_no_regular_file_is_never_opened(
    kind: str, evidence: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = evidence / "below.raw"
    if kind == "pipe":
        os.mkfifo(below)
    elif kind == "folder":
        below.mkdir()
    elif kind == "device":
        try:
            os.mknod(below, 0o20600, os.makedev(1, 5))
        except PermissionError:
            pytest.skip("needs the right to make a device")
    else:
        monkeypatch.chdir(evidence)
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("below.raw")
    for image in _naming(evidence, "below.raw").values():
        with touched_files() as (_, opened):
            _refused(image, "below.raw")
        assert str(below) not in opened


def test_a_pipe_as_a_segment_of_ewf_is_refused(evidence: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("needs pipes")
    (evidence / "disk.E01").write_bytes(ewf(b"", last=b"next"))
    os.mkfifo(evidence / "disk.E02")
    _refused(evidence / "disk.E01", "disk.E02")


@pytest.mark.parametrize("name", ["circle.vmdk", "text.vmdk", "circle.qcow2", "circle.vhdx", "circle.vhd"])
def test_an_image_that_is_its_own_parent_is_named_in_one_line(name: str, tmp_path: Path) -> None:
    images = {
        "circle.vmdk": grains(None, text=text_of(name)),
        "text.vmdk": text_of(name, "RW 8 ZERO"),
        "circle.qcow2": qcow2(4096, parent=name.encode()),
        "circle.vhdx": vhdx(1 << 20, parent={"relative_path": f".\\{name}"}),
        "circle.vhd": vhd(4096, parent=name),
    }
    (tmp_path / name).write_bytes(images[name])
    with pytest.raises(CaptureError, match="a circle") as caught:
        open_container(tmp_path / name)
    assert len(str(caught.value).replace(str(tmp_path), "")) < 120


def test_a_circle_of_several_images_is_found(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.qcow2").write_bytes(qcow2(4096, parent=b"%d.qcow2" % ((number + 1) % 3)))
    with pytest.raises(CaptureError, match=r"'0\.qcow2' is below itself: its parents are a circle"):
        open_container(tmp_path / "0.qcow2")


def test_a_chain_of_parents_has_an_end(tmp_path: Path) -> None:
    (tmp_path / "0.qcow2").write_bytes(qcow2(4096))
    for number in range(1, 100):
        (tmp_path / f"{number}.qcow2").write_bytes(qcow2(4096, parent=b"%d.qcow2" % (number - 1)))
    with open_container(tmp_path / "30.qcow2") as file:
        assert file.read() == bytes(4096)
    with pytest.raises(CaptureError, match="more than 32 parents"):
        open_container(tmp_path / "99.qcow2")


def test_a_long_name_is_cut_and_shown_in_ascii(tmp_path: Path) -> None:
    hint = "\x1b[2Jé" + "x" * 900 + "end.raw"
    (tmp_path / "disk.qcow2").write_bytes(qcow2(4096, parent=hint.encode()))
    _refused(tmp_path / "disk.qcow2", "end.raw")


def test_a_parent_of_another_format_is_refused_where_there_can_be_none(tmp_path: Path) -> None:
    (tmp_path / "below.bin").write_bytes(_GRAIN)
    for name, image in _naming(tmp_path, "below.bin").items():
        if name in ("text.vmdk", "sparse.vmdk", "disk.vhdx", "disk.vhd"):
            with pytest.raises(CaptureError, match=r"its parent 'below\.bin' is no "):
                open_container(image)


@pytest.mark.slow
def test_a_thousand_extents_are_read_with_few_files_open(tmp_path: Path) -> None:
    lines = []
    for number in range(300):
        (tmp_path / f"{number}.raw").write_bytes(bytes([number % 256]) * 512)
        lines.append(f'RW 1 FLAT "{number}.raw" 0')
    (tmp_path / "disk.vmdk").write_bytes(text_of(None, *lines))
    with open_container(tmp_path / "disk.vmdk") as file:
        assert file.read() == b"".join(bytes([number % 256]) * 512 for number in range(300))
        if os.path.isdir("/proc/self/fd"):
            held = [os.path.realpath(f"/proc/self/fd/{one}") for one in os.listdir("/proc/self/fd")]
            assert sum(one.startswith(str(tmp_path)) for one in held) <= 64


def test_a_changed_disk_shows_the_sectors_of_each_layer(tmp_path: Path) -> None:
    below = bytearray(vhd(1 << 21))
    assert len(below) < 1 << 20
    (tmp_path / "below.vhd").write_bytes(_with_block(bytes(below), b"B", bitmap=b"\xff" * 512))
    above = _with_block(vhd(1 << 21, parent="below.vhd"), b"A", bitmap=b"\x80" + bytes(511))
    (tmp_path / "above.vhd").write_bytes(above)
    with open_container(tmp_path / "above.vhd") as file:
        assert file.read(1536) == b"A" * 512 + b"B" * 1024


def _with_block(image: bytes, byte: bytes, *, bitmap: bytes) -> bytes:
    """A VHD image with its first block in it."""
    place = len(image) - 512
    changed = bytearray(image[:-512] + bitmap + byte * (1 << 21) + image[-512:])
    changed[1536:1540] = (place // 512).to_bytes(4, "big")
    return bytes(changed)
