"""TxSequenceID, [MS-MQMQ] 2.2.18.1.2."""

from __future__ import annotations

from msmq_wire.wire.types.tx_sequence_id import TxSequenceID
from tests.wire.cases import Cases

CASES = Cases(
    data=bytes.fromhex(
        "07 00 00 00 "  # Ordinal
        "2a 00 00 5f "  # TimeStamp
    ),
    value=TxSequenceID(ordinal=7, time_stamp=0x5F00002A),
    refused=[({}, 3, ("missing-bytes", "ordinal", 0)), ({}, 7, ("missing-bytes", "time_stamp", 4))],
    contradictions=[
        ({"ordinal": 1 << 32}, "ordinal"),
        ({"time_stamp": -1}, "time_stamp"),
    ],
)


def test_the_time_stamp_is_the_high_half_of_the_number_that_is_compared() -> None:
    assert CASES.value.value == 0x5F00002A00000007
    assert TxSequenceID(time_stamp=1).value > TxSequenceID(ordinal=0xFFFFFFFF).value
