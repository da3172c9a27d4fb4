"""Fragments in, whole IP payloads out: the first copy of a byte is kept, memory and time are bounded."""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict, deque
from typing import Literal, NamedTuple

import msgspec

MAX_PAYLOAD = 65535
FRAGMENT_COST = 128  # what a kept fragment costs besides its bytes: the tuple, its numbers, the bytes object
MAX_REPORTED_FRAMES = 64

_Key = tuple[bytes, bytes, int, int]


class IpFragment(msgspec.Struct, frozen=True, gc=False):
    """One fragment as captured whole; a fragment cut by the snap length must not be fed.

    ``src`` and ``dst`` are 4 (IPv4) or 16 (IPv6) packed bytes. ``protocol`` is the IPv4 protocol or the next
    header of the IPv6 fragment header, ``offset`` counts bytes, ``more`` is the MF or M bit, ``frame`` is
    1-based, ``time`` is nanoseconds since the epoch, UTC. ``path`` says what it was captured in, as
    `msmq_wire.reassembly.encapsulation` has it. Sources: RFC 791 3.1, RFC 8200 4.5.
    """

    src: bytes
    dst: bytes
    protocol: int
    identification: int
    offset: int
    more: bool
    payload: bytes
    frame: int
    time: int
    path: bytes = b""


class IpDatagram(msgspec.Struct, frozen=True):
    """A whole IP payload.

    ``frames`` are the frames that brought bytes of it, ascending. ``overlap`` says that another fragment
    contradicted the kept bytes or the kept length; RFC 5722 has IPv6 receivers drop such a datagram.
    """

    payload: bytes
    protocol: int
    frames: tuple[int, ...]
    overlap: bool


class IncompleteDatagram(msgspec.Struct, frozen=True):
    """A datagram that never became whole: ``received`` bytes came, in ``frames`` (the first 64 of them)."""

    src: bytes
    dst: bytes
    protocol: int
    identification: int
    frames: tuple[int, ...]
    received: int
    overlap: bool
    reason: Literal["timeout", "limit", "unfinished"]


class _Piece(NamedTuple):
    start: int
    data: bytes
    frame: int


def _start(piece: _Piece) -> int:
    return piece.start


class _Partial:
    """What is known of one datagram: ``pieces`` are sorted by offset and never overlap."""

    __slots__ = ("first", "overlap", "pieces", "protocol", "received", "total")

    def __init__(self, first: IpFragment) -> None:
        # Only its addresses, numbers and time are used: the payload is not kept alive here.
        self.first = msgspec.structs.replace(first, payload=b"")
        self.protocol = first.protocol
        self.pieces: list[_Piece] = []
        self.received = 0
        self.total: int | None = None
        self.overlap = False

    @property
    def cost(self) -> int:
        return self.received + FRAGMENT_COST * (len(self.pieces) + 1)

    @property
    def frames(self) -> tuple[int, ...]:
        return tuple(sorted({piece.frame for piece in self.pieces}))

    def add(self, fragment: IpFragment) -> bool:
        """Keep what is new in ``fragment``; False when it contradicts the length that is known."""
        start, data = fragment.offset, fragment.payload
        end = start + len(data)
        reached = self.pieces[-1].start + len(self.pieces[-1].data) if self.pieces else 0
        if self.total is not None:
            if end > self.total or (not fragment.more and end != self.total):
                self.overlap = True
                return False
        elif not fragment.more:
            if end < reached:
                self.overlap = True
                return False
            self.total = end
        if start == 0:
            self.protocol = fragment.protocol
        self._insert(start, end, data, fragment.frame)
        return True

    def _insert(self, start: int, end: int, data: bytes, frame: int) -> None:
        pieces = self.pieces
        low = bisect_left(pieces, start, key=_start)
        if low and pieces[low - 1].start + len(pieces[low - 1].data) > start:
            low -= 1
        high = bisect_left(pieces, end, key=_start)
        merged: list[_Piece] = []
        position = start
        for piece in pieces[low:high]:
            if position < piece.start:
                merged.append(_Piece(position, data[position - start : piece.start - start], frame))
            piece_end = piece.start + len(piece.data)
            common, common_end = max(start, piece.start), min(end, piece_end)
            kept = piece.data[common - piece.start : common_end - piece.start]
            self.overlap = self.overlap or kept != data[common - start : common_end - start]
            merged.append(piece)
            position = piece_end
        if position < end:
            merged.append(_Piece(position, data[position - start :], frame))
        self.received += sum(len(piece.data) for piece in merged)
        self.received -= sum(len(piece.data) for piece in pieces[low:high])
        pieces[low:high] = merged


class IpReassembler:
    """Joins the fragments of IPv4 and IPv6 datagrams, fed in capture order.

    At most ``max_datagrams`` are pending and their kept bytes cost at most ``max_bytes`` (each kept fragment
    costs its length and 128); beyond that the datagram that began first is given up. ``timeout`` is in
    nanoseconds of packet time after the first fragment (RFC 8200 4.5 gives a receiver 60 seconds).

    ``incomplete`` counts datagrams given up; ``refused`` counts fragments no datagram can contain: past 65535
    bytes, empty, at a negative offset, with more to come but a length that is no multiple of 8, or
    contradicting the length that is known. Nothing is raised.
    """

    def __init__(
        self, *, max_datagrams: int = 1024, max_bytes: int = 16 << 20, timeout: int = 60_000_000_000
    ) -> None:
        self._max_datagrams = max_datagrams
        self._max_bytes = max_bytes
        self._timeout = timeout
        # Insertion order is the order in which datagrams began, so the first key is the oldest.
        self._partials: OrderedDict[_Key, _Partial] = OrderedDict()
        self._given_up: deque[IncompleteDatagram] = deque(maxlen=max_datagrams)
        self._cost = 0
        self.incomplete = 0
        self.refused = 0

    @property
    def pending_bytes(self) -> int:
        """What the pending datagrams cost now, never more than ``max_bytes``."""
        return self._cost

    def feed(self, fragment: IpFragment) -> IpDatagram | None:
        """Return the datagram that ``fragment`` completes, or None. A whole packet is returned at once."""
        self._expire(fragment.time)
        offset, size = fragment.offset, len(fragment.payload)
        if offset == 0 and not fragment.more and size <= MAX_PAYLOAD:
            return IpDatagram(fragment.payload, fragment.protocol, (fragment.frame,), False)
        if offset < 0 or size == 0 or offset + size > MAX_PAYLOAD or (fragment.more and size % 8):
            self.refused += 1
            return None
        # RFC 8200 4.5 identifies a datagram without the next header, RFC 791 with the protocol.
        protocol = fragment.protocol if len(fragment.src) == 4 else -1
        key = (fragment.src, fragment.dst, protocol, fragment.identification)
        partial = self._partials.get(key)
        if partial is None:
            partial = self._partials[key] = _Partial(fragment)
        else:
            self._cost -= partial.cost
        if not partial.add(fragment):
            self.refused += 1
        if partial.received == partial.total:
            del self._partials[key]
            payload = b"".join(piece.data for piece in partial.pieces)
            return IpDatagram(payload, partial.protocol, partial.frames, partial.overlap)
        self._cost += partial.cost
        while self._cost > self._max_bytes or len(self._partials) > self._max_datagrams:
            self._give_up(next(iter(self._partials)), "limit")
        return None

    def finish(self) -> list[IncompleteDatagram]:
        """Give up what is pending and return it, after the most recent ``max_datagrams`` given up before."""
        given_up = list(self._given_up)
        self._given_up.clear()
        for key in list(self._partials):
            self._give_up(key, "unfinished")
        given_up.extend(self._given_up)
        self._given_up.clear()
        return given_up

    def _expire(self, now: int) -> None:
        while self._partials:
            key, partial = next(iter(self._partials.items()))
            if now - partial.first.time <= self._timeout:
                return
            self._give_up(key, "timeout")

    def _give_up(self, key: _Key, reason: Literal["timeout", "limit", "unfinished"]) -> None:
        partial = self._partials.pop(key)
        self._cost -= partial.cost
        self.incomplete += 1
        first = partial.first
        self._given_up.append(
            IncompleteDatagram(
                first.src,
                first.dst,
                partial.protocol,
                first.identification,
                partial.frames[:MAX_REPORTED_FRAMES],
                partial.received,
                partial.overlap,
                reason,
            )
        )
