"""The packets as lean construct schemas: raw flag words, ``this`` expressions, pad bytes as fields.

The fastest form that interpreted construct has and that still keeps every byte: what our ratios are taken
to. It has the headers of the workload; a multiple-queue list has all three parts, so nothing looks ahead.
"""

from __future__ import annotations

import zlib
from typing import Any

import construct
from construct import (
    Array,  # noqa: TID251  # what is measured is construct as it comes
    Bytes,
    GreedyBytes,
    If,  # noqa: TID251  # what is measured is construct as it comes
    Int8ul,
    Int16ul,
    Int32ul,
    NullTerminated,
    Struct,
    Switch,  # noqa: TID251  # what is measured is construct as it comes
    Tell,
    this,
)

from benchmarks.agreement import Facts, guid_text, kind, message

__all__ = ["decode", "encode", "facts"]

_GUID = Bytes(16)
_DIRECT = Struct(
    "count" / Int16ul,
    "direct_format_name" / Bytes(this.count),
    "padding" / Bytes(-(this.count + 2) & 3),
)
_PRIVATE_ID = Struct("private_queue_identifier" / Int32ul)
_PUBLIC = Struct("public_queue_identifier" / _GUID)
_PRIVATE = Struct("source_queue_manager" / _GUID, "private_queue_identifier" / Int32ul)
_QUEUES: dict[Any, Any] = {
    2: _PRIVATE_ID,
    3: _PRIVATE_ID,
    4: _PRIVATE_ID,
    5: _PUBLIC,
    6: _PRIVATE,
    7: _DIRECT,
}

_BASE_HEADER = Struct(
    "version_number" / Int8ul,
    "reserved" / Int8ul,
    "flags" / Int16ul,
    "signature" / Int32ul,
    "packet_size" / Int32ul,
    "time_to_reach_queue" / Int32ul,
)
_USER_HEADER = Struct(
    "source_queue_manager" / _GUID,
    "queue_manager_address" / _GUID,
    "time_to_be_received" / Int32ul,
    "sent_time" / Int32ul,
    "message_id" / Int32ul,
    "flags" / Int32ul,
    "destination_queue" / Switch((this.flags >> 10) & 7, _QUEUES),
    "admin_queue" / Switch((this.flags >> 13) & 7, _QUEUES),
    "response_queue" / Switch((this.flags >> 16) & 7, _QUEUES),
    "connector_type" / If(this.flags & 0x400000, _GUID),
)
_TRANSACTION_HEADER = Struct(
    "flags" / Int32ul,
    "tx_sequence_id" / Struct("ordinal" / Int32ul, "time_stamp" / Int32ul),
    "tx_sequence_number" / Int32ul,
    "previous_tx_sequence_number" / Int32ul,
    "connector_qm_guid" / If(this.flags & 1, _GUID),
)
_SECURITY_HEADER = Struct(
    "flags" / Int16ul,
    "sender_id_size" / Int16ul,
    "encryption_key_size" / Int16ul,
    "signature_size" / Int16ul,
    "sender_cert_size" / Int32ul,
    "provider_info_size" / Int32ul,
    "security_id" / Bytes(this.sender_id_size),
    "security_id_padding" / Bytes(-this.sender_id_size & 3),
    "encryption_key" / Bytes(this.encryption_key_size),
    "encryption_key_padding" / Bytes(-this.encryption_key_size & 3),
    "signature" / Bytes(this.signature_size),
    "signature_padding" / Bytes(-this.signature_size & 3),
    "sender_cert" / Bytes(this.sender_cert_size),
    "sender_cert_padding" / Bytes(-this.sender_cert_size & 3),
    "provider_info" / Bytes(this.provider_info_size),
    "provider_info_padding" / Bytes(-this.provider_info_size & 3),
)
_MESSAGE_PROPERTIES_HEADER = Struct(
    "flags" / Int8ul,
    "label_length" / Int8ul,
    "message_class" / Int16ul,
    "correlation_id" / Bytes(20),
    "body_type" / Int32ul,
    "application_tag" / Int32ul,
    "message_size" / Int32ul,
    "allocation_body_size" / Int32ul,
    "privacy_level" / Int32ul,
    "hash_algorithm" / Int32ul,
    "encryption_algorithm" / Int32ul,
    "extension_size" / Int32ul,
    "label" / Bytes(this.label_length * 2),
    "extension_data" / Bytes(this.extension_size),
    "message_body" / Bytes(this.message_size),
    "padding" / Bytes(-(this.label_length * 2 + this.extension_size + this.message_size) & 3),
)
_DEBUG_HEADER = Struct(
    "flags" / Int16ul, "reserved" / Int16ul, "queue_identifier" / If((this.flags & 3) == 1, _GUID)
)
_ADDRESS_HEADER = Struct(
    "header_size" / Int32ul,
    "header_id" / Int16ul,
    "reserved" / Int16ul,
    "element_count" / Int32ul,
    "format_name_list"
    / Array(
        this.element_count,
        Struct(
            "format_type" / Int16ul,
            "format_name" / Switch(this.format_type, {3: NullTerminated(GreedyBytes, term=b"\0\0")}),
        ),
    ),
    "end" / Tell,
    "padding" / Bytes(-this.end & 3),
)
_SESSION_HEADER = Struct(
    "ack_sequence_number" / Int16ul,
    "recoverable_msg_ack_seq_number" / Int16ul,
    "recoverable_msg_ack_flags" / Int32ul,
    "user_msg_sequence_number" / Int16ul,
    "recoverable_msg_seq_number" / Int16ul,
    "window_size" / Int16ul,
    "reserved" / Int16ul,
)
_INTERNAL_HEADER = Struct("reserved" / Int16ul, "flags" / Int16ul)

_SCHEMAS: dict[str, construct.Construct[Any, Any]] = {
    "message": Struct(
        "base_header" / _BASE_HEADER,
        "user_header" / _USER_HEADER,
        "transaction_header" / If(this.user_header.flags & 0x100000, _TRANSACTION_HEADER),
        "security_header" / If(this.user_header.flags & 0x80000, _SECURITY_HEADER),
        "message_properties_header" / If(this.user_header.flags & 0x200000, _MESSAGE_PROPERTIES_HEADER),
        "debug_header" / If(this.base_header.flags & 0x20, _DEBUG_HEADER),
        "multi_queue_format_header"
        / If(
            this.user_header.flags & 0x800000,
            Struct(
                "destination" / _ADDRESS_HEADER,
                "administration" / _ADDRESS_HEADER,
                "response" / _ADDRESS_HEADER,
            ),
        ),
        "session_header" / If(this.base_header.flags & 0x10, _SESSION_HEADER),
    ),
    "session_ack": Struct(
        "base_header" / _BASE_HEADER,
        "internal_header" / _INTERNAL_HEADER,
        "session_header" / _SESSION_HEADER,
    ),
    "establish_connection": Struct(
        "base_header" / _BASE_HEADER,
        "internal_header" / _INTERNAL_HEADER,
        "client_guid" / _GUID,
        "server_guid" / _GUID,
        "time_stamp" / Int32ul,
        "operating_system" / Int16ul,
        "reserved" / Int16ul,
        "padding" / Bytes(512),
    ),
    "connection_parameters": Struct(
        "base_header" / _BASE_HEADER,
        "internal_header" / _INTERNAL_HEADER,
        "recoverable_ack_timeout" / Int32ul,
        "ack_timeout" / Int32ul,
        "reserved" / Int16ul,
        "window_size" / Int16ul,
    ),
    "ping": Struct("flags" / Int16ul, "signature" / Int16ul, "cookie" / Int32ul, "qm_guid" / _GUID),
}
_PARSE = {name: schema.parse for name, schema in _SCHEMAS.items()}
_BUILD = {name: schema.build for name, schema in _SCHEMAS.items()}

Decoded = tuple[str, Any]


def decode(data: bytes) -> Decoded:
    """The kind of a packet and its container."""
    found = kind(data)
    return found, _PARSE[found](data)


def encode(decoded: Decoded) -> bytes:
    """The bytes of what `decode` returned."""
    return _BUILD[decoded[0]](decoded[1])


def facts(decoded: Decoded) -> Facts:
    """What is compared."""
    found, packet = decoded
    match found:
        case "ping":
            return Facts("ping", packet.cookie, crc=zlib.crc32(packet.qm_guid))
        case "session_ack":
            header = packet.session_header
            return Facts("session_ack", header.ack_sequence_number, size=header.window_size)
        case "connection_parameters":
            return Facts("connection_parameters", packet.ack_timeout, size=packet.window_size)
        case "establish_connection":
            return Facts("establish_connection", packet.time_stamp, crc=zlib.crc32(packet.client_guid))
    user, properties = packet.user_header, packet.message_properties_header
    queue = user.destination_queue
    match user.flags >> 10 & 7:
        case 7:
            name = queue.direct_format_name.decode("utf-16-le").rstrip("\0")
        case 5:
            name = guid_text(queue.public_queue_identifier)
        case _:
            name = f"{queue.private_queue_identifier:08x}"
    multi = packet.multi_queue_format_header
    count = 0 if multi is None else len(multi.destination.format_name_list)
    return message(user.message_id, name, properties.label, properties.message_body, count)
