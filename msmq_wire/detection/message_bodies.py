"""Helpers of the rules about bodies.

The rule kept here: a truncated body is judged as far as it goes, and an encrypted one is opened with a key.
Evidence is always the bytes on the wire.
"""

from __future__ import annotations

from msmq_wire.detection.finding import Evidence
from msmq_wire.detection.guards import CodedCondition
from msmq_wire.detection.rule import evidence_of
from msmq_wire.engines.field_offsets import span
from msmq_wire.records.body_keys import keys_in_force
from msmq_wire.records.message_body import IN_PACKET, MessageBody, message_body
from msmq_wire.records.record import Record
from msmq_wire.records.srmp_packets import SrmpMessage

BODY_TYPES = ("user_message", "message_packet", "srmp_message", "transfer_buffer")
"""Types of records that may have a body."""
BEGINS_WITH_NUL = CodedCondition.of(b"\0".__eq__, IN_PACKET, head=1)
"""Two rules check the bytes after it."""
_EB = 1 << 5


def _is_opened(flags: int) -> bool:
    return bool(flags & _EB) and keys_in_force()


OPENED = CodedCondition.of(_is_opened, "security_header.flags")
"""An encrypted body that a key opens is always checked."""


class _Last:
    """The last record with its body, because several rules check the same one."""

    record: Record | None = None
    body: MessageBody | None = None


def body_of(record: Record) -> MessageBody | None:
    """The body of a message; None without any bytes.

    The body inside CompoundMessageHeader is that of the SRMP message, which has a record of its own.
    """
    if _Last.record is not record:
        is_srmp = getattr(record.packet, "compound_message_header", None) is not None
        _Last.record, _Last.body = record, None if is_srmp else message_body(record)
    return _Last.body


def caveats_of(body: MessageBody) -> tuple[str, ...]:
    """The caveats of a finding in a decrypted body: the key may have given random bytes."""
    return (f"opened with {body.opened_with}",) if body.doubtful else ()


def place_of(record: Record, body: MessageBody, length: int) -> Evidence:
    """The first ``length`` bytes of a body as evidence; the whole cipher text if it was decrypted.

    Offsets of a body over HTTP count from the start of the HTTP body.
    """
    offset = 0
    held = body.ciphertext or body.data[:length]
    if body.path == IN_PACKET:
        offset, _ = span(record.packet, body.path)
    elif isinstance(record.packet, SrmpMessage):
        offset = next((part.offset for part in record.packet.parts if part.role == "body"), 0)
    return evidence_of(record, body.path, offset, len(held), held)
