"""Classic pcap files: the window every capture reader looks through, the frame they give, the records.

A reader keeps one rule: everything before the damage is given out, then one `CaptureError` names the damage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from struct import Struct
from typing import NamedTuple

import msgspec

from msmq_wire.errors import CaptureError
from msmq_wire.units import SECOND

# Magic bytes in file order: byte order for struct, nanoseconds in a fraction, bytes in a record header.
PCAP_MAGICS: dict[bytes, tuple[str, int, int]] = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000, 16),
    b"\xa1\xb2\xc3\xd4": (">", 1000, 16),
    b"\x4d\x3c\xb2\xa1": ("<", 1, 16),
    b"\xa1\xb2\x3c\x4d": (">", 1, 16),
    # Kuznetzov's format adds interface index, protocol and packet type to each record.
    b"\x34\xcd\xb2\xa1": ("<", 1000, 24),
    b"\xa1\xb2\xcd\x34": (">", 1000, 24),
}

FILE_HEADER = 24
# A snap length in the header is often too small and sometimes nonsense: it may only raise the first bound.
_USUAL_RECORD = 1 << 20
_LARGEST_RECORD = 1 << 27
_SWAPS = 3


class Frame(msgspec.Struct, frozen=True, gc=False):
    """One captured link-layer frame.

    ``number`` counts from 1 over the whole file; ``time`` is nanoseconds since the epoch, UTC, or None where
    the file has no time that fits 63 bits; ``link_type`` is a LINKTYPE number; ``data`` holds the captured
    bytes and ``length`` says how many there were on the wire; ``position`` is the offset of the record in the
    uncompressed file; ``interface`` and ``section`` count from 0 (always 0 in classic pcap).
    """

    number: int
    time: int | None
    link_type: int
    data: bytes
    length: int
    position: int
    interface: int = 0
    section: int = 0


class Window:
    """The part of a byte stream that a reader looks at.

    ``buffer`` holds bytes, ``start`` is the stream offset of ``buffer[0]``. A `CaptureError` from the stream
    counts as its end and is kept in ``failure``, so that whole records before it are still read.
    ``fill``, if the stream has it, reads what comes after its chunks so far into a view and returns the
    count, 0 at the end.
    """

    __slots__ = ("_chunks", "buffer", "failure", "fill", "start")

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self.buffer = b""
        self.start = 0
        self.failure: CaptureError | None = None
        self.fill: Callable[[memoryview], int] | None = None

    def more(self, at: int, need: int) -> bool:
        """Drop the bytes before ``at``, then read until ``need`` bytes are there; False when they are not.

        ``buffer[0]`` is afterwards the byte that was at ``at``. Reads what the stream has, never what
        ``need`` claims.
        """
        parts = [self.buffer[at:]]
        have = len(parts[0])
        self.start += min(at, len(self.buffer))
        try:
            while have < need:
                chunk = next(self._chunks, None)
                if chunk is None:
                    break
                parts.append(chunk)
                have += len(chunk)
        except CaptureError as error:
            self.failure = CaptureError(error.message, offset=self.start + have)
        self.buffer = parts[0] if len(parts) == 1 else b"".join(parts)
        return have >= need

    def read_into(self, view: memoryview) -> int:
        """Move the next bytes of the stream into ``view``; return how many, 0 only at the end.

        For readers that have a buffer of their own: ``start`` moves along, and nothing stays in ``buffer``
        but what does not fit.
        """
        if not self.buffer and self.failure is None:
            try:
                if self.fill is not None:
                    count = self.fill(view)
                    self.start += count
                    return count
                # A decompressor may have nothing to give for what it took.
                self.buffer = next(filter(None, self._chunks), b"")
            except CaptureError as error:
                self.failure = CaptureError(error.message, offset=self.start)
        count = min(len(self.buffer), len(view))
        view[:count] = self.buffer[:count]
        self.buffer = self.buffer[count:]
        self.start += count
        return count

    def cut(self, at: int, what: str) -> CaptureError:
        """Return the error for a stream that ends inside ``what``, which starts at ``buffer[at]``."""
        if self.failure is not None:
            return self.failure
        return CaptureError(f"the file is cut inside {what}", offset=self.start + at)

    def rest(self) -> Iterator[bytes]:
        """Yield the bytes in the window and everything after it; errors of the stream are raised."""
        if self.buffer:
            yield self.buffer
        if self.failure is not None:
            raise self.failure
        yield from self._chunks


class PcapHeader(NamedTuple):
    """What the file header says of every record.

    ``order`` is the byte order for struct, ``unit`` the nanoseconds in a fraction, ``header`` the bytes in a
    record header, ``largest`` the most a record may claim. ``swaps`` says that the length on the wire may
    stand before the captured one, as libpcap wrote it up to version 2.2 of the format, and others in 2.3.
    """

    order: str
    unit: int
    header: int
    largest: int
    link_type: int
    swaps: bool


def read_header(window: Window) -> PcapHeader:
    """Read the file header of a classic pcap file at the window's first byte; it stays in the window."""
    if not window.more(0, 4):
        raise window.cut(0, "the pcap file header")
    magic = window.buffer[:4]
    if magic not in PCAP_MAGICS:
        raise CaptureError(f"no pcap file: it starts with {magic.hex()}", offset=window.start)
    if not window.more(0, FILE_HEADER):
        raise window.cut(0, "the pcap file header")
    order, unit, header = PCAP_MAGICS[magic]
    major, minor, snap_length, network = Struct(order + "4xHH8xII").unpack_from(window.buffer)
    if major != 2:
        raise CaptureError(f"pcap version {major}.{minor} is not 2.x", offset=window.start)
    largest = min(max(snap_length, _USUAL_RECORD), _LARGEST_RECORD)
    return PcapHeader(order, unit, header, largest, network & 0xFFFF, minor <= _SWAPS)


def read_pcap(window: Window) -> Iterator[Frame]:
    """Yield the frames of a classic pcap file that starts at the window's first byte.

    Both byte orders, microseconds and nanoseconds, and Kuznetzov's longer records. The link type is the low
    16 bits of its word; a frame check sequence announced in the high bits stays in ``data``, because the
    length in the IP header already separates it from the payload. A record may hold more bytes than it had
    on the wire. Raises `CaptureError` with the offset of the record that is cut or cannot be true.
    """
    order, unit, header, largest, link_type, swaps = read_header(window)
    unpack_record = Struct(order + "IIII").unpack_from

    number = 0
    at = FILE_HEADER
    buffer = window.buffer
    limit = len(buffer)
    start = window.start
    while True:
        if limit - at < header:
            whole = window.more(at, header)
            buffer, start, at = window.buffer, window.start, 0
            limit = len(buffer)
            if not whole:
                if limit or window.failure is not None:
                    raise window.cut(0, "a record header")
                return
        seconds, fraction, captured, length = unpack_record(buffer, at)
        if swaps and captured > length:
            captured, length = length, captured
        if captured > largest:
            raise CaptureError(f"a record claims {captured} bytes, over {largest}", offset=start + at)
        end = at + header + captured
        if end > limit:
            whole = window.more(at, header + captured)
            buffer, start, at = window.buffer, window.start, 0
            limit = len(buffer)
            if not whole:
                raise window.cut(0, f"a record of {captured} bytes")
            end = header + captured
        number += 1
        yield Frame(
            number,
            seconds * SECOND + fraction * unit,
            link_type,
            buffer[at + header : end],
            length,
            start + at,
        )
        at = end
