"""ConnectionParameters, [MS-MQQB] 2.2.2."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from msmq_wire.engines.codec import decode, encode, inspect
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.base_header import BaseHeader
from msmq_wire.wire.headers.connection_parameters_header import ConnectionParametersHeader
from msmq_wire.wire.headers.internal_header import InternalHeader
from msmq_wire.wire.packets.connection_parameters import ConnectionParameters

Judge = Callable[[str, bytes, Mapping[int, str]], list[tuple[str, str, int, int]]]
Refusal = Callable[[str, bytes], tuple[str, str, int]]

_DATA = bytes.fromhex(
    "10 cd 0b 00 "  # BaseHeader
    "4c 49 4f 52 "
    "20 00 00 00 "  # PacketSize
    "ff ff ff ff "  # TimeToReachQueue
    "00 00 03 00 "  # InternalHeader
    "d8 05 00 00 c0 d4 01 00 00 00 40 00 "  # ConnectionParametersHeader
)
_VALUE = ConnectionParameters(
    base_header=BaseHeader(reserved=0xCD, flags=0x0B, packet_size=32),
    internal_header=InternalHeader(flags=3),
    connection_parameters_header=ConnectionParametersHeader(recoverable_ack_timeout=0x5D8),
)

_BROKEN = [
    ({18: "01"}, [("packet-type", "internal_header.flags", 18, 2)]),
    ({2: "1b"}, [("session-header", "base_header.flags", 2, 2)]),
    ({2: "03"}, [("internal", "base_header.flags", 2, 2)]),
    ({2: "2b"}, [("no-debug-header", "base_header.flags", 2, 2)]),
    ({12: "00"}, [("time-to-reach-queue", "base_header.time_to_reach_queue", 12, 4)]),
    ({8: "24000000", 32: "aabbccdd"}, [("undeclared", "undeclared", 32, 4)]),
]


def test_the_fields_lie_where_the_section_puts_them() -> None:
    assert decode(_DATA, "connection_parameters") == _VALUE
    assert encode(_VALUE) == _DATA


@pytest.mark.parametrize(("patch", "spots"), _BROKEN, ids=[spots[0][0] for _, spots in _BROKEN])
def test_a_broken_must_is_named_where_it_lies(
    patch: dict[int, str], spots: list[tuple[str, str, int, int]], judge: Judge
) -> None:
    expected = [
        (f"connection_parameters.{code}", path, offset, length) for code, path, offset, length in spots
    ]
    assert judge("connection_parameters", _DATA, patch) == expected


def test_every_must_is_broken_once_and_held_once(judge: Judge) -> None:
    assert [spots[0][0] for _, spots in _BROKEN] == [must.code for must in ConnectionParameters.MUSTS]
    assert judge("connection_parameters", _DATA, {}) == []


@pytest.mark.parametrize("patch", [{1: "00"}, {2: "08"}])
def test_values_at_the_border_are_no_anomaly(patch: dict[int, str], judge: Judge) -> None:
    assert judge("connection_parameters", _DATA, patch) == []


@pytest.mark.parametrize(
    ("patch", "cut", "expected"),
    [
        ({}, 16, ("missing-bytes", "internal_header.reserved", 16)),
        ({}, 19, ("missing-bytes", "internal_header.flags", 18)),
        ({8: "12000000"}, None, ("past-packet-size", "internal_header.flags", 18)),
        ({8: "00000000"}, None, ("past-packet-size", "internal_header.reserved", 16)),
        ({8: "1c000000"}, None, ("past-packet-size", "connection_parameters_header.reserved", 28)),
        ({8: "ffffffff"}, None, ("missing-bytes", "undeclared", 32)),
    ],
)
def test_bytes_that_cannot_be_decoded_are_refused_where_they_fail(
    patch: dict[int, str],
    cut: int | None,
    expected: tuple[str, str, int],
    refusal: Refusal,
    bent: Callable[[bytes, Any], bytes],
) -> None:
    assert refusal("connection_parameters", bent(_DATA, patch)[:cut]) == expected


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"undeclared": b"abcd"}, "undeclared"),
        ({"base_header": BaseHeader(packet_size=20)}, "undeclared"),
    ],
)
def test_a_value_that_contradicts_itself_is_not_written(
    changes: dict[str, Any], path: str, contradiction: Callable[[WireStruct], str]
) -> None:
    assert contradiction(msgspec.structs.replace(_VALUE, **changes)) == path


def test_the_packet_is_recognised() -> None:
    assert decode(_DATA) == _VALUE
    assert inspect(_DATA + b"more").remainder == b"more"
