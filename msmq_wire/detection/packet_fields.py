"""Fields of a packet that may be truncated, and their places, for several rules.

The rule kept here: a field that was not decoded is None.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from operator import attrgetter
from typing import Any, Literal

import msgspec

from msmq_wire.detection.finding import Evidence
from msmq_wire.detection.rule import evidence_of
from msmq_wire.reassembly.encapsulation import PROXY_HEADER, numbers_in
from msmq_wire.records.coverage import Need
from msmq_wire.records.record import UNKNOWN_PACKET, Record
from msmq_wire.wire.headers.base_header import MAX_PACKET_SIZE, VERSION_NUMBER

USER_PACKETS = ("user_message", "order_ack", "final_ack")
"""Packets with a UserHeader on TCP."""
MESSAGES = (*USER_PACKETS, "message_packet")
"""Packets with a UserHeader, including those that remote read returns."""
PACKETS = (*MESSAGES, "establish_connection", "connection_parameters", "session_ack", UNKNOWN_PACKET)
"""Packets that begin with a BaseHeader."""


MP = 1 << 21
"""The flag of the UserHeader that announces a MessagePropertiesHeader."""
_BASE_HEADER = 16
_PROPERTIES = 56
LEAST = dict.fromkeys(MESSAGES, 120) | {
    "establish_connection": 572,
    "connection_parameters": 32,
    "session_ack": 36,
    UNKNOWN_PACKET: 20,
}
"""The size of the headers that every packet of a type has, see `least_size`."""
_FLAGS = {"base_header": (2, 2), "user_header": (60, 4)}
_PACKET_SIZE = (8, 4)


def bytes_of(record: Record) -> tuple[Need, ...]:
    """What a capture must hold for a claim about the bytes of a record: all of them, or their end."""
    cut = record.error is not None and record.error.code == "missing-bytes" and record.parent is None
    return ("record", "end") if cut else ("record",)


def field(record: Record, path: str) -> Any:
    """A field of the packet by its dotted path; None if it is absent or was not decoded."""
    return reached(record.packet, path)


def reached(value: Any, path: str) -> Any:
    """The value at a dotted path, elements as ``name[0]``; None if it is absent or was not decoded."""
    getter = _getter(path)
    if getter is not None:
        try:
            found = getter(value)
        except AttributeError:
            return None
        return None if found is msgspec.UNSET else found
    for name, place in _steps(path):
        value = getattr(value, name, None)
        if place is not None and isinstance(value, tuple):
            value = value[place] if place < len(value) else None
        if value is None or value is msgspec.UNSET:
            return None
    return value


@lru_cache(maxsize=1024)
def _getter(path: str) -> Callable[[Any], Any] | None:
    return None if "[" in path else attrgetter(path)


@lru_cache(maxsize=1024)
def _steps(path: str) -> tuple[tuple[str, int | None], ...]:
    parts = (part.partition("[") for part in path.split("."))
    return tuple((name, int(number[:-1]) if number else None) for name, _, number in parts)


def least_size(record: Record) -> int:
    """The size of the headers that every packet of this type has.

    A user packet: BaseHeader, UserHeader without queues, MessagePropertiesHeader where it announces one
    ([MS-MQMQ] 2.2.19, 2.2.20); the others are [MS-MQQB] 2.2.2, 2.2.3 and 2.2.6.
    """
    least = LEAST[record.type]
    flags = field(record, "user_header.flags") if record.type in MESSAGES else None
    return least if flags is None or flags & MP else least - _PROPERTIES


def flags_place(record: Record, header: Literal["base_header", "user_header"]) -> Evidence:
    """The flags of BaseHeader or UserHeader as evidence, with their bytes."""
    path = f"{header}.flags"
    offset, length = _FLAGS[header]
    word: int = field(record, path)
    return evidence_of(record, path, offset, length, word.to_bytes(length, "little"))


def size_place(record: Record) -> Evidence:
    """PacketSize as evidence, with its bytes."""
    size: int = field(record, "base_header.packet_size")
    return evidence_of(record, "base_header.packet_size", *_PACKET_SIZE, size.to_bytes(4, "little"))


def queue_type(word: int, queue: Literal["destination_queue", "admin_queue"]) -> int:
    """DQ or AQ in UserHeader.Flags."""
    return word >> (10 if queue == "destination_queue" else 13) & 7


def begins_side(record: Record) -> bool:
    """Whether the packet is the first of its direction; a PROXY header may precede it."""
    return record.offset in (0, *numbers_in(record.path, PROXY_HEADER))


def starts_like_a_packet(data: bytes) -> bool:
    """Whether bytes look like a BaseHeader without its signature: version and a plausible PacketSize."""
    size = int.from_bytes(data[8:12], "little")
    return data[:1] == bytes([VERSION_NUMBER]) and len(data) >= _BASE_HEADER <= size <= MAX_PACKET_SIZE
