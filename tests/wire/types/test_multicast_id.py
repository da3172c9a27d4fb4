"""MulticastID, [MS-MQMQ] 2.2.10."""

from __future__ import annotations

from msmq_wire.wire.types.multicast_id import MulticastID
from tests.wire.cases import Cases

CASES = Cases(
    data=bytes.fromhex(
        "e0 00 01 02 "  # m_address
        "d2 04 00 00 "  # m_port
    ),
    value=MulticastID(address=0x020100E0, port=1234),
    refused=[({}, 3, ("missing-bytes", "address", 0)), ({}, 7, ("missing-bytes", "port", 4))],
    contradictions=[
        ({"port": 1 << 32}, "port"),
    ],
)
