"""InternalHeader, [MS-MQQB] 2.2.1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from msmq_wire.engines.codec import decode, encode
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.internal_header import InternalHeader

Judge = Callable[[str, bytes, Mapping[int, str]], list[tuple[str, str, int, int]]]
Refusal = Callable[[str, bytes], tuple[str, str, int]]

_DATA = bytes.fromhex(
    "00 00 "  # Reserved
    "12 00 "  # Flags: PT 2, CS
)
_VALUE = InternalHeader(reserved=0, flags=0x12)

_BROKEN = [
    ({0: "0001"}, [("reserved", "reserved", 0, 2)]),
    ({2: "04"}, [("packet-type", "flags", 2, 2)]),
    ({2: "11"}, [("connection-state", "flags", 2, 2)]),
]


def test_the_fields_lie_where_the_section_puts_them() -> None:
    assert decode(_DATA, "internal_header") == _VALUE
    assert encode(_VALUE) == _DATA


@pytest.mark.parametrize(("patch", "field", "value"), [({2: "f2ff"}, "flags", 65522)])
def test_bytes_without_a_meaning_are_kept_and_not_judged(
    patch: dict[int, str], field: str, value: int | bytes, judge: Judge, bent: Callable[[bytes, Any], bytes]
) -> None:
    assert getattr(decode(bent(_DATA, patch), "internal_header"), field) == value
    assert judge("internal_header", _DATA, patch) == []


def test_the_bits_have_the_places_of_the_figure(check_bits: Callable[[WireStruct, str], None]) -> None:
    check_bits(_VALUE, "pt:4 cs x5 x6 x7 x8 x9 x10 x11 x12 x13 x14 x15")


@pytest.mark.parametrize(("patch", "spots"), _BROKEN, ids=[spots[0][0] for _, spots in _BROKEN])
def test_a_broken_must_is_named_where_it_lies(
    patch: dict[int, str], spots: list[tuple[str, str, int, int]], judge: Judge
) -> None:
    expected = [(f"internal_header.{code}", path, offset, length) for code, path, offset, length in spots]
    assert judge("internal_header", _DATA, patch) == expected


def test_every_must_is_broken_once_and_held_once(judge: Judge) -> None:
    assert [spots[0][0] for _, spots in _BROKEN] == [must.code for must in InternalHeader.MUSTS]
    assert judge("internal_header", _DATA, {}) == []


@pytest.mark.parametrize("patch", [{2: "01"}, {2: "13"}])
def test_values_at_the_border_are_no_anomaly(patch: dict[int, str], judge: Judge) -> None:
    assert judge("internal_header", _DATA, patch) == []


@pytest.mark.parametrize(
    ("patch", "cut", "expected"),
    [({}, 1, ("missing-bytes", "reserved", 0)), ({}, 3, ("missing-bytes", "flags", 2))],
)
def test_bytes_that_cannot_be_decoded_are_refused_where_they_fail(
    patch: dict[int, str],
    cut: int | None,
    expected: tuple[str, str, int],
    refusal: Refusal,
    bent: Callable[[bytes, Any], bytes],
) -> None:
    assert refusal("internal_header", bent(_DATA, patch)[:cut]) == expected


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"flags": 1 << 16}, "flags"),
    ],
)
def test_a_value_that_contradicts_itself_is_not_written(
    changes: dict[str, Any], path: str, contradiction: Callable[[WireStruct], str]
) -> None:
    assert contradiction(msgspec.structs.replace(_VALUE, **changes)) == path
