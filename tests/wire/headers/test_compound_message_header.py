"""CompoundMessageHeader, [MS-MQRR] 2.2.5.1.2.2."""

from __future__ import annotations

import msgspec

from msmq_wire.engines.codec import decode
from msmq_wire.wire.headers.compound_message_header import CompoundMessageHeader
from tests.wire.cases import Cases, bent, judge

CASES = Cases(
    data=bytes.fromhex(
        "f4 01 "  # HeaderId
        "a5 5a "  # Reserved
        "06 00 00 00 "  # HTTPBodySize
        "02 00 00 00 "  # MsgBodySize
        "03 00 00 00 "  # MsgBodyOffset
        "50 4f 53 bb bb 54 "  # Data
        "11 22 "  # padding
    ),
    value=CompoundMessageHeader(
        header_id=500,
        reserved=0x5AA5,
        http_body_size=6,
        msg_body_size=2,
        msg_body_offset=3,
        data=b"POS\xbb\xbbT",
        padding=b"\x11\x22",
    ),
    kept=[
        ({0: "0000"}, "header_id", 0),
        ({2: "0000"}, "reserved", 0),
        ({22: "0000"}, "padding", b"\x00\x00"),
    ],
    broken=[
        ({12: "05"}, [("message-body", "msg_body_offset", 12, 4)]),
    ],
    wrapping=[({4: "f0ffffff"}, [("http-body-size-wrap", "http_body_size", 4, 4)])],
    elsewhere={"message-body-wrap"},
    borders=[{12: "04"}, {8: "00000000", 12: "06"}],
    refused=[
        ({}, 15, ("missing-bytes", "msg_body_offset", 12)),
        ({}, 21, ("missing-bytes", "data", 16)),
        ({4: "ffffffff"}, None, ("missing-bytes", "data", 16)),
    ],
    contradictions=[
        ({"http_body_size": 5}, "data"),
        ({"padding": b"abc"}, "padding"),
    ],
)


def test_a_body_whose_place_wraps_in_32_bits_is_named_twice() -> None:
    found = judge("compound_message_header", bent(CASES.data, {8: "fdffffff"}))
    assert [code.partition(".")[2] for code, *_ in found] == ["message-body", "message-body-wrap"]


def test_the_message_body_is_taken_out_of_the_data() -> None:
    assert CASES.value.message_body == b"\xbb\xbb"
    outside = msgspec.structs.replace(CASES.value, msg_body_offset=0xFFFFFFFF)
    assert outside.message_body == b""


def test_padding_that_is_not_there_is_not_missed() -> None:
    assert decode(CASES.data[:22], "compound_message_header").padding == b""
