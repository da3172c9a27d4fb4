"""The packets as scapy layers are usually written: field lists, conditional fields, length fields."""

from __future__ import annotations

import zlib
from typing import Any

from scapy.fields import (
    BitEnumField,
    BitField,
    ByteField,
    ConditionalField,
    FieldLenField,
    FlagsField,
    LEIntEnumField,
    LEIntField,
    LEShortEnumField,
    LEShortField,
    PacketField,
    PacketListField,
    StrFixedLenField,
    StrLenField,
    StrLenFieldUtf16,
    StrNullFieldUtf16,
    UUIDField,
    XByteField,
)
from scapy.packet import Packet

from benchmarks.agreement import Facts, kind, message

__all__ = ["decode", "encode", "facts"]

_QUEUE_TYPES = {
    0: "none",
    1: "same_as_admin_queue",
    2: "private_on_source_host",
    3: "private_on_destination_host",
    4: "private_on_admin_queue_host",
    5: "public",
    6: "private_on_other_host",
    7: "direct",
}


_INTERNAL_TYPES = {1: "session_ack", 2: "establish_connection", 3: "connection_parameters"}


class _Part(Packet):
    """What follows a part belongs to the packet around it."""

    def extract_padding(self, s: bytes) -> tuple[bytes, bytes]:
        return b"", s


class BaseHeader(_Part):
    name = "BaseHeader"
    fields_desc = [  # noqa: RUF012  # as scapy wants it
        XByteField("version", 0x10),
        ByteField("reserved", 0),
        FlagsField("flags", 3, -16, ["p0", "p1", "p2", "in", "sh", "dh", "x6", "x7", "tr"]),
        StrFixedLenField("signature", b"LIOR", 4),
        LEIntField("packet_size", 0),
        LEIntField("time_to_reach_queue", 0xFFFFFFFF),
    ]


class DirectName(_Part):
    name = "DirectFormatName"
    fields_desc = [  # noqa: RUF012  # as scapy wants it
        FieldLenField("count", None, fmt="<H", length_of="format_name"),
        StrLenFieldUtf16("format_name", b"", length_from=lambda pkt: pkt.count),
        StrLenField("padding", b"", length_from=lambda pkt: -(pkt.count + 2) & 3),
    ]


class PrivateId(_Part):
    name = "PrivateQueueFormatNameId"
    fields_desc = [LEIntField("identifier", 0)]  # noqa: RUF012  # as scapy wants it


class PrivateName(_Part):
    name = "PrivateQueueFormatName"
    fields_desc = [  # noqa: RUF012  # as scapy wants it
        UUIDField("source_queue_manager", None, uuid_fmt=UUIDField.FORMAT_LE),
        LEIntField("identifier", 0),
    ]


class PublicName(_Part):
    name = "PublicQueueFormatName"
    fields_desc = [  # noqa: RUF012  # as scapy wants it
        UUIDField("identifier", None, uuid_fmt=UUIDField.FORMAT_LE)
    ]


_LAYOUTS = {2: PrivateId, 3: PrivateId, 4: PrivateId, 5: PublicName, 6: PrivateName, 7: DirectName}


def _queue(name: str, selector: str) -> list[Any]:
    """The possible layouts of a queue, one conditional field each."""

    def chosen(types: tuple[int, ...]) -> Any:
        return lambda pkt: getattr(pkt, selector) in types

    return [
        ConditionalField(PacketField(name, None, DirectName), chosen((7,))),
        ConditionalField(PacketField(name + "_id", None, PrivateId), chosen((2, 3, 4))),
        ConditionalField(PacketField(name + "_public", None, PublicName), chosen((5,))),
        ConditionalField(PacketField(name + "_private", None, PrivateName), chosen((6,))),
    ]


class UserHeader(_Part):
    name = "UserHeader"
    fields_desc = [  # noqa: RUF012  # as scapy wants it
        UUIDField("source_queue_manager", None, uuid_fmt=UUIDField.FORMAT_LE),
        UUIDField("queue_manager_address", None, uuid_fmt=UUIDField.FORMAT_LE),
        LEIntField("time_to_be_received", 0xFFFFFFFF),
        LEIntField("sent_time", 0),
        LEIntField("message_id", 0),
        # A little-endian word, most significant bit first.
        BitField("x4", 0, 3, tot_size=-4),
        BitField("hh", 0, 1),
        BitField("x3", 0, 2),
        BitField("ah", 0, 1),
        BitField("x2", 0, 1),
        BitField("mq", 0, 1),
        BitField("cq", 0, 1),
        BitField("mp", 1, 1),
        BitField("th", 0, 1),
        BitField("sh", 0, 1),
        BitEnumField("rq", 0, 3, _QUEUE_TYPES),
        BitEnumField("aq", 0, 3, _QUEUE_TYPES),
        BitEnumField("dq", 7, 3, _QUEUE_TYPES),
        BitField("jp", 0, 1),
        BitField("jn", 0, 1),
        BitField("x1", 0, 1),
        BitEnumField("delivery", 0, 2, {0: "express", 1: "recoverable"}),
        BitField("hops", 0, 5, end_tot_size=-4),
        *_queue("destination_queue", "dq"),
        *_queue("admin_queue", "aq"),
        *_queue("response_queue", "rq"),
        ConditionalField(
            UUIDField("connector_type", None, uuid_fmt=UUIDField.FORMAT_LE), lambda pkt: pkt.cq == 1
        ),
    ]


class TransactionHeader(_Part):
    name = "TransactionHeader"
    fields_desc = [  # noqa: RUF012  # as scapy wants it
        BitField("reserved", 0, 8, tot_size=-4),
        BitField("id", 0, 20),
        BitField("last", 0, 1),
        BitField("first", 0, 1),
        BitField("final_ack", 0, 1),
        BitField("connector", 0, 1, end_tot_size=-4),
        LEIntField("ordinal", 0),
        LEIntField("time_stamp", 0),
        LEIntField("sequence_number", 0),
        LEIntField("previous_sequence_number", 0),
        ConditionalField(
            UUIDField("connector_qm_guid", None, uuid_fmt=UUIDField.FORMAT_LE),
            lambda pkt: pkt.connector == 1,
        ),
    ]


def _item(name: str, size: str) -> list[Any]:
    """An item of SecurityData and its padding."""
    return [
        StrLenField(name, b"", length_from=lambda pkt: getattr(pkt, size)),
        StrLenField(name + "_padding", b"", length_from=lambda pkt: -getattr(pkt, size) & 3),
    ]


class SecurityHeader(_Part):
    name = "SecurityHeader"
    fields_desc = [  # noqa: RUF012  # as scapy wants it
        BitField("reserved", 0, 4, tot_size=-2),
        BitField("authentication", 0, 4),
        BitField("ai", 0, 1),
        BitField("default_provider", 0, 1),
        BitField("encrypted", 0, 1),
        BitField("authenticated", 0, 1),
        BitEnumField("sender_type", 0, 4, {0: "none", 1: "sid", 2: "queue_manager"}, end_tot_size=-2),
        FieldLenField("sender_id_size", None, fmt="<H", length_of="sender_id"),
        FieldLenField("encryption_key_size", None, fmt="<H", length_of="encryption_key"),
        FieldLenField("signature_size", None, fmt="<H", length_of="signature"),
        FieldLenField("sender_cert_size", None, fmt="<I", length_of="sender_cert"),
        FieldLenField("provider_info_size", None, fmt="<I", length_of="provider_info"),
        *_item("sender_id", "sender_id_size"),
        *_item("encryption_key", "encryption_key_size"),
        *_item("signature", "signature_size"),
        *_item("sender_cert", "sender_cert_size"),
        *_item("provider_info", "provider_info_size"),
    ]


class MessagePropertiesHeader(_Part):
    name = "MessagePropertiesHeader"
    fields_desc = [  # noqa: RUF012  # as scapy wants it
        FlagsField("flags", 0, 8, ["pa", "pr", "na", "nr", "x4", "x5", "x6", "x7"]),
        ByteField("label_length", 0),
        LEShortEnumField("message_class", 0, {0: "normal", 1: "report", 2: "ack_reach_queue"}),
        StrFixedLenField("correlation_id", bytes(20), 20),
        LEIntEnumField(
            "body_type", 0, {0: "empty", 8: "bstr", 30: "lpstr", 31: "lpwstr", 0x1011: "ui1_vector"}
        ),
        LEIntField("application_tag", 0),
        FieldLenField("message_size", None, fmt="<I", length_of="body"),
        LEIntField("allocation_body_size", 0),
        LEIntEnumField("privacy_level", 0, {0: "none", 1: "base", 3: "enhanced", 5: "advanced"}),
        LEIntEnumField("hash_algorithm", 0x800E, {0x8003: "md5", 0x8004: "sha1", 0x800E: "sha512"}),
        LEIntEnumField("encryption_algorithm", 0x6610, {0x6602: "rc2", 0x6801: "rc4", 0x6610: "aes256"}),
        FieldLenField("extension_size", None, fmt="<I", length_of="extension"),
        StrLenFieldUtf16("label", b"", length_from=lambda pkt: pkt.label_length * 2),
        StrLenField("extension", b"", length_from=lambda pkt: pkt.extension_size),
        StrLenField("body", b"", length_from=lambda pkt: pkt.message_size),
        StrLenField(
            "padding",
            b"",
            length_from=lambda pkt: -(pkt.label_length * 2 + pkt.extension_size + pkt.message_size) & 3,
        ),
    ]


class DebugHeader(_Part):
    name = "DebugHeader"
    fields_desc = [  # noqa: RUF012  # as scapy wants it
        BitField("reserved_bits", 0, 14, tot_size=-2),
        BitEnumField("queue_type", 0, 2, {0: "none", 1: "public"}, end_tot_size=-2),
        LEShortField("reserved", 0),
        ConditionalField(
            UUIDField("queue_identifier", None, uuid_fmt=UUIDField.FORMAT_LE), lambda pkt: pkt.queue_type == 1
        ),
    ]


class DirectElement(_Part):
    name = "MQFFormatNameElement"
    fields_desc = [  # noqa: RUF012  # as scapy wants it
        LEShortEnumField("format_type", 3, {1: "public", 2: "private", 3: "direct", 4: "distribution_list"}),
        StrNullFieldUtf16("format_name", b""),
    ]


class AddressHeader(_Part):
    name = "MQFAddressHeader"
    fields_desc = [  # noqa: RUF012  # as scapy wants it
        LEIntField("header_size", 12),
        LEShortEnumField("header_id", 0x64, {0x64: "destination", 0xC8: "administration", 0x12C: "response"}),
        LEShortField("reserved", 0),
        FieldLenField("element_count", None, fmt="<I", count_of="names"),
        PacketListField("names", [], DirectElement, count_from=lambda pkt: pkt.element_count),
        StrLenField("padding", b"", length_from=lambda pkt: -sum(len(name) for name in pkt.names) & 3),
    ]


class SessionHeader(_Part):
    name = "SessionHeader"
    fields_desc = [  # noqa: RUF012  # as scapy wants it
        LEShortField("acknowledged", 0),
        LEShortField("recoverable_acknowledged", 0),
        LEIntField("recoverable_flags", 0),
        LEShortField("number", 0),
        LEShortField("recoverable_number", 0),
        LEShortField("window_size", 0x40),
        LEShortField("reserved", 0),
    ]


class InternalHeader(_Part):
    name = "InternalHeader"
    fields_desc = [  # noqa: RUF012  # as scapy wants it
        LEShortField("reserved", 0),
        BitField("unused", 0, 11, tot_size=-2),
        BitField("refused", 0, 1),
        BitEnumField("type", 1, 4, _INTERNAL_TYPES, end_tot_size=-2),
    ]


def _announced(name: str, layer: type[Packet], selector: str) -> ConditionalField:
    """A header that a bit of the UserHeader announces."""
    return ConditionalField(
        PacketField(name, layer(), layer), lambda pkt: getattr(pkt.user_header, selector) == 1
    )


class UserMessage(Packet):
    name = "UserMessage"
    fields_desc = [  # noqa: RUF012  # as scapy wants it
        PacketField("base_header", BaseHeader(), BaseHeader),
        PacketField("user_header", UserHeader(), UserHeader),
        _announced("transaction_header", TransactionHeader, "th"),
        _announced("security_header", SecurityHeader, "sh"),
        _announced("message_properties_header", MessagePropertiesHeader, "mp"),
        ConditionalField(
            PacketField("debug_header", DebugHeader(), DebugHeader), lambda pkt: pkt.base_header.flags.dh
        ),
        _announced("destination", AddressHeader, "mq"),
        _announced("administration", AddressHeader, "mq"),
        _announced("response", AddressHeader, "mq"),
        ConditionalField(
            PacketField("session_header", SessionHeader(), SessionHeader),
            lambda pkt: pkt.base_header.flags.sh,
        ),
    ]


class SessionAck(Packet):
    name = "SessionAck"
    fields_desc = [  # noqa: RUF012  # as scapy wants it
        PacketField("base_header", BaseHeader(), BaseHeader),
        PacketField("internal_header", InternalHeader(), InternalHeader),
        PacketField("session_header", SessionHeader(), SessionHeader),
    ]


class EstablishConnection(Packet):
    name = "EstablishConnection"
    fields_desc = [  # noqa: RUF012  # as scapy wants it
        PacketField("base_header", BaseHeader(), BaseHeader),
        PacketField("internal_header", InternalHeader(), InternalHeader),
        UUIDField("client_guid", None, uuid_fmt=UUIDField.FORMAT_LE),
        UUIDField("server_guid", None, uuid_fmt=UUIDField.FORMAT_LE),
        LEIntField("time_stamp", 0),
        LEShortField("operating_system", 0x310),
        LEShortField("reserved", 0),
        StrFixedLenField("padding", b"Z" * 512, 512),
    ]


class ConnectionParameters(Packet):
    name = "ConnectionParameters"
    fields_desc = [  # noqa: RUF012  # as scapy wants it
        PacketField("base_header", BaseHeader(), BaseHeader),
        PacketField("internal_header", InternalHeader(), InternalHeader),
        LEIntField("recoverable_ack_timeout", 0x1F4),
        LEIntField("ack_timeout", 0x1D4C0),
        LEShortField("reserved", 0),
        LEShortField("window_size", 0x40),
    ]


class Ping(Packet):
    name = "Ping"
    fields_desc = [  # noqa: RUF012  # as scapy wants it
        FlagsField("flags", 0, -16, ["rc", "rf"]),
        StrFixedLenField("signature", b"HU", 2),
        LEIntField("cookie", 0),
        UUIDField("qm_guid", None, uuid_fmt=UUIDField.FORMAT_LE),
    ]


_LAYERS: dict[str, type[Packet]] = {
    "message": UserMessage,
    "session_ack": SessionAck,
    "establish_connection": EstablishConnection,
    "connection_parameters": ConnectionParameters,
    "ping": Ping,
}


def decode(data: bytes) -> Packet:
    """The layer of a packet."""
    return _LAYERS[kind(data)](data)


def encode(packet: Packet) -> bytes:
    """The bytes of a layer, built from its fields once ``clear_cache`` made it forget what it came from."""
    data: bytes = packet.build()
    return data


def facts(packet: Any) -> Facts:
    """What is compared."""
    match packet.name:
        case "Ping":
            return Facts("ping", packet.cookie, crc=zlib.crc32(packet.qm_guid.bytes_le))
        case "SessionAck":
            header = packet.session_header
            return Facts("session_ack", header.acknowledged, size=header.window_size)
        case "ConnectionParameters":
            return Facts("connection_parameters", packet.ack_timeout, size=packet.window_size)
        case "EstablishConnection":
            crc = zlib.crc32(packet.client_guid.bytes_le)
            return Facts("establish_connection", packet.time_stamp, crc=crc)
    user, properties = packet.user_header, packet.message_properties_header
    match user.dq:
        case 7:
            queue = user.destination_queue.format_name.rstrip("\0")
        case 5:
            queue = str(user.destination_queue_public.identifier)
        case _:
            queue = f"{user.destination_queue_id.identifier:08x}"
    count = len(packet.destination.names) if user.mq else 0
    return message(user.message_id, queue, properties.label, properties.body, count)
