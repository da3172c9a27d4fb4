"""The packets as construct is usually written: bit structures, enumerations, padded and terminated strings.

Fair to the library, not to the wire: reserved bits, dirty padding and unknown names are lost, which is why
the project's own schemas do without these classes.
"""

from __future__ import annotations

import zlib
from typing import Any

import construct
from construct import (
    Aligned,  # noqa: TID251  # the idiom is what is measured
    Array,  # noqa: TID251  # the idiom is what is measured
    BitsInteger,
    BitStruct,
    Bytes,
    ByteSwapped,
    Const,
    CString,  # noqa: TID251  # the idiom is what is measured
    Enum,  # noqa: TID251  # the idiom is what is measured
    Flag,
    If,  # noqa: TID251  # the idiom is what is measured
    Int8ul,
    Int16ul,
    Int32ul,
    PaddedString,  # noqa: TID251  # the idiom is what is measured
    Padding,  # noqa: TID251  # the idiom is what is measured
    Rebuild,  # noqa: TID251  # the idiom is what is measured
    Struct,
    Switch,  # noqa: TID251  # the idiom is what is measured
    len_,
    this,
)

from benchmarks.agreement import Facts, kind, message

__all__ = ["decode", "encode", "facts"]


def _bits(*fields: Any) -> Any:
    return ByteSwapped(BitStruct(*fields))


_QUEUE_TYPES = {
    "none": 0,
    "same_as_admin_queue": 1,
    "private_on_source_host": 2,
    "private_on_destination_host": 3,
    "private_on_admin_queue_host": 4,
    "public": 5,
    "private_on_other_host": 6,
    "direct": 7,
}

_GUID = Struct("data1" / Int32ul, "data2" / Int16ul, "data3" / Int16ul, "data4" / Bytes(8))

_DIRECT = Aligned(4, Struct("count" / Int16ul, "name" / PaddedString(this.count, "utf-16-le")))

_QUEUE: dict[Any, Any] = {
    "private_on_source_host": Struct("identifier" / Int32ul),
    "private_on_destination_host": Struct("identifier" / Int32ul),
    "private_on_admin_queue_host": Struct("identifier" / Int32ul),
    "public": Struct("guid" / _GUID),
    "private_on_other_host": Struct("guid" / _GUID, "identifier" / Int32ul),
    "direct": _DIRECT,
}

_BASE_HEADER = Struct(
    "version" / Const(0x10, Int8ul),
    Padding(1),
    "flags"
    / _bits(
        Padding(7),
        "tr" / Flag,
        Padding(2),
        "dh" / Flag,
        "sh" / Flag,
        "internal" / Flag,
        "priority" / BitsInteger(3),
    ),
    "signature" / Const(b"LIOR"),
    "packet_size" / Int32ul,
    "time_to_reach_queue" / Int32ul,
)

_USER_HEADER = Struct(
    "source_queue_manager" / _GUID,
    "queue_manager_address" / _GUID,
    "time_to_be_received" / Int32ul,
    "sent_time" / Int32ul,
    "message_id" / Int32ul,
    "flags"
    / _bits(
        Padding(3),
        "hh" / Flag,
        Padding(2),
        "ah" / Flag,
        Padding(1),
        "mq" / Flag,
        "cq" / Flag,
        "mp" / Flag,
        "th" / Flag,
        "sh" / Flag,
        "rq" / Enum(BitsInteger(3), **_QUEUE_TYPES),
        "aq" / Enum(BitsInteger(3), **_QUEUE_TYPES),
        "dq" / Enum(BitsInteger(3), **_QUEUE_TYPES),
        "jp" / Flag,
        "jn" / Flag,
        Padding(1),
        "delivery" / Enum(BitsInteger(2), express=0, recoverable=1),
        "hops" / BitsInteger(5),
    ),
    "destination_queue" / Switch(this.flags.dq, _QUEUE),
    "admin_queue" / Switch(this.flags.aq, _QUEUE),
    "response_queue" / Switch(this.flags.rq, _QUEUE),
    "connector_type" / If(this.flags.cq, _GUID),
)

_TRANSACTION_HEADER = Struct(
    "flags"
    / _bits(
        Padding(8),
        "id" / BitsInteger(20),
        "last" / Flag,
        "first" / Flag,
        "final_ack" / Flag,
        "connector" / Flag,
    ),
    "ordinal" / Int32ul,
    "time_stamp" / Int32ul,
    "sequence_number" / Int32ul,
    "previous_sequence_number" / Int32ul,
    "connector_qm_guid" / If(this.flags.connector, _GUID),
)

_SECURITY_HEADER = Struct(
    "flags"
    / _bits(
        Padding(4),
        "authentication" / BitsInteger(4),
        "ai" / Flag,
        "default_provider" / Flag,
        "encrypted" / Flag,
        "authenticated" / Flag,
        "sender_type" / Enum(BitsInteger(4), none=0, sid=1, queue_manager=2),
    ),
    "sender_id_size" / Rebuild(Int16ul, len_(this.sender_id)),
    "encryption_key_size" / Rebuild(Int16ul, len_(this.encryption_key)),
    "signature_size" / Rebuild(Int16ul, len_(this.signature)),
    "sender_cert_size" / Rebuild(Int32ul, len_(this.sender_cert)),
    "provider_info_size" / Rebuild(Int32ul, len_(this.provider_info)),
    "sender_id" / Aligned(4, Bytes(this.sender_id_size)),
    "encryption_key" / Aligned(4, Bytes(this.encryption_key_size)),
    "signature" / Aligned(4, Bytes(this.signature_size)),
    "sender_cert" / Aligned(4, Bytes(this.sender_cert_size)),
    "provider_info" / Aligned(4, Bytes(this.provider_info_size)),
)

_MESSAGE_PROPERTIES_HEADER = Aligned(
    4,
    Struct(
        "flags"
        / BitStruct(
            Padding(4),
            "nr" / Flag,
            "na" / Flag,
            "pr" / Flag,
            "pa" / Flag,
        ),
        "label_length" / Int8ul,
        "message_class" / Enum(Int16ul, normal=0, report=1, ack_reach_queue=2, ack_receive=0x4000),
        "correlation_id" / Bytes(20),
        "body_type" / Enum(Int32ul, empty=0, bstr=8, lpstr=30, lpwstr=31, ui1_vector=0x1011),
        "application_tag" / Int32ul,
        "message_size" / Rebuild(Int32ul, len_(this.body)),
        "allocation_body_size" / Int32ul,
        "privacy_level" / Enum(Int32ul, none=0, base=1, enhanced=3, advanced=5),
        "hash_algorithm" / Enum(Int32ul, md5=0x8003, sha1=0x8004, sha256=0x800C, sha512=0x800E),
        "encryption_algorithm" / Enum(Int32ul, rc2=0x6602, rc4=0x6801, aes128=0x660E, aes256=0x6610),
        "extension_size" / Rebuild(Int32ul, len_(this.extension)),
        "label" / PaddedString(this.label_length * 2, "utf-16-le"),
        "extension" / Bytes(this.extension_size),
        "body" / Bytes(this.message_size),
    ),
)

_DEBUG_HEADER = Struct(
    "flags" / _bits(Padding(14), "queue_type" / Enum(BitsInteger(2), none=0, public=1)),
    Padding(2),
    "queue_identifier" / If(this.flags.queue_type == "public", _GUID),
)

_ADDRESS_HEADER = Aligned(
    4,
    Struct(
        "header_size" / Int32ul,
        "header_id" / Enum(Int16ul, destination=0x64, administration=0xC8, response=0x12C),
        Padding(2),
        "count" / Rebuild(Int32ul, len_(this.names)),
        "names"
        / Array(
            this.count,
            Struct(
                "type" / Enum(Int16ul, public=1, private=2, direct=3, distribution_list=4),
                "name" / Switch(this.type, {"direct": CString("utf_16_le")}),
            ),
        ),
    ),
)

_SESSION_HEADER = Struct(
    "acknowledged" / Int16ul,
    "recoverable_acknowledged" / Int16ul,
    "recoverable_flags" / _bits(*(f"stored_{number}" / Flag for number in reversed(range(32)))),
    "number" / Int16ul,
    "recoverable_number" / Int16ul,
    "window_size" / Int16ul,
    Padding(2),
)

_INTERNAL_HEADER = Struct(
    Padding(2),
    "flags"
    / _bits(
        Padding(11),
        "refused" / Flag,
        "type" / Enum(BitsInteger(4), session_ack=1, establish_connection=2, connection_parameters=3),
    ),
)

_SCHEMAS: dict[str, construct.Construct[Any, Any]] = {
    "message": Struct(
        "base_header" / _BASE_HEADER,
        "user_header" / _USER_HEADER,
        "transaction_header" / If(this.user_header.flags.th, _TRANSACTION_HEADER),
        "security_header" / If(this.user_header.flags.sh, _SECURITY_HEADER),
        "message_properties_header" / If(this.user_header.flags.mp, _MESSAGE_PROPERTIES_HEADER),
        "debug_header" / If(this.base_header.flags.dh, _DEBUG_HEADER),
        "multi_queue_format_header"
        / If(
            this.user_header.flags.mq,
            Struct(
                "destination" / _ADDRESS_HEADER,
                "administration" / _ADDRESS_HEADER,
                "response" / _ADDRESS_HEADER,
            ),
        ),
        "session_header" / If(this.base_header.flags.sh, _SESSION_HEADER),
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
        "operating_system"
        / _bits(
            Padding(5),
            "quality_of_service" / Flag,
            "server" / Flag,
            "ping_sent" / Flag,
            "reserved" / Const(0x10, BitsInteger(8)),
        ),
        Padding(2),
        "padding" / Bytes(512),
    ),
    "connection_parameters": Struct(
        "base_header" / _BASE_HEADER,
        "internal_header" / _INTERNAL_HEADER,
        "recoverable_ack_timeout" / Int32ul,
        "ack_timeout" / Int32ul,
        Padding(2),
        "window_size" / Int16ul,
    ),
    "ping": Struct(
        "flags" / _bits(Padding(14), "refused" / Flag, "client" / Flag),
        "signature" / Const(b"HU"),
        "cookie" / Int32ul,
        "qm_guid" / _GUID,
    ),
}

Decoded = tuple[str, Any]


def decode(data: bytes) -> Decoded:
    """The kind of a packet and its container."""
    found = kind(data)
    return found, _SCHEMAS[found].parse(data)


def encode(decoded: Decoded) -> bytes:
    """The bytes of what `decode` returned."""
    return _SCHEMAS[decoded[0]].build(decoded[1])


def _guid(value: Any) -> bytes:
    return _GUID.build(value)


def _text(guid: Any) -> str:
    tail = guid.data4.hex()
    return f"{guid.data1:08x}-{guid.data2:04x}-{guid.data3:04x}-{tail[:4]}-{tail[4:]}"


def facts(decoded: Decoded) -> Facts:
    """What is compared."""
    found, packet = decoded
    match found:
        case "ping":
            return Facts("ping", packet.cookie, crc=zlib.crc32(_guid(packet.qm_guid)))
        case "session_ack":
            header = packet.session_header
            return Facts("session_ack", header.acknowledged, size=header.window_size)
        case "connection_parameters":
            return Facts("connection_parameters", packet.ack_timeout, size=packet.window_size)
        case "establish_connection":
            return Facts("establish_connection", packet.time_stamp, crc=zlib.crc32(_guid(packet.client_guid)))
    user, properties = packet.user_header, packet.message_properties_header
    queue = user.destination_queue
    match str(user.flags.dq):
        case "direct":
            name = queue.name.rstrip("\0")
        case "public":
            name = _text(queue.guid)
        case _:
            name = f"{queue.identifier:08x}"
    multi = packet.multi_queue_format_header
    count = 0 if multi is None else len(multi.destination.names)
    return message(user.message_id, name, properties.label, properties.body, count)
