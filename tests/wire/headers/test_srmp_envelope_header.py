"""SRMPEnvelopeHeader, [MS-MQRR] 2.2.5.1.2.1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from msmq_wire.engines.codec import decode, encode, inspect
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.srmp_envelope_header import SRMPEnvelopeHeader
from msmq_wire.wire.types.wchar_text import WcharText

Judge = Callable[[str, bytes, Mapping[int, str]], list[tuple[str, str, int, int]]]
Refusal = Callable[[str, bytes], tuple[str, str, int]]

_DATA = bytes.fromhex(
    "00 00 "  # HeaderId
    "a5 5a "  # Reserved
    "03 00 00 00 "  # DataLength
    "3c 00 3e 00 00 00 "  # Data "<>"
    "64 00 "  # padding
)
_VALUE = SRMPEnvelopeHeader(
    header_id=0, reserved=0x5AA5, data_length=3, data=WcharText.of("<>"), padding=b"d\0"
)

_BROKEN = [
    ({12: "21"}, [("data-terminated", "data", 8, 6)]),
]


def test_the_fields_lie_where_the_section_puts_them() -> None:
    assert decode(_DATA, "srmp_envelope_header") == _VALUE
    assert encode(_VALUE) == _DATA


@pytest.mark.parametrize(
    ("patch", "field", "value"),
    [({0: "ffff"}, "header_id", 65535), ({2: "0000"}, "reserved", 0), ({14: "0000"}, "padding", b"\x00\x00")],
)
def test_bytes_without_a_meaning_are_kept_and_not_judged(
    patch: dict[int, str], field: str, value: int | bytes, judge: Judge, bent: Callable[[bytes, Any], bytes]
) -> None:
    assert getattr(decode(bent(_DATA, patch), "srmp_envelope_header"), field) == value
    assert judge("srmp_envelope_header", _DATA, patch) == []


@pytest.mark.parametrize(("patch", "spots"), _BROKEN, ids=[spots[0][0] for _, spots in _BROKEN])
def test_a_broken_must_is_named_where_it_lies(
    patch: dict[int, str], spots: list[tuple[str, str, int, int]], judge: Judge
) -> None:
    expected = [
        (f"srmp_envelope_header.{code}", path, offset, length) for code, path, offset, length in spots
    ]
    assert judge("srmp_envelope_header", _DATA, patch) == expected


def test_every_must_is_broken_once_and_held_once(judge: Judge) -> None:
    elsewhere = {"data-length-wrap"}
    assert [spots[0][0] for _, spots in _BROKEN] == [
        must.code for must in SRMPEnvelopeHeader.MUSTS if must.code not in elsewhere
    ]
    assert judge("srmp_envelope_header", _DATA, {}) == []


@pytest.mark.parametrize(
    ("patch", "cut", "expected"),
    [
        ({}, 7, ("missing-bytes", "data_length", 4)),
        ({}, 13, ("missing-bytes", "data", 8)),
        ({}, 15, ("missing-bytes", "padding", 14)),
        ({4: "ffffffff"}, None, ("missing-bytes", "data", 8)),
    ],
)
def test_bytes_that_cannot_be_decoded_are_refused_where_they_fail(
    patch: dict[int, str],
    cut: int | None,
    expected: tuple[str, str, int],
    refusal: Refusal,
    bent: Callable[[bytes, Any], bytes],
) -> None:
    assert refusal("srmp_envelope_header", bent(_DATA, patch)[:cut]) == expected


@pytest.mark.parametrize(
    ("patch", "spots"),
    [
        ({4: "03000080", 14: "0000"}, [("data-length-wrap", "data_length", 4, 4)]),
        ({4: "fcffff7f", 14: "0000"}, [("data-length-wrap", "data_length", 4, 4)]),
    ],
)
def test_sums_that_wrap_in_32_bits_are_named_beside_the_error(
    patch: dict[int, str], spots: list[tuple[str, str, int, int]], bent: Callable[[bytes, Any], bytes]
) -> None:
    result = inspect(bent(_DATA, patch), "srmp_envelope_header")
    assert result.error is not None
    found = [(found.code, found.path, found.offset, found.length) for found in result.anomalies]
    assert found == [
        (f"srmp_envelope_header.{code}", path, offset, length) for code, path, offset, length in spots
    ]


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"data_length": 2}, "data"),
        ({"padding": b""}, "padding"),
    ],
)
def test_a_value_that_contradicts_itself_is_not_written(
    changes: dict[str, Any], path: str, contradiction: Callable[[WireStruct], str]
) -> None:
    assert contradiction(msgspec.structs.replace(_VALUE, **changes)) == path
