"""From a captured frame to transport values: link types, tags, MPLS, PPP, and the walk through tunnels.

Any bytes give values or a `Skipped`, never an exception; a frame is walked at most eight tunnels deep.
The arguments ``at``, ``end`` and ``stop`` are those of `msmq_wire.capture.network`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from struct import Struct
from typing import Any

from msgspec.structs import replace

from msmq_wire.capture.network import (
    BRIDGED_ETHERNET,
    CUT,
    IPV4,
    IPV6,
    PPP,
    IcmpUnreachable,
    Inner,
    Layer,
    Skipped,
    UdpDatagram,
    ip,
    ip_payload,
    ipv4,
    ipv6,
)
from msmq_wire.capture.pcap import Frame
from msmq_wire.capture.protocol_names import ETHERTYPES, LINK_NAMES
from msmq_wire.reassembly.encapsulation import INTERFACE, VLAN, part
from msmq_wire.reassembly.ip import IpFragment
from msmq_wire.reassembly.tcp_events import TcpSegment

Datagram = TcpSegment | UdpDatagram | IpFragment | IcmpUnreachable | Skipped

_DEEPEST = 8
_NESTED = Skipped("tunnels nested too deep")

_u16 = Struct(">H").unpack_from
_two_u16 = Struct(">HH").unpack_from
_u32 = Struct(">I").unpack_from


_WITH_PATHS = (TcpSegment, UdpDatagram, IpFragment, Inner)
_VLAN_TAGS = frozenset((0x8100, 0x88A8, 0x9100, 0x9200))
_FIRST_ETHERTYPE = 0x0600
_CISCO_HDLC = (b"\x0f\x00", b"\x8f\x00")
"""Address and control of Cisco's HDLC, which no address of PPP is: unicast, broadcast."""
_PPP_MPLS = (0x0281, 0x0283)


def dissect(frame: Frame) -> list[Datagram]:
    """Return what a frame carries, through its tags and tunnels; never empty.

    A frame without time gives values with time 0. `IpFragment` values are put together elsewhere; then
    `transport` reads the payload.
    """
    captured = len(frame.data)
    link = _LINKS.get(frame.link_type)
    if link is None:
        name = LINK_NAMES.get(frame.link_type)
        return [Skipped(f"link type {frame.link_type} ({name})" if name else f"link type {frame.link_type}")]
    length = frame.length
    layer = link(frame, 0, captured, length if length > captured else captured)
    datagram = _innermost(frame, layer) if isinstance(layer, Inner) else layer
    if frame.interface:
        datagram = _behind(part(INTERFACE, frame.interface), datagram)
    return [datagram]


def path_of(interface: int, vlans: Iterable[int]) -> bytes:
    """Return the path of a TCP segment (`TcpSegment.path`) in no more than VLANs, the outermost first."""
    inside = b"".join(part(VLAN, vlan) for vlan in vlans)
    return part(INTERFACE, interface) + inside if interface else inside


def transport(
    protocol: int,
    src: bytes,
    dst: bytes,
    payload: bytes,
    frame: int,
    time: int,
    cut: int = 0,
    path: bytes = b"",
) -> list[Datagram]:
    """Return what an IP payload carries, for payloads that were put together from fragments; never empty.

    ``protocol`` is the IP protocol or IPv6 next header, ``src`` and ``dst`` are 4 or 16 packed bytes,
    ``frame`` and ``time`` are those of the completing frame, ``cut`` counts bytes missing at the end.
    ``path`` says what the fragments were captured in.
    """
    end = len(payload)
    carrier = Frame(frame, time, 0, payload, end + cut, 0)
    layer = ip_payload(carrier, protocol, src, dst, 0, end, end + cut)
    datagram = _innermost(carrier, layer) if isinstance(layer, Inner) else layer
    return [_behind(path, datagram) if path else datagram]


def _innermost(frame: Frame, inner: Inner) -> Datagram:
    path = b""
    for _ in range(_DEEPEST):
        ethertype, at, end, stop = inner.ethertype, inner.at, inner.end, inner.stop
        path += inner.path
        if at > end:
            return CUT
        if ethertype == BRIDGED_ETHERNET:
            layer = _ethernet(frame, at, end, stop)
        elif ethertype == PPP:
            layer = _ppp(frame, at, end, stop)
        else:
            layer = _tagged(frame, ethertype, at, end, stop)
        if not isinstance(layer, Inner):
            return _behind(path, layer) if path else layer
        inner = layer
    return _NESTED


def _behind(path: bytes, layer: Layer) -> Any:
    """Say of a layer that what is in ``path`` stands before it."""
    return replace(layer, path=path + layer.path) if isinstance(layer, _WITH_PATHS) else layer


def _ethernet(frame: Frame, at: int, end: int, stop: int) -> Layer:
    if end - at < 14:
        return CUT
    (ethertype,) = _u16(frame.data, at + 12)
    if ethertype == IPV4:
        return ipv4(frame, at + 14, end, stop)
    return _tagged(frame, ethertype, at + 14, end, stop)


def _tagged(frame: Frame, ethertype: int, at: int, end: int, stop: int) -> Layer:
    if ethertype not in _VLAN_TAGS:
        return _untagged(frame, ethertype, at, end, stop)
    path = b""
    while ethertype in _VLAN_TAGS:
        if end - at < 4:
            return CUT
        tag, ethertype = _two_u16(frame.data, at)
        # Tag 0 gives a priority, and no VLAN.
        if tag & 0xFFF:
            path += part(VLAN, tag & 0xFFF)
        at += 4
    layer = _untagged(frame, ethertype, at, end, stop)
    return _behind(path, layer) if path else layer


def _untagged(frame: Frame, ethertype: int, at: int, end: int, stop: int) -> Layer:
    if ethertype >= _FIRST_ETHERTYPE:
        return _ethertype(frame, ethertype, at, end, stop)
    # An 802.3 frame has its length where Ethernet II has the type.
    stop = min(stop, at + ethertype)
    return _llc(frame, at, min(end, stop), stop)


def _llc(frame: Frame, at: int, end: int, stop: int) -> Layer:
    data = frame.data
    if end - at < 3:
        return CUT
    if data[at : at + 3] == b"\x06\x06\x03":
        return ip(frame, at + 3, end, stop)
    if data[at : at + 3] != b"\xaa\xaa\x03":
        return Skipped(f"LLC service 0x{data[at]:02x}")
    if end - at < 8:
        return CUT
    if data[at + 3 : at + 6] not in (b"\0\0\0", b"\0\0\xf8"):
        return Skipped("SNAP protocol of a vendor")
    return _ethertype(frame, _u16(data, at + 6)[0], at + 8, end, stop)


def _ethertype(frame: Frame, ethertype: int, at: int, end: int, stop: int) -> Layer:
    reader = _ETHERTYPES.get(ethertype)
    if reader is not None:
        return reader(frame, at, end, stop)
    name = ETHERTYPES.get(ethertype)
    return Skipped(f"ethertype 0x{ethertype:04x} ({name})" if name else f"ethertype 0x{ethertype:04x}")


def _mpls(frame: Frame, at: int, end: int, stop: int) -> Layer:
    data = frame.data
    bottom = 0
    while not bottom:
        # One byte more than the label, for the nibble that says what follows.
        if end - at < 5:
            return CUT
        bottom = data[at + 2] & 1
        at += 4
    kind = data[at] >> 4
    if kind == 4:
        return ipv4(frame, at, end, stop)
    if kind == 6:
        return ipv6(frame, at, end, stop)
    if kind == 0:
        # Ethernet in a pseudowire, with a control word or without one (RFC 4448 4.6).
        return Inner(BRIDGED_ETHERNET, at + 4 if data[at : at + 2] == b"\0\0" else at, end, stop)
    return Skipped(f"MPLS payload {kind}")


def _pppoe(frame: Frame, at: int, end: int, stop: int) -> Layer:
    if end - at < 6:
        return CUT
    if frame.data[at + 1]:
        return Skipped("PPPoE without a session")
    stop = min(stop, at + 6 + _u16(frame.data, at + 4)[0])
    return _ppp(frame, at + 6, min(end, stop), stop)


def _ppp(frame: Frame, at: int, end: int, stop: int) -> Layer:
    data = frame.data
    if data[at : at + 2] in _CISCO_HDLC and end - at >= 4:
        return _tagged(frame, _u16(data, at + 2)[0], at + 4, end, stop)
    if data[at : at + 2] == b"\xff\x03":
        at += 2
    if end - at < 2:
        return CUT
    protocol = data[at]
    # A protocol number whose first byte is odd was compressed to that byte.
    if protocol & 1:
        at += 1
    else:
        protocol = protocol << 8 | data[at + 1]
        at += 2
    if protocol == 0x0021:
        return ipv4(frame, at, end, stop)
    if protocol == 0x0057:
        return ipv6(frame, at, end, stop)
    reported = f"PPP protocol 0x{protocol:04x}"
    return Skipped(f"{reported} (MPLS): not read" if protocol in _PPP_MPLS else reported)


def _cooked(frame: Frame, at: int, end: int, stop: int) -> Layer:
    if end - at < 16:
        return CUT
    return _cooked_payload(frame, _u16(frame.data, at + 14)[0], at + 16, end, stop)


def _cooked_v2(frame: Frame, at: int, end: int, stop: int) -> Layer:
    if end - at < 20:
        return CUT
    return _cooked_payload(frame, _u16(frame.data, at)[0], at + 20, end, stop)


def _cooked_payload(frame: Frame, protocol: int, at: int, end: int, stop: int) -> Layer:
    # Linux has numbers of its own below the ethertypes: 4 is a frame that starts with LLC.
    if protocol >= _FIRST_ETHERTYPE:
        return _tagged(frame, protocol, at, end, stop)
    if protocol == 4:
        return _llc(frame, at, end, stop)
    return Skipped(f"cooked protocol 0x{protocol:04x}")


def _loopback(frame: Frame, at: int, end: int, stop: int) -> Layer:
    if end - at < 4:
        return CUT
    # The family is in the byte order of the capturing host (0) or of the network (108): small either way.
    (family,) = _u32(frame.data, at)
    if family > 0xFFFF:
        family = int.from_bytes(frame.data[at : at + 4], "little")
    if family == 2:
        return ipv4(frame, at + 4, end, stop)
    # AF_INET6 of Linux, Windows, NetBSD and OpenBSD, FreeBSD, macOS.
    if family in (10, 23, 24, 28, 30):
        return ipv6(frame, at + 4, end, stop)
    return Skipped("loopback address family")


_Reader = Callable[[Frame, int, int, int], Layer]

_ETHERTYPES: dict[int, _Reader] = {IPV4: ipv4, IPV6: ipv6, 0x8847: _mpls, 0x8848: _mpls, 0x8864: _pppoe}

LINK_TYPES: Mapping[int, tuple[str, _Reader]] = {
    0: ("BSD loopback", _loopback),
    1: ("Ethernet", _ethernet),
    9: ("PPP", _ppp),
    12: ("raw IP, as OpenBSD numbers it", ip),
    14: ("raw IP, as others number it", ip),
    101: ("raw IP", ip),
    108: ("OpenBSD loopback", _loopback),
    113: ("Linux cooked capture", _cooked),
    228: ("raw IPv4", ipv4),
    229: ("raw IPv6", ipv6),
    276: ("Linux cooked capture, version 2", _cooked_v2),
}
"""The link types that are read, by their LINKTYPE numbers: a name, and what finds IP behind their header."""

_LINKS = {number: read for number, (_, read) in LINK_TYPES.items()}
