"""What the digital signature of a message is worth, asked of a record: for columns and filters.

The rule kept here: it is checked when it is asked for, and once for a record however many ask.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from msmq_wire.errors import MissingExtraError
from msmq_wire.records.record import Record
from msmq_wire.wire.packets.message_packet import MessagePacket
from msmq_wire.wire.packets.user_message import UserMessage

if TYPE_CHECKING:
    from msmq_wire.sealing.verifying import SignatureCheck

__all__ = ["signature", "signed_by"]


class _Checked:
    """The check of the record that was asked about last."""

    def __init__(self, verifier: Any) -> None:
        self._verifier = verifier
        self._packet: Any = None
        self._check: SignatureCheck | None = None

    def of(self, record: Record) -> SignatureCheck | None:
        packet = record.packet
        if record.error is not None or not isinstance(packet, UserMessage | MessagePacket):
            return None
        if packet is not self._packet:
            self._packet, self._check = packet, self._verifier.check(packet)
        return self._check


@cache
def _checked() -> _Checked:
    # cryptography is loaded by who asks.
    try:
        from msmq_wire.sealing.verifying import Verifier
    except ImportError:
        raise MissingExtraError(
            "checking signatures needs cryptography and pycryptodomex: pip install 'msmq-wire[unseal]'"
        ) from None
    return _Checked(Verifier())


def signature(record: Record) -> str | None:
    """``verified``, ``not verified`` or ``no certificate``; None for a message without a signature."""
    check = _checked().of(record)
    return None if check is None else check.verdict


def signed_by(record: Record) -> str | None:
    """The subject of the certificate that a signature came with, whatever the signature is worth."""
    check = _checked().of(record)
    return None if check is None or check.certificate is None else check.certificate.subject
