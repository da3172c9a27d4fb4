"""What fuzzing starts from: the fixtures, in the input format of each target."""

from __future__ import annotations

import gzip
import io
import itertools
import json
import struct
from collections.abc import Iterable
from pathlib import Path

from msmq_wire.capture.pcap import Frame
from msmq_wire.capture.writer import write_pcap
from msmq_wire.rpc.interfaces import INTERFACES
from msmq_wire.wire.registry import STRUCTURES

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_SYN, _FIN, _ACK = 0x02, 0x01, 0x10
_ETHERNET, _RAW_IP = 1, 101


def seeds() -> dict[str, list[bytes]]:
    """Inputs by the name of the target."""
    structures = fixtures()
    packets = [data for stem, data in structures if data[4:8] == b"LIOR"]
    streams = [b"".join(packets[at : at + 3]) for at in range(0, len(packets), 3)]
    captures = [_capture(stream) for stream in streams[:4]] + [_mixed(packets)]
    files = [path.read_bytes() for path in sorted((_FIXTURES / "captures").glob("*")) if path.is_file()]
    pcaps = [_pcap(frames) for frames in captures]
    pcapngs = [_pcap([*frames, _other_link(frames[0])]) for frames in captures]
    return {
        "fuzz_inspect": _inspected(structures),
        "fuzz_body": _bodies(),
        "fuzz_calls": _conversations(),
        "fuzz_envelope": _envelopes(),
        "fuzz_framer": [
            *(b"\0" + stream for stream in streams),
            b"\x03\x20\x00\x00\x60\x00\x10\x80\x00\xff" + streams[0],
            b"\x1a\x20\x00\x00\x60\x00\x10" + b"noise" + streams[-1],
        ],
        "fuzz_http": _http(),
        "fuzz_pcap": [*pcaps, *(file for file in files if file[:4] in _PCAP_MAGICS)],
        "fuzz_pcapng": [
            *pcapngs,
            gzip.compress(pcaps[0], mtime=0),
            *(file for file in files if file[:4] in _OTHER_MAGICS or file[:2] == b"\x1f\x8b"),
        ],
        "fuzz_stub": _stubs(),
        "fuzz_tcp": [_segments(stream) for stream in streams[:8]],
    }


_OTHER_MAGICS = (b"\x0a\x0d\x0d\x0a", b"\x28\xb5\x2f\xfd")
_PCAP_MAGICS = (b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\xc3\xd4", b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d")


def fixtures() -> list[tuple[str, bytes]]:
    """Stem and bytes of every .hex file under fixtures/packets."""
    found = []
    for path in sorted((_FIXTURES / "packets").glob("*/*.hex")):
        lines = path.read_text(encoding="utf-8").splitlines()
        found.append((path.parent.name, bytes.fromhex("".join(line.partition("#")[0] for line in lines))))
    return found


def _bodies() -> list[bytes]:
    """Bodies of every kind, each behind its type and without or with headers."""
    headers = b"<ArrayOfHeaderInfo><HeaderInfo><Key>k</Key><Value>v</Value></HeaderInfo></ArrayOfHeaderInfo>"
    streams = []
    for path in sorted((_FIXTURES / "bodies").glob("*.hex")):
        lines = path.read_text(encoding="utf-8").splitlines()
        streams.append(bytes.fromhex("".join(line.partition("#")[0] for line in lines)))
    framed = b"\0\1\0\1\3\2\3a:b\3\3\x0c\6\4<a/>\5\2<a\2/>\0\7"
    array = bytes.fromhex("0001000000ffffffff0100000000000000 0701000000000100000003000000 00080a0000000b")
    contents = [
        *((0x300, stream) for stream in [*streams, array]),
        (0x1011, framed),
        (0, b"<a b='c'>text<d/></a>"),
        (0, b'{"messageType": ["urn:message:A"], "message": {"a": [1.5, null]}}'),
        (0, gzip.compress(b'{"a": 1}', mtime=0)),
        (8, "text".encode("utf-16-le")),
        (30, b"text"),
        (68, bytes(16) + b"<a/>"),
        (69, bytes.fromhex("d0cf11e0a1b11ae1") + bytes(22) + b"\x09\0" + bytes(600)),
        *((type_, bytes(8)) for type_ in (5, 6, 7, 20, 64, 0x1003)),
    ]
    inputs = [struct.pack("<HB", type_, 0) + content for type_, content in contents]
    inputs.append(struct.pack("<HB", 0, len(headers)) + headers + b"<a/>")
    return inputs


def _conversations() -> list[bytes]:
    """The payloads of the recorded conversations, as far as they go into an input."""
    inputs = []
    for path in sorted((_FIXTURES / "rpc_captures").glob("*.pcap")):
        data = path.read_bytes()
        at, pieces = 24, b""
        while at < len(data) and len(pieces) < 3500:
            size = int.from_bytes(data[at + 8 : at + 12], "little")
            frame = data[at + 16 : at + 16 + size]
            at += 16 + size
            payload = frame[34 + (frame[46] >> 4) * 4 :]
            from_server = int.from_bytes(frame[34:36], "big") in (2103, 2105)
            if payload:
                pieces += struct.pack("<BH", from_server, len(payload)) + payload
        inputs += [b"\0" + pieces, b"\1" + pieces]
    return inputs


def _envelopes() -> list[bytes]:
    """The envelopes of the documented SRMP messages, two of them in UTF-16, and a signature."""
    found = []
    for path in sorted((_FIXTURES / "srmp").glob("*.http")):
        data = path.read_bytes()
        start, end = data.find(b"<se:Envelope"), data.find(b"</se:Envelope>")
        if start >= 0:
            found.append(data[start : end + len(b"</se:Envelope>")])
    signature = (
        b'<Signature xmlns="http://www.w3.org/2000/02/xmldsig#"><SignedInfo><SignatureMethod Algorithm="a"/>'
        b'<Reference URI="cid:body@b"><DigestMethod Algorithm="c"/><DigestValue>AAEC</DigestValue>'
        b"</Reference></SignedInfo><SignatureValue>AA==</SignatureValue></Signature>"
    )
    wide = [(one.decode("utf-8") + "\0").encode("utf-16-le") for one in found[:2]]
    return [*found, *wide, found[0].replace(b"</se:Header>", signature + b"</se:Header>")]


def _http() -> list[bytes]:
    """Requests of an SRMP sender and answers to them: whole, chunked, pipelined, cut and with gaps."""
    body = b"--MSMQ - SOAP boundary, 7\r\nContent-Type: text/xml\r\nContent-Length: 4\r\n\r\n<x/>"
    body += b"--MSMQ - SOAP boundary, 7\r\nContent-Length: 3\r\n\r\nabc--MSMQ - SOAP boundary, 7--\r\n"
    head = b'POST /msmq/q HTTP/1.1\r\nHost: h\r\nSOAPAction: "MSMQMessage"\r\n'
    related = b'Content-Type: multipart/related; boundary="MSMQ - SOAP boundary, 7";\r\n\ttype=text/xml\r\n'
    request = head + related + b"Content-Length: %d\r\n\r\n" % len(body) + body
    chunked = head + b"Transfer-Encoding: chunked\r\n\r\n4\r\n<x/>\r\n0\r\nA: b\r\n\r\n"
    ok = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    until_close = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 500 Error\r\n\r\nuntil the end"

    def piece(kind: int, data: bytes = b"", gap: int = 0) -> bytes:
        return struct.pack("<BH", kind, len(data) or gap) + data

    return [
        b"\0" + piece(0, request) + piece(1, ok),
        b"\0" + piece(0, request + chunked) + piece(1, ok + until_close),
        b"\0" + piece(0, request[:-20]) + piece(2, gap=20) + piece(0, chunked) + piece(1, ok * 2),
        b"\0" + piece(0, request[:300]) + piece(6) + piece(0, b"noise" + chunked) + piece(1, ok),
        b"\x10" + piece(0, request * 4) + piece(3, gap=9) + piece(1, b"noise" + ok),
        b"\0" + piece(0, body.replace(b"MSMQ - SOAP boundary, 7", b"b")),
    ]


def _inspected(structures: Iterable[tuple[str, bytes]]) -> list[bytes]:
    numbers = {stem: number for number, stem in enumerate(sorted(STRUCTURES), 1)}
    inputs = []
    for stem, data in structures:
        inputs.append(bytes((numbers[stem],)) + data)
        if stem == "user_message":
            inputs += [b"\0" + data, bytes((numbers["message_packet"],)) + data]
        if stem == "message_packet" and len(data) > 60:
            cut = struct.pack("<HH", len(data) - 40, 20)
            inputs.append(bytes((0x80 | numbers[stem],)) + cut + data[:-40] + data[-20:])
    return inputs


def _stubs() -> list[bytes]:
    methods = [method.name for interface in INTERFACES.values() for method in interface.all_methods]
    syntaxes = (("ndr", "little"), ("ndr64", "little"), ("ndr", "big"))
    inputs = []
    for path in sorted((_FIXTURES / "rpc").glob("*/*.json")):
        fixture = json.loads(path.read_text(encoding="utf-8"))
        method = methods.index(fixture["method"])
        for case in fixture["cases"]:
            syntax = syntaxes.index((case["syntax"], case["byte_order"]))
            side = case["direction"] == "response"
            inputs.append(bytes((method, syntax << 1 | side)) + bytes.fromhex(case["hex"]))
    return inputs


def _capture(stream: bytes) -> list[Frame]:
    """A connection over IPv4 that carries ``stream`` in segments of 400 bytes."""
    segments = [(_SYN, 0, b""), (_ACK, 1, b"")]
    segments += [(_ACK, 1 + at, stream[at : at + 400]) for at in range(0, len(stream), 400)]
    segments.append((_FIN | _ACK, 1 + len(stream), b""))
    return [
        _frame(number, _ipv4(6, _tcp(flags, seq, data)), 0x0800)
        for number, (flags, seq, data) in enumerate(segments, 1)
    ]


def _mixed(packets: list[bytes]) -> list[Frame]:
    """One packet in each of several wrappings: IPv6, a VLAN tag, UDP, fragments, an ICMP unreachable."""
    segment = _tcp(_ACK, 1, packets[0])
    addresses = bytes(15) + b"\1" + bytes(15) + b"\2"
    ipv6 = struct.pack(">IHBB", 6 << 28, len(segment), 6, 64) + addresses + segment
    ping = struct.pack("<HHII", 0, 0x5548, 0, 1) + bytes(12)
    udp = struct.pack(">HHHH", 40000, 3527, 8 + len(ping), 0) + ping
    unreachable = struct.pack(">BBHI", 3, 3, 0, 0) + _ipv4(6, segment)[:28]
    half = len(segment) // 16 * 8
    contents = [
        (ipv6, 0x86DD),
        (struct.pack(">HH", 5, 0x0800) + _ipv4(6, _tcp(_ACK, 1 + len(packets[0]), packets[1])), 0x8100),
        (_ipv4(17, udp), 0x0800),
        (_ipv4(6, segment[:half], 0x2000), 0x0800),
        (_ipv4(6, segment[half:], half // 8), 0x0800),
        (_ipv4(1, unreachable), 0x0800),
        (b"\0\1\x08\0", 0x0806),
    ]
    return [_frame(number, data, ethertype) for number, (data, ethertype) in enumerate(contents, 1)]


def _tcp(flags: int, seq: int, payload: bytes) -> bytes:
    return struct.pack(">HHIIBBHHH", 40000, 1801, seq, 1, 5 << 4, flags, 65535, 0, 0) + payload


def _ipv4(protocol: int, payload: bytes, fragment: int = 0) -> bytes:
    header = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(payload), 7, fragment, 64, protocol, 0)
    return header + b"\x0a\0\0\1" + b"\x0a\0\0\2" + payload


def _frame(number: int, content: bytes, ethertype: int) -> Frame:
    data = bytes(6) + b"\2" * 6 + struct.pack(">H", ethertype) + content
    return Frame(number, 1_700_000_000_000_000_000 + number, _ETHERNET, data, len(data), 0)


def _other_link(frame: Frame) -> Frame:
    """The frame's packet without Ethernet: two link types need pcapng."""
    data = frame.data[14:]
    return Frame(frame.number, frame.time, _RAW_IP, data, len(data), 0)


def _pcap(frames: list[Frame]) -> bytes:
    file = io.BytesIO()
    write_pcap(file, frames)
    return file.getvalue()


def _segments(stream: bytes) -> bytes:
    """A handshake, the stream with its first two segments swapped, parts sent again, and both FINs."""
    inputs = [(0, _SYN, 0, 0, b""), (1, _SYN | _ACK, 0, 1, b""), (0, _ACK, 1, 1, b"")]
    data = [(0, _ACK, 1 + at, 1, stream[at : at + 200]) for at in range(0, len(stream), 200)]
    again = [(0, _ACK, 1 + at, 1, stream[at : at + 150]) for at in range(100, len(stream), 200)]
    data = [segment for pair in itertools.zip_longest(data, again) for segment in pair if segment]
    data[:2] = data[1::-1]
    end = 1 + len(stream)
    closing = [(0, _FIN | _ACK, end, 1, b""), (1, _FIN | _ACK, 1, end + 1, b""), (0, _ACK, end + 1, 2, b"")]
    return b"\0" + b"".join(
        struct.pack("<BBhhBB", who, flags, seq, ack, len(payload), 0) + payload
        for who, flags, seq, ack, payload in (*inputs, *data, *closing)
    )
