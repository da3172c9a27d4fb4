"""A message in the buffer of who receives it. [MS-MQMP] 3.1.1.11, 3.1.5.3

The rule kept here: a member that is NULL stays NULL, one that is not gets its attribute. A server writes
into the client's room and leaves what lies behind; where a room is too small, nothing is written at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec

from msmq_wire.engines.codec import inspect
from msmq_wire.lab.model.data.elements import ModelMessage
from msmq_wire.lab.model.data.stored_message import properties_of
from msmq_wire.lab.model.data.timers import INFINITE
from msmq_wire.rpc.ndr import NullPointee
from msmq_wire.rpc.statuses import Status
from msmq_wire.rpc.transfer_properties import TRANSLATIONS, MessageProperties, Translation, member_at
from msmq_wire.rpc.types.cac_transfer_buffer import CACTransferBufferV2
from msmq_wire.rpc.types.queue_format import ObjectId
from msmq_wire.wire.packets.user_message import UserMessage
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText

VERSION = 0x10
"""pulVersion: that of the packets of the binary protocol. [MS-MQMP] 2.2.3.2"""

_TOO_SMALL: Mapping[str, int] = {
    "response_queue_format_name": Status.MQ_ERROR_FORMATNAME_BUFFER_TOO_SMALL,
    "administration_queue_format_name": Status.MQ_ERROR_FORMATNAME_BUFFER_TOO_SMALL,
    "destination_queue_format_name": Status.MQ_ERROR_FORMATNAME_BUFFER_TOO_SMALL,
    "transaction_status_queue_format_name": Status.MQ_ERROR_FORMATNAME_BUFFER_TOO_SMALL,
    "body": Status.MQ_ERROR_BUFFER_OVERFLOW,
    "label": Status.MQ_ERROR_LABEL_BUFFER_TOO_SMALL,
    "extension": Status.MQ_ERROR_BUFFER_OVERFLOW,
    "sender_identifier": Status.MQ_ERROR_SENDERID_BUFFER_TOO_SMALL,
    "authentication_provider_name": Status.MQ_ERROR_PROV_NAME_BUFFER_TOO_SMALL,
    "sender_certificate": Status.MQ_ERROR_SENDER_CERT_BUFFER_TOO_SMALL,
    "symmetric_key": Status.MQ_ERROR_SYMM_KEY_BUFFER_TOO_SMALL,
    "signature": Status.MQ_ERROR_SIGNATURE_BUFFER_TOO_SMALL,
}

_Members: TypeAlias = dict[str, Any]


def properties_to_receive(message: ModelMessage, now: int) -> MessageProperties:
    """What an application gets of a message; ``now`` in seconds since 1970.

    Attributes that the message keeps by itself come from there, all others from its properties or, where it
    has none, from its packet. The times to reach the queue and to be received are what is left of them.
    """
    properties = message.properties
    if not isinstance(properties, MessageProperties):
        properties = _of_packet(message)
    spent = max(0, now - message.sent_time) if message.sent_time else 0
    reach = properties.time_to_reach_queue
    received: MessageProperties = msgspec.structs.replace(
        properties,
        arrival_time=message.arrival_time,
        time_to_reach_queue=_left(INFINITE if reach is None else reach, spent),
        time_to_be_received=_left(message.time_to_be_received, spent),
    )
    return received


def _of_packet(message: ModelMessage) -> MessageProperties:
    found = inspect(message.packet, as_="user_message") if message.packet and not message.srmp else None
    if found is not None and found.error is None and isinstance(found.packet, UserMessage):
        return properties_of(found.packet)
    name = message.identifier
    return MessageProperties(
        identifier=ObjectId(lineage=GUID(name[:16]), uniquifier=int.from_bytes(name[16:], "little"))
        if len(name) == 20
        else None,
        label=WcharText.of(message.label),
        message_class=message.message_class,
        priority=message.priority,
        delivery_guarantee=int(message.recoverable),
        acknowledgements_requested=message.acknowledgements_requested,
        sent_time=message.sent_time,
    )


def _left(seconds: int, spent: int) -> int:
    return INFINITE if seconds == INFINITE else max(0, seconds - spent)


def filled_buffer(
    buffer: CACTransferBufferV2, properties: MessageProperties
) -> tuple[int, CACTransferBufferV2]:
    """The status and the buffer of a request to receive, filled by the table of [MS-MQMP] 3.1.1.11.

    Where something does not fit, the status says what, and the buffer comes back as it was.
    """
    members: _Members = {}
    for row in TRANSLATIONS:
        if row.received and not _put(buffer, row, getattr(properties, row.attribute), members):
            return _TOO_SMALL[row.attribute], buffer
    if member_at(buffer, "old.pul_version") is not None:
        members["old.pul_version"] = VERSION
    return Status.MQ_OK, _with(buffer, members)


def _put(buffer: CACTransferBufferV2, row: Translation, value: Any, members: _Members) -> bool:
    """Note what one row changes; False where it does not fit."""
    restored = row.absent if value is None else row.restore(value)
    if row.room:
        return _put_sized(buffer, row, bytes(restored), members)
    # The length of a body that is not told otherwise is that of the body itself.
    if value is None and row.member in members:
        return True
    if _wanted(buffer, row):
        members[row.member] = restored | members.get(row.member, 0) if row.mask else restored
    return True


def _put_sized(buffer: CACTransferBufferV2, row: Translation, content: bytes, members: _Members) -> bool:
    length = len(content) // row.unit
    wanted = _wanted(buffer, row)
    reported = member_at(buffer, row.received_length)
    named = row.attribute in _NAMED
    room = member_at(buffer, _ROOMS.get(row.attribute, row.room))
    if named and isinstance(room, int):
        # The client says in two places how much room it has, the smaller one is on the wire.
        capacity = min(room, reported) if isinstance(reported, int) else 0
    else:
        capacity = room if isinstance(room, int) else 0
    if wanted and length > capacity:
        return False
    if isinstance(reported, int):
        members[row.received_length] = length
    if named and isinstance(room, int):
        members[row.room] = min(room, length) if isinstance(reported, int) else room
    if wanted:
        text = content if named else content + member_at(buffer, row.member)[len(content) :]
        members[row.member] = WcharText(text) if row.unit == 2 else text
    return True


_NAMED = frozenset(row.attribute for row in TRANSLATIONS if row.unit == 2) - {"authentication_provider_name"}
"""The texts whose room is given back as the length of what is there."""

_ROOMS: Mapping[str, str] = {"body": "old.ul_body_buffer_size_in_bytes"}
"""Rooms that are not counted by the member that marshals the array."""


def _wanted(buffer: CACTransferBufferV2, row: Translation) -> bool:
    value = member_at(buffer, row.member)
    return not isinstance(value, NullPointee | msgspec.UnsetType | None)


def _with(buffer: CACTransferBufferV2, members: Mapping[str, Any]) -> CACTransferBufferV2:
    """The buffer with members changed, by their paths."""
    outer: _Members = {}
    old: _Members = {}
    arm: _Members = {}
    for path, value in members.items():
        *where, name = path.split(".")
        (arm if len(where) == 2 else old if where else outer)[name] = value
    if arm:
        old["arm"] = msgspec.structs.replace(buffer.old.arm, **arm)
    outer["old"] = msgspec.structs.replace(buffer.old, **old)
    filled: CACTransferBufferV2 = msgspec.structs.replace(buffer, **outer)
    return filled
