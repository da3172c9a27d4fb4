"""CompoundMessageHeader, [MS-MQRR] 2.2.5.1.2.2."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from msmq_wire.engines.codec import decode, encode, inspect
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.compound_message_header import CompoundMessageHeader

Judge = Callable[[str, bytes, Mapping[int, str]], list[tuple[str, str, int, int]]]
Refusal = Callable[[str, bytes], tuple[str, str, int]]

_DATA = bytes.fromhex(
    "f4 01 "  # HeaderId
    "a5 5a "  # Reserved
    "06 00 00 00 "  # HTTPBodySize
    "02 00 00 00 "  # MsgBodySize
    "03 00 00 00 "  # MsgBodyOffset
    "50 4f 53 bb bb 54 "  # Data
    "11 22 "  # padding
)
_VALUE = CompoundMessageHeader(
    header_id=500,
    reserved=0x5AA5,
    http_body_size=6,
    msg_body_size=2,
    msg_body_offset=3,
    data=b"POS\xbb\xbbT",
    padding=b"\x11\x22",
)

_BROKEN = [
    ({12: "05"}, [("message-body", "msg_body_offset", 12, 4)]),
]


def test_the_fields_lie_where_the_section_puts_them() -> None:
    assert decode(_DATA, "compound_message_header") == _VALUE
    assert encode(_VALUE) == _DATA


@pytest.mark.parametrize(
    ("patch", "field", "value"),
    [({0: "0000"}, "header_id", 0), ({2: "0000"}, "reserved", 0), ({22: "0000"}, "padding", b"\x00\x00")],
)
def test_bytes_without_a_meaning_are_kept_and_not_judged(
    patch: dict[int, str], field: str, value: int | bytes, judge: Judge, bent: Callable[[bytes, Any], bytes]
) -> None:
    assert getattr(decode(bent(_DATA, patch), "compound_message_header"), field) == value
    assert judge("compound_message_header", _DATA, patch) == []


@pytest.mark.parametrize(("patch", "spots"), _BROKEN, ids=[spots[0][0] for _, spots in _BROKEN])
def test_a_broken_must_is_named_where_it_lies(
    patch: dict[int, str], spots: list[tuple[str, str, int, int]], judge: Judge
) -> None:
    expected = [
        (f"compound_message_header.{code}", path, offset, length) for code, path, offset, length in spots
    ]
    assert judge("compound_message_header", _DATA, patch) == expected


def test_every_must_is_broken_once_and_held_once(judge: Judge) -> None:
    elsewhere = {"http-body-size-wrap", "message-body-wrap"}
    assert [spots[0][0] for _, spots in _BROKEN] == [
        must.code for must in CompoundMessageHeader.MUSTS if must.code not in elsewhere
    ]
    assert judge("compound_message_header", _DATA, {}) == []


@pytest.mark.parametrize("patch", [{12: "04"}, {8: "00000000", 12: "06"}])
def test_values_at_the_border_are_no_anomaly(patch: dict[int, str], judge: Judge) -> None:
    assert judge("compound_message_header", _DATA, patch) == []


@pytest.mark.parametrize(
    ("patch", "cut", "expected"),
    [
        ({}, 15, ("missing-bytes", "msg_body_offset", 12)),
        ({}, 21, ("missing-bytes", "data", 16)),
        ({4: "ffffffff"}, None, ("missing-bytes", "data", 16)),
    ],
)
def test_bytes_that_cannot_be_decoded_are_refused_where_they_fail(
    patch: dict[int, str],
    cut: int | None,
    expected: tuple[str, str, int],
    refusal: Refusal,
    bent: Callable[[bytes, Any], bytes],
) -> None:
    assert refusal("compound_message_header", bent(_DATA, patch)[:cut]) == expected


@pytest.mark.parametrize(
    ("patch", "spots"), [({4: "f0ffffff"}, [("http-body-size-wrap", "http_body_size", 4, 4)])]
)
def test_sums_that_wrap_in_32_bits_are_named_beside_the_error(
    patch: dict[int, str], spots: list[tuple[str, str, int, int]], bent: Callable[[bytes, Any], bytes]
) -> None:
    result = inspect(bent(_DATA, patch), "compound_message_header")
    assert result.error is not None
    found = [(found.code, found.path, found.offset, found.length) for found in result.anomalies]
    assert found == [
        (f"compound_message_header.{code}", path, offset, length) for code, path, offset, length in spots
    ]


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"http_body_size": 5}, "data"),
        ({"padding": b"abc"}, "padding"),
    ],
)
def test_a_value_that_contradicts_itself_is_not_written(
    changes: dict[str, Any], path: str, contradiction: Callable[[WireStruct], str]
) -> None:
    assert contradiction(msgspec.structs.replace(_VALUE, **changes)) == path


def test_a_body_whose_place_wraps_in_32_bits_is_named_twice(judge: Judge) -> None:
    found = judge("compound_message_header", _DATA, {8: "fdffffff"})
    assert [code.partition(".")[2] for code, *_ in found] == ["message-body", "message-body-wrap"]


def test_the_message_body_is_taken_out_of_the_data() -> None:
    assert _VALUE.message_body == b"\xbb\xbb"
    outside = msgspec.structs.replace(_VALUE, msg_body_offset=0xFFFFFFFF)
    assert outside.message_body == b""


def test_padding_that_is_not_there_is_not_missed() -> None:
    assert decode(_DATA[:22], "compound_message_header").padding == b""
