"""MQFSignatureHeader, [MS-MQMQ] 2.2.20.3."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from msmq_wire.engines.codec import decode, encode, inspect
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.mqf_signature_header import MQFSignatureHeader

Judge = Callable[[str, bytes, Mapping[int, str]], list[tuple[str, str, int, int]]]
Refusal = Callable[[str, bytes], tuple[str, str, int]]

_DATA = bytes.fromhex(
    "5e 01 "  # ID
    "a5 5a "  # Reserved
    "05 00 00 00 "  # Size
    "01 02 03 04 05 "  # Signature
    "11 22 33 "  # padding
)
_VALUE = MQFSignatureHeader(
    id=0x15E, reserved=0x5AA5, size=5, signature=b"\1\2\3\4\5", padding=b"\x11\x22\x33"
)

_BROKEN = [
    ({0: "5f"}, [("id", "id", 0, 2)]),
]


def test_the_fields_lie_where_the_section_puts_them() -> None:
    assert decode(_DATA, "mqf_signature_header") == _VALUE
    assert encode(_VALUE) == _DATA


@pytest.mark.parametrize(
    ("patch", "field", "value"), [({2: "0000"}, "reserved", 0), ({13: "000000"}, "padding", b"\x00\x00\x00")]
)
def test_bytes_without_a_meaning_are_kept_and_not_judged(
    patch: dict[int, str], field: str, value: int | bytes, judge: Judge, bent: Callable[[bytes, Any], bytes]
) -> None:
    assert getattr(decode(bent(_DATA, patch), "mqf_signature_header"), field) == value
    assert judge("mqf_signature_header", _DATA, patch) == []


@pytest.mark.parametrize(("patch", "spots"), _BROKEN, ids=[spots[0][0] for _, spots in _BROKEN])
def test_a_broken_must_is_named_where_it_lies(
    patch: dict[int, str], spots: list[tuple[str, str, int, int]], judge: Judge
) -> None:
    expected = [
        (f"mqf_signature_header.{code}", path, offset, length) for code, path, offset, length in spots
    ]
    assert judge("mqf_signature_header", _DATA, patch) == expected


def test_every_must_is_broken_once_and_held_once(judge: Judge) -> None:
    elsewhere = {"size-wrap"}
    assert [spots[0][0] for _, spots in _BROKEN] == [
        must.code for must in MQFSignatureHeader.MUSTS if must.code not in elsewhere
    ]
    assert judge("mqf_signature_header", _DATA, {}) == []


@pytest.mark.parametrize("patch", [{4: "00"}])
def test_values_at_the_border_are_no_anomaly(patch: dict[int, str], judge: Judge) -> None:
    assert judge("mqf_signature_header", _DATA, patch) == []


@pytest.mark.parametrize(
    ("patch", "cut", "expected"),
    [
        ({}, 7, ("missing-bytes", "size", 4)),
        ({}, 12, ("missing-bytes", "signature", 8)),
        ({4: "ffffffff"}, None, ("missing-bytes", "signature", 8)),
    ],
)
def test_bytes_that_cannot_be_decoded_are_refused_where_they_fail(
    patch: dict[int, str],
    cut: int | None,
    expected: tuple[str, str, int],
    refusal: Refusal,
    bent: Callable[[bytes, Any], bytes],
) -> None:
    assert refusal("mqf_signature_header", bent(_DATA, patch)[:cut]) == expected


@pytest.mark.parametrize(("patch", "spots"), [({4: "f8ffffff"}, [("size-wrap", "size", 4, 4)])])
def test_sums_that_wrap_in_32_bits_are_named_beside_the_error(
    patch: dict[int, str], spots: list[tuple[str, str, int, int]], bent: Callable[[bytes, Any], bytes]
) -> None:
    result = inspect(bent(_DATA, patch), "mqf_signature_header")
    assert result.error is not None
    found = [(found.code, found.path, found.offset, found.length) for found in result.anomalies]
    assert found == [
        (f"mqf_signature_header.{code}", path, offset, length) for code, path, offset, length in spots
    ]


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"size": 4}, "signature"),
        ({"padding": b"ab"}, "padding"),
    ],
)
def test_a_value_that_contradicts_itself_is_not_written(
    changes: dict[str, Any], path: str, contradiction: Callable[[WireStruct], str]
) -> None:
    assert contradiction(msgspec.structs.replace(_VALUE, **changes)) == path


def test_padding_that_is_not_there_is_not_missed() -> None:
    value = decode(_DATA[:13], "mqf_signature_header")
    assert (value.padding, encode(value)) == (b"", _DATA[:13])
