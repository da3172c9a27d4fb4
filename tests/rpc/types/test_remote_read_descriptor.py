"""REMOTEREADDESC and REMOTEREADDESC2, [MS-MQQP] 2.2.2."""

from __future__ import annotations

import pytest

from msmq_wire.rpc.ndr import NDR, NDR64, StubValue, Syntax, decode_stub, encode_stub, inspect_stub
from msmq_wire.rpc.ndr.stub_stream import Residue
from msmq_wire.rpc.types.remote_read_descriptor import (
    REMOTE_READ_DESC,
    REMOTE_READ_DESC2,
    RemoteReadDesc,
    RemoteReadDesc2,
)

_NUMBERS = "01000000 02000000 03000000 04000000 02000000 06000000 07000000 08000000 09000000"  # nine in a row
_DESC = RemoteReadDesc(
    h_remote_queue=1,
    h_cursor=2,
    ul_action=3,
    ul_timeout=4,
    dw_size=2,
    dw_queue=6,
    dw_request_id=7,
    reserved=8,
    dw_arrive_time=9,
    e_ack_nack=2,
    lp_buffer=b"\xaa\xbb",
)


@pytest.mark.parametrize(
    ("syntax", "digits"),
    [
        # The enumeration has two bytes and a gap in NDR, four in NDR64.
        (NDR, f"{_NUMBERS} 0200 0000 00000200 02000000 00000000 02000000 aabb"),
        (
            NDR64,
            f"{_NUMBERS} 02000000 0000020000000000 0200000000000000 0000000000000000 0200000000000000 aabb",
        ),
    ],
)
def test_a_descriptor_has_its_buffer_behind_it(syntax: Syntax, digits: str) -> None:
    stub = bytes.fromhex(digits)
    decoded = decode_stub(REMOTE_READ_DESC, stub, syntax)
    assert decoded.value == _DESC
    assert encode_stub(REMOTE_READ_DESC, decoded, syntax) == stub
    assert inspect_stub(REMOTE_READ_DESC, stub, syntax).anomalies == ()


@pytest.mark.parametrize(
    ("syntax", "digits"),
    [
        (
            NDR,
            "00000200 00000000 0500000000000000"
            f"{_NUMBERS} 0200 0000 04000200 02000000 00000000 02000000 aabb",
        ),
        (
            NDR64,
            "0000020000000000 0500000000000000"
            f"{_NUMBERS} 02000000 0400020000000000 0200000000000000 0000000000000000 0200000000000000 aabb",
        ),
    ],
)
def test_the_second_descriptor_points_at_the_first(syntax: Syntax, digits: str) -> None:
    stub = bytes.fromhex(digits)
    value = RemoteReadDesc2(p_remote_read_desc=_DESC, sequential_id=5)
    assert decode_stub(REMOTE_READ_DESC2, stub, syntax).value == value
    assert encode_stub(REMOTE_READ_DESC2, StubValue(value), syntax) == stub


def test_a_size_beyond_the_largest_packet_is_told() -> None:
    null = ("ndr.null-array", "lp_buffer", 44)
    for size, expected in ((0x00420001, [("ndr.range", "dw_size", 16), null]), (0x00420000, [null])):
        value = StubValue(RemoteReadDesc(dw_size=size), Residue(nulls=1))
        found = inspect_stub(REMOTE_READ_DESC, encode_stub(REMOTE_READ_DESC, value)).anomalies
        assert [(one.code, one.path, one.offset) for one in found] == expected


def test_a_cut_buffer_is_kept_as_far_as_it_goes() -> None:
    stub = encode_stub(REMOTE_READ_DESC, StubValue(_DESC))
    result = inspect_stub(REMOTE_READ_DESC, stub[:-1])
    assert result.error is not None
    assert result.error.path == "lp_buffer"
    assert result.value.lp_buffer == b"\xaa"
    assert result.value.dw_request_id == 7
