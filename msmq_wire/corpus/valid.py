"""Values that break no MUST, made from any value of a structure.

The rule kept here: a value changes as little as possible. What a MUST ties together is set by hand. What
breaks a MUST after that becomes its default.
"""

from __future__ import annotations

from typing import Any

import msgspec

from msmq_wire.engines import reference
from msmq_wire.engines.fit import fit
from msmq_wire.errors import DecodeError, EncodeError
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.base_header import BaseHeader
from msmq_wire.wire.headers.compound_message_header import CompoundMessageHeader
from msmq_wire.wire.headers.extended_address_header import ExtendedAddressHeader
from msmq_wire.wire.headers.extension_header import ExtensionHeader
from msmq_wire.wire.headers.message_properties_header import MessagePropertiesHeader
from msmq_wire.wire.headers.security_header import SecurityHeader
from msmq_wire.wire.headers.srmp_envelope_header import SRMPEnvelopeHeader
from msmq_wire.wire.headers.subqueue_header import SubqueueHeader
from msmq_wire.wire.headers.user_header import AddressOverlay, UserHeader
from msmq_wire.wire.packets.acknowledgment import ACK_LABEL, ORDER_QUEUE, ORDER_QUEUE_NUMBER
from msmq_wire.wire.packets.final_ack import FinalAck
from msmq_wire.wire.packets.message_packet import TRAILERS, MessagePacket
from msmq_wire.wire.packets.user_message import MessageHeaders, UserMessage
from msmq_wire.wire.types.direct_queue_format_name import DirectQueueFormatName
from msmq_wire.wire.types.enumerations import MessageClass
from msmq_wire.wire.types.guid import GUID, NULL_GUID
from msmq_wire.wire.types.private_queue_format_name_id import PrivateQueueFormatNameId
from msmq_wire.wire.types.sid import SID
from msmq_wire.wire.types.wchar_text import WcharText


def valid(value: WireStruct) -> WireStruct:
    """The value with everything that breaks a MUST set back to its default."""
    # First the fields that are wrong, then, where that did not help, the structures around them.
    for outer in (0, 0, 1, 1, 2):
        value = encodable(_reconciled(value) if isinstance(value, MessageHeaders) else value)
        anomalies = reference.find_anomalies(value)
        if not anomalies:
            return value
        for anomaly in anomalies:
            path = anomaly.path.split(".")
            value = _reset(value, path[: max(1, len(path) - outer)])
    return fit(type(value)())


def encodable(value: WireStruct) -> WireStruct:
    """The value with sizes that fit, and as it decodes: random bytes can look like a part."""
    try:
        return reference.parse(type(value), reference.build(fit(value)))[0]  # type: ignore[no-any-return]  # registry values
    except (EncodeError, DecodeError):
        return fit(type(value)())


def encodes(value: WireStruct) -> bool:
    """Whether the value has an encoding once its sizes fit."""
    try:
        reference.build(fit(value))
    except EncodeError:
        return False
    return True


def _reset(value: WireStruct, path: list[str]) -> WireStruct:
    name, _, index = path[0].partition("[")
    part = getattr(value, name)
    if len(path) > 1 and isinstance(part, WireStruct):
        return msgspec.structs.replace(value, **{name: _reset(part, path[1:])})
    if index:
        return msgspec.structs.replace(value, **{name: ()})
    return msgspec.structs.replace(value, **{name: getattr(type(value)(), name)})


def _reconciled(packet: MessageHeaders) -> MessageHeaders:
    """The packet with those parts and bits that MUSTs tie to each other."""
    user, properties = packet.user_header, packet.message_properties_header or MessagePropertiesHeader()
    direct = isinstance(user.destination_queue, DirectQueueFormatName)
    parts: dict[str, Any] = {}
    if isinstance(packet, MessagePacket):
        if packet.session_header is not None:
            parts["trailing_session_header"] = None
        if any(getattr(packet, name) is not None for name in TRAILERS):
            parts["extension_header"] = ExtensionHeader()
            parts["subqueue_header"] = packet.subqueue_header or SubqueueHeader()
            parts["extended_address_header"] = packet.extended_address_header or ExtendedAddressHeader()
        if packet.srmp_envelope_header is not None or packet.compound_message_header is not None:
            parts["srmp_envelope_header"] = packet.srmp_envelope_header or SRMPEnvelopeHeader()
            parts["compound_message_header"] = packet.compound_message_header or CompoundMessageHeader()
        overlay = isinstance(user.queue_manager_address, AddressOverlay)
        address = (
            user.queue_manager_address if direct == overlay else AddressOverlay() if direct else NULL_GUID
        )
    else:
        parts = {"srmp_envelope_header": None, "compound_message_header": None}
        address = NULL_GUID if direct else user.queue_manager_address
        address = address if isinstance(address, GUID) else NULL_GUID
    transactional = int(packet.transaction_header is not None)
    base = packet.base_header.with_bits(in_=0)
    return msgspec.structs.replace(
        packet,
        base_header=base.with_bits(pr=0) if transactional else base,
        user_header=msgspec.structs.replace(user, queue_manager_address=address).with_bits(
            dm=transactional or user.bit("dm") & 1, rc=user.bit("rc") % 0x1E
        ),
        message_properties_header=properties.with_bits(pa=1)
        if user.admin_queue is not None
        else properties.with_bits(pa=0, pr=0, na=0, nr=0),
        **parts,
    )


def sent_by(header: Any) -> SecurityHeader:
    """The header with a sender of the kind that ST says, and a provider where DE is clear."""
    data = header.security_data
    sid = SID(sub_authority_count=2, sub_authority=(32, len(data.security_id)))
    senders = {0: b"", 1: reference.build(sid), 2: data.security_id.ljust(16, b"\0")[:16]}
    sender = header.bit("st") % 3
    if not any((sender, data.encryption_key, data.signature, data.sender_cert, data.provider_info)):
        sender = 2
    secured: SecurityHeader = msgspec.structs.replace(
        header.with_bits(
            st=sender,
            de=int(data.provider_info is None),
            eb=int(bool(data.encryption_key)),
            au=0,
            as_=0,
        ),
        security_data=msgspec.structs.replace(data, security_id=senders[sender]),
    )
    return secured


FINAL_CLASSES = tuple(int(one) for one in MessageClass if one >= 0x4000)
"""The classes that a FinalAck can have."""


def acknowledgment(
    cls: type[UserMessage],
    body: bytes,
    *,
    direct: bool = False,
    message_class: int = FINAL_CLASSES[0],
    message_id: int = 1,
    reserved: int = 0,
) -> UserMessage:
    """An OrderAck or a FinalAck; ``message_class`` is that of a FinalAck, and ``direct`` names its queue."""
    number: Any = PrivateQueueFormatNameId(private_queue_identifier=ORDER_QUEUE_NUMBER)
    queue = DirectQueueFormatName.of(f"TCP:192.0.2.7{ORDER_QUEUE.upper()}") if direct else number
    final = cls is FinalAck
    user = UserHeader(destination_queue=queue, message_id=message_id)
    return fit(
        cls(
            base_header=BaseHeader(flags=0, reserved=reserved),
            user_header=user.with_bits(dq=7 if direct else 3, dm=int(final)),
            message_properties_header=MessagePropertiesHeader(
                message_class=message_class if final else int(MessageClass.MQMSG_CLASS_ORDER_ACK),
                label=WcharText.of(ACK_LABEL),
                message_body=body,
            ),
        )
    )
