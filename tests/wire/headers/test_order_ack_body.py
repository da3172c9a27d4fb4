"""OrderAckBody, [MS-MQQB] 2.2.4.1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from msmq_wire.engines.codec import decode, encode
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.order_ack_body import OrderAckBody
from msmq_wire.wire.types.tx_sequence_id import TxSequenceID

Judge = Callable[[str, bytes, Mapping[int, str]], list[tuple[str, str, int, int]]]
Refusal = Callable[[str, bytes], tuple[str, str, int]]

_DATA = bytes.fromhex(
    "07 00 00 00 2a 00 00 5f "  # TxSequenceID
    "05 00 00 00 "  # TxSequenceNumber
    "04 00 00 00 "  # TxPreviousSequenceNumber
    "a5 a5 a5 a5 a5 a5 a5 a5 a5 a5 a5 a5 a5 a5 a5 a5 a5 a5 a5 a5 "  # Reserved
)
_VALUE = OrderAckBody(
    tx_sequence_id=TxSequenceID(ordinal=7, time_stamp=0x5F00002A),
    tx_sequence_number=5,
    tx_previous_sequence_number=4,
    reserved=b"\xa5" * 20,
)

_BROKEN = [
    (
        {8: "00", 12: "ffffffff"},
        [
            ("tx-sequence-number", "tx_sequence_number", 8, 4),
            ("tx-previous-sequence-number", "tx_previous_sequence_number", 12, 4),
        ],
    ),
    ({12: "03"}, [("tx-previous-sequence-number", "tx_previous_sequence_number", 12, 4)]),
]


def test_the_fields_lie_where_the_section_puts_them() -> None:
    assert decode(_DATA, "order_ack_body") == _VALUE
    assert encode(_VALUE) == _DATA


@pytest.mark.parametrize(
    ("patch", "field", "value"),
    [
        (
            {16: "00" * 20},
            "reserved",
            b"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
        )
    ],
)
def test_bytes_without_a_meaning_are_kept_and_not_judged(
    patch: dict[int, str], field: str, value: int | bytes, judge: Judge, bent: Callable[[bytes, Any], bytes]
) -> None:
    assert getattr(decode(bent(_DATA, patch), "order_ack_body"), field) == value
    assert judge("order_ack_body", _DATA, patch) == []


@pytest.mark.parametrize(("patch", "spots"), _BROKEN, ids=[spots[0][0] for _, spots in _BROKEN])
def test_a_broken_must_is_named_where_it_lies(
    patch: dict[int, str], spots: list[tuple[str, str, int, int]], judge: Judge
) -> None:
    expected = [(f"order_ack_body.{code}", path, offset, length) for code, path, offset, length in spots]
    assert judge("order_ack_body", _DATA, patch) == expected


def test_every_must_is_broken_once_and_held_once(judge: Judge) -> None:
    assert [spots[0][0] for _, spots in _BROKEN] == [must.code for must in OrderAckBody.MUSTS]
    assert judge("order_ack_body", _DATA, {}) == []


@pytest.mark.parametrize("patch", [{8: "01", 12: "00"}, {8: "ffffffff", 12: "feffffff"}])
def test_values_at_the_border_are_no_anomaly(patch: dict[int, str], judge: Judge) -> None:
    assert judge("order_ack_body", _DATA, patch) == []


@pytest.mark.parametrize(
    ("patch", "cut", "expected"),
    [({}, 7, ("missing-bytes", "tx_sequence_id.time_stamp", 4)), ({}, 35, ("missing-bytes", "reserved", 16))],
)
def test_bytes_that_cannot_be_decoded_are_refused_where_they_fail(
    patch: dict[int, str],
    cut: int | None,
    expected: tuple[str, str, int],
    refusal: Refusal,
    bent: Callable[[bytes, Any], bytes],
) -> None:
    assert refusal("order_ack_body", bent(_DATA, patch)[:cut]) == expected


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"reserved": b""}, "reserved"),
    ],
)
def test_a_value_that_contradicts_itself_is_not_written(
    changes: dict[str, Any], path: str, contradiction: Callable[[WireStruct], str]
) -> None:
    assert contradiction(msgspec.structs.replace(_VALUE, **changes)) == path
