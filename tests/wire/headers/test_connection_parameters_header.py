"""ConnectionParametersHeader, [MS-MQQB] 2.2.2.1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from msmq_wire.engines.codec import decode, encode
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.connection_parameters_header import ConnectionParametersHeader

Judge = Callable[[str, bytes, Mapping[int, str]], list[tuple[str, str, int, int]]]
Refusal = Callable[[str, bytes], tuple[str, str, int]]

_DATA = bytes.fromhex(
    "d8 05 00 00 "  # RecoverableAckTimeout
    "c0 d4 01 00 "  # AckTimeout
    "00 00 "  # Reserved
    "40 00 "  # WindowSize
)
_VALUE = ConnectionParametersHeader(
    recoverable_ack_timeout=0x5D8, ack_timeout=0x1D4C0, reserved=0, window_size=0x40
)

_BROKEN = [
    ({0: "f3010000"}, [("recoverable-ack-timeout", "recoverable_ack_timeout", 0, 4)]),
    ({4: "1f4e0000"}, [("ack-timeout", "ack_timeout", 4, 4)]),
    ({8: "0100"}, [("reserved", "reserved", 8, 2)]),
]


def test_the_fields_lie_where_the_section_puts_them() -> None:
    assert decode(_DATA, "connection_parameters_header") == _VALUE
    assert encode(_VALUE) == _DATA


@pytest.mark.parametrize(("patch", "spots"), _BROKEN, ids=[spots[0][0] for _, spots in _BROKEN])
def test_a_broken_must_is_named_where_it_lies(
    patch: dict[int, str], spots: list[tuple[str, str, int, int]], judge: Judge
) -> None:
    expected = [
        (f"connection_parameters_header.{code}", path, offset, length) for code, path, offset, length in spots
    ]
    assert judge("connection_parameters_header", _DATA, patch) == expected


def test_every_must_is_broken_once_and_held_once(judge: Judge) -> None:
    assert [spots[0][0] for _, spots in _BROKEN] == [must.code for must in ConnectionParametersHeader.MUSTS]
    assert judge("connection_parameters_header", _DATA, {}) == []


@pytest.mark.parametrize(
    "patch", [{0: "f4010000"}, {0: "c0d40100"}, {4: "204e0000"}, {10: "0000"}, {10: "ffff"}]
)
def test_values_at_the_border_are_no_anomaly(patch: dict[int, str], judge: Judge) -> None:
    assert judge("connection_parameters_header", _DATA, patch) == []


@pytest.mark.parametrize(
    ("patch", "cut", "expected"),
    [
        ({}, 3, ("missing-bytes", "recoverable_ack_timeout", 0)),
        ({}, 11, ("missing-bytes", "window_size", 10)),
    ],
)
def test_bytes_that_cannot_be_decoded_are_refused_where_they_fail(
    patch: dict[int, str],
    cut: int | None,
    expected: tuple[str, str, int],
    refusal: Refusal,
    bent: Callable[[bytes, Any], bytes],
) -> None:
    assert refusal("connection_parameters_header", bent(_DATA, patch)[:cut]) == expected


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"reserved": -1}, "reserved"),
    ],
)
def test_a_value_that_contradicts_itself_is_not_written(
    changes: dict[str, Any], path: str, contradiction: Callable[[WireStruct], str]
) -> None:
    assert contradiction(msgspec.structs.replace(_VALUE, **changes)) == path


@pytest.mark.parametrize("patch", [{0: "c1d40100"}, {4: "c1d40100"}])
def test_a_time_out_above_two_minutes_is_an_anomaly(patch: dict[int, str], judge: Judge) -> None:
    assert len(judge("connection_parameters_header", _DATA, patch)) == 1
