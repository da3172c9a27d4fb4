"""Where the body of a message is, and whether all of it is there."""

from __future__ import annotations

from typing import Any

import msgspec

from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import TransferBuffer
from msmq_wire.wire.headers.compound_message_header import CompoundMessageHeader
from msmq_wire.wire.headers.message_properties_header import MessagePropertiesHeader

__all__ = ["MessageBody", "message_body"]


class MessageBody(msgspec.Struct, frozen=True):
    """The bytes of a body as far as they are there, and how many there should be."""

    data: bytes
    size: int
    label: str = ""
    body_type: int = 0

    @property
    def cut(self) -> bool:
        """Whether bytes are missing."""
        return len(self.data) < self.size


def message_body(record: Record) -> MessageBody | None:
    """The body of a message; None when nothing of it is there: no body, or cut before its first byte.

    An SRMP message has its body in CompoundMessageHeader ([MS-MQRR] 2.2.5.1.2.2), every other in
    MessagePropertiesHeader ([MS-MQMQ] 2.2.19.3), or in the transfer buffer it came in ([MS-MQMP] 2.2.3.2).
    """
    if isinstance(record.packet, TransferBuffer):
        return _transferred(record.packet)
    properties = getattr(record.packet, "message_properties_header", None)
    compound = getattr(record.packet, "compound_message_header", None)
    data: Any = None
    if isinstance(compound, CompoundMessageHeader):
        size = compound.msg_body_size
        # Without data, or without an offset, nothing says where the body would be.
        if isinstance(compound.data, bytes) and isinstance(compound.msg_body_offset, int):
            data = compound.message_body
    elif isinstance(properties, MessagePropertiesHeader):
        data, size = properties.message_body, properties.message_size
    if not isinstance(data, bytes) or not data:
        return None
    label, body_type = "", 0
    if isinstance(properties, MessagePropertiesHeader):
        label = properties.label.text if isinstance(properties.label, bytes) else ""
        body_type = properties.body_type if isinstance(properties.body_type, int) else 0
    return MessageBody(data, size, label, body_type)


def _transferred(buffer: TransferBuffer) -> MessageBody | None:
    message = buffer.properties
    if not message.body:
        return None
    size = len(message.body) if message.body_length is None else message.body_length
    label = "" if message.label is None else message.label.text
    return MessageBody(message.body, size, label, message.body_type or 0)
