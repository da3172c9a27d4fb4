"""TopologyPacketHeader, [MS-MQSD] 2.2.1."""

from __future__ import annotations

from msmq_wire.wire.headers.topology_packet_header import TopologyPacketHeader
from tests.wire.cases import Cases

CASES = Cases(
    data=bytes.fromhex(
        "00 "  # Version
        "02 "  # Type
        "34 12 "  # Reserved
    ),
    value=TopologyPacketHeader(version=0, type=2, reserved=0x1234),
    kept=[({1: "ff"}, "type", 255), ({0: "01"}, "version", 1)],
    refused=[({}, 0, ("missing-bytes", "version", 0)), ({}, 3, ("missing-bytes", "reserved", 2))],
    contradictions=[({"type": 256}, "type")],
)
