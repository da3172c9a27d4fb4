"""ExtensionHeader, [MS-MQRR] 2.2.5.2."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from msmq_wire.engines.codec import decode, encode
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.extension_header import ExtensionHeader

Judge = Callable[[str, bytes, Mapping[int, str]], list[tuple[str, str, int, int]]]
Refusal = Callable[[str, bytes], tuple[str, str, int]]

_DATA = bytes.fromhex(
    "0c 00 00 00 "  # HeaderSize
    "b0 00 00 00 "  # RemainingHeadersSize
    "12 "  # Flags: SQ, EA
    "a5 5a ff "  # Reserved
)
_VALUE = ExtensionHeader(header_size=12, remaining_headers_size=176, flags=0x12, reserved=b"\xa5\x5a\xff")

_BROKEN = [
    ({0: "0e", 12: "aabb"}, [("header-size", "header_size", 0, 4)]),
    ({8: "10"}, [("subqueue", "flags", 8, 1)]),
    ({8: "02"}, [("extended-address", "flags", 8, 1)]),
]


def test_the_fields_lie_where_the_section_puts_them() -> None:
    assert decode(_DATA, "extension_header") == _VALUE
    assert encode(_VALUE) == _DATA


@pytest.mark.parametrize(
    ("patch", "field", "value"),
    [({9: "000000"}, "reserved", b"\x00\x00\x00"), ({8: "f6"}, "flags", 246), ({8: "1a"}, "flags", 26)],
)
def test_bytes_without_a_meaning_are_kept_and_not_judged(
    patch: dict[int, str], field: str, value: int | bytes, judge: Judge, bent: Callable[[bytes, Any], bytes]
) -> None:
    assert getattr(decode(bent(_DATA, patch), "extension_header"), field) == value
    assert judge("extension_header", _DATA, patch) == []


def test_the_bits_have_the_places_of_the_figure(check_bits: Callable[[WireStruct, str], None]) -> None:
    check_bits(_VALUE, "dl sq x2 di ea x5 x6 x7")


@pytest.mark.parametrize(("patch", "spots"), _BROKEN, ids=[spots[0][0] for _, spots in _BROKEN])
def test_a_broken_must_is_named_where_it_lies(
    patch: dict[int, str], spots: list[tuple[str, str, int, int]], judge: Judge
) -> None:
    expected = [(f"extension_header.{code}", path, offset, length) for code, path, offset, length in spots]
    assert judge("extension_header", _DATA, patch) == expected


def test_every_must_is_broken_once_and_held_once(judge: Judge) -> None:
    assert [spots[0][0] for _, spots in _BROKEN] == [must.code for must in ExtensionHeader.MUSTS]
    assert judge("extension_header", _DATA, {}) == []


@pytest.mark.parametrize("patch", [{8: "13"}])
def test_values_at_the_border_are_no_anomaly(patch: dict[int, str], judge: Judge) -> None:
    assert judge("extension_header", _DATA, patch) == []


@pytest.mark.parametrize(
    ("patch", "cut", "expected"),
    [
        ({}, 3, ("missing-bytes", "header_size", 0)),
        ({}, 11, ("missing-bytes", "reserved", 9)),
        ({0: "0b"}, None, ("negative-length", "undeclared", 12)),
        ({0: "ffffffff"}, None, ("missing-bytes", "undeclared", 12)),
    ],
)
def test_bytes_that_cannot_be_decoded_are_refused_where_they_fail(
    patch: dict[int, str],
    cut: int | None,
    expected: tuple[str, str, int],
    refusal: Refusal,
    bent: Callable[[bytes, Any], bytes],
) -> None:
    assert refusal("extension_header", bent(_DATA, patch)[:cut]) == expected


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"header_size": 13}, "undeclared"),
        ({"reserved": b""}, "reserved"),
    ],
)
def test_a_value_that_contradicts_itself_is_not_written(
    changes: dict[str, Any], path: str, contradiction: Callable[[WireStruct], str]
) -> None:
    assert contradiction(msgspec.structs.replace(_VALUE, **changes)) == path
