"""OrderAckBody, [MS-MQQB] 2.2.4.1."""

from __future__ import annotations

from msmq_wire.wire.headers.order_ack_body import OrderAckBody
from msmq_wire.wire.types.tx_sequence_id import TxSequenceID
from tests.wire.cases import Cases

CASES = Cases(
    data=bytes.fromhex(
        "07 00 00 00 2a 00 00 5f "  # TxSequenceID
        "05 00 00 00 "  # TxSequenceNumber
        "04 00 00 00 "  # TxPreviousSequenceNumber
        "a5 a5 a5 a5 a5 a5 a5 a5 a5 a5 a5 a5 a5 a5 a5 a5 a5 a5 a5 a5 "  # Reserved
    ),
    value=OrderAckBody(
        tx_sequence_id=TxSequenceID(ordinal=7, time_stamp=0x5F00002A),
        tx_sequence_number=5,
        tx_previous_sequence_number=4,
        reserved=b"\xa5" * 20,
    ),
    kept=[
        (
            {16: "00" * 20},
            "reserved",
            b"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
        )
    ],
    broken=[
        (
            {8: "00", 12: "ffffffff"},
            [
                ("tx-sequence-number", "tx_sequence_number", 8, 4),
                ("tx-previous-sequence-number", "tx_previous_sequence_number", 12, 4),
            ],
        ),
        ({12: "03"}, [("tx-previous-sequence-number", "tx_previous_sequence_number", 12, 4)]),
    ],
    borders=[{8: "01", 12: "00"}, {8: "ffffffff", 12: "feffffff"}],
    refused=[
        ({}, 7, ("missing-bytes", "tx_sequence_id.time_stamp", 4)),
        ({}, 35, ("missing-bytes", "reserved", 16)),
    ],
    contradictions=[
        ({"reserved": b""}, "reserved"),
    ],
)
