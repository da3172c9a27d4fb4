"""SubqueueHeader, [MS-MQRR] 2.2.5.3."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from msmq_wire.engines.codec import decode, encode
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.subqueue_header import SubqueueHeader
from msmq_wire.wire.types.wchar_text import FixedWcharText

Judge = Callable[[str, bytes, Mapping[int, str]], list[tuple[str, str, int, int]]]
Refusal = Callable[[str, bytes], tuple[str, str, int]]

_DATA = bytes.fromhex(
    "94 00 00 00 "  # HeaderSize
    "00 00 01 80 "  # TM 0, AcknowledgementClass 0x8000, Reserved 0x4000
    "05 00 00 00 "  # AbortCounter
    "06 00 00 00 "  # MoveCounter
    "07 00 00 00 "  # LastMoveTime
    "73 00 71 00 "  # SubqueueName "sq"
) + bytes(124)
_VALUE = SubqueueHeader(
    header_size=148,
    flags=0x80010000,
    abort_counter=5,
    move_counter=6,
    last_move_time=7,
    subqueue_name=FixedWcharText.padded("sq", 64),
    target_subqueue_name=FixedWcharText(64),
)

_BROKEN = [
    ({0: "98", 148: "01020304"}, [("header-size", "header_size", 0, 4)]),
    ({4: "01"}, [("tm", "flags", 4, 4)]),
    ({82: "0100"}, [("subqueue-name-filled", "subqueue_name", 20, 64)]),
    ({88: "0100"}, [("target-subqueue-name-filled", "target_subqueue_name", 84, 64)]),
]


def test_the_fields_lie_where_the_section_puts_them() -> None:
    assert decode(_DATA, "subqueue_header") == _VALUE
    assert encode(_VALUE) == _DATA


@pytest.mark.parametrize(("patch", "field", "value"), [({4: "00000080"}, "flags", 2147483648)])
def test_bytes_without_a_meaning_are_kept_and_not_judged(
    patch: dict[int, str], field: str, value: int | bytes, judge: Judge, bent: Callable[[bytes, Any], bytes]
) -> None:
    assert getattr(decode(bent(_DATA, patch), "subqueue_header"), field) == value
    assert judge("subqueue_header", _DATA, patch) == []


def test_the_bits_have_the_places_of_the_figure(check_bits: Callable[[WireStruct, str], None]) -> None:
    check_bits(_VALUE, "tm acknowledgement_class:16 reserved:15")


@pytest.mark.parametrize(("patch", "spots"), _BROKEN, ids=[spots[0][0] for _, spots in _BROKEN])
def test_a_broken_must_is_named_where_it_lies(
    patch: dict[int, str], spots: list[tuple[str, str, int, int]], judge: Judge
) -> None:
    expected = [(f"subqueue_header.{code}", path, offset, length) for code, path, offset, length in spots]
    assert judge("subqueue_header", _DATA, patch) == expected


def test_every_must_is_broken_once_and_held_once(judge: Judge) -> None:
    assert [spots[0][0] for _, spots in _BROKEN] == [must.code for must in SubqueueHeader.MUSTS]
    assert judge("subqueue_header", _DATA, {}) == []


@pytest.mark.parametrize("patch", [{20: "6100" * 32}, {84: "6100" * 31}])
def test_values_at_the_border_are_no_anomaly(patch: dict[int, str], judge: Judge) -> None:
    assert judge("subqueue_header", _DATA, patch) == []


@pytest.mark.parametrize(
    ("patch", "cut", "expected"),
    [
        ({}, 19, ("missing-bytes", "last_move_time", 16)),
        ({}, 83, ("missing-bytes", "subqueue_name", 20)),
        ({}, 147, ("missing-bytes", "target_subqueue_name", 84)),
        ({0: "93"}, None, ("negative-length", "undeclared", 148)),
        ({0: "ffffffff"}, None, ("missing-bytes", "undeclared", 148)),
    ],
)
def test_bytes_that_cannot_be_decoded_are_refused_where_they_fail(
    patch: dict[int, str],
    cut: int | None,
    expected: tuple[str, str, int],
    refusal: Refusal,
    bent: Callable[[bytes, Any], bytes],
) -> None:
    assert refusal("subqueue_header", bent(_DATA, patch)[:cut]) == expected


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"subqueue_name": FixedWcharText(62)}, "subqueue_name"),
        ({"header_size": 149}, "undeclared"),
    ],
)
def test_a_value_that_contradicts_itself_is_not_written(
    changes: dict[str, Any], path: str, contradiction: Callable[[WireStruct], str]
) -> None:
    assert contradiction(msgspec.structs.replace(_VALUE, **changes)) == path


def test_a_name_ends_at_its_first_nul_or_fills_the_field() -> None:
    assert _VALUE.subqueue_name.text == "sq"
    assert _VALUE.target_subqueue_name.text == ""
    full = decode(_DATA[:20] + b"a\0" * 32 + _DATA[84:], "subqueue_header")
    assert full.subqueue_name.text == "a" * 32
