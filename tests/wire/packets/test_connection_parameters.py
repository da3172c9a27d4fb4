"""ConnectionParameters, [MS-MQQB] 2.2.2."""

from __future__ import annotations

from msmq_wire.wire.headers.base_header import BaseHeader
from msmq_wire.wire.headers.connection_parameters_header import ConnectionParametersHeader
from msmq_wire.wire.headers.internal_header import InternalHeader
from msmq_wire.wire.packets.connection_parameters import ConnectionParameters
from tests.wire.cases import Cases

CASES = Cases(
    data=bytes.fromhex(
        "10 cd 0b 00 "  # BaseHeader
        "4c 49 4f 52 "
        "20 00 00 00 "  # PacketSize
        "ff ff ff ff "  # TimeToReachQueue
        "00 00 03 00 "  # InternalHeader
        "d8 05 00 00 c0 d4 01 00 00 00 40 00 "  # ConnectionParametersHeader
    ),
    value=ConnectionParameters(
        base_header=BaseHeader(reserved=0xCD, flags=0x0B, packet_size=32),
        internal_header=InternalHeader(flags=3),
        connection_parameters_header=ConnectionParametersHeader(recoverable_ack_timeout=0x5D8),
    ),
    broken=[
        ({18: "01"}, [("packet-type", "internal_header.flags", 18, 2)]),
        ({2: "1b"}, [("session-header", "base_header.flags", 2, 2)]),
        ({2: "03"}, [("internal", "base_header.flags", 2, 2)]),
        ({2: "2b"}, [("no-debug-header", "base_header.flags", 2, 2)]),
        ({12: "00"}, [("time-to-reach-queue", "base_header.time_to_reach_queue", 12, 4)]),
        ({8: "24000000", 32: "aabbccdd"}, [("undeclared", "undeclared", 32, 4)]),
    ],
    borders=[{1: "00"}, {2: "08"}],
    refused=[
        ({}, 16, ("missing-bytes", "internal_header.reserved", 16)),
        ({}, 19, ("missing-bytes", "internal_header.flags", 18)),
        ({8: "12000000"}, None, ("past-packet-size", "internal_header.flags", 18)),
        ({8: "00000000"}, None, ("past-packet-size", "internal_header.reserved", 16)),
        ({8: "1c000000"}, None, ("past-packet-size", "connection_parameters_header.reserved", 28)),
        ({8: "ffffffff"}, None, ("missing-bytes", "undeclared", 32)),
    ],
    contradictions=[
        ({"undeclared": b"abcd"}, "undeclared"),
        ({"base_header": BaseHeader(packet_size=20)}, "undeclared"),
    ],
)
