"""Stubs in fragments, both ways. C706 12.6.2, [MS-RPCE] 2.2.2.6

The rule kept here: what is joined is bounded before it is held, and nothing is believed of alloc_hint.
"""

from __future__ import annotations

from collections.abc import Iterator

from msmq_wire.rpc.pdu.values import PFC_FIRST_FRAG, PFC_LAST_FRAG

MAX_FRAGMENT = 5840
"""Bytes of a PDU that Windows offers to send and to receive over TCP."""
MUST_RECEIVE = 1432
"""Bytes of a PDU that every implementation takes: MustRecvFragSize of C706 12.6.2."""
_HEADER = 24


def agreed_fragment(own: int, offered: int) -> int:
    """How large a PDU may be that is sent to a peer who offers to receive ``offered`` bytes."""
    return min(own, max(offered, MUST_RECEIVE), 0xFFFF)


def fragments(stub: bytes, size: int) -> Iterator[tuple[int, int, bytes]]:
    """Split a stub into ``(pfc_flags, alloc_hint, part)``, for PDUs of at most ``size`` bytes.

    There is one part at least. All but the last have a multiple of 8 bytes, ``alloc_hint`` counts what is
    left.
    """
    room = (size - _HEADER) & ~7
    for start in range(0, len(stub) or 1, room):
        first = PFC_FIRST_FRAG if start == 0 else 0
        last = PFC_LAST_FRAG if start + room >= len(stub) else 0
        yield first | last, len(stub) - start, stub[start : start + room]


class JoinedStub:
    """The fragments of one stub so far."""

    __slots__ = ("_limit", "_stub")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._stub = bytearray()

    @property
    def size(self) -> int:
        """Bytes that are held."""
        return len(self._stub)

    def add(self, part: bytes) -> bool:
        """Take the next fragment; False, and nothing is held any more, where it gets too much."""
        if len(self._stub) + len(part) > self._limit:
            self._stub = bytearray()
            return False
        self._stub += part
        return True

    def join(self) -> bytes:
        """The whole stub."""
        return bytes(self._stub)
