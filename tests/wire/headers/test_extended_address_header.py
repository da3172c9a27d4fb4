"""ExtendedAddressHeader, [MS-MQRR] 2.2.5.5."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from msmq_wire.engines.codec import decode, encode
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.extended_address_header import ExtendedAddressHeader

Judge = Callable[[str, bytes, Mapping[int, str]], list[tuple[str, str, int, int]]]
Refusal = Callable[[str, bytes], tuple[str, str, int]]

_DATA = bytes.fromhex(
    "1c 00 00 00 "  # HeaderSize
    "10 00 "  # AddressLength
    "06 00 "  # AddressType
    "03 00 00 00 "  # AddressScope
    "fe 80 00 00 00 00 00 00 00 00 00 00 00 00 00 01 "  # Address
)
_VALUE = ExtendedAddressHeader(
    header_size=28,
    address_length=16,
    address_type=6,
    address_scope=3,
    address=bytes.fromhex("fe80") + bytes(13) + bytes((1,)),
)

_BROKEN = [
    ({0: "20", 28: "01020304"}, [("header-size", "header_size", 0, 4)]),
    ({6: "02", 8: "00"}, [("address-type", "address_type", 6, 2)]),
    ({4: "08"}, [("address-length", "address_length", 4, 2)]),
    ({4: "04000100"}, [("address-scope", "address_scope", 8, 4)]),
]


def test_the_fields_lie_where_the_section_puts_them() -> None:
    assert decode(_DATA, "extended_address_header") == _VALUE
    assert encode(_VALUE) == _DATA


@pytest.mark.parametrize(("patch", "spots"), _BROKEN, ids=[spots[0][0] for _, spots in _BROKEN])
def test_a_broken_must_is_named_where_it_lies(
    patch: dict[int, str], spots: list[tuple[str, str, int, int]], judge: Judge
) -> None:
    expected = [
        (f"extended_address_header.{code}", path, offset, length) for code, path, offset, length in spots
    ]
    assert judge("extended_address_header", _DATA, patch) == expected


def test_every_must_is_broken_once_and_held_once(judge: Judge) -> None:
    assert [spots[0][0] for _, spots in _BROKEN] == [must.code for must in ExtendedAddressHeader.MUSTS]
    assert judge("extended_address_header", _DATA, {}) == []


@pytest.mark.parametrize(
    "patch", [{4: "0400010000000000"}, {6: "0000"}, {4: "0000000000000000"}, {8: "00000000"}]
)
def test_values_at_the_border_are_no_anomaly(patch: dict[int, str], judge: Judge) -> None:
    assert judge("extended_address_header", _DATA, patch) == []


@pytest.mark.parametrize(
    ("patch", "cut", "expected"),
    [
        ({}, 11, ("missing-bytes", "address_scope", 8)),
        ({}, 27, ("missing-bytes", "address", 12)),
        ({0: "1b"}, None, ("negative-length", "undeclared", 28)),
        ({0: "ffffffff"}, None, ("missing-bytes", "undeclared", 28)),
    ],
)
def test_bytes_that_cannot_be_decoded_are_refused_where_they_fail(
    patch: dict[int, str],
    cut: int | None,
    expected: tuple[str, str, int],
    refusal: Refusal,
    bent: Callable[[bytes, Any], bytes],
) -> None:
    assert refusal("extended_address_header", bent(_DATA, patch)[:cut]) == expected


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"address": bytes(8)}, "address"),
        ({"address_length": 1 << 16}, "address_length"),
    ],
)
def test_a_value_that_contradicts_itself_is_not_written(
    changes: dict[str, Any], path: str, contradiction: Callable[[WireStruct], str]
) -> None:
    assert contradiction(msgspec.structs.replace(_VALUE, **changes)) == path
