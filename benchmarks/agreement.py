"""What every contestant has to find in a packet, in one form, so that no race is won by reading less.

A peer hands over its own objects; `Facts` is what is compared: numbers, queue, label, length and checksum of
the body.
"""

from __future__ import annotations

import uuid
import zlib
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import msmq_wire as mw

__all__ = ["Facts", "Kind", "differences", "facts_of_arrow", "facts_of_value", "guid_text", "kind", "message"]

Kind = Literal["message", "session_ack", "establish_connection", "connection_parameters", "ping"]
_PACKET_TYPES: dict[int, Kind] = {1: "session_ack", 2: "establish_connection", 3: "connection_parameters"}


class Facts(NamedTuple):
    """The facts of one packet; what a kind does not have stays empty.

    ``number`` is the message id, the acknowledged number, a time or the cookie; ``size`` the length of the
    body or the window; ``crc`` the CRC-32 of the body or of the GUID; ``destinations`` the queues of a
    multiple-queue list.
    """

    kind: Kind
    number: int
    queue: str = ""
    label: str = ""
    size: int = 0
    crc: int = 0
    destinations: int = 0


def kind(data: bytes) -> Kind:
    """Which packet some bytes are, as the peers tell: they have no recognition of their own."""
    if data[2:4] == b"HU" and data[4:8] != b"LIOR":
        return "ping"
    return _PACKET_TYPES[data[18] & 0xF] if data[2] & 0x08 else "message"


def guid_text(data: bytes) -> str:
    """The text form of sixteen bytes."""
    return str(uuid.UUID(bytes_le=data))


def message(number: int, queue: str, label: bytes | str, body: bytes, destinations: int = 0) -> Facts:
    """The facts of a user message or acknowledgment; a label in bytes is UTF-16 with its terminator."""
    text = label.decode("utf-16-le") if isinstance(label, bytes) else label
    return Facts("message", number, queue, text.rstrip("\0"), len(body), zlib.crc32(body), destinations)


def _queue(format_name: str) -> str:
    form, _, rest = format_name.partition("=")
    # The peers know a private queue by its number alone.
    return rest.rpartition("\\")[2] if form == "PRIVATE" else rest


def facts_of_value(packet: Any) -> Facts:
    """The facts of what our engines return."""
    stem = packet.stem()
    match stem:
        case "ping":
            return Facts("ping", packet.cookie, crc=zlib.crc32(packet.qm_guid))
        case "session_ack":
            header = packet.session_header
            return Facts("session_ack", header.ack_sequence_number, size=header.window_size)
        case "connection_parameters":
            header = packet.connection_parameters_header
            return Facts("connection_parameters", header.ack_timeout, size=header.window_size)
        case "establish_connection":
            header = packet.establish_connection_header
            return Facts("establish_connection", header.time_stamp, crc=zlib.crc32(header.client_guid))
    user, properties = packet.user_header, packet.message_properties_header
    multi = packet.multi_queue_format_header
    return message(
        user.message_id,
        _queue(user.format_name("destination_queue") or ""),
        bytes(properties.label),
        properties.message_body,
        0 if multi is None else len(multi.destination.format_name_list),
    )


def facts_of_arrow(stem: str, row: Mapping[str, Any]) -> Facts:
    """The facts of one row of a record batch, as ``to_pylist`` gives it."""
    match stem:
        case "ping":
            return Facts("ping", row["cookie"], crc=zlib.crc32(mw.GUID.parse(row["qm_guid"])))
        case "session_ack":
            header = row["session_header"]
            return Facts("session_ack", header["ack_sequence_number"], size=header["window_size"])
        case "connection_parameters":
            header = row["connection_parameters_header"]
            return Facts("connection_parameters", header["ack_timeout"], size=header["window_size"])
        case "establish_connection":
            header = row["establish_connection_header"]
            crc = zlib.crc32(mw.GUID.parse(header["client_guid"]))
            return Facts("establish_connection", header["time_stamp"], crc=crc)
    user, properties = row["user_header"], row["message_properties_header"]
    multi = row["multi_queue_format_header"]
    return message(
        user["message_id"],
        _queue(user["destination_queue"]["format_name"]),
        properties["label"],
        properties["message_body"],
        0 if multi is None else len(multi["destination"]["format_name_list"]),
    )


def differences(
    found: Mapping[str, list[Facts] | list[bytes]], expected: list[Facts] | list[bytes]
) -> list[str]:
    """One line for every contestant that found something else than expected."""
    lines = []
    for name, theirs in found.items():
        if theirs == expected:
            continue
        pairs = zip(theirs, expected, strict=False)
        at = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(theirs), len(expected)))
        lines.append(f"{name}: {len(theirs)} of {len(expected)}, the first that differs is number {at}")
    return lines
