"""Where the body of a message is, whether all of it is there, and what helps to open it."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import msgspec

from msmq_wire.records.bodies import Body, EncryptedBody, encrypted_body, encrypted_transfer, open_body
from msmq_wire.records.body_keys import opened
from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import TransferBuffer
from msmq_wire.records.srmp_packets import SrmpMessage
from msmq_wire.representation import struct_line
from msmq_wire.rpc.transfer_properties import MessageProperties
from msmq_wire.wire.headers.compound_message_header import CompoundMessageHeader
from msmq_wire.wire.headers.message_properties_header import MessagePropertiesHeader

IN_PACKET = "message_properties_header.message_body"
"""The path of a body in a packet of the binary protocol."""
BODY_FIELDS = ("message_body", "message_size", "label", "body_type", "extension_data")
"""The fields of a MessagePropertiesHeader that `body_of` takes."""


class MessageBody(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The bytes of a body as far as they are there, and how many there should be.

    ``path`` is that of its field. ``complete`` is false where an unknown number of bytes is missing, too.
    ``body_type`` is None where no header has it. ``extension`` and ``encrypted`` are what `open_body` takes.
    Of a cipher text that a key in force opened ``ciphertext`` has it, ``opened_with`` says how, ``doubtful``
    whether nothing confirms it; ``not_opened`` why the key did not.
    """

    data: bytes
    size: int
    path: str = ""
    complete: bool = True
    label: str = ""
    body_type: int | None = None
    extension: bytes = b""
    encrypted: EncryptedBody | None = None
    ciphertext: bytes = b""
    opened_with: str = ""
    doubtful: bool = False
    not_opened: str = ""

    __repr__ = struct_line

    @property
    def cut(self) -> bool:
        """Whether a known number of bytes is missing."""
        return len(self.data) < self.size

    @property
    def whole(self) -> bool:
        """Whether no bytes are missing."""
        return self.complete and not self.cut

    @cached_property
    def content(self) -> Body:
        """What is in it."""
        content = open_body(
            self.data, self.body_type or 0, extension=self.extension, encrypted=self.encrypted
        )
        reported = (("opened_with", self.opened_with), ("not_opened", self.not_opened))
        details = tuple(one for one in reported if one[1])
        # The headers of a messaging library stay the last ones.
        return msgspec.structs.replace(content, details=details + content.details) if details else content

    @cached_property
    def under_keys(self) -> MessageBody:
        """The body with the keys of `opening_bodies`: opened, or with the reason why not; else as it is."""
        encrypted = self.encrypted
        if encrypted is None or not encrypted.declared or not self.data:
            return self
        found = opened(encrypted.algorithm, encrypted.key, self.data, self.size, encrypted.packet_level)
        if found is None:
            return self
        if found.body is None:
            return msgspec.structs.replace(self, not_opened=found.why)
        # What is missing of a cipher text is missing of the body.
        size = len(found.body) + self.size - len(self.data)
        return msgspec.structs.replace(
            self,
            data=found.body,
            size=size,
            encrypted=None,
            ciphertext=self.data,
            opened_with=found.how,
            doubtful=found.doubtful,
        )


def message_body(record: Record) -> MessageBody | None:
    """The body of a message; None when nothing of it is there: no body, or cut before its first byte.

    One that is encrypted is opened where a key is in force.

    An SRMP message in a packet has its body in CompoundMessageHeader ([MS-MQRR] 2.2.5.1.2.2), every other in
    MessagePropertiesHeader ([MS-MQMQ] 2.2.19.3), in the transfer buffer it came in ([MS-MQMP] 2.2.3.2), or in
    a part of an HTTP message ([MC-MQSRM] 2.2.2).
    """
    packet = record.packet
    if isinstance(packet, TransferBuffer):
        body = transfer_body(packet.properties)
    elif isinstance(packet, SrmpMessage):
        body = srmp_body(packet)
    else:
        properties = getattr(packet, "message_properties_header", None)
        compound = getattr(packet, "compound_message_header", None)
        body = None
        if isinstance(properties, MessagePropertiesHeader):
            body = properties_body(properties, packet)
        if isinstance(compound, CompoundMessageHeader):
            body = _compound_body(compound, body)
    return body.under_keys if body is not None and body.data else None


def body_of(data: bytes, size: int, label: str, body_type: int, extension: bytes) -> MessageBody | None:
    """The body of a packet that is whole and not encrypted, None where it is empty."""
    if not data:
        return None
    return MessageBody(
        data=data,
        size=max(size, len(data)),
        path=IN_PACKET,
        label=label,
        body_type=body_type,
        extension=extension,
    )


def properties_body(properties: MessagePropertiesHeader, packet: Any) -> MessageBody:
    """The body in a MessagePropertiesHeader of a packet or of a part of one, empty if it was not reached."""
    data, size, body_type = properties.message_body, properties.message_size, properties.body_type
    held = _octets(data)
    return MessageBody(
        data=held,
        # MessageSize may be that of the body before it was encrypted.
        size=max(size, len(held)) if isinstance(size, int) else len(held),
        path=IN_PACKET,
        label=properties.label.text if isinstance(properties.label, bytes) else "",
        body_type=body_type if isinstance(body_type, int) else None,
        extension=_octets(properties.extension_data),
        encrypted=encrypted_body(packet),
    )


def transfer_body(message: MessageProperties) -> MessageBody:
    """The body in a transfer buffer, empty where the buffer conveys none."""
    data = message.body or b""
    return MessageBody(
        data=data,
        size=len(data) if message.body_length is None else message.body_length,
        path="properties.body",
        label="" if message.label is None else message.label.text,
        body_type=message.body_type,
        extension=message.extension or b"",
        encrypted=encrypted_transfer(message),
    )


def srmp_body(message: SrmpMessage) -> MessageBody:
    """The body of a message over HTTP, empty where there is none; of one that is cut the size is claimed."""
    data = message.body or b""
    size = len(data)
    if not message.complete:
        claimed = next((part.content_length for part in message.parts if part.role == "body"), None)
        size = max(size, claimed or 0)
    header = getattr(message.envelope, "header", None)
    body_type = getattr(getattr(header, "msmq", None), "body_type", None)
    return MessageBody(
        data=data,
        size=size,
        path="body",
        complete=message.complete,
        label=message.label or "",
        body_type=body_type if isinstance(body_type, int) else None,
        extension=message.extension or b"",
    )


def _compound_body(compound: CompoundMessageHeader, outer: MessageBody | None) -> MessageBody | None:
    # Without data, or without an offset, nothing says where the body would be.
    if not isinstance(compound.data, bytes) or not isinstance(compound.msg_body_offset, int):
        return None
    body = MessageBody(data=b"", size=0) if outer is None else outer
    return msgspec.structs.replace(body, data=compound.message_body, size=compound.msg_body_size)


def _octets(value: Any) -> bytes:
    return value if isinstance(value, bytes) else b""
