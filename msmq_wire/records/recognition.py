"""What a connection on another port than 1801 carries, told by its bytes.

The rule kept here: one segment decides, and no port proves anything; on the ports of HTTP a request that is
too short to judge is believed.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msmq_wire.reassembly.stream import is_credible as starts_packet
from msmq_wire.rpc.pdu.decoding import is_credible as starts_pdu
from msmq_wire.srmp.http.connection import is_credible as starts_srmp
from msmq_wire.srmp.http.connection import looks_like_http

__all__ = ["FIRST_BYTES", "HTTPS_PORTS", "HTTP_PORTS", "LOOKED_AT", "Content", "content_of", "recognise"]

HTTP_PORTS = frozenset((80, 8080))
HTTPS_PORTS = frozenset((443, 8443))

Content: TypeAlias = Literal["packets", "calls", "http"]

FIRST_BYTES = frozenset(b"\5P")
"""A segment that begins with none of these is neither calls nor SRMP."""
LOOKED_AT = 8 << 10
"""Bytes of a segment that decide."""
_COMMON_HEADER = 16
_POST = b"POST "


def recognise(payload: bytes, dport: int) -> Content | None:
    """What the segment with ``payload`` begins, None when that is nothing of MSMQ."""
    if payload[:1] == b"\5" and starts_pdu(payload):
        return "calls"
    if payload[:1] == b"P" and payload.startswith(_POST[: len(payload)]):
        begun = dport in HTTP_PORTS and b"\r\n\r\n" not in payload[:LOOKED_AT]
        return "http" if begun or starts_srmp(payload) else None
    return "packets" if payload and starts_packet(payload) else None


def content_of(data: bytes, believed: Content) -> Content:
    """What a stream carries whose first bytes are ``data``; as ``believed`` where these do not tell."""
    if len(data) < _COMMON_HEADER:
        return believed
    if starts_pdu(data):
        return "calls"
    return "http" if looks_like_http(data) else "packets"
