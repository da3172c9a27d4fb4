"""What an image claims costs no more than what it has: memory, time and bytes to read."""

from __future__ import annotations

import hashlib
import os
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from msmq_dissect.containers import open_container
from msmq_wire import CaptureError
from msmq_wire.capture.carve.media import Medium
from msmq_wire.capture.carve.reader import CarveReader
from tests.dissectors.dissect.hostile_images import SECTOR, ewf, grains, qcow2, text_of, vdi, vhd, vhdx

_MIB, _GIB, _TIB = 1 << 20, 1 << 30, 1 << 40
_MEMORY = 300 * _MIB
_SECONDS = 20
_HUGE = 256 * _MIB
"""Bytes to which a unit unpacks that says to have 64 KiB."""


@cache
@cache
def _bomb(window: int = 15) -> bytes:
    """Zeros, packed by deflate."""
    packer = zlib.compressobj(1, wbits=window)
    return b"".join(packer.compress(bytes(_MIB)) for _ in range(_HUGE // _MIB)) + packer.flush()


def _packed(place: int, length: int, bits: int) -> int:
    """An entry of QCOW2 for a compressed cluster."""
    shift = 62 - (bits - 8)
    sectors = min(-(-length // 512), 1 << (bits - 8))
    return 1 << 62 | (sectors - 1) << shift | place


def _aliased_cluster() -> bytes:
    """One compressed cluster, named by every entry."""
    packer = zlib.compressobj(9, wbits=-12)
    data = packer.compress(bytes(65536)) + packer.flush()
    return qcow2(_GIB // 2, l2=[_packed(3 << 16, len(data), 16)] * 8192, clusters=data)


IMAGES: dict[str, Callable[[], bytes]] = {
    "grain.vmdk": lambda: grains(_bomb(), grain=_GIB // SECTOR, packed=True),
    "lies.vmdk": lambda: grains(*[_bomb()] * 2, grain=128, packed=True),
    "covers.vmdk": lambda: grains(None, capacity=1 << 30)[:44] + struct.pack("<I", 1 << 31) + bytes(_MIB),
    "capacity.vmdk": lambda: grains(None, capacity=1 << 54),
    "directory.vmdk": lambda: grains(None, grain=128, capacity=1 << 36),
    "one_table.vmdk": lambda: grains(*[None] * 512, grain=128, capacity=1 << 28, directory=[33] * 4096),
    "one_grain.vmdk": lambda: grains(b"x" * 65536, *[6] * 511, grain=128),
    "text.vmdk": lambda: grains(None, text=b"x")[:36] + struct.pack("<QI", 1 << 40, 512) + bytes(_MIB),
    "zeros.vmdk": lambda: text_of(None, "RW 999999999999999999 ZERO"),
    "extents.vmdk": lambda: text_of(None, *["RW 1 FLAT"] * 50_000),
    "table.qcow2": lambda: qcow2(1 << 50, l1=[0]),
    "names.qcow2": lambda: qcow2(4096, parent=b"x" * 60_000),
    "one_table.qcow2": lambda: qcow2(
        1 << 37, bits=12, l1=[0x2000] * (1 << 16), l2=[0x3000] * 512, clusters=bytes(4096)
    ),
    "one_cluster.qcow2": lambda: qcow2(_GIB // 2, l2=[3 << 16] * 8192, clusters=b"x" * 65536),
    "aliased.qcow2": _aliased_cluster,
    "lies.qcow2": lambda: qcow2(65536, l2=[_packed(3 << 16, len(_bomb(-12)), 16)], clusters=_bomb(-12)),
    "block.vhdx": lambda: vhdx(_TIB, block=1 << 31),
    "size.vhdx": lambda: vhdx(1 << 62),
    "blocks.vhdx": lambda: vhdx(_TIB),
    "one_block.vhdx": lambda: vhdx(_GIB, bat=[2 << 20 | 6] * 1024),
    "block.vhd": lambda: vhd(1 << 40, block=1 << 31),
    "blocks.vhd": lambda: vhd(1 << 40, blocks=0xFFFFFFFF),
    "size.vhd": lambda: vhd(1 << 60, blocks=16),
    "block.vdi": lambda: vdi(1 << 42, block=1 << 31),
    "blocks.vdi": lambda: vdi(_MIB, blocks=0xFFFFFFFF),
    "one_block.vdi": lambda: vdi(_GIB, entries=[0] * 1024) + bytes(_MIB),
    "chunk.E01": lambda: ewf(zlib.compress(bytes(_MIB)), sectors=1 << 21),
    "lies.E01": lambda: ewf(*[_bomb()] * 2),
    "circle.E01": lambda: ewf(zlib.compress(bytes(32768)), back=True),
    "one_chunk.E01": lambda: ewf(*[b""] * 4096),
}
_READ = {"lies.E01", "lies.qcow2"}
"""Those that unpack to more than they say: what they say is read, and no more."""


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of them in a folder, and a text of 2 GiB."""
    folder = tmp_path_factory.mktemp("images")
    for name, made in IMAGES.items():
        data = made()
        assert len(data) <= 9 * _MIB
        (folder / name).write_bytes(data)
    with (folder / "long.vmdk").open("wb") as file:
        file.write(text_of(None))
        file.truncate(2 * _GIB)
    return folder


_CHILD = """
import re, sys, time
from msmq_wire.capture.carve.reader import CarveReader
start = time.monotonic()
with CarveReader(sys.argv[1:]) as reader:
    for _ in reader:
        pass
# The peak of getrusage is that of the process that started this one, where that was larger.
[peak] = re.findall(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())
print(time.monotonic() - start, peak)
for one in reader.searched:
    print(one.name, one.size, (one.failure or "").replace("\\n", "<newline>"), sep="\\t")
"""


def _carved(*paths: Path) -> tuple[float, int, dict[str, str]]:
    """Search files in a process of its own: seconds, peak of memory in bytes, what is wrong with each."""
    command = [sys.executable, "-c", _CHILD, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    first, *rows = done.stdout.splitlines()
    seconds, kilobytes = first.split()
    reported = [row.split("\t") for row in rows]
    return float(seconds), int(kilobytes) << 10, {Path(name).name: failure for name, _, failure in reported}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_no_claim_of_an_image_costs_memory(images: Path) -> None:
    _, memory, failures = _carved(*sorted(images.iterdir()))
    assert memory < _MEMORY
    assert {name for name, failure in failures.items() if not failure} == _READ
    assert max(len(one.replace(str(images), "")) for one in failures.values()) < 200


@pytest.mark.check
@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize("name", [*IMAGES, "long.vmdk"])
def test_no_claim_of_an_image_costs_time(name: str, images: Path) -> None:
    seconds, memory, _ = _carved(images / name)
    assert memory < _MEMORY
    assert seconds < _SECONDS


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("grain.vmdk", "a grain has 1.1 GB"),
        ("covers.vmdk", "a table has 2,147,483,648 grains"),
        ("capacity.vmdk", "its disk has"),
        ("directory.vmdk", "longer than the file"),
        ("one_table.vmdk", "its tables lie over each other"),
        ("text.vmdk", "its text has"),
        ("long.vmdk", "its text has 2,147,483,648 bytes"),
        ("zeros.vmdk", "its disk has"),
        ("table.qcow2", "its first table has 1 entries"),
        ("names.qcow2", "the name of its parent has 60,000 bytes"),
        ("one_table.qcow2", "its tables lie over each other"),
        ("block.vhdx", "a block has 2.1 GB"),
        ("size.vhdx", "its disk has"),
        ("blocks.vhdx", "its table of 1,048,576 blocks does not fit"),
        ("block.vhd", "a block has 2.1 GB"),
        ("blocks.vhd", "its table of 4,294,967,295 blocks does not fit"),
        ("size.vhd", "its disk has"),
        ("block.vdi", "a block has 2.1 GB"),
        ("blocks.vdi", "its table of 4,294,967,295 blocks does not fit"),
        ("chunk.E01", "a chunk has 1.1 GB"),
        ("circle.E01", "section b'table' leads back"),
    ],
)
def test_a_size_that_cannot_be_is_refused_before_anything_is_read(
    name: str, reason: str, images: Path
) -> None:
    with pytest.raises(CaptureError, match=reason):
        open_container(images / name)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["one_grain.vmdk", "one_cluster.qcow2", "aliased.qcow2", "one_block.vhdx", "one_block.vdi"]
)
def test_tables_that_lead_to_the_same_bytes_again_and_again_end_a_pass(name: str, images: Path) -> None:
    with open_container(images / name) as file, pytest.raises(CaptureError, match="again and again"):
        for _ in file.extents(0, file.size):
            pass


@pytest.mark.slow
def test_a_compressed_unit_that_stands_at_two_places_costs_what_it_unpacks_to(images: Path) -> None:
    path = images / "one_grain.vmdk"
    with open_container(path) as file, pytest.raises(CaptureError, match="again and again") as failed:
        list(file.extents(0, file.size))
    assert 0 < (failed.value.offset or 0) <= 2 * path.stat().st_size


@pytest.mark.slow
def test_a_disk_of_a_pebibyte_is_searched_where_it_has_bytes(
    tmp_path: Path, message: Callable[[int], bytes]
) -> None:
    data = message(1).ljust(2 * _MIB, b"\0")
    entries = [0] * (1 << 18)
    entries[77] = 6 * _MIB
    image = tmp_path / "disk.qcow2"
    tables = [0] * 2048
    tables[2000] = 4 * _MIB
    image.write_bytes(qcow2(1 << 50, bits=21, l1=tables, l2=entries, clusters=data))
    with CarveReader([str(image)], hashing=True) as reader:
        [found] = list(reader)
        [searched] = reader.searched
    assert found.offset == (2000 << 39) + 77 * 2 * _MIB
    assert (searched.size, searched.disk_sha256) == (1 << 50, None)
    assert searched.unhashed == "most of 1.1 PB was never written"
    assert searched.sha256 == hashlib.sha256(image.read_bytes()).hexdigest()


@pytest.mark.slow
def test_what_lies_nowhere_is_hashed_as_zeros_where_it_is_not_much(tmp_path: Path) -> None:
    image = tmp_path / "disk.qcow2"
    image.write_bytes(qcow2(64 * _MIB, l2=[0] * 8 + [3 << 16] + [0] * 8183, clusters=b"x" * 65536))
    with Medium(str(image)) as medium:
        assert [(one.offset, len(one.data)) for one in medium.extents()] == [(8 << 16, 1 << 16)]
        zeros = bytes(64 * _MIB - (9 << 16))
        assert medium.disk_sha256 == hashlib.sha256(bytes(8 << 16) + b"x" * 65536 + zeros).hexdigest()


def test_a_message_over_a_small_stretch_of_nothing_is_whole(tmp_path: Path) -> None:
    from msmq_wire import build_message, encode

    body = b"a" * 65536 + bytes(3 * 65536) + b"b" * 65536
    packet = encode(build_message(r"DIRECT=OS:msg01\private$\orders", body, message_id=1))
    disk = packet.ljust(-(-len(packet) // 65536) * 65536, b"\0")
    parts = [disk[at : at + 65536] for at in range(0, len(disk), 65536)]
    entries, clusters = [], b""
    for part in parts:
        entries.append(3 * 65536 + len(clusters) if any(part) else 0)
        clusters += part if any(part) else b""
    assert 0 in entries
    image = tmp_path / "disk.qcow2"
    image.write_bytes(qcow2(len(disk), l2=entries + [0] * (8192 - len(entries)), clusters=clusters))
    with CarveReader([str(image)]) as reader:
        assert [one.grade for one in reader] == ["whole"]


def test_each_file_of_an_image_has_its_own_hash(tmp_path: Path) -> None:
    (tmp_path / "a.raw").write_bytes(b"a" * 4096)
    (tmp_path / "b.raw").write_bytes(b"b" * 4096)
    image = tmp_path / "disk.vmdk"
    image.write_bytes(text_of(None, 'RW 8 FLAT "a.raw" 0', 'RW 8 FLAT "b.raw" 0'))
    with Medium(str(image)) as medium:
        for _ in medium.extents():
            pass
        assert [(one.name, one.size, one.sha256) for one in medium.files] == [
            (
                name,
                os.path.getsize(tmp_path / name),
                hashlib.sha256((tmp_path / name).read_bytes()).hexdigest(),
            )
            for name in ("disk.vmdk", "a.raw", "b.raw")
        ]
        assert medium.sha256 == medium.files[0].sha256
        assert medium.disk_sha256 == hashlib.sha256(b"a" * 4096 + b"b" * 4096).hexdigest()
