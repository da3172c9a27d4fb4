"""Signatures as findings see them: checked where somebody asked for that, and for what it costs only then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msmq_wire.findings.guards import CodedCondition
from msmq_wire.records.record import Record
from msmq_wire.records.signatures import checked, signatures_are_asked

if TYPE_CHECKING:
    from msmq_wire.sealing.verifying import SignatureCheck


def _is_asked(size: int) -> bool:
    return size != 0 and signatures_are_asked()


IS_ASKED = CodedCondition.of(_is_asked, "security_header.signature_size")
IS_ASKED_OF_MANY = CodedCondition.of(_is_asked, "multi_queue_format_header.signature.size")
"""Whether there is a signature, and somebody wants it checked."""


def asked_check(record: Record) -> SignatureCheck | None:
    """The check of a signature; None without one, and where nobody asked."""
    return checked(record) if signatures_are_asked() else None
