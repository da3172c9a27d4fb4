"""`PacketFramer`: bytes of one TCP direction in, packets of the binary protocol out.

The rules kept here:

* Every byte fed is in exactly one event, `FramedPacket` or `StreamHole`; what is decided depends on the bytes
  and the gaps, never on how they were split into feeds. Each byte is copied and looked at a bounded number of
  times.
* A packet takes PacketSize bytes, and 16 more for the SessionHeader that PacketSize does not count: SH
  without IN ([MS-MQMQ] 2.2.19.1, [MS-MQQB] 2.2.6).
* Where a packet must start (at the beginning, behind a packet), the right signature makes one,
  whatever PacketSize says: below 16 it is cut behind its BaseHeader; above 0x00400000 it is cut at
  ``max_pending``, and its end is not believed.
* Everywhere else a start must be found. A candidate is a credible header (`is_credible`). It is confirmed
  when its packet ends where another one starts, or where the bytes end (at a gap, at the end). One that is
  not confirmed is taken only when no other candidate starts inside it; where the bytes end before a candidate
  can be judged, the first confirmed one wins, then the first one. So a signature inside a message body costs
  nothing but delay, unless that body holds whole packets.
* A packet cut by a gap still says where the next one starts: when the gap has a length and lies inside the
  packet, framing goes on exactly there, and the rest of the packet behind the gap is a `StreamHole`.
"""

from __future__ import annotations

from collections import deque
from typing import Literal, TypeAlias

import msgspec

from msmq_wire.reassembly.tcp_events import Reason
from msmq_wire.wire.headers.base_header import MAX_PACKET_SIZE, SIGNATURE, VERSION_NUMBER

HoleReason: TypeAlias = Reason | Literal["no-signature", "rest-of-packet", "packet-size"]

_Mark: TypeAlias = tuple[int, int, int]
_SIGNATURE = SIGNATURE.to_bytes(4, "little")
_BASE_HEADER = 16
_SESSION_HEADER = 16
MAX_PENDING = MAX_PACKET_SIZE + _SESSION_HEADER
"""The longest packet that is taken whole, unless a framer is told otherwise."""
SIZED = 12
"""Bytes that tell whether a packet starts here, and its size."""
_SMALLEST = 20  # BaseHeader and the smallest header that can follow it
MARK_COST = 176  # of remembering which frame carried some bytes
_KEPT = 256  # bytes of a hole that are shown


class FramedPacket(msgspec.Struct, frozen=True, gc=False):
    """One packet: ``data`` are its bytes, the SessionHeader behind PacketSize included.

    ``offset`` counts from the first byte of the direction, gaps of known length included. ``frames`` are the
    distinct frames that carried a part, in order; ``time`` is that of the one captured last. Without
    ``complete`` the packet was cut, and ``data`` is what there was.
    """

    offset: int
    data: bytes
    frames: tuple[int, ...]
    time: int
    complete: bool


class StreamHole(msgspec.Struct, frozen=True, gc=False):
    """Bytes that are in no packet: missing from the capture, or captured and skipped.

    ``reason`` is that of the gap for missing bytes (``length`` None when unknown: offsets do not move,
    and ``data`` is empty). Skipped bytes are ``no-signature`` (no packet starts there),
    ``rest-of-packet`` (a packet cut before them claims them) or ``packet-size`` (they follow a packet
    whose PacketSize is not believed); then ``data`` holds at most the first 256. ``frames`` are the first
    and the last frame that carried the bytes, or those that the gap lies between; ``time`` is that of the
    last.
    """

    offset: int
    length: int | None
    reason: HoleReason
    frames: tuple[int, ...]
    time: int
    data: bytes = b""


FramerEvent: TypeAlias = FramedPacket | StreamHole


def is_credible(data: bytes | bytearray | memoryview, offset: int = 0) -> bool:
    """Whether the bytes at ``offset`` look like a packet: version, signature, a possible PacketSize.

    Flags are not judged: reserved bits are set in real packets. Fewer than 12 bytes are not credible.
    [MS-MQMQ] 2.2.19.1.
    """
    return (
        _starts(data, offset)
        and data[offset] == VERSION_NUMBER
        and _SMALLEST <= _packet_size(data, offset) <= MAX_PACKET_SIZE
    )


def _starts(data: bytes | bytearray | memoryview, offset: int) -> bool:
    """Whether a packet starts where one must: its version is judged later, like any other value."""
    return len(data) >= offset + SIZED and data[offset + 4 : offset + 8] == _SIGNATURE


def begins(data: bytes | bytearray) -> bool:
    """Whether fewer bytes than tell may still be the start of a packet."""
    return (len(data) > 4 or data[:1] in (b"", b"\x10")) and _SIGNATURE.startswith(data[4:8])


def _packet_size(data: bytes | bytearray | memoryview, offset: int) -> int:
    return int.from_bytes(data[offset + 8 : offset + 12], "little")


def packet_length(data: bytes | bytearray | memoryview, offset: int = 0) -> int:
    """Bytes on the stream of the packet that starts at ``offset``: at least those of its BaseHeader."""
    extra = _SESSION_HEADER if data[offset + 2] & 0x18 == 0x10 else 0
    return max(_BASE_HEADER, _packet_size(data, offset) + extra)


def _frame(mark: _Mark) -> int:
    return mark[1]


# Most directions hold nothing most of the time: this stands for that, and nothing is ever put into it.
_NO_MARKS: deque[_Mark] = deque(maxlen=0)


class PacketFramer:
    """Feed the bytes of one direction in order and tell its gaps; take events of what they complete.

    ``max_pending`` bounds the bytes held for one packet (at least 64; 12 more while a packet start is being
    confirmed): a longer packet is cut there, and no candidate is longer. No bytes make a method raise.
    """

    __slots__ = (
        "_candidate", "_enough", "_held", "_hole_data", "_hole_length", "_hole_marks", "_hole_reason",
        "_lost", "_marks", "_max_pending", "_offset", "_rest",
    )  # fmt: skip

    def __init__(self, *, max_pending: int = MAX_PENDING) -> None:
        self._max_pending = max(64, max_pending)
        self._held = bytearray()  # when framing is in step, only the start of one packet
        self._offset = 0  # of the first byte held
        self._marks = _NO_MARKS  # (offset, frame, time) where a frame begins
        self._enough = SIZED  # bytes held before anything can be decided
        self._lost = False
        self._candidate = False  # while lost: a credible header is the first thing held
        self._rest = 0  # bytes to skip before the next packet starts
        self._hole_reason: HoleReason = "no-signature"
        self._hole_length = 0
        self._hole_data = b""
        self._hole_marks: tuple[_Mark, ...] = ()  # of its first and its last frame

    @property
    def offset(self) -> int:
        """Offset of the next byte to feed."""
        return self._offset + len(self._held)

    @property
    def pending_bytes(self) -> int:
        """Bytes held because a packet is not complete."""
        return len(self._held)

    @property
    def pending_cost(self) -> int:
        """What they cost: themselves, and a little for every frame that carried some."""
        return len(self._held) + MARK_COST * len(self._marks)

    @property
    def wanted(self) -> int | None:
        """How many bytes at least the next event takes; 0 where the next byte must start a packet.

        None while a start has to be found.
        """
        if self._lost:
            return None
        if self._rest:
            return self._rest
        return self._enough - len(self._held) if self._held else 0

    def advance(self, count: int) -> None:
        """Count ``count`` bytes of whole packets that were framed elsewhere; only while ``wanted`` is 0."""
        self._offset += count

    def feed(self, data: bytes, frame: int, time: int) -> list[FramerEvent]:
        """Take the next bytes, which ``frame`` carried at ``time``; return the events they complete."""
        events: list[FramerEvent] = []
        size, at = len(data), 0
        while at < size:
            if not self._held and not self._lost and not self._rest:
                at = self._slice(data, at, frame, time, events)
                if at == size or self._lost:
                    continue
            # In step, no more is taken than the packet needs: what follows can then be sliced.
            stop = size if self._lost else min(size, at + max(self._rest, self._enough - len(self._held)))
            self._hold(data if stop - at == size else data[at:stop], frame, time)
            at = stop
            if len(self._held) >= self._enough or self._rest:
                self._decide(False, events)
        return events

    def gap(
        self, length: int | None, reason: Reason, frame: int, time: int, since: int = 0
    ) -> list[FramerEvent]:
        """Take note of ``length`` bytes (None: unknown) missing between two frames (0: the start)."""
        events: list[FramerEvent] = []
        if length is not None and length <= 0:
            return events
        lacking = self._close(events)
        events.append(
            StreamHole(self._offset, length, reason, tuple(dict.fromkeys((since or frame, frame))), time)
        )
        self._offset += length or 0
        if length is None or lacking is None or length > lacking:
            self._lose("no-signature")
        else:
            self._rest, self._hole_reason = lacking - length, "rest-of-packet"
        return events

    def finish(self) -> list[FramerEvent]:
        """Return what is left: nothing more comes."""
        events: list[FramerEvent] = []
        self._close(events)
        return events

    def _slice(self, data: bytes, at: int, frame: int, time: int, events: list[FramerEvent]) -> int:
        """Take whole packets out of ``data`` while nothing is held; return where they end."""
        size = len(data)
        while size - at >= SIZED:
            if not _starts(data, at):
                self._lose("no-signature")
                break
            length = packet_length(data, at)
            if length > size - at or length > self._max_pending:
                break
            stop = at + length
            complete = _packet_size(data, at) >= _BASE_HEADER
            events.append(FramedPacket(self._offset, data[at:stop], (frame,), time, complete))
            self._offset += length
            at = stop
        return at

    def _hold(self, data: bytes, frame: int, time: int) -> None:
        if self._marks is _NO_MARKS:
            self._marks = deque()
        marks = self._marks
        if not marks or marks[-1][1:] != (frame, time):
            marks.append((self._offset + len(self._held), frame, time))
        self._held += data

    def _decide(self, final: bool, events: list[FramerEvent]) -> None:
        """Turn what is held into events as far as it goes; ``final``: no bytes follow it."""
        while True:
            if self._rest:
                count = min(self._rest, len(self._held))
                self._rest -= count
                self._skip(count)
                if self._rest:
                    self._enough = 1
                    return
                self._tell_hole(events)
            elif not (self._resynchronise(final, events) if self._lost else self._take(events)):
                return

    def _take(self, events: list[FramerEvent]) -> bool:
        """Take the packet that must start here; False when more bytes are needed."""
        held = self._held
        self._enough = SIZED
        if len(held) < SIZED:
            return False
        if not _starts(held, 0):
            self._lose("no-signature")
            return True
        length = packet_length(held, 0)
        taken = self._enough = min(length, self._max_pending)
        if len(held) < taken:
            return False
        packet_size = _packet_size(held, 0)
        self._emit(taken, taken == length and packet_size >= _BASE_HEADER, events)
        if taken < length:
            if packet_size > MAX_PACKET_SIZE:
                self._lose("packet-size")
            else:
                self._rest, self._hole_reason = length - taken, "rest-of-packet"
        return True

    def _resynchronise(self, final: bool, events: list[FramerEvent]) -> bool:
        """Look for a packet start; False when more bytes are needed."""
        held = self._held
        if not self._candidate:
            found = self._find(0, len(held))
            if found is None:
                # A signature may have been fed in part.
                self._skip(max(0, len(held) - SIZED + 1))
                self._enough = SIZED
                return False
            self._skip(found)
            self._candidate = True
        length = packet_length(held, 0)
        # What starts right behind a gap and ends with a frame is believed: the next may be long in coming.
        behind_gap = not self._hole_length
        if not final and len(held) < length + SIZED and not (behind_gap and len(held) == length):
            self._enough = length if behind_gap and len(held) < length else length + SIZED
            return False
        if not self._confirmed(0):
            stop = min(length, len(held))
            rival = self._find(1, stop)
            if len(held) < length + SIZED:
                while rival is not None and not self._confirmed(rival):
                    rival = self._find(rival + 1, stop)
            if rival is not None:
                self._skip(rival)
                return True
            if len(held) < length:
                return False
        self._tell_hole(events)
        self._emit(length, True, events)
        self._lost = self._candidate = False
        return True

    def _find(self, start: int, stop: int) -> int | None:
        """Find the first candidate that starts in ``held[start:stop]``."""
        held = self._held
        at = held.find(_SIGNATURE, start + 4, stop + 7)
        while at >= 0:
            if is_credible(held, at - 4) and packet_length(held, at - 4) <= self._max_pending:
                return at - 4
            at = held.find(_SIGNATURE, at + 1, stop + 7)
        return None

    def _confirmed(self, at: int) -> bool:
        """Whether the packet at ``held[at:]`` ends where another may start, or where the bytes end."""
        stop = at + packet_length(self._held, at)
        if len(self._held) - stop >= SIZED:
            return _starts(self._held, stop)
        return stop <= len(self._held) and begins(self._held[stop:])

    def _close(self, events: list[FramerEvent]) -> int | None:
        """Turn all that is held into events; return what the packet cut here lacks, None when unknown."""
        self._decide(True, events)
        lacking: int | None = self._rest
        self._rest = 0
        count = len(self._held)
        if self._lost:
            lacking = None
            if self._candidate:
                self._tell_hole(events)
                self._emit(count, False, events)
            self._skip(len(self._held))
        elif count >= SIZED:
            believed = _packet_size(self._held, 0) <= MAX_PACKET_SIZE
            lacking = packet_length(self._held, 0) - count if believed else None
            self._emit(count, False, events)
        elif count and begins(self._held):
            lacking = None
            self._emit(count, False, events)
        elif count:
            lacking, self._hole_reason = None, "no-signature"
            self._skip(count)
        self._tell_hole(events)
        self._lost = self._candidate = False
        self._enough = SIZED
        return lacking

    def _lose(self, reason: HoleReason) -> None:
        self._lost, self._candidate, self._hole_reason = True, False, reason
        self._enough = SIZED

    def _emit(self, length: int, complete: bool, events: list[FramerEvent]) -> None:
        """Make a packet of the first ``length`` bytes held."""
        offset = self._offset
        with memoryview(self._held) as view:
            data = bytes(view[:length])
        marks = self._drop(length)
        frames = tuple(dict.fromkeys(frame for _, frame, _ in marks))
        # Frames may carry the stream out of order: the one captured last completes the packet.
        events.append(FramedPacket(offset, data, frames, max(marks, key=_frame)[2], complete))

    def _skip(self, length: int) -> None:
        """Count the first ``length`` bytes held into the hole that is open."""
        if length:
            self._hole_data += self._held[: min(length, _KEPT - len(self._hole_data))]
            self._hole_length += length
            marks = self._drop(length)
            self._hole_marks = (self._hole_marks[0] if self._hole_marks else marks[0], marks[-1])

    def _tell_hole(self, events: list[FramerEvent]) -> None:
        if self._hole_length:
            start, length = self._offset - self._hole_length, self._hole_length
            frames = tuple(dict.fromkeys(frame for _, frame, _ in self._hole_marks))
            time = self._hole_marks[-1][2]
            events.append(StreamHole(start, length, self._hole_reason, frames, time, self._hole_data))
            self._hole_length = 0
            self._hole_data = b""
            self._hole_marks = ()

    def _drop(self, length: int) -> list[_Mark]:
        """Forget the first ``length`` bytes held; return the marks of the frames that carried them."""
        marks: deque[_Mark] = self._marks
        passed: list[_Mark] = []
        self._offset += length
        del self._held[:length]
        while len(marks) > 1 and marks[1][0] <= self._offset:
            passed.append(marks.popleft())
        if not self._held:
            passed.extend(marks)
            self._marks = _NO_MARKS
        elif marks[0][0] < self._offset:
            passed.append(marks[0])
        return passed
