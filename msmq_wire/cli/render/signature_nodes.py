"""What a signature is worth and whom its certificate names, below the bytes of both in a tree.

The rule kept here: it is said where somebody asked for it (`checking_signatures`), and nothing otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo
from typing import Any

from msmq_wire.cli.render.node import Node, NodeOptions
from msmq_wire.cli.render.values import unix_time_text
from msmq_wire.records.signatures import checked_packet, signatures_are_asked
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.mqf_signature_header import MQFSignatureHeader
from msmq_wire.wire.headers.security_header import SecurityData


def signature_nodes(parent: WireStruct, name: str, packet: Any, options: NodeOptions) -> list[Node]:
    """The nodes below a field of a packet; none below one that is neither a signature nor its certificate."""
    if not isinstance(parent, SecurityData | MQFSignatureHeader) or not signatures_are_asked():
        return []
    if name not in ("signature", "sender_cert"):
        return []
    rows = _signature(packet) if name == "signature" else _certificate(packet, options.zone)
    return [Node(name, value) for name, value in rows if value]


def _signature(packet: Any) -> Iterator[tuple[str, str]]:
    check = checked_packet(packet)
    if check is not None:
        yield "verdict", check.verdict
        yield "why", check.why
        yield "version", check.version or ""
        yield "reading", "" if check.reading is None else str(check.reading)
        yield "value", check.how


def _certificate(packet: Any, zone: tzinfo | None) -> Iterator[tuple[str, str]]:
    check = checked_packet(packet)
    certificate = None if check is None else check.certificate
    if certificate is not None:
        yield "subject", certificate.subject
        yield "issuer", certificate.issuer
        yield "not_before", _time(certificate.not_before, zone)
        yield "not_after", _time(certificate.not_after, zone)
        yield "thumbprint", f"{certificate.thumbprint} (SHA-1)"
        yield "key", f"RSA, {certificate.bits} bits" if certificate.bits else "no RSA key"
        if check is not None and check.trusted_by is not None:
            yield "trusted_by", check.trusted_by or "none of the certificates given"


def _time(seconds: int, zone: tzinfo | None) -> str:
    try:
        return unix_time_text(seconds, zone)
    except (OverflowError, ValueError, OSError):
        # The first and the last day of a calendar have no zone behind them.
        return f"{seconds} s"
