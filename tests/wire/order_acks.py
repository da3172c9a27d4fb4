"""Packets of OrderAck and FinalAck, [MS-MQQB] 2.2.4 and 2.2.5: messages of one shape with another body."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TypeVar

from msmq_wire.wire.headers.base_header import BaseHeader
from msmq_wire.wire.headers.message_properties_header import MessagePropertiesHeader
from msmq_wire.wire.headers.user_header import UserHeader
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.private_queue_format_name_id import PrivateQueueFormatNameId
from msmq_wire.wire.types.wchar_text import WcharText
from tests.wire.cases import Spot

LABEL = "QM Ordering Ack\0".encode("utf-16-le")
ELSEWHERE = {
    "transaction-priority",
    "admin-queue-missing",
    "admin-queue-unasked",
    "over-http",
    "queue-manager-address",
}
"""Rules of both that the tests of user messages break."""

_T = TypeVar("_T")


def direct(text: str) -> bytes:
    """A direct format name as a destination."""
    name = text.encode("utf-16-le") + b"\0\0"
    return len(name).to_bytes(2, "little") + name + bytes(-(len(name) + 2) & 3)


def acknowledgment(
    *,
    user: int,
    message_class: int,
    body: bytes,
    base: int = 0,
    reach: int = 0xFFFFFFFF,
    queues: bytes = b"\4\0\0\0",
    flags: int = 0,
    label: bytes = LABEL,
    body_type: int = 0,
    after: bytes = b"",
) -> bytes:
    """A packet of 192 bytes whose UserHeader begins at 16, MessagePropertiesHeader at 68, body at 156."""
    header = bytes(range(16)) + bytes(16) + struct.pack("<4I", 0xFFFFFFFF, 0, 0, user) + queues
    properties = struct.pack("<BBH20x", flags, len(label) // 2, message_class)
    sizes = struct.pack("<8I", body_type, 0, len(body), len(body), 0, 0x800E, 0x6610, 0)
    rest = header + properties + sizes + label + body + bytes(-len(label + body) & 3) + after
    return struct.pack("<BBHIII", 0x10, 0, base, 0x524F494C, 16 + len(rest), reach) + rest


def value(packet: Callable[..., _T], *, user: int, message_class: int, body: bytes) -> _T:
    """What `acknowledgment` gives, as a value."""
    return packet(
        base_header=BaseHeader(flags=0, packet_size=192),
        user_header=UserHeader(
            source_queue_manager=GUID(bytes(range(16))),
            flags=user,
            destination_queue=PrivateQueueFormatNameId(private_queue_identifier=4),
        ),
        message_properties_header=MessagePropertiesHeader(
            label_length=16,
            message_class=message_class,
            message_size=36,
            allocation_body_size=36,
            label=WcharText.of("QM Ordering Ack"),
            message_body=body,
        ),
    )


def broken(
    packet: Callable[..., bytes], *, public: int, journaled: int, other_size: bytes
) -> list[tuple[bytes, Sequence[Spot]]]:
    """What both must be: flags of a public destination and of a journal break it, and another body does."""
    return [
        (
            packet(base=8),
            [("not-internal", "base_header.flags", 2, 2), ("base-flags", "base_header.flags", 2, 2)],
        ),
        (packet(after=b"\1\2\3\4"), [("undeclared", "undeclared", 192, 4)]),
        (packet(base=3), [("base-flags", "base_header.flags", 2, 2)]),
        (packet(reach=345_599), [("time-to-reach-queue", "base_header.time_to_reach_queue", 12, 4)]),
        (
            packet(user=public, queues=bytes(16)),
            [
                ("destination-type", "user_header.flags", 60, 4),
                ("order-queue", "user_header.destination_queue", 64, 16),
            ],
        ),
        (packet(queues=b"\5\0\0\0"), [("order-queue", "user_header.destination_queue", 64, 4)]),
        (packet(label=LABEL[2:]), [("label", "message_properties_header.label", 124, 30)]),
        (packet(body=other_size), [("message-size", "message_properties_header.message_size", 100, 4)]),
        (packet(user=journaled), [("other-flags", "user_header.flags", 60, 4)]),
        (packet(flags=0x80), [("property-flags", "message_properties_header.flags", 68, 1)]),
        (packet(body_type=8), [("body-type", "message_properties_header.body_type", 92, 4)]),
    ]
