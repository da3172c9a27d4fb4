"""The packets as C structures of dissect.cstruct, compiled, with Python around them for what C cannot say.

Which queue layouts and headers are there depends on flags; a C structure has no such conditions, so the code
around the structures asks them.
"""

from __future__ import annotations

import io
import zlib
from typing import Any

from dissect.cstruct import cstruct  # type: ignore[import-untyped]  # it comes without types

from benchmarks.agreement import Facts, guid_text, kind, message

__all__ = ["decode", "encode", "facts"]

_C: Any = cstruct()
_C.load(
    """
    typedef struct { uint16 count; char name[count]; char padding[(-(count + 2)) & 3]; } direct_name;
    typedef struct { uint32 identifier; } private_id;
    typedef struct { char identifier[16]; } public_name;
    typedef struct { char host[16]; uint32 identifier; } private_name;
    typedef struct { char guid[16]; } guid;

    typedef struct {
        uint8 version; uint8 reserved; uint16 flags; uint32 signature; uint32 packet_size;
        uint32 time_to_reach_queue;
    } base_header;

    typedef struct {
        char source_queue_manager[16]; char queue_manager_address[16]; uint32 time_to_be_received;
        uint32 sent_time; uint32 message_id; uint32 flags;
    } user_header;

    typedef struct {
        uint32 flags; uint32 ordinal; uint32 time_stamp; uint32 number; uint32 previous_number;
    } transaction_header;

    typedef struct {
        uint16 flags; uint16 sender_id_size; uint16 encryption_key_size; uint16 signature_size;
        uint32 sender_cert_size; uint32 provider_info_size;
        char sender_id[sender_id_size]; char sender_id_padding[(-sender_id_size) & 3];
        char encryption_key[encryption_key_size]; char encryption_key_padding[(-encryption_key_size) & 3];
        char signature[signature_size]; char signature_padding[(-signature_size) & 3];
        char sender_cert[sender_cert_size]; char sender_cert_padding[(-sender_cert_size) & 3];
        char provider_info[provider_info_size]; char provider_info_padding[(-provider_info_size) & 3];
    } security_header;

    typedef struct {
        uint8 flags; uint8 label_length; uint16 message_class; char correlation_id[20]; uint32 body_type;
        uint32 application_tag; uint32 message_size; uint32 allocation_body_size; uint32 privacy_level;
        uint32 hash_algorithm; uint32 encryption_algorithm; uint32 extension_size;
        char label[label_length * 2]; char extension[extension_size]; char body[message_size];
        char padding[(-(label_length * 2 + extension_size + message_size)) & 3];
    } message_properties_header;

    typedef struct { uint16 flags; uint16 reserved; } debug_header;

    typedef struct { uint16 format_type; wchar name[]; } direct_element;
    typedef struct {
        uint32 header_size; uint16 header_id; uint16 reserved; uint32 element_count;
        direct_element elements[element_count];
    } address_header;
    typedef struct { char bytes[2]; } address_padding;

    typedef struct {
        uint16 acknowledged; uint16 recoverable_acknowledged; uint32 recoverable_flags; uint16 number;
        uint16 recoverable_number; uint16 window_size; uint16 reserved;
    } session_header;

    typedef struct { uint16 reserved; uint16 flags; } internal_header;
    typedef struct {
        char client_guid[16]; char server_guid[16]; uint32 time_stamp; uint16 operating_system;
        uint16 reserved; char padding[512];
    } establish_connection_header;
    typedef struct {
        uint32 recoverable_ack_timeout; uint32 ack_timeout; uint16 reserved; uint16 window_size;
    } connection_parameters_header;
    typedef struct { uint16 flags; uint16 signature; uint32 cookie; char qm_guid[16]; } ping;
    """,
    compiled=True,
)
_QUEUES = {
    2: _C.private_id,
    3: _C.private_id,
    4: _C.private_id,
    5: _C.public_name,
    6: _C.private_name,
    7: _C.direct_name,
}
_INTERNAL = {
    "session_ack": _C.session_header,
    "establish_connection": _C.establish_connection_header,
    "connection_parameters": _C.connection_parameters_header,
}

Decoded = tuple[str, dict[str, Any]]


def decode(data: bytes) -> Decoded:
    """The kind of a packet and its parts in wire order."""
    found = kind(data)
    stream = io.BytesIO(data)
    if found == "ping":
        return found, {"ping": _C.ping(stream)}
    base = _C.base_header(stream)
    parts = {"base_header": base}
    if found != "message":
        parts["internal_header"] = _C.internal_header(stream)
        parts[found] = _INTERNAL[found](stream)
        return found, parts
    parts["user_header"] = user = _C.user_header(stream)
    flags = user.flags
    for name, shift in (("destination_queue", 10), ("admin_queue", 13), ("response_queue", 16)):
        layout = _QUEUES.get(flags >> shift & 7)
        if layout is not None:
            parts[name] = layout(stream)
    if flags & 0x400000:
        parts["connector_type"] = _C.guid(stream)
    if flags & 0x100000:
        parts["transaction_header"] = transaction = _C.transaction_header(stream)
        if transaction.flags & 1:
            parts["connector_qm_guid"] = _C.guid(stream)
    if flags & 0x80000:
        parts["security_header"] = _C.security_header(stream)
    if flags & 0x200000:
        parts["message_properties_header"] = _C.message_properties_header(stream)
    if base.flags & 0x20:
        parts["debug_header"] = debug = _C.debug_header(stream)
        if debug.flags & 3 == 1:
            parts["debug_queue"] = _C.guid(stream)
    if flags & 0x800000:
        for name in ("destination", "administration", "response"):
            parts[name] = _C.address_header(stream)
            # Characters have two bytes, so there is either no padding or this.
            if stream.tell() & 3:
                parts[name + "_padding"] = _C.address_padding(stream)
    if base.flags & 0x10:
        parts["session_header"] = _C.session_header(stream)
    return found, parts


def encode(decoded: Decoded) -> bytes:
    """The bytes of what `decode` returned."""
    return b"".join([part.dumps() for part in decoded[1].values()])


def facts(decoded: Decoded) -> Facts:
    """What is compared."""
    found, parts = decoded
    match found:
        case "ping":
            return Facts("ping", parts["ping"].cookie, crc=zlib.crc32(parts["ping"].qm_guid))
        case "session_ack":
            header = parts[found]
            return Facts("session_ack", header.acknowledged, size=header.window_size)
        case "connection_parameters":
            header = parts[found]
            return Facts("connection_parameters", header.ack_timeout, size=header.window_size)
        case "establish_connection":
            header = parts[found]
            return Facts("establish_connection", header.time_stamp, crc=zlib.crc32(header.client_guid))
    user, properties, queue = (
        parts[name] for name in ("user_header", "message_properties_header", "destination_queue")
    )
    match user.flags >> 10 & 7:
        case 7:
            name = bytes(queue.name).decode("utf-16-le").rstrip("\0")
        case 5:
            name = guid_text(bytes(queue.identifier))
        case _:
            name = f"{queue.identifier:08x}"
    count = len(parts["destination"].elements) if "destination" in parts else 0
    return message(user.message_id, name, bytes(properties.label), bytes(properties.body), count)
