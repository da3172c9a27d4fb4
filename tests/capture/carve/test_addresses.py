"""Maps of memory dumps, from heads that tell the truth and from such that do not."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from fixtures.build_at_rest import files
from msmq_wire.capture.carve.addresses import MemoryMap, memory_map

_PAGE = 4096


def mapped(data: bytes) -> MemoryMap | None:
    return memory_map(lambda offset, length: data[offset : offset + length], len(data))


def core(*segments: tuple[int, int, int], kind: int = 1) -> bytes:
    """An ELF core of 64 bits with segments (offset, address, size). System V ABI, program headers."""
    head = b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + struct.pack("<HHIQQQ", 4, 62, 1, 0, 64, 0)
    head += struct.pack("<IHHHHHH", 0, 64, 56, len(segments), 0, 0, 0)
    table = b"".join(
        struct.pack("<IIQQQQQQ", kind, 6, at, address, 0, size, size, _PAGE) for at, address, size in segments
    )
    return (head + table).ljust(_PAGE, b"\0") + bytes(4 * _PAGE)


def kernel(*runs: tuple[int, int], kind: int = 1) -> bytes:
    """A dump of the kernel with runs (page, pages): the physical memory block stands at 0x88."""
    block = struct.pack("<IIQ", len(runs), 0, sum(count for _, count in runs))
    head = b"PAGEDU64".ljust(0x88, b"\0") + block + b"".join(struct.pack("<QQ", *run) for run in runs)
    head = head.ljust(0xF98, b"\0") + struct.pack("<I", kind)
    return head.ljust(2 * _PAGE, b"\0") + bytes(_PAGE * sum(count for _, count in runs))


def test_a_minidump_says_where_its_ranges_were() -> None:
    data = files()[0]["memory.dmp"]
    found = mapped(data)
    assert found is not None
    assert (found.kind, found.space) == ("minidump", "virtual")
    begin = len(data) - 8192 - 4096
    assert found.address(begin + 104) == 0x1A2B0000 + 104
    assert found.address(begin + 8192) == 0x7FF600000000
    assert found.address(begin - 1) is None
    assert found.address(len(data)) is None
    assert found.borders() == [begin, begin + 8192, len(data)]


def test_a_list_of_ranges_anywhere_in_a_minidump_is_read_too() -> None:
    listed = struct.pack("<IQIIQII", 2, 0x5000, 16, 200, 0x9000, 16, 300)
    data = (
        struct.pack("<4sIIIIIQ", b"MDMP", 0, 1, 32, 0, 0, 2)
        + struct.pack("<III", 5, len(listed), 44)
        + listed
    )
    found = mapped(data.ljust(400, b"\0"))
    assert found is not None
    assert (found.address(205), found.address(315), found.address(250)) == (0x5005, 0x900F, None)


def test_a_dump_of_the_kernel_has_physical_addresses() -> None:
    found = mapped(kernel((1, 2), (256, 1)))
    assert found is not None
    assert (found.kind, found.space) == ("kernel dump", "physical")
    assert found.address(2 * _PAGE) == _PAGE
    assert found.address(4 * _PAGE + 5) == 256 * _PAGE + 5
    # One that holds some pages only has another table.
    partial = mapped(kernel((1, 2), kind=5))
    assert partial is not None
    assert partial.ranges == []


def test_a_core_has_the_addresses_of_its_segments_and_borders_where_memory_jumps() -> None:
    found = mapped(core((_PAGE, 0x400000, _PAGE), (2 * _PAGE, 0x401000, _PAGE), (3 * _PAGE, 0x900000, _PAGE)))
    assert found is not None
    assert found.address(2 * _PAGE + 1) == 0x401001
    assert found.borders() == [_PAGE, 3 * _PAGE, 4 * _PAGE]


def test_a_file_that_is_no_dump_has_no_map() -> None:
    assert mapped(b"\x7fELF\x02\x01\x01".ljust(64, b"\0")) is None
    assert mapped(b"") is None


def test_ranges_that_do_not_fit_the_file_are_left_out() -> None:
    found = mapped(core((_PAGE, 0x400000, 1 << 62), (1 << 63, 1, 1), (_PAGE, 5, 0)))
    assert found is not None
    assert found.ranges == []


@given(st.sampled_from([b"MDMP", b"PAGEDU64", b"\x7fELF\x02\x01"]), st.binary(max_size=300), st.booleans())
def test_no_head_raises_or_makes_more_ranges_than_it_can_hold(magic: bytes, rest: bytes, dump: bool) -> None:
    data = magic + rest
    if dump:
        data = data.ljust(_PAGE, b"\xff")
    if magic.startswith(b"\x7f"):
        data = data[:16].ljust(16, b"\0") + b"\4\0" + data[18:]
    found = mapped(data)
    for one in found.ranges if found is not None else ():
        assert 0 <= one.offset < one.offset + one.length <= len(data)


def test_a_range_beyond_the_last_address_is_none() -> None:
    found = mapped(core((_PAGE, (1 << 64) - _PAGE, _PAGE), (2 * _PAGE, (1 << 64) - 1, _PAGE)))
    assert found is not None
    assert [one.offset for one in found.ranges] == [_PAGE]


def test_program_headers_of_another_size_are_not_read() -> None:
    asked: list[int] = []
    data = bytearray(core((_PAGE, 0x400000, _PAGE)))
    struct.pack_into("<HH", data, 54, 65535, 65535)

    def read(offset: int, length: int) -> bytes:
        asked.append(length)
        return bytes(data[offset : offset + length])

    found = memory_map(read, len(data))
    assert found is not None
    assert found.ranges == []
    assert max(asked) <= _PAGE
