"""pcapng files: sections, interfaces with their clocks, the three kinds of packet block, and what they lost.

Blocks of other kinds (names, decryption secrets, custom) are stepped over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from struct import Struct
from typing import NamedTuple

from msmq_wire.capture.pcap import Frame, Window
from msmq_wire.errors import CaptureError
from msmq_wire.units import SECOND

PCAPNG_MAGIC = b"\x0a\x0d\x0d\x0a"

_MAX_INTERFACES = 1 << 16
_SECTION_HEADER = 0x0A0D0D0A
_INTERFACE = 1
_STATISTICS = 5
OBSOLETE_PACKET = 2
SIMPLE_PACKET = 3
ENHANCED_PACKET = 6

BLOCK_HEADER = 12
LARGEST_BLOCK = 1 << 27
END_OF_TIME = 1 << 63
_OPTION_END = 0
_OPTION_RESOLUTION = 9
_OPTION_OFFSET = 14
_OPTION_FILTER = 11
_DROPPED_BEFORE = 4
_DROPPED_BY_INTERFACE, _DROPPED_BY_SYSTEM = 5, 7
_MOST_FILTER = 256

_packed = Struct("<HIBq")


class ByteOrder:
    """The structures of one byte order."""

    def __init__(self, order: str) -> None:
        self.byte_order = order
        self.block = Struct(order + "II").unpack_from
        self.version = Struct(order + "HH").unpack_from
        self.interface = Struct(order + "H2xI").unpack_from
        self.option = Struct(order + "HH").unpack_from
        self.seconds = Struct(order + "q").unpack_from
        self.simple = Struct(order + "I").unpack_from
        self.enhanced = Struct(order + "IIIII").unpack_from
        self.obsolete = Struct(order + "H2xIIII").unpack_from
        self.count = Struct(order + "Q").unpack_from


_ORDERS = {b"\x4d\x3c\x2b\x1a": ByteOrder("<"), b"\x1a\x2b\x3c\x4d": ByteOrder(">")}


class CaptureInterface(NamedTuple):
    """An interface of the current section; its clock reads ``ticks * multiplier // divisor + offset`` ns.

    ``resolution`` is the octet that says how long a tick is.
    """

    link_type: int
    snap_length: int
    multiplier: int
    divisor: int
    offset: int
    resolution: int


class CaptureLosses:
    """What a file says of itself: frames that were dropped, and how it was filtered.

    ``counted`` are those of each interface, by section and number, ``between`` those that packet blocks name.
    ``filters`` are the texts of capture filters.
    """

    def __init__(self) -> None:
        self.counted: dict[tuple[int, int], int] = {}
        self.between = 0
        self.filters: dict[str, None] = {}

    @property
    def dropped(self) -> int:
        """Frames that were dropped, at least: both kinds may count the same ones."""
        return max(self.between, sum(self.counted.values()))


def read_pcapng(window: Window, losses: CaptureLosses | None = None) -> Iterator[Frame]:
    """Yield the frames of a pcapng file that starts at the window's first byte.

    Each section has its own byte order and interfaces. The section length is not used: blocks are walked one
    by one, and a new section header starts a new section wherever it stands. Raises `CaptureError` with the
    offset of the block that is cut or damaged, after the frames before it. ``losses`` are counted into.
    """
    blocks = Blocks(losses=losses)
    at = 0
    while True:
        if len(window.buffer) - at < BLOCK_HEADER:
            whole = window.more(at, BLOCK_HEADER)
            at = 0
            if not whole:
                if blocks.section < 0 or window.buffer or window.failure is not None:
                    raise window.cut(0, "a block header")
                return
        total = blocks.measure(window.buffer, at, window.start + at)
        if len(window.buffer) - at < total:
            whole = window.more(at, total)
            at = 0
            if not whole:
                raise window.cut(0, f"a block of {total} bytes")
        frame = blocks.take(window.buffer, at, total, window.start + at)
        if frame is not None:
            yield frame
        at += total


class Blocks:
    """Takes the blocks of a pcapng file one by one, and knows what those so far say about the next.

    ``number`` counts the frames, ``section`` the sections from 0, -1 before the first; ``order`` and
    ``interfaces`` are those of the section. ``losses`` are what they say was not captured.
    """

    def __init__(
        self,
        number: int = 0,
        section: int = -1,
        order: str = "<",
        interfaces: Iterable[CaptureInterface] = (),
        *,
        losses: CaptureLosses | None = None,
    ) -> None:
        self.losses = losses or CaptureLosses()
        self.number = number
        self.section = section
        self.interfaces = list(interfaces)
        self.order = ByteOrder(order)

    def measure(self, buffer: bytes | bytearray, at: int, position: int) -> int:
        """Return the length of the block whose first 12 bytes are at ``buffer[at]``.

        ``position`` is its offset in the file, for the CaptureError about a length that cannot be true.
        """
        if buffer[at : at + 4] == PCAPNG_MAGIC:
            byte_order = bytes(buffer[at + 8 : at + 12])
            if byte_order not in _ORDERS:
                raise CaptureError(
                    f"a section header with the byte-order magic {byte_order.hex()}", offset=position
                )
            self.order = _ORDERS[byte_order]
        elif self.section < 0:
            raise CaptureError("a pcapng file starts with a section header", offset=position)
        total: int = self.order.block(buffer, at)[1]
        if total < BLOCK_HEADER or total > LARGEST_BLOCK:
            raise CaptureError(f"a block claims a length of {total} bytes", offset=position)
        # Some writers fill a block up to 4 bytes and do not count them.
        return total + (-total & 3)

    def take(self, buffer: bytes | bytearray, at: int, total: int, position: int) -> Frame | None:
        """Take the block that `measure` measured; return the frame in it, or None."""
        order = self.order
        end = at + total - 4
        if buffer[end : end + 4] != buffer[at + 4 : at + 8]:
            raise CaptureError("a block has two different lengths at its ends", offset=position)
        kind = order.block(buffer, at)[0]
        if kind in (ENHANCED_PACKET, OBSOLETE_PACKET):
            if total < 32:
                raise CaptureError("a packet block is too short for its fields", offset=position)
            unpack = order.enhanced if kind == ENHANCED_PACKET else order.obsolete
            index, high, low, captured, length = unpack(buffer, at + 8)
            body = at + 28
            if index >= len(self.interfaces):
                raise CaptureError(f"a packet block names the unknown interface {index}", offset=position)
            interface = self.interfaces[index]
            nanoseconds = (high << 32 | low) * interface.multiplier // interface.divisor + interface.offset
            time = nanoseconds if 0 <= nanoseconds < END_OF_TIME else None
        elif kind == SIMPLE_PACKET:
            if total < 16:
                raise CaptureError("a packet block is too short for its fields", offset=position)
            if not self.interfaces:
                raise CaptureError("a simple packet block before any interface", offset=position)
            index = 0
            interface = self.interfaces[0]
            (length,) = order.simple(buffer, at + 8)
            captured = min(length, interface.snap_length) if interface.snap_length else length
            body = at + 12
            time = None
        else:
            if kind == _SECTION_HEADER:
                _check_version(buffer, at, total, order, position)
                self.section += 1
                self.interfaces = []
            elif kind == _INTERFACE:
                if len(self.interfaces) == _MAX_INTERFACES:
                    raise CaptureError(
                        f"more than {_MAX_INTERFACES} interfaces in a section", offset=position
                    )
                self.interfaces.append(_read_interface(buffer, at, end, order, position))
                self._filtered(buffer, at, end)
            elif kind == _STATISTICS and total >= 24:
                self._count(buffer, at, end)
            return None

        if captured > end - body:
            raise CaptureError(f"a packet of {captured} bytes does not fit its block", offset=position)
        self.number += 1
        if kind == ENHANCED_PACKET:
            self.dropped_before(buffer, body + captured + (-captured & 3), end)
        data = bytes(buffer[body : body + captured])
        return Frame(self.number, time, interface.link_type, data, length, position, index, self.section)

    def dropped_before(self, buffer: bytes | bytearray, at: int, end: int) -> None:
        """Count what the options of an enhanced packet block say was dropped before it."""
        for code, place, size in _options(buffer, at, end, self.order):
            if code == _DROPPED_BEFORE and size == 8:
                self.losses.between += self.order.count(buffer, place)[0]

    def _count(self, buffer: bytes | bytearray, at: int, end: int) -> None:
        """Take the counters of an interface: each block has all so far."""
        (interface,) = self.order.simple(buffer, at + 8)
        counts = [
            self.order.count(buffer, place)[0]
            for code, place, size in _options(buffer, at + 20, end, self.order)
            if code in (_DROPPED_BY_INTERFACE, _DROPPED_BY_SYSTEM) and size == 8
        ]
        if counts and interface < len(self.interfaces):
            self.losses.counted[self.section, interface] = sum(counts)

    def _filtered(self, buffer: bytes | bytearray, at: int, end: int) -> None:
        """Take the text of a capture filter, [pcapng] 4.2: a kind of filter, and the filter."""
        for code, place, size in _options(buffer, at + 16, end, self.order):
            text = bytes(buffer[place + 1 : place + min(size, _MOST_FILTER)]).decode("utf-8", "replace")
            if code == _OPTION_FILTER and size > 1 and buffer[place] == 0 and len(self.losses.filters) < 8:
                self.losses.filters[text] = None


def _options(
    buffer: bytes | bytearray, at: int, end: int, order: ByteOrder
) -> Iterator[tuple[int, int, int]]:
    """The code, place and size of each option that is whole."""
    while end - at >= 4:
        code, size = order.option(buffer, at)
        at += 4
        if code == _OPTION_END or size > end - at:
            return
        yield code, at, size
        at += size + (-size & 3)


def _check_version(buffer: bytes | bytearray, at: int, total: int, order: ByteOrder, position: int) -> None:
    if total < 28:
        raise CaptureError("a section header is too short for its fields", offset=position)
    major, minor = order.version(buffer, at + 12)
    if major != 1:
        raise CaptureError(f"pcapng version {major}.{minor} is not 1.x", offset=position)


def _read_interface(
    buffer: bytes | bytearray, at: int, end: int, order: ByteOrder, position: int
) -> CaptureInterface:
    if end - at < 16:
        raise CaptureError("an interface block is too short for its fields", offset=position)
    link_type, snap_length = order.interface(buffer, at + 8)
    resolution = 6
    offset = 0
    at += 16
    while at < end:
        if end - at < 4:
            raise CaptureError("an option of an interface block is cut", offset=position)
        code, size = order.option(buffer, at)
        at += 4
        if code == _OPTION_END:
            break
        if size > end - at:
            raise CaptureError(f"option {code} of an interface block runs past the block", offset=position)
        if code == _OPTION_RESOLUTION and size == 1:
            resolution = buffer[at]
        elif code == _OPTION_OFFSET and size == 8:
            (offset,) = order.seconds(buffer, at)
        at += size + (-size & 3)
    return _interface(link_type, snap_length, resolution, offset)


def _interface(link_type: int, snap_length: int, resolution: int, offset: int) -> CaptureInterface:
    """The interface with an offset in seconds."""
    # The high bit of the resolution says powers of two instead of powers of ten.
    ticks = 1 << (resolution & 0x7F) if resolution & 0x80 else 10**resolution
    if SECOND % ticks == 0:
        return CaptureInterface(link_type, snap_length, SECOND // ticks, 1, offset * SECOND, resolution)
    return CaptureInterface(link_type, snap_length, SECOND, ticks, offset * SECOND, resolution)


def pack_interfaces(interfaces: Iterable[CaptureInterface]) -> bytes:
    """Return what `unpack_interfaces` takes, 15 bytes for each interface."""
    return b"".join(
        _packed.pack(one.link_type, one.snap_length, one.resolution, one.offset // SECOND)
        for one in interfaces
    )


def unpack_interfaces(packed: bytes) -> list[CaptureInterface]:
    """Return the interfaces that `pack_interfaces` took; `CaptureError` when the length is not theirs."""
    if len(packed) % _packed.size:
        raise CaptureError(f"packed interfaces of {len(packed)} bytes")
    return [_interface(*fields) for fields in _packed.iter_unpack(packed)]
