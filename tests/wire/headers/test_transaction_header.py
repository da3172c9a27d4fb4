"""TransactionHeader, [MS-MQMQ] 2.2.20.5."""

from __future__ import annotations

from msmq_wire.engines.codec import decode
from msmq_wire.wire.headers.transaction_header import TransactionHeader
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.tx_sequence_id import TxSequenceID
from tests.wire.cases import Cases

CASES = Cases(
    data=bytes.fromhex(
        "15 00 00 00 "  # Flags: CG, FM, ID 1
        "07 00 00 00 2a 00 00 5f "  # TxSequenceID
        "02 00 00 00 "  # TxSequenceNumber
        "01 00 00 00 "  # PreviousTxSequenceNumber
        "d4c3b2a1 f6e5 8947 8abcdef012345678 "  # ConnectorQMGuid
    ),
    value=TransactionHeader(
        flags=0x15,
        tx_sequence_id=TxSequenceID(ordinal=7, time_stamp=0x5F00002A),
        tx_sequence_number=2,
        previous_tx_sequence_number=1,
        connector_qm_guid=GUID.parse("a1b2c3d4-e5f6-4789-8abc-def012345678"),
    ),
    bits="cg fa fm lm id:20 x1 x2 x3 x4 x5 x6 x7 x8",
    kept=[({3: "ff"}, "flags", 4278190101)],
    broken=[
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
    ],
    borders=[{12: "01000000", 16: "00000000"}, {12: "ffffffff", 16: "feffffff"}],
    refused=[
        ({}, 11, ("missing-bytes", "tx_sequence_id.time_stamp", 8)),
        ({}, 35, ("missing-bytes", "connector_qm_guid", 20)),
    ],
    contradictions=[
        ({"connector_qm_guid": None}, "connector_qm_guid"),
        ({"flags": 0x14}, "connector_qm_guid"),
        ({"flags": 1 << 32}, "flags"),
    ],
)


def test_without_a_connector_the_header_has_twenty_bytes() -> None:
    data = bytes.fromhex("14") + CASES.data[1:20]
    assert decode(data, "transaction_header").connector_qm_guid is None
