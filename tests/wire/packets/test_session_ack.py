"""SessionAck, [MS-MQQB] 2.2.6."""

from __future__ import annotations

from msmq_wire.wire.headers.base_header import BaseHeader
from msmq_wire.wire.headers.internal_header import InternalHeader
from msmq_wire.wire.headers.session_header import SessionHeader
from msmq_wire.wire.packets.session_ack import SessionAck
from tests.wire.cases import Cases

CASES = Cases(
    data=bytes.fromhex(
        "10 cd 1b 00 "  # BaseHeader
        "4c 49 4f 52 "
        "24 00 00 00 "  # PacketSize
        "ff ff ff ff "  # TimeToReachQueue
        "00 00 01 00 "  # InternalHeader
        "03 00 02 00 05 00 00 80 09 00 08 00 40 00 ce fa "  # SessionHeader
    ),
    value=SessionAck(
        base_header=BaseHeader(reserved=0xCD, flags=0x1B, packet_size=36),
        internal_header=InternalHeader(flags=1),
        session_header=SessionHeader(
            ack_sequence_number=3,
            recoverable_msg_ack_seq_number=2,
            recoverable_msg_ack_flags=0x80000005,
            user_msg_sequence_number=9,
            recoverable_msg_seq_number=8,
            reserved=0xFACE,
        ),
    ),
    broken=[
        ({18: "02"}, [("packet-type", "internal_header.flags", 18, 2)]),
        ({2: "0b"}, [("session-header", "base_header.flags", 2, 2)]),
        ({2: "13"}, [("internal", "base_header.flags", 2, 2)]),
        ({2: "3b"}, [("no-debug-header", "base_header.flags", 2, 2)]),
        ({12: "00"}, [("time-to-reach-queue", "base_header.time_to_reach_queue", 12, 4)]),
        ({8: "28000000", 36: "aabbccdd"}, [("undeclared", "undeclared", 36, 4)]),
    ],
    borders=[{1: "00"}, {2: "18"}],
    refused=[
        ({}, 16, ("missing-bytes", "internal_header.reserved", 16)),
        ({}, 19, ("missing-bytes", "internal_header.flags", 18)),
        ({8: "12000000"}, None, ("past-packet-size", "internal_header.flags", 18)),
        ({8: "00000000"}, None, ("past-packet-size", "internal_header.reserved", 16)),
        ({8: "20000000"}, None, ("past-packet-size", "session_header.window_size", 32)),
        ({8: "ffffffff"}, None, ("missing-bytes", "undeclared", 36)),
    ],
    contradictions=[
        ({"undeclared": b"abcd"}, "undeclared"),
        ({"base_header": BaseHeader(packet_size=20)}, "undeclared"),
    ],
)
