"""SoapHeader, [MS-MQMQ] 2.2.20.7."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from msmq_wire.engines.codec import decode, encode, inspect
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.soap_header import SoapHeader
from msmq_wire.wire.types.wchar_text import WcharText

Judge = Callable[[str, bytes, Mapping[int, str]], list[tuple[str, str, int, int]]]
Refusal = Callable[[str, bytes], tuple[str, str, int]]

_DATA = bytes.fromhex(
    "20 03 "  # HeaderSectionID
    "a5 5a "  # Reserved
    "03 00 00 00 "  # HeaderDataLength
    "3c 00 3e 00 00 00 "  # Header "<>"
    "11 22 "  # padding
    "84 03 "  # BodySectionID
    "5a a5 "  # Reserved1
    "02 00 00 00 "  # BodyDataLength
    "62 00 00 00 "  # Body "b"
)
_VALUE = SoapHeader(
    header_section_id=0x320,
    reserved=0x5AA5,
    header_data_length=3,
    header=WcharText.of("<>"),
    header_padding=b"\x11\x22",
    body_section_id=0x384,
    reserved1=0xA55A,
    body_data_length=2,
    body=WcharText.of("b"),
    padding=b"",
)

_BROKEN = [
    ({0: "2103"}, [("header-section-id", "header_section_id", 0, 2)]),
    (
        {16: "8503", 4: "04000000"},
        [("body-section-id", "body_section_id", 16, 2), ("header-terminated", "header", 8, 8)],
    ),
    ({12: "3f"}, [("header-terminated", "header", 8, 6)]),
    ({26: "01"}, [("body-terminated", "body", 24, 4)]),
]


def test_the_fields_lie_where_the_section_puts_them() -> None:
    assert decode(_DATA, "soap_header") == _VALUE
    assert encode(_VALUE) == _DATA


@pytest.mark.parametrize(
    ("patch", "field", "value"),
    [
        ({2: "0000"}, "reserved", 0),
        ({18: "0000"}, "reserved1", 0),
        ({14: "0000"}, "header_padding", b"\x00\x00"),
    ],
)
def test_bytes_without_a_meaning_are_kept_and_not_judged(
    patch: dict[int, str], field: str, value: int | bytes, judge: Judge, bent: Callable[[bytes, Any], bytes]
) -> None:
    assert getattr(decode(bent(_DATA, patch), "soap_header"), field) == value
    assert judge("soap_header", _DATA, patch) == []


@pytest.mark.parametrize(("patch", "spots"), _BROKEN, ids=[spots[0][0] for _, spots in _BROKEN])
def test_a_broken_must_is_named_where_it_lies(
    patch: dict[int, str], spots: list[tuple[str, str, int, int]], judge: Judge
) -> None:
    expected = [(f"soap_header.{code}", path, offset, length) for code, path, offset, length in spots]
    assert judge("soap_header", _DATA, patch) == expected


def test_every_must_is_broken_once_and_held_once(judge: Judge) -> None:
    elsewhere = {"body-size-wrap", "header-size-wrap"}
    assert [spots[0][0] for _, spots in _BROKEN] == [
        must.code for must in SoapHeader.MUSTS if must.code not in elsewhere
    ]
    assert judge("soap_header", _DATA, {}) == []


@pytest.mark.parametrize(
    ("patch", "cut", "expected"),
    [
        ({}, 1, ("missing-bytes", "header_section_id", 0)),
        ({}, 13, ("missing-bytes", "header", 8)),
        ({}, 27, ("missing-bytes", "body", 24)),
        ({4: "ffffffff"}, None, ("missing-bytes", "header", 8)),
        ({20: "00000080"}, None, ("missing-bytes", "body", 24)),
    ],
)
def test_bytes_that_cannot_be_decoded_are_refused_where_they_fail(
    patch: dict[int, str],
    cut: int | None,
    expected: tuple[str, str, int],
    refusal: Refusal,
    bent: Callable[[bytes, Any], bytes],
) -> None:
    assert refusal("soap_header", bent(_DATA, patch)[:cut]) == expected


@pytest.mark.parametrize(
    ("patch", "spots"),
    [
        ({4: "fcffff7f"}, [("header-size-wrap", "header_data_length", 4, 4)]),
        ({20: "ffffffff"}, [("body-size-wrap", "body_data_length", 20, 4)]),
    ],
)
def test_sums_that_wrap_in_32_bits_are_named_beside_the_error(
    patch: dict[int, str], spots: list[tuple[str, str, int, int]], bent: Callable[[bytes, Any], bytes]
) -> None:
    result = inspect(bent(_DATA, patch), "soap_header")
    assert result.error is not None
    found = [(found.code, found.path, found.offset, found.length) for found in result.anomalies]
    assert found == [(f"soap_header.{code}", path, offset, length) for code, path, offset, length in spots]


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"header_data_length": 2}, "header"),
        ({"body_data_length": 3}, "body"),
        ({"padding": b"abcd"}, "padding"),
    ],
)
def test_a_value_that_contradicts_itself_is_not_written(
    changes: dict[str, Any], path: str, contradiction: Callable[[WireStruct], str]
) -> None:
    assert contradiction(msgspec.structs.replace(_VALUE, **changes)) == path


def test_a_body_section_directly_behind_an_odd_header_is_found_too() -> None:
    data = _DATA[:14] + _DATA[16:] + b"\xa5\x5a"
    value = decode(data, "soap_header")
    assert (value.header_padding, value.body.text, value.padding) == (b"", "b", b"\xa5\x5a")
    assert encode(value) == data


def test_a_padding_that_no_decode_gives_is_not_written(
    contradiction: Callable[[WireStruct], str],
) -> None:
    assert contradiction(msgspec.structs.replace(_VALUE, header_padding=b"abc")) == "header_padding"


def test_padding_that_is_not_there_is_not_missed() -> None:
    data = _DATA[:20] + bytes.fromhex("01000000 0000")
    value = decode(data, "soap_header")
    assert (value.body.text, value.padding) == ("", b"")
    assert decode(data + b"\x01\x02", "soap_header").padding == b"\x01\x02"
