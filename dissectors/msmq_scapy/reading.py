# SPDX-License-Identifier: GPL-2.0-or-later
"""What fields share while bytes are dissected: the bounds of a packet, and what expressions see.

The rule kept here: a position is known from how much is left, so that scapy's fields, which hand each other
the rest of the bytes, need not count; and every read is bounded by one `WireReader`.
"""

from __future__ import annotations

from typing import Any

from msmq_wire.errors import DecodeError
from msmq_wire.wire.expressions import UNDETERMINED, Undetermined
from msmq_wire.wire.fields import known
from msmq_wire.wire.stream import WireReader

__all__ = [
    "Left",
    "ReachedFields",
    "Reading",
    "Scope",
    "determined",
    "here",
    "limit",
    "peek",
    "take",
    "text_length",
]

Left = bytes | memoryview
"""The bytes that are left, as fields hand them on."""


class Reading:
    """One dissection: the bounds of its bytes; ``left`` is what was left where it failed."""

    __slots__ = ("left", "reader")

    def __init__(self, data: bytes) -> None:
        self.reader = WireReader(data)
        self.left: Left | None = None

    def at(self, left: Left) -> WireReader:
        """The reader, at the first of the bytes that are left."""
        self.reader.seek(self.reader.end - len(left))
        return self.reader

    def fail(self, left: Left) -> None:
        """Note what is left behind the last byte that is shown; the first note counts."""
        if self.left is None:
            self.left = left


def _reader(pkt: Any, left: Left) -> WireReader:
    reading: Reading | None = getattr(pkt, "reading", None)
    # A field may be asked alone, outside of a dissection.
    return WireReader(bytes(left)) if reading is None else reading.at(left)


def here(pkt: Any, left: Left) -> int:
    """The packet offset of the first of the bytes that are left."""
    return _reader(pkt, left).tell()


def take(pkt: Any, left: Left, length: Any) -> tuple[Left, bytes]:
    """The next ``length`` bytes, all of them where the length is undetermined; DecodeError for too few."""
    reader = _reader(pkt, left)
    if isinstance(length, Undetermined):
        length = max(0, min(reader.remaining, reader.end - reader.tell()))
    data = reader.take(length)
    return left[len(data) :], data


def peek(pkt: Any, left: Left, at: int, length: int, *, strict: bool = True) -> int:
    """The little-endian number ``at`` bytes ahead, -1 past the limit.

    Past the end of a cut packet it raises DecodeError, or gives -1 unless ``strict``.
    """
    data = _reader(pkt, left).peek(at, length, strict=strict)
    return -1 if data is None else int.from_bytes(data, "little")


def determined(value: Any) -> bool:
    """Whether a value of an expression is known."""
    return not isinstance(value, Undetermined)


def limit(pkt: Any, left: Left, end: int | None) -> int:
    """Let nothing be read past packet offset ``end``, or everything again."""
    reader = _reader(pkt, left)
    if end is None:
        reader.unbound()
    else:
        reader.bound(end)
    return reader.limit


def text_length(pkt: Any, left: Left) -> int:
    """Bytes of the 16-bit units up to and with the first that is 0; DecodeError when there is none."""
    reader = _reader(pkt, left)
    distance = reader.find(b"\0\0", 2)
    if distance < 0:
        cut = reader.end < reader.limit
        raise DecodeError(
            "missing-bytes" if cut or not reader.bounded else "past-packet-size",
            "text without a terminator",
            offset=reader.tell(),
        )
    return distance + 2


class ReachedFields:
    """``fields_desc``: all fields of a class; of a packet that was cut, those that its bytes reach."""

    def __init__(self, found: list[Any]) -> None:
        self._all = found

    def __get__(self, pkt: Any, owner: Any = None) -> list[Any]:
        reached = None if pkt is None else pkt.reached
        return self._all if reached is None else [field for field in self._all if field.name in reached]


class Scope:
    """A packet while it is dissected, as its expressions see it: fields, positions, context, ``_``."""

    __slots__ = ("_pkt",)

    def __init__(self, pkt: Any) -> None:
        self._pkt = pkt

    def __getitem__(self, name: str) -> Any:
        pkt = self._pkt
        if name == "_":
            return UNDETERMINED if pkt.parent is None else Scope(pkt.parent)
        if name in pkt.fields:
            value = pkt.fields[name]
            return Scope(value) if hasattr(value, "structure") else known(value)
        if name in pkt.positions:
            return pkt.positions[name]
        return pkt.context.get(name, UNDETERMINED)
