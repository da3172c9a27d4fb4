"""IPv4 and IPv6, their extension headers, the transports above them, and the tunnels inside them.

Every function reads one layer and gives exactly one value: a transport value, a `Skipped`, or an `Inner` that
says which layer starts where. Nothing here calls back into a link layer, so nesting cannot recurse.

Positions are offsets in ``frame.data``: ``at`` is where a layer starts, ``end`` is where the captured bytes
stop that may belong to it, ``stop`` is where it stopped on the wire (``stop - end`` bytes were not captured).

Checksums are not judged: a capture on the sending host sees packets before the network card fills them in.
"""

from __future__ import annotations

from struct import Struct

import msgspec

from msmq_wire.capture.pcap import Frame
from msmq_wire.capture.protocol_names import IP_PROTOCOLS, NAMED_TUNNELS, tunnel_of
from msmq_wire.reassembly.encapsulation import GRE_KEY, VIRTUAL_NETWORK
from msmq_wire.reassembly.ip import IpFragment
from msmq_wire.reassembly.tcp_events import TcpSegment
from msmq_wire.records.endpoint import MSMQ_PORT, PING_PORT


class UdpDatagram(msgspec.Struct, frozen=True, gc=False):
    """A UDP datagram; addresses are 4 or 16 packed bytes, ``cut`` counts payload bytes not captured.

    ``path`` is as in `TcpSegment`.
    """

    src: bytes
    sport: int
    dst: bytes
    dport: int
    payload: bytes
    frame: int
    time: int
    cut: int = 0
    path: bytes = b""


class IcmpUnreachable(msgspec.Struct, frozen=True, gc=False):
    """Somebody (``src``) tells ``dst`` that a packet could not be delivered, or was too big.

    The ``original_`` fields and ``protocol`` are those of the quoted packet; ports are 0 where it has none.
    ``code`` is the code of ICMP type 3 when the addresses have 4 bytes, of ICMPv6 type 1 when 16. Of a packet
    that was too big (type 3 code 4, ICMPv6 type 2) ``mtu`` is what the next link takes, 0 where that is not
    said; None of others. Source: RFC 1191 4, RFC 4443 3.2.
    """

    src: bytes
    dst: bytes
    original_src: bytes
    original_sport: int
    original_dst: bytes
    original_dport: int
    protocol: int
    code: int
    frame: int
    time: int
    mtu: int | None = None


class Skipped(msgspec.Struct, frozen=True, gc=False):
    """A frame, or the packet inside it, that gives nothing; ``reason`` is short and meant to be counted."""

    reason: str


class Inner(msgspec.Struct, frozen=True, gc=False):
    """A layer inside a tunnel: its ethertype and where it is in the frame; ``path`` as in `TcpSegment`."""

    ethertype: int
    at: int
    end: int
    stop: int
    path: bytes = b""


Layer = TcpSegment | UdpDatagram | IpFragment | IcmpUnreachable | Skipped | Inner

IPV4 = 0x0800
IPV6 = 0x86DD
BRIDGED_ETHERNET = 0x6558
PPP = 0x880B

CUT = Skipped("cut before the IP header")
_CUT_TRANSPORT = Skipped("cut before the transport header")
# A fragment with a hole would let a datagram look whole that is not.
_CUT_FRAGMENT = Skipped("fragment cut by the snap length")
_CUT_TUNNEL = Skipped("cut inside a tunnel header")

_u16 = Struct(">H").unpack_from
_two_u16 = Struct(">HH").unpack_from
_ipv4_header = Struct(">BxHHHBBxx4s4s").unpack_from
_ipv6_header = Struct(">BxxxHBB16s16s").unpack_from
_fragment_header = Struct(">BxHI").unpack_from
_tcp_header = Struct(">HHIIH").unpack_from
_udp_header = Struct(">HHH").unpack_from

_ICMP = 1
_IPV4_IN_IP = 4
_TCP = 6
_UDP = 17
_IPV6_IN_IP = 41
_IPV6_FRAGMENT = 44
_GRE = 47
_AUTHENTICATION_HEADER = 51
_ICMPV6 = 58
_TOO_BIG = 4
_IPV6_EXTENSIONS = frozenset((0, 43, _IPV6_FRAGMENT, 60, 135, 139, 140))

_VXLAN_PORT, _VXLAN_OF_LINUX = 4789, 8472
_GENEVE_PORT = 6081
_TZSP_PORT = 37008
_TZSP_PADDING, _TZSP_END, _TZSP_ETHERNET = 0, 1, 1
_OWN_PORTS = (PING_PORT, MSMQ_PORT)
TUNNEL_PORTS = frozenset((_VXLAN_PORT, _VXLAN_OF_LINUX, _GENEVE_PORT, _TZSP_PORT, *NAMED_TUNNELS))
_ERSPAN_1_OR_2 = 0x88BE
_ERSPAN_3 = 0x22EB


def ip(frame: Frame, at: int, end: int, stop: int) -> Layer:
    """Read an IP packet whose version is known only from its first four bits."""
    if at >= end:
        return CUT
    version = frame.data[at] >> 4
    if version == 4:
        return ipv4(frame, at, end, stop)
    if version == 6:
        return ipv6(frame, at, end, stop)
    return Skipped(f"IP version {version}")


def ipv4(frame: Frame, at: int, end: int, stop: int) -> Layer:
    """Read an IPv4 packet; what follows its total length (Ethernet padding) is left out."""
    if end - at < 20:
        return CUT
    first, total, ident, fragment, hop_limit, protocol, src, dst = _ipv4_header(frame.data, at)
    header = (first & 15) * 4
    if first >> 4 != 4:
        return Skipped(f"IP version {first >> 4} in IPv4")
    if header < 20:
        return Skipped("IPv4 header length")
    # Total length 0 is a segment that the network card will split: it reaches to the end of the frame.
    if total:
        if total < header:
            return Skipped("IPv4 total length")
        stop = at + total
        if stop < end:
            end = stop
    at += header
    if fragment & 0x3FFF:
        offset = (fragment & 0x1FFF) * 8
        more = fragment & 0x2000 != 0
        if stop > end:
            return _CUT_FRAGMENT
        payload, time = frame.data[at:end], frame.time or 0
        return IpFragment(src, dst, protocol, ident, offset, more, payload, frame.number, time)
    if protocol == _TCP:
        return _tcp(frame, src, dst, at, end, stop, hop_limit, ident)
    return ip_payload(frame, protocol, src, dst, at, end, stop)


def ipv6(frame: Frame, at: int, end: int, stop: int) -> Layer:
    """Read an IPv6 packet; what follows its payload length (Ethernet padding) is left out."""
    if end - at < 40:
        return CUT
    first, length, protocol, hop_limit, src, dst = _ipv6_header(frame.data, at)
    if first >> 4 != 6:
        return Skipped(f"IP version {first >> 4} in IPv6")
    at += 40
    # Length 0 is a jumbogram or a segment that the network card will split.
    if length:
        stop = at + length
        if stop < end:
            end = stop
    if protocol == _TCP:
        return _tcp(frame, src, dst, at, end, stop, hop_limit)
    return ip_payload(frame, protocol, src, dst, at, end, stop)


def ip_payload(frame: Frame, protocol: int, src: bytes, dst: bytes, at: int, end: int, stop: int) -> Layer:
    """Read what an IP header announces: extension headers first, then a transport or a tunnel."""
    data = frame.data
    version_6 = len(src) == 16
    while protocol == _AUTHENTICATION_HEADER or (version_6 and protocol in _IPV6_EXTENSIONS):
        if end - at < 8:
            return _CUT_TRANSPORT
        if protocol == _AUTHENTICATION_HEADER:
            size = (data[at + 1] + 2) * 4
        elif protocol != _IPV6_FRAGMENT:
            size = (data[at + 1] + 1) * 8
        else:
            following, where, identification = _fragment_header(data, at)
            if where & 0xFFF9:
                if stop > end:
                    return _CUT_FRAGMENT
                offset, more = where & 0xFFF8, where & 1 != 0
                payload, time = data[at + 8 : end], frame.time or 0
                number = frame.number
                return IpFragment(src, dst, following, identification, offset, more, payload, number, time)
            # A packet that is its own only fragment (RFC 6946).
            size = 8
        protocol = data[at]
        at += size
    if protocol == _TCP:
        return _tcp(frame, src, dst, at, end, stop)
    if protocol == _UDP:
        return _udp(frame, src, dst, at, end, stop)
    if protocol == (_ICMPV6 if version_6 else _ICMP):
        return _icmp(frame, src, dst, at, end)
    if protocol == _IPV4_IN_IP:
        return Inner(IPV4, at, end, stop)
    if protocol == _IPV6_IN_IP:
        return Inner(IPV6, at, end, stop)
    if protocol == _GRE:
        return _gre(frame, at, end, stop)
    name = IP_PROTOCOLS.get(protocol)
    return Skipped(f"IP protocol {protocol} ({name})" if name else f"IP protocol {protocol}")


def _tcp(
    frame: Frame, src: bytes, dst: bytes, at: int, end: int, stop: int, hop_limit: int = 0, ident: int = 0
) -> Layer:
    if end - at < 14:
        return _CUT_TRANSPORT
    sport, dport, seq, ack, word = _tcp_header(frame.data, at)
    window = _u16(frame.data, at + 14)[0] if end - at >= 16 else -1
    header = (word >> 12) * 4
    at += header
    if header < 20 or at > stop:
        return Skipped("TCP header length")
    cut = stop - (at if at > end else end)
    flags, payload, number, time = word & 0x1FF, frame.data[at:end], frame.number, frame.time or 0
    # By keyword they cost twice as much.
    return TcpSegment(
        src, sport, dst, dport, seq, ack, flags, payload, number, time, cut, b"", window, hop_limit, ident
    )


def _udp(frame: Frame, src: bytes, dst: bytes, at: int, end: int, stop: int) -> Layer:
    data = frame.data
    if end - at < 8:
        return _CUT_TRANSPORT
    sport, dport, length = _udp_header(data, at)
    # Length 0 is a jumbogram or a datagram that the network card will split.
    if length:
        if length < 8:
            return Skipped("UDP length")
        stop = min(stop, at + length)
        end = min(end, stop)
    at += 8
    # Queue managers answer pings and discovery to any port, so also to those that mean a tunnel.
    if dport in TUNNEL_PORTS and sport not in _OWN_PORTS:
        tunnel = _tunnel(frame, dport, at, end, stop)
        if tunnel is not None:
            return tunnel
    if sport in NAMED_TUNNELS and dport not in _OWN_PORTS:
        named = tunnel_of(sport, data, at, end)
        if named:
            return Skipped(f"{named} tunnel: not read")
    return UdpDatagram(src, sport, dst, dport, data[at:end], frame.number, frame.time or 0, stop - end)


def _tunnel(frame: Frame, dport: int, at: int, end: int, stop: int) -> Layer | None:
    """What a datagram to the port of a tunnel carries; None where it is none."""
    data = frame.data
    if dport == _TZSP_PORT:
        return _tzsp(frame, at, end, stop)
    if end - at >= 8:
        network = VIRTUAL_NETWORK + data[at + 4 : at + 7]
        # What is reserved is ignored. But of text that goes to the port of Linux, no such byte is 0.
        is_vxlan = dport == _VXLAN_PORT or (
            dport == _VXLAN_OF_LINUX and data[at + 1 : at + 4] == b"\0\0\0" and not data[at + 7]
        )
        if is_vxlan and data[at] & 8:
            return Inner(BRIDGED_ETHERNET, at + 8, end, stop, network)
        if dport == _GENEVE_PORT and data[at] < 0x40:
            return Inner(_u16(data, at + 2)[0], at + 8 + data[at] * 4, end, stop, network)
    named = tunnel_of(dport, data, at, end)
    return Skipped(f"{named} tunnel: not read") if named else None


def _tzsp(frame: Frame, at: int, end: int, stop: int) -> Layer | None:
    """TZSP: version 1, a frame that was received or sent, what it is, tags, the frame."""
    data = frame.data
    if end - at < 5 or data[at] != 1 or data[at + 1] > 1 or _u16(data, at + 2)[0] != _TZSP_ETHERNET:
        return None
    at += 4
    while at < end and data[at] != _TZSP_END:
        at += 1 if data[at] == _TZSP_PADDING or at + 1 >= end else 2 + data[at + 1]
    return Inner(BRIDGED_ETHERNET, at + 1, end, stop) if at < end else _CUT_TUNNEL


def _icmp(frame: Frame, src: bytes, dst: bytes, at: int, end: int) -> Layer:
    data = frame.data
    if end - at < 8:
        return _CUT_TRANSPORT
    kind, code = data[at], data[at + 1]
    version_6 = len(src) == 16
    too_big = kind == 2 if version_6 else kind == 3 and code == _TOO_BIG
    if not too_big and kind != (1 if version_6 else 3):
        return Skipped(f"ICMPv6 type {kind}" if version_6 else f"ICMP type {kind}")
    mtu: int | None = None
    if too_big:
        mtu = int.from_bytes(data[at + (4 if version_6 else 6) : at + 8], "big")
    at += 8
    if end - at < (40 if version_6 else 20):
        return Skipped("ICMP unreachable without the packet")
    fragment = 0
    if version_6:
        _, _, protocol, _, original_src, original_dst = _ipv6_header(data, at)
        at += 40
        while protocol in _IPV6_EXTENSIONS and end - at >= 8:
            if protocol == _IPV6_FRAGMENT:
                fragment |= _u16(data, at + 2)[0] >> 3
            size = 8 if protocol == _IPV6_FRAGMENT else (data[at + 1] + 1) * 8
            protocol = data[at]
            at += size
    else:
        first, _, _, fragment, _, protocol, original_src, original_dst = _ipv4_header(data, at)
        at += (first & 15) * 4
    sport = dport = 0
    if protocol in (_TCP, _UDP) and not fragment & 0x1FFF and end - at >= 4:
        sport, dport = _two_u16(data, at)
    time = frame.time or 0
    number = frame.number
    return IcmpUnreachable(
        src, dst, original_src, sport, original_dst, dport, protocol, code, number, time, mtu
    )


def _gre(frame: Frame, at: int, end: int, stop: int) -> Layer:
    data = frame.data
    if end - at < 4:
        return _CUT_TUNNEL
    flags, ethertype = _two_u16(data, at)
    if flags & 7:
        return Skipped(f"IP protocol 47 (GRE) version {flags & 7}: not read")
    if flags & 0x4000:
        return Skipped("IP protocol 47 (GRE) with routing: not read")
    key = at + 4 + 4 * (flags >> 15)
    path = GRE_KEY + data[key : key + 4] if flags & 0x2000 else b""
    # Checksum, key and sequence number have four bytes each.
    at += 4 + 4 * ((flags >> 15) + (flags >> 13 & 1) + (flags >> 12 & 1))
    if ethertype == _ERSPAN_1_OR_2:
        # Type I has no sequence number and no header of its own.
        ethertype = BRIDGED_ETHERNET
        at += 8 if flags & 0x1000 else 0
    elif ethertype == _ERSPAN_3:
        if end - at < 12:
            return _CUT_TUNNEL
        kind = data[at + 10] >> 2 & 0x1F
        if kind:
            return Skipped(f"ERSPAN frame type {kind}: not read")
        ethertype = BRIDGED_ETHERNET
        at += 20 if data[at + 11] & 1 else 12
    elif not ethertype:
        return Skipped("GRE keepalive")
    return Inner(ethertype, at, end, stop, path)
