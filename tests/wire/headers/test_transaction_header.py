"""TransactionHeader, [MS-MQMQ] 2.2.20.5."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from msmq_wire.engines.codec import decode, encode
from msmq_wire.wire.fields import WireStruct
from msmq_wire.wire.headers.transaction_header import TransactionHeader
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.tx_sequence_id import TxSequenceID

Judge = Callable[[str, bytes, Mapping[int, str]], list[tuple[str, str, int, int]]]
Refusal = Callable[[str, bytes], tuple[str, str, int]]

_DATA = bytes.fromhex(
    "15 00 00 00 "  # Flags: CG, FM, ID 1
    "07 00 00 00 2a 00 00 5f "  # TxSequenceID
    "02 00 00 00 "  # TxSequenceNumber
    "01 00 00 00 "  # PreviousTxSequenceNumber
    "d4c3b2a1 f6e5 8947 8abcdef012345678 "  # ConnectorQMGuid
)
_VALUE = TransactionHeader(
    flags=0x15,
    tx_sequence_id=TxSequenceID(ordinal=7, time_stamp=0x5F00002A),
    tx_sequence_number=2,
    previous_tx_sequence_number=1,
    connector_qm_guid=GUID.parse("a1b2c3d4-e5f6-4789-8abc-def012345678"),
)

_BROKEN = [
    (
        {12: "00000000", 16: "00000000"},
        [
            ("tx-sequence-number", "tx_sequence_number", 12, 4),
            ("tx-sequence-order", "previous_tx_sequence_number", 16, 4),
        ],
    ),
    (
        {16: "ffffffff"},
        [
            ("previous-tx-sequence-number", "previous_tx_sequence_number", 16, 4),
            ("tx-sequence-order", "previous_tx_sequence_number", 16, 4),
        ],
    ),
    ({16: "02000000"}, [("tx-sequence-order", "previous_tx_sequence_number", 16, 4)]),
]


def test_the_fields_lie_where_the_section_puts_them() -> None:
    assert decode(_DATA, "transaction_header") == _VALUE
    assert encode(_VALUE) == _DATA


@pytest.mark.parametrize(("patch", "field", "value"), [({3: "ff"}, "flags", 4278190101)])
def test_bytes_without_a_meaning_are_kept_and_not_judged(
    patch: dict[int, str], field: str, value: int | bytes, judge: Judge, bent: Callable[[bytes, Any], bytes]
) -> None:
    assert getattr(decode(bent(_DATA, patch), "transaction_header"), field) == value
    assert judge("transaction_header", _DATA, patch) == []


def test_the_bits_have_the_places_of_the_figure(check_bits: Callable[[WireStruct, str], None]) -> None:
    check_bits(_VALUE, "cg fa fm lm id:20 x1 x2 x3 x4 x5 x6 x7 x8")


@pytest.mark.parametrize(("patch", "spots"), _BROKEN, ids=[spots[0][0] for _, spots in _BROKEN])
def test_a_broken_must_is_named_where_it_lies(
    patch: dict[int, str], spots: list[tuple[str, str, int, int]], judge: Judge
) -> None:
    expected = [(f"transaction_header.{code}", path, offset, length) for code, path, offset, length in spots]
    assert judge("transaction_header", _DATA, patch) == expected


def test_every_must_is_broken_once_and_held_once(judge: Judge) -> None:
    assert [spots[0][0] for _, spots in _BROKEN] == [must.code for must in TransactionHeader.MUSTS]
    assert judge("transaction_header", _DATA, {}) == []


@pytest.mark.parametrize("patch", [{12: "01000000", 16: "00000000"}, {12: "ffffffff", 16: "feffffff"}])
def test_values_at_the_border_are_no_anomaly(patch: dict[int, str], judge: Judge) -> None:
    assert judge("transaction_header", _DATA, patch) == []


@pytest.mark.parametrize(
    ("patch", "cut", "expected"),
    [
        ({}, 11, ("missing-bytes", "tx_sequence_id.time_stamp", 8)),
        ({}, 35, ("missing-bytes", "connector_qm_guid", 20)),
    ],
)
def test_bytes_that_cannot_be_decoded_are_refused_where_they_fail(
    patch: dict[int, str],
    cut: int | None,
    expected: tuple[str, str, int],
    refusal: Refusal,
    bent: Callable[[bytes, Any], bytes],
) -> None:
    assert refusal("transaction_header", bent(_DATA, patch)[:cut]) == expected


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"connector_qm_guid": None}, "connector_qm_guid"),
        ({"flags": 0x14}, "connector_qm_guid"),
        ({"flags": 1 << 32}, "flags"),
    ],
)
def test_a_value_that_contradicts_itself_is_not_written(
    changes: dict[str, Any], path: str, contradiction: Callable[[WireStruct], str]
) -> None:
    assert contradiction(msgspec.structs.replace(_VALUE, **changes)) == path


def test_without_a_connector_the_header_has_twenty_bytes() -> None:
    data = bytes.fromhex("14") + _DATA[1:20]
    assert decode(data, "transaction_header").connector_qm_guid is None
