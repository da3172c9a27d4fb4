"""What a connection on another port than 1801 carries, and a datagram, told by its bytes.

The rule kept here: the first bytes of a side decide, in however many segments they come, and no port proves
anything; on the ports of HTTP a request that is too short to judge is believed. A PROXY header in front of
them decides nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal, TypeAlias, get_args

from msmq_wire.arguments import none_of, out_of_range, wrong_type
from msmq_wire.errors import ArgumentError
from msmq_wire.reassembly.packet_framer import begins as begins_packet
from msmq_wire.reassembly.packet_framer import is_credible as starts_packet
from msmq_wire.records.endpoint import MSMQ_PORT, PING_PORT
from msmq_wire.records.proxy_header import behind_header, header_of, may_become_header
from msmq_wire.rpc.pdu.decoding import is_credible as starts_pdu
from msmq_wire.rpc.pdu.values import PduType
from msmq_wire.srmp.http.message import is_credible as starts_srmp
from msmq_wire.srmp.http.message import looks_like_http
from msmq_wire.wire.headers.topology_packet_header import DISCOVERY

HTTP_PORTS = frozenset((80, 8080))
HTTPS_PORTS = frozenset((443, 8443))

Content: TypeAlias = Literal["msmq", "rpc", "http"]
"""What a connection carries: the binary protocol, calls over DCE/RPC, or HTTP."""
Ports: TypeAlias = Collection[int] | Mapping[int, Content | None]
"""TCP ports to follow; a mapping may say what their connections carry, whatever these begin with."""

FIRST_BYTES = frozenset(b"\5P\r\n\x10")
"""A segment that begins with none of these begins nothing of MSMQ; a whole packet is looked for otherwise."""
LOOKED_AT = 8 << 10
"""Bytes of a segment that decide."""
NOT_MSMQ_UDP = "UDP, not MSMQ"
"""Why a datagram is skipped that is on no port of MSMQ."""
_LAST_PORT = 0xFFFF
_COMMON_HEADER = 16
_POST = b"POST "
_LINE = 256
"""Bytes of a request line that are waited for."""
_HEADER = 1 << 10
"""Bytes of a PROXY header that are waited for, where it comes in several segments."""
_DREP = (0x00, 0x10)
_OPENING = (PduType.BIND, PduType.BIND_ACK, PduType.ALTER_CONTEXT, PduType.ALTER_CONTEXT_RESP)


def check_ports(ports: object) -> None:
    """Raises TypeError or ArgumentError for what are no TCP ports."""
    if not isinstance(ports, Collection) or isinstance(ports, str | bytes | bytearray | memoryview):
        hint = f"ports=[{ports}]" if isinstance(ports, int) or str(ports).isdecimal() else ""
        raise TypeError(wrong_type("ports", "a list of numbers, or a mapping of them", ports, hint))
    wrong = next(filter(None, (out_of_range("a port in ports", port, _LAST_PORT) for port in ports)), "")
    if wrong:
        raise ArgumentError(wrong)
    for port, content in ports.items() if isinstance(ports, Mapping) else ():
        if content not in (None, *get_args(Content)):
            raise ArgumentError(f"ports[{port}]: {none_of(content, get_args(Content))}")


def recognise(payload: bytes, dport: int) -> Content | None:
    """What the segment with ``payload`` begins, None when that is nothing of MSMQ."""
    payload = behind_header(payload)
    if payload[:1] == b"\5" and starts_pdu(payload):
        # In the middle of a connection bytes of anything come by, and nothing that calls MSMQ is big-endian.
        return "rpc" if payload[4] or payload[2] in _OPENING else None
    payload = _behind_lines(payload)
    if payload[:1] == b"P" and payload.startswith(_POST[: len(payload)]):
        begun = dport in HTTP_PORTS and b"\r\n\r\n" not in payload[:LOOKED_AT]
        return "http" if begun or starts_srmp(payload) else None
    return "msmq" if payload and starts_packet(payload) else None


def may_begin(payload: bytes) -> bool:
    """Whether a side that begins with so few bytes may go on as something of MSMQ."""
    header = header_of(payload)
    if header is not None and len(payload) > header.length:
        payload = payload[header.length :]
    elif header is not None or may_become_header(payload):
        return len(payload) < _HEADER
    size = len(payload)
    if payload[:1] == b"\5":
        # SOCKS begins with 5 and a number of methods.
        return size < _COMMON_HEADER and payload[1:2] in (b"", b"\0") and (size < 5 or payload[4] in _DREP)
    if payload[:1] == b"\x10":
        return size < _COMMON_HEADER and begins_packet(payload)
    line = _behind_lines(payload)
    if not line:
        return size > 0
    begun = line.startswith(_POST[: len(line)])
    return begun and len(line) < _LINE and b"\n" not in line


def _behind_lines(payload: bytes) -> bytes:
    """What follows the empty lines before a request, RFC 9112 2.2; at most a few are taken for that."""
    return payload[:4].lstrip(b"\r\n") + payload[4:] if payload[:1] in (b"\r", b"\n") else payload


def content_of(data: bytes, believed: Content) -> Content:
    """What a stream carries whose first bytes are ``data``; as ``believed`` where these do not tell."""
    data = behind_header(data)
    if len(data) < _COMMON_HEADER:
        return believed
    if starts_pdu(data):
        return "rpc"
    return "http" if looks_like_http(_behind_lines(data)) else "msmq"


def datagram_kind(sport: int, dport: int, payload: bytes) -> tuple[str | None, str]:
    """The packet in a UDP datagram, or None and why it is skipped: pings on port 3527, discovery on 1801."""
    if PING_PORT in (sport, dport):
        is_ping = payload[2:4] == b"HU" or len(payload) == 24
        return ("ping", "") if is_ping else (None, f"UDP port {PING_PORT}, no ping")
    if MSMQ_PORT not in (sport, dport):
        return None, NOT_MSMQ_UDP
    return DISCOVERY.get(payload[:4]), f"UDP port {MSMQ_PORT}, no discovery"


def may_carry(data: bytes, port: int) -> str:
    """What to tell of content that may be MSMQ but is not read here; empty for nothing."""
    if data[:2] == b"\x16\x03" and data[5:6] == b"\x01":
        return f"TLS on port {port}: may carry SRMP, cannot be read"
    if data.startswith(_POST) and b"/msmq" in data[:_LINE].lower():
        return f"SRMP over HTTP on port {port} of the binary protocol: --decode-as {port}=http reads it"
    return ""
