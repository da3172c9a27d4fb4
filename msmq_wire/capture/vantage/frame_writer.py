"""Frames of any interface to one pcapng stream: `FrameWriter`.

The rule kept here: an interface keeps its number, since that is a part of the path of what comes through it.
Where two captures have other link types at one number, a section of its own begins.
"""

from __future__ import annotations

from struct import Struct

from msmq_wire.capture.pcapng import PCAPNG_MAGIC

_section = Struct("<4sIIHHqI").pack(PCAPNG_MAGIC, 28, 0x1A2B3C4D, 1, 0, -1, 28)
# One option, if_tsresol (9): 10 to the power of -9; then the end of options.
_interface = Struct("<IIHHIHHB3xHHI").pack
_packet = Struct("<IIIIIII").pack
_length = Struct("<I").pack
_MOST_AGAIN = 1 << 6
"""Interfaces that may change their link type, which declares all of them again."""
_PADDING = tuple(bytes(count) for count in range(4))


class FrameWriter:
    """Collects blocks; ``size`` says how many bytes there are."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._interfaces: list[int] = []
        self._others: dict[int, int] = {}
        self.size = 0

    def begin(self) -> bytes:
        """Return what a stream begins with."""
        return _section

    def write(self, data: bytes, length: int, time: int, link_type: int, interface: int) -> None:
        """Write a frame; ``time`` is nanoseconds since 1970, 0 for none."""
        known = self._interfaces
        if interface >= len(known) or known[interface] != link_type:
            interface = self._declared(link_type, interface)
        captured = len(data)
        padding = -captured & 3
        total = 32 + captured + padding
        self._parts += (
            _packet(6, total, interface, time >> 32, time & 0xFFFFFFFF, captured, length),
            data,
            _PADDING[padding] + _length(total),
        )
        self.size += total

    def taken(self) -> bytes:
        """Return the blocks since the last call."""
        taken = b"".join(self._parts)
        self._parts, self.size = [], 0
        return taken

    def _declared(self, link_type: int, interface: int) -> int:
        """The number of an interface that is declared from now on: its own unless that costs too much."""
        known = self._interfaces
        if interface >= _MOST_AGAIN and interface < len(known):
            interface = self._others.get(link_type, len(known))
            if interface < len(known):
                return interface
            self._others[link_type] = interface
        if interface < len(known):
            self._parts.append(_section)
            wanted = [*known[:interface], link_type, *known[interface + 1 :]]
            known.clear()
            self._others.clear()
        else:
            wanted = [link_type] * (interface - len(known) + 1)
        for one in wanted:
            known.append(one)
            self._parts.append(_interface(1, 32, one, 0, 0, 9, 1, 9, 0, 0, 32))
        self.size += 28 + 32 * len(wanted)
        return interface
