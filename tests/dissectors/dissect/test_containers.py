"""Images of other formats read as the disk in them, and what is damaged is one line."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from msmq_dissect.containers import open_container
from msmq_wire import CaptureError
from tests.dissectors.dissect.hostile_images import vdi

_PROGRAM = Callable[[str], str]
_DISK = random.Random(5).randbytes(700_000) + bytes(1 << 20) + random.Random(6).randbytes(300_000)
_SECTOR = 512


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """A raw disk with a hole in it."""
    path = tmp_path / "disk.raw"
    path.write_bytes(_DISK + bytes(-len(_DISK) % (1 << 20)))
    return path


def qemu(program: _PROGRAM, *arguments: str | Path) -> None:
    command = [program("qemu-img"), *map(str, arguments)]
    subprocess.run(command, capture_output=True, check=True)


def acquire(program: _PROGRAM, disk: Path, *more: str) -> Path:
    """An EWF image of a disk in several segments."""
    target = disk.with_name("disk")
    options = ("-u", "-q", "-S", "1MiB", *(more or ("-c", "none")), "-t", target, disk)
    command = [program("ewfacquire"), *map(str, options)]
    subprocess.run(command, capture_output=True, check=True)
    return next(disk.parent.glob("disk.[EesS]01"))


@pytest.mark.parametrize("form", ["encase1", "encase6", "ftk", "linen6", "smart", "ewfx"])
def test_each_form_of_ewf_has_the_bytes_of_its_disk(form: str, disk: Path, program: _PROGRAM) -> None:
    reads_as(acquire(program, disk, "-f", form, "-c", "deflate:fast"), disk.read_bytes())


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("disk.qcow2", ("-O", "qcow2")),
        ("small.qcow2", ("-O", "qcow2", "-c")),
        ("zstd.qcow2", ("-O", "qcow2", "-c", "-o", "compression_type=zstd")),
        ("parts.qcow2", ("-O", "qcow2", "-o", "extended_l2=on")),
        ("sectors.qcow2", ("-O", "qcow2", "-o", "cluster_size=512")),
        ("old.qcow2", ("-O", "qcow2", "-o", "compat=0.10")),
        ("disk.vmdk", ("-O", "vmdk")),
        ("split.vmdk", ("-O", "vmdk", "-o", "subformat=twoGbMaxExtentSparse")),
        ("flat.vmdk", ("-O", "vmdk", "-o", "subformat=monolithicFlat")),
        ("flats.vmdk", ("-O", "vmdk", "-o", "subformat=twoGbMaxExtentFlat")),
        ("stream.vmdk", ("-O", "vmdk", "-o", "subformat=streamOptimized")),
        ("disk.vhdx", ("-O", "vhdx")),
        ("fixed.vhdx", ("-O", "vhdx", "-o", "subformat=fixed")),
        ("disk.vdi", ("-O", "vdi")),
        ("disk.vhd", ("-O", "vpc", "-o", "force_size=on")),
        ("fixed.vhd", ("-O", "vpc", "-o", "force_size=on,subformat=fixed")),
    ],
)
def test_the_disk_in_an_image_has_its_bytes(
    name: str, options: Sequence[str], disk: Path, program: _PROGRAM
) -> None:
    image = disk.with_name(name)
    qemu(program, "convert", "-f", "raw", *options, disk, image)
    reads_as(image, disk.read_bytes())


def reads_as(image: Path, expected: bytes) -> None:
    """Read an image front to end, and at places."""
    with open_container(image) as file:
        assert (file.name, file.size, file.tell()) == (str(image), len(expected), 0)
        assert file.seekable()
        assert file.read() == expected
        assert file.read(1) == b""
        assert file.seek(-3, 2) == len(expected) - 3
        buffer = bytearray(8)
        assert file.readinto(buffer) == 3
        assert file.seek(_SECTOR + 1) == _SECTOR + 1
        assert file.seek(2, 1) == file.tell() == _SECTOR + 3
        assert file.read(7) == expected[_SECTOR + 3 :][:7]
        file.seek(len(expected) + 5)
        assert file.read(5) == b""
        with pytest.raises(ValueError, match="cannot seek"):
            file.seek(-1)
    assert file.closed


def test_a_disk_below_another_one_is_opened_too(disk: Path, program: _PROGRAM) -> None:
    below, above = disk.with_name("below.qcow2"), disk.with_name("above.qcow2")
    qemu(program, "convert", "-f", "raw", "-O", "qcow2", disk, below)
    qemu(program, "create", "-f", "qcow2", "-b", below.name, "-F", "qcow2", above)
    reads_as(above, disk.read_bytes())
    below.unlink()
    with pytest.raises(
        CaptureError, match=r"^cannot open .*above\.qcow2: its parent 'below\.qcow2' is not in the folder"
    ) as caught:
        open_container(above)
    assert "\n" not in str(caught.value)


def test_segments_of_ewf_are_one_disk_and_none_may_be_missing(disk: Path, program: _PROGRAM) -> None:
    first = acquire(program, disk)
    assert first.with_suffix(".E03").exists()
    reads_as(first, disk.read_bytes())
    second = first.with_suffix(".E02").read_bytes()
    first.with_suffix(".E02").write_bytes(second[:40_000])
    with pytest.raises(CaptureError, match=r"segment 2 of the EWF image is damaged"):
        open_container(first)
    first.with_suffix(".E02").unlink()
    with pytest.raises(CaptureError, match=r"segment 2 of the EWF image is not there$"):
        open_container(first)


@pytest.mark.parametrize("format_", ["qcow2", "vmdk", "vdi", "vhdx"])
def test_an_image_that_was_cut_is_read_up_to_there(format_: str, disk: Path, program: _PROGRAM) -> None:
    image = disk.with_name(f"cut.{format_}")
    qemu(program, "convert", "-f", "raw", "-O", format_, disk, image)
    whole = image.read_bytes()
    image.write_bytes(whole[: whole.index(_DISK[-1000:-900])])
    with open_container(image) as file:
        assert file.read(_SECTOR) == _DISK[:_SECTOR]
        with pytest.raises(CaptureError, match="image is damaged: its end is not there") as caught:
            file.read()
        assert _SECTOR < caught.value.offset < file.size


@pytest.mark.slow
def test_an_image_with_wrong_bytes_is_read_or_refused_in_one_line(disk: Path, program: _PROGRAM) -> None:
    source, refused, tried = random.Random(9), list[str](), 0
    for format_ in ("qcow2", "vmdk", "vdi", "vhdx"):
        image = disk.with_name(f"wrong.{format_}")
        qemu(program, "convert", "-f", "raw", "-O", format_, disk, image)
        whole = image.read_bytes()
        for _ in range(30):
            data = bytearray(whole)
            for _ in range(4):
                data[source.randrange(source.choice((100, 600, 70_000, len(data))))] = source.choice(
                    (0, 7, 255)
                )
            image.write_bytes(data)
            tried += 1
            try:
                with open_container(image) as file:
                    for _ in range(8):
                        file.read(1 << 18)
            except CaptureError as error:
                refused.append(str(error))
    assert 10 < len(refused) < tried
    assert "\n" not in "".join(refused)


def test_what_is_no_image_or_not_there_is_one_line(tmp_path: Path) -> None:
    plain, broken = tmp_path / "plain.bin", tmp_path / "broken.qcow2"
    plain.write_bytes(bytes(4096))
    broken.write_bytes(b"QFI\xfb" + bytes(4096))
    with pytest.raises(CaptureError, match=r"plain\.bin: it is no disk image of a format that is known$"):
        open_container(plain)
    with pytest.raises(CaptureError, match=r"^cannot open .*broken\.qcow2: QCOW2 version 0 is not known$"):
        open_container(broken)
    for name in ("gone.qcow2", "gone.bin"):
        with pytest.raises(CaptureError, match=f"^cannot open .*{name}: "):
            open_container(tmp_path / name)


def test_the_package_is_found_by_the_name_of_what_it_does() -> None:
    [entry] = entry_points(group="msmq_wire.images")
    assert (entry.name, entry.load()) == ("open", open_container)


def test_blocks_of_vdi_are_read_wherever_they_lie(tmp_path: Path) -> None:
    image = tmp_path / "disk.vdi"
    first, second = b"a" * (1 << 20), b"b" * (1 << 20)
    image.write_bytes(vdi(4 << 20, entries=[1, 0xFFFFFFFF, 0, 0xFFFFFFFE]) + first + second)
    reads_as(image, second + bytes(1 << 20) + first + bytes(1 << 20))
    image.write_bytes(vdi(4 << 20, kind=4))
    with pytest.raises(CaptureError, match=r"has changes of another image only"):
        open_container(image)
