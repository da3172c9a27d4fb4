"""The bytes of one direction of a TCP connection in, DCE/RPC PDUs out.

The rules kept here:

* Every byte fed is in exactly one event, `FramedPdu` or `SkippedBytes`; what is decided depends on the bytes
  and the gaps, never on how they were split into feeds. Each byte is copied and looked at a bounded number of
  times.
* Behind a PDU another one must start: version 5 and a frag_length of 16 at least make one, whatever else it
  says.
* At the beginning and behind a gap a start must be found: the first header that is credible (`is_credible`).
  It is believed at once, without looking at what follows its PDU, since holding a request until the next one
  would give it after its response.
* A PDU cut by a gap still says where the next one starts: when the gap has a length and lies inside the PDU,
  framing goes on exactly there, and the rest of the PDU behind the gap is skipped.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from msmq_wire.rpc.events import SkippedBytes
from msmq_wire.rpc.pdu.decoding import COMMON_HEADER, find_credible

GapReason: TypeAlias = Literal["loss", "snaplen", "pending-limit"]

_SIZED = 10  # bytes that tell the frag_length
_KEPT = 256  # skipped bytes that are shown
MARK_COST = 176
"""What it costs to remember which frame carried some bytes."""


class FramedPdu(msgspec.Struct, frozen=True, gc=False):
    """One PDU: ``data`` are its bytes.

    ``offset`` counts from the first byte of the direction, gaps of known length included. ``frames`` are the
    distinct frames that carried a part, in order; ``time`` is that of the one captured last. Without
    ``complete`` the PDU was cut, and ``data`` is what there was: its common header at least. ``found`` says
    that a search behind other bytes or a gap came upon it: it may lie inside a payload. ``fragments`` are the
    lengths of those that it was put together from, where there were several.
    """

    data: bytes
    offset: int
    frames: tuple[int, ...]
    time: int
    complete: bool = True
    found: bool = False
    fragments: tuple[int, ...] = ()

    @property
    def length(self) -> int:
        """Its bytes on the stream."""
        return sum(self.fragments) or len(self.data)


FramerEvent: TypeAlias = FramedPdu | SkippedBytes
_Mark: TypeAlias = tuple[int, int, int]  # (offset, frame, time)


def _starts(data: bytes | bytearray, offset: int) -> bool:
    """Whether a PDU starts where one must."""
    return data[offset] == 5 and _length(data, offset) >= COMMON_HEADER


def _length(data: bytes | bytearray, offset: int) -> int:
    order: Literal["little", "big"] = "little" if data[offset + 4] & 0x10 else "big"
    return int.from_bytes(data[offset + 8 : offset + _SIZED], order)


def _frame(mark: _Mark) -> int:
    return mark[1]


class PduFramer:
    """Feed the bytes of one direction in order and tell its gaps; take events of what they complete.

    ``from_client`` is only passed on in `SkippedBytes`, whose ``data`` holds at most the first 256 bytes.
    Less than 64 KiB is held. No bytes make a method raise.
    """

    __slots__ = (
        "_found",
        "_held",
        "_hole_data",
        "_hole_length",
        "_hole_marks",
        "_hole_reason",
        "_lost",
        "_marks",
        "_offset",
        "_rest",
        "from_client",
    )

    def __init__(self, *, from_client: bool = True) -> None:
        self.from_client = from_client
        self._held = bytearray()  # the start of one PDU, or what may be the start of a header
        self._offset = 0  # of the first byte held
        self._marks: list[_Mark] = []  # where a frame begins
        self._lost = True
        self._found = False  # the PDU that comes next, if there is one here
        self._rest = 0  # bytes to skip before the next PDU starts
        self._hole_reason: Literal["no-pdu", "rest-of-pdu"] = "no-pdu"
        self._hole_length = 0
        self._hole_data = b""
        self._hole_marks: tuple[_Mark, ...] = ()  # of its first and its last frame

    @property
    def held_bytes(self) -> int:
        """What the bytes held cost: themselves, and a little for every frame that carried some."""
        return len(self._held) + MARK_COST * len(self._marks)

    @property
    def lost(self) -> bool:
        """Whether the start of a PDU has still to be found."""
        return self._lost

    def advance(self, count: int) -> None:
        """Count ``count`` bytes that were read elsewhere, before any is fed."""
        self._offset += count

    def feed(self, data: bytes, frame: int, time: int) -> list[FramerEvent]:
        """Take the next bytes, which ``frame`` carried at ``time``; return the events they complete."""
        events: list[FramerEvent] = []
        size, at = len(data), 0
        while at < size:
            if self._rest:
                count = min(self._rest, size - at)
                self._rest -= count
                self._skip(data[at : min(at + count, at + _KEPT)], count, (self._offset, frame, time))
                at += count
                if not self._rest:
                    self._tell_hole(events)
            elif self._lost:
                at = self._search(data, at, frame, time, events)
            elif self._held:
                at = self._fill(data, at, frame, time, events)
            else:
                at = self._slice(data, at, frame, time, events)
        return events

    def gap(
        self, length: int | None, reason: GapReason, frame: int, time: int, since: int = 0
    ) -> list[FramerEvent]:
        """Take note of ``length`` bytes (None: unknown) missing between two frames (0: the start)."""
        events: list[FramerEvent] = []
        if length is not None and length <= 0:
            return events
        lacking = self._close(events)
        events.append(
            SkippedBytes(
                from_client=self.from_client,
                reason=reason,
                missing=True,
                frames=tuple(dict.fromkeys((since or frame, frame))),
                time=time,
                offset=self._offset,
                length=length,
            )
        )
        self._offset += length or 0
        if length is None or length > lacking:
            self._lose()
        else:
            self._rest, self._hole_reason = lacking - length, "rest-of-pdu"
        return events

    def finish(self) -> list[FramerEvent]:
        """Return what is left: nothing more comes."""
        events: list[FramerEvent] = []
        self._close(events)
        self._lose()
        return events

    def _slice(self, data: bytes, at: int, frame: int, time: int, events: list[FramerEvent]) -> int:
        """Take whole PDUs out of ``data`` while nothing is held; return where they end."""
        size = len(data)
        while size - at >= _SIZED:
            if not _starts(data, at):
                self._lose()
                return at
            stop = at + _length(data, at)
            if stop > size:
                break
            events.append(FramedPdu(data[at:stop], self._offset, (frame,), time, True, self._found))
            self._found = False
            self._offset += stop - at
            at = stop
        if at < size:
            self._hold(data[at:], frame, time)
        return size

    def _fill(self, data: bytes, at: int, frame: int, time: int, events: list[FramerEvent]) -> int:
        """Add to the PDU that is held what it lacks; return where that ends in ``data``."""
        held = self._held
        if len(held) < _SIZED:
            stop = min(len(data), at + _SIZED - len(held))
            self._hold(data[at:stop], frame, time)
            if len(held) >= _SIZED and not _starts(held, 0):
                self._lose()
            return stop
        length = _length(held, 0)
        stop = min(len(data), at + length - len(held))
        self._hold(data[at:stop], frame, time)
        if len(held) == length:
            self._emit(True, events)
        return stop

    def _search(self, data: bytes, at: int, frame: int, time: int, events: list[FramerEvent]) -> int:
        """Look for a credible header from what is held on; return how far ``data`` is used up."""
        held = self._held
        if held:
            # Where the header may have begun before ``data``.
            before = len(held)
            stop = min(len(data), at + COMMON_HEADER - 1)
            self._hold(data[at:stop], frame, time)
            found = find_credible(held)
            if found >= 0:
                self._drop(found)
                self._find(events)
                if len(held) == _length(held, 0):
                    self._emit(True, events)
                elif len(held) > _length(held, 0):
                    # All that lies behind the PDU is from ``data``.
                    surplus = len(held) - _length(held, 0)
                    del held[-surplus:]
                    stop -= surplus
                    self._emit(True, events)
                return stop
            if stop - at < COMMON_HEADER - 1:
                self._drop(max(0, len(held) - COMMON_HEADER + 1))
                return stop
            del held[before:]
            if self._marks[-1][0] >= self._offset + before:
                self._marks.pop()
            self._drop(before)
            return at
        found = find_credible(data, at)
        stop = found if found >= 0 else max(at, len(data) - COMMON_HEADER + 1)
        if stop > at:
            self._skip(data[at : min(stop, at + _KEPT)], stop - at, (self._offset, frame, time))
        if found >= 0:
            self._find(events)
            return stop
        self._hold(data[stop:], frame, time)
        return len(data)

    def _find(self, events: list[FramerEvent]) -> None:
        """A PDU starts here."""
        self._found = self._found or self._hole_length > 0
        self._tell_hole(events)
        self._lost = False

    def _lose(self) -> None:
        self._lost, self._rest, self._hole_reason, self._found = True, 0, "no-pdu", True

    def _close(self, events: list[FramerEvent]) -> int:
        """Turn all that is held into events; return what the PDU cut here lacks, 0 when unknown."""
        lacking, self._rest = self._rest, 0
        held = self._held
        if held and self._lost:
            self._drop(len(held))
        elif held:
            lacking = _length(held, 0) - len(held) if len(held) >= _SIZED else 0
            if len(held) >= COMMON_HEADER:
                self._emit(False, events)
            else:
                self._hole_reason = "rest-of-pdu"
                self._drop(len(held))
        self._tell_hole(events)
        return lacking

    def _hold(self, data: bytes, frame: int, time: int) -> None:
        marks = self._marks
        if not marks or marks[-1][1:] != (frame, time):
            marks.append((self._offset + len(self._held), frame, time))
        self._held += data

    def _emit(self, complete: bool, events: list[FramerEvent]) -> None:
        """Make a PDU of all that is held."""
        marks = self._marks
        frames = tuple(dict.fromkeys(frame for _, frame, _ in marks))
        # Frames may carry the stream out of order: the one captured last completes the PDU.
        time = max(marks, key=_frame)[2]
        events.append(FramedPdu(bytes(self._held), self._offset, frames, time, complete, self._found))
        self._found = False
        self._offset += len(self._held)
        self._held = bytearray()
        self._marks = []

    def _drop(self, count: int) -> None:
        """Skip the first ``count`` bytes held."""
        if not count:
            return
        stop = self._offset + count
        marks = self._marks
        passed = [mark for mark in marks if mark[0] < stop]
        first, last = passed[0], passed[-1]
        self._skip(bytes(self._held[: min(count, _KEPT)]), count, first)
        self._hole_marks = (self._hole_marks[0], last)
        del self._held[:count]
        self._marks = [mark for mark in marks if mark[0] >= stop]
        if self._held and (not self._marks or self._marks[0][0] > stop):
            self._marks.insert(0, (stop, *last[1:]))

    def _skip(self, data: bytes, count: int, mark: _Mark) -> None:
        """Count ``count`` bytes, which ``data`` shows, into the hole that is open."""
        if len(self._hole_data) < _KEPT:
            self._hole_data += data[: _KEPT - len(self._hole_data)]
        self._hole_length += count
        self._offset += count
        self._hole_marks = (self._hole_marks[0] if self._hole_marks else mark, mark)

    def _tell_hole(self, events: list[FramerEvent]) -> None:
        if not self._hole_length:
            return
        events.append(
            SkippedBytes(
                from_client=self.from_client,
                reason=self._hole_reason,
                missing=False,
                frames=tuple(dict.fromkeys(frame for _, frame, _ in self._hole_marks)),
                time=self._hole_marks[-1][2],
                offset=self._offset - self._hole_length,
                length=self._hole_length,
                data=self._hole_data,
            )
        )
        self._hole_length, self._hole_data, self._hole_marks = 0, b"", ()
