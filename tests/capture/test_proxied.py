"""Behind the PROXY header of a load balancer all is read as usual, and whose the connection is, is told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from fixtures.build_frames import Captured, ethernet, ip, pcap, tcp
from msmq_wire import build_message, encode
from msmq_wire.capture.reader import CaptureReader
from msmq_wire.reassembly.tcp_events import TcpSegment
from msmq_wire.records.endpoint import proxied
from msmq_wire.records.record import Record
from msmq_wire.wire.packets.base import BinaryPacket
from tests.capture.test_pathologies import datagrams

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_LINE = b"PROXY TCP4 198.51.100.21 192.0.2.10 50017 1801\r\n"
_BLOCK = bytes.fromhex("c6336415 c000020a c361 0709")
_SIGNATURE = bytes.fromhex("0d0a0d0a000d0a515549540a")
_V2 = _SIGNATURE + b"\x21\x11\0\x0c" + _BLOCK
_TLVS = _SIGNATURE + b"\x21\x11\xff\xff" + _BLOCK + bytes(65_523)
_CLIENT, _SERVER = "198.51.100.21:50017", "192.0.2.10:1801"
_BIND = bytes.fromhex("05000b03 10000000 48000000 01000000") + bytes(56)
_A, _B = bytes((192, 0, 2, 5)), bytes((192, 0, 2, 10))
_SYN, _ACK, _FIN = 2, 16, 1
_TOLD = "PROXY v1: the client is 198.51.100.21:50017, by the sender's word"


def packets(count: int = 1) -> bytes:
    return encode(build_message(r"DIRECT=OS:msg01\private$\orders", b"order")) * count


def request() -> bytes:
    """A request that brings a message."""
    segments = datagrams(_FIXTURES / "captures" / "path_srmp_message.pcap")
    return b"".join(one.payload for one in segments if isinstance(one, TcpSegment) and one.dport == 80)


def conversation(
    *sent: bytes, port: int = 1801, syn: bool = True, lost: Sequence[int] = (), fin: bool = True
) -> bytes:
    """A capture of one connection whose client sends that, a segment each; ``lost`` are not captured."""

    def frames() -> Iterator[Captured]:
        def segment(there: bool, seq: int, ack: int, flags: int, payload: bytes = b"") -> Captured:
            src, dst = (_A, _B) if there else (_B, _A)
            ports = (4000, port) if there else (port, 4000)
            data = ethernet(ip(src, dst, 6, tcp(src, ports[0], dst, ports[1], seq, ack, flags, payload), 7))
            return Captured(time=0, data=data, length=len(data))

        if syn:
            yield segment(True, 99, 0, _SYN)
            yield segment(False, 499, 100, _SYN | _ACK)
            yield segment(True, 100, 500, _ACK)
        seq = 100
        for number, payload in enumerate(sent):
            if number not in lost:
                yield segment(True, seq, 500, _ACK, payload)
            seq += len(payload)
        yield segment(False, 500, seq, _ACK)
        if fin:
            yield segment(True, seq, 500, _FIN | _ACK)
            yield segment(False, 500, seq + 1, _FIN | _ACK)

    return pcap(one._replace(time=number) for number, one in enumerate(frames(), 1))


def read(tmp_path: Path, data: bytes, ports: Sequence[int] = ()) -> tuple[list[Record], CaptureReader]:
    """What is found, by column as frame by frame, without the steps of TCP."""
    path = tmp_path / "one.pcap"
    path.write_bytes(data)
    found = []
    for columns in (False, True):
        with CaptureReader(str(path), streams=True, ports=ports, columns=columns) as reader:
            found.append(list(reader))
    assert found[0] == found[1]
    return [one for one in found[0] if one.type != "tcp_stream" or one.event == "proxied"], reader


def bytewise(data: bytes) -> list[bytes]:
    return [data[at : at + 1] for at in range(len(data))]


@pytest.mark.parametrize("header", [_LINE, _V2, _TLVS], ids=["v1", "v2", "tlvs"])
@pytest.mark.parametrize("cut", ["alone", "together", "bytewise"])
def test_packets_behind_a_header_are_read(header: bytes, cut: str, tmp_path: Path) -> None:
    if header == _TLVS and cut != "alone":
        # A segment of IP has no room for it.
        header = _SIGNATURE + b"\x21\x11\x01\x00" + _BLOCK + bytes(244)
    parts = [header[at : at + 1400] for at in range(0, len(header), 1400)]
    message = packets()
    sent = {
        "alone": [*parts, message],
        "together": [header + message, message, message, message, message, message],
        "bytewise": [*bytewise(header), *bytewise(message)],
    }[cut]
    (reported, *found), reader = read(tmp_path, conversation(*sent))
    assert (reported.type, reported.event, reported.offset, reported.length) == (
        "tcp_stream",
        "proxied",
        0,
        len(header),
    )
    assert (reported.src, reported.dst) == ("192.0.2.5:4000", "192.0.2.10:1801")
    assert {one.type for one in found} == {"user_message"}
    assert [one.offset for one in found] == [
        len(header) + number * len(message) for number in range(len(found))
    ]
    assert {proxied(one.path) for one in (reported, *found)} == {(_CLIENT, _SERVER)}
    assert {(one.src, one.dst) for one in found} == {("192.0.2.5:4000", "192.0.2.10:1801")}
    assert not reader.summary.skipped


@pytest.mark.parametrize(
    ("port", "sent", "type_"),
    [(2103, _BIND, "gap"), (80, request(), "srmp_message"), (8085, request(), "srmp_message")],
)
@pytest.mark.parametrize("header", [_LINE, _V2], ids=["v1", "v2"])
@pytest.mark.parametrize("cut", [False, True])
def test_calls_and_requests_behind_a_header_are_read(
    port: int, sent: bytes, type_: str, header: bytes, cut: bool, tmp_path: Path
) -> None:
    parts = bytewise(header + sent) if cut else [header + sent]
    found, reader = read(tmp_path, conversation(*parts, port=port))
    assert found[0].event == "proxied"
    assert not reader.summary.skipped
    assert [one.type for one in found[1:]] == ([type_] if type_ != "gap" else [])
    assert all(one.offset == len(header) for one in found[1:])


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (b"PROXY UNKNOWN\r\n", "PROXY v1, UNKNOWN: it names no client"),
        (_SIGNATURE + b"\x20\0\0\0", "PROXY v2, LOCAL: it names no client"),
    ],
)
def test_a_header_that_names_nobody_is_no_unread_byte(header: bytes, reason: str, tmp_path: Path) -> None:
    (reported, message), _ = read(tmp_path, conversation(header, packets()))
    assert (reported.reason, message.type, message.offset) == (reason, "user_message", len(header))
    assert proxied(message.path) == (None, None)


def test_who_connects_can_write_any_header_and_that_is_said(tmp_path: Path) -> None:
    (reported, _), reader = read(tmp_path, conversation(_LINE, packets()))
    assert reported.reason == _TOLD
    assert list(reader.summary.notices) == [
        "with a PROXY header in front: column proxied_client names the client, by the sender's word"
    ]


@pytest.mark.parametrize(
    ("sent", "gaps"),
    [
        # Twice: the second is none.
        ([_LINE, _LINE, packets()], [(48, 48)]),
        # It never ends.
        ([b"PROXY " + b"x" * 200, packets()], [(0, 206)]),
        ([b"PROXY TCP4 198.51.100.21\r\n", packets()], [(0, 26)]),
        # The side ends inside of it.
        ([_LINE[:20]], [(0, 20)]),
        # In the middle, between packets.
        ([packets(), _LINE, packets()], [(180, 48)]),
    ],
)
def test_what_is_no_header_is_unread_as_it_was(
    sent: list[bytes], gaps: list[tuple[int, int]], tmp_path: Path
) -> None:
    assert len(packets()) == 180
    found, _ = read(tmp_path, conversation(*sent))
    assert [(one.offset, one.length) for one in found if one.type == "gap"] == gaps
    assert [one.type for one in found if one.type == "user_message"] == ["user_message"] * sum(
        one == packets() for one in sent
    )


def test_a_header_without_the_start_of_its_connection_is_none(tmp_path: Path) -> None:
    (gap, message), _ = read(tmp_path, conversation(_LINE, packets(), syn=False))
    assert (gap.type, gap.length, message.type, message.path) == ("gap", 48, "user_message", b"")
    # The bytes before it are missing: it may be a part of a message.
    found, _ = read(tmp_path, conversation(packets(), _LINE, packets(), lost=[0]))
    assert [one.event for one in found if one.event == "proxied"] == []


def test_a_header_that_is_cut_by_a_loss_is_told_with_what_is_missing(tmp_path: Path) -> None:
    parts = [_TLVS[at : at + 1400] for at in range(0, len(_TLVS), 1400)]
    found, _ = read(tmp_path, conversation(*parts, packets(), lost=[1]))
    assert found[0].reason == _TOLD.replace("v1", "v2") + "; 64151 bytes of the header missing"
    assert (found[0].length, found[1].reason, found[1].offset, found[1].missing) == (1400, "loss", 1400, 1400)
    assert [one.type for one in found[2:]] == ["gap", "user_message"]
    # Or by the end of the connection.
    (reported,), _ = read(tmp_path, conversation(*parts[:2]))
    assert reported.reason == _TOLD.replace("v1", "v2") + "; 62751 bytes of the header missing"


def test_a_header_alone_is_told(tmp_path: Path) -> None:
    for fin in (False, True):
        (reported,), _ = read(tmp_path, conversation(_LINE, fin=fin))
        assert reported.reason == _TOLD


def test_a_load_balancer_in_front_of_something_else_is_not_followed(tmp_path: Path) -> None:
    for sent in (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"", bytes(2000)):
        found, reader = read(tmp_path, conversation(_LINE, *([sent] if sent else []), port=8085))
        assert found == []
        assert list(reader.summary.skipped) == ["TCP, not MSMQ"]


def test_bodies_like_headers_are_bodies(tmp_path: Path) -> None:
    body = _LINE * 40
    message: BinaryPacket = build_message(r"DIRECT=OS:msg01\private$\orders", body)
    data = encode(message)
    at = data.index(_LINE)
    found, _ = read(tmp_path, conversation(data[:at], data[at:], data[:at], data[at:]))
    assert [(one.type, one.path) for one in found] == [("user_message", b"")] * 2
