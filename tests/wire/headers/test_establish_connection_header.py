"""EstablishConnectionHeader, [MS-MQQB] 2.2.3.1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from msmq_wire.engines.codec import decode, encode
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.establish_connection_header import EstablishConnectionHeader
from msmq_wire.wire.types.guid import GUID, NULL_GUID

Judge = Callable[[str, bytes, Mapping[int, str]], list[tuple[str, str, int, int]]]
Refusal = Callable[[str, bytes], tuple[str, str, int]]

_DATA = (
    bytes.fromhex(
        "d4c3b2a1 f6e5 8947 8abcdef012345678 "  # ClientGuid
        "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 "  # ServerGuid
        "4e ca de 1d "  # TimeStamp
        "10 03 "  # OperatingSystem: RE 0x10, SE, OS
        "00 00 "  # Reserved
    )
    + b"\xa5" * 512
)
_VALUE = EstablishConnectionHeader(
    client_guid=GUID.parse("a1b2c3d4-e5f6-4789-8abc-def012345678"),
    server_guid=NULL_GUID,
    time_stamp=501140046,
    operating_system=0x0310,
    reserved=0,
    padding=b"\xa5" * 512,
)

_BROKEN = [
    ({36: "00"}, [("operating-system", "operating_system", 36, 2)]),
    ({38: "0100"}, [("reserved", "reserved", 38, 2)]),
]


def test_the_fields_lie_where_the_section_puts_them() -> None:
    assert decode(_DATA, "establish_connection_header") == _VALUE
    assert encode(_VALUE) == _DATA


@pytest.mark.parametrize(
    ("patch", "field", "value"),
    [({36: "10ff"}, "operating_system", 65296), ({32: "00000000"}, "time_stamp", 0)],
)
def test_bytes_without_a_meaning_are_kept_and_not_judged(
    patch: dict[int, str], field: str, value: int | bytes, judge: Judge, bent: Callable[[bytes, Any], bytes]
) -> None:
    assert getattr(decode(bent(_DATA, patch), "establish_connection_header"), field) == value
    assert judge("establish_connection_header", _DATA, patch) == []


def test_the_bits_have_the_places_of_the_figure(check_bits: Callable[[WireStruct, str], None]) -> None:
    check_bits(_VALUE, "re:8 se os qs x11 x12 x13 x14 x15")


@pytest.mark.parametrize(("patch", "spots"), _BROKEN, ids=[spots[0][0] for _, spots in _BROKEN])
def test_a_broken_must_is_named_where_it_lies(
    patch: dict[int, str], spots: list[tuple[str, str, int, int]], judge: Judge
) -> None:
    expected = [
        (f"establish_connection_header.{code}", path, offset, length) for code, path, offset, length in spots
    ]
    assert judge("establish_connection_header", _DATA, patch) == expected


def test_every_must_is_broken_once_and_held_once(judge: Judge) -> None:
    assert [spots[0][0] for _, spots in _BROKEN] == [must.code for must in EstablishConnectionHeader.MUSTS]
    assert judge("establish_connection_header", _DATA, {}) == []


@pytest.mark.parametrize(
    ("patch", "cut", "expected"),
    [
        ({}, 15, ("missing-bytes", "client_guid", 0)),
        ({}, 39, ("missing-bytes", "reserved", 38)),
        ({}, 551, ("missing-bytes", "padding", 40)),
    ],
)
def test_bytes_that_cannot_be_decoded_are_refused_where_they_fail(
    patch: dict[int, str],
    cut: int | None,
    expected: tuple[str, str, int],
    refusal: Refusal,
    bent: Callable[[bytes, Any], bytes],
) -> None:
    assert refusal("establish_connection_header", bent(_DATA, patch)[:cut]) == expected


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"padding": bytes(511)}, "padding"),
    ],
)
def test_a_value_that_contradicts_itself_is_not_written(
    changes: dict[str, Any], path: str, contradiction: Callable[[WireStruct], str]
) -> None:
    assert contradiction(msgspec.structs.replace(_VALUE, **changes)) == path
