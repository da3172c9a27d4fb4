"""DebugHeader, [MS-MQMQ] 2.2.20.8."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from msmq_wire.engines.codec import decode, encode
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.debug_header import DebugHeader
from msmq_wire.wire.types.guid import GUID

Judge = Callable[[str, bytes, Mapping[int, str]], list[tuple[str, str, int, int]]]
Refusal = Callable[[str, bytes], tuple[str, str, int]]

_DATA = bytes.fromhex(
    "01 00 "  # Flags: QT 1
    "a5 5a "  # Reserved
    "d4c3b2a1 f6e5 8947 8abcdef012345678 "  # QueueIdentifier
)
_VALUE = DebugHeader(
    flags=1, reserved=0x5AA5, queue_identifier=GUID.parse("a1b2c3d4-e5f6-4789-8abc-def012345678")
)

_BROKEN = [
    ({0: "02"}, [("queue-type", "flags", 0, 2)]),
]


def test_the_fields_lie_where_the_section_puts_them() -> None:
    assert decode(_DATA, "debug_header") == _VALUE
    assert encode(_VALUE) == _DATA


@pytest.mark.parametrize(
    ("patch", "field", "value"), [({0: "fdff"}, "flags", 65533), ({2: "0000"}, "reserved", 0)]
)
def test_bytes_without_a_meaning_are_kept_and_not_judged(
    patch: dict[int, str], field: str, value: int | bytes, judge: Judge, bent: Callable[[bytes, Any], bytes]
) -> None:
    assert getattr(decode(bent(_DATA, patch), "debug_header"), field) == value
    assert judge("debug_header", _DATA, patch) == []


def test_the_bits_have_the_places_of_the_figure(check_bits: Callable[[WireStruct, str], None]) -> None:
    check_bits(_VALUE, "qt:2 x2 x3 x4 x5 x6 x7 x8 x9 x10 x11 x12 x13 x14 x15")


@pytest.mark.parametrize(("patch", "spots"), _BROKEN, ids=[spots[0][0] for _, spots in _BROKEN])
def test_a_broken_must_is_named_where_it_lies(
    patch: dict[int, str], spots: list[tuple[str, str, int, int]], judge: Judge
) -> None:
    expected = [(f"debug_header.{code}", path, offset, length) for code, path, offset, length in spots]
    assert judge("debug_header", _DATA, patch) == expected


def test_every_must_is_broken_once_and_held_once(judge: Judge) -> None:
    assert [spots[0][0] for _, spots in _BROKEN] == [must.code for must in DebugHeader.MUSTS]
    assert judge("debug_header", _DATA, {}) == []


@pytest.mark.parametrize("patch", [{0: "00"}])
def test_values_at_the_border_are_no_anomaly(patch: dict[int, str], judge: Judge) -> None:
    assert judge("debug_header", _DATA, patch) == []


@pytest.mark.parametrize(
    ("patch", "cut", "expected"),
    [
        ({}, 1, ("missing-bytes", "flags", 0)),
        ({}, 3, ("missing-bytes", "reserved", 2)),
        ({}, 19, ("missing-bytes", "queue_identifier", 4)),
    ],
)
def test_bytes_that_cannot_be_decoded_are_refused_where_they_fail(
    patch: dict[int, str],
    cut: int | None,
    expected: tuple[str, str, int],
    refusal: Refusal,
    bent: Callable[[bytes, Any], bytes],
) -> None:
    assert refusal("debug_header", bent(_DATA, patch)[:cut]) == expected


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"queue_identifier": None}, "queue_identifier"),
        ({"flags": 0}, "queue_identifier"),
        ({"flags": 3}, "queue_identifier"),
    ],
)
def test_a_value_that_contradicts_itself_is_not_written(
    changes: dict[str, Any], path: str, contradiction: Callable[[WireStruct], str]
) -> None:
    assert contradiction(msgspec.structs.replace(_VALUE, **changes)) == path
