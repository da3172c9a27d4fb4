"""FinalAckBody, [MS-MQQB] 2.2.5.1."""

from __future__ import annotations

from msmq_wire.wire.headers.final_ack_body import FinalAckBody
from msmq_wire.wire.types.guid import GUID
from msmq_wire.wire.types.tx_sequence_id import TxSequenceID
from tests.wire.cases import Cases

CASES = Cases(
    data=bytes.fromhex(
        "07 00 00 00 2a 00 00 5f "  # TxSequenceID
        "05 00 00 00 "  # TxSequenceNumber
        "03 00 00 00 "  # TxPreviousSequenceNumber
        "d4c3b2a1 f6e5 8947 8abcdef012345678 "  # SourceGUID
        "01 08 00 00 "  # MessageID
    ),
    value=FinalAckBody(
        tx_sequence_id=TxSequenceID(ordinal=7, time_stamp=0x5F00002A),
        tx_sequence_number=5,
        tx_previous_sequence_number=3,
        source_guid=GUID.parse("a1b2c3d4-e5f6-4789-8abc-def012345678"),
        message_id=2049,
    ),
    broken=[
        ({8: "00"}, [("tx-sequence-number", "tx_sequence_number", 8, 4)]),
        ({12: "ffffffff"}, [("tx-previous-sequence-number", "tx_previous_sequence_number", 12, 4)]),
    ],
    borders=[{12: "04"}, {12: "feffffff", 8: "ffffffff"}],
    refused=[({}, 31, ("missing-bytes", "source_guid", 16)), ({}, 35, ("missing-bytes", "message_id", 32))],
    contradictions=[
        ({"message_id": 1 << 32}, "message_id"),
    ],
)
