"""Frames made anew: a segment or datagram of one point as a frame of the connection at another point.

The rule kept here: ports, numbers, flags, windows and payload stay as they were captured. Only what stands
around them changes, and which part of the payload is given.
"""

from __future__ import annotations

from functools import lru_cache
from struct import Struct

from msmq_wire.capture.network import IPV4, IPV6, UdpDatagram
from msmq_wire.reassembly.encapsulation import GRE_KEY, INTERFACE, VIRTUAL_NETWORK, VLAN, parts_of
from msmq_wire.reassembly.tcp_events import FIN, SYN, Endpoints, TcpSegment

_TCP, _UDP, _GRE = 6, 17, 47
_VXLAN_PORT = 4789
_KEY_PRESENT = b"\x20\0"
_LARGEST = 0xFFFF
_USUAL_WINDOW, _USUAL_HOPS = 0x2000, 64

_u16 = Struct(">H").pack
_u32 = Struct(">I").pack
_tcp = Struct(">HHIIHH4x").pack
_udp = Struct(">HHHH").pack
_ipv4 = Struct(">BxHHHBBxx").pack
_ipv6 = Struct(">IHBB").pack
_DO_NOT_FRAGMENT = 0x4000
_ports = Struct(">HHI").pack
_word_and_window = Struct(">HH").unpack_from


def tcp_frame(
    data: bytes,
    segment: TcpSegment,
    ends: Endpoints,
    around: bytes,
    first: int = 0,
    stop: int | None = None,
) -> tuple[bytes, int]:
    """Return the bytes of a frame that carries a segment between ``ends``, and its length on the wire.

    ``data`` is the frame that the segment was captured in, ``around`` what stands before the IP header. The
    payload is given from byte ``first`` to before ``stop``: SYN goes with its first byte, FIN with its last.
    """
    size = len(segment.payload) + segment.cut
    stop = size if stop is None else stop
    flags, seq = segment.flags, segment.seq + first
    if first and flags & SYN:
        flags, seq = flags & ~SYN, seq + 1
    if stop < size:
        flags &= ~FIN
    window, options, hops = _of_header(data, segment)
    src, sport, dst, dport = ends
    word = 5 + len(options) // 4 << 12 | flags
    header = _tcp(sport, dport, seq & 0xFFFFFFFF, segment.ack, word, window) + options
    wire = len(header) + stop - first
    packet = _ip(src, dst, _TCP, hops, wire) + header + segment.payload[first:stop]
    return around + packet, len(around) + (20 if len(src) == 4 else 40) + wire


def udp_frame(datagram: UdpDatagram, ends: Endpoints, around: bytes) -> tuple[bytes, int]:
    """Return the bytes of a frame that carries a datagram between ``ends``, and its length on the wire."""
    src, sport, dst, dport = ends
    wire = 8 + len(datagram.payload) + datagram.cut
    header = _udp(sport, dport, wire if wire <= _LARGEST else 0, 0)
    packet = _ip(src, dst, _UDP, _USUAL_HOPS, wire) + header + datagram.payload
    return around + packet, len(around) + (20 if len(src) == 4 else 40) + wire


def hops_of(data: bytes, segment: TcpSegment) -> int | None:
    """The TTL or hop limit of the packet that carries a segment; None behind IP options."""
    at = data.find(_place(segment))
    if at < 0:
        return None
    return data[at - 4] if len(segment.src) == 4 else data[at - 1]


@lru_cache(maxsize=256)
def link_header(link_type: int, path: bytes, size: int) -> bytes | None:
    """Return what stands before an IP packet in a frame of a path, None where that cannot be made.

    ``path`` is as in `TcpSegment.path`, ``size`` that of an address: 4 or 16 bytes.
    """
    kind = _u16(IPV4 if size == 4 else IPV6)
    inside = [(one, value) for one, value in parts_of(path) if one != INTERFACE]
    tags, tunnels = b"", b""
    for place, (one, value) in enumerate(inside):
        if one == VLAN and not tunnels:
            tags += b"\x81\0" + value
        elif one == VIRTUAL_NETWORK and place == len(inside) - 1:
            header = _udp(_VXLAN_PORT, _VXLAN_PORT, 0, 0) + b"\x08\0\0\0" + value + b"\0"
            tunnels = _outer(_UDP) + header + bytes(12) + kind
        elif one == GRE_KEY and place == len(inside) - 1:
            tunnels = _outer(_GRE) + _KEY_PRESENT + kind + value
        else:
            return None
    if tunnels:
        kind = _u16(IPV4)
    if link_type == 1:
        return bytes(12) + tags + kind + tunnels
    if link_type == 113:
        return bytes(14) + tags + kind + tunnels
    if link_type == 276:
        chain = tags + kind
        return chain[:2] + bytes(18) + chain[2:] + tunnels
    if tags:
        return None
    is_ipv4 = kind == _u16(IPV4)
    if link_type in (12, 14, 101) or link_type == (228 if is_ipv4 else 229):
        return tunnels
    if link_type in (0, 108):
        return (2 if is_ipv4 else 24).to_bytes(4, "little" if link_type == 0 else "big") + tunnels
    if link_type == 9:
        return (b"\0\x21" if is_ipv4 else b"\0\x57") + tunnels
    return None


def _of_header(data: bytes, segment: TcpSegment) -> tuple[int, bytes, int]:
    """The window and the options of a segment, and the TTL or hop limit of its packet."""
    pattern = _place(segment)
    at = data.find(pattern)
    if at < 0:
        return _USUAL_WINDOW, b"", _USUAL_HOPS
    hops = data[at - 4] if len(segment.src) == 4 else data[at - 1]
    at += 2 * len(segment.src)
    if len(data) - at < 16:
        return _USUAL_WINDOW, b"", hops
    word, window = _word_and_window(data, at + 12)
    options = data[at + 20 : at + (word >> 12) * 4]
    return window, options[: len(options) & ~3], hops


def _place(segment: TcpSegment) -> bytes:
    """What stands in a frame from the addresses of an IP header without options to the sequence number."""
    return segment.src + segment.dst + _ports(segment.sport, segment.dport, segment.seq)


def _ip(src: bytes, dst: bytes, protocol: int, hops: int, size: int) -> bytes:
    """The IP header; a length that does not fit is 0, as of a segment that the network card will split."""
    if len(src) == 4:
        total = size + 20 if size + 20 <= _LARGEST else 0
        return _ipv4(0x45, total, 0, _DO_NOT_FRAGMENT, hops, protocol) + src + dst
    return _ipv6(6 << 28, size if size <= _LARGEST else 0, protocol, hops) + src + dst


def _outer(protocol: int) -> bytes:
    """The IP header of a tunnel that reaches to the end of the frame."""
    return _ipv4(0x45, 0, 0, _DO_NOT_FRAGMENT, _USUAL_HOPS, protocol) + bytes(8)
