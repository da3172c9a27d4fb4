"""tshark and we see the same bytes, however a conversation is wrapped and whatever kind of file it is in.

tshark decides what is right; that it sees what was put in shows that a frame was built as it was meant. What
the package reads is asked of the package, number by number: what it learns to read fails here until it has a
case.
"""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import lzma
import struct
import subprocess
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from fixtures.build_frames import (
    ACK,
    FIN,
    PSH,
    SYN,
    TCP,
    UDP,
    Captured,
    block,
    cooked,
    cooked_2,
    enhanced,
    ethernet,
    gzip_stored,
    interface,
    ip,
    ipv4,
    ipv6_fragment,
    loopback,
    mpls,
    null,
    option,
    packed,
    pcap,
    pcapng,
    qinq,
    raw,
    section,
    tcp,
    udp,
    vlan,
    zstd_stored,
)
from msmq_wire.capture import source
from msmq_wire.capture.frames import FrameDecoder
from msmq_wire.capture.index import read_chunks
from msmq_wire.capture.link import LINK_TYPES, dissect
from msmq_wire.capture.network import TUNNEL_PORTS, Skipped
from msmq_wire.capture.pcap import PCAP_MAGICS, Frame
from msmq_wire.capture.protocol_names import NAMED_TUNNELS
from msmq_wire.capture.reader import CaptureReader
from msmq_wire.capture.regular_frames import read_regular
from msmq_wire.capture.source import Source, read_frames
from msmq_wire.errors import CaptureError
from msmq_wire.reassembly.tcp_events import TcpSegment
from msmq_wire.records.finder import PacketFinder
from msmq_wire.records.record import Item
from tests.fixture_files import HEX_FILES

Segment = tuple[int, int, bytes]
"""Source port, destination port, payload."""
Wrap = Callable[[bytes], bytes | list[bytes]]
"""What makes of an IP packet the frame, or the frames, that carry it."""

PORT = 1801
SENT = ("establish_connection/frame_3_request", "user_message/smallest")
ENDS = {
    4: (packed("192.0.2.21"), packed("192.0.2.10")),
    6: (packed("2001:db8::21"), packed("2001:db8::10")),
}
TUNNEL = {
    4: (packed("198.51.100.1"), packed("198.51.100.2")),
    6: (packed("2001:db8:1::1"), packed("2001:db8:1::2")),
}
START = 1_700_000_000_000_000_000
STEP = 1_123_456_789
# What tshark reads only when it is told to: the port of Linux, and a tag that few switches use.
TOLD = ("-d", "udp.port==8472,vxlan", "-d", "ethertype==0x9200,vlan")
FIELDS = ("frame.number", "frame.time_epoch", "tcp.srcport", "tcp.dstport", "tcp.payload")


class Case(NamedTuple):
    """A way to wrap a conversation, and the number, of some kind of numbers, that it is about."""

    kind: str
    number: int
    name: str
    wrap: Wrap
    versions: tuple[int, ...] = (4, 6)
    """IP versions of the conversation inside."""
    link_type: int = 1
    lost: int = 0
    """Bytes at the end of each frame that the snap length cut off."""


class Seen(NamedTuple):
    """A capture as somebody sees it: the times of its frames, and segments of MSMQ by frame number."""

    times: list[int | None]
    segments: dict[int, Segment]


def payloads() -> list[bytes]:
    files = {f"{file.parent.name}/{file.stem}": file for file in HEX_FILES}
    texts = [files[name].read_text(encoding="utf-8") for name in SENT]
    return [bytes.fromhex("".join(line.partition("#")[0] for line in text.splitlines())) for text in texts]


def conversation(version: int, client: int) -> list[tuple[bytes, Segment]]:
    """A connection of ``client``, a port: its IP packets, and what each carries."""
    here, there = ENDS[version]
    first, second = payloads()
    stamps = bytes.fromhex("0101080a0000000100000002")
    end = 1001 + len(first) + len(second)
    steps = (
        (True, SYN, 1000, 0, b"", bytes.fromhex("020405b4")),
        (False, SYN | ACK, 5000, 1001, b"", bytes.fromhex("020405b4")),
        (True, ACK, 1001, 5001, b"", b""),
        (True, ACK | PSH, 1001, 5001, first, b""),
        (True, ACK | PSH, 1001 + len(first), 5001, second, stamps),
        (True, ACK | FIN, end, 5001, b"", stamps),
    )
    packets = []
    for forth, flags, seq, ack, data, options in steps:
        ports = (client, PORT) if forth else (PORT, client)
        src, dst = (here, there) if forth else (there, here)
        segment = tcp(src, ports[0], dst, ports[1], seq, ack, flags, data, options=options)
        packets.append((ip(src, dst, TCP, segment), (*ports, data)))
    return packets


# Layers: an IP packet, or what is behind a header, in; a frame out.


def of(packet: bytes) -> int:
    """The ethertype of an IP packet."""
    return 0x0800 if packet[0] >> 4 == 4 else 0x86DD


def framed(ethertype: int, rest: bytes) -> bytes:
    return ethernet(b"\x45")[:12] + struct.pack(">H", ethertype) + rest


def with_tags(packet: bytes, *tags: int) -> bytes:
    """A frame with tags, each 16 bits of kind and 16 of content."""
    return framed(0, b"")[:12] + struct.pack(f">{len(tags)}IH", *tags, of(packet)) + packet


def labelled(rest: bytes) -> bytes:
    """One MPLS label, 17, at the bottom of the stack."""
    return struct.pack(">I", 17 << 12 | 1 << 8 | 64) + rest


def ppp(packet: bytes, before: bytes = b"", *, short: bool = False) -> bytes:
    number = struct.pack(">H", 0x0021 if packet[0] >> 4 == 4 else 0x0057)
    return before + number[short:] + packet


def pppoe(rest: bytes) -> bytes:
    return framed(0x8864, struct.pack(">BBHH", 0x11, 0, 42, len(rest)) + rest + bytes(3))


def in_802_3(rest: bytes) -> bytes:
    """A frame with its length where Ethernet II has the type, and padding."""
    return framed(len(rest), rest + bytes(5))


def snap(packet: bytes, organization: int = 0) -> bytes:
    return b"\xaa\xaa\3" + organization.to_bytes(3, "big") + struct.pack(">H", of(packet)) + packet


def in_ip(version: int, protocol: int, rest: bytes) -> bytes:
    return ethernet(ip(*TUNNEL[version], protocol, rest))


def in_gre(flags: int, kind: int, fields: str, rest: bytes, version: int = 4) -> bytes:
    return in_ip(version, 47, struct.pack(">HH", flags, kind) + bytes.fromhex(fields) + rest)


def in_udp(port: int, header: str, rest: bytes, version: int = 4) -> bytes:
    ends = TUNNEL[version]
    return in_ip(version, UDP, udp(ends[0], 55555, ends[1], port, bytes.fromhex(header) + rest))


def split(packet: bytes) -> tuple[int, bytes, bytes, bytes]:
    """The protocol, the addresses and the payload of an IP packet without options."""
    if packet[0] >> 4 == 4:
        return packet[9], packet[12:16], packet[16:20], packet[20:]
    return packet[6], packet[8:24], packet[24:40], packet[40:]


def with_protocol(packet: bytes, protocol: int, header: str) -> bytes:
    """The packet with a header in front of its segment, which ``header`` names first where there is a %."""
    inside, src, dst, segment = split(packet)
    return ethernet(ip(src, dst, protocol, bytes.fromhex(header.replace("%", f"{inside:02x}")) + segment))


def fragments(packet: bytes) -> list[bytes]:
    """The packet in two, the first with 16 bytes: less than a TCP header."""
    protocol, src, dst, data = split(packet)
    name = zlib.crc32(packet)
    if len(src) == 4:
        first = ipv4(src, dst, protocol, data[:16], name & 0xFFFF, 0x2000)
        second = ipv4(src, dst, protocol, data[16:], name & 0xFFFF, 2)
    else:
        first = ipv6_fragment(src, dst, protocol, data[:16], 0, True, name)
        second = ipv6_fragment(src, dst, protocol, data[16:], 16, False, name)
    return [first, second]


def fragmented(packet: bytes) -> list[bytes]:
    return [ethernet(one) for one in fragments(packet)]


def without_length(packet: bytes) -> bytes:
    """The packet as a host captures it whose network card splits it: its length is 0."""
    return framed(0x0800, packet[:2] + b"\0\0" + packet[4:])


def with_options(packet: bytes) -> bytes:
    total = struct.pack(">H", len(packet) + 4)
    return ethernet(b"\x46" + packet[1:2] + total + packet[4:20] + bytes.fromhex("94040000") + packet[20:])


def nested(packet: bytes) -> bytes:
    """As deep as tunnels are followed."""
    packet = ipv4(*TUNNEL[4], 4 if packet[0] >> 4 == 4 else 41, packet)
    for _ in range(7):
        packet = ipv4(*TUNNEL[4], 4, packet)
    return ethernet(packet)


AUTHENTICATION = "% 04 0000 00000001 00000001 000000000000000000000000"
OPTIONS = "% 00 0104 00000000"
ROUTING = "% 02 04 00 00000000" + "20" * 16
THREE_HEADERS = OPTIONS.replace("%", "3c") + OPTIONS.replace("%", "2c") + "% 00 0000 00000005"
VXLAN, VXLAN_POLICY = "08000000 00138900", "88000005 00138900"
GENEVE, GENEVE_OPTIONS = "0000 6558 00138900", "0240 %04x 00138900 01028301 00000000"
TZSP_TAGS = "01010001 0a01c8 00 0d0400000005 01"
ERSPAN_2, ERSPAN_3 = "00000005 1001 0064 00000003", "00000005 2001 0064 00000003 0000 8000"

CASES = (
    Case("link type", 0, "of a little-endian host", null, link_type=0),
    Case("link type", 1, "Ethernet, padded", ethernet),
    Case("link type", 1, "with a check sequence", lambda p: ethernet(p) + b"\xde\xad\xbe\xef"),
    Case("link type", 9, "framed as in HDLC", lambda p: ppp(p, b"\xff\3"), link_type=9),
    Case("link type", 9, "bare", ppp, link_type=9),
    Case("link type", 12, "raw", raw, link_type=12),
    Case("link type", 14, "raw", raw, link_type=14),
    Case("link type", 101, "raw", raw, link_type=101),
    Case("link type", 108, "in the order of the network", loopback, link_type=108),
    Case("link type", 113, "cooked", cooked, link_type=113),
    Case("link type", 113, "a VLAN in a VLAN", lambda p: cooked(p)[:14] + qinq(p)[12:], link_type=113),
    Case("link type", 113, "with labels", lambda p: cooked(p)[:14] + mpls(p)[12:], link_type=113),
    Case("link type", 228, "raw", raw, (4,), 228),
    Case("link type", 229, "raw", raw, (6,), 229),
    Case("link type", 276, "cooked", cooked_2, link_type=276),
    Case("link type", 276, "a VLAN", lambda p: b"\x81\0" + cooked_2(p)[2:20] + vlan(p)[14:], link_type=276),
    Case("loopback family", 2, "of a little-endian host", null, (4,), 0),
    Case("loopback family", 2, "of a big-endian host", loopback, (4,), 0),
    Case("loopback family", 24, "of a big-endian host", loopback, (6,), 0),
    Case("loopback family", 28, "of a little-endian host", null, (6,), 0),
    Case("loopback family", 30, "of a little-endian host", lambda p: b"\x1e\0\0\0" + p, (6,), 0),
    Case("loopback family", 30, "in the order of the network", lambda p: b"\0\0\0\x1e" + p, (6,), 108),
    Case("cooked protocol", 4, "LLC", lambda p: cooked(p)[:14] + b"\0\4\6\6\3" + p, link_type=113),
    Case("cooked protocol", 4, "SNAP", lambda p: cooked(p)[:14] + b"\0\4" + snap(p), link_type=113),
    Case("cooked protocol", 4, "version 2", lambda p: b"\0\4" + cooked_2(p)[2:20] + snap(p), link_type=276),
    Case("ethertype", 0x0800, "alone", ethernet, (4,)),
    Case("ethertype", 0x86DD, "alone", ethernet, (6,)),
    Case("ethertype", 0x8100, "a VLAN", vlan),
    Case("ethertype", 0x8100, "a priority and no VLAN", lambda p: with_tags(p, 0x8100E000)),
    Case("ethertype", 0x8100, "in front of SNAP", lambda p: framed(0x8100, b"\0\5" + in_802_3(snap(p))[12:])),
    Case("ethertype", 0x88A8, "a VLAN in a VLAN", qinq),
    Case("ethertype", 0x9100, "three tags", lambda p: with_tags(p, 0x91000005, 0x91000006, 0x81000007)),
    Case("ethertype", 0x9200, "a VLAN in a VLAN", lambda p: with_tags(p, 0x92000005, 0x81000007)),
    Case("ethertype", 0x8847, "two labels", mpls),
    Case("ethertype", 0x8847, "behind a tag", lambda p: framed(0x8100, b"\0\5\x88\x47" + labelled(p))),
    Case("ethertype", 0x8848, "one label", lambda p: framed(0x8848, labelled(p))),
    Case("ethertype", 0x8864, "a session", lambda p: pppoe(ppp(p))),
    Case("ethertype", 0x8864, "behind a tag", lambda p: framed(0x8100, b"\0\5" + pppoe(ppp(p))[12:])),
    Case("LLC service", 0x06, "802.3", lambda p: in_802_3(b"\6\6\3" + p)),
    Case("LLC service", 0xAA, "SNAP", lambda p: in_802_3(snap(p))),
    Case("LLC service", 0xAA, "SNAP of a bridge", lambda p: in_802_3(snap(p, 0xF8))),
    Case("MPLS payload", 0, "Ethernet", lambda p: framed(0x8847, labelled(bytes(4) + ethernet(p)))),
    Case("MPLS payload", 0, "counted", lambda p: framed(0x8847, labelled(b"\0\0\0\7" + ethernet(p)))),
    Case("MPLS payload", 4, "alone", lambda p: framed(0x8847, labelled(p)), (4,)),
    Case("MPLS payload", 6, "alone", lambda p: framed(0x8847, labelled(p)), (6,)),
    Case("PPP protocol", 0x21, "alone", ppp, (4,), 9),
    Case("PPP protocol", 0x57, "alone", ppp, (6,), 9),
    Case("PPP protocol", 0x21, "compressed", lambda p: ppp(p, short=True), (4,), 9),
    Case("PPP protocol", 0x57, "compressed", lambda p: pppoe(ppp(p, short=True)), (6,)),
    Case("IPv4 protocol", 4, "IP in IP", lambda p: in_ip(4, 4, p), (4,)),
    Case("IPv4 protocol", 4, "eight deep", nested),
    Case("IPv4 protocol", 6, "with options", with_options, (4,)),
    Case("IPv4 protocol", 6, "of a card that splits it", without_length, (4,)),
    Case("IPv4 protocol", 6, "in fragments", fragmented, (4,)),
    Case("IPv4 protocol", 6, "in fragments, last first", lambda p: fragmented(p)[::-1], (4,)),
    Case("IPv4 protocol", 6, "cut by the snap length", lambda p: framed(0x0800, p), (4,), lost=10),
    Case("IPv4 protocol", 41, "6in4", lambda p: in_ip(4, 41, p), (6,)),
    Case("IPv4 protocol", 47, "without a key", lambda p: in_gre(0, of(p), "", p)),
    Case("IPv4 protocol", 47, "with a key", lambda p: in_gre(0x2000, of(p), "0000000b", p)),
    Case("IPv4 protocol", 47, "with all", lambda p: in_gre(0xB000, of(p), "00000000 0000000b 00000002", p)),
    Case("IPv4 protocol", 51, "authenticated", lambda p: with_protocol(p, 51, AUTHENTICATION), (4,)),
    Case("IPv6 next header", 0, "hop by hop", lambda p: with_protocol(p, 0, OPTIONS), (6,)),
    Case("IPv6 next header", 4, "4in6", lambda p: in_ip(6, 4, p), (4,)),
    Case("IPv6 next header", 6, "cut by the snap length", lambda p: framed(0x86DD, p), (6,), lost=10),
    Case("IPv6 next header", 41, "IP in IP", lambda p: in_ip(6, 41, p), (6,)),
    Case("IPv6 next header", 43, "routed", lambda p: with_protocol(p, 43, ROUTING), (6,)),
    Case("IPv6 next header", 44, "in fragments", fragmented, (6,)),
    Case("IPv6 next header", 44, "in fragments, last first", lambda p: fragmented(p)[::-1], (6,)),
    Case("IPv6 next header", 44, "in one", lambda p: with_protocol(p, 44, "% 00 0000 00000005"), (6,)),
    Case("IPv6 next header", 47, "with a key", lambda p: in_gre(0x2000, of(p), "0000000b", p, 6)),
    Case("IPv6 next header", 51, "authenticated", lambda p: with_protocol(p, 51, AUTHENTICATION), (6,)),
    Case("IPv6 next header", 60, "options", lambda p: with_protocol(p, 60, OPTIONS), (6,)),
    Case("IPv6 next header", 60, "between others", lambda p: with_protocol(p, 0, THREE_HEADERS), (6,)),
    Case("IPv6 next header", 140, "shim6", lambda p: with_protocol(p, 140, "% 00 8000 00000001"), (6,)),
    Case("GRE type", 0x0800, "alone", lambda p: in_gre(0, 0x0800, "", p), (4,)),
    Case("GRE type", 0x86DD, "alone", lambda p: in_gre(0, 0x86DD, "", p), (6,)),
    Case("GRE type", 0x6558, "without a key", lambda p: in_gre(0, 0x6558, "", ethernet(p))),
    Case("GRE type", 0x6558, "NVGRE", lambda p: in_gre(0x2000, 0x6558, "00138900", ethernet(p))),
    Case("GRE type", 0x6558, "NVGRE, a VLAN", lambda p: in_gre(0x2000, 0x6558, "00138900", qinq(p))),
    Case("GRE type", 0x8847, "a label", lambda p: in_gre(0, 0x8847, "", labelled(p))),
    Case("GRE type", 0x8848, "a label", lambda p: in_gre(0, 0x8848, "", labelled(p))),
    Case("GRE type", 0x880B, "PPP", lambda p: in_gre(0, 0x880B, "", ppp(p, b"\xff\3"))),
    Case("GRE type", 0x88BE, "ERSPAN I", lambda p: in_gre(0, 0x88BE, "", ethernet(p))),
    Case("GRE type", 0x88BE, "ERSPAN II", lambda p: in_gre(0x1000, 0x88BE, ERSPAN_2, ethernet(p))),
    Case("GRE type", 0x88BE, "ERSPAN II in IPv6", lambda p: in_gre(0x1000, 0x88BE, ERSPAN_2, ethernet(p), 6)),
    Case("GRE type", 0x22EB, "ERSPAN III", lambda p: in_gre(0x1000, 0x22EB, ERSPAN_3, ethernet(p))),
    Case(
        "GRE type", 0x22EB, "ERSPAN III with its platform",
        lambda p: in_gre(0x1000, 0x22EB, ERSPAN_3[:-1] + "1" + "00" * 8, ethernet(p)),
    ),
    Case("UDP port", 4789, "VXLAN", lambda p: in_udp(4789, VXLAN, ethernet(p))),
    Case("UDP port", 4789, "VXLAN in IPv6", lambda p: in_udp(4789, VXLAN, ethernet(p), 6)),
    Case("UDP port", 4789, "VXLAN, a VLAN", lambda p: in_udp(4789, VXLAN, qinq(p))),
    Case("UDP port", 4789, "VXLAN with a group", lambda p: in_udp(4789, VXLAN_POLICY, ethernet(p))),
    Case(
        "UDP port", 4789, "VXLAN in fragments",
        lambda p: [ethernet(one) for one in fragments(in_udp(4789, VXLAN, ethernet(p))[14:])],
    ),
    Case("UDP port", 8472, "VXLAN of Linux", lambda p: in_udp(8472, VXLAN, ethernet(p))),
    Case("UDP port", 6081, "Geneve", lambda p: in_udp(6081, GENEVE, ethernet(p))),
    Case("UDP port", 6081, "Geneve in IPv6", lambda p: in_udp(6081, GENEVE, ethernet(p), 6)),
    Case("UDP port", 6081, "Geneve with options", lambda p: in_udp(6081, GENEVE_OPTIONS % of(p), p)),
    Case("UDP port", 37008, "TZSP", lambda p: in_udp(37008, "01000001 01", ethernet(p))),
    Case("UDP port", 37008, "TZSP with tags", lambda p: in_udp(37008, TZSP_TAGS, ethernet(p))),
    # RFC 7348 5 and RFC 8926 3.4: the last byte is reserved, and ignored on receipt.
    Case("UDP port", 4789, "VXLAN, its last byte 1", lambda p: in_udp(4789, VXLAN[:-1] + "1", ethernet(p))),
    Case("UDP port", 6081, "Geneve, the same", lambda p: in_udp(6081, GENEVE[:-1] + "1", ethernet(p))),
    # RFC 4448 4.6: a control word is optional. The first bytes are the address of a host, here of Hyper-V.
    Case(
        "MPLS payload", 0, "Ethernet without a control word",
        lambda p: framed(0x8847, labelled(bytes.fromhex("00155d10000a00155d100021") + framed(of(p), p)[12:])),
    ),
)  # fmt: skip

NOT_COMPARED = {
    (
        "loopback family",
        10,
    ): "Linux has no such captures; tshark 4.0 knows the numbers of BSD, macOS and npcap",
    ("loopback family", 23): "the number of Windows; for tshark 4.0 it is the IPX of BSD",
    ("IPv4 protocol", 1): "it quotes a packet, and carries no segment",
    ("IPv6 next header", 58): "it quotes a packet, and carries no segment",
    ("IPv4 protocol", 17): "what it carries goes by the port",
    ("IPv6 next header", 17): "what it carries goes by the port",
    ("IPv6 next header", 135): "for tshark 4.0 nothing follows a mobility header (RFC 6275 6.1.1)",
    ("IPv6 next header", 139): "for tshark 4.0 nothing follows HIP (RFC 7401 5.1)",
    **{
        ("GRE type", number): "tshark 4.0 looks for no tags and no PPPoE directly behind GRE"
        for number in (0x8100, 0x88A8, 0x9100, 0x9200, 0x8864)
    },
}
"""What is read, and why tshark cannot be asked about it."""


class Wrapped(NamedTuple):
    """A conversation in its frames: the number of the first, and what each packet of it carries by frame."""

    case: Case
    version: int
    first: int
    frames: list[Captured]
    segments: dict[int, Segment]

    def __str__(self) -> str:
        case = self.case
        number = f"{case.number:#06x}" if case.kind in ("ethertype", "GRE type") else str(case.number)
        return f"{case.kind} {number}: {case.name}, IPv{self.version}"


def wrapped(cases: Sequence[Case]) -> list[Wrapped]:
    """The conversations of some cases one behind the other, each of a client of its own."""
    found: list[Wrapped] = []
    number = 0
    for case, version in ((one, version) for one in cases for version in one.versions):
        first, frames, segments = number + 1, list[Captured](), dict[int, Segment]()
        for packet, (sport, dport, data) in conversation(version, 20000 + len(found)):
            carrying = case.wrap(packet)
            for whole in [carrying] if isinstance(carrying, bytes) else carrying:
                number += 1
                # A snap length is longer than headers.
                kept = whole[: len(whole) - case.lost] if data else whole
                frames.append(Captured(kept, START + number * STEP, len(whole)))
            segments[number] = sport, dport, data[: len(data) - case.lost]
        found.append(Wrapped(case, version, first, frames, segments))
    return found


def told_by_tshark(path: Path) -> Seen:
    """A capture as tshark sees it, up to where it is cut."""
    command = ["tshark", "-n", *TOLD, "-r", str(path), "-T", "fields"]
    command += [part for field in FIELDS for part in ("-e", field)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "isn't a capture file" not in run.stderr
    seen = Seen([], {})
    for line in run.stdout.splitlines():
        number, time, sport, dport, data = line.split("\t")
        seconds, _, fraction = time.partition(".")
        seen.times.append(int(seconds) * 1_000_000_000 + int(fraction) if time else None)
        assert int(number) == len(seen.times)
        if str(PORT) in (sport, dport):
            seen.segments[int(number)] = int(sport), int(dport), bytes.fromhex(data)
    return seen


class Witness(PacketFinder):
    """Notes the segments that reach it."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: dict[int, Segment] = {}

    def segment(self, segment: TcpSegment) -> Sequence[Item]:
        if PORT in (segment.sport, segment.dport):
            self.seen[segment.frame] = segment.sport, segment.dport, segment.payload
        return super().segment(segment)


def seen_by_frame(path: Path) -> Seen:
    finder, times = Witness(), list[int | None]()
    decoder = FrameDecoder(finder)
    with suppress(CaptureError):
        for frame in read_frames(path):
            assert frame.number == len(times) + 1
            times.append(frame.time)
            decoder.frame(frame)
    return Seen(times, finder.seen)


def seen_by_column(path: Path) -> Seen:
    finder, times, segments = Witness(), list[int | None](), dict[int, Segment]()
    decoder = FrameDecoder(finder)
    with suppress(CaptureError), Source(path) as opened:
        for chunk in read_chunks(opened.window(), 1 << 16):
            times += [time or None for time in chunk.time.tolist()]
            plain = read_regular(chunk)
            for row, index in enumerate(plain.index.tolist()):
                ports = int(plain.sport[row]), int(plain.dport[row])
                at, size = int(plain.at[row]), int(plain.size[row])
                if PORT in ports:
                    segments[int(chunk.numbers[index])] = *ports, bytes(chunk.data[at : at + size])
            for index in plain.other.tolist():
                decoder.frame(chunk.frame(index))
    return Seen(times, segments | finder.seen)


ALL = wrapped(CASES)


def several_links(conversations: Sequence[Wrapped]) -> bytes:
    """A pcapng file with an interface for each link type."""
    links = sorted({one.case.link_type for one in conversations})
    blocks = [section(), *(interface(link, option(9, b"\x09")) for link in links)]
    for one in conversations:
        place = links.index(one.case.link_type)
        blocks += [enhanced(frame, place, ticks=frame.time) for frame in one.frames]
    return b"".join(blocks)


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("wrappings") / "all.pcapng"
    path.write_bytes(several_links(ALL))
    return path


@pytest.fixture(scope="module")
def views(everything: Path) -> tuple[Seen, Seen, Seen]:
    """What tshark sees, and what we see in both ways."""
    return told_by_tshark(everything), seen_by_frame(everything), seen_by_column(everything)


@pytest.mark.tshark
def test_tshark_and_we_count_the_same_frames_at_the_same_times(views: tuple[Seen, Seen, Seen]) -> None:
    theirs, *ours = views
    assert theirs.times == [frame.time for one in ALL for frame in one.frames]
    assert [one.times for one in ours] == [theirs.times] * 2


@pytest.mark.tshark
@pytest.mark.parametrize("one", ALL, ids=str)
def test_tshark_and_we_see_the_same_bytes_in_each_wrapping(
    one: Wrapped, views: tuple[Seen, Seen, Seen]
) -> None:
    numbers = range(one.first, one.first + len(one.frames))
    theirs, by_frame, by_column = (
        {number: seen.segments[number] for number in numbers if number in seen.segments} for seen in views
    )
    assert theirs == one.segments
    assert by_frame == theirs
    assert by_column == theirs


@pytest.mark.tshark
@pytest.mark.slow
@pytest.mark.parametrize("link_type", LINK_TYPES)
def test_tshark_and_we_see_the_same_bytes_in_each_link_type_of_a_classic_file(
    link_type: int, tmp_path: Path
) -> None:
    conversations = wrapped([case for case in CASES if case.link_type == link_type])
    path = tmp_path / "link.pcap"
    frames = [frame for one in conversations for frame in one.frames]
    path.write_bytes(pcap(frames, link_type, nanoseconds=True))
    theirs = told_by_tshark(path)
    built = [frame.time for frame in frames], {k: v for one in conversations for k, v in one.segments.items()}
    assert theirs == built
    assert seen_by_frame(path) == theirs
    assert seen_by_column(path) == theirs


@pytest.mark.tshark
@pytest.mark.parametrize("columns", [False, True])
def test_a_packet_is_read_from_each_frame_in_which_tshark_sees_one(
    columns: bool, everything: Path, views: tuple[Seen, Seen, Seen]
) -> None:
    left_out = {
        number for one in ALL if one.case.lost for number in range(one.first, one.first + len(one.frames))
    }
    with CaptureReader(everything, columns=columns) as reader:
        read = {one.frames[-1] for one in reader if one.type in ("establish_connection", "user_message")}
    carrying = {number for number, (_, _, data) in views[0].segments.items() if data}
    assert read - left_out == carrying - left_out


# What is read, asked of the package.


def reason(link_type: int, data: bytes) -> str:
    """Why a frame gives nothing."""
    (value,) = dissect(Frame(1, 1, link_type, data, len(data), 0))
    return value.reason if isinstance(value, Skipped) else ""


def known(numbers: range, reported: str, frame: Callable[[int], tuple[int, bytes]]) -> set[int]:
    """The numbers with which a frame is not skipped for being of that number."""
    return {
        number for number in numbers if reason(*frame(number)).partition(" (")[0] != reported.format(number)
    }


REST = bytes(64)
READ: dict[str, Callable[[], set[int]]] = {
    "link type": lambda: set(LINK_TYPES),
    "loopback family": lambda: known(
        range(1, 0x10000), "loopback address family", lambda n: (0, struct.pack("<I", n) + REST)
    ),
    "cooked protocol": lambda: known(
        range(0x600), "cooked protocol 0x{:04x}", lambda n: (276, struct.pack(">H", n) + REST)
    ),
    "ethertype": lambda: known(
        range(0x600, 0x10000), "ethertype 0x{:04x}", lambda n: (1, framed(n, REST))
    ),
    "LLC service": lambda: known(
        range(0x100), "LLC service 0x{:02x}", lambda n: (1, in_802_3(bytes((n, n, 3)) + REST))
    ),
    "MPLS payload": lambda: known(
        range(0x10), "MPLS payload {}", lambda n: (1, framed(0x8847, labelled(bytes((n << 4,)) + REST)))
    ),
    "PPP protocol": lambda: known(
        # Those whose first byte is odd are compressed: RFC 1661 2.
        range(0x100), "PPP protocol 0x{:04x}", lambda n: (9, struct.pack(">H", n) + REST)
    ),
    "IPv4 protocol": lambda: known(range(0x100), "IP protocol {}", lambda n: (1, in_ip(4, n, REST))),
    "IPv6 next header": lambda: known(range(0x100), "IP protocol {}", lambda n: (1, in_ip(6, n, REST))),
    "GRE type": lambda: known(
        range(0x600, 0x10000), "ethertype 0x{:04x}", lambda n: (101, in_gre(0, n, "", REST)[14:])
    ),
    "UDP port": lambda: set(TUNNEL_PORTS) - set(NAMED_TUNNELS),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", READ)
def test_whatever_number_is_read_has_a_case_or_a_reason_to_have_none(kind: str) -> None:
    cases = {case.number for case in CASES if case.kind == kind}
    others = {number for of_kind, number in NOT_COMPARED if of_kind == kind}
    assert not cases & others
    assert cases | others == READ[kind]()


def test_every_case_is_about_a_kind_of_numbers_that_is_asked() -> None:
    assert {case.kind for case in CASES} == READ.keys()
    assert {kind for kind, _ in NOT_COMPARED} <= READ.keys()


# Files: the same conversation in each.


class File(NamedTuple):
    """A capture file; ``unpacked`` is what tshark gets where it does not open the file itself."""

    data: bytes
    unpacked: bytes | None = None
    numbered: int = 0
    """Blocks that hold no packet and have a frame number in tshark all the same."""
    mistimed: bool = False
    """Whether tshark has wrong times."""


(PLAIN,) = wrapped([Case("link type", 1, "Ethernet", ethernet, (4,))])
FRAMES = PLAIN.frames
FIRST, *LATER = FRAMES
CUT = [Captured(frame.data[:-10], frame.time, frame.length) for frame in FRAMES]
CHECKED = [Captured(frame.data + b"\xde\xad\xbe\xef", frame.time, frame.length + 4) for frame in FRAMES]


def classic(magic: int, order: str, *, minor: int = 4, snap: int = 262144, link: int = 1) -> bytes:
    return struct.pack(order + "IHHiIII", magic, 2, minor, 0, 0, snap, link)


def records(order: str = "<", more: bytes = b"", frames: Sequence[Captured] = ()) -> bytes:
    """Records with microseconds; ``more`` is at the end of their headers."""
    parts = []
    for frame in frames or FRAMES:
        seconds, fraction = divmod(frame.time, 1_000_000_000)
        sizes = len(frame.data), frame.length
        parts += [struct.pack(order + "IIII", seconds, fraction // 1000, *sizes), more, frame.data]
    return b"".join(parts)


def with_lengths_swapped(minor: int) -> bytes:
    """A file as in the first versions: the length on the wire stands before that of what was captured."""
    parts = [classic(0xA1B2C3D4, "<", minor=minor)]
    for frame in CUT:
        seconds, fraction = divmod(frame.time, 1_000_000_000)
        sizes = frame.length, len(frame.data)
        parts += [struct.pack("<IIII", seconds, fraction // 1000, *sizes), frame.data]
    return b"".join(parts)


def clock(resolution: int, ticks: Callable[[int], int], offset: int | None = None) -> bytes:
    """A pcapng file with a clock; ``ticks`` of it for nanoseconds since 1970."""
    options = option(9, bytes((resolution,)))
    options += b"" if offset is None else option(14, struct.pack("<q", offset))
    return (
        section() + interface(1, options) + b"".join(enhanced(one, ticks=ticks(one.time)) for one in FRAMES)
    )


def with_block(kind: int, body: bytes) -> bytes:
    """A pcapng file with a block of another kind behind the first packet."""
    rest = b"".join(enhanced(frame) for frame in LATER)
    return section() + interface(1) + enhanced(FIRST) + block(kind, body) + rest


def obsolete(order: str) -> bytes:
    blocks = [section(order), interface(1, order=order)]
    for frame in FRAMES:
        ticks, sizes = frame.time // 1000, (len(frame.data), frame.length)
        head = struct.pack(order + "HHIIII", 0, 0xFFFF, ticks >> 32, ticks & 0xFFFFFFFF, *sizes)
        blocks.append(block(2, head + frame.data, order))
    return b"".join(blocks)


def simple(order: str, snap: int = 262144) -> bytes:
    blocks = [section(order), block(1, struct.pack(order + "HHI", 1, 0, snap), order)]
    blocks += [
        block(3, struct.pack(order + "I", one.length) + one.data[: snap or None], order) for one in FRAMES
    ]
    return b"".join(blocks)


def with_options_behind(frame: Captured) -> bytes:
    options = option(1, b"a note") + option(2, b"\1\0\0\0") + option(4, bytes(8)) + bytes(4)
    fill = bytes(-len(frame.data) & 3)
    return block(6, enhanced(frame)[8 : 28 + len(frame.data)] + fill + options)


def uncounted(frame: Captured) -> bytes:
    """A block that is filled up to four bytes and does not count them, as some writers make it."""
    body = enhanced(frame)[8 : 28 + len(frame.data)]
    total = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", 6) + total + body + bytes(-len(body) & 3) + total


def two_sections() -> bytes:
    parts = [section(), interface(1), *(enhanced(one) for one in FRAMES[:3])]
    parts += [section(">"), interface(1, order=">"), *(enhanced(one, order=">") for one in FRAMES[3:])]
    return b"".join(parts)


def two_interfaces() -> bytes:
    parts = [section(), interface(1), enhanced(FIRST), interface(101, option(9, b"\x09"))]
    for frame in LATER:
        bare = Captured(frame.data[14:], frame.time, frame.length - 14)
        parts.append(enhanced(bare, 1, ticks=frame.time))
    return b"".join(parts)


def zstd(data: bytes) -> bytes:
    compressed: bytes = importlib.import_module("backports.zstd").compress(data)
    return compressed


MICRO, NG = pcap(FRAMES), pcapng(FRAMES)
SKIPPABLE = bytes.fromhex("5a2a4d18 05000000") + b"hello"
KUZNETZOV = struct.pack("<IHBB", 2, 0x0800, 0, 0)
CUSTOM = struct.pack("<I", 32473) + b"hello   "
JOURNAL = b"__REALTIME_TIMESTAMP=1700000000123456\nMESSAGE=hello\n__CURSOR=x\n"

FILES = {
    "pcap": File(MICRO),
    "pcap, big-endian": File(pcap(FRAMES, order=">")),
    "pcap, nanoseconds": File(pcap(FRAMES, nanoseconds=True)),
    "pcap, nanoseconds, big-endian": File(pcap(FRAMES, order=">", nanoseconds=True)),
    "pcap of Kuznetzov": File(classic(0xA1B2CD34, "<") + records(more=KUZNETZOV)),
    "pcap of Kuznetzov, big-endian": File(classic(0xA1B2CD34, ">") + records(">", more=KUZNETZOV)),
    # The length of a check sequence is told in units of two bytes.
    "pcap, check sequences": File(classic(0xA1B2C3D4, "<", link=0x24000001) + records(frames=CHECKED)),
    "pcap without a snap length": File(classic(0xA1B2C3D4, "<", snap=0) + records()),
    "pcap with too small a snap length": File(classic(0xA1B2C3D4, "<", snap=10) + records()),
    "pcap of version 2.3": File(classic(0xA1B2C3D4, "<", minor=3) + records(frames=CUT)),
    "pcap cut by the snap length": File(pcap(CUT)),
    "pcap that ends early": File(MICRO[:-5]),
    "pcapng": File(NG),
    "pcapng, big-endian": File(
        section(">") + interface(1, order=">") + b"".join(enhanced(one, order=">") for one in FRAMES)
    ),
    "pcapng, obsolete packets": File(obsolete("<")),
    "pcapng, obsolete packets, big-endian": File(obsolete(">")),
    "pcapng, simple packets": File(simple("<")),
    "pcapng, simple packets, big-endian": File(simple(">")),
    "pcapng, simple packets, cut": File(simple("<", 100)),
    "pcapng, simple packets, no snap length": File(simple("<", 0)),
    "pcapng, nanoseconds": File(clock(9, lambda time: time)),
    "pcapng, seconds": File(clock(0, lambda time: time // 1_000_000_000)),
    "pcapng, powers of two": File(clock(0x94, lambda time: (time << 20) // 1_000_000_000)),
    "pcapng, an offset": File(clock(6, lambda time: (time - START) // 1000, START // 1_000_000_000)),
    "pcapng, an offset below 0": File(clock(6, lambda time: time // 1000 + 10**9, -1000)),
    # tshark 4.0 multiplies a fraction of 10**12 ticks with 10**9, which takes more than 64 bits.
    "pcapng, picoseconds": File(
        clock(12, lambda time: (time - START) * 1000, START // 1_000_000_000), mistimed=True
    ),
    "pcapng, a version to come": File(NG.replace(b"\x4d\x3c\x2b\x1a\1\0\0\0", b"\x4d\x3c\x2b\x1a\1\0\2\0")),
    "pcapng, two sections": File(two_sections()),
    "pcapng, two interfaces": File(two_interfaces()),
    "pcapng, options": File(section() + interface(1) + b"".join(map(with_options_behind, FRAMES))),
    "pcapng, fill that is not counted": File(section() + interface(1) + b"".join(map(uncounted, FRAMES))),
    "pcapng, check sequences": File(
        section() + interface(1, option(13, b"\4")) + b"".join(map(enhanced, CHECKED))
    ),
    "pcapng, names": File(with_block(4, struct.pack("<HH", 1, 8) + ENDS[4][0] + b"a.b\0" + bytes(4))),
    "pcapng, statistics": File(with_block(5, bytes(12))),
    "pcapng, secrets": File(with_block(10, struct.pack("<II", 0x544C534B, 4) + b"# x\n")),
    "pcapng, an unknown block": File(with_block(0x7777, b"abcd")),
    "pcapng, a local block": File(with_block(0x80000001, b"abcd")),
    "pcapng, a custom block": File(with_block(0xBAD, CUSTOM), numbered=1),
    "pcapng, a custom block, not to be copied": File(with_block(0x40000BAD, CUSTOM), numbered=1),
    "pcapng, an entry of a journal": File(with_block(9, JOURNAL), numbered=1),
    "pcapng that ends early": File(NG[:-5]),
    "gzip": File(gzip.compress(MICRO, mtime=0)),
    "gzip, stored": File(gzip_stored(NG)),
    "gzip, two members": File(gzip.compress(MICRO[:100], mtime=0) + gzip.compress(MICRO[100:], mtime=0)),
    "gzip that ends early": File(gzip_stored(MICRO)[:-30]),
    "gzip in gzip": File(gzip.compress(gzip.compress(MICRO, mtime=0), mtime=0), MICRO),
    "zstd": File(zstd(NG)),
    "zstd, stored": File(zstd_stored(MICRO)),
    "zstd, two frames and one to skip": File(zstd(MICRO[:100]) + SKIPPABLE + zstd(MICRO[100:])),
    "zstd, one to skip first": File(SKIPPABLE + zstd(MICRO), MICRO),
    "bzip2": File(bz2.compress(MICRO), MICRO),
    "xz": File(lzma.compress(NG), NG),
    # libpcap, sf-pcap.c: up to version 2.2 the two lengths of a record are swapped, in 2.3 now and then.
    "pcap of version 2.2": File(with_lengths_swapped(2)),
    "pcap of version 2.3, swapped": File(with_lengths_swapped(3)),
}  # fmt: skip


@pytest.mark.tshark
@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_tshark_and_we_see_the_same_bytes_in_each_kind_of_file(name: str, tmp_path: Path) -> None:
    file = FILES[name]
    packed_, opened = tmp_path / "packed", tmp_path / "opened"
    packed_.write_bytes(file.data)
    opened.write_bytes(file.data if file.unpacked is None else file.unpacked)
    theirs = told_by_tshark(opened)
    ours = seen_by_frame(packed_)
    assert seen_by_column(packed_) == ours
    if file.numbered:
        # The block stands behind the first frame.
        del theirs.times[1 : 1 + file.numbered]
        theirs = Seen(theirs.times, {n - file.numbered * (n > 1): one for n, one in theirs.segments.items()})
    assert ours.segments == theirs.segments
    assert len(ours.times) == len(theirs.times) == len(FRAMES) - name.endswith("ends early")
    assert ours.times == ([frame.time for frame in FRAMES] if file.mistimed else theirs.times)
    # Both see what was put in, but for what was cut off.
    for number, (sport, dport, data) in theirs.segments.items():
        built = PLAIN.segments[number]
        assert (sport, dport) == built[:2]
        assert built[2].startswith(data)


def test_whatever_compression_is_read_has_a_file() -> None:
    begins = {value for value in vars(source).values() if isinstance(value, bytes)}
    # What is to be skipped in zstd has any of sixteen first bytes.
    heads = [file.data[skipped:] for file in FILES.values() for skipped in (0, 1)]
    assert [one for one in begins if not any(head.startswith(one) for head in heads)] == []


def test_whatever_pcap_is_read_has_a_file() -> None:
    assert PCAP_MAGICS.keys() == {file.data[:4] for file in FILES.values()} & PCAP_MAGICS.keys()


def kinds(data: bytes) -> Iterator[int]:
    """The kinds of the blocks of a pcapng file that is little-endian."""
    at = 0
    while at + 12 <= len(data):
        kind, total = struct.unpack_from("<II", data, at)
        yield kind
        at += total + (-total & 3)


def test_whatever_block_is_read_as_a_packet_has_a_file() -> None:
    def holds_packet(kind: int) -> bool:
        data = section() + interface(1) + block(kind, bytes(64))
        return bool(list(read_frames(io.BytesIO(data))))

    files = [file.data for file in FILES.values() if file.data.startswith(section())]
    in_files = {kind for data in files for kind in kinds(data)}
    read = {kind for kind in (*range(1, 10), *range(11, 0x1000)) if holds_packet(kind)}
    assert read == {2, 3, 6}
    assert read <= in_files
