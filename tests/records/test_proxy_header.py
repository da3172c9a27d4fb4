"""Headers of the PROXY protocol by HAProxy's specification: what is one, and what only looks like one."""

from __future__ import annotations

import ipaddress
import random

import pytest

from msmq_wire.reassembly.tcp_events import Endpoints
from msmq_wire.records.endpoint import proxied
from msmq_wire.records.proxy_header import ProxyHeaders, behind_header, header_of, may_become_header

_SIGNATURE = bytes.fromhex("0d0a0d0a000d0a515549540a")
_IPV4 = bytes.fromhex("c6336415 c000020a c361 0709")
_IPV6 = bytes.fromhex("20010db8007700000000000000000021 20010db8000000000000000000000010 c361 0709")
_CLIENT, _SERVER = "198.51.100.21:50017", "192.0.2.10:1801"
_LONGEST = b"PROXY TCP6 " + b" ".join([b"ffff:" * 7 + b"ffff"] * 2) + b" 65535 65535\r\n"


def v2(command: int, family: int, rest: bytes, length: int | None = None) -> bytes:
    size = len(rest) if length is None else length
    return _SIGNATURE + bytes((command, family)) + size.to_bytes(2, "big") + rest


def ends(client: str, server: str) -> Endpoints:
    packed = [ipaddress.ip_address(one.rpartition(":")[0].strip("[]")).packed for one in (client, server)]
    ports = [int(one.rpartition(":")[2]) for one in (client, server)]
    return packed[0], ports[0], packed[1], ports[1]


@pytest.mark.parametrize(
    ("data", "what", "named"),
    [
        (b"PROXY TCP4 198.51.100.21 192.0.2.10 50017 1801\r\n", "PROXY v1", (_CLIENT, _SERVER)),
        (
            b"PROXY TCP6 2001:db8:77::21 2001:db8::10 50017 1801\r\n",
            "PROXY v1",
            ("[2001:db8:77::21]:50017", "[2001:db8::10]:1801"),
        ),
        (b"PROXY UNKNOWN\r\n", "PROXY v1, UNKNOWN", None),
        (b"PROXY UNKNOWN ffff::1 ffff::2 1 2 whatever else\r\n", "PROXY v1, UNKNOWN", None),
        (v2(0x21, 0x11, _IPV4), "PROXY v2", (_CLIENT, _SERVER)),
        (v2(0x21, 0x11, _IPV4 + b"\4\0\3abc"), "PROXY v2", (_CLIENT, _SERVER)),
        (v2(0x21, 0x21, _IPV6), "PROXY v2", ("[2001:db8:77::21]:50017", "[2001:db8::10]:1801")),
        (v2(0x20, 0x00, b""), "PROXY v2, LOCAL", None),
        (v2(0x20, 0x11, _IPV4), "PROXY v2, LOCAL", None),
        (v2(0x21, 0x00, b""), "PROXY v2, of no TCP connection (family 0x00)", None),
        (v2(0x21, 0x12, _IPV4), "PROXY v2, of no TCP connection (family 0x12)", None),
        (v2(0x21, 0x31, bytes(216)), "PROXY v2, of no TCP connection (family 0x31)", None),
        (v2(0x21, 0x11, _IPV4 + bytes(65_523)), "PROXY v2", (_CLIENT, _SERVER)),
    ],
)
def test_a_header_says_who_the_client_is(data: bytes, what: str, named: tuple[str, str] | None) -> None:
    header = header_of(data + b"LIOR")
    assert header is not None
    assert (header.what, header.length) == (what, len(data))
    assert header.ends == (None if named is None else ends(*named))
    assert proxied(header.path) == (named or (None, None))
    assert behind_header(data + b"LIOR") == b"LIOR"


def test_the_longest_line_has_107_bytes() -> None:
    # 104 bytes are the longest with two addresses; UNKNOWN may be followed by anything up to 107.
    assert len(_LONGEST) == 104
    assert header_of(_LONGEST) is not None
    line = b"PROXY UNKNOWN ".ljust(105, b"x") + b"\r\n"
    assert header_of(line) is not None
    longer = b"PROXY UNKNOWN ".ljust(106, b"x") + b"\r\n"
    assert header_of(longer) is None
    assert not may_become_header(longer[:107])
    assert may_become_header(longer[:106])


@pytest.mark.parametrize(
    "data",
    [
        b"PROXY\r\n",
        b"PROXY \r\n",
        b"PROXY TCP4\r\n",
        b"PROXY TCP4 198.51.100.21 192.0.2.10 50017\r\n",
        b"PROXY TCP4 198.51.100.21 192.0.2.10 50017 1801 1\r\n",
        b"PROXY TCP4  198.51.100.21 192.0.2.10 50017 1801\r\n",
        b"PROXY TCP4 198.51.100.21 192.0.2.10 50017 65536\r\n",
        b"PROXY TCP4 198.51.100.21 192.0.2.10 50017 -1\r\n",
        b"PROXY TCP4 198.51.100.256 192.0.2.10 50017 1801\r\n",
        b"PROXY TCP4 2001:db8::1 2001:db8::2 50017 1801\r\n",
        b"PROXY TCP6 198.51.100.21 192.0.2.10 50017 1801\r\n",
        b"PROXY UDP4 198.51.100.21 192.0.2.10 50017 1801\r\n",
        b"PROXY TCP4 \xff 192.0.2.10 50017 1801\r\n",
        b"proxy TCP4 198.51.100.21 192.0.2.10 50017 1801\r\n",
        b"POST /msmq HTTP/1.1\r\n",
        b"\r\n\r\nPOST /msmq HTTP/1.1\r\n",
        v2(0x11, 0x11, _IPV4),
        v2(0x22, 0x11, _IPV4),
        v2(0x21, 0x11, _IPV4, 11),
        v2(0x21, 0x21, _IPV6, 35),
    ],
)
def test_what_only_looks_like_a_header_is_none(data: bytes) -> None:
    assert header_of(data) is None
    assert not may_become_header(data)
    assert behind_header(data) == data


@pytest.mark.parametrize(
    "data",
    [
        b"PROXY TCP4 198.51.100.21 192.0.2.10 50017 1801\r\n",
        b"PROXY UNKNOWN\r\n",
        v2(0x21, 0x21, _IPV6),
        v2(0x20, 0x00, b""),
    ],
)
def test_a_header_is_waited_for_byte_by_byte(data: bytes) -> None:
    for size in range(1, len(data)):
        assert header_of(data[:size]) is None
        assert may_become_header(data[:size])
    assert header_of(data) is not None


def test_a_header_that_is_never_ended_holds_little() -> None:
    headers = ProxyHeaders()
    given, held = b"", 0
    for at, byte in enumerate(b"PROXY " + b"x" * 500):
        if at and 1 not in headers:
            break
        front = headers.take(1, bytes((byte,)), at + 1, at)
        given += b"".join(data for data, _, _ in front.chunks)
        held = at + 1
    assert (held, given) == (107, b"PROXY " + b"x" * 101)
    assert headers.path(1) == b""


def test_additional_data_is_counted_and_not_held() -> None:
    headers, data = ProxyHeaders(), v2(0x21, 0x11, _IPV4 + bytes(65_523))
    for at in range(0, len(data) - 1):
        front = headers.take(1, data[at : at + 1], at + 1, at)
        assert (front.header, front.chunks) == (None, ())
    front = headers.take(1, data[-1:] + b"LIOR", len(data), 7)
    assert front.header is not None
    assert (front.header.length, front.skipped) == (65_551, 65_551)
    # The frames that carried what is read of it, and the last.
    assert front.header.frames == (*range(1, 29), 65_551)
    assert front.chunks == ((b"LIOR", 65_551, 7),)
    assert headers.path(1) == bytes.fromhex("68 0001000f 34") + _IPV4
    assert not headers


def test_a_header_that_the_capture_cuts_is_told_with_what_is_missing() -> None:
    headers, data = ProxyHeaders(), v2(0x21, 0x11, _IPV4 + bytes(20))
    assert headers.take(4, data[:30], 9, 90).header is None
    front = headers.end(4)
    assert front.header is not None
    assert front.header.reason == (
        "PROXY v2: the client is 198.51.100.21:50017, by the sender's word; 18 bytes of the header missing"
    )
    assert (front.header.length, front.header.frames, front.header.time, front.skipped) == (30, (9,), 90, 30)
    assert headers.end(4) == headers.end(5)


def test_the_second_of_two_headers_is_no_header() -> None:
    headers, line = ProxyHeaders(), b"PROXY TCP4 198.51.100.21 192.0.2.10 50017 1801\r\n"
    front = headers.take(1, line + b"PROXY UNKNOWN\r\n", 1, 1)
    assert front.header is not None
    assert front.chunks == ((b"PROXY UNKNOWN\r\n", 1, 1),)
    assert 1 not in headers


def test_how_a_header_is_cut_changes_nothing() -> None:
    chance = random.Random(11)
    for data in (_LONGEST, v2(0x21, 0x21, _IPV6 + bytes(40))):
        for _ in range(50):
            headers, at, behind, found = ProxyHeaders(), 0, b"", []
            whole = data + b"LIOR" * 10
            while at < len(whole):
                size = chance.randrange(1, 30)
                part = whole[at : at + size]
                at += size
                if behind:
                    behind += part
                    continue
                front = headers.take(1, part, 1, 1)
                behind += b"".join(one for one, _, _ in front.chunks)
                found += [] if front.header is None else [front.header.length]
            assert (behind, found) == (b"LIOR" * 10, [len(data)])
