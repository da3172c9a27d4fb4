"""Signatures for findings; they are checked only on request, because that is slow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msmq_wire.detection.guards import CodedCondition
from msmq_wire.records.record import Record
from msmq_wire.records.signatures import checked, signatures_are_asked

if TYPE_CHECKING:
    from msmq_wire.sealing.verifying import SignatureCheck


def _is_asked(size: int) -> bool:
    return size != 0 and signatures_are_asked()


IS_ASKED = CodedCondition.of(_is_asked, "security_header.signature_size")
IS_ASKED_OF_MANY = CodedCondition.of(_is_asked, "multi_queue_format_header.signature.size")
"""Whether a message has a signature, and signatures are to be checked."""


def asked_check(record: Record) -> SignatureCheck | None:
    """The check of a signature; None without a signature, or if none was requested."""
    return checked(record) if signatures_are_asked() else None
