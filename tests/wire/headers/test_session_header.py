"""SessionHeader, [MS-MQMQ] 2.2.20.4."""

from __future__ import annotations

from msmq_wire.wire.headers.session_header import SessionHeader
from tests.wire.cases import Cases

CASES = Cases(
    data=bytes.fromhex(
        "03 00 "  # AckSequenceNumber
        "02 00 "  # RecoverableMsgAckSeqNumber
        "05 00 00 80 "  # RecoverableMsgAckFlags
        "09 00 "  # UserMsgSequenceNumber
        "08 00 "  # RecoverableMsgSeqNumber
        "40 00 "  # WindowSize
        "ce fa "  # Reserved
    ),
    value=SessionHeader(
        ack_sequence_number=3,
        recoverable_msg_ack_seq_number=2,
        recoverable_msg_ack_flags=0x80000005,
        user_msg_sequence_number=9,
        recoverable_msg_seq_number=8,
        window_size=0x40,
        reserved=0xFACE,
    ),
    kept=[({14: "0000"}, "reserved", 0)],
    broken=[
        ({12: "0000"}, [("window-size", "window_size", 12, 2)]),
    ],
    borders=[{12: "0100"}, {12: "ffff"}, {0: "ffffffffffffffffffffffff"}],
    refused=[
        ({}, 7, ("missing-bytes", "recoverable_msg_ack_flags", 4)),
        ({}, 15, ("missing-bytes", "reserved", 14)),
    ],
    contradictions=[
        ({"window_size": 1 << 16}, "window_size"),
    ],
)
