"""FinalAckBody, [MS-MQQB] 2.2.5.1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from msmq_wire.engines.codec import decode, encode
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.final_ack_body import FinalAckBody
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.tx_sequence_id import TxSequenceID

Judge = Callable[[str, bytes, Mapping[int, str]], list[tuple[str, str, int, int]]]
Refusal = Callable[[str, bytes], tuple[str, str, int]]

_DATA = bytes.fromhex(
    "07 00 00 00 2a 00 00 5f "  # TxSequenceID
    "05 00 00 00 "  # TxSequenceNumber
    "03 00 00 00 "  # TxPreviousSequenceNumber
    "d4c3b2a1 f6e5 8947 8abcdef012345678 "  # SourceGUID
    "01 08 00 00 "  # MessageID
)
_VALUE = FinalAckBody(
    tx_sequence_id=TxSequenceID(ordinal=7, time_stamp=0x5F00002A),
    tx_sequence_number=5,
    tx_previous_sequence_number=3,
    source_guid=GUID.parse("a1b2c3d4-e5f6-4789-8abc-def012345678"),
    message_id=2049,
)

_BROKEN = [
    ({8: "00"}, [("tx-sequence-number", "tx_sequence_number", 8, 4)]),
    ({12: "ffffffff"}, [("tx-previous-sequence-number", "tx_previous_sequence_number", 12, 4)]),
]


def test_the_fields_lie_where_the_section_puts_them() -> None:
    assert decode(_DATA, "final_ack_body") == _VALUE
    assert encode(_VALUE) == _DATA


@pytest.mark.parametrize(("patch", "spots"), _BROKEN, ids=[spots[0][0] for _, spots in _BROKEN])
def test_a_broken_must_is_named_where_it_lies(
    patch: dict[int, str], spots: list[tuple[str, str, int, int]], judge: Judge
) -> None:
    expected = [(f"final_ack_body.{code}", path, offset, length) for code, path, offset, length in spots]
    assert judge("final_ack_body", _DATA, patch) == expected


def test_every_must_is_broken_once_and_held_once(judge: Judge) -> None:
    assert [spots[0][0] for _, spots in _BROKEN] == [must.code for must in FinalAckBody.MUSTS]
    assert judge("final_ack_body", _DATA, {}) == []


@pytest.mark.parametrize("patch", [{12: "04"}, {12: "feffffff", 8: "ffffffff"}])
def test_values_at_the_border_are_no_anomaly(patch: dict[int, str], judge: Judge) -> None:
    assert judge("final_ack_body", _DATA, patch) == []


@pytest.mark.parametrize(
    ("patch", "cut", "expected"),
    [({}, 31, ("missing-bytes", "source_guid", 16)), ({}, 35, ("missing-bytes", "message_id", 32))],
)
def test_bytes_that_cannot_be_decoded_are_refused_where_they_fail(
    patch: dict[int, str],
    cut: int | None,
    expected: tuple[str, str, int],
    refusal: Refusal,
    bent: Callable[[bytes, Any], bytes],
) -> None:
    assert refusal("final_ack_body", bent(_DATA, patch)[:cut]) == expected


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"message_id": 1 << 32}, "message_id"),
    ],
)
def test_a_value_that_contradicts_itself_is_not_written(
    changes: dict[str, Any], path: str, contradiction: Callable[[WireStruct], str]
) -> None:
    assert contradiction(msgspec.structs.replace(_VALUE, **changes)) == path
