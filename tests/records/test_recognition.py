"""What a connection carries is told by one segment."""

from __future__ import annotations

import struct

import pytest

from msmq_wire.errors import ArgumentError
from msmq_wire.records.recognition import (
    FIRST_BYTES,
    LOOKED_AT,
    check_ports,
    content_of,
    datagram_kind,
    recognise,
)

_BIND = struct.pack("<BBBB4sHHI", 5, 0, 11, 3, b"\x10\0\0\0", 72, 0, 1) + bytes(56)
_PACKET = bytes((0x10, 0, 3, 0)) + b"LIOR" + (200).to_bytes(4, "little") + b"\xff\xff\xff\xff" + bytes(184)
_TO_MSMQ = b"POST /msmq/private$/orders HTTP/1.1\r\nHost: h\r\n\r\n"
_ELSEWHERE = b"POST /orders HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}"


@pytest.mark.parametrize(
    ("payload", "port", "content"),
    [
        (_BIND, 2103, "rpc"),
        (_PACKET, 5555, "msmq"),
        (_TO_MSMQ, 80, "http"),
        (_TO_MSMQ, 5555, "http"),
        (b'POST /other HTTP/1.1\r\nSOAPAction: "MSMQMessage"\r\n\r\n', 5555, "http"),
        (_ELSEWHERE, 80, None),
        (_ELSEWHERE[:20], 5555, None),
        (b"GET /msmq/private$/orders HTTP/1.1\r\n\r\n", 80, None),
        (b"HTTP/1.1 202 Accepted\r\n\r\n", 49152, None),
        (b"", 80, None),
        (b"PUT / HTTP/1.1\r\n", 80, None),
        (b"\5\0", 135, None),
        # A program file that somebody downloads: a request whose numbers are big-endian.
        (bytes.fromhex("05000000 00000000 0b000000 00000000") + bytes(2800), 49152, None),
        (bytes.fromhex("05000003 10000000 18000000 01000000") + bytes(8), 49152, "rpc"),
    ],
)
def test_a_segment_decides(payload: bytes, port: int, content: str | None) -> None:
    assert recognise(payload, port) == content


@pytest.mark.parametrize("size", [1, 3, 5, 12, 30])
def test_on_the_ports_of_http_a_request_too_short_to_judge_is_believed(size: int) -> None:
    assert recognise(_ELSEWHERE[:size], 80) == "http"
    assert recognise(_ELSEWHERE[:size], 8080) == "http"
    assert recognise(_ELSEWHERE[:size], 81) is None


def test_only_the_beginning_of_a_segment_is_looked_at() -> None:
    head = b"POST /other HTTP/1.1\r\nX: " + b"a" * LOOKED_AT
    late = head + b'\r\nSOAPAction: "MSMQMessage"\r\n\r\n'
    assert recognise(late, 5555) is None
    assert recognise(late[:LOOKED_AT], 5555) is None


def test_what_is_no_packet_begins_with_one_of_the_first_bytes() -> None:
    for payload in (_BIND, _TO_MSMQ):
        assert payload[0] in FIRST_BYTES


@pytest.mark.parametrize(
    ("data", "believed", "content"),
    [
        (b"PO", "http", "http"),
        (b"\5\0", "rpc", "rpc"),
        (_BIND, "msmq", "rpc"),
        (_TO_MSMQ, "msmq", "http"),
        (b"HTTP/1.1 202 Accepted\r\n\r\n", "msmq", "http"),
        (_PACKET, "http", "msmq"),
    ],
)
def test_the_first_bytes_of_a_stream_outweigh_the_segment_that_it_was_believed_for(
    data: bytes, believed: str, content: str
) -> None:
    assert content_of(data, believed) == content  # type: ignore[arg-type]  # parameters are plain texts


@pytest.mark.parametrize(
    ("ports", "payload", "kind", "reason"),
    [
        ((40000, 3527), bytes(2) + b"HU" + bytes(4), "ping", ""),
        ((3527, 40000), bytes(24), "ping", ""),
        ((40000, 3527), bytes(23), None, "UDP port 3527, no ping"),
        ((40000, 1801), bytes(24), None, "UDP port 1801, no discovery"),
        ((40000, 53), bytes(2) + b"HU", None, "UDP, not MSMQ"),
    ],
)
def test_a_datagram_is_a_ping_by_its_port_and_its_signature_or_size(
    ports: tuple[int, int], payload: bytes, kind: str | None, reason: str
) -> None:
    found = datagram_kind(*ports, payload)
    assert found[0] == kind
    assert kind or found[1] == reason


@pytest.mark.parametrize(
    "ports", [(), [8085], {8085}, range(8000, 8010), {8085: "http"}, {8085: None}, [0, 65535]]
)
def test_ports_are_numbers_or_a_mapping_of_them(ports: object) -> None:
    check_ports(ports)


@pytest.mark.parametrize(
    ("ports", "kind", "text"),
    [
        (
            1801,
            TypeError,
            "ports must be a list of numbers, or a mapping of them, not int: ports=[1801]",
        ),
        (
            "1801",
            TypeError,
            "ports must be a list of numbers, or a mapping of them, not str: ports=[1801]",
        ),
        ("http", TypeError, "ports must be a list of numbers, or a mapping of them, not str"),
        (None, TypeError, "ports must be a list of numbers, or a mapping of them, not NoneType"),
        (["1801"], TypeError, "a port in ports must be an integer, not str"),
        ([1801, 65536], ArgumentError, "a port in ports is 65536: it is 0 to 65535"),
        ({-1: "http"}, ArgumentError, "a port in ports is -1: it is 0 to 65535"),
        (
            {8085: "htp"},
            ArgumentError,
            "ports[8085]: 'htp' is none of msmq, rpc, http: did you mean 'http'?",
        ),
        ({8085: 5}, ArgumentError, "ports[8085]: 5 is none of msmq, rpc, http"),
    ],
)
def test_what_are_no_ports_is_told(ports: object, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as caught:
        check_ports(ports)
    assert str(caught.value) == text
