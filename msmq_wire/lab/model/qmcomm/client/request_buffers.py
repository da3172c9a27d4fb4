"""The transfer buffers with which a client sends and receives. [MS-MQMP] 3.1.1.11, 3.1.5.2, 3.1.5.3

The rule kept here: a property that is not given, or not wanted, is NULL, and its length 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from msmq_wire.rpc.constants import TransferType
from msmq_wire.rpc.transfer_properties import TRANSLATIONS, MessageProperties, Translation
from msmq_wire.rpc.types.cac_transfer_buffer import (
    CACTransferBufferV1,
    CACTransferBufferV2,
    TransferReceive,
    TransferSend,
)
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.wchar_text import WcharText

_FOR_EVER = 0xFFFF_FFFF
_PROV_RSA_FULL = 1
_LONGEST_SENDER_IDENTIFIER = 0xFFFF
_LARGEST_ROOM = 0x40_0000
"""No message is longer than 4 MB. [MS-MQMQ] 2.2.19.1"""

_MOST_CHARACTERS: Mapping[str, int] = {
    "response_queue_format_name": 1024,
    "administration_queue_format_name": 1024,
    "destination_queue_format_name": 1024,
    "transaction_status_queue_format_name": 1024,
    "label": 250,
}
"""The most that is marshalled of a text, whatever room there is. [MS-MQMP] 3.1.5.3"""


class Room(msgspec.Struct, frozen=True, kw_only=True):
    """How much of each property of a message there is room for; None: the property is not wanted.

    Texts are counted in characters with their terminators, all others in bytes; 0 to 4 MB. A message with
    a property that does not fit is not received.
    """

    body: int | None = 16_384
    label: int | None = 250
    extension: int | None = 4_096
    response_queue_format_name: int | None = 1_024
    administration_queue_format_name: int | None = 1_024
    destination_queue_format_name: int | None = 1_024
    transaction_status_queue_format_name: int | None = 1_024
    sender_identifier: int | None = 128
    sender_certificate: int | None = 4_096
    authentication_provider_name: int | None = 256
    symmetric_key: int | None = 1_024
    signature: int | None = 1_024

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            size = getattr(self, name)
            most = _LONGEST_SENDER_IDENTIFIER if name == "sender_identifier" else _LARGEST_ROOM
            if size is not None and not 0 <= size <= most:
                raise ValueError(f"room for {name} is 0 to {most}, not {size}")


def sending_buffer(properties: MessageProperties, transaction: GUID | None = None) -> CACTransferBufferV2:
    """The buffer of a message that is sent, perhaps in a transaction; what a server sets is left out.

    A message that is signed without the name of a provider is signed with the default one. Raises ValueError
    for names that are no format names, and for a sender identifier that is too long.
    """
    if len(properties.sender_identifier or b"") > _LONGEST_SENDER_IDENTIFIER:
        raise ValueError(f"a sender identifier has at most {_LONGEST_SENDER_IDENTIFIER} bytes")
    members: dict[str, Any] = {
        "old.u_transfer_type": TransferType.CACTB_SEND,
        "old.p_uow": transaction,
        "old.ul_absolute_time_to_queue": _FOR_EVER,
        "old.ul_relative_time_to_live": _FOR_EVER,
    }
    for row in TRANSLATIONS:
        value = getattr(properties, row.attribute)
        if not row.sent or value is None:
            continue
        if row.attribute == "signature":
            value = (properties.leading_signature or b"") + value
        restored = row.restore(value)
        members[row.member] = restored | members.get(row.member, 0) if row.mask else restored
        if row.room:
            members[row.room] = members[row.sent_length] = len(restored) // row.unit
    if properties.signature:
        members.update(_provider(properties, members))
    return _buffer(TransferSend, members)


def _provider(properties: MessageProperties, members: Mapping[str, Any]) -> dict[str, Any]:
    """The members that say how a message was signed."""
    made: dict[str, Any] = {}
    if properties.authentication_provider_name is None:
        made["old.f_default_provider"] = 1
        made["old.pul_prov_type"] = members.get("old.pul_prov_type", _PROV_RSA_FULL)
    if properties.leading_signature is not None:
        # The length of the second signature is what this is more than the length of the name.
        name = members.get("old.ul_prov_name_len", 0)
        made["old.pul_auth_prov_name_len_prop"] = name + len(properties.signature or b"")
    return made


def receiving_buffer(
    room: Room,
    action: int,
    *,
    timeout: int = 0,
    cursor: int = 0,
    asynchronous: bool = False,
    transaction: GUID | None = None,
) -> CACTransferBufferV2:
    """The buffer of who receives or peeks: room for what is wanted; ``timeout`` in milliseconds."""
    members: dict[str, Any] = {
        "old.u_transfer_type": TransferType.CACTB_RECEIVE,
        "old.p_uow": transaction,
        "old.arm.action": action,
        "old.arm.request_timeout": timeout,
        "old.arm.cursor": cursor,
        "old.arm.asynchronous": int(asynchronous),
        "old.pul_version": 0,
    }
    for row in TRANSLATIONS:
        if row.received and row.room:
            members.update(_room(row, getattr(room, row.attribute)))
        elif row.received and row.member != "old.p_body_size":
            members[row.member] = row.absent
    return _buffer(TransferReceive, members)


def _room(row: Translation, size: int | None) -> dict[str, Any]:
    """Room for one property; the length of the body is told by two members more."""
    if size is None:
        return {}
    marshalled = min(size, _MOST_CHARACTERS.get(row.attribute, size))
    zeros = bytes(marshalled * row.unit)
    made: dict[str, Any] = {
        row.member: WcharText(zeros) if row.unit == 2 else zeros,
        row.room: marshalled,
        row.received_length: size,
    }
    if row.attribute == "body":
        made[row.sent_length] = marshalled
    return made


def _buffer(arm: type[TransferSend | TransferReceive], members: Mapping[str, Any]) -> CACTransferBufferV2:
    """The buffer with these members, by their paths."""
    places: dict[str, dict[str, Any]] = {"": {}, "old": {}, "old.arm": {}}
    for path, value in members.items():
        where, _, name = path.rpartition(".")
        places[where][name] = value
    old = CACTransferBufferV1(arm=arm(**places["old.arm"]), **places["old"])
    return CACTransferBufferV2(old=old, **places[""])
