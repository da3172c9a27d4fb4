"""`Carver`: bytes of a file, a memory dump or a disk in, places of packets and SRMP envelopes out.

The rules kept here:

* What is found depends on the bytes, the holes and their offsets, never on how they were fed. Every byte is
  searched once; a place is judged by at most a packet's bytes from it on.
* A packet that walks to its end is whole unless another one that does starts inside it and ends behind it:
  whoever's start is intact inside another's bytes was written later.
* Inside a whole packet nothing is found but a whole one in its body, and one in the body of that.
* The bytes of what is not whole end where the next find begins. So no byte is in more than three finds.
* No more is held than two packets of the largest size and what was fed last.
"""

from __future__ import annotations

import ctypes
from collections import Counter, deque
from collections.abc import Callable
from heapq import heappop, heappush

import msgspec

from msmq_wire.capture.carve.envelopes import (
    AROUND,
    LONGEST_TAG,
    NAMESPACE,
    REACH,
    SRMP_TYPES,
    find_root,
    is_srmp,
    walk_envelope,
)
from msmq_wire.capture.carve.packet_validation import LOOK, broken_early, fixed_part, left_of, needed, walk
from msmq_wire.capture.carve.validation import Validation
from msmq_wire.reassembly.packet_framer import MAX_PENDING, SIZED, is_credible, packet_length
from msmq_wire.records.record import Grade
from msmq_wire.wire.headers.base_header import SIGNATURE, VERSION_NUMBER

_SIGNATURE = SIGNATURE.to_bytes(4, "little")
_AT = 4
"""Offset of the signature in a packet."""
_NEAR = 4096
_DEEPEST = 2
"""In how many bodies a find may lie, one in the other."""
_REACH = max(MAX_PENDING, REACH)
_GRADES: dict[str, Grade] = {"intact": "whole", "broken": "damaged", "cut": "head"}
_SHORT = 4096
"""Bytes in which a search takes less time than a call of the library."""
_Memmem = Callable[[bytearray, bytes, int], int]


class CarvedItem(msgspec.Struct, frozen=True, gc=False):
    """A packet or an SRMP message: ``offset`` of its BaseHeader or its root element, and its grade.

    ``data`` are its bytes, of which ``before`` lie before ``offset`` (the head of an HTTP request).
    ``claimed`` counts the bytes that a packet claims. ``reason`` says why it is not whole.
    """

    offset: int
    type: str
    grade: Grade
    data: bytes
    claimed: int
    reason: str | None = None
    before: int = 0


class _Place(msgspec.Struct):
    """A place that was judged by its own bytes; ``around`` is the innermost packet that encloses it."""

    offset: int
    claimed: int
    walk: Validation
    around: _Place | None
    cut: int | None = None
    whole: bool = False
    depth: int = 0
    listed: bool = False

    @property
    def end(self) -> int:
        return self.offset + self.claimed


class Carver:
    """Feed the bytes of a source in order, and tell its holes; take the finds that they complete.

    Finds come by offset. ``nested`` counts, by why, what lies in others and is no find of its own. Without
    ``envelopes`` only packets are looked for. ``offset`` is that of the first byte.
    """

    def __init__(self, *, envelopes: bool = True, offset: int = 0) -> None:
        self._envelopes = envelopes
        self._buffer = bytearray()
        self._base = offset
        self._searched = offset
        """Up to where signatures were searched."""
        self._named_until = offset
        """Up to where the namespace of envelopes was searched."""
        self._starts: deque[int] = deque()
        self._roots: deque[int] = deque()
        self._message_end = 0
        self._open: list[_Place] = []
        """Packets that walk to their ends, each around the next."""
        self._contradicting: list[tuple[int, int, _Place]] = []
        """Those that do not, by their ends: what lies over one may be why."""
        self._judged: deque[_Place] = deque()
        self.nested: Counter[str] = Counter()

    @property
    def offset(self) -> int:
        """Offset of the next byte to feed."""
        return self._base + len(self._buffer)

    @property
    def held(self) -> int:
        """Bytes that are kept because what lies there is not decided."""
        return len(self._buffer)

    @property
    def reported(self) -> int:
        """All finds before this offset were told; whatever is fed, no more will be."""
        place, judged, horizon = self._next(), self._judged, self._horizon()
        known = horizon if place is None else min(place, horizon)
        return min(known, judged[0].offset) if judged else known

    def feed(self, data: bytes | bytearray | memoryview) -> list[CarvedItem]:
        """Take the next bytes."""
        self._buffer += data
        return self._advance(ends=False)

    def hole(self, length: int) -> list[CarvedItem]:
        """Take note of ``length`` bytes that the source does not have here."""
        # Where nothing waits a dump may have a million ranges of a few bytes.
        found = self._advance(ends=True) if self._waits else []
        self._open.clear()
        self._contradicting.clear()
        self._base = self._searched = self._named_until = self.offset + length
        self._buffer.clear()
        return found

    def finish(self) -> list[CarvedItem]:
        """Return what is left: nothing more comes."""
        return self.hole(0)

    def _advance(self, *, ends: bool) -> list[CarvedItem]:
        self._search()
        horizon = self._horizon()
        if not self._waits:
            self._forget(horizon)
            return []
        while (place := self._next()) is not None and (ends or place < horizon):
            take = self._take_packet if self._starts and self._starts[0] == place else self._take_envelope
            if not take(place, ends=ends):
                break
        place = self._next()
        found = self._tell(
            self.offset + _REACH if ends else horizon if place is None else min(place, horizon)
        )
        self._forget(horizon if place is None else min(place, horizon))
        return found

    @property
    def _waits(self) -> bool:
        """Whether any place is not decided or not told."""
        return bool(self._starts or self._roots or self._judged)

    def _search(self) -> None:
        """Find the places that the bytes fed so far show."""
        data, base, size = self._buffer, self._base, len(self._buffer)
        at = _memmem(data, _SIGNATURE, self._searched - base)
        while at >= 0 and at + SIZED - _AT <= size:
            if at >= _AT and data[at - _AT] == VERSION_NUMBER and is_credible(data, at - _AT):
                self._starts.append(base + at - _AT)
            # Where there is one there may be many: so far on, calling the library takes longer.
            near = data.find(_SIGNATURE, at + 1, at + _NEAR)
            at = near if near >= 0 else _memmem(data, _SIGNATURE, min(size, at + _NEAR - len(_SIGNATURE) + 1))
        self._searched = max(self._searched, base + (at if at >= 0 else size - len(_SIGNATURE) + 1))
        if not self._envelopes:
            return
        at = _memmem(data, NAMESPACE, self._named_until - base)
        while at >= 0:
            root = find_root(data, at)
            if root >= 0:
                self._roots.append(base + root)
            at = _memmem(data, NAMESPACE, at + 1)
        self._named_until = max(self._named_until, base + size - len(NAMESPACE) + 1)

    def _horizon(self) -> int:
        """All places before it are known."""
        packets = self._searched - _AT
        return min(packets, self._named_until - LONGEST_TAG) if self._envelopes else packets

    def _next(self) -> int | None:
        return min((places[0] for places in (self._starts, self._roots) if places), default=None)

    def _take_packet(self, offset: int, *, ends: bool) -> bool:
        """Judge the place that is next; False when more bytes are needed."""
        at = offset - self._base
        stop = at + needed(self._buffer, at, offset)
        if stop > len(self._buffer) and not ends:
            return False
        self._starts.popleft()
        claimed = packet_length(self._buffer, at)
        there = min(claimed, len(self._buffer) - at)
        walked = broken_early(self._bytes(at, min(at + there, at + LOOK)), there, claimed)
        if walked is None:
            walked = walk(self._bytes(at, stop), offset, claimed=claimed)
        if walked is None:
            self.nested["no header behind a signature"] += 1
            return True
        end = offset + claimed
        around = self._around(offset)
        if walked.part == "intact":
            while around is not None and around.end < end:
                self._open.pop()
                around.cut = offset
                around = self._around(offset)
            while self._contradicting and self._contradicting[0][0] < end:
                stop, _, below = heappop(self._contradicting)
                if stop > offset:
                    below.cut = offset
        place = _Place(offset, claimed, walked, around)
        if walked.part == "intact":
            self._open.append(place)
        elif walked.part == "broken":
            while self._contradicting and self._contradicting[0][0] <= offset:
                heappop(self._contradicting)
            heappush(self._contradicting, (end, offset, place))
        self._judged.append(place)
        return True

    def _take_envelope(self, offset: int, *, ends: bool) -> bool:
        """Judge the envelope that is next; False when more bytes are needed."""
        at = offset - self._base
        there = len(self._buffer) - at
        if there < LONGEST_TAG and not ends:
            return False
        following = self._roots[1] - self._base if len(self._roots) > 1 else len(self._buffer)
        srmp = is_srmp(self._buffer, at, following)
        if srmp and there < REACH and not ends:
            return False
        self._roots.popleft()
        if srmp:
            first = max(0, at - AROUND)
            data = self._bytes(first, at + REACH)
            alone = offset < self._message_end
            walked = walk_envelope(data, at - first, min(following - first, len(data)), alone=alone)
            claimed = walked.length - walked.before
            self._message_end = max(self._message_end, offset + claimed)
            self._judged.append(_Place(offset, claimed, walked, self._around(offset)))
        return True

    def _bytes(self, start: int, stop: int) -> bytes:
        # No view is handed on: errors keep the frames they came through, and those the view.
        with memoryview(self._buffer) as held:
            return bytes(held[start:stop])

    def _around(self, offset: int) -> _Place | None:
        """The innermost packet that walks to its end behind ``offset``."""
        while self._open and self._open[-1].end <= offset:
            self._open.pop()
        return self._open[-1] if self._open else None

    def _tell(self, position: int) -> list[CarvedItem]:
        """The finds among the places that end up to ``position``: all places before it were judged."""
        found: list[CarvedItem] = []
        judged = self._judged
        while judged and judged[0].end <= position:
            place = judged.popleft()
            find = self._find(place, judged[0].offset if judged else position)
            if find is not None:
                found.append(find)
        return found

    def _find(self, place: _Place, following: int) -> CarvedItem | None:
        """What a place is, now that all that starts inside it was judged; None where it is no find."""
        walked = place.walk
        place.whole = walked.part == "intact" and place.cut is None
        around = place.around
        if around is not None and not around.whole:
            # It was told before: what is around it now is whole.
            around = place.around = around.around
        if around is not None:
            inside = self._refused(place, around)
            if inside:
                self.nested[inside] += 1
                return None
            place.depth = around.depth + 1
        place.listed = True
        start = place.offset - walked.before - self._base
        if place.whole:
            data = self._bytes(start, start + walked.length)
        else:
            stop = min(start + walked.length, following - self._base)
            data = self._bytes(start, stop)
            if walked.type not in SRMP_TYPES and len(data) < min(fixed_part(data), walked.length):
                self.nested["no header behind a signature"] += 1
                return None
            if place.cut is not None:
                left = left_of(
                    data, place.claimed, f"another packet lies over its end, from offset {place.cut}"
                )
                if left is None:
                    return None
                walked = left
        return CarvedItem(
            offset=place.offset,
            type=walked.type,
            grade=_GRADES[walked.part],
            data=data,
            claimed=place.claimed,
            reason=walked.reason,
            before=walked.before,
        )

    @staticmethod
    def _refused(place: _Place, around: _Place) -> str:
        """Why a place inside a whole packet is no find; empty where it is one."""
        if not place.whole or not around.listed or place.walk.type in SRMP_TYPES:
            return "part of a packet"
        begin, end = (around.offset + one for one in around.walk.body)
        if not begin <= place.offset <= place.end <= end:
            return "part of a packet"
        return "more than two bodies deep" if around.depth >= _DEEPEST else ""

    def _forget(self, position: int) -> None:
        """Drop the bytes that no place needs any more."""
        first = min(position, self._judged[0].offset if self._judged else position)
        count = first - AROUND - self._base
        if count > 0:
            del self._buffer[:count]
            self._base += count


def _found_slowly(data: bytearray, needle: bytes, start: int) -> int:
    return data.find(needle, start)


def _of_library() -> _Memmem:
    try:
        memmem = ctypes.CDLL(None).memmem
    except (AttributeError, OSError, TypeError):
        # Windows has none.
        return _found_slowly
    memmem.restype = ctypes.c_void_p
    memmem.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t)

    def found(data: bytearray, needle: bytes, start: int) -> int:
        left = len(data) - start
        if left < _SHORT:
            return data.find(needle, start)
        # The bytes cannot move while this lives.
        held = (ctypes.c_char * left).from_buffer(data, start)
        address = ctypes.addressof(held)
        place = memmem(address, left, needle, len(needle))
        return -1 if place is None else int(place) - address + start

    return found


_memmem: _Memmem = _of_library()
"""``bytearray.find``, by the C library where it has a search, which lets other threads run."""
