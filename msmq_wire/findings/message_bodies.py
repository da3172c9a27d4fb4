"""The body of a message in a record, as bytes with what its headers declare.

The rule kept here: only what is there is given, whole or cut, and opened where a key is in force; evidence is
always what was on the wire.
"""

from __future__ import annotations

import msgspec

from msmq_wire.engines.places import span
from msmq_wire.findings.finding import Evidence
from msmq_wire.findings.guards import Told
from msmq_wire.findings.rule import evidence_of
from msmq_wire.records.body_keys import keys_in_force
from msmq_wire.records.message_body import message_body
from msmq_wire.records.record import Record
from msmq_wire.records.rpc_packets import TransferBuffer
from msmq_wire.records.srmp_packets import SrmpMessage
from msmq_wire.wire.partial import reached_number

BODY_TYPES = ("user_message", "message_packet", "srmp_message", "transfer_buffer")
"""Types of records that may have a body."""
IN_PACKET = "message_properties_header.message_body"
"""The path of a body in a packet of the binary protocol."""
BEGINS_WITH_NUL = Told.of(b"\0".__eq__, IN_PACKET, head=1)
"""Two rules look for more behind that."""
_EB = 1 << 5


def _is_opened(flags: int) -> bool:
    return bool(flags & _EB) and keys_in_force()


OPENED = Told.of(_is_opened, "security_header.flags")
"""What is in an encrypted body no condition sees: with a key it is looked at."""


class HeldBody(msgspec.Struct, frozen=True, gc=False):
    """Bytes of a body: ``body_type`` of the headers, None where they have none; ``path`` of the field.

    ``cut`` says that bytes are missing, ``encrypted`` that EB is set or a privacy level is declared, and that
    no key opened it; of one that was opened ``sealed`` is the cipher text, and ``caveats`` what weakens it.
    """

    data: bytes
    body_type: int | None
    path: str
    cut: bool
    encrypted: bool
    sealed: bytes = b""
    caveats: tuple[str, ...] = ()


class _Last:
    """The record that was asked about last: several rules ask about the same one."""

    record: Record | None = None
    body: HeldBody | None = None


def body_of(record: Record) -> HeldBody | None:
    """The body of a message; None where nothing of it is there.

    The body inside CompoundMessageHeader is that of the SRMP message, which has a record of its own.
    """
    if _Last.record is not record:
        _Last.record, _Last.body = record, _body_of(record)
    return _Last.body


def _body_of(record: Record) -> HeldBody | None:
    packet = record.packet
    if isinstance(packet, SrmpMessage):
        return _of_srmp(packet)
    if isinstance(packet, TransferBuffer):
        found = packet.properties
        data = found.body
        if not data:
            return None
        size = len(data) if found.body_length is None else found.body_length
        sealed = bool(found.body_encrypted) or bool(found.privacy_level)
        return HeldBody(data, found.body_type, "properties.body", len(data) < size, sealed)
    properties = getattr(packet, "message_properties_header", None)
    data = getattr(properties, "message_body", None)
    if (
        not isinstance(data, bytes)
        or not data
        or getattr(packet, "compound_message_header", None) is not None
    ):
        return None
    claimed, level = reached_number(properties, "message_size"), reached_number(properties, "privacy_level")
    security = getattr(packet, "security_header", None)
    encrypted = bool(level) or bool((reached_number(security, "flags") or 0) & _EB)
    cut = claimed is not None and len(data) < claimed
    body_type = reached_number(properties, "body_type")
    told = message_body(record) if encrypted and keys_in_force() else None
    if told is not None and told.opened_with:
        caveats = (f"opened with {told.opened_with}",) if told.doubtful else ()
        # Of nothing there is nothing to tell.
        return (
            HeldBody(told.data, body_type, IN_PACKET, told.cut, False, data, caveats) if told.data else None
        )
    return HeldBody(data, body_type, IN_PACKET, cut, encrypted)


def place_of(record: Record, body: HeldBody, length: int) -> Evidence:
    """The first ``length`` bytes of a body, of one that was opened all of its cipher text.

    Of one that came by HTTP they count from the HTTP body.
    """
    offset = 0
    held = body.sealed or body.data[:length]
    if body.path == IN_PACKET:
        offset, _ = span(record.packet, body.path)
    elif isinstance(record.packet, SrmpMessage):
        offset = next((part.offset for part in record.packet.parts if part.role == "body"), 0)
    return evidence_of(record, body.path, offset, len(held), held)


def _of_srmp(packet: SrmpMessage) -> HeldBody | None:
    data = packet.body
    if not data:
        return None
    header = getattr(packet.envelope, "header", None)
    body_type = reached_number(getattr(header, "msmq", None), "body_type")
    return HeldBody(data, body_type, "body", not packet.complete, False)
