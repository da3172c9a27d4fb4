"""BaseHeader, [MS-MQMQ] 2.2.19.1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from msmq_wire.engines.codec import decode, encode
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.base_header import BaseHeader

Judge = Callable[[str, bytes, Mapping[int, str]], list[tuple[str, str, int, int]]]
Refusal = Callable[[str, bytes], tuple[str, str, int]]

_DATA = bytes.fromhex(
    "10 "  # VersionNumber
    "5a "  # Reserved
    "0b 00 "  # Flags: PR 3, IN
    "4c 49 4f 52 "  # Signature
    "3c 02 00 00 "  # PacketSize
    "00 46 05 00 "  # TimeToReachQueue
)
_VALUE = BaseHeader(
    version_number=0x10,
    reserved=0x5A,
    flags=0x000B,
    signature=0x524F494C,
    packet_size=572,
    time_to_reach_queue=345600,
)

_BROKEN = [
    ({0: "11"}, [("version-number", "version_number", 0, 1)]),
    ({4: "4d"}, [("signature", "signature", 4, 4)]),
    ({8: "01004000"}, [("packet-size-maximum", "packet_size", 8, 4)]),
    ({2: "0b01"}, [("tracing", "flags", 2, 2)]),
]


def test_the_fields_lie_where_the_section_puts_them() -> None:
    assert decode(_DATA, "base_header") == _VALUE
    assert encode(_VALUE) == _DATA


@pytest.mark.parametrize(
    ("patch", "field", "value"), [({1: "cd"}, "reserved", 205), ({2: "c3fe"}, "flags", 65219)]
)
def test_bytes_without_a_meaning_are_kept_and_not_judged(
    patch: dict[int, str], field: str, value: int | bytes, judge: Judge, bent: Callable[[bytes, Any], bytes]
) -> None:
    assert getattr(decode(bent(_DATA, patch), "base_header"), field) == value
    assert judge("base_header", _DATA, patch) == []


def test_the_bits_have_the_places_of_the_figure(check_bits: Callable[[WireStruct, str], None]) -> None:
    check_bits(_VALUE, "pr:3 in sh dh x9 x8 tr x6 x5 x4 x3 x2 x1 x0")


@pytest.mark.parametrize(("patch", "spots"), _BROKEN, ids=[spots[0][0] for _, spots in _BROKEN])
def test_a_broken_must_is_named_where_it_lies(
    patch: dict[int, str], spots: list[tuple[str, str, int, int]], judge: Judge
) -> None:
    expected = [(f"base_header.{code}", path, offset, length) for code, path, offset, length in spots]
    assert judge("base_header", _DATA, patch) == expected


def test_every_must_is_broken_once_and_held_once(judge: Judge) -> None:
    assert [spots[0][0] for _, spots in _BROKEN] == [must.code for must in BaseHeader.MUSTS]
    assert judge("base_header", _DATA, {}) == []


@pytest.mark.parametrize("patch", [{8: "00004000"}, {8: "00000000"}, {2: "2b01"}, {12: "ffffffff"}])
def test_values_at_the_border_are_no_anomaly(patch: dict[int, str], judge: Judge) -> None:
    assert judge("base_header", _DATA, patch) == []


@pytest.mark.parametrize(
    ("patch", "cut", "expected"),
    [
        ({}, 3, ("missing-bytes", "flags", 2)),
        ({}, 15, ("missing-bytes", "time_to_reach_queue", 12)),
        ({}, 0, ("missing-bytes", "version_number", 0)),
    ],
)
def test_bytes_that_cannot_be_decoded_are_refused_where_they_fail(
    patch: dict[int, str],
    cut: int | None,
    expected: tuple[str, str, int],
    refusal: Refusal,
    bent: Callable[[bytes, Any], bytes],
) -> None:
    assert refusal("base_header", bent(_DATA, patch)[:cut]) == expected


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"version_number": 256}, "version_number"),
        ({"flags": -1}, "flags"),
        ({"packet_size": 1 << 32}, "packet_size"),
    ],
)
def test_a_value_that_contradicts_itself_is_not_written(
    changes: dict[str, Any], path: str, contradiction: Callable[[WireStruct], str]
) -> None:
    assert contradiction(msgspec.structs.replace(_VALUE, **changes)) == path


def test_the_names_of_bits_are_checked() -> None:
    with pytest.raises(KeyError):
        _VALUE.bit("x7")
    assert (_VALUE.bit("pr"), _VALUE.bit("in"), _VALUE.bit("sh")) == (3, 1, 0)
