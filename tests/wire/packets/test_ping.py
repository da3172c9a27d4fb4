"""Ping, [MS-MQQB] 2.2.7."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from msmq_wire.engines.codec import decode, encode, inspect
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.packets.ping import Ping
from msmq_wire.wire.types.guid import GUID

Judge = Callable[[str, bytes, Mapping[int, str]], list[tuple[str, str, int, int]]]
Refusal = Callable[[str, bytes], tuple[str, str, int]]

_DATA = bytes.fromhex(
    "01 7d "  # Flags: RC and garbage
    "48 55 "  # Signature
    "04 00 00 00 "  # Cookie
    "d4c3b2a1 f6e5 8947 8abcdef012345678 "  # QMGuid
)
_VALUE = Ping(
    flags=0x7D01, signature=0x5548, cookie=4, qm_guid=GUID.parse("a1b2c3d4-e5f6-4789-8abc-def012345678")
)

_BROKEN = [
    ({2: "49"}, [("signature", "signature", 2, 2)]),
]


def test_the_fields_lie_where_the_section_puts_them() -> None:
    assert decode(_DATA, "ping") == _VALUE
    assert encode(_VALUE) == _DATA


@pytest.mark.parametrize(("patch", "field", "value"), [({0: "feff"}, "flags", 65534)])
def test_bytes_without_a_meaning_are_kept_and_not_judged(
    patch: dict[int, str], field: str, value: int | bytes, judge: Judge, bent: Callable[[bytes, Any], bytes]
) -> None:
    assert getattr(decode(bent(_DATA, patch), "ping"), field) == value
    assert judge("ping", _DATA, patch) == []


def test_the_bits_have_the_places_of_the_figure(check_bits: Callable[[WireStruct, str], None]) -> None:
    check_bits(_VALUE, "rc rf x:14")


@pytest.mark.parametrize(("patch", "spots"), _BROKEN, ids=[spots[0][0] for _, spots in _BROKEN])
def test_a_broken_must_is_named_where_it_lies(
    patch: dict[int, str], spots: list[tuple[str, str, int, int]], judge: Judge
) -> None:
    expected = [(f"ping.{code}", path, offset, length) for code, path, offset, length in spots]
    assert judge("ping", _DATA, patch) == expected


def test_every_must_is_broken_once_and_held_once(judge: Judge) -> None:
    assert [spots[0][0] for _, spots in _BROKEN] == [must.code for must in Ping.MUSTS]
    assert judge("ping", _DATA, {}) == []


@pytest.mark.parametrize("patch", [{4: "ffffffff"}])
def test_values_at_the_border_are_no_anomaly(patch: dict[int, str], judge: Judge) -> None:
    assert judge("ping", _DATA, patch) == []


@pytest.mark.parametrize(
    ("patch", "cut", "expected"),
    [
        ({}, 0, ("missing-bytes", "flags", 0)),
        ({}, 7, ("missing-bytes", "cookie", 4)),
        ({}, 23, ("missing-bytes", "qm_guid", 8)),
    ],
)
def test_bytes_that_cannot_be_decoded_are_refused_where_they_fail(
    patch: dict[int, str],
    cut: int | None,
    expected: tuple[str, str, int],
    refusal: Refusal,
    bent: Callable[[bytes, Any], bytes],
) -> None:
    assert refusal("ping", bent(_DATA, patch)[:cut]) == expected


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"qm_guid": GUID()}, "qm_guid"),
        ({"flags": 1 << 16}, "flags"),
    ],
)
def test_a_value_that_contradicts_itself_is_not_written(
    changes: dict[str, Any], path: str, contradiction: Callable[[WireStruct], str]
) -> None:
    assert contradiction(msgspec.structs.replace(_VALUE, **changes)) == path


def test_a_ping_is_recognised_by_its_signature() -> None:
    assert decode(_DATA) == _VALUE
    assert inspect(_DATA + b"more").remainder == b"more"
