"""Link types, tags and labels, headers written by hand."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msmq_wire.capture.link import Datagram, dissect, transport
from msmq_wire.capture.network import IcmpUnreachable, Skipped, UdpDatagram
from msmq_wire.capture.pcap import Frame
from msmq_wire.reassembly.ip import IpFragment
from msmq_wire.reassembly.tcp_events import TcpSegment

A4, B4 = bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2])
A6, B6 = bytes.fromhex("fe80" + "00" * 13 + "01"), bytes.fromhex("fe80" + "00" * 13 + "02")
UDP = bytes.fromhex("0403 0dc7 000a 0000") + b"HU"
IP4 = bytes.fromhex("4500 001e 0007 0000 4011 0000") + A4 + B4 + UDP
IP6 = bytes.fromhex("60000000 000a 11 40") + A6 + B6 + UDP
MAC = bytes.fromhex("020000000002 020000000001")

FOUR = UdpDatagram(A4, 1027, B4, 3527, b"HU", 1, 5)
SIX = UdpDatagram(A6, 1027, B6, 3527, b"HU", 1, 5)
SUPPORTED = (0, 1, 9, 12, 14, 101, 108, 113, 228, 229, 276)


def read(link_type: int, data: bytes, length: int = 0) -> Datagram:
    values = dissect(Frame(1, 5, link_type, data, length or len(data), 0))
    assert len(values) == 1
    return values[0]


def found(link_type: int, data: bytes) -> Datagram:
    """The same, wherever it was captured."""
    value = read(link_type, data)
    assert isinstance(value, UdpDatagram)
    return msgspec.structs.replace(value, path=b"")


@pytest.mark.parametrize(
    ("link_type", "header"),
    [
        (0, "02000000"),
        (0, "00000002"),
        (108, "00000002"),
        (9, "0021"),
        (9, "21"),
        (9, "ff030021"),
        (12, ""),
        (14, ""),
        (101, ""),
        (228, ""),
        (113, "0000 0001 0006 0200000000010000 0800"),
        (113, "0000 0001 0006 0200000000010000 8100 0005 0800"),
        (113, "0000 0001 0006 0200000000010000 0004 aaaa03 000000 0800"),
        (276, "0800 0000 00000002 0001 00 06 0200000000010000"),
        (276, "0004 0000 00000002 0001 00 06 0200000000010000 060603"),
    ],
)
def test_an_ipv4_packet_is_found_behind_each_link_header(link_type: int, header: str) -> None:
    assert found(link_type, bytes.fromhex(header) + IP4) == FOUR


@pytest.mark.parametrize(
    ("link_type", "header"),
    [
        *((0, f"{family:02x}000000") for family in (10, 23, 24, 28, 30)),
        (108, "0000001e"),
        (9, "0057"),
        (12, ""),
        (101, ""),
        (229, ""),
        (113, "0000 0001 0006 0200000000010000 86dd"),
        (276, "86dd 0000 00000002 0001 00 06 0200000000010000"),
    ],
)
def test_an_ipv6_packet_is_found_behind_each_link_header(link_type: int, header: str) -> None:
    assert read(link_type, bytes.fromhex(header) + IP6) == SIX


@pytest.mark.parametrize(
    "header",
    [
        "0800",
        "8100 0005 0800",
        "88a8 0005 8100 0007 0800",
        "9100 0005 9200 0006 8100 0007 0800",
        "8847 00010040 00011140",
        "8848 00011140",
        "8100 0005 8847 00011140",
        "8847 00011140 00000000" + MAC.hex() + "0800",
        "8864 1100 002a 0020 0021",
        "8864 1100 002a 001f 21",
        "8100 0005 8864 1100 002a 0020 0021",
        "0026 aaaa03 000000 0800",
        "0021 060603",
        "8100 0005 0026 aaaa03 0000f8 0800",
    ],
)
def test_an_ipv4_packet_is_found_behind_each_ethernet_header_and_before_padding(header: str) -> None:
    assert found(1, MAC + bytes.fromhex(header) + IP4) == FOUR
    assert found(1, MAC + bytes.fromhex(header) + IP4 + bytes(9)) == FOUR


@pytest.mark.parametrize(
    ("header", "path"),
    [
        ("0800", b""),
        ("8100 0005 0800", b"v\0\5"),
        ("8100 b005 0800", b"v\0\5"),
        ("8100 e000 0800", b""),
        ("88a8 0064 8100 0007 0800", b"v\0\x64v\0\7"),
        ("9100 0005 9200 0006 8100 0007 0800", b"v\0\5v\0\6v\0\7"),
        ("8100 0005 8847 00011140", b"v\0\5"),
        ("8100 0005 0036 aaaa03 0000f8 0800", b"v\0\5"),
    ],
)
def test_what_a_frame_carries_says_its_vlans_and_nothing_of_their_priority(header: str, path: bytes) -> None:
    before = MAC + bytes.fromhex(header)
    assert read(1, before + IP4) == msgspec.structs.replace(FOUR, path=path)
    fragment = IpFragment(A4, B4, 17, 7, 0, True, UDP, 1, 5, path)
    assert read(1, before + IP4[:6] + b"\x20" + IP4[7:]) == fragment
    tcp = bytes.fromhex("0400 0709 00000001 00000002 5010 2000 0000 0000") + b"LIOR"
    data = before + IP4[:2] + b"\0\x2c" + IP4[4:9] + b"\6" + IP4[10:20] + tcp
    expected = TcpSegment(A4, 1024, B4, 1801, 1, 2, 16, b"LIOR", 1, 5, 0, path, 8192, IP4[8], 7)
    assert read(1, data) == expected
    assert dissect(Frame(1, 5, 1, data, len(data), 0, 3, 1)) == [
        msgspec.structs.replace(expected, path=b"i\0\0\0\3" + path)
    ]


def test_an_ipv6_packet_is_found_behind_tags_and_labels() -> None:
    for header in ("86dd", "8100 0005 86dd", "8847 00011140", "8864 1100 002a 0034 0057"):
        assert found(1, MAC + bytes.fromhex(header) + IP6 + bytes(4)) == SIX


def test_a_length_of_zero_does_not_reach_past_a_pppoe_session() -> None:
    data = (
        MAC + bytes.fromhex("8864 1100 002a 0020 0021") + IP4[:2] + b"\0\0" + IP4[4:24] + b"\0\0" + IP4[26:]
    )
    assert read(1, data + b"padding") == FOUR


@pytest.mark.parametrize(
    ("link_type", "data", "reason"),
    [
        (147, IP4, "link type 147 (USER0)"),
        (1, b"", "cut before the IP header"),
        (1, MAC + b"\x08", "cut before the IP header"),
        (1, MAC + b"\x08\x06" + bytes(28), "ethertype 0x0806 (ARP)"),
        (1, MAC + b"\x12\x34" + bytes(28), "ethertype 0x1234"),
        (1, MAC + b"\x81\x00\x00", "cut before the IP header"),
        (1, MAC + b"\x81\x00\x00\x05\x12\x34", "ethertype 0x1234"),
        (1, MAC + b"\x08\x00" + b"\x60" + IP4[1:], "IP version 6 in IPv4"),
        (1, MAC + b"\x86\xdd" + b"\x40" + IP6[1:], "IP version 4 in IPv6"),
        (1, MAC + b"\x88\x47" + bytes(4), "cut before the IP header"),
        (1, MAC + b"\x88\x47" + bytes(400), "cut before the IP header"),
        (1, MAC + b"\x88\x47\x00\x00\x11\x40\x10" + bytes(40), "MPLS payload 1"),
        (1, MAC + b"\x88\x47\x00\x00\x11\x40\x00", "cut before the IP header"),
        (1, MAC + b"\x88\x64\x11\xa7" + bytes(40), "PPPoE without a session"),
        (1, MAC + b"\x88\x64\x11", "cut before the IP header"),
        (1, MAC + bytes.fromhex("8864 1100 0001 0008 c021") + bytes(6), "PPP protocol 0xc021"),
        (1, MAC + bytes.fromhex("8864 1100 0001 0001 c021"), "cut before the IP header"),
        (1, MAC + b"\x00\x26\x42\x42\x03" + bytes(35), "LLC service 0x42"),
        (1, MAC + b"\x00\x03\x42\x42\x03", "LLC service 0x42"),
        (1, MAC + b"\x00\x02\xaa\xaa\x03", "cut before the IP header"),
        (1, MAC + b"\x00\x05\xaa\xaa\x03\x00\x00", "cut before the IP header"),
        (1, MAC + b"\x00\x26\xaa\xaa\x03\x00\x00\x0c\x20\x00" + bytes(35), "SNAP protocol of a vendor"),
        (0, b"\x02\x00\x00", "cut before the IP header"),
        (0, b"\x07\x00\x00\x00" + IP4, "loopback address family"),
        (113, bytes(15), "cut before the IP header"),
        (113, bytes(15) + b"\x0c" + IP4, "cooked protocol 0x000c"),
        (276, bytes(19), "cut before the IP header"),
        (101, b"", "cut before the IP header"),
    ],
)
def test_what_gives_nothing_says_why(link_type: int, data: bytes, reason: str) -> None:
    assert read(link_type, data) == Skipped(reason)


def test_the_length_on_the_wire_says_what_was_cut_when_the_packet_does_not() -> None:
    unsplit = MAC + b"\x08\x00" + IP4[:2] + b"\0\0" + IP4[4:24] + b"\0\0" + IP4[26:]
    assert read(1, unsplit, length=len(unsplit) + 7) == UdpDatagram(A4, 1027, B4, 3527, b"HU", 1, 5, 7)
    assert read(1, unsplit, length=3) == FOUR


def test_endless_tags_and_service_headers_are_walked_without_recursion() -> None:
    tagged = b"\x81\x00" + b"\x00\x05\x81\x00" * 16000
    service = b"\x05\xdc" + (b"\xaa\xaa\x03\x00\x00\x00\x05\xdc" * 8000)
    alternating = b"\x81\x00" + b"\x00\x05\x05\xdc\xaa\xaa\x03\x00\x00\x00\x81\x00" * 5000
    bridged = b"\x65\x58" + (MAC + b"\x65\x58") * 4000
    assert read(1, MAC + tagged) == Skipped("cut before the IP header")
    assert read(1, MAC + service) == Skipped("ethertype 0x05dc")
    assert read(1, MAC + alternating) == Skipped("ethertype 0x8100")
    assert read(1, MAC + bridged) == Skipped("ethertype 0x6558")


HEADERS = st.sampled_from(
    [
        MAC + b"\x08\x00",
        MAC + b"\x86\xdd",
        MAC + b"\x81\x00\x00\x05",
        bytes.fromhex("8847 00011140 00000000"),
        bytes.fromhex("8864 1100 002a 0020 0021"),
        bytes.fromhex("00000800"),
        bytes.fromhex("10006558 00000000"),
        bytes.fromhex("100022eb 00000000"),
        bytes.fromhex("c00012b5000000000800000000002a00"),
        bytes.fromhex("c00017c100000000060008000000 2a00"),
        bytes.fromhex("0303000000000000"),
        *(IP4[:9] + bytes([protocol]) + IP4[10:20] for protocol in (1, 4, 6, 17, 41, 47, 51)),
        *(
            b"\x45\0\0\0" + IP4[4:9] + bytes([protocol]) + IP4[10:20]
            for protocol in (1, 4, 6, 17, 41, 47, 51)
        ),
        *(
            IP6[:4] + b"\0\0" + bytes([protocol]) + IP6[7:40]
            for protocol in (0, 4, 6, 17, 41, 43, 44, 47, 51, 58)
        ),
    ]
)


@given(
    st.sampled_from(SUPPORTED),
    st.lists(st.one_of(HEADERS, st.binary(max_size=30)), max_size=8).map(b"".join),
    st.integers(0, 1 << 32),
)
def test_any_bytes_give_a_value_whose_numbers_are_possible(link_type: int, data: bytes, length: int) -> None:
    check(dissect(Frame(1, 5, link_type, data, length, 0)), data)


@given(
    st.integers(0, 255),
    st.sampled_from([(A4, B4), (A6, B6)]),
    st.lists(st.one_of(HEADERS, st.binary(max_size=30)), max_size=6).map(b"".join),
)
def test_any_payload_put_together_gives_a_value(
    protocol: int, ends: tuple[bytes, bytes], data: bytes
) -> None:
    check(transport(protocol, *ends, data, 1, 5), data)


def check(values: list[Datagram], data: bytes) -> None:
    assert len(values) == 1
    value = values[0]
    if isinstance(value, Skipped):
        assert 0 < len(value.reason) < 80
        return
    assert (value.frame, value.time) == (1, 5)
    assert len(value.src) == len(value.dst)
    assert len(value.src) in (4, 16)
    if isinstance(value, IcmpUnreachable):
        assert value.original_src in data
        return
    assert value.payload in data
    if isinstance(value, IpFragment):
        assert value.offset % 8 == 0
    else:
        assert isinstance(value, TcpSegment | UdpDatagram)
        assert value.cut >= 0
