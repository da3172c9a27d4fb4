"""TxSequenceID, [MS-MQMQ] 2.2.18.1.2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from msmq_wire.engines.codec import decode, encode
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.types.tx_sequence_id import TxSequenceID

Refusal = Callable[[str, bytes], tuple[str, str, int]]

_DATA = bytes.fromhex(
    "07 00 00 00 "  # Ordinal
    "2a 00 00 5f "  # TimeStamp
)
_VALUE = TxSequenceID(ordinal=7, time_stamp=0x5F00002A)


def test_the_fields_lie_where_the_section_puts_them() -> None:
    assert decode(_DATA, "tx_sequence_id") == _VALUE
    assert encode(_VALUE) == _DATA


@pytest.mark.parametrize(
    ("patch", "cut", "expected"),
    [({}, 3, ("missing-bytes", "ordinal", 0)), ({}, 7, ("missing-bytes", "time_stamp", 4))],
)
def test_bytes_that_cannot_be_decoded_are_refused_where_they_fail(
    patch: dict[int, str],
    cut: int | None,
    expected: tuple[str, str, int],
    refusal: Refusal,
    bent: Callable[[bytes, Any], bytes],
) -> None:
    assert refusal("tx_sequence_id", bent(_DATA, patch)[:cut]) == expected


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"ordinal": 1 << 32}, "ordinal"),
        ({"time_stamp": -1}, "time_stamp"),
    ],
)
def test_a_value_that_contradicts_itself_is_not_written(
    changes: dict[str, Any], path: str, contradiction: Callable[[WireStruct], str]
) -> None:
    assert contradiction(msgspec.structs.replace(_VALUE, **changes)) == path


def test_the_time_stamp_is_the_high_half_of_the_number_that_is_compared() -> None:
    assert _VALUE.value == 0x5F00002A00000007
    assert TxSequenceID(time_stamp=1).value > TxSequenceID(ordinal=0xFFFFFFFF).value
