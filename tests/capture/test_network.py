"""IPv4, IPv6, transports and tunnels, packets written by hand; scapy builds some of them independently."""

from __future__ import annotations

import importlib
import struct

import pytest
from msgspec.structs import replace

from msmq_wire.capture.link import dissect, transport
from msmq_wire.capture.network import IcmpUnreachable, Skipped, UdpDatagram
from msmq_wire.capture.pcap import Frame
from msmq_wire.reassembly.ip import IpFragment
from msmq_wire.reassembly.tcp_events import TcpSegment

RAW = 101
A4, B4 = bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2])
A6, B6 = bytes.fromhex("20010db8" + "00" * 11 + "01"), bytes.fromhex("20010db8" + "00" * 11 + "02")

# 1801 -> 1025, seq 0x01020304, ack 0x05060708, 20 byte header, PSH ACK, window 8192.
TCP = bytes.fromhex("0709 0401 01020304 05060708 5018 2000 0000 0000") + b"LIOR"
TCP_OPTIONS = (
    bytes.fromhex("0709 0401 01020304 05060708 8018 2000 0000 0000 0101080a0000000100000002") + b"LIOR"
)
# 1027 -> 3527, length 10.
UDP = bytes.fromhex("0403 0dc7 000a 0000") + b"HU"


def ip4(
    protocol: int, payload: bytes, *, total: int | None = None, fragment: int = 0, options: bytes = b""
) -> bytes:
    total = 20 + len(options) + len(payload) if total is None else total
    first = 0x45 + len(options) // 4
    return (
        struct.pack(">BBHHHBBH", first, 0, total, 7, fragment, 64, protocol, 0) + A4 + B4 + options + payload
    )


def ip6(protocol: int, payload: bytes, *, length: int | None = None) -> bytes:
    length = len(payload) if length is None else length
    return struct.pack(">IHBB", 0x60000000, length, protocol, 64) + A6 + B6 + payload


def read(data: bytes, *, length: int | None = None, link_type: int = RAW) -> object:
    frame = Frame(3, 99, link_type, data, len(data) if length is None else length, 24)
    values = dissect(frame)
    assert len(values) == 1
    return values[0]


def segment(
    payload: bytes = b"LIOR", src: bytes = A4, dst: bytes = B4, cut: int = 0, *, plain: bool = True
) -> TcpSegment:
    """The segment read; only of one that is ``plain``, right behind an IP header, more is known of that."""
    header = (64, 7 if len(src) == 4 else 0) if plain else (0, 0)
    fields = (src, 1801, dst, 1025, 0x01020304, 0x05060708, 0x18, payload, 3, 99, cut)
    return TcpSegment(*fields, b"", 8192, *header)


def test_a_tcp_segment_over_ipv4_and_ipv6() -> None:
    assert read(ip4(6, TCP)) == segment()
    assert read(ip6(6, TCP)) == segment(src=A6, dst=B6)
    assert read(ip4(6, TCP_OPTIONS)) == segment()
    assert read(ip4(6, TCP, options=bytes.fromhex("94040000 01010101"))) == segment()


def test_the_ip_length_leaves_padding_out() -> None:
    assert read(ip4(6, TCP) + bytes(6)) == segment()
    assert read(ip6(6, TCP) + bytes(6)) == segment(src=A6, dst=B6)


def test_a_length_of_zero_reaches_to_the_end_of_the_frame() -> None:
    assert read(ip4(6, TCP, total=0)) == segment()
    assert read(ip4(6, TCP, total=0), length=1000) == segment(cut=1000 - 44)
    assert read(ip6(6, TCP, length=0)) == segment(src=A6, dst=B6)
    assert read(ip4(17, UDP[:4] + bytes(4) + b"HU", total=0)) == UdpDatagram(A4, 1027, B4, 3527, b"HU", 3, 99)


def test_what_the_snap_length_cut_is_counted() -> None:
    assert read(ip4(6, TCP)[:-3]) == segment(b"L", cut=3)
    assert read(ip6(6, TCP)[:-3], length=64) == segment(b"L", src=A6, dst=B6, cut=3)
    assert read(ip4(6, TCP_OPTIONS)[:-10]) == segment(b"", cut=4)
    assert read(ip4(17, UDP)[:-1]) == UdpDatagram(A4, 1027, B4, 3527, b"H", 3, 99, 1)


def test_a_frame_without_time_gives_time_zero() -> None:
    (value,) = dissect(Frame(1, None, RAW, ip4(17, UDP), 30, 0))
    assert value == UdpDatagram(A4, 1027, B4, 3527, b"HU", 1, 0)


def test_the_udp_length_leaves_padding_out_but_cannot_pass_the_ip_length() -> None:
    assert read(ip4(17, UDP + b"pad")) == UdpDatagram(A4, 1027, B4, 3527, b"HU", 3, 99)
    lying = UDP[:4] + b"\x01\x00" + UDP[6:]
    assert read(ip4(17, lying) + b"beyond") == UdpDatagram(A4, 1027, B4, 3527, b"HU", 3, 99)


def test_fragments_are_handed_on_and_read_once_put_together() -> None:
    first = read(ip4(6, TCP[:16], fragment=0x2000))
    last = read(ip4(6, TCP[16:], fragment=0x0002))
    assert first == IpFragment(A4, B4, 6, 7, 0, True, TCP[:16], 3, 99)
    assert last == IpFragment(A4, B4, 6, 7, 16, False, TCP[16:], 3, 99)
    assert transport(6, A4, B4, TCP, 3, 99) == [segment(plain=False)]
    assert transport(6, A4, B4, TCP, 3, 99, 5) == [segment(cut=5, plain=False)]
    assert transport(4, A4, B4, ip6(6, TCP), 3, 99) == [Skipped("IP version 6 in IPv4")]
    assert transport(47, A4, B4, bytes.fromhex("00000800") + ip4(6, TCP), 3, 99) == [segment()]


def test_ipv6_fragments_carry_their_own_next_header() -> None:
    more = ip6(0, bytes.fromhex("2c00000000000000 3c00 0001 0000abcd") + bytes(8))
    assert read(more) == IpFragment(A6, B6, 60, 0xABCD, 0, True, bytes(8), 3, 99)
    last = ip6(44, bytes.fromhex("0600 0010 0000abcd") + b"xy")
    assert read(last) == IpFragment(A6, B6, 6, 0xABCD, 16, False, b"xy", 3, 99)
    options = bytes.fromhex("0600000000000000")
    assert transport(60, A6, B6, options + TCP, 3, 99) == [segment(src=A6, dst=B6, plain=False)]


def test_a_fragment_with_a_hole_is_not_handed_on() -> None:
    assert read(ip4(6, TCP[:16], fragment=0x2000)[:-1]) == Skipped("fragment cut by the snap length")
    cut = ip6(44, bytes.fromhex("0600 0010 0000abcd") + b"xy")[:-1]
    assert read(cut) == Skipped("fragment cut by the snap length")


def test_an_atomic_ipv6_fragment_is_a_whole_packet() -> None:
    expected = segment(src=A6, dst=B6, plain=False)
    assert read(ip6(44, bytes.fromhex("0600 0000 0000abcd") + TCP)) == expected


def test_extension_headers_are_stepped_over() -> None:
    hop_by_hop = bytes.fromhex("2b00 000000000000")
    routing = bytes.fromhex("3c01" + "00" * 14)
    destination = bytes.fromhex("3300" + "00" * 6)
    authentication = bytes.fromhex("0604" + "00" * 22)
    chain = hop_by_hop + routing + destination + authentication
    assert read(ip6(0, chain + TCP)) == segment(src=A6, dst=B6, plain=False)
    assert read(ip4(51, authentication + TCP)) == segment(plain=False)
    assert read(ip6(0, hop_by_hop[:7])) == Skipped("cut before the transport header")
    assert read(ip6(0, bytes.fromhex("0000000000000000") * 8000, length=64000)) == Skipped(
        "cut before the transport header"
    )
    assert read(ip4(0, hop_by_hop)) == Skipped("IP protocol 0")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "cut before the IP header"),
        (ip4(6, TCP)[:19], "cut before the IP header"),
        (ip6(6, TCP)[:39], "cut before the IP header"),
        (b"\x50" + bytes(40), "IP version 5"),
        (b"\x44" + ip4(6, TCP)[1:], "IPv4 header length"),
        (ip4(6, TCP, total=19), "IPv4 total length"),
        (ip4(6, TCP[:13]), "cut before the transport header"),
        (ip4(6, TCP[:12] + b"\x40" + TCP[13:]), "TCP header length"),
        (ip4(6, TCP[:12] + b"\xf0" + TCP[13:]), "TCP header length"),
        (ip4(17, UDP[:7]), "cut before the transport header"),
        (ip4(17, UDP[:5] + b"\x07" + UDP[6:]), "UDP length"),
        (ip4(50, bytes(30)), "IP protocol 50 (ESP: not read)"),
        (ip4(200, bytes(30)), "IP protocol 200"),
        (ip6(59, b""), "IP protocol 59 (no next header)"),
        (ip4(58, bytes(30)), "IP protocol 58"),
        (ip4(1, b"\x08\x00" + bytes(30)), "ICMP type 8"),
        (ip4(1, b"\x03\x03" + bytes(5)), "cut before the transport header"),
        (ip4(1, b"\x03\x03" + bytes(25)), "ICMP unreachable without the packet"),
        (ip6(58, b"\x87\x00" + bytes(30)), "ICMPv6 type 135"),
        (ip4(47, b"\0"), "cut inside a tunnel header"),
        (ip4(47, b"\0\x03\x08\0" + ip4(6, TCP)), "IP protocol 47 (GRE) version 3: not read"),
        (ip4(47, b"\x40\0\x08\0" + ip4(6, TCP)), "IP protocol 47 (GRE) with routing: not read"),
        (ip4(47, b"\0\0\x88\xcc"), "ethertype 0x88cc (LLDP)"),
        (ip4(47, b"\x30\0\x08\0"), "cut before the IP header"),
        (ip4(47, b"\0\0\x22\xeb" + bytes(11)), "cut inside a tunnel header"),
        (ip4(47, b"\0\0\x22\xeb" + bytes(10) + b"\x1c\0" + bytes(30)), "ERSPAN frame type 7: not read"),
        (ip4(47, bytes(4)), "GRE keepalive"),
    ],
)
def test_what_gives_nothing_says_why(data: bytes, reason: str) -> None:
    assert read(data) == Skipped(reason)


_INNER = ip4(6, TCP)


@pytest.mark.parametrize(
    ("port", "data", "name"),
    [
        (1701, struct.pack(">HHHH", 0x4002, 12, 1, 2) + b"ppp!", "L2TP"),
        (2152, struct.pack(">BBHI", 0x30, 0xFF, len(_INNER), 7) + _INNER, "GTP-U"),
        # An echo request holds no packet of a user.
        (2152, struct.pack(">BBHI", 0x30, 1, 4, 7) + bytes(4), ""),
        (3544, ip6(59, b""), "Teredo"),
        (3544, bytes.fromhex("0000 0709 3ffffdfe") + ip6(59, b""), "Teredo"),
        (3544, bytes.fromhex("0001 0000 0102030405060708 00") + ip6(59, b""), "Teredo"),
        (3544, b"hello", ""),
        (4341, bytes(8) + _INNER, "LISP"),
        (4341, bytes(8) + b"text that is no packet", ""),
        (4500, bytes.fromhex("00000001 00000001") + bytes(16), "ESP"),
        (4500, bytes(4) + b"a message of IKE, which is no tunnel", ""),
        (4500, b"\xff", ""),
        (4754, bytes.fromhex("00000800") + _INNER, "GRE in UDP"),
        (4754, bytes.fromhex("00008899") + _INNER, ""),
        (5072, bytes.fromhex("41520129 00000000") + bytes(36), "AYIYA"),
        (5247, bytes.fromhex("0010020000000000") + b"frame", "CAPWAP"),
    ],
)
def test_tunnels_that_are_not_read_are_named_in_both_directions(port: int, data: bytes, name: str) -> None:
    for ends in ((4000, port), (port, 4000)):
        found = read(ip4(17, struct.pack(">HHHH", *ends, 8 + len(data), 0) + data))
        if name:
            assert found == Skipped(f"{name} tunnel: not read")
        else:
            assert isinstance(found, UdpDatagram)


def test_the_hdlc_of_cisco_is_read_where_ppp_is() -> None:
    for address in (b"\x0f\x00", b"\x8f\x00"):
        assert read(address + b"\x08\x00" + ip4(6, TCP), link_type=9) == segment()
    assert read(b"\x02\x81" + bytes(8), link_type=9) == Skipped("PPP protocol 0x0281 (MPLS): not read")


def test_an_unreachable_message_names_the_packet_it_quotes() -> None:
    quoted = ip4(6, TCP[:8], total=44)
    assert read(ip4(1, b"\x03\x0d" + bytes(6) + quoted)) == IcmpUnreachable(
        A4, B4, A4, 1801, B4, 1025, 6, 13, 3, 99
    )
    assert read(ip4(1, b"\x03\x01" + bytes(6) + ip4(6, TCP[:8], fragment=5))) == IcmpUnreachable(
        A4, B4, A4, 0, B4, 0, 6, 1, 3, 99
    )
    assert read(ip4(1, b"\x03\x01" + bytes(6) + ip4(6, b""))) == IcmpUnreachable(
        A4, B4, A4, 0, B4, 0, 6, 1, 3, 99
    )
    quoted = ip6(60, bytes.fromhex("1100000000000000") + UDP)
    assert read(ip6(58, b"\x01\x04" + bytes(6) + quoted)) == IcmpUnreachable(
        A6, B6, A6, 1027, B6, 3527, 17, 4, 3, 99
    )
    for offset, ports in ((0, (1027, 3527)), (8, (0, 0))):
        quoted = ip6(44, struct.pack(">BBHI", 17, 0, offset, 9) + UDP)
        value = read(ip6(58, b"\x01\x04" + bytes(6) + quoted))
        assert isinstance(value, IcmpUnreachable)
        assert (value.original_sport, value.original_dport, value.protocol) == (*ports, 17)


def test_a_packet_that_was_too_big_names_what_the_next_link_takes() -> None:
    quoted = ip4(6, TCP[:8], total=1500)
    too_big = IcmpUnreachable(A4, B4, A4, 1801, B4, 1025, 6, 4, 3, 99, 1400)
    assert read(ip4(1, b"\x03\x04\0\0\0\0" + struct.pack(">H", 1400) + quoted)) == too_big
    # RFC 792, before RFC 1191: the router does not say.
    unsaid = ip4(1, b"\x03\x04" + bytes(6) + quoted)
    assert read(unsaid) == replace(too_big, mtu=0)
    quoted = ip6(6, TCP[:8], length=1460)
    assert read(ip6(58, b"\x02\0\0\0" + struct.pack(">I", 1280) + quoted)) == IcmpUnreachable(
        A6, B6, A6, 1801, B6, 1025, 6, 0, 3, 99, 1280
    )
    # Type 2 of ICMP is nothing, nor is code 4 of ICMPv6 type 1 about a size.
    assert read(ip4(1, b"\x02\0\0\0" + bytes(4) + quoted)) == Skipped("ICMP type 2")
    refused = read(ip6(58, b"\x01\x04" + bytes(6) + quoted))
    assert isinstance(refused, IcmpUnreachable)
    assert refused.mtu is None


@pytest.mark.parametrize(("size", "window"), [(20, 8192), (16, 8192), (15, -1), (14, -1)])
def test_the_window_is_unknown_where_the_capture_cut_it_off(size: int, window: int) -> None:
    value = read(ip4(6, TCP)[: 20 + size])
    assert isinstance(value, TcpSegment)
    assert (value.window, value.hop_limit, value.ident) == (window, 64, 7)


INNER = ip4(6, TCP)
ETHERNET = bytes(12) + b"\x08\x00"


@pytest.mark.parametrize(
    "data",
    [
        ip4(4, INNER),
        ip6(4, INNER),
        ip4(47, bytes.fromhex("0000 0800") + INNER),
        ip4(47, bytes.fromhex("b000 0800 00000000 00000001 00000002") + INNER),
        ip4(47, bytes.fromhex("2000 6558 00000001") + ETHERNET + INNER + bytes(4)),
        ip4(47, bytes.fromhex("0000 88be") + ETHERNET + INNER),
        ip4(47, bytes.fromhex("1000 88be 00000001 1001000100000000") + ETHERNET + INNER),
        ip4(47, bytes.fromhex("1000 22eb 00000001 200100010000000000000000") + ETHERNET + INNER),
        ip4(
            47,
            bytes.fromhex("1000 22eb 00000001 200100010000000000000001 0000000000000000") + ETHERNET + INNER,
        ),
        ip4(47, bytes.fromhex("0000 8847 00001140") + INNER),
        ip4(47, bytes.fromhex("0000 880b ff03 0021") + INNER),
        ip4(17, bytes.fromhex("c000 12b5 0000 0000 08000000 00002a00") + ETHERNET + INNER),
        ip6(17, bytes.fromhex("c000 12b5 0000 0000 08000000 00002a00") + ETHERNET + INNER),
        ip4(17, bytes.fromhex("c000 17c1 0000 0000 0000 6558 00002a00") + ETHERNET + INNER),
        ip4(17, bytes.fromhex("c000 17c1 0000 0000 0100 0800 00002a00 01020304") + INNER),
        ip4(4, ip4(47, bytes.fromhex("0000 0800") + ip4(4, INNER))),
    ],
)
def test_tunnels_give_the_datagram_inside(data: bytes) -> None:
    value = read(data)
    assert isinstance(value, TcpSegment)
    assert replace(value, path=b"") == segment()


@pytest.mark.parametrize(
    ("data", "path"),
    [
        (ip4(4, INNER), b""),
        (ip4(47, bytes.fromhex("0000 0800") + INNER), b""),
        (ip4(47, bytes.fromhex("2000 0800 0000000b") + INNER), b"k\0\0\0\x0b"),
        (ip4(47, bytes.fromhex("b000 0800 00000000 00000001 00000002") + INNER), b"k\0\0\0\1"),
        (ip4(17, bytes.fromhex("c000 12b5 0000 0000 08000000 00138900") + ETHERNET + INNER), b"n\0\x13\x89"),
        (ip6(17, bytes.fromhex("c000 17c1 0000 0000 0100 0800 00138a00 01020304") + INNER), b"n\0\x13\x8a"),
        (
            ip4(
                17,
                bytes.fromhex(
                    "c000 12b5 0000 0000 08000000 00138900 000000000000 000000000000 8100 0007 0800"
                )
                + ip4(47, bytes.fromhex("2000 0800 0000000b") + INNER),
            ),
            b"n\0\x13\x89v\0\7k\0\0\0\x0b",
        ),
    ],
)
def test_a_segment_says_which_virtual_network_and_tunnel_key_it_came_through(
    data: bytes, path: bytes
) -> None:
    value = read(data)
    assert isinstance(value, TcpSegment)
    assert value == replace(segment(), path=path)


def test_an_ipv6_packet_inside_ipv4_keeps_its_own_addresses() -> None:
    assert read(ip4(41, ip6(6, TCP))) == segment(src=A6, dst=B6)


def test_a_cut_inside_a_tunnel_is_counted_from_the_inner_length() -> None:
    assert read(ip4(4, INNER)[:-3]) == segment(b"L", cut=3)


def test_an_msmq_ping_is_never_taken_for_a_tunnel() -> None:
    for port in (4789, 6081):
        payload = bytes.fromhex("08000000000000000000")
        data = struct.pack(">HHHH", 3527, port, 18, 0) + payload
        assert read(ip4(17, data)) == UdpDatagram(A4, 3527, B4, port, payload, 3, 99)


@pytest.mark.parametrize("ends", [(4500, 1801), (1801, 4500), (4500, 3527), (3527, 4500)])
def test_what_queue_managers_send_is_never_taken_for_a_tunnel(ends: tuple[int, int]) -> None:
    data = struct.pack(">HHHH", *ends, 32, 0) + bytes(range(1, 25))
    assert isinstance(read(ip4(17, data)), UdpDatagram)


def test_tunnels_are_followed_eight_deep() -> None:
    data = INNER
    for _ in range(8):
        data = ip4(4, data)
    assert read(data) == segment()
    assert read(ip4(4, data)) == Skipped("tunnels nested too deep")


def test_endless_headers_are_walked_without_recursion() -> None:
    atomic = bytes.fromhex("2c00 0000 00000000")
    authenticated = bytes.fromhex("3300 0000 00000000" + "2c00 0000 00000000")
    for chain in (atomic, authenticated):
        data = chain * (64000 // len(chain))
        assert read(ip6(44, data)) == Skipped("cut before the transport header")


def test_tunnels_built_by_an_independent_implementation_are_read() -> None:
    inet = importlib.import_module("scapy.layers.inet")
    inet6 = importlib.import_module("scapy.layers.inet6")
    l2 = importlib.import_module("scapy.layers.l2")
    vxlan = importlib.import_module("scapy.layers.vxlan")
    mpls = importlib.import_module("scapy.contrib.mpls")
    geneve = importlib.import_module("scapy.contrib.geneve")
    erspan = importlib.import_module("scapy.contrib.erspan")
    ethernet = l2.Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
    inner = inet.IP(src="192.0.2.1", dst="192.0.2.2") / inet.TCP(
        sport=1801, dport=1025, seq=0x01020304, ack=0x05060708, flags="PA", options=[("Timestamp", (1, 2))]
    )
    inner = inner / b"LIOR"
    outer = inet.IP(src="198.51.100.1", dst="198.51.100.2")
    outer6 = inet6.IPv6(src="2001:db8::1", dst="2001:db8::2")
    for packet in (
        ethernet / inner,
        ethernet / l2.Dot1AD(vlan=5) / l2.Dot1Q(vlan=7) / inner,
        ethernet / mpls.MPLS(label=16, s=0) / mpls.MPLS(label=17, s=1) / inner,
        ethernet / outer / l2.GRE(key_present=1, key=5, seqnum_present=1, chksum_present=1) / inner,
        ethernet / outer / l2.GRE(proto=0x6558) / ethernet / inner,
        ethernet / outer / l2.GRE(seqnum_present=1) / erspan.ERSPAN_II() / ethernet / inner,
        ethernet / outer / l2.GRE(seqnum_present=1) / erspan.ERSPAN_III() / ethernet / inner,
        ethernet / outer / inet.UDP(dport=4789) / vxlan.VXLAN(vni=42) / ethernet / inner,
        ethernet / outer / inet.UDP(dport=6081) / geneve.GENEVE(vni=42) / ethernet / inner,
        ethernet / outer / inner,
        ethernet / outer6 / inet6.IPv6ExtHdrHopByHop() / inet6.IPv6ExtHdrDestOpt() / inner,
    ):
        value = read(bytes(packet), link_type=1)
        assert isinstance(value, TcpSegment), packet.summary()
        assert replace(value, path=b"", ident=7) == segment(), packet.summary()
