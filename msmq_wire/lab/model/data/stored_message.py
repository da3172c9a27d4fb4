"""A `user_message` packet as the message that a queue holds. [MS-MQDMPR] 3.1.7.1.31

The rule kept here: what is stored are the bytes that came, less the SessionHeader, which speaks of a session
and not of the message.
"""

from __future__ import annotations

import msgspec

from msmq_wire.engines.codec import encode
from msmq_wire.lab.model.data.elements import ModelMessage
from msmq_wire.rpc.transfer_properties import MessageProperties
from msmq_wire.rpc.types.queue_format import ObjectId
from msmq_wire.wire.headers.message_properties_header import MessagePropertiesHeader
from msmq_wire.wire.headers.security_header import SecurityHeader
from msmq_wire.wire.packets.user_message import MessageHeaders, UserMessage
from msmq_wire.wire.types.wchar_text import FixedWcharText, WcharText

_SH = 0x10
_ENCRYPTED = 0x20


def message_name(packet: MessageHeaders) -> bytes:
    """The 20 bytes by which acknowledgments name a message: its queue manager and its number there."""
    user = packet.user_header
    return bytes(user.source_queue_manager) + user.message_id.to_bytes(4, "little")


def without_session_header(packet: UserMessage) -> UserMessage:
    """The packet with no SessionHeader."""
    if packet.session_header is None:
        return packet
    base = msgspec.structs.replace(packet.base_header, flags=packet.base_header.flags & ~_SH)
    return msgspec.structs.replace(packet, base_header=base, session_header=None)


def message_of(packet: UserMessage, data: bytes | None = None) -> ModelMessage:
    """Get Message Data Element From Buffer. [MS-MQQB] 3.1.7.10

    ``data`` are the bytes of the packet where they are at hand; they are taken when it has no SessionHeader.
    Raises EncodeError for a packet that contradicts itself, as none does that was decoded.
    """
    if data is None or packet.session_header is not None:
        data = encode(without_session_header(packet))
    user, properties = packet.user_header, properties_of(packet)
    label = b"" if properties.label is None else properties.label
    return ModelMessage(
        packet=data,
        properties=properties,
        identifier=message_name(packet),
        label=WcharText(label).text,
        message_class=properties.message_class or 0,
        priority=packet.base_header.bit("pr"),
        recoverable=user.bit("dm") == 1,
        transactional=packet.transaction_header is not None,
        size=len(data),
        sent_time=user.sent_time,
        time_to_be_received=user.time_to_be_received,
        acknowledgements_requested=properties.acknowledgements_requested or 0,
    )


def properties_of(packet: MessageHeaders) -> MessageProperties:
    """What applications see of a packet; attributes of headers that it lacks are None.

    ``body`` is the body as it came, also where it is encrypted; a packet does not know ``arrival_time``.
    """
    user, base = packet.user_header, packet.base_header
    source = user.source_queue_manager
    transaction = packet.transaction_header
    found: dict[str, object] = {
        "identifier": ObjectId(lineage=source, uniquifier=user.message_id),
        "sent_time": user.sent_time,
        "priority": base.bit("pr"),
        "delivery_guarantee": user.bit("dm"),
        "positive_journaling_requested": bool(user.bit("jp")),
        "negative_journaling_requested": bool(user.bit("jn")),
        "destination_queue_format_name": user.format_name("destination_queue"),
        "administration_queue_format_name": user.format_name("admin_queue"),
        "response_queue_format_name": user.format_name("response_queue"),
        "time_to_reach_queue": base.time_to_reach_queue,
        "time_to_be_received": user.time_to_be_received,
        "tracing_requested": bool(base.bit("tr")),
        "source_machine_identifier": source,
        "connector_type_identifier": user.connector_type,
        "sender_identifier_type": 0,
        "authentication_level": 0,
    }
    if transaction is not None:
        found["first_in_transaction"] = bool(transaction.bit("fm"))
        found["last_in_transaction"] = bool(transaction.bit("lm"))
        found["transaction_identifier"] = ObjectId(lineage=source, uniquifier=transaction.bit("id"))
    if packet.security_header is not None:
        found.update(_secured(packet.security_header))
    if packet.message_properties_header is not None:
        found.update(_described(packet.message_properties_header))
    properties: MessageProperties = msgspec.structs.replace(MessageProperties(), **found)
    return properties


def _described(header: MessagePropertiesHeader) -> dict[str, object]:
    label = header.label
    return {
        "message_class": header.message_class,
        "correlation_identifier": header.correlation_id,
        "acknowledgements_requested": header.flags & 0x0F,
        "application_tag": header.application_tag,
        "label": WcharText(label[: FixedWcharText(label).used]),
        "body_type": header.body_type,
        "body": header.message_body,
        "body_length": len(header.message_body),
        "extension": header.extension_data or None,
        "hash_algorithm": header.hash_algorithm,
        "privacy_level": header.privacy_level,
        "encryption_algorithm": header.encryption_algorithm,
    }


def _secured(header: SecurityHeader) -> dict[str, object]:
    data = header.security_data
    provider = data.provider_info
    return {
        "sender_identifier_type": header.bit("st"),
        "sender_identifier": data.security_id or None,
        "sender_certificate": data.sender_cert or None,
        "authentication_level": header.bit("as"),
        "authentication_provider_type": None if provider is None else provider.provider_type,
        "authentication_provider_name": None if provider is None else provider.provider_name,
        "signature": data.signature or None,
        "symmetric_key": data.encryption_key or None,
        "body_encrypted": bool(header.flags & _ENCRYPTED),
    }
